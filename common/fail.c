// Why something failed, in words for a person.
#include "common/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Foreign bytes may stand in the words: keep the line one line. */
static void store(struct fail *f, const char *raw)
{
	size_t at = 0;

	for (const unsigned char *p = (const unsigned char *)raw; *p; p++) {
		if (at + 5 > sizeof(f->text))
			break;
		if (*p < 0x20 || *p == 0x7f)
			at += (size_t)snprintf(f->text + at, sizeof(f->text) - at, "\\x%02x", *p);
		else
			f->text[at++] = (char)*p;
	}
	f->text[at] = '\0';
}

__attribute__((format(printf, 3, 0))) static void set(
	struct fail *f, int err, const char *format, va_list args)
{
	char raw[sizeof(f->text)];
	int len = vsnprintf(raw, sizeof(raw), format, args);

	if (err && len >= 0 && (size_t)len < sizeof(raw))
		snprintf(raw + len, sizeof(raw) - (size_t)len, ": %s", strerror(-err));
	store(f, raw);
}

int fail_set(struct fail *f, int err, const char *format, ...)
{
	va_list args;

	if (!f)
		return err;
	va_start(args, format);
	set(f, 0, format, args);
	va_end(args);
	return err;
}

int fail_errno(struct fail *f, int err, const char *format, ...)
{
	va_list args;

	if (!f)
		return err;
	va_start(args, format);
	set(f, err, format, args);
	va_end(args);
	return err;
}
