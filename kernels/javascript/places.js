// Where in the TypeScript that people wrote a place of the emitted JavaScript is.
'use strict';

const {SourceMap} = require('module');

const KEPT = 200; // functions of earlier executions stand in later stacks
const maps = new Map(); // execution: SourceMap, or its text until it is first asked for

function keep(execution, text) {
	maps.set(execution, text);
	if (maps.size > KEPT)
		maps.delete(maps.keys().next().value);
}

// Both count from 0. Undefined for what nobody wrote.
function find(execution, line, column) {
	let map = maps.get(execution);
	if (typeof map === 'string') {
		map = new SourceMap(JSON.parse(map));
		maps.set(execution, map);
	}
	const entry = map?.findEntry(line, column);
	return entry?.originalLine === undefined ? undefined :
		{line: entry.originalLine, column: entry.originalColumn};
}

function inText(text) {
	return text.replace(/\bcell-(\d+):(\d+):(\d+)/g, (all, execution, line, column) => {
		const place = find(+execution, line - 1, column - 1);
		return place ? `cell-${execution}:${place.line + 1}:${place.column + 1}` : all;
	});
}

// For Error.prepareStackTrace: the usual text with the right places.
function prepare(error, frames) {
	let head;
	try {
		head = Error.prototype.toString.call(error);
	} catch {
		head = 'Error';
	}
	return inText([head, ...frames.map(frame => `    at ${frame}`)].join('\n'));
}

module.exports = {keep, find, prepare};
