# Results: formats, displays that change, events.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

names() { ls "$D/code/$1/out/last/results" | tr '\n' ' '; }

@test "every format has its file, other MIME types are extra" {
	language python
	run_code python 'from IPython.display import *
png = b"\x89PNG\r\n\x1a\nrest"
display({"text/plain": "t", "text/html": "<b>h</b>", "text/markdown": "*m*", "text/latex": "$l$",
  "image/svg+xml": "<svg/>", "application/json": {"a": [1, None]}, "application/javascript": "1",
  "image/png": png, "image/jpeg": b"\xff\xd8\xff", "application/pdf": b"%PDF-1", "application/x-own": "own"}, raw=True)'
	eq "$(names python)" "0.html 0.jpeg 0.js 0.json 0.md 0.pdf 0.png 0.svg 0.tex 0.txt "
	eq "$(jq -c .a "$D/code/python/out/last/results/0.json")" '[1,null]'
	eq "$(field python '.results[0] | keys | join(" ")')" \
		"extra html isMainResult javascript jpeg json latex markdown pdf png svg text"
	eq "$(field python '.results[0].extra["application/x-own"], .results[0].isMainResult' | tr '\n' ' ')" "own false "
	eq "$(field python '.results[0].json.a[0]')" 1
	eq "$(stat -c %s "$D/code/python/out/last/results/0.png")" 12
}

@test "a display is updated where it was shown" {
	language python
	run_code python 'h = display("a", display_id=True)'
	eq "$(of python results/0.txt)" "'a'"
	run_code python 'h.update("b"); 5'
	eq "$(cat "$D/code/python/out/1/results/0.txt")" "'b'"
	eq "$(of python results/0.txt)" 5
}

@test "clear_output ends in what was shown last, the streams stay" {
	language python
	run_code python 'from IPython.display import *
for i in range(3):
    clear_output(wait=True)
    print(i)
    display(i)'
	eq "$(names python)" "0.txt "
	eq "$(of python results/0.txt)" 2
	eq "$(of python stdout)" $'0\n1\n2'
	eq "$(jq -r .type "$D/code/python/out/last/events" | uniq | tr '\n' ' ')" \
		"stdout clear result stdout clear result stdout clear result end "
}

@test "two figures are two results in order, and an error keeps them" {
	language python
	/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is not installed"
	run_code python 'import matplotlib.pyplot as plt
plt.figure(); plt.plot([1, 2]); plt.title("one")
plt.figure(); plt.bar(["a", "b"], [1, 1]); plt.title("two")
1 / 0'
	eq "$(status_of python)" error
	eq "$(field python '[.results[].chart | .title, .type] | join(" ")')" "one line two bar"
	eq "$(field python '[.results[1].chart.elements[] | .label, .value] | map(tostring) | join(" ")')" "a 1 b 1"
}

@test "the same figure is one result" {
	language python
	/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is not installed"
	run_code python 'import matplotlib.pyplot as plt
fig, ax = plt.subplots(); ax.plot([1, 2])
fig'
	eq "$(field python '[.results[] | select(.png)] | length')" 1
}

@test "charts: scatter, pie, boxes, bars that lie, several" {
	language python
	/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is not installed"
	chart() {
		run_code python "import matplotlib.pyplot as plt
$1
plt.show()"
		jq -c "$2" "$D/code/python/out/last/results/0.chart.json"
	}
	eq "$(chart 'plt.scatter([1, 2], [3, 4], label="s")' '[.type, .elements[0].label, .elements[0].points]')" \
		'["scatter","s",[[1,3],[2,4]]]'
	eq "$(chart 'plt.pie([90, 10], labels=["a", "b"])' '[.type, .elements[0].label, .elements[0].angle]')" \
		'["pie","a",324]'
	eq "$(chart 'plt.boxplot([1, 2, 3, 4, 100])' '[.type, .elements[0].median, .elements[0].first_quartile, .elements[0].outliers]')" \
		'["box_and_whisker",3,2,[100]]'
	eq "$(chart 'plt.boxplot([1, 2, 3, 4, 100], patch_artist=True)' '[.type, .elements[0].median, .elements[0].third_quartile]')" \
		'["box_and_whisker",3,4]'
	eq "$(chart 'plt.barh(["a", "b"], [3, 3]); plt.xlabel("n (kg)")' '[.type, .elements[1].label, .elements[1].value, .y_unit]')" \
		'["bar","b",3,"kg"]'
	eq "$(chart 'f, (a, b) = plt.subplots(1, 2); a.plot([1, 2]); b.bar(["x"], [5]); f.suptitle("both")' '[.type, .title, [.elements[].type]]')" \
		'["superchart","both",["line","bar"]]'
	eq "$(chart 'import datetime; plt.plot([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], [1, 2])' '[.x_scale, .elements[0].points[0]]')" \
		'["datetime",["2026-01-01",1]]'
}

@test "data is JSON whatever the table holds" {
	language python
	/usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "pandas is not installed"
	run_code python 'import pandas as pd, numpy as np, decimal, datetime
pd.DataFrame({"f": [1.5, float("nan")], "i": [np.int64(3), 4], "t": [pd.Timestamp("2026-01-02"), pd.NaT],
  "d": [decimal.Decimal("1.25"), None], "o": [{"a": float("inf")}, [1]], "b": [b"x", True]})'
	eq "$(jq -c . "$D/code/python/out/last/results/0.data.json")" \
		'{"f":[1.5,null],"i":[3,4],"t":["2026-01-02T00:00:00",null],"d":[1.25,null],"o":[{"a":null},[1]],"b":["x",true]}'
}

@test "an object whose repr raises is an error, and the kernel goes on" {
	language python
	run_code python 'class A:
    def __repr__(self): raise ValueError("no")
A()'
	eq "$(field python .error.name)" ValueError
	errs python 'class E(Exception):
    def __str__(self): 1/0
raise E()' E '<exception str() failed>'
	run_code python 'import sys; sys.stdout.close()'
	run_code python 'print(1)'
	eq "$(field python .error.name)" ValueError
	gives python 2 2
}

@test "streams of a shell command are apart and unchanged" {
	language python
	run_code python '!echo a; echo b >&2'
	eq "$(od -An -c "$D/code/python/out/last/stdout" | tr -d ' ')" 'a\n'
	eq "$(of python stderr)" b
}
