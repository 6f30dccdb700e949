// The framed protocol on descriptor 3 (docs/kernel-protocol.md).
'use strict';

const fs = require('fs');
const net = require('net');

const KIND = {
	SETUP: 1, EXECUTE: 2, INTERRUPT: 3, LINE: 4, SYNCED: 5,
	READY: 16, RESULT: 17, UPDATE: 18, CLEAR: 19, ERROR: 20, INPUT: 21, END: 22, SYNC: 23,
};
const HEADER = 12;
const pause = new Int32Array(new SharedArrayBuffer(4));
const MAX = 32 * 1024 * 1024;

function encode(kind, execution, fields) {
	const parts = [Buffer.alloc(HEADER)];
	for (const [name, value] of fields) {
		const head = Buffer.alloc(8);
		const nameBytes = Buffer.from(name);
		const valueBytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
		head.writeUInt32LE(nameBytes.length, 0);
		head.writeUInt32LE(valueBytes.length, 4);
		parts.push(head, nameBytes, valueBytes);
	}
	const frame = Buffer.concat(parts);
	frame.writeUInt32LE(frame.length - HEADER, 0);
	frame[4] = kind;
	frame.writeUInt32LE(execution, 8);
	return frame;
}

function send(kind, execution, fields = []) {
	const frame = encode(kind, execution, fields);
	for (let at = 0; at < frame.length;) {
		try {
			at += fs.writeSync(3, frame, at);
		} catch (error) {
			if (error.code !== 'EAGAIN' && error.code !== 'EINTR')
				throw error;
			Atomics.wait(pause, 0, 0, 1); // the reading thread does not block on it
		}
	}
}

function decode(payload) {
	const fields = [];
	for (let at = 0; at < payload.length;) {
		const name = payload.readUInt32LE(at);
		const value = payload.readUInt32LE(at + 4);
		at += 8;
		fields.push([payload.toString('utf8', at, at + name),
			Buffer.from(payload.subarray(at + name, at + name + value))]);
		at += name + value;
	}
	return fields;
}

// Calls take(kind, execution, fields) for each frame, and ended() when the daemon has gone.
function readAll(take, ended) {
	let data = Buffer.alloc(0);
	const socket = new net.Socket({fd: 3, readable: true, writable: false});
	socket.on('error', ended);
	socket.on('close', ended);
	socket.on('data', block => {
		data = Buffer.concat([data, block]);
		while (data.length >= HEADER && data.length >= HEADER + data.readUInt32LE(0)) {
			const end = HEADER + data.readUInt32LE(0);
			take(data[4], data.readUInt32LE(8), decode(data.subarray(HEADER, end)));
			data = data.subarray(end);
		}
	});
}

module.exports = {KIND, MAX, send, readAll};
