# What notebooks are known to get wrong, in the languages where it makes sense.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

# Installed languages of the standard ones.
installed() { jq -r '.languages | to_entries[] | select(.value == "yes") | .key' "$D/status.json"; }

# say CONTEXT TEXT: source that prints a line.
say() {
	case $1 in
	python) echo "print('$2')" ;;
	javascript | typescript) echo "console.log('$2')" ;;
	r) echo "cat('$2\\n')" ;;
	bash) echo "echo '$2'" ;;
	esac
}

@test "the first output of a kernel is there, in each language" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		prints_text "$context" "$(say "$context" first)" first
		eq "$(of "$context" stderr)" ""
	done
}

@test "each written source counts, empty and failing ones too" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		run_code "$context" ' '
		run_code "$context" ')('
		run_code "$context" "$(say "$context" x)"
		eq "$(field "$context" .executionCount)" 3 "$context"
		eq "$(jq .executionCount "$D/code/$context/info.json")" 3
		eq "$(cat "$D/code/$context/out/2/status")" error "$context"
	done
}

@test "those behind one that fails are executed all the same" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		run_code "$context" "$(say "$context" warm)"
		printf ')(' >"$D/code/$context/start"
		for i in 1 2 3; do
			printf '%s' "$(say "$context" "n$i")" >"$D/code/$context/start"
		done
		eq "$(cat "$D/code/$context/out/5/wait")" ok "$context"
		eq "$(cat "$D/code/$context/out/2/status")" error "$context"
		eq "$(cat "$D/code/$context"/out/{3,4,5}/stdout)" $'n1\nn2\nn3'
	done
}

@test "a working directory that is removed does no harm" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		mkdir -p "$D/files/workspace/gone" "$D/code/own-$context"
		echo "$context" >"$D/code/own-$context/language"
		echo /workspace/gone >"$D/code/own-$context/cwd"
		run_code "own-$context" "$(say "$context" in)"
		rmdir "$D/files/workspace/gone"
		prints_text "own-$context" "$(say "$context" still)" still
		eq "$(of "own-$context" status)" ok
		rmdir "$D/code/own-$context"
	done
}

@test "source with NUL bytes or that is not UTF-8 ends, and the next is executed" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		printf '"a\0b"' >"$D/code/$context/in"
		match "$(status_of "$context")" 'ok|error'
		printf '"\xff\xfe"' >"$D/code/$context/in"
		match "$(status_of "$context")" 'ok|error'
		prints_text "$context" "$(say "$context" after)" after
	done
}

@test "an interrupt that finds nothing is not for the next execution" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		run_code "$context" "$(say "$context" one)"
		for i in 1 2 3; do
			echo 1 >"$D/code/$context/interrupt"
		done
		prints_text "$context" "$(say "$context" two)" two
		eq "$(status_of "$context")" ok "$context"
	done
}

@test "variables of the context's environment are set, with any characters, and change no line" {
	for context in python javascript r bash; do
		[[ $(jq -r ".languages.$context" "$D/status.json") == yes ]] || continue
		mkdir "$D/code/own-$context"
		echo "$context" >"$D/code/own-$context/language"
		printf 'API_KEY=a"b'\''$c\\n d=e\n' >"$D/code/own-$context/env"
		case $context in
		python) code='import os; print(os.environ["API_KEY"])' ;;
		javascript) code='console.log(process.env.API_KEY)' ;;
		r) code='cat(Sys.getenv("API_KEY"), "\n", sep = "")' ;;
		bash) code='printf "%s\n" "$API_KEY"' ;;
		esac
		prints_text "own-$context" "$code" 'a"b'\''$c\n d=e'
	done
	[[ $(jq -r .languages.python "$D/status.json") == yes ]] || return 0
	run_code own-python '1 / 0'
	match "$(of own-python error)" 'line 1'
}

@test "python: streams of bytes, of children, and those that are replaced" {
	language python
	prints_text python 'import sys; sys.stdout.buffer.write(b"\xc3\xa9"); None' $'\xc3\xa9'
	run_code python 'import sys; n = sys.stdout.buffer.write(b"\xff")'
	eq "$(od -An -tx1 "$D/code/python/out/last/stdout" | tr -d ' \n')" ff
	run_code python 'import subprocess; r = subprocess.run("echo a; echo b >&2", shell=True)'
	eq "$(of python stdout) $(of python stderr)" "a b"
	run_code python 'print("\ud800x", "\x1b[31mred\x1b[0m")'
	eq "$(of python stdout)" $'?x \e[31mred\e[0m'
	prints_text python 'for i in (25, 50): print(f"\r{i}%", end="")' $'\r25%\r50%'
	gives python 'import sys; sys.stdin.readline()' "''"
	run_code python 'import io, sys, os; keep = sys.stdout; sys.stdout = io.StringIO()'
	prints_text python 'print("swallowed"); n = os.write(1, b"caught\n")' caught
	run_code python 'sys.stdout = keep'
	prints_text python 'print("back")' back
}

@test "python: tasks go on between executions, and their output is late" {
	language python
	run_code python 'import asyncio
async def later():
    await asyncio.sleep(0.2)
    print("from the task")
task = asyncio.create_task(later())'
	eq "$(status_of python)" ok
	wait_for file_is "$D/code/python/out/1/stdout" 'from the task'
	eq "$(tail -n 1 "$D/code/python/out/1/events" | jq .late)" true
	gives python 'asyncio.run(asyncio.sleep(0, "run"))' "'run'"
	gives python 'await asyncio.sleep(0, "awaited")' "'awaited'"
}

@test "python: await is interrupted where it waits, and fork's child ends by itself" {
	language python
	start run_code python 'import asyncio
try:
    await asyncio.sleep(100)
finally:
    print("cleaned up")'
	wait_for context_is python busy
	wait_for has_text "$D/code/python/out/1/code" cleaned
	until [[ $(cat "$D/code/python/out/1/status") == interrupted ]]; do
		echo 1 >"$D/code/python/interrupt"
		sleep 0.1
	done
	wait "$PID"
	match "$(status_of python)" interrupted
	run_code python 'import os, sys
pid = os.fork()
if pid == 0:
    print("child"); sys.exit(7)
print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
	eq "$(sort "$D/code/python/out/last/stdout")" $'child\nparent 7'
	gives python 1 1
}

@test "python: 6000 flushed lines are 6000 lines, whoever reads" {
	language python
	start timeout 60 cat "$D/code/python/out/1/live" 2>/dev/null
	run_code python 'for i in range(6000): print(i, flush=True)'
	eq "$(of python stdout | sha256sum)" "$(seq 0 5999 | sha256sum)"
	eq "$(jq -r 'select(.type == "stdout").text' "$D/code/python/out/last/events" | grep -c .)" 6000
}

@test "python: what is updated and gone, or never was, is nobody's" {
	language python
	run_code python 'from IPython.display import *
update_display("x", display_id="never"); h = display("a", display_id="d")'
	rmdir "$D/code/python/out/1"
	run_code python 'h.update("b"); 5'
	eq "$(status_of python)" ok
	eq "$(of python results/0.txt)" 5
}

@test "python: a plot's own value comes first, the figure once and not as the value" {
	language python
	/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is not installed"
	run_code python 'import matplotlib.pyplot as plt
plt.plot([1, 2])'
	match "$(field python '.results[0].text')" '^\[<matplotlib.lines.Line2D'
	eq "$(field python '[.results[] | [has("png"), .isMainResult]] | tostring')" '[[false,true],[true,false]]'
	run_code python 'plt.plot([1]); plt.show()'
	eq "$(field python '[.results[] | select(.png)] | length')" 1
}

@test "python: numbers that are drawn differ from context to context" {
	language python
	/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
	for i in 1 2 3; do
		mkdir "$D/code/r$i"
		text_of "r$i" 'import numpy, random; (numpy.random.rand(), random.random())' >>"$T/numbers"
		echo >>"$T/numbers"
	done
	eq "$(sort -u "$T/numbers" | wc -l)" 3
}

@test "javascript: output that comes late, interrupts that find nothing, prompt without an answer" {
	language javascript
	run_code javascript 'setTimeout(() => console.log("late"), 200); 1'
	eq "$(of javascript stdout)" ""
	wait_for file_is "$D/code/javascript/out/1/stdout" late
	echo 1 >"$D/code/javascript/timeout"
	gives javascript 'prompt("q ")' null
	gives javascript 'prompt("q ", "d")' "'d'"
}

@test "a byte order mark is none of the source, in each language" {
	for context in $(installed); do
		[[ $context == jupyter:* ]] && continue
		prints_text "$context" $'\xef\xbb\xbf'"$(say "$context" five)" five
		eq "$(status_of "$context")" ok
		eq "$(head -c 3 "$D/code/$context/out/last/code")" $'\xef\xbb\xbf'
	done
}

@test "python: a NUL byte is an error without noise" {
	printf 'print(1)\0print(2)' >"$D/code/python/in"
	eq "$(field python '.error.name + ": " + .error.value')" \
		"SyntaxError: source code cannot contain null bytes"
	eq "$(of python stdout)$(of python stderr)" ""
	match "$(of python error)" 'SyntaxError: source code cannot contain null bytes'
	prints_text python 'print(6)' 6
}

@test "javascript: what cannot be shown, values that throw, rejections nobody handles" {
	language javascript
	errs javascript 'throw {get stack() { throw 1 }}' Error
	errs javascript 'throw null' Error null
	run_code javascript '({[Symbol.for("nodejs.util.inspect.custom")]() { throw new Error("no") }})'
	match "$(of javascript results/0.txt)" 'cannot be shown'
	run_code javascript 'Promise.reject(new Error("nobody")); 1'
	run_code javascript 'await 1'
	wait_for grep -q nobody "$D"/code/javascript/out/{4,5}/stderr
	gives javascript 'const a = {}; a.a = a; a' '<ref *1> { a: [Circular *1] }'
	gives javascript 'globalThis.console = undefined; 6' 6
}

@test "r: nobody answers readline, children of mclapply are heard" {
	language r
	echo 1 >"$D/code/r/timeout"
	gives r 'readline("n? ")' '[1] ""'
	echo 20 >"$D/code/r/timeout"
	run_code r 'invisible(parallel::mclapply(1:2, function(i) { cat(sprintf("child %d\n", i)); system(paste("echo", i)) }))'
	eq "$(of r stdout | sort)" $'1\n2\nchild 1\nchild 2'
}
