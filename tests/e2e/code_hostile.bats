# Kernels that do what a driver must not: the execution is told so, the context can be used again, and
# others are untouched.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

# A driver whose source is Python for the driver itself, so that each test says what it does wrong.
own_driver() {
	[[ -x /usr/bin/python3 ]] || skip "python3 is not installed"
	umount_sandbox
	cat >"$T/x.ini" <<-END
		[kernel evil]
		command = /usr/bin/python3 /workspace/evil.py
		[kernel dead]
		command = /bin/sh -c false
		[kernel missing]
		command = /nosuch/program
	END
	mount_sandbox -c "$T/x.ini" "$@"
	mkdir "$D/code/evil"
	cat >"$D/files/workspace/evil.py" <<-'END'
		import os, socket, struct, sys, time
		wire = socket.socket(fileno=3)
		def fields(*pairs):
		    return b"".join(struct.pack("<II", len(n), len(v)) + n + v for n, v in pairs)
		def send(kind, execution=0, payload=b"", size=None):
		    wire.sendall(struct.pack("<IBxxxI", len(payload) if size is None else size, kind, execution) + payload)
		def receive():
		    head = wire.recv(12, socket.MSG_WAITALL)
		    if len(head) < 12: sys.exit(0)
		    size, kind, execution = struct.unpack("<IBxxxI", head)
		    return kind, execution, wire.recv(size, socket.MSG_WAITALL) if size else b""
		if os.path.exists("/workspace/start.py"): exec(open("/workspace/start.py").read())
		send(16)
		while True:
		    kind, n, payload = receive()
		    if kind != 2: continue
		    exec(payload[12:])
		    send(22, n)
	END
	echo evil >"$D/code/evil/language"
}

# dies SOURCE REASON: it is the end of the kernel, not of the context.
dies() {
	run_code evil "$1"
	eq "$(status_of evil)" died "status of $1"
	match "$(field evil .error.value)" "$2"
	prints_text evil 'print("again", flush=True)' again
	eq "$(field evil .restarted)" true
}

@test "a kernel that ends before it is ready is told in the execution and in /error" {
	own_driver
	mkdir "$D/code/d" "$D/code/m"
	echo dead >"$D/code/d/language"
	echo missing >"$D/code/m/language"
	run_code d x
	eq "$(status_of d)" died
	eq "$(field d .error.name,.error.value | tr '\n' ' ')" "KernelDied exit 1 "
	match "$(cat "$D/error")" '^code/d/in: the kernel of dead did not start: exit 1; .*code/d/out/1/stderr \(EIO\)$'
	run_code m x
	eq "$(status_of m)" died
	match "$(cat "$D/error")" '^code/m/in: the kernel of missing did not start: .*/nosuch/program'
	echo 'import sys; print("why", file=sys.stderr); send(20, 0, fields((b"value", b"no license"))); sys.exit(1)' \
		>"$D/files/workspace/start.py"
	run_code evil 'pass'
	match "$(cat "$D/error")" 'did not start: no license'
	eq "$(of evil stderr)" why
	rm "$D/files/workspace/start.py"
	prints_text evil 'print("well", flush=True)' well
	prints_text bash 'echo untouched' untouched
}

@test "one that is queued behind a start that fails gets its own start" {
	own_driver
	echo 'time.sleep(0.5); os._exit(9)' >"$D/files/workspace/start.py"
	printf 'print(1, flush=True)' >"$D/code/evil/start"
	printf 'print(2, flush=True)' >"$D/code/evil/start"
	rm "$D/files/workspace/start.py"
	eq "$(cat "$D/code/evil/out/2/wait")" ok
	eq "$(cat "$D/code/evil/out/2/stdout")" 2
}

@test "frames that are none: lengths, reserved bytes, fields" {
	own_driver
	run_code bash 'keep=1'
	dies 'send(17, n, size=0x7fffffff); time.sleep(100)' 'not a frame'
	dies 'wire.sendall(b"\xff" * 4096); time.sleep(100)' 'not a frame'
	dies 'wire.sendall(struct.pack("<IBBBBI", 0, 17, 1, 0, 0, n)); time.sleep(100)' 'not a frame'
	dies 'send(17, n, struct.pack("<II", 0xffffffff, 0xffffffff)); time.sleep(100)' 'cannot be understood'
	dies 'send(17, n, b"abc"); time.sleep(100)' 'cannot be understood'
	dies 'send(99, n); time.sleep(100)' 'cannot be understood'
	prints_text bash 'echo $keep' 1
}

@test "a frame that never ends is waited for like any code" {
	own_driver
	echo 1 >"$D/code/evil/timeout"
	run_code evil 'wire.sendall(struct.pack("<IBxxxI", 1000000, 17, n) + b"x" * 1000); import signal
signal.signal(2, signal.SIG_IGN)
while True: time.sleep(100)'
	eq "$(status_of evil)" timeout
	match "$(field evil .error.value)" 'did not stop'
	prints_text evil 'print("again", flush=True)' again
}

@test "the largest frame, and names of results that are no names" {
	own_driver
	run_code evil 'send(17, n, fields((b"image/png", b"x" * (32 * 1024 * 1024 - 17))))'
	eq "$(status_of evil)" ok
	eq "$(stat -c %s "$D/code/evil/out/last/results/0.png")" $((32 * 1024 * 1024 - 17))
	run_code evil 'send(17, n, fields((b"../../x", b"1"), (b"", b"2"), (b"a/\x00b\xff\n", b"3"), (b"m" * 100000, b"4"), (b"text/plain", b"\xff\x00"), (b"application/json", b"{no json"), (b"text/plain", b"twice")))'
	match "$(status_of evil)" 'ok|died'
	jq -e . "$D/code/evil/out/last/result.json" >/dev/null
	ls "$D/code/evil/out/last/results"
	gone "$D/code/evil/x"
	gone "$D/code/evil/out/x"
	prints_text evil 'print("again", flush=True)' again
}

@test "frames of others: executions, displays, lines nobody asked for, a second end" {
	own_driver
	run_code evil 'for k in (17, 19, 20, 21, 22): send(k, n + 1000, fields((b"text/plain", b"no")))
send(18, n, fields((b"@id", b"none"), (b"text/plain", b"no")))
send(16); send(22, n); send(22, n); send(17, n, fields((b"text/plain", b"late")))'
	eq "$(status_of evil)" ok
	eq "$(ls "$D/code/evil/out/last/results")" ""
	prints_text evil 'print("again", flush=True)' again
	run_code evil 'send(18, n, fields((b"text/plain", b"without an id"))); time.sleep(100)'
	eq "$(status_of evil)" died
}

@test "questions without an end are answered or waited for, never more" {
	own_driver
	echo 2 >"$D/code/evil/timeout"
	run_code evil 'for i in range(1000): send(21, n, fields((b"prompt", b"?")))
k = receive()
print(k[0], flush=True)'
	eq "$(status_of evil)" ok
	eq "$(of evil stdout)" 4
	prints_text evil 'print("again", flush=True)' again
}

@test "a kernel that asks and does not read the answers is ended" {
	own_driver
	dies 'while True: send(23, n)' 'does not read'
}

@test "more results than anybody reads end at the limit" {
	own_driver -o output_bytes=1M
	run_code evil 'for i in range(3000): send(17, n, fields((b"text/plain", b"x" * 1000)))'
	eq "$(status_of evil)" ok
	eq "$(field evil .truncated)" true
	(($(ls "$D/code/evil/out/last/results" | wc -l) <= 1100))
	prints_text evil 'print("again", flush=True)' again
}

@test "descriptors that are closed: output, then the socket" {
	own_driver
	run_code evil 'os.close(1); os.close(2)'
	eq "$(status_of evil)" ok
	run_code evil 'send(17, n, fields((b"text/plain", b"still")))'
	eq "$(of evil results/0.txt)" still
	dies 'wire.close(); time.sleep(100)' 'closed descriptor 3'
}

@test "one that leaves children behind with its descriptors is dead when it is" {
	own_driver
	new_mark
	dies "import subprocess
subprocess.Popen(['sh', '-c', 'exec sleep 9999.$MARK'], pass_fds=[3], start_new_session=True)
os._exit(4)" 'exit 4'
	wait_for not_living "sleep 9999.$MARK"
}

@test "stopped by a signal: the time limit ends it" {
	own_driver
	echo 1 >"$D/code/evil/timeout"
	run_code evil 'os.kill(os.getpid(), 19)'
	eq "$(status_of evil)" timeout
	prints_text evil 'print("again", flush=True)' again
}

@test "bash: a flood, a trap that ignores interrupts, descriptors that are closed" {
	umount_sandbox
	mount_sandbox -o output_bytes=1M
	run_code bash 'head -c 100000000 /dev/zero; head -c 100000000 /dev/zero >&2'
	eq "$(status_of bash)" ok
	eq "$(field bash '.truncated, .stdoutBytes, .stderrBytes' | tr '\n' ' ')" "true 100000000 100000000 "
	echo 1 >"$D/code/bash/timeout"
	run_code bash "trap '' INT; while :; do :; done"
	eq "$(status_of bash)" timeout
	match "$(field bash .error.value)" 'did not stop'
	run_code bash 'exec >&- 2>&-'
	run_code bash 'x=3'
	eq "$(status_of bash)" ok
	run_code bash 'kill -9 $PPID'
	eq "$(status_of bash)" died
	prints_text bash 'echo again' again
}

@test "a language whose engine is not in the tree names the package, and the next has one" {
	umount_sandbox
	mkdir -p "$T/rootfs/bin" "$T/rootfs/etc"
	cp "$HELPERS/fsop" "$T/rootfs/bin/fsop"
	chmod 755 "$T/rootfs" "$T/rootfs"/*
	mount_sandbox -o rootfs="$T/rootfs"
	printf x >"$T/x"
	for pair in python:python3 javascript:nodejs typescript:nodejs r:r-base-core bash:bash; do
		refute cp "$T/x" "$D/code/${pair%:*}/in"
		has_text "$D/error" "${pair%:*} is not installed: the package is ${pair#*:}"
		match "$(jq -r ".languages.${pair%:*}" "$D/status.json")" "${pair#*:}"
		eq "$(cat "$D/code/${pair%:*}/status")" new
	done
	mkdir "$D/code/own"
	refute bash -c "echo r >'$D/code/own/language'"
	has_text "$D/error" r-base-core
}

@test "javascript and r: a flood is kept up to the limit" {
	umount_sandbox
	mount_sandbox -o output_bytes=1M
	if [[ $(jq -r .languages.javascript "$D/status.json") == yes ]]; then
		run_code javascript 'for (let i = 0; i < 30; i++) process.stdout.write("x".repeat(1000000)); undefined'
		eq "$(field javascript '.status, .truncated, .stdoutBytes' | tr '\n' ' ')" "ok true 30000000 "
	fi
	language r
	run_code r 'x <- strrep("x", 1e6); for (i in 1:30) cat(x)'
	eq "$(field r '.status, .truncated, .stdoutBytes' | tr '\n' ' ')" "ok true 30000000 "
	gives r 'nchar(x)' '[1] 1000000'
}
