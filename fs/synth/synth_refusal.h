// What is refused on synthetic files, in words for /error and the log.
#pragma once

#include "fs/mount.h"
#include "fs/synth/synth.h"

#define ONLY_READ "it is only read"

/* What was asked for `name` in `dir` failed: f has the words, or err says it all. Returns err. */
int synth_failed(struct mount *m, const struct synth_node *dir, const char *name, int err,
	const struct fail *f);

/* The same with fixed words; as all below it returns err, a negative errno. */
int synth_refuse(struct mount *m, const struct synth_node *dir, const char *name, int err,
	const char *words);

/* What was asked of a file itself. */
int synth_refuse_node(struct mount *m, const struct synth_node *n, int err, const char *words);

/* What came of a request on a temporary file, with words where it was too large. */
int synth_scratch_done(struct mount *m, const struct synth_node *n, int r);

/* For requests that no synthetic directory takes, by the directory's id. */
int synth_refuse_at(struct mount *m, uint64_t parent, const char *name, int err, const char *words);
