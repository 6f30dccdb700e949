// Downloads: under safe names, NAME.part while they run. The browser writes below .partial; NAME.part
// is another name of that very file, so it grows with it.
'use strict';
const fs = require('fs');
const path = require('path');
const { give, giveDirectory } = require('./give');

const NAME_MAX = 200; // bytes, so that ".part" and a number still fit

// The last part of what the server suggested, as a name that no shell trips over.
function safeName(suggested) {
	let name = String(suggested).split(/[/\\]/).pop().replace(/^_?(\.\._)+/, '')
		.replace(/[\x00-\x1f\x7f]/g, '_').replace(/^[.\-\s]+/, '').trim();

	while (Buffer.byteLength(name) > NAME_MAX)
		name = name.slice(name.length > NAME_MAX ? -NAME_MAX : 1);
	return name || 'download';
}

class Downloads {
	constructor(directory, log) {
		this.directory = directory;
		this.partial = path.join(directory, '.partial');
		this.log = log;
		giveDirectory(directory);
		for (const name of fs.readdirSync(directory))
			if (name.endsWith('.part'))
				fs.rmSync(path.join(directory, name), { force: true });
		fs.rmSync(this.partial, { recursive: true, force: true });
		fs.mkdirSync(this.partial);
	}

	// Takes a name that is free: an empty file NAME.part holds it.
	reserve(suggested) {
		const { name, ext } = path.parse(safeName(suggested));

		for (let n = 0; ; n++) {
			const free = n ? `${name} (${n})${ext}` : `${name}${ext}`;

			if (fs.existsSync(path.join(this.directory, free)))
				continue;
			try {
				fs.writeFileSync(path.join(this.directory, `${free}.part`), '', { flag: 'wx' });
				return free;
			} catch (error) {
				if (error.code !== 'EEXIST')
					throw error;
			}
		}
	}

	begin(download, page) {
		const name = this.reserve(download.suggestedFilename());
		const part = path.join(this.directory, `${name}.part`);
		const unwatch = this.show(download, part);

		this.log(`page ${page} downloads ${JSON.stringify(name)}`);
		this.finish(download, name, part).catch((error) => {
			fs.rmSync(part, { force: true });
			this.log(`download of ${JSON.stringify(name)} failed: ${error.message.split('\n')[0]}`);
		}).finally(unwatch);
		return name;
	}

	// Puts the growing file in the place of the empty one, as soon as it is there, and again when the
	// browser puts another in its place. The library tells its path from the start, but has no public
	// name for it: without, the empty one stays.
	show(download, part) {
		const at = download._artifact && download._artifact._initializer.absolutePath;

		if (!at)
			return () => {};
		const growing = `${at}.crdownload`;
		const spare = path.join(this.partial, `${path.basename(at)}.part`);
		const attempt = () => {
			try {
				if (fs.statSync(growing).ino === fs.statSync(part).ino)
					return;
				fs.linkSync(growing, spare);
				fs.renameSync(spare, part);
				give(part);
			} catch {
				fs.rmSync(spare, { force: true });
			}
		};
		const watcher = fs.watch(this.partial, (event, name) => {
			if (event === 'rename' && name === path.basename(growing))
				attempt();
		});

		watcher.on('error', () => watcher.close());
		attempt();
		return () => watcher.close();
	}

	async finish(download, name, part) {
		const from = await download.path();

		try {
			fs.linkSync(from, `${from}.part`);
			fs.renameSync(`${from}.part`, part);
			fs.rmSync(`${from}.part`, { force: true }); // it stays if both are one file
			fs.rmSync(from);
		} catch {
			await download.saveAs(part);
		}
		fs.chmodSync(part, 0o644);
		give(part);
		fs.renameSync(part, path.join(this.directory, name));
	}
}

module.exports = { Downloads, safeName };
