// Values of a page as JSON: what JSON cannot tell is told by "type" at the top, "$type" below it.
'use strict';

// Runs in the page, on the value as this. It may meet anything: getters that throw, proxies.
function serialize() {
	const seen = new Map();
	const special = (type, more) => Object.assign({ $type: type }, more);

	function number(value) {
		if (Number.isFinite(value))
			return Object.is(value, -0) ? special('number', { value: '-0' }) : value;
		return special('number', { value: String(value) });
	}

	function object(value, path, depth) {
		if (seen.has(value))
			return special('cycle', { value: seen.get(value) });
		if (depth > 100)
			return special('deep', {});
		seen.set(value, path || '/');
		try {
			return known(value, path, depth);
		} finally {
			seen.delete(value);
		}
	}

	function known(value, path, depth) {
		const below = (item, key) => any(item, path + '/' + key, depth + 1);

		if (value instanceof Date)
			return isNaN(value) ? special('date', { value: null }) : value.toISOString();
		if (value instanceof Error)
			return special('error', { name: String(value.name), message: String(value.message),
				stack: String(value.stack) });
		if (value instanceof RegExp)
			return special('regexp', { value: String(value) });
		if (typeof Node === 'function' && value instanceof Node)
			return special('node', { value: value.outerHTML
				? value.outerHTML.slice(0, 200) : value.nodeName });
		if (value instanceof Map)
			return special('map', { value: Array.from(value, (pair) => below(pair, 'entry')) });
		if (value instanceof Set)
			return special('set', { value: Array.from(value, below) });
		if (value instanceof ArrayBuffer)
			return special('bytes', { value: Array.from(new Uint8Array(value)) });
		if (Array.isArray(value) || (ArrayBuffer.isView(value) && value.length !== undefined))
			return Array.from(value, below);
		if (typeof value.toJSON === 'function')
			return any(value.toJSON(), path, depth + 1);
		const copy = Object.create(null);

		for (const key of Object.keys(value)) {
			try {
				copy[key] = below(value[key], key);
			} catch (error) {
				copy[key] = special('throws', { value: String(error) });
			}
		}
		return copy;
	}

	function any(value, path, depth) {
		switch (typeof value) {
		case 'undefined': return special('undefined', {});
		case 'bigint': return special('bigint', { value: String(value) });
		case 'symbol': return special('symbol', { value: String(value) });
		case 'function': return special('function', { value: value.name });
		case 'number': return number(value);
		case 'object': return value === null ? null : object(value, path, depth);
		default: return value;
		}
	}
	return JSON.stringify(any(this, '', 0));
}

// A remote object without an object id: a primitive. The JSON text of {"value":...}.
function primitive(remote) {
	const raw = remote.unserializableValue;

	if (remote.type === 'undefined')
		return '{"value":null,"type":"undefined"}';
	if (remote.type === 'bigint')
		return JSON.stringify({ value: raw.replace(/n$/, ''), type: 'bigint' });
	if (raw !== undefined)
		return JSON.stringify({ value: null, type: raw });
	return JSON.stringify({ value: remote.value === undefined ? null : remote.value });
}

async function describe(session, remote) {
	if (remote.type === 'symbol')
		return JSON.stringify({ value: null, type: 'symbol', description: remote.description });
	if (!remote.objectId)
		return primitive(remote);
	if (remote.type === 'function')
		return JSON.stringify({ value: null, type: 'function',
			description: String(remote.description).slice(0, 1000) });
	const answer = await session.send('Runtime.callFunctionOn', {
		objectId: remote.objectId, functionDeclaration: String(serialize), returnByValue: true });

	session.send('Runtime.releaseObject', { objectId: remote.objectId }).catch(() => {});
	if (answer.exceptionDetails || typeof answer.result.value !== 'string')
		return JSON.stringify({ value: null, type: remote.subtype || remote.type,
			description: remote.description });
	const top = /^\{"\$type":"([a-z]+)"/.exec(answer.result.value);

	if (!top)
		return `{"value":${answer.result.value}}`;
	const { $type, value, ...more } = JSON.parse(answer.result.value);

	return JSON.stringify({ value: value === undefined ? null : value, type: $type, ...more });
}

module.exports = { describe };
