# When a request is acted on: closes, copies of descriptors, fsync, reads, signals.
# runs-as: root user single
load ../lib/helper

@test "opening and closing without a write runs nothing" {
	: >"$D/ctl/run"
	: >>"$D/ctl/run"
	true 7<>"$D/ctl/run"
	truncate -s 0 "$D/ctl/run"
	touch "$D/ctl/run"
	eq "$(runs)" 0
}

@test "an open file runs nothing until it is closed" {
	exec 7>"$D/ctl/run"
	echo 'echo a' >&7
	echo 'echo b' >&7
	eq "$(runs)" 0
	exec 7>&-
	eq "$(runs)" 1
	eq "$(last stdout)" $'a\nb'
}

@test "closing a copy of the descriptor runs nothing, and the whole runs once" {
	run fsop open "$D/ctl/run" w write $'echo a\n' dup close use 0 write $'echo b\n' \
		count "$D/out" close count "$D/out"
	eq "$output" $'open 0\nwrite 7\ndup 0\nclose 0\nwrite 7\ncount 0\nclose 0\ncount 2'
	eq "$(last stdout)" $'a\nb'
}

@test "a child that ends first runs no part" {
	(
		exec 7>"$D/ctl/run"
		echo 'echo parent' >&7
		(echo 'echo child' >&7)
		eq "$(runs)" 0
		echo 'echo end' >&7
	)
	eq "$(runs)" 1
	eq "$(last stdout)" $'parent\nchild\nend'
}

@test "a child that inherited the handle and outlives the writer does not run it twice" {
	mkfifo go
	(
		exec 7>"$D/ctl/run"
		(read -r _ <go) 3>&- &
		echo 'echo once' >&7
	)
	echo >go
	wait_for is_file "$D/out/1/exit_code"
	wait
	eq "$(runs)" 1
	eq "$(last stdout)" once
}

@test "a writer that is killed before it closes runs nothing" {
	run fsop open "$D/ctl/run" w write 'touch /work/bad' die
	eq "$(runs)" 0
	inside 'test ! -e /work/bad'
	eq "$(runs)" 1
}

@test "fsync starts the request, does not wait, and the close does not start it again" {
	mkfifo go
	start sh -c 'fsop=$1; "$fsop" open "$2" w write "until test -e /work/go; do sleep 0.02; done" \
		fsync pause close <"$3" >"$4"' sh "$HELPERS/fsop" "$D/ctl/run" "$T/go" "$T/said"
	exec 7>go
	wait_for has_text said "fsync 0"
	eq "$(cat "$D/out/1/status")" running
	: >"$D/files/work/go"
	echo >&7
	exec 7>&-
	wait "$PID"
	eq "$(tail -n 1 said)" "close 0"
	wait_for is_file "$D/out/1/exit_code"
	eq "$(runs)" 1
}

@test "reading on the handle that wrote gives the id, from the first byte, whatever the offset" {
	run fsop open "$D/ctl/run" rw write $'echo a\n' read 100 pread 100 0 close
	eq "${lines[2]}" 'read [1\x0a]'
	eq "${lines[3]}" 'pread [1\x0a]'
	eq "$(runs)" 1
	eq "$(last exit_code)" 0
}

@test "bash: exec <> writes and reads the id back" {
	for i in 1 2 3; do
		exec 7<>"$D/ctl/run"
		echo "echo $i" >&7
		read -r id <&7
		exec 7>&-
		eq "$id" "$i"
		eq "$(cat "$D/out/$id/stdout")" "$i"
	done
}

@test "python: r+ writes and reads the id back" {
	run python3 - "$D/ctl/run" <<-'END'
		import sys
		with open(sys.argv[1], "r+b", buffering=0) as f:
		    f.write(b"echo hi\n")
		    print(f.read(100))
	END
	eq "$output" "b'1\\n'"
}

@test "ctl/start returns the id while the command runs" {
	start_run 'until test -e /work/go; do sleep 0.02; done; echo done'
	eq "$ID" 1
	eq "$(cat "$D/out/1/status")" running
	refute test -e "$D/out/1/exit_code"
	: >"$D/files/work/go"
	eq "$(cat "$D/out/1/wait")" 0
	eq "$(cat "$D/out/1/stdout")" "done"
}

@test "the close of ctl/run returns when the command has ended" {
	echo 'sleep 0.3; echo end' >"$D/ctl/run"
	eq "$(last exit_code)" 0
	eq "$(last stdout)" end
}

@test "threads of one process: each close returns when its own command has ended" {
	run timeout 60 python3 - "$D" <<-'END'
		import concurrent.futures, json, os, sys
		d = sys.argv[1]

		def text(i):
		    fd = os.open(d + "/ctl/run", os.O_RDWR)
		    os.write(fd, b"sleep 0.4; echo %d" % i)
		    n = os.read(fd, 20).decode().strip()
		    os.close(fd)
		    return n

		def named(i):
		    with open(d + "/ctl/run.json", "w") as f:
		        json.dump({"cmd": f"sleep 0.4; echo {i}", "id": f"j{i}"}, f)
		    return f"j{i}"

		def is_over(n, i):
		    return os.path.exists(f"{d}/out/{n}/exit_code") and \
		        open(f"{d}/out/{n}/stdout").read() == f"{i}\n"

		with concurrent.futures.ThreadPoolExecutor(8) as pool:
		    for ask in (text, named):
		        print(sum(pool.map(lambda i: is_over(ask(i), i), range(24))))
	END
	eq "$output" $'24\n24'
}

@test "threads of node: writeFile returns when its own command has ended" {
	cat >all.js <<-'END'
		const fs = require("fs").promises, d = process.argv[2];
		Promise.all([...Array(8).keys()].map(async (i) => {
			await fs.writeFile(`${d}/ctl/run.json`, JSON.stringify({cmd: `sleep 0.4; echo ${i}`, id: `n${i}`}));
			return await fs.readFile(`${d}/out/n${i}/exit_code`, "utf8");
		})).then((all) => console.log(all.join("").replace(/\n/g, "")));
	END
	eq "$(timeout 60 node all.js "$D")" 00000000
}

@test "a second handle of the same process does not hold the close of the first" {
	run timeout 60 python3 - "$D" <<-'END'
		import os, sys
		d = sys.argv[1]
		idle = os.open(d + "/ctl/run", os.O_WRONLY)
		fd = os.open(d + "/ctl/run", os.O_WRONLY)
		os.write(fd, b"sleep 0.4; echo ")
		copy = os.dup(fd)
		os.close(fd)
		print(os.listdir(d + "/out"))
		os.write(copy, b"whole")
		os.close(copy)
		print(open(d + "/out/last/stdout").read(), os.path.exists(d + "/out/last/exit_code"))
	END
	eq "$output" $'[]\nwhole\n True'
}

@test "two writers do not wait for each other" {
	start sh -c 'echo "until test -e /work/go; do sleep 0.02; done" >"$1"' sh "$D/ctl/run"
	first=$PID
	wait_for is_file "$D/out/1/status"
	echo 'touch /work/go' >"$D/ctl/run"
	eq "$(cat "$D/out/2/exit_code")" 0
	wait "$first"
	eq "$(cat "$D/out/1/exit_code")" 0
}

@test "twenty writers wait and the tree still answers" {
	for i in {1..20}; do
		start sh -c 'echo "until test -e /work/go; do sleep 0.05; done" >"$1"' sh "$D/ctl/run"
	done
	wait_for is_file "$D/out/20/status"
	ls -lR "$D/out" "$D/ctl" >/dev/null
	cat "$D/status.json" "$D/README" >/dev/null
	echo hello >"$D/files/work/hello"
	eq "$(cat "$D/files/work/hello")" hello
	: >"$D/files/work/go"
	for i in {1..20}; do
		eq "$(cat "$D/out/$i/wait")" 0
	done
}

@test "Ctrl-C of a waiting writer cancels its command" {
	new_mark
	start_interruptible bash -c 'echo "sleep 9999.$2; echo not reached" >"$1"' bash "$D/ctl/run" "$MARK"
	wait_for living "sleep 9999.$MARK"
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	wait_for not_living "sleep 9999.$MARK"
	wait_for is_file "$D/out/1/exit_code"
	match "$(cat "$D/out/1/status")" '^(killed|signaled)$'
	eq "$(cat "$D/out/1/stdout")" ""
	eq "$(cat "$D/error")" "ctl/run: run 1 is ended: its writer was interrupted (EINTR)"
}

@test "Ctrl-C of one who waits for the answer cancels the command, too" {
	new_mark
	start_interruptible python3 -c 'import os, sys
f = os.open(sys.argv[1], os.O_RDWR)
os.write(f, sys.argv[2].encode())
os.read(f, 100)' "$D/ctl/run.json" '{"cmd": "sleep 9999.'"$MARK"'", "id": "asked"}'
	wait_for living "^sleep 9999.$MARK"
	wait_for blocked "$PID" python3
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	wait_for not_living "^sleep 9999.$MARK"
	eq "$(cat "$D/error")" "ctl/run.json: run asked is ended: its writer was interrupted (EINTR)"
}

@test "a waiting writer that is killed cancels its command, too" {
	new_mark
	start sh -c 'echo "sleep 9999.$2" >"$1"' sh "$D/ctl/run" "$MARK"
	wait_for living "sleep 9999.$MARK"
	kill -KILL "$PID"
	wait_for not_living "sleep 9999.$MARK"
	wait_for is_file "$D/out/1/exit_code"
}

@test "a signal in the wait gives EINTR" {
	run fsop open "$D/ctl/run" w write 'sleep 9999' alarm 300 close
	eq "${lines[2]}" "alarm 0" || eq "${lines[2]}" "close EINTR"
	match "$output" 'close EINTR'
	wait_for is_file "$D/out/1/exit_code"
}

@test "Ctrl-C does not cancel what ctl/start started" {
	new_mark
	start_run "sleep 9999.$MARK"
	start_interruptible cat "$D/out/$ID/wait"
	wait_for blocked "$PID" cat
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	living "sleep 9999.$MARK"
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
}

@test "O_NONBLOCK and O_SYNC writers work" {
	run fsop open "$D/ctl/run" w,nonblock write 'echo a' close open "$D/ctl/run" w,sync,trunc write 'echo b' close
	refute grep -q E <<<"$output"
	wait_for is_file "$D/out/2/exit_code"
	eq "$(cat "$D/out/2/stdout")" b
}

# What a process has open with O_CLOEXEC is closed in the middle of its execve(2), and until then the kernel shows
# less of it to who looks whether somebody shares the file.
@test "a child that executes a program closes its copy: the request is acted on once, at the last close" {
	run timeout 60 python3 - "$D" <<-'END'
		import os, subprocess, sys, threading
		d = sys.argv[1]
		fd = os.open(d + "/ctl/run", os.O_WRONLY)
		os.write(fd, b"echo once >>/work/log")
		for i in range(20):
		    assert os.posix_spawn("/bin/true", ["true"], os.environ) > 0
		    pid = os.fork()
		    if pid == 0:
		        os.execv("/bin/true", ["true"])
		    os.waitpid(pid, 0)
		assert not os.path.exists(d + "/files/work/log")
		os.close(fd)
		assert open(d + "/files/work/log").read() == "once\n"

		def ask(i):
		    with open(d + "/ctl/run", "w") as file:
		        file.write("sleep 0.05; echo %d >>/work/log" % i)

		threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
		for thread in threads:
		    thread.start()
		for i in range(40):
		    subprocess.run(["/bin/true"], close_fds=False, check=True)
		for thread in threads:
		    thread.join()
		assert len(open(d + "/files/work/log").readlines()) == 9
	END
	eq "$status" 0 "$output"
}
