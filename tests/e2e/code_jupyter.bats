# Jupyter kernels as they come from the distribution.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

jupyter() {
	[[ -e /usr/share/jupyter/kernels/$1 ]] || skip "kernelspec $1 is not installed"
	mkdir "$D/code/j"
	echo "jupyter:$1" >"$D/code/j/language"
}

@test "ipykernel: results, streams, errors, displays, input" {
	jupyter python3
	gives j '1 + 1' 2
	prints_text j 'print("o"); import sys; print("e", file=sys.stderr); 5' o
	eq "$(of j stderr)" e
	errs j '1 / 0' ZeroDivisionError 'division by zero'
	refute grep -q $'\033' "$D/code/j/out/last/error"
	run_code j 'h = display("a", display_id=True)'
	n=$(readlink "$D/code/j/out/last")
	run_code j 'h.update("b")'
	eq "$(cat "$D/code/j/out/$n/results/0.txt")" "'b'"
	run_code j 'from IPython.display import *
for i in range(3):
    clear_output(wait=True); display(i)'
	eq "$(field j '[.results[].text] | join(" ")')" 2
	start run_code j 'input("n? ")'
	wait_for context_is j input
	echo bob >"$D/code/j/stdin"
	wait "$PID"
	eq "$(of j results/0.txt)" "'bob'"
}

@test "ipykernel: timeout, death, exit" {
	jupyter python3
	run_code j 'keep = 1'
	echo 2 >"$D/code/j/timeout"
	run_code j 'import time; time.sleep(100)'
	eq "$(status_of j)" timeout
	gives j keep 1
	echo 20 >"$D/code/j/timeout"
	errs j 'import os; os._exit(3)' KernelDied 'exit 3'
	gives j 2 2
	run_code j 'exit()'
	eq "$(status_of j)" ok
	gives j 3 3
}

@test "IRkernel: results, plots, errors, interrupts" {
	jupyter ir
	gives j '1 + 1' '[1] 2'
	run_code j 'plot(1)'
	eq "$(head -c 4 "$D/code/j/out/last/results/0.png" | od -An -c | tr -d ' ')" '211PNG'
	mains() { field j '[.results[].isMainResult] | tostring'; }
	eq "$(mains)" '[false]'
	run_code j 'list(1, list(2))'
	eq "$(mains)" '[true]'
	run_code j $'1\n2\nIRdisplay::display_html("<b>x</b>")\nplot(1)'
	eq "$(mains)" '[false,true,false,false]'
	run_code j 'IRdisplay::display_json("{\"a\": [1]}")'
	eq "$(jq -c . "$D/code/j/out/last/results/0.json")" '{"a":[1]}'
	eq "$(field j .results[0].json.a[0])" 1
	run_code j 'stop("bad")'
	eq "$(field j .error.value | grep -c bad)" 1
	echo 1 >"$D/code/j/timeout"
	run_code j 'Sys.sleep(100)'
	eq "$(status_of j)" timeout
	prints_text j 'cat("on\n")' on
}

@test "a kernelspec that is not there is told with those that are" {
	mkdir "$D/code/j"
	echo jupyter:nosuch >"$D/code/j/language"
	run_code j 1
	eq "$(status_of j)" died
	match "$(field j .error.value)" 'no kernelspec "nosuch"; there are:'
	mkdir "$D/code/k"
	refute bash -c "echo jupyter:../x >'$D/code/k/language'"
}
