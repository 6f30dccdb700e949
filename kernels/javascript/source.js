// Source as people write it in a cell, made into what V8's REPL mode takes: types are stripped,
// imports become awaited calls, a lone object literal is an expression. Lines stay where they are.
'use strict';

const acorn = require('acorn');
const walk = require('acorn-walk');

const OPTIONS = {
	ecmaVersion: 'latest', sourceType: 'module', allowAwaitOutsideFunction: true,
	allowReturnOutsideFunction: true, allowImportExportEverywhere: true, allowHashBang: true,
	checkPrivateFields: false,
};
const IMPORT = '__sandpit_import__';

function pattern(node) {
	const names = [];
	for (const one of node.specifiers) {
		if (one.type === 'ImportNamespaceSpecifier')
			return one.local.name;
		const imported = one.type === 'ImportDefaultSpecifier' ? 'default' :
			one.imported.name ?? JSON.stringify(one.imported.value);
		names.push(`${imported}: ${one.local.name}`);
	}
	return `{${names.join(', ')}}`;
}

function importText(node) {
	const call = `await ${IMPORT}(${node.source.raw})`;
	if (!node.specifiers.length)
		return `${call};`;
	const spaces = node.specifiers.filter(one => one.type === 'ImportNamespaceSpecifier');
	if (spaces.length && node.specifiers.length > 1)
		return `const ${spaces[0].local.name} = ${call}, ` +
			`${node.specifiers[0].local.name} = ${spaces[0].local.name}.default;`;
	return `const ${pattern(node)} = ${call};`;
}

// What replaces which part of the text.
function edits(tree, code) {
	const found = [];
	for (const node of tree.body) {
		if (node.type === 'ImportDeclaration')
			found.push([node.start, node.end, importText(node)]);
		else if (node.type === 'ExportNamedDeclaration' && node.declaration)
			found.push([node.start, node.declaration.start, '']);
		else if (node.type === 'ExportDefaultDeclaration')
			found.push([node.start, node.declaration.start, '']);
		else if (node.type === 'ExportNamedDeclaration' && !node.source)
			found.push([node.start, node.end, '']);
	}
	walk.full(tree, node => {
		if (node.type === 'ImportExpression')
			found.push([node.start, node.start + 'import'.length, IMPORT]);
	});
	return found.sort((a, b) => b[0] - a[0]).map(([start, end, text]) => {
		const lines = code.slice(start, end).split('\n').length - text.split('\n').length;
		return [start, end, text + '\n'.repeat(Math.max(lines, 0))];
	});
}

function isExpression(code) {
	try {
		const tree = acorn.parse(`(${code}\n)`, OPTIONS);
		return tree.body.length === 1 && tree.body[0].type === 'ExpressionStatement';
	} catch {
		return false;
	}
}

function toScript(code) {
	if (/^\s*\{/.test(code) && /\}\s*$/.test(code) && isExpression(code))
		code = `(${code}\n)`;
	let tree;
	try {
		tree = acorn.parse(code, OPTIONS);
	} catch {
		return code; // V8 says what is wrong with it
	}
	for (const [start, end, text] of edits(tree, code))
		code = code.slice(0, start) + text + code.slice(end);
	return code;
}

// TypeScript: JavaScript and the text of its source map. Throws a SyntaxError whose place is that in
// the source.
function stripTypes(code) {
	const ts = require('typescript');
	const {outputText, sourceMapText, diagnostics} = ts.transpileModule(code, {
		reportDiagnostics: true,
		fileName: 'cell.ts',
		compilerOptions: {
			target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
			verbatimModuleSyntax: true, experimentalDecorators: true,
			emitDecoratorMetadata: false, removeComments: false, newLine: ts.NewLineKind.LineFeed,
			useDefineForClassFields: true, sourceMap: true,
		},
	});
	const bad = diagnostics.find(one => one.category === ts.DiagnosticCategory.Error);
	if (!bad)
		return [outputText.replace(/\n\/\/# sourceMappingURL=.*\s*$/, ''), sourceMapText];
	const {line, character} = bad.file.getLineAndCharacterOfPosition(bad.start);
	const error = new SyntaxError(ts.flattenDiagnosticMessageText(bad.messageText, '\n'));
	error.place = {line, column: character, text: code.split('\n')[line] ?? ''};
	throw error;
}

module.exports = {IMPORT, toScript, stripTypes};
