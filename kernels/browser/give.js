// Files that the browser's user makes for the sandbox's users: they belong to root, as all others.
'use strict';
const fs = require('fs');

function give(name) {
	if (process.getuid() !== 0)
		fs.chownSync(name, 0, 0);
}

// A directory of such files.
function giveDirectory(name) {
	fs.mkdirSync(name, { recursive: true });
	give(name);
}

module.exports = { give, giveDirectory };
