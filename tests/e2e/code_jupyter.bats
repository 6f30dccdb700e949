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

@test "a kernelspec that is not there is refused with those that are" {
	jupyter python3
	mkdir "$D/code/k"
	run fsop open "$D/code/k/language" w write $'jupyter:nosuch\n'
	match "$output" 'write EINVAL'
	match "$(cat "$D/error")" '^code/k/language: no kernelspec "nosuch" in the sandbox; there are:.* python3.*EINVAL'
	eq "$(cat "$D/code/k/language")" python
	refute bash -c "echo jupyter:../x >'$D/code/k/language'"
	refute bash -c "echo jupyter:python3/../python3 >'$D/code/k/language'"
	# Links lead to the sandbox's tree only, whatever they say.
	mkdir -p "$T/outside/planted"
	cp "$D/files/usr/share/jupyter/kernels/python3/kernel.json" "$T/outside/planted"
	inside "mkdir -p /root/.local/share/jupyter /odd && ln -s '$T/outside' /root/.local/share/jupyter/kernels"
	refute bash -c "echo jupyter:planted >'$D/code/k/language'"
	inside 'mkdir -p /odd/kernels/fifo && mkfifo /odd/kernels/fifo/kernel.json'
	echo JUPYTER_PATH=/odd >"$D/code/k/env"
	refute bash -c "echo jupyter:fifo >'$D/code/k/language'"
	# One that is installed later.
	inside 'rm /root/.local/share/jupyter/kernels &&
		mkdir -p /root/.local/share/jupyter/kernels/mine /odd/kernels/here &&
		cp /usr/share/jupyter/kernels/python3/kernel.json /root/.local/share/jupyter/kernels/mine &&
		cp /usr/share/jupyter/kernels/python3/kernel.json /odd/kernels/here'
	echo jupyter:here >"$D/code/k/language"
	echo jupyter:mine >"$D/code/k/language"
	gives k '1 + 1' 2
}
