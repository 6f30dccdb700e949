// Going to pages, waiting for them, and putting content into them.
'use strict';
const { Failure, failureOf } = require('./failure');
const { locate } = require('./element');

const LOAD = ['load', 'domcontentloaded', 'networkidle', 'commit'];
const SETTLE_MS = 2000; // that the error page of a navigation that failed may take
const LATE_MS = 200; // for the title, when the time is over
const LAYOUT_MS = 10000; // that a large page may take after its load before it tells its title
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d)/i;
const NO_HOST = /^https?:[\\/]{3}/i; // browsers take the path's first name for it
// Those whose pages a browser makes. For what belongs to other programs it would ask, in a dialog that
// nobody answers and that takes all input from the page.
const PAGES = /^(https?|file|filesystem|data|blob|about|chrome|chrome-extension|devtools|view-source):/i;

// What can be no URL is told apart here: the browser would look for hosts of the strangest names.
function withScheme(url) {
	const text = url.trim();

	if (!text)
		throw new Failure('EINVAL', 'an empty URL');
	if (/^javascript:/i.test(text))
		throw new Failure('EINVAL', 'javascript: is not a page; write the script to evaluate');
	if (!SCHEME.test(text) && /^[^/?#]*:\/\//.test(text))
		throw new Failure('EINVAL', `${short(text)}: what stands before :// is no scheme`);
	const full = SCHEME.test(text) ? text : `http://${text}`;

	if (!PAGES.test(full))
		throw new Failure('EINVAL', `${short(text)}: ${noPage(full)}`);
	if (NO_HOST.test(full))
		throw new Failure('EINVAL', `${short(text)}: the URL names no host`);
	if (!URL.canParse(full))
		throw new Failure('EINVAL', `${short(text)}: that is no URL`);
	return full;
}

const noPage = (url) => `the browser opens no ${/^[^:]*:/.exec(url)[0]} URLs`;
const short = (text) => text.length > 200 ? `${text.slice(0, 200)}...` : text;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A navigation that failed leaves another one going, to the error page; the next one would collide
// with it, and what the tab shows is not known before.
async function settle(tab, documents) {
	await tab.until(() => tab.documents > documents || tab.crashed, SETTLE_MS);
	await tab.page.waitForLoadState('domcontentloaded', { timeout: SETTLE_MS }).catch(() => {});
}

// What ended without a document: a download or a 204 is a success, with its status. So is an error of
// HTTP without a body, for which the browser shows a page of its own.
function withoutDocument(tab, watch, error) {
	if (/ERR_HTTP_RESPONSE_CODE_FAILURE/.test(error.message) && watch.status)
		return { status: watch.status };
	if (!/ERR_ABORTED|Download is starting/.test(error.message))
		return null;
	if (watch.downloads.length || /Download is starting/.test(error.message))
		return { status: watch.status, download: watch.downloads[0], document: false };
	return watch.status === 204 || watch.status === 205 ? { status: watch.status, document: false } : null;
}

// The failure of a navigation, when what the tab shows then is known.
async function failed(tab, error, call) {
	const failure = failureOf(error, { aborted: call.signal.aborted });
	const scheme = /ERR_ABORTED at ([a-z][a-z0-9+.-]*:)/i.exec(error.message);

	if (!call.signal.aborted)
		await tab.refresh(undefined, failure.code === 'ETIMEDOUT' ? LATE_MS : undefined);
	if (failure.code === 'ECANCELED' && scheme && !PAGES.test(scheme[1]))
		return new Failure('EINVAL', noPage(scheme[1]));
	return failure;
}

// navigate(options) is tried again while the error page of an earlier one gets in its way.
async function go(tab, params, call, navigate) {
	const watch = tab.watch();
	const { documents } = tab;

	for (let attempt = 1; ; attempt++) {
		try {
			const response = await navigate({ ...params, timeout: call.timeout,
				signal: call.signal });

			// Within the same document the status stays; that of a directory of file: is 0.
			return { status: response ? response.status() || null : tab.status };
		} catch (error) {
			if (/interrupted by another navigation to "chrome-error/.test(error.message) &&
				attempt < 5 && !call.signal.aborted) {
				await pause(200 * attempt);
				continue;
			}
			await tab.downloadsSettled(watch, error);
			if (/net::ERR_(?!ABORTED)/.test(error.message))
				await settle(tab, documents);
			const success = !call.signal.aborted && withoutDocument(tab, watch, error);

			if (success)
				return success;
			throw await failed(tab, error, call);
		} finally {
			watch.end();
		}
	}
}

// The answer of the four that navigate.
async function arrived(tab, outcome, call) {
	const shown = outcome.document !== false;

	if (shown)
		tab.status = outcome.status;
	await tab.refresh(shown ? '' : undefined, Math.min(call.timeout || LAYOUT_MS, LAYOUT_MS));
	const answer = { url: tab.url, title: tab.title, status: outcome.status };

	if (outcome.download)
		answer.download = outcome.download;
	return { answer, ...answer };
}

const goto = {
	usage: 'a URL',
	line: (text) => ({ url: text }),
	keys: { url: 'string', waitUntil: LOAD, referer: 'string' },
	need: ['url'],
	async run(tab, { url, timeout, ...params }, call) {
		const full = withScheme(url);

		await tab.revive();
		await tab.unblock();
		return arrived(tab, await go(tab, params, call,
			(options) => tab.page.goto(full, options)), call);
	},
};

function history(method, words) {
	return {
		keys: { waitUntil: LOAD },
		async run(tab, { timeout, ...params }, call) {
			if (method !== 'reload') {
				const { currentIndex, entries } = await tab.cdp.send('Page.getNavigationHistory');
				const next = currentIndex + (method === 'goBack' ? -1 : 1);

				if (!entries[next])
					throw new Failure('ENOENT', `there is no page ${words} this one`);
			} else {
				await tab.revive();
			}
			return arrived(tab, await go(tab, params, call,
				(options) => tab.page[method](options)), call);
		},
	};
}

const stop = {
	direct: true,
	async run(tab) {
		tab.stopAll();
		await Promise.race([tab.cdp.send('Page.stopLoading'), pause(500)]);
	},
};

function waitLine(text) {
	const word = text.trim();

	if (/^\d+$/.test(word))
		return { ms: Number(word) };
	if (/^url(\s|$)/.test(word))
		return { url: word.slice(4).trim() };
	if (['load', 'domcontentloaded', 'networkidle'].includes(word))
		return { state: word };
	return { selector: word };
}

function sleep(ms, signal) {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(resolve, ms);

		signal.addEventListener('abort', () => {
			clearTimeout(timer);
			reject(new Failure('EINTR', 'interrupted'));
		});
	});
}

const wait = {
	usage: 'a selector, url GLOB, load, networkidle or a number of milliseconds',
	line: waitLine,
	keys: { selector: 'string', url: 'string', ms: 'number',
		state: ['load', 'domcontentloaded', 'networkidle', 'attached', 'detached', 'visible', 'hidden'] },
	async run(tab, { selector, url, ms, state }, call) {
		const options = { timeout: call.timeout, signal: call.signal };

		if (selector)
			return locate(tab, selector).locator.first()
				.waitFor({ state: state || 'visible', ...options });
		if (url)
			return tab.page.waitForURL(url, options);
		if (ms !== undefined)
			return sleep(Math.min(ms, 2 ** 31 - 1), call.signal);
		if (LOAD.includes(state))
			return tab.page.waitForLoadState(state, options);
		throw new Failure('EINVAL', `write ${this.usage}`);
	},
};

const content = {
	async run(tab, params, call) {
		await tab.revive();
		await tab.page.setContent(call.text, { timeout: call.timeout, signal: call.signal });
		tab.status = null;
		await tab.refresh();
	},
};

module.exports = {
	withScheme,
	operations: { goto, back: history('goBack', 'before'), forward: history('goForward', 'after'),
		reload: history('reload', ''), stop, wait, 'content.html': content },
};
