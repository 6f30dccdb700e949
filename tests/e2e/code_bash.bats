# bash.
# runs-as: root user
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
	prints_text bash 'cat; read x; echo "$? done"' '1 done'
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
