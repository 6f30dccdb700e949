// Starts Chromium, on a display of its own where there is a VNC server.
'use strict';
const fs = require('fs');
const path = require('path');
const { spawn } = require('child_process');
const { Failure, plain } = require('./failure');
const { serveCdp, serveLive } = require('./relay');
const { give } = require('./give');

// Screenshots do not wait for web fonts, which may never come.
process.env.PW_TEST_SCREENSHOT_NO_FONTS_READY = '1';

// What Chromium says where it may not build its own sandbox.
const REFUSED = /No usable sandbox|setuid sandbox is not|Failed to move to new namespace/;
const PORT_FILE = 'DevToolsActivePort';
const DISPLAYS = [99, 98, 97];
const find = (paths) => paths.find((name) => fs.existsSync(name));

const findChromium = () => find(['/usr/bin/chromium', '/usr/bin/chromium-browser',
	'/usr/bin/google-chrome', '/opt/google/chrome/chrome']);
const findVnc = () => find(['/usr/bin/Xtigervnc']);

// A lock of a Chromium that ran on another machine, or in another sandbox, is nobody's: only one
// driver at a time runs on a profile.
function unlock(profile) {
	for (const name of ['SingletonLock', 'SingletonSocket', 'SingletonCookie', PORT_FILE])
		fs.rmSync(path.join(profile, name), { force: true });
}

// An X server that ends with this process. Its number is free if it lives for a moment.
function startDisplay(number, socket) {
	return new Promise((resolve) => {
		fs.rmSync(socket, { force: true });
		const server = spawn(findVnc(), [`:${number}`, '-geometry', '1280x800', '-depth', '24',
			'-SecurityTypes', 'None', '-rfbunixpath', socket, '-rfbport', '-1', '-nolisten', 'tcp',
			'-nolisten', 'local', '-terminate', '-AlwaysShared'], { stdio: 'ignore' });
		const timer = setInterval(() => fs.existsSync(socket) && done(server), 10);
		const limit = setTimeout(() => done(null), 5000);

		function done(value) {
			clearInterval(timer);
			clearTimeout(limit);
			resolve(value);
		}
		server.on('exit', () => done(null));
		server.on('error', () => done(null));
		process.on('exit', () => server.kill('SIGKILL'));
	});
}

async function display(config) {
	if (config.headless || !findVnc())
		return null;
	const socket = path.join(config.run, 'vnc');

	for (const number of DISPLAYS) {
		const server = await startDisplay(number, socket);

		if (server)
			return { number, socket, server };
	}
	return null;
}

// A page that leads to another program's URL (mailto:, or any scheme) makes Chromium ask in a dialog
// whether to open it, which takes all input from the page, and which nobody sees. It does not ask when
// it is itself the program for such URLs; that is what xdg-settings tells it.
function answerForSchemes(config) {
	const directory = path.join(config.run, 'bin');
	const script = '#!/bin/sh\n' +
		'case "$1 $2" in "check default-url-scheme-handler") echo yes ;; *) exit 1 ;; esac\n';

	fs.mkdirSync(directory, { recursive: true });
	fs.writeFileSync(path.join(directory, 'xdg-settings'), script, { mode: 0o755 });
	return `${directory}:${process.env.PATH}`;
}

function options(config, shown, ownSandbox) {
	const args = ['--window-position=0,0', '--window-size=1280,800', '--disable-dev-shm-usage',
		'--no-first-run', '--hide-crash-restore-bubble', '--test-type', '--disable-gpu', '--password-store=basic'];

	if (config.cdp)
		args.push('--remote-debugging-port=0');
	return {
		executablePath: findChromium(),
		headless: !shown,
		chromiumSandbox: ownSandbox,
		viewport: shown ? null : config.viewport || { width: 1280, height: 800 },
		userAgent: config.userAgent,
		acceptDownloads: true,
		downloadsPath: path.join(config.downloads, '.partial'),
		handleSIGINT: false,
		handleSIGTERM: false,
		handleSIGHUP: false,
		timeout: 60000,
		env: { ...process.env, ...(shown ? { DISPLAY: `:${shown.number}`,
			PATH: answerForSchemes(config) } : {}) },
		args,
	};
}

// The line of a long report that says what happened.
function reason(error) {
	const lines = String(error.message).replace(/\x1b\[[0-9;]*m/g, '').split('\n');
	const told = lines.find((line) => /\[err\].*(ERROR|FATAL|error while|cannot|No such|denied)/.test(line) &&
		!/dbus|vaapi|gpu|udev|gcm|metrics|netlink/i.test(line));

	return told ? told.replace(/^.*\[err\]\s*/, '').replace(/^\[[^\]]*\]\s*/, '') : plain(lines[0]);
}

// Chromium's own sandbox is not made for uid 0. Whether the machine lets it make its namespaces shows
// when it starts.
async function start(config, shown, type) {
	const launch = (own) => type.launchPersistentContext(config.profile, options(config, shown, own));

	if (process.getuid() === 0)
		return { context: await launch(false), own: false };
	try {
		return { context: await launch(true), own: true };
	} catch (error) {
		if (!REFUSED.test(error.message))
			throw error;
		unlock(config.profile);
		return { context: await launch(false), own: false };
	}
}

// Chromium's debugging port: 0 until it listens.
function readPort(profile) {
	try {
		return parseInt(fs.readFileSync(path.join(profile, PORT_FILE), 'utf8')) || 0;
	} catch {
		return 0;
	}
}

// Tells it as soon as it is there, which is well before Chromium has started: it is a server of the
// sandbox like others, that ports/ would show. Returns how to end that.
function watchPort(profile, tell) {
	const watcher = fs.watch(profile, (event, name) => {
		if (name === PORT_FILE && readPort(profile))
			tell(readPort(profile));
	});

	watcher.on('error', () => watcher.close());
	return () => watcher.close();
}

async function portOf(profile) {
	for (const end = Date.now() + 3000; Date.now() < end;) {
		const port = readPort(profile);

		if (port)
			return port;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
	return 0;
}

async function launch(browser) {
	const { config } = browser;
	const { chromium } = require('playwright-core');

	if (!findChromium())
		throw new Failure('ENOPKG', 'Chromium is not installed: the package is chromium');
	// What an earlier driver left when it was killed goes; what this one makes stays out of /tmp.
	fs.rmSync(config.run, { recursive: true, force: true });
	process.env.TMPDIR = path.join(config.run, 'tmp');
	for (const name of [config.profile, process.env.TMPDIR])
		fs.mkdirSync(name, { recursive: true });
	give(path.dirname(config.profile));
	unlock(config.profile);
	const shown = await display(config);
	const tellPort = (port) => browser.wire.send(browser.types.port, 0, { port });
	const unwatch = config.cdp ? watchPort(config.profile, tellPort) : () => {};
	let context, own;

	try {
		({ context, own } = await start(config, shown, chromium));
	} catch (error) {
		throw new Failure('EIO', `Chromium did not start: ${reason(error)}`);
	} finally {
		unwatch();
	}
	const port = config.cdp ? await portOf(config.profile) : 0;
	if (port)
		tellPort(port);
	let clients = false;
	const share = () => {
		clients = true;
	};

	if (port)
		serveCdp(path.join(config.run, 'cdp'), port, share);
	if (shown)
		serveLive(path.join(config.run, 'live'), shown.socket);

	return {
		context, port, display: shown,
		downloadPath: path.join(config.downloads, '.partial'),
		shared: () => clients,
		about: { version: context.browser().version(), headless: !shown,
			sandbox: own ? 'chromium' : 'sandpit', cdp: port > 0, live: Boolean(shown) },
	};
}

module.exports = { launch, findChromium, findVnc };
