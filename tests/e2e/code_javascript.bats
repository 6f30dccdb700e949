# JavaScript and TypeScript as people write them.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "imports, static and dynamic, of built-in, local and installed modules" {
	language javascript
	mkdir -p "$D/files/workspace/node_modules/pack"
	echo 'export const n = 3; export default "d"' >"$D/files/workspace/own.mjs"
	echo '{"name": "pack", "exports": {"import": "./i.mjs"}}' >"$D/files/workspace/node_modules/pack/package.json"
	echo 'export const packed = 4' >"$D/files/workspace/node_modules/pack/i.mjs"
	run_code javascript 'import d, {n as three} from "./own.mjs"
import * as path from "node:path"
import {packed} from "pack"'
	gives javascript '[d, three, path.basename("/a/b"), packed].join()' "'d,3,b,4'"
	gives javascript '(await import("./own.mjs")).n' 3
	gives javascript 'const {n} = await import("./own.mjs"); const q = require("fs"); typeof q.readFileSync' "'function'"
}

@test "errors: name, place and a stack of the code's own" {
	language javascript
	errs javascript 'let z = ;' SyntaxError "Unexpected token ';'"
	match "$(of javascript error)" 'cell:1:9'
	errs javascript 'function f() { throw new RangeError("deep") }
f()' RangeError deep
	match "$(of javascript error)" 'at f \(cell-2:1:22\)'
	refute grep -q inspector "$D/code/javascript/out/last/error"
	errs javascript 'throw 5' Error 5
	errs javascript 'await Promise.reject(new TypeError("r"))' TypeError r
	run_code javascript 'setTimeout(() => { throw new Error("later") }, 10); await new Promise(r => setTimeout(r, 60)); 1'
	eq "$(status_of javascript)" ok
	has_text "$D/code/javascript/out/last/stderr" "Error: later"
}

@test "results: objects, literals, what is shown besides" {
	language javascript
	gives javascript '{a: 1}' '{ a: 1 }'
	eq "$(of javascript results/0.json)" '{"a":1}'
	gives javascript 'new Map([[1, {a: 2}]])' 'Map(1) { 1 => { a: 2 } }'
	gives javascript '10n' 10n
	run_code javascript 'undefined'
	eq "$(ls "$D/code/javascript/out/last/results")" ""
	run_code javascript 'display.html("<b>x</b>"); const h = display({a: 1}); console.log("t"); 5'
	eq "$(ls "$D/code/javascript/out/last/results" | tr '\n' ' ')" "0.html 1.json 1.txt 2.txt "
	prints_text javascript 'console.log("o"); console.error("e"); require("child_process").execSync("echo c", {stdio: "inherit"}); undefined' $'o\nc'
	eq "$(of javascript stderr)" e
}

@test "what does not end is stopped and nothing is lost" {
	language javascript
	run_code javascript 'const keep = 1'
	echo 1 >"$D/code/javascript/timeout"
	for code in 'while (true) {}' 'while (true) { await 1 }' 'await new Promise(() => {})' \
		'/^(a+)+$/.test("a".repeat(40) + "b")' '(function f() { f(); f() })()'; do
		run_code javascript "try { $code } finally { }"
		match "$(status_of javascript)" 'timeout|error'
		gives javascript keep 1
	done
}

@test "prompt, exit, crash" {
	language javascript
	start run_code javascript 'prompt("q ")'
	wait_for context_is javascript input
	echo yes >"$D/code/javascript/stdin"
	wait "$PID"
	eq "$(of javascript results/0.txt)" "'yes'"
	run_code javascript 'process.exit(0)'
	eq "$(status_of javascript)" ok
	errs javascript 'console.log("b"); process.exit(3)' KernelDied 'exit 3'
	eq "$(of javascript stdout)" b
	errs javascript 'process.abort()' KernelDied 'signal 6 (SIGABRT)'
	gives javascript 1 1
}

@test "TypeScript: types, enums, namespaces, persistent values, errors with their place" {
	language typescript
	gives typescript 'interface P { n: number }
enum E { A, B = 5 }
namespace N { export const x = 2 }
class C { constructor(public v: number) {} }
const p: P = {n: 4}; p.n + E.B + N.x + new C(1).v' 12
	gives typescript 'const q: P = p; q.n' 4
	errs typescript 'const q: number = ;' SyntaxError 'Expression expected.'
	match "$(of typescript error)" 'cell:1:19'
	gives typescript 'import {basename} from "path"; await Promise.resolve(basename("/x/y"))' "'y'"
	gives typescript 'basename("/a/b")' "'b'"
}

@test "TypeScript: stacks have the places of the source that was written" {
	language typescript
	run_code typescript 'interface P { a: number,
 b: string }

enum E { A,
  B }
function deep(x: number): number {
	throw new RangeError("deep");
}
1'
	errs typescript 'interface Q {
  c: number }

deep(1)' RangeError deep
	match "$(of typescript error)" 'deep \(cell-1:7:[0-9]+\)'
	match "$(of typescript error)" 'cell-2:4:1'
	run_code typescript 'type T = {
  a: number }
const f = async (n: number) => { await 1; throw new Error("async") };
try { await f(1) } catch (e) { console.error(e.stack) }
setTimeout(() => { throw new Error("later") }, 1); await new Promise(r => setTimeout(r, 50))'
	match "$(of typescript stderr)" 'cell-3:3:[0-9]+'
	match "$(of typescript stderr)" 'cell-3:5:[0-9]+'
	errs typescript 'enum F { A,
  B }
let twice: number = 1;
let twice: number = 2;' SyntaxError
	match "$(of typescript error)" 'cell:4:5'
	match "$(of typescript error)" 'let twice: number = 2;'
}

# asks CONTEXT SOURCE LINE...: executes it; each line is written when it is asked for.
asks() {
	local context=$1 line

	start run_code "$context" "$2"
	shift 2
	for line; do
		wait_for context_is "$context" input
		printf '%s\n' "$line" >"$D/code/$context/stdin"
	done
	wait "$PID"
}

@test "process.stdin and readline ask as prompt() does" {
	language javascript
	asks javascript 'const {createInterface} = await import("node:readline/promises");
const rl = createInterface({input: process.stdin, output: process.stdout});
const name = await rl.question("name? ");
rl.close();
name.toUpperCase()' bob
	eq "$(of javascript results/0.txt)" "'BOB'"
	eq "$(of javascript stdout)" 'name? '
	asks javascript 'import {stdin} from "process"; stdin.resume(); await new Promise(r => stdin.once("data", d => r(`${d}`)))' x
	eq "$(of javascript results/0.txt)" "'x\\n'"
	asks javascript 'prompt("? ")' y
	eq "$(of javascript results/0.txt)" "'y'"
	gives javascript 'require("fs").readFileSync(0, "utf8")' "''"
	language typescript
	asks typescript 'import * as lines from "readline";
const got: string[] = [];
for await (const line of lines.createInterface({input: process.stdin}))
	if (got.push(line) === 2) break;
got.join()' a b
	eq "$(of typescript results/0.txt)" "'a,b'"
}

@test "process.stdin ends when nobody answers, and does not outlive what asked" {
	language javascript
	run_code javascript 'setTimeout(() => prompt("nobody is told"), 50)'
	echo 1 >"$D/code/javascript/timeout"
	run_code javascript 'let all = ""; for await (const part of process.stdin) all += part; all'
	eq "$(status_of javascript)" ok
	eq "$(of javascript results/0.txt)" "''"
	run_code javascript 'await require("readline/promises").createInterface({input: process.stdin}).question("")'
	eq "$(status_of javascript)" timeout
	asks javascript 'await new Promise(r => process.stdin.once("data", d => r(`${d}`)))' again
	eq "$(of javascript results/0.txt)" "'again\\n'"
}
