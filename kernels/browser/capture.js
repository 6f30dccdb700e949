// Pictures, pdf and text of a page.
'use strict';
const fs = require('fs');
const path = require('path');
const { Failure } = require('./failure');
const { give, giveDirectory } = require('./give');
const { onElement } = require('./element');
const { evaluate } = require('./script');

const ELEMENTS_MAX = 200000; // of a snapshot: it takes up to a millisecond for each
const SNAPSHOT_MAX = 16 << 20; // bytes
const TOO_DEEP = /RangeError|Maximum call stack|Cannot read properties of undefined/;
const PIXELS_MAX = 100e6; // above about 110 million the browser leaves the rest white

async function checkSize(tab, params) {
	if (!params.fullPage || params.clip)
		return;
	const { cssContentSize: size } = await tab.cdp.send('Page.getLayoutMetrics');

	if (size.width * size.height > PIXELS_MAX)
		throw new Failure('EFBIG', `the page is ${Math.ceil(size.width)}x${Math.ceil(size.height)}: ` +
			'an image has at most 100 million pixels; take parts with "fullPage" and "clip"');
}

async function picture(tab, { selector, timeout, ...params }, call) {
	if (params.clip && params.clip.width * params.clip.height > PIXELS_MAX)
		throw new Failure('EFBIG', 'an image has at most 100 million pixels');
	await checkSize(tab, params);
	if (selector)
		return onElement(tab, { selector, ...params }, call,
			(locator, options) => locator.screenshot(options));
	return tab.page.screenshot({ ...params, timeout: call.timeout, signal: call.signal });
}

function keep(browser, data, type) {
	const directory = browser.config.shots;

	giveDirectory(directory);
	for (;;) {
		const name = `${browser.nextShot++}.${type === 'jpeg' ? 'jpg' : 'png'}`;

		try {
			fs.writeFileSync(path.join(directory, name), data, { flag: 'wx' });
			give(path.join(directory, name));
			return `browser/shots/${name}`;
		} catch (error) {
			if (error.code !== 'EEXIST')
				throw error;
		}
	}
}

const screenshot = {
	usage: 'an empty line, full, or JSON',
	line(text) {
		if (text && text !== 'full')
			throw new Failure('EINVAL', `write ${screenshot.usage}`);
		return { fullPage: text === 'full' };
	},
	keys: { fullPage: 'boolean', selector: 'string', clip: 'object', type: ['png', 'jpeg'],
		quality: 'number', omitBackground: 'boolean', scale: ['css', 'device'],
		animations: ['disabled', 'allow'], caret: ['hide', 'initial'] },
	async run(tab, params, call) {
		const data = await picture(tab, params, call);
		const kept = keep(tab.browser, data, params.type);

		return { answer: { base64Image: data.toString('base64'), path: kept }, value: { path: kept } };
	},
};

function shot(params) {
	return { read: true, run: async (tab, ignored, call) => ({ data: await picture(tab, params, call) }) };
}

const pdf = {
	read: true,
	run: async (tab, params, call) => ({
		data: await Promise.race([tab.page.pdf(), call.ended]) }),
};

const html = {
	read: true,
	run: async (tab, params, call) => ({
		data: Buffer.from(await Promise.race([tab.page.content(), call.ended])) }),
};

const TEXT = 'document.body ? document.body.innerText : document.documentElement.innerText';

const text = {
	read: true,
	async run(tab, params, call) {
		const { json } = await evaluate(tab.cdp, TEXT, call.timeout, call.signal);

		return { data: Buffer.from(`${(json && JSON.parse(json).value) || ''}\n`) };
	},
};

// Its names are made by recursion: a tree too deep for the browser's stack breaks off in the middle.
async function tree(tab, count, call) {
	try {
		return await tab.page.ariaSnapshot({ mode: 'ai', timeout: call.timeout, signal: call.signal });
	} catch (error) {
		if (TOO_DEEP.test(error.message))
			throw new Failure('EFBIG', 'the elements of the page lie too deep in one another for a ' +
				'snapshot: read text, or ask for parts with evaluate');
		if (error.name === 'TimeoutError')
			throw new Failure('ETIMEDOUT', `the snapshot of ${count} elements was not done within ` +
				`${call.timeout} ms; write a longer timeout, or read text`);
		throw error;
	}
}

async function countElements(tab, call) {
	const { json } = await evaluate(tab.cdp, "document.getElementsByTagName('*').length",
		call.timeout, call.signal);

	return json ? JSON.parse(json).value : 0;
}

const snapshot = {
	read: true,
	async run(tab, params, call) {
		const count = await countElements(tab, call);

		if (count > ELEMENTS_MAX)
			throw new Failure('EFBIG', `the page has ${count} elements, a snapshot at most ` +
				`${ELEMENTS_MAX}: read text, or ask for parts with evaluate`);
		const data = Buffer.from(`${await tree(tab, count, call)}\n`);

		if (data.length <= SNAPSHOT_MAX)
			return { data };
		const end = data.lastIndexOf('\n', SNAPSHOT_MAX) + 1;

		return { data: Buffer.concat([data.subarray(0, end),
			Buffer.from(`# cut here: ${data.length - end} bytes more\n`)]) };
	},
};

const script = {
	keepsTime: true,
	async run(tab, params, call) {
		const outcome = await evaluate(tab.cdp, call.text, call.timeout, call.signal);

		if (!outcome.error)
			return { data: Buffer.from(outcome.json), value: outcome.json.length < 65536
				? JSON.parse(outcome.json).value : undefined };
		const failure = new Failure('EREMOTEIO', outcome.error.message);

		failure.data = Buffer.from(JSON.stringify(outcome));
		throw failure;
	},
};

module.exports = {
	operations: { screenshot, evaluate: script },
	reads: { 'screenshot.png': shot({}), 'screenshot-full.png': shot({ fullPage: true }),
		'page.pdf': pdf, 'content.html': html, text, snapshot },
};
