// The browser: its start and end, its tabs, and which request goes where.
'use strict';
const fs = require('fs');
const path = require('path');
const { Failure, failureOf, plain } = require('./failure');
const { Call } = require('./call');
const { Downloads } = require('./downloads');
const { giveDirectory } = require('./give');
const { launch } = require('./launch');
const { Tab } = require('./tab');
const capture = require('./capture');
const element = require('./element');
const navigate = require('./navigate');
const settings = require('./settings');
const { memory } = require('./memory');
const { parse } = require('./request');

const MEMORY_MS = 10000;

// Of the browser as a whole.
const whole = {
	new: {
		line: (text) => ({ url: text.trim() }),
		keys: { url: 'string', waitUntil: ['load', 'domcontentloaded', 'networkidle', 'commit'] },
		// Before there is a tab that nobody asked for.
		check: (params) => params.url && navigate.withScheme(params.url),
		async run(tab, params, call) {
			const outcome = params.url
				? await navigate.operations.goto.run(tab, params, call) : {};

			return { page: tab.number, answer: { page: tab.number, url: tab.url,
				title: tab.title, status: tab.status } };
		},
	},
	activate: { direct: true, run: (tab) => tab.page.bringToFront() },
};

// Of the directory of tabs: it leaves no result, as the tab is gone. A browser whose last window closes
// ends: a page that nobody sees keeps it, and becomes the next tab.
const closing = {
	closePage: {
		read: true,
		direct: true,
		async run(tab) {
			const { browser } = tab;

			tab.leaves = true;
			if (browser.tabs.size === 1)
				browser.spare = await browser.newPage();
			await tab.page.close();
		},
	},
};

const operations = { ...navigate.operations, ...element.operations, ...capture.operations,
	...settings.operations, ...whole };
const reads = { ...capture.reads, ...settings.reads, ...closing };

class Browser {
	constructor(wire, types, config) {
		Object.assign(this, { wire, types, config: settings.flatten(config) });
		this.tabs = new Map();
		this.calls = new Map();
		this.nextPage = config.firstPage || 1;
		this.nextShot = 1;
		this.started = this.start();
		this.started.catch((error) => this.dead(error));
	}

	log(text) {
		this.wire.send(this.types.log, 0, { text });
	}

	async start() {
		this.downloads = new Downloads(this.config.downloads, (text) => this.log(text));
		giveDirectory(this.config.shots);
		this.view = await launch(this);
		this.context = this.view.context;
		this.cdp = await this.context.browser().newBrowserCDPSession();
		this.context.on('page', (page) => this.pageOpened(page));
		this.context.on('close', () => this.gone());
		this.context.setDefaultTimeout(0);
		this.cdp.on('Target.targetCreated', ({ targetInfo }) => this.targetOpened(targetInfo));
		await this.cdp.send('Target.setDiscoverTargets', { discover: true });
		for (const page of this.context.pages())
			this.pageOpened(page);
		this.fresh = [...this.tabs.values()][0] || null;
		await Promise.all([...this.tabs.values()].map((tab) => tab.ready));
		await settings.apply(this);
		this.tellState();
		setInterval(() => this.tellState(), MEMORY_MS).unref();
	}

	tellState() {
		this.wire.send(this.types.state, 0, { state: JSON.stringify({ ...this.view.about,
			memory: memory() }) });
	}

	dead(error) {
		const failure = error instanceof Failure ? error : failureOf(error);

		for (const call of [...this.calls.values()])
			call.answer(null, null, failure);
		this.log(`the browser did not start: ${failure.message}`);
		this.exit(1);
	}

	// Chromium has ended: as asked, or by itself.
	gone() {
		const failure = new Failure(this.closing ? 'ENXIO' : 'EIO',
			this.closing ? 'the browser was closed' : 'the browser died; goto starts it again');

		for (const call of [...this.calls.values()])
			call.answer(null, null, failure);
		if (!this.closing)
			this.exit(1);
	}

	exit(code) {
		this.wire.socket.end(() => process.exit(code));
		setTimeout(() => process.exit(code), 500).unref();
	}

	async close() {
		this.closing = true;
		for (const call of this.calls.values())
			call.fail(new Failure('ENXIO', 'the browser was closed'));
		const end = setTimeout(() => process.exit(0), 1200);

		await this.started.catch(() => {});
		if (this.context)
			await this.context.close().catch(() => {});
		clearTimeout(end);
		this.gone();
		this.exit(0);
	}

	explain(failure, tab) {
		if (['ENXIO', 'ECANCELED', 'EIO'].includes(failure.code) && tab && tab.crashed)
			return new Failure('EIO', 'the page crashed; goto starts it afresh');
		if (failure.code === 'ENXIO' && tab && tab.closed && !this.closing)
			return new Failure('ENXIO', `page ${tab.number} was closed`);
		return failure;
	}

	// Another client of the browser may have sent downloads elsewhere.
	async beforeAct(operation) {
		if (!this.view.shared() || operation.read || operation.direct)
			return;
		await this.cdp.send('Browser.setDownloadBehavior', { behavior: 'allowAndName',
			downloadPath: this.view.downloadPath, eventsEnabled: true });
	}

	/* Tabs */

	targetOpened(target) {
		const opener = target.type === 'page' && target.openerId &&
			[...this.tabs.values()].find((tab) => tab.target === target.openerId);

		if (opener)
			opener.expectPopup();
	}

	// A page that is no tab of its own: for a crashed one, or for work behind the scenes.
	async newPage() {
		this.hidden = true;
		try {
			return await this.context.newPage();
		} finally {
			this.hidden = false;
		}
	}

	pageOpened(page) {
		if (this.hidden || [...this.tabs.values()].some((tab) => tab.page === page))
			return null;
		const tab = new Tab(this, this.nextPage++, page);

		this.tabs.set(tab.number, tab);
		tab.tell();
		return tab;
	}

	popped(opener, page) {
		const tab = [...this.tabs.values()].find((one) => one.page === page) ||
			this.pageOpened(page);

		if (!tab)
			return;
		opener.popped(tab.number);
		tab.policy = opener.policy;
		tab.tell({ opener: opener.number });
		this.wire.send(this.types.tab, tab.number, { opener: opener.number });
		this.log(`page ${opener.number} opened page ${tab.number}`);
	}

	tabClosed(tab) {
		tab.closed = true;
		this.tabs.delete(tab.number);
		for (const call of tab.running)
			if (call.name !== 'closePage')
				call.fail(new Failure('ENXIO', `page ${tab.number} was closed`));
		this.wire.send(this.types.tab, tab.number, { closed: '1' });
	}

	// The tab that the browser itself opened, once.
	takeFirst() {
		const first = this.fresh;

		this.fresh = null;
		return first && this.tabs.get(first.number);
	}

	latest() {
		return [...this.tabs.values()].filter((tab) => !tab.leaves).pop();
	}

	async newTab() {
		const spare = this.spare && !this.spare.isClosed() ? this.spare : null;
		const page = spare || await this.context.newPage();
		const tab = [...this.tabs.values()].find((one) => one.page === page) ||
			this.pageOpened(page);

		this.spare = null;
		await tab.ready;
		this.wire.send(this.types.tab, tab.number, { active: '1' });
		return tab;
	}

	/* Requests */

	async request(id, { op, page, text = '', read }) {
		const table = read ? reads : operations;
		const operation = Object.hasOwn(table, op) ? table[op] : null;
		const call = new Call(this, id, op, operation || {}, text);

		this.calls.set(id, call);
		try {
			if (!operation)
				throw new Failure('EINVAL', `no such operation: ${op}`);
			if (operation.check)
				operation.check(parse(operation, text));
			await Promise.race([this.started, call.ended]);
			const tab = op === 'new' ? this.takeFirst() || await this.newTab()
				: page === '0' ? this.latest() || await this.newTab()
				: this.tabs.get(Number(page));

			this.fresh = null;
			if (!tab)
				throw new Failure('ENXIO', `page ${page} was closed`);
			await (operation.direct ? tab.direct(call) : tab.enqueue(call));
		} catch (error) {
			call.answer(null, null, failureOf(error));
		}
	}

	interrupt(id) {
		const call = this.calls.get(id);

		if (call)
			call.interrupt();
	}
}

module.exports = { Browser };
