# out/ID/stdin: what commands read.
# runs-as: root user
load ../lib/helper

open_run() {
	json "{\"cmd\": \"$1\", \"stdinOpen\": true, \"background\": true}"
}

@test "an ordinary run reads end of file at once" {
	request 'cat; read x; echo "[$x] $?"'
	eq "$(last stdout)" '[] 1'
	eq "$(last exit_code)" 0
}

@test "writing to the stdin of an ordinary run gives EPIPE" {
	inside true
	run fsop open "$D/out/1/stdin" w write x close
	match "$output" EPIPE
	start_run 'until test -e /work/go; do sleep 0.02; done'
	run fsop open "$D/out/$ID/stdin" w write x close
	match "$output" EPIPE
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "bytes arrive as they are written" {
	open_run 'while read -r l; do echo got: \"$l\"; done; echo eof'
	exec 7>"$D/out/$ID/stdin"
	echo one >&7
	wait_for has_text "$D/out/$ID/stdout" "got: one"
	echo two >&7
	wait_for has_text "$D/out/$ID/stdout" "got: two"
	eq "$(cat "$D/out/$ID/status")" running
	exec 7>&-
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat "$D/out/$ID/stdout")" $'got: one\ngot: two\neof'
}

@test "one echo is all of its input" {
	open_run cat
	printf 'a\nb\n' >"$D/out/$ID/stdin"
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat "$D/out/$ID/stdout")" $'a\nb'
}

@test "the last writer's close is the end of file" {
	open_run cat
	exec 7>"$D/out/$ID/stdin" 8>>"$D/out/$ID/stdin"
	echo a >&7
	exec 7>&-
	echo b >&8
	wait_for has_text "$D/out/$ID/stdout" b
	eq "$(cat "$D/out/$ID/status")" running
	exec 8>&-
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat "$D/out/$ID/stdout")" $'a\nb'
}

@test "after the end of file, writing gives EPIPE" {
	open_run 'cat; until test -e /work/go; do sleep 0.02; done'
	echo a >"$D/out/$ID/stdin"
	wait_for has_text "$D/out/$ID/stdout" a
	run fsop open "$D/out/$ID/stdin" w write b close
	match "$output" EPIPE
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat "$D/out/$ID/stdout")" a
}

@test "20 MB pass through, byte for byte" {
	open_run 'md5sum'
	head -c 20000000 /dev/urandom >data
	cp data "$D/out/$ID/stdin"
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cut -c1-32 "$D/out/$ID/stdout")" "$(md5sum <data | cut -c1-32)"
}

@test "a slow reader holds the writer up, without loss; others are not held up" {
	open_run 'until test -e /work/go; do sleep 0.02; done; wc -c'
	start sh -c 'head -c 3000000 /dev/zero >"$1"' sh "$D/out/$ID/stdin"
	json '{"cmd": "echo quick"}'
	eq "$(cat "$D/out/$ID/stdout")" quick
	: >"$D/files/work/go"
	eq "$(cat "$D/out/1/wait")" 0
	eq "$(cat "$D/out/1/stdout")" 3000000
}

@test "a writer held up by a slow reader can be interrupted" {
	open_run 'exec sleep 9999'
	start_interruptible sh -c 'exec cat /dev/zero >"$1"' sh "$D/out/$ID/stdin"
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
}

@test "a command that ends before its input is read: EPIPE, no hang" {
	open_run 'exit 3'
	eq "$(cat "$D/out/$ID/wait")" 3
	run fsop open "$D/out/$ID/stdin" w write x close
	match "$output" EPIPE
}

@test "stdin and stdinOpen together are refused" {
	run fsop open "$D/ctl/run.json" w write '{"cmd": "cat", "stdin": "x", "stdinOpen": true}' close
	eq "${lines[1]}" "write EINVAL"
	match "$(cat "$D/error")" stdinOpen
	eq "$(runs)" 0
}

@test "poll tells when there is room again, each time, also edge-triggered epoll" {
	open_run 'until test -e /work/go; do sleep 0.02; done; wc -c'
	run timeout 20 python3 - "$D" <<-'END'
		import os, select, sys
		d = sys.argv[1]
		stdin = os.open(f"{d}/out/1/stdin", os.O_WRONLY | os.O_NONBLOCK)
		p, e = select.poll(), select.epoll()
		p.register(stdin, select.POLLOUT)
		e.register(stdin, select.EPOLLOUT | select.EPOLLET)
		data = bytes(1000000)

		def fill():
		    global data
		    try:
		        while data:
		            data = data[os.write(stdin, data):]
		    except BlockingIOError:
		        pass

		fill()
		while e.poll(0.2):
		    pass
		print("full", p.poll(100))
		open(f"{d}/files/work/go", "w").close()
		print("room", bool(p.poll(10000)))
		while data and e.poll(10):
		    fill()
		print("left", len(data))
	END
	eq "$output" $'full []\nroom True\nleft 0'
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat "$D/out/$ID/stdout")" 1000000
}
