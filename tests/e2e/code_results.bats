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

# shows SOURCE: formats of the first result, in order.
shows() {
	run_code python "$1"
	eq "$(status_of python)" ok "status of $1"
	field python '.results[0] | keys | map(select(. != "isMainResult")) | join(" ")'
}

# has_python MODULE
has_python() { /usr/bin/python3 -c "import $1" 2>/dev/null || skip "python's $1 is not installed"; }

@test "what IPython.display makes: each kind has its format" {
	language python
	run_code python 'from IPython.display import *'
	eq "$(shows 'HTML("<b>h</b>")')" "html text"
	eq "$(of python results/0.html)" '<b>h</b>'
	eq "$(shows 'Markdown("*m*")')" "markdown text"
	eq "$(of python results/0.md)" '*m*'
	eq "$(shows 'Latex("$l$")') $(shows 'Math("x^2")')" "latex text latex text"
	eq "$(of python results/0.tex)" '$\displaystyle x^2$'
	eq "$(shows 'SVG("<svg xmlns=\"http://www.w3.org/2000/svg\"/>")')" "svg text"
	match "$(of python results/0.svg)" '^<svg'
	eq "$(shows 'JSON({"a": [1, None]})')" "json text"
	eq "$(jq -c . "$D/code/python/out/last/results/0.json")" '{"a":[1,null]}'
	eq "$(shows 'Javascript("1 + 1")')" "javascript text"
	eq "$(of python results/0.js)" '1 + 1'
	eq "$(shows 'Image(data=b"\x89PNG\r\n\x1a\nrest")')" "png text"
	eq "$(stat -c %s "$D/code/python/out/last/results/0.png")" 12
	eq "$(shows 'Image(data=b"\xff\xd8\xff\xe0rest", format="jpeg")')" "jpeg text"
	eq "$(of python results/0.jpeg | head -c 2 | od -An -tx1 | tr -d ' ')" ffd8
	eq "$(shows 'Image(url="http://x/y.png")')" "html text"
	eq "$(shows 'Pretty("p")')" text
	eq "$(of python results/0.txt)" p
	eq "$(shows 'IFrame("http://x", 1, 2)') $(shows 'Video(data=b"v", mimetype="video/mp4", embed=True)') $(shows 'ProgressBar(3)')" \
		"html text html text html text"
	eq "$(shows 'GeoJSON({"type": "Point"})')" "extra text"
	eq "$(field python '.results[0].extra | keys[0]')" application/geo+json
}

@test "objects that show themselves: each _repr_ method, bundles, and what fails" {
	language python
	run_code python 'class P:
    def __repr__(self): return "P"
    def _repr_pdf_(self): return b"%PDF-1.4"
    def _repr_svg_(self): return "<svg/>"
    def _repr_json_(self): return {"n": float("nan")}
P()'
	eq "$(names python | tr -d '\n')" "0.json 0.pdf 0.svg 0.txt "
	eq "$(of python results/0.pdf)" %PDF-1.4
	jq -e . "$D/code/python/out/last/result.json" >/dev/null
	eq "$(shows 'class B:
    def _repr_mimebundle_(self, include=None, exclude=None): return {"text/plain": "b", "application/x-own": {"k": 1}}
B()')" "extra text"
	run_code python 'class F:
    def _repr_html_(self): raise RuntimeError("no html")
    def __repr__(self): return "F"
F()'
	eq "$(of python results/0.txt)" F
	match "$(of python error)" 'no html'
	run_code python 'display(1, "two"); {"a": 1}'
	eq "$(names python | tr -d '\n')" "0.txt 1.txt 2.json 2.txt "
	eq "$(field python '[.results[].isMainResult] | tostring')" '[false,false,true]'
}

@test "sympy is latex and text" {
	language python
	has_python sympy
	eq "$(shows 'import sympy; x = sympy.symbols("x"); sympy.Integral(x**2, x)')" "latex text"
	eq "$(of python results/0.tex)" '$\displaystyle \int x^{2}\, dx$'
}

@test "PIL: an image is a png in whatever mode, and show() shows it here" {
	language python
	has_python PIL
	for mode in RGB RGBA L P 1 CMYK LAB F; do
		eq "$(shows "from PIL import Image
im = Image.new('$mode', (3, 2)); im")" "png text"
		eq "$(of python results/0.png | head -c 24 | tail -c 8 | od -An -tx1 | tr -d ' ')" 0000000300000002
	done
	run_code python 'im.show(); im.show()'
	eq "$(field python '[.results[] | has("png")] | tostring')" '[true,true]'
	eq "$(of python stderr)" ""
}

@test "plotly: a page, its JSON, the chart; show() does the same" {
	language python
	has_python plotly
	eq "$(shows 'import plotly.graph_objects as go
fig = go.Figure([go.Bar(x=["a", "b"], y=[1, 2], name="n"), go.Bar(x=["a", "b"], y=[3, float("nan")])])
fig.update_layout(title="T", yaxis_title="w (kg)"); fig')" "chart extra html text"
	eq "$(field python '.results[0].isMainResult, (.results | length)' | tr '\n' ' ')" "true 1 "
	eq "$(field python '.results[0].extra["application/vnd.plotly.v1+json"].data[0].type')" bar
	match "$(of python results/0.html)" '<html>.*plotly'
	eq "$(field python '.results[0].html | length < 100000')" true
	# The script is the sandbox's own, where the package brings it.
	script=$(of python results/0.html | grep -o 'src="\.\./[^"]*' | cut -c 6-)
	[[ -z $script ]] || has_text "$D/code/python/out/last/results/$script" Plotly
	eq "$(jq -c '[.type, .title, .y_label, .y_unit, [.elements[] | [.label, .group, .value]]]' "$D/code/python/out/last/results/0.chart.json")" \
		'["bar","T","w (kg)","kg",[["a","n",1],["b","n",2],["a","Group 1",3],["b","Group 1",null]]]'
	run_code python 'fig.show()'
	eq "$(field python '.results | length, (.[0] | has("chart"), has("html"), .isMainResult)' | tr '\n' ' ')" "1 true true false "
}

@test "plotly: each kind of chart" {
	language python
	has_python plotly
	kind() {
		run_code python "import plotly.graph_objects as go
go.Figure($1)"
		jq -c "$2" "$D/code/python/out/last/results/0.chart.json"
	}
	eq "$(kind 'go.Scatter(x=["2026-01-01", "2026-01-02"], y=[1, 2], name="s")' '[.type, .x_scale, .elements[0].label, .elements[0].points[1]]')" \
		'["line","datetime","s",["2026-01-02",2]]'
	eq "$(kind 'go.Scatter(x=[1, 2], y=[3, 4], mode="markers")' '[.type, .y_scale, .elements[0].points]')" \
		'["scatter","linear",[[1,3],[2,4]]]'
	eq "$(kind 'go.Bar(y=["a", "b"], x=[3, 3], orientation="h")' '[.type, .elements[1].label, .elements[1].value]')" '["bar","b",3]'
	eq "$(kind 'go.Pie(labels=["a", "b"], values=[90, 10])' '[.type, .elements[0].label, .elements[0].angle]')" '["pie","a",324]'
	eq "$(kind 'go.Box(y=[1, 2, 3, 4, 100])' '[.type, (.elements[0] | .median, .first_quartile, .max, .outliers)]')" \
		'["box_and_whisker",3,2,4,[100]]'
	eq "$(kind 'go.Heatmap(z=[[1, 2]])' .type)" '"unknown"'
	eq "$(kind '[go.Scatter(y=[1, 2]), go.Pie(labels=["a"], values=[1])]' '[.type, [.elements[].type]]')" '["superchart",["line","pie"]]'
}

# chart SOURCE JQ: of the figure that it draws.
chart() {
	run_code python "import matplotlib.pyplot as plt, numpy as np
plt.close('all')
$1"
	jq -c "$2" "$D/code/python/out/last/results/"[0-9].chart.json
}

@test "charts: lines field by field" {
	language python
	has_python matplotlib
	eq "$(chart 'plt.plot([1, 2, 3], [1, 10, 100]); plt.plot([3, 2], [1, 1.5], label="b"); plt.axhline(2)
plt.title(""); plt.xlabel("Time [s]"); plt.ylabel("Y-axis (log scale)"); plt.yscale("log"); plt.xticks([1, 2], ["one", "two"]); plt.show()' \
		'[.type, .title, .x_label, .x_unit, .y_label, .y_unit, .x_scale, .y_scale, .x_ticks, .x_tick_labels]')" \
		'["line",null,"Time [s]","s","Y-axis (log scale)","log scale","linear","log",[1,2],["one","two"]]'
	eq "$(jq -c '[.elements[] | [.label, .points]]' "$D/code/python/out/last/results/0.chart.json")" \
		'[["Line 0",[[1,1],[2,10],[3,100]]],["b",[[3,1],[2,1.5]]]]'
	eq "$(chart 'plt.plot(["a", "b", "c"], [1, float("nan"), 3]); plt.show()' '[.x_scale, .x_tick_labels, .elements[0].points[1]]')" \
		'["categorical",["a","b","c"],["b",null]]'
	eq "$(chart 'plt.plot(np.datetime64("2026-01-01") + np.arange(2), [1, 2]); plt.show()' '[.x_scale, .elements[0].points[1]]')" \
		'["datetime",["2026-01-02T00:00:00",2]]'
}

@test "charts: bars in groups, stacks and histograms" {
	language python
	has_python matplotlib
	bars='[.type, [.elements[] | [.label, .group, .value]]]'
	eq "$(chart 'x = np.arange(2); plt.bar(x - 0.2, [1, 2], 0.4, label="g"); plt.bar(x + 0.2, [3, 4], 0.4); plt.xticks(x, ["k", "l"]); plt.show()' "$bars")" \
		'["bar",[["k","g",1],["l","g",2],["k","Group 1",3],["l","Group 1",4]]]'
	eq "$(chart 'plt.bar(["a", "b"], [1, 2]); plt.bar(["a", "b"], [3, 4], bottom=[1, 2]); plt.show()' "$bars")" \
		'["bar",[["a","Group 0",1],["b","Group 0",2],["a","Group 1",3],["b","Group 1",4]]]'
	eq "$(chart 'plt.barh([0, 1], [5, 6]); plt.show()' "$bars")" '["bar",[["0","Group 0",5],["1","Group 0",6]]]'
	eq "$(chart 'n = plt.hist([0, 0, 4], bins=2); plt.show()' "$bars")" '["bar",[["1","Group 0",2],["3","Group 0",1]]]'
}

@test "charts: what pandas draws" {
	language python
	has_python pandas
	has_python matplotlib
	eq "$(chart 'import pandas as pd; a = pd.DataFrame({"x": [1, 2], "y": [3, 4]}, index=["p", "q"]).plot(kind="bar"); plt.show()' \
		'[.type, [.elements[] | [.label, .group, .value]]]')" '["bar",[["p","x",1],["q","x",2],["p","y",3],["q","y",4]]]'
	eq "$(chart 'a = pd.Series([1, 2], index=pd.date_range("2026-01-01", periods=2)).plot(); plt.show()' \
		'[.type, .x_scale, .elements[0].points]')" '["line","datetime",[["2026-01-01T00:00:00",1],["2026-01-02T00:00:00",2]]]'
	eq "$(chart 'a = pd.DataFrame({"x": [1, 2, 3], "y": [3, 4, 5]}).boxplot(); plt.show()' \
		'[.type, [.elements[] | [.label, .median]]]')" '["box_and_whisker",[["x",2],["y",4]]]'
	eq "$(chart 'a = pd.DataFrame({"v": [1, 2]}, index=["p", "q"]).plot.pie(y="v"); plt.show()' \
		'[.type, [.elements[] | [.label, .angle]]]')" '["pie",[["p",120],["q",240]]]'
}

@test "a styled table is html" {
	language python
	has_python pandas
	has_python jinja2
	eq "$(shows 'import pandas as pd; pd.DataFrame({"a": [1]}).style.format("{:.2f}")')" "html text"
	match "$(of python results/0.html)" '1\.00'
}

@test "charts: what is none of them is unknown, what shows nothing is none" {
	language python
	has_python matplotlib
	for code in 'plt.imshow([[1, 2]])' 'plt.errorbar([1, 2], [1, 2], yerr=0.1)' 'plt.stem([1, 2])' 'plt.violinplot([[1, 2, 3]])' \
		'plt.subplots(subplot_kw={"projection": "3d"})[1].plot([1, 2], [1, 2], [1, 2])' 'plt.polar([1, 2], [1, 2])' \
		'plt.fill_between([1, 2], [1, 2])'; do
		eq "$(chart "n = $code; plt.show()" '[.type, .elements]')" '["unknown",[]]' "$code"
	done
	run_code python 'plt.figure(); n = plt.text(0.5, 0.5, "hi"); plt.show()'
	eq "$(names python)" "0.png 0.txt "
}
