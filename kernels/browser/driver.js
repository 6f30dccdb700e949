// The browser's driver: runs inside the sandbox, takes requests as frames, drives Chromium.
'use strict';
const { Wire, types } = require('./wire');
const { Browser } = require('./browser');
const { configure } = require('./settings');

const NODE_MIN = 20; // playwright-core's
let browser = null;

const wire = new Wire(3, (type, id, fields) => {
	switch (type) {
	case types.setup:
		browser = new Browser(wire, types, JSON.parse(fields.config));
		break;
	case types.request:
		if (fields.op === 'close')
			browser.close();
		else if (fields.op === 'configure')
			configure(browser, JSON.parse(fields.text)).catch(() => {});
		else
			browser.request(id, fields);
		break;
	case types.abort:
		browser.interrupt(id);
		break;
	}
}, () => process.exit(0));

// Whatever a page does must not end the driver.
process.on('unhandledRejection', (error) => console.error(error));
process.on('uncaughtException', (error) => console.error(error));
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
	process.on(name, () => browser ? browser.close() : process.exit(0));

if (parseInt(process.versions.node) < NODE_MIN) {
	wire.send(types.error, 0, { value: `Node ${process.versions.node} is too old, the browser's ` +
		`driver needs ${NODE_MIN} or newer; make deps installs one of its own` });
	wire.socket.end(() => process.exit(1));
} else {
	wire.send(types.ready, 0, {});
}
