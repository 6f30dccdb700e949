// The inside of cdp_url and live_url: what the daemon lets through arrives here, on sockets in the
// sandbox's tree. The daemon has checked the token and taken it off the path.
'use strict';
const fs = require('fs');
const http = require('http');
const net = require('net');
const path = require('path');

const LIVE_PAGE = path.join(__dirname, 'live.html');
const NOVNC = path.join(__dirname, 'node_modules/@novnc/novnc');
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8' };

function listen(server, socket) {
	fs.rmSync(socket, { force: true });
	server.listen(socket);
	server.on('error', (error) => console.error(error));
	server.on('clientError', (error, peer) => peer.destroy());
	return server;
}

function refuse(response, code, text) {
	response.writeHead(code, { 'content-type': 'text/plain', connection: 'close' });
	response.end(`${text}\n`);
}

// Chromium names itself by its own port; whoever asks reaches it by another address.
function forward(port, request, response) {
	const base = String(request.headers['x-sandpit-base'] || '');
	const asked = http.request({ port, host: '127.0.0.1', method: request.method, path: request.url,
		headers: { host: `127.0.0.1:${port}` } }, (answer) => {
		const parts = [];

		answer.on('data', (data) => parts.push(data));
		answer.on('end', () => {
			const text = Buffer.concat(parts).toString()
				.replaceAll(`ws://127.0.0.1:${port}`, `ws://${base}`)
				.replaceAll(`ws=127.0.0.1:${port}`, `ws=${base}`);

			response.writeHead(answer.statusCode, { 'content-type':
				answer.headers['content-type'] || 'text/plain',
			'content-length': Buffer.byteLength(text), connection: 'close' });
			response.end(text);
		});
	});

	asked.on('error', () => refuse(response, 502, 'the browser does not answer'));
	asked.end();
}

function headOf(request, port) {
	const lines = [`${request.method} ${request.url} HTTP/1.1`, `Host: 127.0.0.1:${port}`];

	for (let i = 0; i < request.rawHeaders.length; i += 2)
		if (!/^(host|origin|x-sandpit-base)$/i.test(request.rawHeaders[i]))
			lines.push(`${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}`);
	return `${lines.join('\r\n')}\r\n\r\n`;
}

function join(one, other) {
	one.pipe(other);
	other.pipe(one);
	for (const end of [one, other])
		for (const event of ['error', 'close'])
			end.on(event, () => {
				one.destroy();
				other.destroy();
			});
}

function serveCdp(socket, port, onClient) {
	const server = http.createServer((request, response) => forward(port, request, response));

	server.on('upgrade', (request, peer, head) => {
		const inner = net.connect(port, '127.0.0.1');

		onClient();
		inner.write(headOf(request, port));
		inner.write(head);
		join(peer, inner);
	});
	return listen(server, socket);
}

function fileOf(url) {
	const name = decodeURIComponent(url.split('?')[0]);

	if (name === '/' || name === '/vnc.html')
		return LIVE_PAGE;
	return /^\/(core|vendor)\//.test(name) && !name.includes('..') ? path.join(NOVNC, name) : null;
}

function serveFile(request, response) {
	let file = null;

	try {
		file = fileOf(request.url);
		const data = file && fs.readFileSync(file);

		if (!data)
			return refuse(response, 404, 'not found');
		response.writeHead(200, { 'content-type': types[path.extname(file)] || 'text/plain',
			'content-length': data.length, 'cache-control': 'no-store',
			'referrer-policy': 'no-referrer', connection: 'close' });
		return response.end(data);
	} catch {
		return refuse(response, 404, 'not found');
	}
}

function serveLive(socket, vnc) {
	const { WebSocketServer } = require('ws');
	const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
	const server = http.createServer(serveFile);

	server.on('upgrade', (request, peer, head) => sockets.handleUpgrade(request, peer, head,
		(client) => {
			const inner = net.connect(vnc);

			inner.on('data', (data) => client.send(data));
			client.on('message', (data) => inner.write(data));
			for (const event of ['error', 'close']) {
				inner.on(event, () => client.terminate());
				client.on(event, () => inner.destroy());
			}
		}));
	return listen(server, socket);
}

module.exports = { serveCdp, serveLive };
