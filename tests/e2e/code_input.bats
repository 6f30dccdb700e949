# Source and input of every kind, good and bad.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "input() asks, the context says so, a line answers" {
	language python
	start run_code python 'name = input("name? "); name.upper()'
	wait_for context_is python input
	echo bob >"$D/code/python/stdin"
	wait "$PID"
	eq "$(of python results/0.txt)" "'BOB'"
	eq "$(of python stdout)" 'name? '
}

@test "lines that wait are given one at a time" {
	language python
	printf 'a\nb\n' >"$D/code/python/stdin"
	gives python 'input(), input()' "('a', 'b')"
}

@test "nobody answers: end of file when the time is over" {
	language python
	echo 1 >"$D/code/python/timeout"
	errs python 'input()' EOFError
	gives python 1 1
}

@test "source of just under a MiB runs, more is refused" {
	language python
	head -c 1000000 /dev/zero | tr '\0' '#' >"$T/big"
	printf '\n1 + 1' >>"$T/big"
	cp "$T/big" "$D/code/python/in"
	eq "$(of python results/0.txt)" 2
	head -c 1100000 /dev/zero | tr '\0' '#' >"$T/big"
	refute cp "$T/big" "$D/code/python/in"
	has_text "$D/error" "over 1 MiB"
}

@test "NUL bytes and bytes that are not UTF-8 in the source are an error of the code" {
	language python
	printf 'x = "a\0b"' >"$D/code/python/in"
	eq "$(status_of python)" error
	printf 'len("\xff\xfe")' >"$D/code/python/in"
	match "$(status_of python)" 'ok|error'
	printf 'echo a\0b' >"$D/code/bash/in"
	eq "$(field bash .error.value)" "the source holds a NUL byte"
	prints_text bash 'echo fine' fine
}

@test "R: NUL bytes in the source are an error of the code, not left out" {
	language r
	printf 'cat("ran\0")' >"$D/code/r/in"
	eq "$(status_of r)" error
	eq "$(field r .error.value)" "the source holds a NUL byte"
	eq "$(of r stdout)" ""
	eq "$(of r error)" "Error: the source holds a NUL byte"
	prints_text r 'cat("fine\n")' fine
}

@test "an empty source does nothing" {
	language python
	run_code python ' '
	eq "$(status_of python)" ok
}

@test "output of any bytes is kept as it is" {
	language python
	run_code python 'import os; os.write(1, b"\xff\xfe\n"); os.system("echo x"); None'
	eq "$(od -An -tx1 "$D/code/python/out/last/stdout" | tr -d ' \n')" fffe0a780a
	eq "$(field python .logs.stdoutBase64)" "$(printf '\xff\xfe\nx\n' | base64)"
	run_code bash 'printf "\\0\\377"; printf "e\\377" >&2'
	eq "$(od -An -tx1 "$D/code/bash/out/last/stdout" | tr -d ' \n')" 00ff
	eq "$(od -An -tx1 "$D/code/bash/out/last/stderr" | tr -d ' \n')" 65ff
}

@test "late output goes to the newest execution that is over" {
	language python
	run_code python 'import threading, time
threading.Thread(target=lambda: (time.sleep(0.3), print("late"))).start()'
	eq "$(status_of python)" ok
	eq "$(of python stdout)" ""
	wait_for file_is "$D/code/python/out/last/stdout" late
	eq "$(tail -n 1 "$D/code/python/out/last/events" | jq .late)" true
}

@test "the text of each execution is its own, child and stderr too" {
	language python
	for i in $(seq 20); do
		run_code python "import os, sys; print('p$i'); sys.stderr.write('e$i\\n'); os.system('echo c$i');"
		eq "$(of python stdout)" $'p'"$i"$'\nc'"$i"
		eq "$(of python stderr)" "e$i"
	done
}
