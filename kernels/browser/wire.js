// Frames on descriptor 3: docs/kernel-protocol.md has their form, browser_wire.h the browser's types.
'use strict';
const net = require('net');

const HEADER = 12;
const FIELD_HEADER = 8;
const CHUNK = 512 * 1024; // of an answer; a frame is at most 32 MiB

const types = {
	ready: 16,
	error: 20, // instead of ready: why it cannot start
	setup: 64,
	request: 65,
	abort: 66,
	data: 96,
	answer: 97,
	state: 98,
	tab: 99,
	line: 100,
	log: 101,
	port: 102,
};

function encode(type, id, fields) {
	const parts = [null];
	let length = 0;

	for (const [name, text] of Object.entries(fields)) {
		if (text === undefined || text === null)
			continue;
		const value = Buffer.isBuffer(text) ? text : Buffer.from(String(text));
		const key = Buffer.from(name);
		const header = Buffer.alloc(FIELD_HEADER);

		header.writeUInt32LE(key.length, 0);
		header.writeUInt32LE(value.length, 4);
		parts.push(header, key, value);
		length += FIELD_HEADER + key.length + value.length;
	}
	parts[0] = Buffer.alloc(HEADER);
	parts[0].writeUInt32LE(length, 0);
	parts[0][4] = type;
	parts[0].writeUInt32LE(id, 8);
	return Buffer.concat(parts);
}

function fieldsOf(payload) {
	const fields = {};
	let at = 0;

	while (at < payload.length) {
		const key = payload.readUInt32LE(at);
		const value = payload.readUInt32LE(at + 4);

		at += FIELD_HEADER;
		fields[payload.toString('utf8', at, at + key)] =
			payload.toString('utf8', at + key, at + key + value);
		at += key + value;
	}
	return fields;
}

class Wire {
	// onFrame(type, id, fields); onEnd() when the other side is gone.
	constructor(fd, onFrame, onEnd) {
		this.socket = new net.Socket({ fd, readable: true, writable: true });
		this.onFrame = onFrame;
		this.parts = [];
		this.held = 0;
		this.need = HEADER;
		this.socket.on('data', (data) => this.take(data));
		this.socket.on('end', onEnd);
		this.socket.on('error', onEnd);
	}

	take(data) {
		this.parts.push(data);
		this.held += data.length;
		if (this.held < this.need)
			return;
		let all = Buffer.concat(this.parts);

		while (all.length >= HEADER) {
			const length = HEADER + all.readUInt32LE(0);

			this.need = length;
			if (all.length < length)
				break;
			this.onFrame(all[4], all.readUInt32LE(8), fieldsOf(all.subarray(HEADER, length)));
			all = all.subarray(length);
			this.need = HEADER;
		}
		this.parts = all.length ? [all] : [];
		this.held = all.length;
	}

	send(type, id, fields) {
		this.socket.write(encode(type, id, fields));
	}

	// Bytes of any length that belong to a request.
	sendData(id, data) {
		for (let at = 0; at < data.length; at += CHUNK)
			this.send(types.data, id, { data: data.subarray(at, at + CHUNK) });
	}
}

module.exports = { Wire, types };
