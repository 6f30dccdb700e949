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

is_png() { eq "$(head -c 4 "$D/code/r/out/last/results/$1.png" | od -An -c | tr -d ' ')" '211PNG'; }

@test "a page is one plot, however many calls draw on it" {
	language r
	run_code r 'plot(1:3)
lines(3:1)
abline(h = 2)
title("t")'
	eq "$(field r '[.results[] | select(.png and .svg)] | length')" 1
	run_code r 'par(mfrow = c(1, 2)); plot(1); plot(2)'
	eq "$(field r '.results | length')" 1
	run_code r 'par(mfrow = c(1, 1)); plot(1); 5; lines(1:2)'
	eq "$(ls "$D/code/r/out/last/results" | tr '\n' ' ')" "0.png 0.svg 0.txt 1.txt "
	eq "$(jq -r .type "$D/code/r/out/last/events" | tr '\n' ' ')" "result result update end "
	run_code r 'hist(c(1, 2, 2)); stop("after")'
	eq "$(status_of r)" error
	is_png 0
	run_code r 'x <- 1'
	eq "$(ls "$D/code/r/out/last/results")" ""
	run_code r 'plot(1); invisible(dev.off())'
	is_png 0
}

@test "the last value is the main result, and the only one" {
	language r
	run_code r $'1\nlist(1, list(2))\nplot(1)\nx <- 3'
	eq "$(field r '[.results[].isMainResult] | tostring')" '[false,true,false]'
}

@test "lattice and grid" {
	language r
	run_code r 'library(lattice); xyplot(1:3 ~ 1:3)'
	is_png 0
	eq "$(field r '.results[0] | has("svg"), .isMainResult' | tr '\n' ' ')" "true true "
	run_code r 'for (i in 1:2) print(bwplot(c(1, 2, 9)))'
	eq "$(field r '[.results[] | select(.png)] | length')" 2
	run_code r 'library(grid); grid.newpage(); grid.rect()'
	eq "$(field r '[.results[] | select(.png)] | length')" 1
}

@test "ggplot: a value, printed ones, one that is kept" {
	language r
	Rscript -e 'library(ggplot2)' >/dev/null 2>&1 || skip "R's ggplot2 is not installed"
	run_code r 'library(ggplot2)
g <- ggplot(data.frame(a = 1:3, b = 3:1), aes(a, b)) + geom_point()'
	eq "$(ls "$D/code/r/out/last/results")" ""
	run_code r 'g'
	is_png 0
	eq "$(field r '.results[0] | has("svg"), .isMainResult' | tr '\n' ' ')" "true true "
	run_code r 'for (i in 1:2) print(g + geom_line())'
	eq "$(field r '[.results[] | select(.png)] | length')" 2
	run_code r 'ggsave("/tmp/g.png", g, width = 2, height = 2); 1'
	eq "$(head -c 4 "$D/files/tmp/g.png" | od -An -c | tr -d ' ')" '211PNG'
}

@test "tables of every column: html, markdown, latex, data" {
	language r
	run_code r 'data.frame(t = as.POSIXct("2026-01-02 03:04:05", tz = "UTC"), f = factor("q"), z = 1i,
  n = NA_character_, i = Inf, l = TRUE, o = I(list(1:2)), stringsAsFactors = FALSE)'
	eq "$(ls "$D/code/r/out/last/results" | tr '\n' ' ')" "0.data.json 0.html 0.md 0.tex 0.txt "
	eq "$(jq -c . "$D/code/r/out/last/results/0.data.json")" \
		'{"t":["2026-01-02T03:04:05"],"f":["q"],"z":["0+1i"],"n":[null],"i":[null],"l":[true],"o":[[1,2]]}'
	match "$(of r results/0.html)" '<table'
	run_code r 'matrix(1:4, 2)'
	match "$(of r results/0.html)" '<table'
	run_code r 'head(data.frame(a = seq_len(20000)), 20000)'
	eq "$(jq '.a | length' "$D/code/r/out/last/results/0.data.json")" 10000
	gives r 'list(a = 1, b = "x")$b' '[1] "x"'
	run_code r 'list(a = 1, b = "x")'
	eq "$(of r results/0.json)" '{"a":1,"b":"x"}'
}
