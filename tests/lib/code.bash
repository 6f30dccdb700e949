# For tests of code/: executing source in a context and looking at what came of it.

# run_code CONTEXT SOURCE: returns when it has been executed.
run_code() {
	printf '%s' "$2" >"$D/code/$1/in"
}

# of CONTEXT FILE: a file of the newest execution.
of() { cat "$D/code/$1/out/last/$2"; }

# status_of CONTEXT
status_of() { of "$1" status; }

# field CONTEXT JQ: of result.json.
field() { jq -r "$2" "$D/code/$1/out/last/result.json"; }

# text_of CONTEXT SOURCE: executes it, prints the text of its first result.
text_of() {
	run_code "$1" "$2" || return
	cat "$D/code/$1/out/last/results/0.txt" 2>/dev/null || {
		cat "$D/code/$1/out/last/error" "$D/code/$1/out/last/stderr" >&2
		return 1
	}
}

# gives CONTEXT SOURCE TEXT
gives() { eq "$(text_of "$1" "$2")" "$3" "result of $2"; }

# prints_text CONTEXT SOURCE TEXT: on standard output
prints_text() {
	run_code "$1" "$2"
	eq "$(of "$1" stdout)" "$3" "output of $2"
}

# errs CONTEXT SOURCE NAME [VALUE]
errs() {
	run_code "$1" "$2"
	eq "$(field "$1" .error.name)" "$3" "error of $2"
	[[ $# -lt 4 ]] || eq "$(field "$1" .error.value)" "$4" "error value of $2"
}

context_is() { [[ $(cat "$D/code/$1/status") == "$2" ]]; }

# language NAME: skips the test where its kernel is not installed.
language() {
	local says

	says=$(jq -r ".languages[\"$1\"]" "$D/status.json")
	[[ $says == yes ]] || skip "$says"
}
