// What a context does with its kernel: the queue, time limits, interrupts, and the kernel's death.
#include "kernels/context_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/waiters.h"
#include "runner/runs/run_request.h"

/* Some editors begin files with a byte order mark, which to most languages is no source. */
#define MARK "\xef\xbb\xbf"
#define MARK_LEN (sizeof(MARK) - 1)
#define GRACE_USEC (2 * USEC_PER_SEC) /* from one step of the ladder to the next */
#define LADDER_STEPS 2 /* interrupts before it is killed */

static struct cell *next_queued(struct context *context)
{
	struct list *item;

	list_for_each(item, &context->cells)
	{
		struct cell *cell = list_entry(item, struct cell, link);

		if (cell->status == CELL_QUEUED)
			return cell;
	}
	return NULL;
}

/* Where output goes: to what executes, before the first execution to what will, afterwards to the
 * newest that is over. */
static struct cell *output_cell(struct context *context)
{
	struct list *item;

	if (context->current)
		return context->current;
	if (context->kernel && context->kernel->state == KERNEL_STARTING)
		return next_queued(context);
	for (item = context->cells.prev; item != &context->cells; item = item->prev)
		if (cell_is_over(list_entry(item, struct cell, link)))
			return list_entry(item, struct cell, link);
	return NULL;
}

static void on_output(struct kernel *kernel, enum run_stream stream, const void *data, size_t len)
{
	struct cell *cell = output_cell(kernel->owner);

	if (cell)
		cell_output(cell, stream, data, len);
}

static bool output_full(struct kernel *kernel, enum run_stream stream)
{
	struct cell *cell = output_cell(kernel->owner);

	return !cell || run_output_full(&cell->output, stream);
}

static void output_dropped(struct kernel *kernel, enum run_stream stream, uint64_t len)
{
	struct cell *cell = output_cell(kernel->owner);

	if (cell)
		cell_output_dropped(cell, stream, len);
}

static void output_drained(struct kernel *kernel)
{
	struct cell *cell = output_cell(kernel->owner);

	if (cell)
		waiters_wake(&cell->grown);
}

static uint64_t bytes_kept(const struct cell *cell)
{
	return cell->output.kept[RUN_STDOUT] + cell->output.kept[RUN_STDERR] + cell->results_bytes +
	       cell->events.size + cell->code.size;
}

void context_prune(struct context *context)
{
	struct list *item, *spare;
	uint64_t bytes = 0;

	list_for_each(item, &context->cells) bytes +=
		bytes_kept(list_entry(item, struct cell, link));
	list_for_each_safe(item, spare, &context->cells)
	{
		struct cell *cell = list_entry(item, struct cell, link);

		if (context->cells_len <= CONTEXT_KEEP_COUNT && bytes <= CONTEXT_KEEP_BYTES)
			break;
		if (!cell_is_over(cell) || item->next == &context->cells)
			continue;
		bytes -= bytes_kept(cell);
		context->cells_len--;
		cell_free(cell);
	}
}

static void end_cell(struct context *context, struct cell *cell, enum cell_status status)
{
	if (context->current == cell) {
		loop_timer_cancel(context->all->config.loop, &context->limit);
		context->current = NULL;
		context->asking = false;
	}
	cell_end(cell, status);
	context->all->active_usec = clock_monotonic_usec();
	context_prune(context);
}

static void end_current(struct context *context)
{
	struct cell *cell = context->current;

	if (cell->timed_out)
		end_cell(context, cell, CELL_TIMEOUT);
	else if (cell->interrupted)
		end_cell(context, cell, CELL_INTERRUPTED);
	else
		end_cell(context, cell, cell->failed ? CELL_ERROR : CELL_OK);
}

/* Frames */

static void take_error(struct cell *cell, struct kernel_frame frame)
{
	struct kernel_field name = {.value = ""}, value = {.value = ""}, field;

	kernel_wire_find(&frame, "name", &name);
	kernel_wire_find(&frame, "value", &value);
	if (cell->failed)
		return;
	cell_error(cell, name.value, name.len, value.value, value.len);
	while (kernel_wire_field(&frame, &field) > 0)
		if (kernel_wire_is(&field, "traceback"))
			cell_traceback(cell, field.value, field.len);
}

static int take_update(struct context *context, const struct kernel_frame *frame)
{
	struct kernel_field id;
	struct list *item;

	if (!kernel_wire_find(frame, "@id", &id))
		return -EPROTO;
	for (item = context->cells.prev; item != &context->cells; item = item->prev) {
		struct cell *cell = list_entry(item, struct cell, link);
		struct cell_result *result = cell_find_display(cell, id.value, id.len);

		if (!result)
			continue;
		return cell_update_result(result, frame);
	}
	return 0; /* a display that is gone */
}

static void clear(struct cell *cell, const struct kernel_frame *frame)
{
	struct kernel_field wait;

	if (kernel_wire_find(frame, "@wait", &wait))
		cell->discard = true;
	else
		cell_clear_results(cell);
}

static void send_line(struct context *context, const char *line, size_t len, bool end_of_file)
{
	struct buf frame auto_buf = {0};
	size_t start = kernel_wire_begin(&frame, KERNEL_LINE, 0);

	if (!end_of_file)
		kernel_wire_add(&frame, "line", line, len);
	kernel_wire_end(&frame, start);
	context->asking = false;
	kernel_send(context->kernel, &frame);
}

/* Gives the code that asks the first line that waits. */
static void answer(struct context *context)
{
	const char *newline;
	size_t len;

	if (!context->asking || context->lines.len == 0)
		return;
	newline = memchr(context->lines.data, '\n', context->lines.len);
	len = newline ? (size_t)(newline - context->lines.data) : context->lines.len;
	send_line(context, context->lines.data, len, false);
	len += newline != NULL;
	context->lines.len -= len;
	memmove(context->lines.data, context->lines.data + len, context->lines.len + 1);
}

static void finish(struct context *context, const struct kernel_frame *frame)
{
	struct kernel_field field;

	end_current(context);
	context->ending = kernel_wire_find(frame, "exit", &field);
	if (context->ending)
		loop_timer_set(context->all->config.loop, &context->limit,
			clock_monotonic_usec() + GRACE_USEC);
}

static void on_frame(struct kernel *kernel, const struct kernel_frame *frame)
{
	struct context *context = kernel->owner;
	struct cell *cell = context->current;
	int r = 0;

	if (frame->type == KERNEL_UPDATE)
		r = take_update(context, frame);
	else if (!cell || frame->execution != cell->count)
		return; /* of one that is over: late, or made up */
	else if (frame->type == KERNEL_RESULT)
		r = cell_add_result(cell, frame);
	else if (frame->type == KERNEL_CLEAR)
		clear(cell, frame);
	else if (frame->type == KERNEL_ERROR)
		take_error(cell, *frame);
	else if (frame->type == KERNEL_INPUT)
		context->asking = true;
	else if (frame->type == KERNEL_END)
		finish(context, frame);
	else
		r = -EPROTO;
	if (r == -EPROTO)
		kernel_kill(kernel, "it wrote a frame that cannot be understood");
	else if (frame->type == KERNEL_INPUT)
		answer(context);
	else if (frame->type == KERNEL_END)
		context_pump(context);
}

/* Death */

static void describe_death(
	struct context *context, struct cell *cell, const struct kernel_death *death)
{
	const char *name = death->oom ? "OutOfMemory" : "KernelDied";
	const char *lost = death->start ? "the kernel did not start"
					: "the kernel ended; what it remembered is lost";
	char line[512];

	cell_error(cell, name, strlen(name), death->text, strlen(death->text));
	snprintf(line, sizeof(line), "%s: %s (%s)", name, death->text, lost);
	cell_traceback(cell, line, strlen(line));
	contexts_log(context->all, "code/%s: execution %u died: %s", context->name, cell->count,
		death->text);
}

/* Whoever wrote the source has been told that it was taken. */
static void tell_failed(
	struct context *context, const struct cell *cell, int err, const struct kernel_death *death)
{
	const struct contexts_config *config = &context->all->config;
	char path[128];
	struct fail f;

	if (!config->failed)
		return;
	snprintf(path, sizeof(path), "code/%s/in", context->name);
	fail_set(&f, err,
		"the kernel of %s did not start: %s; what it printed is in code/%s/out/%u/stderr",
		context->language->name, death->text, context->name, cell->count);
	config->failed(config->arg, path, err, &f);
}

static void on_dead(struct kernel *kernel, const struct kernel_death *death)
{
	struct context *context = kernel->owner;
	struct cell *cell = context->current;

	context->kernel = NULL;
	context->ending = false;
	context->died = true;
	loop_timer_cancel(context->all->config.loop, &context->limit);
	context->lost = !death->start;
	if (!cell && death->start)
		cell = next_queued(context);
	if (cell && death->start)
		tell_failed(context, cell, -EIO, death);
	if (cell) {
		describe_death(context, cell, death);
		end_cell(context, cell, cell->timed_out ? CELL_TIMEOUT : CELL_DIED);
	} else {
		contexts_log(
			context->all, "code/%s: the kernel ended: %s", context->name, death->text);
	}
	context_pump(context);
}

void context_drop_kernel(struct context *context, const char *reason)
{
	const struct kernel_death death = {.exit_code = -1};
	struct kernel_death why = death;
	struct cell *cell = context->current;

	if (!context->kernel)
		return;
	kernel_release(context->kernel);
	context->kernel = NULL;
	context->ending = false;
	context->lost = true;
	if (!cell)
		return;
	snprintf(why.text, sizeof(why.text), "%s", reason);
	describe_death(context, cell, &why);
	end_cell(context, cell, CELL_DIED);
}

/* The queue */

static void send_setup(struct context *context)
{
	struct buf frame auto_buf = {0};
	size_t start = kernel_wire_begin(&frame, KERNEL_SETUP, 0);

	kernel_wire_add(&frame, "cwd", context->cwd, strlen(context->cwd));
	for (char **pair = context->env_pairs; pair && *pair; pair++)
		kernel_wire_add(&frame, "env", *pair, strlen(*pair));
	kernel_wire_end(&frame, start);
	kernel_send(context->kernel, &frame);
}

static void on_ready(struct kernel *kernel)
{
	struct context *context = kernel->owner;
	const struct kernel_language *language = kernel->language;

	context->started = true;
	send_setup(context);
	context_pump(context);
	contexts_want_spare(context->all, language);
}

static const struct kernel_ops context_ops = {
	.ready = on_ready,
	.frame = on_frame,
	.output = on_output,
	.output_full = output_full,
	.output_dropped = output_dropped,
	.output_drained = output_drained,
	.dead = on_dead,
};

/* Variables that a program reads when it starts must be there when it does. */
static bool is_cold(const struct context *context)
{
	for (const char *const *c = context->language->cold; c && *c; c++)
		for (char **pair = context->env_pairs; pair && *pair; pair++)
			if (!strncmp(*pair, *c, strlen(*c)))
				return true;
	return false;
}

static int start_kernel(struct context *context, struct fail *f)
{
	struct contexts *all = context->all;
	uint64_t limit = all->config.config->kernels;
	struct kernel *kernel;
	int r;

	if (contexts_running(all) >= limit)
		return fail_set(f, -EAGAIN,
			"%u kernels run already (kernels=%u); rmdir or restart a context",
			contexts_running(all), (unsigned)limit);
	kernel = is_cold(context) ? NULL : contexts_take_spare(all, context->language);
	context->died = false;
	if (kernel) {
		kernel_set_owner(kernel, &context_ops, context);
		context->kernel = kernel;
		if (kernel->state == KERNEL_IS_READY)
			on_ready(kernel);
		return 0;
	}
	r = kernel_start(&all->host, context->language, context->env_pairs,
		sandbox_check_dir(all->config.sandbox, context->cwd) == 0 ? context->cwd : "/",
		&context_ops, context, &context->kernel, f);
	if (r < 0)
		context->kernel = NULL;
	return r;
}

static int send_cell(struct context *context, struct cell *cell)
{
	struct buf code auto_buf = {0}, frame auto_buf = {0};
	int r = cell_code(cell, &code);
	size_t start, mark;

	if (r < 0)
		return r;
	start = kernel_wire_begin(&frame, KERNEL_EXECUTE, cell->count);
	mark = code.len >= MARK_LEN && !memcmp(code.data, MARK, MARK_LEN) ? MARK_LEN : 0;
	kernel_wire_add(&frame, "code", buf_text(&code) + mark, code.len - mark);
	kernel_wire_end(&frame, start);
	context->current = cell;
	cell->restarted = context->lost;
	context->lost = false;
	cell_begin(cell);
	context->all->active_usec = cell->started_mono_usec;
	r = kernel_send(context->kernel, &frame);
	context->step = 0;
	if (r == 0 && cell->timeout_usec)
		loop_timer_set(context->all->config.loop, &context->limit,
			cell->started_mono_usec + cell->timeout_usec);
	return r;
}

static void refuse(struct context *context, struct cell *cell, int err, const struct fail *f)
{
	struct kernel_death death = {.start = true};

	snprintf(death.text, sizeof(death.text), "%.250s", *f->text ? f->text : strerror(-err));
	tell_failed(context, cell, err, &death);
	describe_death(context, cell, &death);
	end_cell(context, cell, CELL_DIED);
}

void context_pump(struct context *context)
{
	struct cell *cell;
	struct fail f = {0};
	int r;

	while (!context->current && !context->ending && (cell = next_queued(context))) {
		r = context->kernel ? 0 : start_kernel(context, &f);
		if (r == 0 && context->current)
			return; /* on_ready() has come this way already */
		if (r == 0 && context->kernel->state == KERNEL_STARTING)
			return;
		if (r == 0)
			r = send_cell(context, cell);
		if (r < 0)
			refuse(context, cell, r, &f);
	}
}

int context_execute(struct context *context, const char *code, size_t len,
	const uint64_t *timeout_usec, struct cell **ret, struct fail *f)
{
	struct cell *cell;
	int r;

	if (context->cells_len >= CONTEXT_KEEP_COUNT + CONTEXT_QUEUE_MAX)
		return fail_set(f, -EAGAIN, "%d executions wait already", CONTEXT_QUEUE_MAX);
	r = context->kernel ? 0 : start_kernel(context, f);
	if (r < 0)
		return r;
	r = cell_new(&context->all->cells, code, len, &cell);
	if (r < 0)
		return fail_errno(f, r, "the source cannot be kept");
	cell->count = ++context->count;
	cell->context = context->number;
	cell->language = context->language->name;
	cell->timeout_usec = timeout_usec ? *timeout_usec : context->timeout_usec;
	context->used_usec = cell->made_usec;
	list_add_tail(&context->cells, &cell->link);
	context->cells_len++;
	context_pump(context);
	*ret = cell;
	return 0;
}

/* Interrupts */

static void climb(struct context *context)
{
	if (context->step++ < LADDER_STEPS)
		kernel_interrupt(context->kernel);
	else
		kernel_kill(context->kernel,
			context->current->timed_out
				? "it ran out of time and did not stop when interrupted"
				: "it did not stop when interrupted");
	loop_timer_set(
		context->all->config.loop, &context->limit, clock_monotonic_usec() + GRACE_USEC);
}

void context_on_limit(struct loop_timer *timer)
{
	struct context *context = container_of(timer, struct context, limit);

	if (context->ending)
		kernel_kill(context->kernel, "it did not end by itself");
	if (!context->current || !context->kernel)
		return;
	if (context->asking && !context->step) {
		/* Nobody has answered: the code sees the end of its input, and has a moment. */
		send_line(context, NULL, 0, true);
		loop_timer_set(
			context->all->config.loop, timer, clock_monotonic_usec() + GRACE_USEC);
		return;
	}
	if (!context->current->interrupted)
		context->current->timed_out = true;
	climb(context);
}

bool context_interrupt(struct context *context)
{
	if (!context->current || !context->kernel)
		return false;
	context->current->interrupted = true;
	context->step = 0;
	climb(context);
	return true;
}

void context_cancel(struct context *context, struct cell *cell)
{
	if (cell == context->current)
		context_interrupt(context);
	else if (cell->status == CELL_QUEUED)
		end_cell(context, cell, CELL_INTERRUPTED);
}

bool context_restart(struct context *context)
{
	bool ends = context->kernel != NULL;

	context_drop_kernel(context, "restarted");
	context->started = context->died = false;
	context_pump(context);
	return ends;
}

int context_input(struct context *context, const char *text, size_t len, struct fail *f)
{
	if (context->lines.len + len > RUN_TEXT_MAX)
		return fail_set(f, -EFBIG, "over 1 MiB of input waits for code that asks for it");
	if (buf_add(&context->lines, text, len) < 0)
		return -ENOMEM;
	if (len && text[len - 1] != '\n')
		buf_add_char(&context->lines, '\n');
	answer(context);
	return context->lines.error;
}
