// import() and require() as from a file in the working directory.
'use strict';

const fs = require('fs');
const path = require('path');
const {createRequire, isBuiltin} = require('module');
const {pathToFileURL} = require('url');

function here() {
	try {
		return process.cwd();
	} catch {
		return '/'; // it was removed
	}
}

// The entry of a package for import, from its package.json.
function entryOf(exported) {
	if (typeof exported === 'string')
		return exported;
	for (const condition of ['import', 'node', 'module', 'default', '.'])
		if (exported && exported[condition])
			return entryOf(exported[condition]);
	return undefined;
}

function findPackage(name) {
	for (let at = here(); ; at = path.dirname(at)) {
		const place = path.join(at, 'node_modules', name);
		if (fs.existsSync(path.join(place, 'package.json')))
			return place;
		if (at === path.dirname(at))
			return undefined;
	}
}

function resolveImport(specifier) {
	if (/^[a-z][a-z0-9+.-]+:/i.test(specifier) || isBuiltin(specifier))
		return specifier;
	if (/^\.{0,2}\//.test(specifier))
		return pathToFileURL(path.resolve(here(), specifier)).href;
	const place = findPackage(specifier);
	if (place) {
		const about = JSON.parse(fs.readFileSync(path.join(place, 'package.json'), 'utf8'));
		const entry = entryOf(about.exports) ?? about.module;
		if (entry)
			return pathToFileURL(path.join(place, entry)).href;
	}
	return pathToFileURL(createRequire(path.join(here(), 'cell')).resolve(specifier)).href;
}

const importer = (specifier, options) => import(resolveImport(String(specifier)), options);
const requirer = () => createRequire(path.join(here(), 'cell'));

module.exports = {importer, requirer};
