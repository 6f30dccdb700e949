// One tab: its queue of requests, what happens in it, and what is told of it.
'use strict';
const { Failure } = require('./failure');

const URL_MAX = 4096;
const LINE_MAX = 16384;
const LATE_EFFECT_MS = 2000;
const SILENCE_MS = 300;
const REFRESH_MS = 50;
const BUSY_MS = 500;

const short = (text, max = URL_MAX) => text.length > max ? `${text.slice(0, max)}...` : text;

class Tab {
	constructor(browser, number, page) {
		this.browser = browser;
		this.number = number;
		this.queue = Promise.resolve();
		this.running = new Set(); // of calls, waiting ones too
		this.watches = new Set();
		this.policy = browser.config.dialogPolicy || 'dismiss';
		this.dialog = null; // that waits for an answer
		this.onDialog = new Set();
		this.status = null;
		this.title = '';
		this.url = 'about:blank';
		this.documents = 0; // that it has shown
		this.coming = null; // {url, status} of the newest answer to a navigation
		this.attach(page);
	}

	attach(page) {
		this.page = page;
		this.crashed = false;
		this.ready = this.openSession(page);
		page.on('crash', () => this.onCrash(page));
		page.on('close', () => page === this.page && this.browser.tabClosed(this));
		page.on('dialog', (dialog) => this.opened(dialog));
		page.on('download', (download) => this.downloaded(download));
		page.on('popup', (popup) => this.browser.popped(this, popup));
		page.on('console', (message) => this.console(message.type(), message.text(),
			message.location()));
		page.on('pageerror', (error) => this.console('exception',
			String((error && error.stack) || error)));
		page.on('request', (request) => this.navigates(request));
		page.on('response', (response) => this.responded(response));
		page.on('requestfinished', (request) => this.network(request));
		page.on('requestfailed', (request) => this.network(request));
		page.on('framenavigated', (frame) => frame === page.mainFrame() && this.navigated());
		page.on('domcontentloaded', () => this.refreshSoon());
		page.on('load', () => this.refreshSoon());
	}

	// Attached before any script of the page can keep it busy for ever.
	async openSession(page) {
		this.cdp = await page.context().newCDPSession(page);
		const { targetInfo } = await this.cdp.send('Target.getTargetInfo');

		this.target = targetInfo.targetId;
		this.cdp.on('Page.frameNavigated', ({ frame }) => page === this.page && !frame.parentId &&
			this.shows(frame));
		await this.cdp.send('Page.enable');
		if (this.browser.config.ignoreTls)
			await this.ignoreTls(true);
	}

	ignoreTls(ignore) {
		return this.cdp.send('Security.setIgnoreCertificateErrors', { ignore });
	}

	// A crashed page is of no use any more: another one takes its number.
	async revive() {
		if (!this.crashed)
			return;
		const old = this.page;

		this.attach(await this.browser.newPage());
		await this.ready;
		old.close().catch(() => {});
	}

	// A script that never ends holds up everything on its page: it is stopped, the page lives on.
	// A load that hangs keeps the page from answering, too.
	async unblock() {
		this.cdp.send('Page.stopLoading').catch(() => {});
		const answer = this.cdp.send('Runtime.evaluate', { expression: '1' }).catch(() => {});
		let timer;
		const silence = new Promise((resolve) => {
			timer = setTimeout(resolve, SILENCE_MS, 'silent');
		});

		if (!this.crashed && !this.dialog && await Promise.race([answer, silence]) === 'silent') {
			this.browser.log(`page ${this.number} does not answer: its script is stopped`);
			await Promise.race([this.cdp.send('Runtime.terminateExecution').catch(() => {}),
				new Promise((resolve) => setTimeout(resolve, SILENCE_MS).unref())]);
		}
		clearTimeout(timer);
	}

	onCrash(page) {
		if (page !== this.page)
			return;
		this.crashed = true;
		this.browser.log(`page ${this.number} crashed`);
		for (const call of this.running)
			call.fail(new Failure('EIO', 'the page crashed; goto starts it afresh'));
		this.tell();
	}

	/* What is told */

	line(kind, fields) {
		const text = JSON.stringify({ time: new Date().toISOString(), ...fields });

		this.browser.wire.send(this.browser.types.line, this.number, {
			kind, text: text.length > LINE_MAX ? JSON.stringify({ time: new Date().toISOString(),
				truncated: true, text: text.slice(0, LINE_MAX / 2) }) : text });
	}

	console(type, text, location) {
		this.line('console', { type, text: short(text, 8000),
			url: location && location.url ? short(location.url, 1000) : undefined,
			line: location && location.url ? location.lineNumber + 1 : undefined });
	}

	navigates(request) {
		if (request.isNavigationRequest() && request.frame() === this.page.mainFrame())
			for (const watch of this.watches)
				watch.navigating = true;
	}

	navigated() {
		for (const watch of this.watches)
			watch.navigating = false;
		this.refreshSoon();
	}

	responded(response) {
		const request = response.request();

		request.sandpitStatus = response.status();
		if (!request.isNavigationRequest() || response.frame() !== this.page.mainFrame())
			return;
		this.coming = { url: response.url().replace(/#.*/s, ''), status: response.status() || null };
		if (this.document === this.coming.url && this.status === null)
			this.status = this.coming.status;
		for (const watch of this.watches)
			watch.status = response.status();
	}

	// A new document. The browser's own page for one that failed has the URL that failed, as people
	// see it, and no status but one that HTTP gave.
	shows(frame) {
		const wanted = frame.unreachableUrl || frame.url;

		this.documents++;
		this.failed = frame.unreachableUrl || null;
		this.document = wanted;
		this.status = this.coming && this.coming.url === wanted ? this.coming.status : null;
		this.title = '';
		this.stale = true;
		this.refreshSoon();
	}

	network(request) {
		const failure = request.failure();

		// A download fails as a navigation first, and begins a moment later; what was answered with
		// content and is no page will be one, however busy the machine is.
		const answered = request.sandpitStatus && ![204, 205].includes(request.sandpitStatus);

		if (failure && request.isNavigationRequest())
			setTimeout(() => {
				for (const watch of this.watches)
					watch.navigating = false;
			}, answered ? LATE_EFFECT_MS : 100).unref();

		this.line('network', { method: request.method(), url: short(request.url(), 2000),
			type: request.resourceType(), status: request.sandpitStatus || null,
			ms: Math.max(0, Math.round(request.timing().responseEnd)),
			error: failure ? failure.errorText : undefined });
	}

	// Several events come with every page; one look is enough, and none while a request is going
	// to look itself.
	refreshSoon() {
		clearTimeout(this.soon);
		this.soon = setTimeout(() => this.refresh().catch(() => {}), REFRESH_MS);
	}

	// The title now; a page that is busy keeps the last one known, which for a new document is none.
	async refresh(known = this.title, limit = BUSY_MS) {
		clearTimeout(this.soon);
		let timer;
		const busy = new Promise((resolve) => {
			timer = setTimeout(resolve, limit, null);
		});
		const title = this.crashed || this.dialog ? null
			: await Promise.race([this.readTitle().catch(() => null), busy]);

		clearTimeout(timer);
		this.title = title !== null ? title : known;
		this.url = short(this.address());
		this.stale = false;
		this.tell();
	}

	address() {
		return this.failed || this.page.url();
	}

	// While a navigation is going on Playwright may make one up.
	async readTitle() {
		const title = await this.page.title();

		if (!title.startsWith('Loading '))
			return title;
		const { result } = await this.cdp.send('Runtime.evaluate', { expression: 'document.title',
			returnByValue: true });

		return typeof result.value === 'string' ? result.value : null;
	}

	tell(more) {
		const state = JSON.stringify({ url: this.url, title: this.title, status: this.status,
			crashed: this.crashed || undefined, ...more });

		if (state !== this.told)
			this.browser.wire.send(this.browser.types.tab, this.number, { state,
				url: this.url, title: this.title, status: String(this.status) });
		this.told = state;
	}

	/* Dialogs */

	opened(dialog) {
		const about = { type: dialog.type(), message: short(dialog.message(), 8000),
			default: dialog.defaultValue() || undefined };
		const leave = dialog.type() === 'beforeunload';

		if (this.policy === 'ask' && !leave) {
			this.dialog = dialog;
			this.line('dialog', { ...about, open: true });
			for (const tell of this.onDialog)
				tell(about);
			return;
		}
		const accept = leave || this.policy === 'accept';

		this.line('dialog', { ...about, answer: accept ? 'accept' : 'dismiss' });
		(accept ? dialog.accept(about.default) : dialog.dismiss()).catch(() => {});
	}

	async answer(accept, text) {
		const dialog = this.dialog;

		if (!dialog)
			throw new Failure('ENOENT', 'no dialog is open');
		this.dialog = null;
		await (accept ? dialog.accept(text) : dialog.dismiss());
		this.line('dialog', { type: dialog.type(), answer: accept ? 'accept' : 'dismiss', text });
	}

	/* What a request causes: a popup, a download, a status */

	watch() {
		const watch = { status: null, navigating: false, downloads: [], popups: [], expected: 0,
			end: () => this.watches.delete(watch) };

		this.watches.add(watch);
		return watch;
	}

	downloaded(download) {
		const name = this.browser.downloads.begin(download, this.number);

		for (const watch of this.watches)
			watch.downloads.push(name);
	}

	// A popup's target is told at once, its page a little later.
	expectPopup() {
		for (const watch of this.watches)
			watch.expected++;
	}

	popped(number) {
		for (const watch of this.watches)
			watch.popups.push(number);
	}

	async downloadsSettled(watch, error) {
		if (/Download is starting|ERR_ABORTED/.test(error.message))
			await this.until(() => watch.downloads.length || this.crashed,
				/Download/.test(error.message) ? LATE_EFFECT_MS : 100);
	}

	// A request that began a navigation has ended when it is known whether a page or a download
	// comes of it; one that opened a popup, when the popup has its number.
	async effectsSettled(watch) {
		if (watch.navigating)
			await this.until(() => !watch.navigating || watch.downloads.length || this.crashed,
				LATE_EFFECT_MS);
		if (watch.expected > watch.popups.length)
			await this.until(() => watch.popups.length >= watch.expected, LATE_EFFECT_MS);
		if (this.stale)
			await this.refresh();
	}

	// The crash itself is told a little later than what it broke.
	async crashSettled(error) {
		if (/ERR_ABORTED|has been closed|Target closed|crashed/.test(error.message))
			await this.until(() => this.crashed, 500);
	}

	async until(condition, limit) {
		for (const end = Date.now() + limit; !condition() && Date.now() < end;)
			await new Promise((resolve) => setTimeout(resolve, 5));
	}

	/* Requests */

	stopAll() {
		for (const call of this.running)
			if (!call.operation.direct)
				call.fail(new Failure('ECANCELED', 'stopped'));
	}

	// One after another, in the order in which they came.
	enqueue(call) {
		const before = this.queue;

		this.running.add(call);
		this.queue = before.then(() => call.start(this)).finally(() => this.running.delete(call));
		return this.queue;
	}

	direct(call) {
		this.running.add(call);
		return call.start(this).finally(() => this.running.delete(call));
	}
}

module.exports = { Tab };
