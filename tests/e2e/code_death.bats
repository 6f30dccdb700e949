# Kernels that end, hang, flood and lie.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "an exit keeps what was printed, and the next execution starts afresh" {
	language python
	run_code python 'import os; print("before"); os._exit(3)'
	eq "$(status_of python)" died
	eq "$(of python stdout)" before
	eq "$(field python .error.name,.error.value | tr '\n' ' ')" "KernelDied exit 3 "
	gives python '1 + 1' 2
	eq "$(field python .restarted)" true
}

@test "a signal is told by name" {
	language python
	errs python 'import ctypes; ctypes.string_at(0)' KernelDied 'signal 11 (SIGSEGV)'
	errs python 'import os; os.kill(os.getpid(), 9)' KernelDied 'signal 9 (SIGKILL)'
	gives python '2 + 2' 4
}

@test "exit() is no failure; sys.exit(3) ends the kernel with 3 and no advice" {
	language python
	run_code python 'x = 1; exit()'
	eq "$(status_of python)" ok
	errs python 'x' NameError
	errs python 'import sys; sys.exit(3)' KernelDied 'exit 3'
	eq "$(of python stderr)" ""
	run_code bash 'exit 0'
	eq "$(status_of bash)" ok
	errs bash 'exit 3' KernelDied 'exit 3'
	errs bash 'kill -9 $$' KernelDied 'signal 9 (SIGKILL)'
	prints_text bash 'echo alive' alive
}

@test "a kernel that dies while idle is noticed at once" {
	run_code bash 'echo $$ >/tmp/pid'
	inside 'kill -9 $(cat /tmp/pid)' >/dev/null
	wait_for context_is bash dead
	prints_text bash 'echo new' new
}

@test "a timeout interrupts and keeps the variables" {
	language python
	run_code python 'keep = 7'
	echo 1 >"$D/code/python/timeout"
	run_code python 'while True: pass'
	eq "$(status_of python)" timeout
	eq "$(field python .error.name)" KeyboardInterrupt
	gives python keep 7
	run_code bash 'keep=7'
	echo 1 >"$D/code/bash/timeout"
	run_code bash 'while :; do :; done'
	eq "$(status_of bash)" timeout
	prints_text bash 'echo $keep' 7
}

@test "what ignores interrupts is killed, and that is said" {
	language python
	echo 1 >"$D/code/python/timeout"
	run_code python '
import time
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass'
	eq "$(status_of python)" timeout
	match "$(field python .error.value)" 'killed: it ran out of time'
	match "$(of python error)" 'lost'
	gives python 5 5
}

@test "interrupt reaches children and await" {
	language python
	new_mark
	start run_code python "import os; os.system('sleep 9999.$MARK')"
	wait_for living "sleep 9999.$MARK"
	echo 1 >"$D/code/python/interrupt"
	wait "$PID"
	wait_for not_living "sleep 9999.$MARK"
	eq "$(status_of python)" interrupted
	start run_code python 'import asyncio; await asyncio.sleep(100)'
	wait_for context_is python busy
	sleep 0.2
	echo 1 >"$D/code/python/interrupt"
	wait "$PID"
	errs python 'raise ValueError(1)' ValueError 1
}

@test "an idle kernel is not interrupted, nor is the next execution" {
	for context in bash python; do
		language "$context"
		run_code "$context" 'x=1'
		echo 1 >"$D/code/$context/interrupt"
		run_code "$context" 'x=2'
		eq "$(status_of "$context")" ok
	done
}

@test "a kernel that was told to end is dead at once" {
	for context in python javascript r bash; do
		[[ $(jq -r ".languages.$context" "$D/status.json") == yes ]] || continue
		for i in 1 2 3 4 5; do
			fsop open "$D/code/$context/in" w write "$(leaves $context)" close \
				open "$D/code/$context/status" r read 20 >"$T/seen"
			match "$(tail -n 1 "$T/seen")" 'read \[dead' "$context"
		done
	done
}

leaves() {
	case $1 in
	python) echo 'exit()' ;;
	javascript) echo 'process.exit()' ;;
	r) echo 'quit()' ;;
	bash) echo 'exit' ;;
	esac
}

@test "Ctrl-C on the waiting writer interrupts the code" {
	run_code bash 'x=1'
	new_mark
	start_interruptible sh -c "echo 'sleep 9999.$MARK' >'$D/code/bash/in'"
	wait_for living "sleep 9999.$MARK"
	kill -INT "$PID"
	wait_for file_is "$D/code/bash/out/2/status" interrupted
	wait_for not_living "sleep 9999.$MARK"
	eq "$(cat "$D/error")" "code/bash/in: execution 2 is interrupted: its writer was interrupted (EINTR)"
	prints_text bash 'echo $x' 1
}

@test "Ctrl-C on a writer whose code still waits for its turn: it never runs" {
	new_mark
	start sh -c "echo 'sleep 9999.$MARK' >'$D/code/bash/in'"
	wait_for living "^sleep 9999.$MARK"
	start_interruptible sh -c "echo 'echo ran >/work/ran' >'$D/code/bash/in'"
	wait_for is_file "$D/code/bash/out/2/status"
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	eq "$(cat "$D/error")" "code/bash/in: execution 2 is interrupted: its writer was interrupted (EINTR)"
	eq "$(cat "$D/code/bash/out/2/status")" interrupted
	echo 1 >"$D/code/bash/interrupt"
	wait_for file_is "$D/code/bash/out/1/status" interrupted
	prints_text bash 'echo next' next
	gone "$D/files/work/ran"
}

@test "a kernel that closes its descriptors, or forges frames, is ended and replaced" {
	language python
	run_code python 'import os; os.close(3); import time; time.sleep(100)'
	eq "$(status_of python)" died
	match "$(field python .error.value)" 'closed descriptor 3'
	run_code python 'import os; os.write(3, b"\xff" * 100); import time; time.sleep(100)'
	eq "$(status_of python)" died
	match "$(field python .error.value)" 'not a frame'
	gives python 3 3
	# A field that is longer than its frame.
	run_code python 'import os, struct, time
os.write(3, struct.pack("<IBxxxI", 8, 17, get_ipython().shown.execution) + struct.pack("<II", 1000, 1000)); time.sleep(100)'
	eq "$(status_of python)" died
	# An end of another execution is for nobody.
	gives python 'import os, struct; os.write(3, struct.pack("<IBxxxI", 0, 22, 9999)); 4' 4
	prints_text bash 'echo untouched' untouched
}

@test "a flood is kept up to the limit, and the kernel is not held up" {
	language python
	umount_sandbox
	mount_sandbox -o output_bytes=1M
	run_code python 'print("x" * 60000000)'
	eq "$(status_of python)" ok
	eq "$(stat -c %s "$D/code/python/out/last/stdout")" 1048576
	eq "$(field python '.truncated, .stdoutBytes' | tr '\n' ' ')" "true 60000001 "
}

@test "memory that runs out has a reason of its own" {
	language python
	umount_sandbox
	mount_sandbox -o memory=300M
	jq -e '.enabled.limits | test("cgroup")' "$D/status.json" >/dev/null || skip "no control group limits memory here"
	errs python 'x = bytearray(10 ** 9); x[::4096] = b"x" * len(x[::4096])' OutOfMemory 'out of memory'
	gives python 1 1
}
