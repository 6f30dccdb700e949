# R.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "values persist, print as R prints, and invisible ones do not" {
	language r
	run_code r 'x <- 1:10'
	eq "$(ls "$D/code/r/out/last/results")" ""
	gives r 'mean(x)' '[1] 5.5'
	run_code r 'for (i in 1:2) cat(i, "\n"); 3; 4'
	eq "$(ls "$D/code/r/out/last/results" | tr '\n' ' ')" "0.txt 1.txt "
}

@test "a data frame is html and data, a plot png and svg" {
	language r
	run_code r 'data.frame(a = c(1, NA), b = c("x", "y"), d = as.Date("2026-01-02"))'
	eq "$(jq -c . "$D/code/r/out/last/results/0.data.json")" '{"a":[1,null],"b":["x","y"],"d":["2026-01-02","2026-01-02"]}'
	run_code r 'plot(1:3); hist(c(1, 2, 2))'
	eq "$(field r '[.results[] | select(.png and .svg)] | length')" 2
	eq "$(head -c 4 "$D/code/r/out/last/results/1.png" | od -An -c | tr -d ' ')" '211PNG'
}

@test "all output is caught: system(), stderr(), messages, children, bytes" {
	language r
	run_code r 'cat("o\n"); system("echo s; echo e >&2"); write("w", stderr()); message("m")'
	eq "$(of r stdout)" $'o\ns'
	eq "$(of r stderr)" $'e\nw\nm'
	run_code r 'cat("\xff\xfe\n")'
	eq "$(od -An -tx1 "$D/code/r/out/last/stdout" | tr -d ' \n')" fffe0a
}

@test "errors, warnings, what does not parse" {
	language r
	errs r 'f <- function(y) g(y); g <- function(z) stop("deep"); f(1)' simpleError deep
	match "$(of r error)" '1\. f\(1\)'
	run_code r 'warning("careful")'
	eq "$(status_of r)" ok
	has_text "$D/code/r/out/last/stderr" careful
	run_code r '1 +'
	eq "$(status_of r)" error
	match "$(of r error)" 'unexpected end of input'
}

@test "interrupts keep the state, also of a loop and a child" {
	language r
	run_code r 'keep <- 1'
	echo 1 >"$D/code/r/timeout"
	for code in 'Sys.sleep(100)' 'while (TRUE) {}' 'system("sleep 100")'; do
		run_code r "$code"
		eq "$(status_of r)" timeout
		gives r keep '[1] 1'
	done
	echo 1 >"$D/code/r/interrupt"
	gives r 'keep + 1' '[1] 2'
}

@test "readline asks; quit ends as it says" {
	language r
	echo bob >"$D/code/r/stdin"
	gives r 'readline("n? ")' '[1] "bob"'
	run_code r 'quit()'
	eq "$(status_of r)" ok
	errs r 'quit(status = 3)' KernelDied 'exit 3'
	gives r 1 '[1] 1'
}
