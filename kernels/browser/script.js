// evaluate: a script in a page, with its value or its error, and an end even when it has none.
'use strict';
const { Failure } = require('./failure');
const { describe } = require('./value');

const GROUP = 'sandpit';
const ILLEGAL = /Illegal return statement/;

function thrown(details) {
	const exception = details.exception || {};
	const stack = exception.description || details.text || '';
	let message = stack.split('\n')[0];

	if (!exception.objectId)
		message = exception.value !== undefined && typeof exception.value !== 'object'
			? String(exception.value) : exception.unserializableValue || message || 'undefined';
	else if (exception.subtype !== 'error')
		message = `${exception.className || 'object'} was thrown`;
	return { message, stack: stack || message };
}

function run(session, expression) {
	return session.send('Runtime.evaluate', { expression, replMode: true, awaitPromise: true,
		userGesture: true, objectGroup: GROUP, includeCommandLineAPI: false });
}

// {json: text of the value} or {error: {message, stack}}.
async function once(session, text) {
	let answer = await run(session, text);

	// The text was not run at all if it cannot be parsed: as a function's body it may be.
	if (answer.exceptionDetails && ILLEGAL.test(thrown(answer.exceptionDetails).message))
		answer = await run(session, `(async () => {\n${text}\n})()`);
	if (answer.result.subtype === 'promise')
		answer = await session.send('Runtime.awaitPromise', {
			promiseObjectId: answer.result.objectId });
	if (answer.exceptionDetails)
		return { error: thrown(answer.exceptionDetails) };
	return { json: await describe(session, answer.result) };
}

// Runs it until its end, the timeout, or the signal. The session was attached before, so that it
// can stop a script that never ends.
function evaluate(session, text, timeout, signal) {
	return new Promise((resolve, reject) => {
		let timer = null;
		const stop = (failure) => {
			session.send('Runtime.terminateExecution').catch(() => {});
			finish(() => reject(failure));
		};
		const onAbort = () => stop(new Failure('EINTR', 'interrupted'));

		function finish(then) {
			clearTimeout(timer);
			signal.removeEventListener('abort', onAbort);
			then();
		}

		signal.addEventListener('abort', onAbort);
		if (timeout)
			timer = setTimeout(() => stop(new Failure('ETIMEDOUT',
				`the script did not end within ${timeout} ms and was stopped`)), timeout);
		once(session, text).then((value) => finish(() => resolve(value)),
			(error) => finish(() => reject(/navigated|Cannot find context|destroyed|collected/
				.test(error.message)
				? new Failure('EREMOTEIO', 'the page went away while the script ran')
				: error)));
	});
}

module.exports = { evaluate };
