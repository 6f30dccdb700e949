# out/ID/wait and out/ID/live: the only files that block.
# runs-as: root user
load ../lib/helper

running() {
	start_run 'echo first; until test -e /work/go; do sleep 0.02; done; echo second; exit 5'
	wait_for has_text "$D/out/$ID/stdout" first
}

go() { : >"$D/files/work/go"; }

@test "wait blocks until the end and gives the exit code" {
	running
	start sh -c 'cat "$1" >"$2"' sh "$D/out/$ID/wait" "$T/code"
	eq "$(cat "$D/out/$ID/status")" running
	eq "$(cat code)" ""
	go
	wait "$PID"
	printf '5\n' | cmp - code
	printf '5\n' | cmp - "$D/out/$ID/wait"
}

@test "wait with O_NONBLOCK: EAGAIN, then the code" {
	running
	run fsop open "$D/out/$ID/wait" r,nonblock read 10
	eq "$output" $'open 0\nread EAGAIN'
	go
	eq "$(cat "$D/out/$ID/wait")" 5
	run fsop open "$D/out/$ID/wait" r,nonblock read 10
	eq "$output" $'open 0\nread [5\\x0a]'
}

@test "poll on wait" {
	running
	run fsop open "$D/out/$ID/wait" r,nonblock poll 100
	eq "${lines[1]}" "poll 0"
	start sh -c '"$1" open "$2" r poll 20000 read 10 >"$3"' sh "$HELPERS/fsop" "$D/out/$ID/wait" "$T/said"
	wait_for has_text said "open 0"
	go
	wait "$PID"
	eq "$(cat said)" $'open 0\npoll 1\nread [5\\x0a]'
}

@test "python's select on several waits" {
	start_run 'until test -e /work/go; do sleep 0.02; done'
	start_run 'exit 7'
	eq "$(cat "$D/out/2/wait")" 7
	run timeout 20 python3 - "$D" <<-'END'
		import selectors, sys
		d = sys.argv[1]
		s = selectors.DefaultSelector()
		for i in (1, 2):
		    s.register(open(f"{d}/out/{i}/wait", "rb", buffering=0), selectors.EVENT_READ, i)
		key = s.select(10)[0][0]
		print(key.data, key.fileobj.read())
		s.unregister(key.fileobj)
		open(f"{d}/files/work/go", "w").close()
		key = s.select(10)[0][0]
		print(key.data, key.fileobj.read())
	END
	eq "$output" $'2 b\'7\\n\'\n1 b\'0\\n\''
}

@test "Ctrl-C ends a reader of wait and of live" {
	running
	for file in wait live; do
		start_interruptible cat "$D/out/$ID/$file"
		wait_for blocked "$PID" cat
		kill -INT "$PID"
		wait_for ended_pid "$PID"
	done
	eq "$(cat "$D/out/$ID/status")" running
	go
	eq "$(cat "$D/out/$ID/wait")" 5
}

@test "live gives output from the start and blocks for more until the end" {
	running
	start sh -c 'cat "$1" >"$2"' sh "$D/out/$ID/live" "$T/live"
	wait_for has_text live first
	kill -0 "$PID"
	go
	wait "$PID"
	eq "$(cat live)" $'first\nsecond'
	eq "$(cat "$D/out/$ID/live")" $'first\nsecond'
}

@test "live has both streams" {
	request 'echo out; sleep 0.1; echo err >&2'
	eq "$(last live)" $'out\nerr'
}

@test "live with O_NONBLOCK: what there is, EAGAIN, end of file after the end" {
	running
	run fsop open "$D/out/$ID/live" r,nonblock read 100 read 100
	eq "$output" $'open 0\nread [first\\x0a]\nread EAGAIN'
	go
	eq "$(cat "$D/out/$ID/wait")" 5
	run fsop open "$D/out/$ID/live" r,nonblock read 100 read 100
	eq "$output" $'open 0\nread [first\\x0asecond\\x0a]\nread []'
}

@test "poll on live" {
	running
	run fsop open "$D/out/$ID/live" r,nonblock poll 1000 read 100 poll 100
	eq "$output" $'open 0\npoll 1\nread [first\\x0a]\npoll 0'
	go
	eq "$(cat "$D/out/$ID/wait")" 5
}

@test "edge-triggered epoll on live tells of each change, read to its end or not" {
	running
	run timeout 20 python3 - "$D" "$ID" <<-'END'
		import os, select, sys
		d, i = sys.argv[1:]
		live = os.open(f"{d}/out/{i}/live", os.O_RDONLY | os.O_NONBLOCK)
		e = select.epoll()
		e.register(live, select.EPOLLIN | select.EPOLLET)
		said = b""
		while b"first" not in said:
		    e.poll(10)
		    said += os.read(live, 100)
		while e.poll(0.2):
		    pass
		open(f"{d}/files/work/go", "w").close()
		end = False
		while not end and e.poll(10):
		    try:
		        while part := os.read(live, 100):
		            said += part
		        end = True
		    except BlockingIOError:
		        pass
		print(said, end)
	END
	eq "$output" "b'first\\nsecond\\n' True"
}

@test "live of a large output is whole" {
	start_run 'until test -e /work/go; do sleep 0.02; done; seq 1 300000'
	start sh -c 'cat "$1" >"$2"' sh "$D/out/$ID/live" "$T/live"
	go
	wait "$PID"
	seq 1 300000 | cmp - live
}

@test "thirty readers wait, and the tree still answers" {
	running
	for i in {1..15}; do
		start sh -c 'cat "$1" >"$2"' sh "$D/out/$ID/wait" "$T/wait$i"
		start sh -c 'cat "$1" >"$2"' sh "$D/out/$ID/live" "$T/live$i"
	done
	wait_for has_text live15 first
	ls -l "$D/out/$ID" >/dev/null
	eq "$(inside 'echo other')" other
	echo x >"$D/files/work/x"
	go
	wait "${STARTED[@]}"
	for i in {1..15}; do
		eq "$(cat "wait$i")" 5
		eq "$(cat "live$i")" $'first\nsecond'
	done
}

@test "a reader of wait on a run that is killed gets the code" {
	running
	start sh -c 'cat "$1" >"$2"' sh "$D/out/$ID/wait" "$T/code"
	echo KILL >"$D/out/$ID/kill"
	wait "$PID"
	eq "$(cat code)" 137
}

@test "umount ends waiting readers and writers" {
	running
	start sh -c 'exec cat "$1" >"$2" 2>&1' sh "$D/out/$ID/wait" "$T/code"
	wait_for blocked "$PID" cat
	start sh -c 'echo "sleep 9999" >"$1"' sh "$D/ctl/run"
	wait_for is_file "$D/out/2/status"
	umount_sandbox
	for pid in "${STARTED[@]}"; do wait_for ended_pid "$pid"; done
}
