// Cookies, storage, viewport, settings and dialogs: what is read and set rather than done.
'use strict';
const { Failure } = require('./failure');
const { parseJson } = require('./request');

const json = (value) => ({ data: Buffer.from(`${JSON.stringify(value, null, 1)}\n`) });

function parseCookies(text, url) {
	const parsed = parseJson(text);
	const cookies = Array.isArray(parsed) ? parsed : parsed && parsed.cookies;

	if (!Array.isArray(cookies) || !cookies.every((one) => one && typeof one === 'object'))
		throw new Failure('EINVAL', 'write an array of cookies, as reading gives it');
	return cookies.map((cookie) => cookie.url || cookie.domain ? cookie : { url, ...cookie });
}

async function setCookies(context, cookies) {
	const before = await context.cookies();

	await context.clearCookies();
	try {
		await context.addCookies(cookies);
	} catch (error) {
		await context.addCookies(before).catch(() => {});
		throw new Failure('EINVAL', error.message.split('\n')[0]);
	}
}

const cookies = {
	async run(tab, params, call) {
		await setCookies(tab.page.context(), parseCookies(call.text, tab.page.url()));
	},
};

// Local storage can be set from a page of its origin only: one that is answered here.
async function setOrigin(browser, { origin, localStorage }) {
	const page = await browser.newPage();

	try {
		await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
		await page.goto(origin);
		await page.evaluate((items) => {
			window.localStorage.clear();
			for (const { name, value } of items)
				window.localStorage.setItem(name, value);
		}, localStorage);
	} finally {
		await page.close();
	}
}

const isItem = (item) => item && typeof item.name === 'string' && typeof item.value === 'string';
const isOrigin = (one) => one && URL.canParse(one.origin) &&
	Array.isArray(one.localStorage) && one.localStorage.every(isItem);

const storage = {
	async run(tab, params, call) {
		const state = parseJson(call.text);
		const origins = (state && state.origins) || [];
		const known = state && typeof state === 'object' && Object.keys(state).length &&
			Object.keys(state).every((key) => ['cookies', 'origins'].includes(key));

		if (!known || !Array.isArray(origins) || !origins.every(isOrigin))
			throw new Failure('EINVAL', 'write {"cookies":[...],"origins":[...]}, as reading gives it');
		if (state.cookies)
			await setCookies(tab.page.context(), parseCookies(JSON.stringify(state.cookies),
				tab.page.url()));
		for (const origin of origins)
			await setOrigin(tab.browser, origin);
	},
};

const viewport = {
	usage: 'WIDTHxHEIGHT',
	line(text) {
		const found = /^(\d+)\s*[x ,]\s*(\d+)$/.exec(text.trim());

		if (!found)
			throw new Failure('EINVAL', 'write WIDTHxHEIGHT, as 1280x800');
		return { width: Number(found[1]), height: Number(found[2]) };
	},
	keys: { width: 'number', height: 'number' },
	need: ['width', 'height'],
	async run(tab, { width, height }) {
		if (![width, height].every((side) => Number.isInteger(side) && side > 0 && side <= 10000))
			throw new Failure('EINVAL', 'a side of the viewport is 1 to 10000 pixels');
		await tab.page.setViewportSize({ width, height });
	},
};

const size = {
	read: true,
	direct: true,
	async run(tab) {
		const known = tab.page.viewportSize();
		const { width, height } = known || await Promise.race([
			tab.cdp.send('Page.getLayoutMetrics').then((all) => ({
				width: all.cssLayoutViewport.clientWidth,
				height: all.cssLayoutViewport.clientHeight })),
			new Promise((resolve, reject) => setTimeout(reject, 1000,
				new Failure('ETIMEDOUT', 'the page is busy')).unref())]);

		return { data: Buffer.from(`${width}x${height}\n`) };
	},
};

const dialog = {
	direct: true,
	usage: 'clear, accept [TEXT], dismiss, or policy accept|dismiss|ask',
	async run(tab, params, call) {
		const [word, ...rest] = call.text.trim().split(/\s+/);
		const more = call.text.trim().slice(word.length).trim();

		if (word === 'accept' || word === 'dismiss')
			return tab.answer(word === 'accept', more || undefined);
		if (word !== 'policy' || !['accept', 'dismiss', 'ask'].includes(rest[0]))
			throw new Failure('EINVAL', `write ${dialog.usage}`);
		tab.policy = rest[0];
		return undefined;
	},
};

// The daemon's configuration, with what the user wrote to config.json spread into it.
function flatten(config) {
	const own = config.settings || {};

	return { ...config, ignoreTls: Boolean(own.ignore_tls), credentials: own.credentials || null,
		headers: own.headers || {}, offline: Boolean(own.offline), userAgent: own.user_agent || undefined,
		headless: Boolean(own.headless || config.headless),
		cdp: typeof own.cdp === 'boolean' ? own.cdp : config.cdp };
}

// The settings as a whole, now.
async function configure(browser, settings) {
	const { firstPage, ...config } = flatten(settings);

	Object.assign(browser.config, config);
	if (browser.context)
		await apply(browser);
}

// Only what differs from the browser's own state: credentials, once set, cost a stop of every request.
async function apply(browser) {
	const { context, config, applied = { credentials: null, headers: {}, offline: false,
		ignoreTls: false } } = browser;
	const differs = (key) => JSON.stringify(applied[key]) !== JSON.stringify(config[key]);

	if (differs('ignoreTls'))
		for (const tab of browser.tabs.values())
			await tab.ignoreTls(config.ignoreTls);
	if (differs('credentials'))
		await context.setHTTPCredentials(config.credentials);
	if (differs('headers'))
		await context.setExtraHTTPHeaders(config.headers);
	if (differs('offline'))
		await context.setOffline(config.offline);
	const { credentials, headers, offline, ignoreTls } = config;

	browser.applied = { credentials, headers, offline, ignoreTls };
}

module.exports = {
	configure, flatten, apply,
	operations: { 'cookies.json': cookies, 'storage.json': storage, viewport, dialog },
	reads: {
		'cookies.json': { read: true, run: async (tab) => json(await tab.page.context().cookies()) },
		'storage.json': { read: true,
			run: async (tab) => json(await tab.page.context().storageState()) },
		viewport: size,
		title: { read: true, direct: true, run: async (tab) => {
			await tab.refresh();
			return { data: Buffer.from(`${tab.title}\n`) };
		} },
	},
};
