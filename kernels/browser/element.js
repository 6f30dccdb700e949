// Operations on one element: click and its like, typing, choosing, files.
'use strict';
const fs = require('fs');
const path = require('path');
const { Failure, failureOf } = require('./failure');
const { pair } = require('./request');

const FAR = 1e5; // pixels: by the number of steps on the way Chromium would hang
const CHOOSER_MS = 2000; // from the click to the file chooser

const position = { position: 'object' };
const mouse = { ...position, modifiers: 'strings', force: 'boolean', trial: 'boolean' };
const clicks = { ...mouse, button: ['left', 'right', 'middle'], clickCount: 'count', delay: 'number',
	noWaitAfter: 'boolean' };

function locate(tab, selector) {
	const ref = /^(?:ref|aria-ref)=(\S+)$/.exec(selector);

	return { ref: ref && ref[1],
		locator: tab.page.locator(ref ? `aria-ref=${ref[1]}` : selector) };
}

// What a time-out on an element really was: none there, several, or one that cannot be used.
async function explain(error, target, selector, call) {
	const failure = failureOf(error, { selector, aborted: call.signal.aborted });

	if (!['ETIMEDOUT', 'EIO', 'EBUSY'].includes(failure.code))
		return failure;
	const count = await Promise.race([target.locator.count().catch(() => -1),
		new Promise((resolve) => setTimeout(resolve, 1000, -1).unref())]);

	if (count === 0 && target.ref)
		return new Failure('ESTALE', `no element has ref=${target.ref} any more; read snapshot again`);
	if (count === 0)
		return new Failure('ENOENT', `no element matches ${selector}`);
	return failure;
}

// act(locator, options) on the one element that the selector means.
async function onElement(tab, params, call, act) {
	const { selector, timeout: ignored, ...options } = params;
	const target = locate(tab, selector);

	if (target.ref && await target.locator.count().catch(() => 1) === 0)
		throw new Failure('ESTALE', `no element has ref=${target.ref}; read snapshot again`);
	try {
		return await act(target.locator, { ...options, timeout: call.timeout, signal: call.signal });
	} catch (error) {
		throw await explain(error, target, selector, call);
	}
}

function simple(method, keys, usage) {
	return {
		usage: usage || 'a selector',
		line: (text) => ({ selector: text }),
		keys: { selector: 'string', ...keys },
		need: ['selector'],
		causes: true,
		run: (tab, params, call) => onElement(tab, params, call,
			(locator, options) => locator[method](options)),
	};
}

function typing(method, more, usage) {
	return {
		usage: usage || 'SELECTOR<TAB>TEXT',
		line: pair('selector', 'text'),
		keys: { selector: 'string', text: 'string', ...more },
		need: ['selector'],
		causes: true,
		run(tab, { text, ...params }, call) {
			if (text === undefined)
				throw new Failure('EINVAL', `"text" is missing: ${this.usage}`);
			return onElement(tab, params, call,
				(locator, options) => locator[method](text, options));
		},
	};
}

const select = {
	usage: 'SELECTOR<TAB>VALUE or label',
	line: pair('selector', 'text'),
	keys: { selector: 'string', text: 'strings', value: 'strings', label: 'strings', index: 'number',
		force: 'boolean' },
	need: ['selector'],
	causes: true,
	async run(tab, { text, value, label, index, ...params }, call) {
		const all = (words) => [].concat(words);
		const wanted = text !== undefined ? all(text)
			: value !== undefined ? all(value).map((one) => ({ value: one }))
			: label !== undefined ? all(label).map((one) => ({ label: one }))
			: index !== undefined ? { index } : null;

		if (wanted === null)
			throw new Failure('EINVAL', `"text" is missing: ${this.usage}`);
		return { value: await onElement(tab, params, call,
			(locator, options) => locator.selectOption(wanted, options)) };
	},
};

function checkFiles(files) {
	return files.map((name) => {
		const full = path.resolve(process.cwd(), name);

		try {
			if (!fs.statSync(full).isFile())
				throw new Failure('EINVAL', `${full} is no regular file`);
		} catch (error) {
			throw error instanceof Failure ? error
				: new Failure('ENOENT', `${full} in the sandbox: no such file`);
		}
		return full;
	});
}

// The file chooser that a click opens: some pages take a moment to do so.
async function chooserOf(page, locator, options) {
	let told;
	const opened = new Promise((resolve) => { told = resolve; });
	let timer;

	page.on('filechooser', told);
	try {
		await locator.click(options);
		return await Promise.race([opened, new Promise((resolve) => {
			timer = setTimeout(resolve, CHOOSER_MS, null);
		})]);
	} finally {
		clearTimeout(timer);
		page.off('filechooser', told);
	}
}

// A file input takes the files itself; anything else is clicked, and must open a file chooser.
async function chooseFiles(tab, selector, locator, files, options) {
	const isInput = await locator.evaluate(
		(element) => element.tagName === 'INPUT' && element.type === 'file', null, options);

	if (isInput)
		return locator.setInputFiles(files, options);
	const chooser = await chooserOf(tab.page, locator, options);

	if (!chooser)
		throw new Failure('EINVAL', `${selector} is no file input and opens no file chooser`);
	return chooser.setFiles(files, options);
}

const upload = {
	usage: 'SELECTOR<TAB>PATH in the sandbox',
	line(text) {
		const [selector, ...files] = text.split('\t');

		return { selector, files };
	},
	keys: { selector: 'string', files: 'strings' },
	need: ['selector'],
	causes: true,
	run(tab, { files = [], ...params }, call) {
		const full = checkFiles([].concat(files).filter(Boolean));

		if (!full.length)
			throw new Failure('EINVAL', `no file is named: ${this.usage}`);
		return onElement(tab, params, call,
			(locator, options) => chooseFiles(tab, params.selector, locator, full, options));
	},
};

const key = {
	usage: 'a key: a, Enter, Control+A',
	line: (text) => ({ key: text }),
	keys: { key: 'string', selector: 'string', delay: 'number' },
	need: ['key'],
	causes: true,
	run(tab, { key: name, selector, delay }, call) {
		if (selector)
			return onElement(tab, { selector, delay }, call,
				(locator, options) => locator.press(name, options));
		return tab.page.keyboard.press(name, { delay });
	},
};

const pointer = {
	move: (page, [x, y]) => page.mouse.move(x, y),
	click: (page, [x, y], button) => page.mouse.click(x, y, { button }),
	dblclick: (page, [x, y], button) => page.mouse.dblclick(x, y, { button }),
	wheel: (page, [x, y]) => page.mouse.wheel(x, y),
	down: (page, at, button) => page.mouse.down({ button }),
	up: (page, at, button) => page.mouse.up({ button }),
};

const mouseOp = {
	usage: 'move X Y, click X Y [BUTTON], dblclick X Y, wheel DX DY, down [BUTTON], up [BUTTON]',
	line(text) {
		const [action, ...rest] = text.trim().split(/[\s,]+/);
		const numbers = rest.filter((word) => !isNaN(word)).map(Number);
		const button = rest.find((word) => isNaN(word));

		return { action, x: numbers[0], y: numbers[1], button };
	},
	keys: { action: Object.keys(pointer), x: 'number', y: 'number',
		button: ['left', 'right', 'middle'] },
	need: ['action'],
	causes: true,
	run(tab, { action, x, y, button = 'left' }) {
		const needs = !/^(down|up)$/.test(action);

		if (!Object.hasOwn(pointer, action) || (needs && !(Number.isFinite(x) && Number.isFinite(y))) ||
			!['left', 'right', 'middle'].includes(button))
			throw new Failure('EINVAL', `write ${this.usage}`);
		if (needs && Math.max(Math.abs(x), Math.abs(y)) > FAR)
			throw new Failure('EINVAL', `a coordinate is -${FAR} to ${FAR}`);
		return pointer[action](tab.page, [x, y], button);
	},
};

module.exports = {
	locate, onElement,
	operations: {
		click: simple('click', clicks),
		dblclick: simple('dblclick', clicks),
		hover: simple('hover', mouse),
		check: simple('check', mouse),
		uncheck: simple('uncheck', mouse),
		focus: simple('focus', {}),
		type: typing('pressSequentially', { delay: 'number' }),
		fill: typing('fill', { force: 'boolean' }),
		select, upload, key, mouse: mouseOp,
	},
};
