// process.stdin: a stream that asks for a line, as prompt() does, whenever somebody reads from it
// while something executes.
'use strict';

const {Readable} = require('stream');
const {syncBuiltinESMExports} = require('module');

class Input extends Readable {
	// ask(): tells that a line is wanted.
	constructor(ask) {
		super({highWaterMark: 0}); // nothing is asked for before it is wanted
		this.ask = ask;
		this.fd = 0;
		this.isTTY = false;
		this.wants = false;
	}

	_read() {
		if (this.wants)
			return;
		this.wants = true;
		this.ask();
	}

	// null: the end of file.
	give(line) {
		this.wants = false;
		this.push(line === null ? null : Buffer.concat([line, Buffer.from('\n')]));
	}

	ref() { return this; }
	unref() { return this; }
}

// Puts one into process. After an end of file the next execution that reads gets another.
function install(ask) {
	let stream = null;

	Object.defineProperty(process, 'stdin', {
		configurable: true,
		enumerable: true,
		get() {
			if (!stream || stream.readableEnded || stream.destroyed)
				stream = new Input(ask);
			return stream;
		},
	});
	syncBuiltinESMExports();
	return {
		give: line => stream?.give(line),
		// Somebody still waits whose question nobody knows any more.
		askAgain: () => { if (stream?.wants) ask(); },
	};
}

module.exports = {install};
