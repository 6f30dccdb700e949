// One request on its way: its time, its end by an interrupt, and its answer.
'use strict';
const { Failure, failureOf } = require('./failure');
const { parse } = require('./request');

class Call {
	constructor(browser, id, name, operation, text) {
		Object.assign(this, { browser, id, name, operation, text });
		this.abort = new AbortController();
		this.signal = this.abort.signal;
		this.ended = new Promise((resolve, reject) => {
			this.fail = (failure) => {
				reject(failure);
				this.abort.abort(failure);
			};
		});
		this.ended.catch(() => {});
		this.done = false;
	}

	interrupt() {
		this.fail(new Failure('EINTR', 'interrupted'));
	}

	// A dialog that waits for the user ends the request that opened it: nobody could answer else.
	dialogOpened(tab) {
		return new Promise((resolve) => {
			this.onDialog = (about) => resolve({ dialog: about });
			if (!this.operation.direct)
				tab.onDialog.add(this.onDialog);
		});
	}

	// A call that knows no signal is left behind at the timeout.
	overdue() {
		return new Promise((resolve, reject) => {
			if (this.timeout)
				this.timer = setTimeout(() => reject(new Failure('ETIMEDOUT',
					`not done within ${this.timeout} ms`)), this.timeout + 250);
		});
	}

	async act(tab) {
		const { operation } = this;
		const params = parse(operation, this.text);
		const limit = this.browser.config.timeout;

		this.timeout = params.timeout !== undefined ? params.timeout : limit;
		await tab.ready;
		await this.browser.beforeAct(operation);
		return Promise.race([operation.run(tab, params, this), this.ended, this.overdue(),
			this.dialogOpened(tab)]);
	}

	async start(tab) {
		if (this.signal.aborted)
			return this.answer(tab, null, this.signal.reason);
		const watch = this.operation.causes ? tab.watch() : null;

		try {
			if (tab.crashed && !['goto', 'reload', 'content.html'].includes(this.name))
				throw new Failure('EIO', 'the page has crashed; goto starts it afresh');
			if (tab.dialog && !this.operation.direct)
				throw new Failure('EBUSY', 'a dialog is open; write accept or dismiss to dialog');
			const outcome = await this.act(tab) || {};

			if (watch)
				await tab.effectsSettled(watch);
			this.answer(tab, typeof outcome === 'object' ? outcome : {}, null, watch);
		} catch (error) {
			await tab.crashSettled(error);
			const failure = this.signal.aborted && this.signal.reason instanceof Failure
				? this.signal.reason : failureOf(error, {});

			this.answer(tab, null, this.browser.explain(failure, tab), watch);
			if (['ETIMEDOUT', 'EINTR'].includes(failure.code) && tab.cdp)
				await tab.unblock();
		} finally {
			clearTimeout(this.timer);
			tab.onDialog.delete(this.onDialog);
			if (watch)
				watch.end();
		}
	}

	result(tab, outcome, failure, watch) {
		const { value, download, dialog, status } = outcome || {};

		return { op: this.name, ok: !failure, value,
			error: failure ? { code: failure.code, message: failure.message } : undefined,
			url: tab ? tab.address().slice(0, 4096) : undefined, title: tab ? tab.title : undefined,
			status: status !== undefined ? status : tab ? tab.status : undefined,
			page: outcome ? outcome.page : undefined,
			popup: watch && watch.popups.length ? watch.popups[0] : undefined,
			download: download || (watch ? watch.downloads[0] : undefined), dialog };
	}

	answer(tab, outcome, failure, watch) {
		if (this.done)
			return;
		this.done = true;
		this.browser.calls.delete(this.id);
		const data = (outcome && outcome.data) || (failure && failure.data) ||
			(outcome && outcome.answer && Buffer.from(JSON.stringify(outcome.answer) + '\n'));
		const { wire, types } = this.browser;

		wire.socket.cork(); // all of it in one system call
		if (data)
			wire.sendData(this.id, data);
		wire.send(types.answer, this.id, {
			errno: failure ? failure.code : undefined,
			message: failure ? failure.message : undefined,
			result: this.operation.read ? undefined
				: JSON.stringify(this.result(tab, outcome, failure, watch)) });
		wire.socket.uncork();
	}
}

module.exports = { Call };
