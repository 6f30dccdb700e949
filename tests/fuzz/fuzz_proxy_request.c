// Requests to the proxy from hostile code: what is let through has one host, and a head for the
// server that means the same to everybody who reads it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/net/proxy_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct proxy_request *r)
{
	const char *head = buf_text(&r->head), *end = strstr(head, "\r\n\r\n");

	if (!*r->host || strlen(r->host) != strcspn(r->host, "/@ \r\n\t\\%#?") || !r->port)
		abort();
	if (r->tunnel)
		return;
	/* One head, one Host line, no bare line ends. */
	if (!end || end[4] || strlen(head) != r->head.len || !strstr(head, "\r\nHost: ") ||
		strstr(strstr(head, "\r\nHost: ") + 1, "\r\nHost: "))
		abort();
	for (const char *at = head; (at = strchr(at, '\n')); at++)
		if (at[-1] != '\r')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_request r;
	struct fail f = {0};
	size_t len = proxy_request_head_len(data, size);
	int status = proxy_request_parse((const char *)data, len ? len : size, &r, &f);

	if (status && !*f.text)
		abort();
	if (!status && len)
		check(&r);
	proxy_request_clear(&r);
	proxy_request_is_web(data, size);
	return 0;
}
