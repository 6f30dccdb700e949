// Runs in the index, and what is done while it takes none: the disk is full, or fails.
#include "runner/runs/run_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a row says of `output`: 0, it is one of the streams; 1, it has a file of its own with
 * all of it (as earlier versions have made it); else 2, and twice its base, and which stream
 * comes before. */
static uint64_t mixed_of(const struct run_output *o)
{
	return o->mixed ? 2 + (o->mix_base << 1 | o->mix_first) : 0;
}

static void fill_row(const struct run *run, struct run_row *ret)
{
	*ret = (struct run_row){
		.number = run->number,
		.id = run->id,
		.cwd = run->cwd,
		.user = run->user,
		.status = run->status,
		.exit_code = run->exit_code,
		.signal = run->signal,
		.timed_out = run->timed_out | (int)run->limit << RUN_ROW_LIMIT_SHIFT,
		.dropped = run->output.dropped,
		.mixed = mixed_of(&run->output),
		.started_usec = run->started_usec,
		.ended_usec = run->ended_usec,
		.cmd = run->cmd,
		.cmd_len = run->cmd ? run->cmd_len : 0,
	};
	memcpy(ret->total, run->output.total, sizeof(ret->total));
	memcpy(ret->kept, run->output.stored, sizeof(ret->kept));
	if (!run->output.mixed)
		ret->kept[RUN_OUTPUT] = ret->kept[RUN_STDOUT] + ret->kept[RUN_STDERR];
}

/* Writes the row; what the index has, is not kept in memory any longer. */
static int save(struct run *run)
{
	struct runs *runs = run->runs;
	struct run_row row;
	int r;

	fill_row(run, &row);
	r = run->in_index ? run_store_update(runs->store, &row)
			  : run_store_insert(runs->store, &row);
	runs->unsaved += (r < 0) - run->unsaved;
	run->unsaved = r < 0;
	if (r < 0)
		return r;
	run->in_index = true;
	free(run->cmd);
	run->cmd = NULL;
	return 0;
}

/* The index takes rows: those, too, that it has refused. */
static void save_others(struct runs *runs)
{
	struct list *item;

	list_for_each(item, &runs->all)
	{
		struct run *run = list_entry(item, struct run, link);

		if (!runs->unsaved || (run->unsaved && save(run) < 0))
			return;
	}
}

void run_save(struct run *run)
{
	bool was_unsaved = run->unsaved;
	int r = save(run);

	if (r == 0)
		save_others(run->runs);
	else if (!was_unsaved)
		runs_log(run->runs, "warning: run %s is not in the index: %s", run->id,
			strerror(-r));
}

void run_save_start(struct run *run, const char *cmd)
{
	run->cmd = malloc(run->cmd_len + 1);
	if (run->cmd)
		memcpy(run->cmd, cmd, run->cmd_len + 1);
	run_save(run);
}

int run_save_reserved(struct run *run)
{
	return save(run);
}

int run_cmd(struct run *run, char **ret, uint64_t *ret_len)
{
	if (!run->cmd)
		return run_store_cmd(run->runs->store, run->number, ret, ret_len);
	*ret = malloc(run->cmd_len + 1);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, run->cmd, run->cmd_len + 1);
	*ret_len = run->cmd_len;
	return 0;
}
