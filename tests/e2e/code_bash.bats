# bash.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "variables, functions, arrays, directory, options and descriptors persist" {
	run_code bash 'x=1; f() { echo "f $1"; }; a=(1 2 3); cd /tmp; exec 5>/tmp/five; shopt -s nullglob; alias hi="echo hi"'
	prints_text bash 'f $x; echo ${a[2]} $PWD; echo to >&5; cat /tmp/five' $'f 1\n3 /tmp\nto'
	prints_text bash 'hi' hi
	eq "$(of bash stderr)" ""
}

@test "a status that is not 0 is an error, and the streams are apart" {
	errs bash 'echo o; echo e >&2; false' ExitError 1
	eq "$(of bash stdout)" o
	eq "$(of bash stderr)" e
	errs bash 'if then' ExitError 2
	has_text "$D/code/bash/out/last/stderr" "syntax error"
	run_code bash true
	eq "$(status_of bash)" ok
}

@test "reading gives end of file; prompts and traps do no harm" {
	prints_text bash 'cat; head -c 1; read x </dev/null; echo "$? done"' '1 done'
	run_code bash 'PS1="prompt> "; PROMPT_COMMAND="echo hook"; trap "echo caught" INT'
	prints_text bash 'PROMPT_COMMAND=; echo a' a
}

@test "here documents, jobs, pipes and several lines" {
	prints_text bash 'cat <<EOF
one
EOF
for i in 1 2; do
  echo $i
done | sort -r
sleep 0.1 & wait; echo end' $'one\n2\n1\nend'
}

@test "exec and set -e end the shell as bash does" {
	run_code bash 'exec true'
	eq "$(status_of bash)" ok
	run_code bash 'set -e; false; echo not'
	eq "$(status_of bash)" died
	prints_text bash 'echo again' again
}

@test "a child in the background does not hold the execution up" {
	new_mark
	SECONDS=0
	run_code bash "sleep 9999.$MARK & echo started"
	((SECONDS < 5))
	eq "$(of bash stdout)" started
	echo 1 >"$D/code/bash/restart"
	wait_for not_living "sleep 9999.$MARK"
}

@test "read asks, the context says so, a line answers" {
	start run_code bash 'read -p "name? " -r a b; echo "$a,$b,$?"'
	wait_for context_is bash input
	echo 'bob \ill' >"$D/code/bash/stdin"
	wait "$PID"
	eq "$(of bash stdout)" 'bob,\ill,0'
	eq "$(of bash stderr)" 'name? '
	wait_for context_is bash idle
}

@test "read takes lines that wait one at a time, in loops, functions and subshells too" {
	printf 'a:b\nc\nd\ne\n' >"$D/code/bash/stdin"
	prints_text bash 'f() { local x; IFS=: read x y; echo "$x-$y"; }; f; read; echo "$REPLY"
echo "$(read x; echo "<$x>")"; while read l; do echo "$l"; break; done' $'a-b\nc\n<d>\ne'
}

@test "read of anything but the execution's own input is bash's" {
	prints_text bash 'printf "1\n2\n" >/tmp/f; while read x; do echo "$x"; done </tmp/f; read x <<<three; echo $x
echo four | { read x; echo $x; }; exec 7</tmp/f; read -u 7 x; echo $x; set -eu; set -x; read x <<<5; set +x; echo $x' \
		$'1\n2\nthree\nfour\n1\n5'
	eq "$(of bash stderr)" $'++ read x\n++ set +x'
}

@test "nobody answers read: its own limit, the end of file when the time is over, an interrupt" {
	run_code bash 'read -t 0.1 x; echo $(($? > 128)); keep=1'
	eq "$(of bash stdout)" 1
	echo 1 >"$D/code/bash/timeout"
	prints_text bash 'read x; echo "$? $keep"' '1 1'
	echo 0 >"$D/code/bash/timeout"
	start run_code bash 'read x; echo not'
	wait_for context_is bash input
	echo 1 >"$D/code/bash/interrupt"
	wait "$PID"
	eq "$(status_of bash)" interrupted
	eq "$(of bash stdout)" ""
	echo line >"$D/code/bash/stdin"
	prints_text bash 'read x; echo "$x $keep"' 'line 1'
}

@test "a background job that asks later reads the end of file" {
	run_code bash '{ while [[ ! -e /tmp/go ]]; do sleep 0.02; done; read x; echo "late $?"; } & true'
	inside 'touch /tmp/go'
	wait_for file_is "$D/code/bash/out/1/stdout" 'late 1'
	prints_text bash 'echo on' on
}
