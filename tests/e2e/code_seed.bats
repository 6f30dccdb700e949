# The examples of the code interpreter's own documentation.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "two cells share a variable" {
	language python
	run_code python 'import math; radius = 5'
	gives python 'math.pi * radius ** 2' 78.53981633974483
}

@test "the sum is printed and is the result" {
	language python
	run_code python '
data = [1, 2, 3, 4, 5]
print(f"Sum: {sum(data)}")
sum(data)
'
	eq "$(field python .logs.stdout[0])" "Sum: 15"
	eq "$(field python .results[0].text)" 15
	eq "$(field python .results[0].isMainResult)" true
}

@test "a division by zero is told by name, value and traceback" {
	language python
	errs python 'x = 1 / 0' ZeroDivisionError 'division by zero'
	[[ $(field python '.error.traceback | length') -gt 0 ]]
	eq "$(status_of python)" error
	eq "$(jq -r .name "$D/code/python/out/last/error.json")" ZeroDivisionError
	refute grep -q $'\033' "$D/code/python/out/last/error"
}

@test "top-level await fetches from a local server, and the data persist" {
	language javascript
	run_code javascript '
const server = http.createServer((request, response) => response.end(JSON.stringify({a: [1, 2]})));
await new Promise(resolve => server.listen(0, resolve));
const response = await fetch(`http://127.0.0.1:${server.address().port}/data`);
const data = await response.json();
server.close();'
	prints_text javascript 'console.log(data)' '{ a: [ 1, 2 ] }'
}

@test "const, let and var persist across cells and can be declared again" {
	language javascript
	run_code javascript 'const x = 10'
	run_code javascript 'let y = 20'
	run_code javascript 'var z = 5'
	gives javascript 'x + y' 30
	gives javascript 'const x = 1; let y = 2; var z = 3; class A { static n = 4 }; x + y + z' 6
	gives javascript 'class A { static n = 5 }; A.n' 5
}

@test "a matplotlib figure is one result: png, chart and text" {
	language python
	python3 -c '' && /usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is not installed"
	run_code python '
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 10, 100)
plt.plot(x, np.sin(x))
plt.xlabel("Time (s)")
plt.show()
'
	eq "$(ls "$D/code/python/out/last/results" | tr '\n' ' ')" "0.chart.json 0.png 0.txt "
	eq "$(head -c 8 "$D/code/python/out/last/results/0.png" | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a
	eq "$(jq -r .type,.x_unit,'(.elements[0].points | length)' "$D/code/python/out/last/results/0.chart.json" | tr '\n' ' ')" \
		"line s 100 "
	eq "$(field python '.results[0].png' | base64 -d | cmp - "$D/code/python/out/last/results/0.png" && echo same)" same
}

@test "a pandas table is html, text and data" {
	language python
	/usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "pandas is not installed"
	run_code python '
import pandas as pd
df = pd.DataFrame({"Name": ["Alice", "Bob"], "Age": [25, 30]})
df
'
	has_text "$D/code/python/out/last/results/0.html" "<td>Alice</td>"
	eq "$(jq -c . "$D/code/python/out/last/results/0.data.json")" '{"Name":["Alice","Bob"],"Age":[25,30]}'
	eq "$(field python '.results[0].data.Age[1]')" 30
}

@test "a CSV is read, drawn and saved" {
	language python
	/usr/bin/python3 -c 'import pandas, matplotlib' 2>/dev/null || skip "pandas or matplotlib is not installed"
	printf 'a,b\n1,2\n3,4\n' >"$D/files/work/data.csv"
	jq -n '{code: "import pandas as pd\ndf = pd.read_csv(\"/work/data.csv\")\ndf.plot().get_figure().savefig(\"/work/out.png\")\nprint(\"done\")", timeout: 60}' >"$T/in.json"
	cp "$T/in.json" "$D/code/python/in.json"
	result=$(cat "$D/code/python/in.json")
	eq "$(jq -c '[.logs.stdout, .error, .status]' <<<"$result")" '[["done"],null,"ok"]'
	eq "$(head -c 8 "$D/files/work/out.png" | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a
}

@test "a context of one's own: variables of the environment, default directory, listed, deleted" {
	language python
	mkdir "$D/code/ctx"
	echo 'API_KEY=secret' >"$D/code/ctx/env"
	eq "$(jq -c '[.id, .language, .cwd]' "$D/code/ctx/info.json")" '["ctx","python","/workspace"]'
	prints_text ctx 'import os; print("Hello", os.environ["API_KEY"], os.getcwd())' 'Hello secret /workspace'
	match "$(jq -r .lastUsed "$D/code/ctx/info.json")" '^20..-'
	eq "$(ls "$D/code" | wc -l)" 6
	rmdir "$D/code/ctx"
	eq "$(ls "$D/code" | wc -l)" 5
	errs python 'import os; os.environ["API_KEY"]' KeyError
}

@test "what is said while it runs is told while it runs, in order" {
	language python
	run_code python 1
	printf 'import sys, os\nprint("out"); print("err", file=sys.stderr)\ndisplay("shown")\nwhile not os.path.exists("/tmp/go"): pass\n1 / 0' \
		>"$D/code/python/start"
	exec {fd}<"$D/code/python/out/2/events"
	for type in stdout stderr result; do
		read -r line <&"$fd"
		eq "$(jq -r .type <<<"$line")" "$type"
	done
	eq "$(cat "$D/code/python/out/2/status")" running
	touch "$D/files/tmp/go"
	eq "$(jq -r .type <&"$fd" | tr '\n' ' ')" "error end "
	exec {fd}<&-
}

@test "typescript: top-level await and values that persist" {
	language typescript
	run_code typescript '
interface Answer { a: number[] }
const server = http.createServer((request, response) => response.end(JSON.stringify({a: [1, 2]})));
await new Promise<void>(resolve => server.listen(0, resolve));
const response = await fetch(`http://127.0.0.1:${(server.address() as any).port}/data`);
const data: Answer = await response.json();
server.close();'
	prints_text typescript 'console.log(data)' '{ a: [ 1, 2 ] }'
	run_code typescript 'const x: number = 10'
	run_code typescript 'let y = 20'
	gives typescript 'x + y' 30
}

@test "r and bash remember as the others do" {
	language r
	run_code r 'x <- 10'
	gives r 'x + 20' '[1] 30'
	run_code bash 'x=10; cd /tmp'
	prints_text bash 'echo $((x + 20)) $PWD' '30 /tmp'
}
