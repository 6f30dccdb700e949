// The driver of JavaScript and TypeScript: V8's own REPL mode in this process, told by frames on
// descriptor 3 what to execute.
'use strict';

const fs = require('fs');
const inspector = require('inspector');
const path = require('path');
const {Worker} = require('worker_threads');
const {builtinModules} = require('module');
const {KIND, send} = require('./wire');
const {IMPORT, toScript, stripTypes} = require('./source');
const {importer, requirer} = require('./modules');
const input = require('./input');
const places = require('./places');
const show = require('./show');

const typescript = process.argv[2] === 'typescript';
const LINE_MAX = 1 << 20;
// [0] what executes, 0: nothing; [1] the line for prompt(); [2] the answer to SYNC; [3] prompt() waits.
const shared = new SharedArrayBuffer(16);
const lineShared = new SharedArrayBuffer(LINE_MAX);
const state = new Int32Array(shared);

let current = null; // {execution, failed, stop}
let sends = Promise.resolve(); // displays that are still being made

const session = new inspector.Session();
session.connect();

const post = (method, parameters) => new Promise((resolve, reject) =>
	session.post(method, parameters, (error, result) => error ? reject(error) : resolve(result)));

class KeyboardInterrupt extends Error {
	constructor() {
		super('interrupted');
		this.name = 'KeyboardInterrupt';
		this.stack = 'KeyboardInterrupt: interrupted';
	}
}

// A function of ours as the inspector knows it: through it values come out of the REPL as they are.
let handle;
let received;
async function makeHandle() {
	const name = `__sandpit_${Math.random().toString(36).slice(2)}`;
	globalThis[name] = value => { received = value; };
	handle = (await post('Runtime.evaluate', {expression: name})).result.objectId;
	delete globalThis[name];
}

async function valueOf(remote) {
	const argument = remote.objectId ? {objectId: remote.objectId} :
		remote.unserializableValue ? {unserializableValue: remote.unserializableValue} :
		{value: remote.value};
	await post('Runtime.callFunctionOn', {
		functionDeclaration: 'function(value) { this(value); }', objectId: handle,
		arguments: [argument],
	});
	const value = received;
	received = undefined;
	if (remote.objectId)
		await post('Runtime.releaseObject', {objectId: remote.objectId});
	return value;
}

function cleanStack(stack) {
	const lines = String(stack).split('\n');
	const end = lines.findIndex(line => /^\s+at (Session\.post|new Promise|post) /.test(line) ||
		/\(?(node:inspector|\/opt\/sandpit\/javascript\/)/.test(line));
	return end < 0 ? lines : lines.slice(0, end);
}

// What was thrown may be anything, and do anything when it is looked at.
function describe(error) {
	try {
		return describeAny(error);
	} catch {
		return {name: 'Error', value: '<error cannot be shown>', traceback: []};
	}
}

function describeAny(error) {
	if (!(error instanceof Error) && !(error && typeof error.stack === 'string'))
		return {name: 'Error', value: show.text(error), traceback: [`Uncaught ${show.text(error)}`]};
	const name = String(error.name ?? 'Error');
	const value = String(error.message ?? '');
	let stack = cleanStack(error.stack ?? `${name}: ${value}`);
	if (error.place) {
		const {line, column, text} = error.place;
		stack = [`cell:${line + 1}:${column + 1}`, text, ' '.repeat(column) + '^',
			`${name}: ${value}`];
	} else if (error.cause !== undefined) {
		stack = [...stack, `  [cause]: ${show.text(error.cause)}`];
	}
	return {name, value, traceback: stack};
}

function fail(error) {
	const {name, value, traceback} = describe(error);
	current.failed = true;
	send(KIND.ERROR, current.execution, [['name', name], ['value', value],
		...traceback.map(line => ['traceback', line])]);
}

// Waits, without the event loop, until the text so far and the frames have their place.
function sync() {
	Atomics.store(state, 2, 0);
	send(KIND.SYNC, current?.execution ?? 0);
	Atomics.wait(state, 2, 0, 5000);
}

let displays = 0;
function display(value, options = {}) {
	const execution = current?.execution ?? 0;
	const id = options.id ?? `display-${process.pid}-${++displays}`;
	const put = kind => bundle => {
		send(kind, execution, [['@id', id], ...show.fields(bundle)]);
		sync();
	};
	const make = (kind, what) => {
		if (show.isBundle(what))
			return put(kind)(what);
		sends = sends.then(() => show.bundleOf(what)).then(put(kind)).catch(fail);
	};
	make(options.update ? KIND.UPDATE : KIND.RESULT, value);
	return {id, update: what => make(KIND.UPDATE, what)};
}

function mimeDisplay(mime) {
	return (data, options) => display({[mime]: data}, options);
}
display.html = mimeDisplay('text/html');
display.markdown = mimeDisplay('text/markdown');
display.svg = mimeDisplay('image/svg+xml');
display.latex = mimeDisplay('text/latex');
display.json = mimeDisplay('application/json');
display.png = mimeDisplay('image/png');
display.jpeg = mimeDisplay('image/jpeg');
display.clear = (wait = false) => {
	send(KIND.CLEAR, current?.execution ?? 0, wait ? [['@wait', '1']] : []);
	sync();
};

function askForLine(question) {
	if (current)
		send(KIND.INPUT, current.execution, [['prompt', question]]);
}

const stdin = input.install(() => askForLine(''));

function prompt(question = '', standard = null) {
	fs.writeSync(1, String(question));
	if (!current) // a timer's: nobody would be told
		return standard;
	Atomics.store(state, 1, 0);
	Atomics.store(state, 3, 1);
	askForLine(String(question));
	while (Atomics.load(state, 1) === 0)
		Atomics.wait(state, 1, 0);
	Atomics.store(state, 3, 0);
	const got = Atomics.load(state, 1);
	if (got !== -2)
		stdin.askAgain();
	if (got === -2)
		throw new KeyboardInterrupt();
	return got < 0 ? standard : Buffer.from(new Uint8Array(lineShared, 0, got - 1)).toString();
}

function define(name, value) {
	Object.defineProperty(globalThis, name,
		{value, writable: true, configurable: true, enumerable: false});
}

function lend(name) {
	Object.defineProperty(globalThis, name, {
		get: () => require(name), set: value => define(name, value),
		configurable: true, enumerable: false,
	});
}

function defineGlobals() {
	define(IMPORT, importer);
	define('display', display);
	define('prompt', prompt);
	define('require', requirer());
	for (const name of builtinModules)
		if (/^[a-z]\w*$/.test(name) && !(name in globalThis))
			lend(name);
}

async function evaluate(code, execution) {
	let script = code;
	if (typescript) {
		let map;
		[script, map] = stripTypes(code);
		places.keep(execution, map);
	}
	script = toScript(script);
	const interrupted = new Promise((resolve, reject) => { current.stop = reject; });
	const outcome = await Promise.race([interrupted, post('Runtime.evaluate', {
		expression: `${script}\n//# sourceURL=cell-${execution}`,
		replMode: true, awaitPromise: true, userGesture: true,
	})]);
	if (!outcome.exceptionDetails)
		return outcome.result.type === 'undefined' ? undefined : await valueOf(outcome.result);
	const {exception, text, lineNumber, columnNumber} = outcome.exceptionDetails;
	if (!exception)
		throw /terminated/i.test(text ?? '') ? new KeyboardInterrupt() : new Error(text);
	const error = await valueOf(exception);
	const firstFrame = error instanceof SyntaxError && String(error.stack).includes('\n    at cell-');
	if (error instanceof SyntaxError && !firstFrame && lineNumber >= 0) {
		const {line, column} = places.find(execution, lineNumber, columnNumber) ??
			{line: lineNumber, column: columnNumber};
		error.place = {line, column, text: code.split('\n')[line] ?? ''};
	}
	throw error;
}

function wasTerminated(error) {
	try {
		return /execution was terminated|Session.*terminated/i.test(error?.message ?? '');
	} catch {
		return false;
	}
}

/* In the directory of that name, which node remembers: a restore puts another in its place. One that
 * is only removed is stayed in. */
function stand() {
	try {
		const name = process.cwd();
		const here = fs.statSync('.'), there = fs.statSync(name);

		if (here.ino !== there.ino || here.dev !== there.dev)
			process.chdir(name);
	} catch {
	}
}

async function execute(execution, code) {
	current = {execution, failed: false, stop: () => {}};
	Atomics.store(state, 0, execution);
	stdin.askAgain();
	stand();
	try {
		const value = await evaluate(code, execution);
		await sends;
		if (value !== undefined) {
			const bundle = await show.bundleOf(value);
			send(KIND.RESULT, execution, [['@main', '1'], ...show.fields(bundle)]);
		}
	} catch (error) {
		fail(wasTerminated(error) ? new KeyboardInterrupt() : error);
	}
	Atomics.store(state, 0, 0);
	current = null;
	stand();
	send(KIND.END, execution);
}

function setUp(fields) {
	for (const [name, value] of fields) {
		const text = value.toString();
		if (name === 'cwd') {
			try {
				process.chdir(text);
			} catch (error) {
				fs.writeSync(2, `${text}: ${error.message}\n`);
			}
		} else if (name === 'env') {
			const at = text.indexOf('=');
			process.env[text.slice(0, at)] = text.slice(at + 1);
		}
	}
	stand();
	define('require', requirer());
}

function onFrame({kind, execution, fields, ended}) {
	if (ended)
		process.kill(process.pid, 'SIGKILL');
	else if (kind === KIND.SETUP)
		setUp(fields);
	else if (kind === KIND.LINE)
		stdin.give(fields.find(([name]) => name === 'line')?.[1] ?? null);
	else if (kind === KIND.EXECUTE)
		execute(execution, String(fields.find(([name]) => name === 'code')?.[1] ?? ''));
	else if (kind === KIND.INTERRUPT && current?.execution === execution)
		current.stop(new KeyboardInterrupt());
}

function lost(what) {
	return error => {
		const {traceback} = describe(error);
		fs.writeSync(2, `${what} ${traceback.join('\n')}\n`);
	};
}

// What does not fit into the pipe is waited for: else it would stay in memory, and come after the end
// of its execution.
for (const stream of [process.stdout, process.stderr])
	stream._handle?.setBlocking?.(true);

process.on('SIGINT', () => {});
process.on('uncaughtException', lost('Uncaught'));
process.on('unhandledRejection', lost('Uncaught (in promise)'));
process.on('exit', code => {
	if (current && code === 0)
		send(KIND.END, current.execution, [['exit', '1']]);
});

(async () => {
	await makeHandle();
	defineGlobals();
	const listener = new Worker(path.join(__dirname, 'listener.js'),
		{workerData: {state: shared, line: lineShared}});
	listener.on('message', message => onFrame({...message,
		fields: message.fields?.map(([name, value]) => [name, Buffer.from(value)])}));
	listener.on('error', error => { lost('listener:')(error); process.exit(1); });
	if (typescript) {
		stripTypes('let warm: number = 1;');
		Error.prepareStackTrace = places.prepare;
	}
	send(KIND.READY, 0);
})();
