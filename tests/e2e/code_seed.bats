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
