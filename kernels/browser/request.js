// Reads the text of a request: one line or one JSON object, into checked parameters.
'use strict';
const { Failure } = require('./failure');

const COUNT_MAX = 100; // of clicks: Playwright makes a list of all their events
const TIMEOUT_MAX = 86400000; // milliseconds; longer ones would be none to the timers of Node

const isOf = {
	string: (value) => typeof value === 'string',
	number: (value) => typeof value === 'number' && Number.isFinite(value),
	boolean: (value) => typeof value === 'boolean',
	object: (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
	strings: (value) => typeof value === 'string' ||
		(Array.isArray(value) && value.every((item) => typeof item === 'string')),
	count: (value) => Number.isInteger(value) && value >= 1 && value <= COUNT_MAX,
};

const named = { object: 'an object', strings: 'a string or an array of strings',
	count: `a number from 1 to ${COUNT_MAX}` };

function check(keys, params) {
	for (const [key, value] of Object.entries(params)) {
		const type = key === 'timeout' ? 'number' : keys[key];

		if (!type || !Object.prototype.hasOwnProperty.call({ ...keys, timeout: 1 }, key))
			throw new Failure('EINVAL', `unknown key "${key}"; there are ` +
				[...Object.keys(keys), 'timeout'].join(', '));
		const fits = Array.isArray(type) ? type.includes(value) : isOf[type](value);

		if (!fits)
			throw new Failure('EINVAL', `"${key}" must be ` +
				(Array.isArray(type) ? `one of ${type.join(', ')}` : named[type] || `a ${type}`));
	}
	if (params.timeout < 0 || params.timeout > TIMEOUT_MAX)
		throw new Failure('EINVAL', `"timeout" is in milliseconds, 0 (never) to ${TIMEOUT_MAX}`);
	return params;
}

function parseJson(text) {
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new Failure('EINVAL', `not JSON: ${error.message}`);
	}
}

// op.keys: what JSON may hold; op.line(text): parameters of the short form; op.need: keys without
// which it makes no sense.
function parse(op, text) {
	const json = op.keys && /^\s*\{/.test(text);
	const params = json ? check(op.keys, parseJson(text)) : op.line ? op.line(text) : {};

	for (const key of op.need || [])
		if (params[key] === undefined || params[key] === '')
			throw new Failure('EINVAL', `"${key}" is missing: ${op.usage}`);
	return params;
}

// "SELECTOR<TAB>TEXT"
function pair(first, second) {
	return (text) => {
		const at = text.indexOf('\t');

		return at < 0 ? { [first]: text }
			: { [first]: text.slice(0, at), [second]: text.slice(at + 1) };
	};
}

module.exports = { parse, parseJson, check, pair };
