// What the browser's processes use, by part.
'use strict';
const fs = require('fs');

function read(file) {
	try {
		return fs.readFileSync(file, 'utf8');
	} catch {
		return '';
	}
}

// Pages that several processes share count once, in parts.
function pss(pid) {
	const found = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`));

	return found ? Number(found[1]) * 1024 : 0;
}

// {"driver","chromium","display"} in bytes: of this process and of all that came from it.
function memory() {
	const parents = new Map();

	for (const name of fs.readdirSync('/proc')) {
		const stat = /^\d+$/.test(name) && read(`/proc/${name}/stat`);
		const found = stat && /\((.*)\) \S (\d+)/s.exec(stat);

		if (found)
			parents.set(Number(name), { name: found[1], parent: Number(found[2]) });
	}
	const sums = { driver: pss(process.pid), chromium: 0, display: 0 };

	for (const [pid, about] of parents) {
		let at = about.parent;

		for (let n = 0; n < 20 && parents.has(at) && at !== process.pid; n++)
			at = parents.get(at).parent;
		if (at === process.pid)
			sums[/^Xtigervnc/.test(about.name) ? 'display' : 'chromium'] += pss(pid);
	}
	return sums;
}

module.exports = { memory };
