// The forbidden system calls by kind: each file of a kind has its calls and, at its end, their table.
#pragma once

struct escape {
	const char *name;
	long (*call)(void); /* negative: errno says why not */
};

#define ESCAPE(name)                                                                               \
	{                                                                                          \
#name, escape_##name                                                               \
	}
#define ESCAPES_END                                                                                \
	{                                                                                          \
		0                                                                                  \
	}

/* Each ends with an entry without a name. */
extern const struct escape escapes_tree[], escapes_kernel[], escapes_processes[], escapes_machine[];
