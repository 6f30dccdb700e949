// Downloads: under safe names, NAME.part while they run.
'use strict';
const fs = require('fs');
const path = require('path');

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
		this.log = log;
		fs.mkdirSync(directory, { recursive: true });
		for (const name of fs.readdirSync(directory))
			if (name.endsWith('.part'))
				fs.rmSync(path.join(directory, name), { force: true });
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

		this.log(`page ${page} downloads ${JSON.stringify(name)}`);
		this.finish(download, name).catch((error) => {
			fs.rmSync(path.join(this.directory, `${name}.part`), { force: true });
			this.log(`download of ${JSON.stringify(name)} failed: ${error.message.split('\n')[0]}`);
		});
		return name;
	}

	async finish(download, name) {
		const part = path.join(this.directory, `${name}.part`);
		const from = await download.path();

		try {
			fs.renameSync(from, part);
			fs.chmodSync(part, 0o644);
		} catch {
			await download.saveAs(part);
		}
		fs.renameSync(part, path.join(this.directory, name));
	}
}

module.exports = { Downloads, safeName };
