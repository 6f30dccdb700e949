// What went wrong, as an errno's name and one line of words.
'use strict';

class Failure extends Error {
	constructor(code, message) {
		super(message);
		this.code = code;
	}
}

// The end of net::ERR_*, in the order in which they are tried: the errno, and the same in words.
const network = [
	[/^CONNECTION_REFUSED|^PROXY_CONNECTION_FAILED|^TUNNEL_/, 'ECONNREFUSED',
		'the connection was refused'],
	[/^NAME_|^ICANN_/, 'EHOSTUNREACH', 'there is no host of that name'],
	[/^INTERNET_DISCONNECTED|^ADDRESS_|^NETWORK_/, 'EHOSTUNREACH', 'no network leads there'],
	[/^EMPTY_RESPONSE|^CONNECTION_(RESET|CLOSED|ABORTED|FAILED)|^SOCKET_NOT/, 'ECONNRESET',
		'the server ended the connection without an answer'],
	[/^TOO_MANY_REDIRECTS/, 'ELOOP', 'it is redirected again and again'],
	[/^CERT_|^SSL_PINNED|^BAD_SSL_CLIENT|^SSL_OBSOLETE/, 'EKEYREJECTED',
		'its certificate is not valid'],
	[/^SSL_/, 'EPROTO', 'the server does not speak TLS as it should'],
	[/^HTTP2_|^QUIC_|^INVALID_(HTTP_)?RESPONSE|^CONTENT_|^RESPONSE_/, 'EPROTO',
		'the server does not speak HTTP as it should'],
	[/^UNSAFE_PORT/, 'EINVAL', 'browsers do not connect to that port'],
	[/^(UNSAFE_)?REDIRECT|^INVALID_URL|SCHEME|^INVALID_ARGUMENT/, 'EINVAL',
		'no such URL can be opened'],
	[/TIMED_OUT/, 'ETIMEDOUT', 'it does not answer'],
	[/AUTH|^ACCESS_DENIED|^BLOCKED_BY/, 'EACCES', 'access is denied'],
	[/^FILE_NOT_FOUND/, 'ENOENT', 'there is no such file'],
	[/^ABORTED/, 'ECANCELED'],
	[/^INSUFFICIENT_RESOURCES|^OUT_OF_MEMORY/, 'ENOMEM'],
];

const hints = {
	EKEYREJECTED: '; write {"ignore_tls":true} to browser/config.json to accept it',
	EACCES: '; credentials go into the URL (http://user:password@host/) or into browser/config.json',
};

const messages = [
	[/strict mode violation/, 'ENOTUNIQ'],
	[/Invalid frame in aria-ref/, 'ESTALE'],
	[/Page crashed|Target crashed/, 'EIO'],
	[/has been closed|Browser closed|Target closed/, 'ENXIO'],
	[/interrupted by another navigation/, 'ECANCELED'],
	[/Invalid URL|invalid URL|Protocol error.*[Ii]nvalid|Unknown key|must be|expected (one of|\w+, got)/,
		'EINVAL'],
	[/while parsing|Unknown engine|not a valid (selector|XPath)|Malformed|Unsupported|InvalidSelector/,
		'EINVAL'],
	[/Unexpected (token|end)|Error while parsing|Selector .* cannot|Can't query/, 'EINVAL'],
	[/(Element|Node) is not|Not a checkbox|Did not find|did not find|not an? <?(input|select|checkbox)/i,
		'EINVAL'],
	[/[Cc]licking the checkbox did not change/, 'EBUSY'],
	[/ENOENT/, 'ENOENT'],
	[/[Uu]nable to capture|too large|Image too/, 'EFBIG'],
	[/^Expected options\.|^options\.\S+ is |^Clipped area is/, 'EINVAL'],
];

const covered = /intercepts pointer events|not visible|not enabled|not editable|outside of the viewport|not stable|disabled|readonly/;

// Without terminal colours, on one line, each step of the call log once.
function plain(text) {
	const lines = String(text).replace(/\x1b\[[0-9;]*m/g, '').split('\n')
		.map((line) => line.trim().replace(/^-+ /, '')).filter(Boolean);
	const seen = new Set();
	const kept = lines.filter((line) => {
		const bare = line.replace(/^\d+ × /, '');

		if (/^(Call log:|waiting \d+ms|retrying|=+( logs =+)?$)/.test(bare) || seen.has(bare))
			return false;
		return seen.add(bare);
	});

	return kept.join('; ').replace(/\.; /g, '; ')
		.replace(/^[a-zA-Z]+\.[a-zA-Z]+: (Error: )?/, '').slice(0, 2000);
}

// Words for an element that was not found or cannot be used, from the call log.
function ofElement(text, selector) {
	const lines = plain(text).split('; ');
	const reason = lines.filter((line) => covered.test(line)).pop();

	if (/did not find some options/.test(text))
		return new Failure('ENOENT', `${selector}: no such option`);
	if (reason)
		return new Failure('EBUSY', `${selector}: ${reason}`);
	return null;
}

// net::ERR_X at URL, in words.
function ofNetwork(text, name) {
	const [, code, words] = network.find(([pattern]) => pattern.test(name)) || [null, 'EIO'];
	const [, at] = / at (\S+?)(;? |;?$)/.exec(text) || [];
	const told = words && at ? `${at}: ${words} (net::ERR_${name})` : text.split('; ')[0];

	return new Failure(code, told + (hints[code] || ''));
}

// error: what a call threw; about: {selector, timeout, aborted, stale} of the call.
function failureOf(error, about = {}) {
	if (error instanceof Failure)
		return error;
	const text = plain(error && error.message !== undefined ? error.message : error);
	const net = /net::ERR_([A-Z0-9_]+)/.exec(text);

	if (about.aborted)
		return new Failure('EINTR', 'interrupted');
	if (net)
		return ofNetwork(text, net[1]);
	const found = messages.find(([pattern]) => pattern.test(text));

	if (found && !(error.name === 'TimeoutError' && found[1] !== 'ENOTUNIQ'))
		return new Failure(found[1], text);
	if (error.name === 'TimeoutError' || /Timeout \d+ms exceeded/.test(text))
		return (about.selector && ofElement(error.message, about.selector)) ||
			new Failure('ETIMEDOUT', text);
	if (error.code && /^E[A-Z]+$/.test(error.code))
		return new Failure(error.code, text);
	return new Failure('EIO', text);
}

module.exports = { Failure, failureOf, plain };
