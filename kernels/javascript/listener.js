// The thread that reads frames: it hands them to the main thread, and stops what that one executes.
'use strict';

const inspector = require('inspector');
const {parentPort, workerData} = require('worker_threads');
const {KIND, readAll} = require('./wire');

const state = new Int32Array(workerData.state);
const line = new Uint8Array(workerData.line);

function wake(slot, value) {
	Atomics.store(state, slot, value);
	Atomics.notify(state, slot);
}

// A line for prompt(), which blocks the main thread, or for process.stdin. -1 stands for the end of file.
function giveLine(fields) {
	if (!Atomics.load(state, 3)) {
		parentPort.postMessage({kind: KIND.LINE, fields});
		return;
	}
	const found = fields.find(([name]) => name === 'line');
	if (found)
		line.set(found[1].subarray(0, line.length));
	wake(1, found ? 1 + Math.min(found[1].length, line.length) : -1);
}

function interrupt() {
	const execution = Atomics.load(state, 0);
	if (!execution)
		return;
	// Connected only for this: a process would wait for it when it exits.
	const session = new inspector.Session();
	session.connectToMainThread();
	session.post('Runtime.terminateExecution');
	session.disconnect();
	wake(1, -2);
	// Code that only waits is told by a message; the first may be what is terminated.
	parentPort.postMessage({kind: KIND.INTERRUPT, execution});
	parentPort.postMessage({kind: KIND.INTERRUPT, execution});
}

readAll((kind, execution, fields) => {
	if (kind === KIND.INTERRUPT)
		interrupt();
	else if (kind === KIND.LINE)
		giveLine(fields);
	else if (kind === KIND.SYNCED)
		wake(2, 1);
	else
		parentPort.postMessage({kind, execution, fields});
}, () => parentPort.postMessage({ended: true}));
