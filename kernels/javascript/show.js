// Values as results: text for all, more for those that have more to show.
'use strict';

const util = require('util');
const {MAX} = require('./wire');

const INSPECT = {colors: false, depth: 6, maxArrayLength: 1000, maxStringLength: 1 << 20};
const MAGIC = [
	['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47])],
	['image/jpeg', Buffer.from([0xff, 0xd8, 0xff])],
	['application/pdf', Buffer.from('%PDF-')],
];
const BINARY = new Set(['image/png', 'image/jpeg', 'application/pdf']);
const DISPLAY = Symbol.for('Jupyter.display');

function isPlain(value) {
	if (Array.isArray(value))
		return true;
	const proto = value && typeof value === 'object' ? Object.getPrototypeOf(value) : undefined;
	return proto === Object.prototype || proto === null;
}

function text(value) {
	try {
		return util.inspect(value, INSPECT);
	} catch (error) {
		return `[cannot be shown: ${error?.message ?? 'unknown error'}]`;
	}
}

function toBytes(mime, data) {
	if (Buffer.isBuffer(data) || data instanceof Uint8Array)
		return Buffer.from(data);
	if (BINARY.has(mime))
		return Buffer.from(String(data), 'base64');
	return Buffer.from(typeof data === 'string' ? data : JSON.stringify(data) ?? 'null');
}

// Fields of a result from MIME types; what does not fit into a frame is left out.
function fields(bundle) {
	let size = 0;
	return Object.entries(bundle).map(([mime, data]) => [mime, toBytes(mime, data)])
		.filter(([mime, data]) => (size += data.length + mime.length + 8) < MAX - 4096 ||
			void (size -= data.length));
}

async function bundleOf(value) {
	if (value && typeof value[DISPLAY] === 'function')
		return await value[DISPLAY]();
	const bundle = {'text/plain': text(value)};
	if (Buffer.isBuffer(value) || value instanceof Uint8Array) {
		const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
		for (const [mime, magic] of MAGIC)
			if (bytes.subarray(0, magic.length).equals(magic))
				bundle[mime] = bytes;
	} else if (isPlain(value)) {
		try {
			bundle['application/json'] = JSON.stringify(value);
		} catch {
			// cycles and BigInt have no JSON
		}
	}
	return bundle;
}

module.exports = {bundleOf, fields, text, isBundle: value => isPlain(value) &&
	!Array.isArray(value) && Object.keys(value).length > 0 &&
	Object.keys(value).every(key => /^[a-z]+\/[\w.+-]+$/i.test(key))};
