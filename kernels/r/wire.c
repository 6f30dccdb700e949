// The framed protocol for R, which cannot open a socket by its path: called by .C(), which passes
// plain arrays, so neither R's headers nor its library are needed.
//
// While R waits here it is idle: an interrupt that comes then is for nobody and is dropped.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FD 3
#define HEADER 12

void sandpit_wait(int *msec);
void sandpit_read(int *type, int *execution, int *len);
void sandpit_payload(unsigned char *payload, int *len);
void sandpit_write(int *type, int *execution, unsigned char *payload, int *len);
void sandpit_idle(int *idle);

static unsigned char *kept; /* the payload between sandpit_read() and sandpit_payload() */
static uint32_t kept_len;

static int read_all(unsigned char *to, size_t len)
{
	while (len) {
		ssize_t n = read(FD, to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Waits that long for a frame; *msec becomes whether there is one, or the daemon has gone. */
void sandpit_wait(int *msec)
{
	struct pollfd fd = {.fd = FD, .events = POLLIN};

	*msec = poll(&fd, 1, *msec) != 0;
}

/* Reads a frame's header and payload; *len is the payload's size, -1 when the daemon has gone. */
void sandpit_read(int *type, int *execution, int *len)
{
	unsigned char header[HEADER];

	*len = -1;
	free(kept);
	kept = NULL;
	if (read_all(header, sizeof(header)) < 0)
		return;
	memcpy(&kept_len, header, 4);
	memcpy(execution, header + 8, 4);
	*type = header[4];
	kept = malloc(kept_len + 1);
	if (kept && read_all(kept, kept_len) == 0)
		*len = (int)kept_len;
}

void sandpit_payload(unsigned char *payload, int *len)
{
	memcpy(payload, kept, (size_t)*len);
}

/* *len becomes -1 when it could not be written. */
void sandpit_write(int *type, int *execution, unsigned char *payload, int *len)
{
	unsigned char header[HEADER] = {0};
	const unsigned char *at = header;
	size_t left = HEADER;

	memcpy(header, len, 4);
	header[4] = (unsigned char)*type;
	memcpy(header + 8, execution, 4);
	for (int part = 0; part < 2; part++) {
		while (left) {
			ssize_t n = write(FD, at, left);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0) {
				*len = -1;
				return;
			}
			at += n;
			left -= (size_t)n;
		}
		at = payload;
		left = (size_t)*len;
	}
}

/* Before the first and after each execution: interrupts are dropped; during one R has its own
 * handler back. */
void sandpit_idle(int *idle)
{
	static struct sigaction of_r;
	static int dropping;
	struct sigaction drop = {.sa_handler = SIG_IGN};

	if (*idle && !dropping)
		sigaction(SIGINT, &drop, &of_r);
	else if (!*idle && dropping)
		sigaction(SIGINT, &of_r, NULL);
	dropping = *idle;
}
