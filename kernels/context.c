// The collection of contexts: making, finding, settings, removing.
#include "kernels/context_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/waiters.h"
#include "kernels/kernel_spec.h"
#include "runner/runs/run_request.h"
#include "runner/runs/runs_environment.h"

#define DEFAULT_CWD "/workspace"
#define DEFAULT_TIMEOUT "60"

static void free_context(struct context *context)
{
	struct contexts *all = context->all;

	kernel_release(context->kernel);
	context->kernel = NULL;
	context->current = NULL;
	loop_timer_cancel(all->config.loop, &context->limit);
	list_remove(&context->link);
	all->count--;
	while (!list_empty(&context->cells))
		cell_free(list_entry(context->cells.next, struct cell, link));
	buf_clear(&context->lines);
	run_request_free_strings(&context->env_pairs);
	free(context->name);
	free(context->cwd);
	free(context->env);
	free(context->timeout);
	free(context);
}

static int add(struct contexts *all, const char *name, const struct kernel_language *language,
	struct context **ret)
{
	struct context *context = calloc(1, sizeof(*context));

	if (!context)
		return -ENOMEM;
	context->all = all;
	context->number = all->next_number++;
	context->language = language;
	context->made_usec = context->used_usec = clock_wall_usec();
	context->timeout_usec = 60 * USEC_PER_SEC;
	context->limit.fire = context_on_limit;
	list_init(&context->cells);
	list_add_tail(&all->all, &context->link);
	all->count++;
	context->name = strdup(name);
	context->cwd = strdup(DEFAULT_CWD);
	context->env = strdup("");
	context->timeout = strdup(DEFAULT_TIMEOUT);
	if (!context->name || !context->cwd || !context->env || !context->timeout) {
		free_context(context);
		return -ENOMEM;
	}
	*ret = context;
	return 0;
}

static int add_standard(struct contexts *all)
{
	struct context *context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < kernel_table_len; i++) {
		if (!kernel_table[i].standard)
			continue;
		r = add(all, kernel_table[i].name, &kernel_table[i], &context);
		if (r == 0)
			context->standard = true;
	}
	return r;
}

int contexts_open(const struct contexts_config *config, struct contexts **ret, struct fail *f)
{
	struct contexts *all = calloc(1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	all->config = *config;
	all->next_number = 1;
	all->cells.dir_fd = -1;
	list_init(&all->all);
	list_init(&all->spare_head.link);
	all->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	kernel_host_init(&all->host, config->loop, config->sandbox, config->runs, all->null_fd);
	r = all->null_fd < 0
		    ? -errno
		    : cells_open(&all->cells, config->state_fd, config->config->output_bytes);
	if (r < 0)
		fail_errno(f, r, "%s/code", config->state_path);
	if (r == 0)
		r = kernel_languages_new(config->config, &all->languages);
	if (r == 0)
		r = add_standard(all);
	if (r < 0)
		contexts_close(all);
	else
		*ret = all;
	return r;
}

void contexts_close(struct contexts *all)
{
	if (!all)
		return;
	contexts_drop_spares(all);
	while (!list_empty(&all->all))
		free_context(list_entry(all->all.next, struct context, link));
	kernel_host_clear(&all->host);
	cells_close(&all->cells);
	kernel_languages_free(all->languages);
	close_fd(&all->null_fd);
	free(all);
}

void contexts_event(struct contexts *all, const struct sandbox_event *event)
{
	kernel_host_event(&all->host, event);
}

void contexts_sandbox_died(struct contexts *all)
{
	kernel_host_died(&all->host);
}

struct list *contexts_list(struct contexts *all)
{
	return &all->all;
}

struct cells *contexts_cells(struct contexts *all)
{
	return &all->cells;
}

struct kernel_languages *contexts_languages(struct contexts *all)
{
	return all->languages;
}

unsigned contexts_running(const struct contexts *all)
{
	const struct list *item;
	unsigned count = 0;

	list_for_each(item, &all->all)
	{
		const struct context *context = list_entry(item, struct context, link);

		count += context->kernel != NULL;
	}
	return count;
}

struct context *contexts_find(struct contexts *all, const char *name)
{
	struct list *item;

	list_for_each(item, &all->all)
	{
		struct context *context = list_entry(item, struct context, link);

		if (!strcmp(context->name, name))
			return context;
	}
	return NULL;
}

struct context *contexts_at(struct contexts *all, uint32_t number)
{
	struct list *item;

	list_for_each(item, &all->all)
	{
		struct context *context = list_entry(item, struct context, link);

		if (context->number == number)
			return context;
	}
	return NULL;
}

static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t len = strlen(name);

	return len && len <= RUN_NAME_MAX && name[strspn(name, allowed)] == '\0' &&
	       strchr("._-", name[0]) == NULL;
}

int context_new(struct contexts *all, const char *name, struct context **ret, struct fail *f)
{
	if (!is_name(name))
		return fail_set(f, -EINVAL,
			"a context's name is letters, digits and ._- (at most %d, first a letter "
			"or digit)",
			RUN_NAME_MAX);
	if (contexts_find(all, name))
		return -EEXIST;
	if (all->count >= CONTEXTS_MAX)
		return fail_set(f, -ENOSPC, "there are %d contexts already", CONTEXTS_MAX);
	return add(all, name, &kernel_table[0], ret);
}

int context_remove(struct context *context, struct fail *f)
{
	if (context->standard)
		return fail_set(f, -EPERM,
			"this context always exists; write to its `restart` to free its kernel");
	contexts_log(context->all, "code/%s: removed", context->name);
	free_context(context);
	return 0;
}

static int check_new(const struct context *context, struct fail *f)
{
	if (context->kernel || context->started)
		return fail_set(f, -EBUSY, "the kernel has started: this can be set only before");
	return 0;
}

static int replace(char **place, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return -ENOMEM;
	free(*place);
	*place = copy;
	return 0;
}

/* One that is installed later can be set then. */
static int check_kernelspec(
	const struct context *context, const struct kernel_language *language, struct fail *f)
{
	const struct contexts_config *config = &context->all->config;
	char **env auto_call(run_request_free_strings) = NULL;
	struct sandbox_user user;
	int r;

	if (!language->kernelspec)
		return 0;
	r = sandbox_find_user(config->sandbox, runs_user(config->runs), &user, f);
	if (r == 0)
		r = run_environment(config->runs, &user, context->env_pairs, &env);
	return r < 0 ? r : kernel_spec_check(config->sandbox, env, language->kernelspec, f);
}

int context_set_language(struct context *context, const char *text, struct fail *f)
{
	const struct kernel_language *language;
	int r = check_new(context, f);

	if (r == 0)
		r = kernel_languages_find(context->all->languages, text, &language, f);
	if (r == 0 && context->standard && language != context->language)
		return fail_set(f, -EPERM, "this context is for %s; mkdir one of your own",
			context->language->name);
	if (r == 0)
		r = kernel_language_check(language, context->all->config.sandbox, f);
	if (r == 0)
		r = check_kernelspec(context, language, f);
	if (r == 0)
		context->language = language;
	return r;
}

int context_set_cwd(struct context *context, const char *text, struct fail *f)
{
	int r = check_new(context, f);

	if (r == 0 && text[0] != '/')
		r = fail_set(f, -EINVAL,
			"cwd must be an absolute path inside the sandbox, as /work, not \"%.200s\"",
			text);
	if (r == 0)
		r = sandbox_check_dir(context->all->config.sandbox, text);
	if (r < 0 && f && !*f->text)
		fail_errno(f, r, "cwd %.200s", text);
	return r == 0 ? replace(&context->cwd, text, strlen(text)) : r;
}

int context_set_env(struct context *context, const char *text, size_t len, struct fail *f)
{
	char **pairs auto_call(run_request_free_strings) = NULL, **old;
	int r = check_new(context, f);

	if (r == 0)
		r = run_request_parse_env(text, len, &pairs, f);
	if (r == 0)
		r = run_request_check_env(pairs, f);
	if (r == 0)
		r = replace(&context->env, text, len);
	if (r < 0)
		return r;
	old = context->env_pairs;
	context->env_pairs = take_ptr(pairs);
	pairs = old;
	return 0;
}

int context_set_timeout(struct context *context, const char *text, struct fail *f)
{
	uint64_t usec;
	int r = run_request_parse_timeout(text, &usec, f);

	if (r == 0)
		r = replace(&context->timeout, text, strlen(text));
	if (r == 0)
		context->timeout_usec = usec;
	return r;
}

const char *context_status(const struct context *context)
{
	if (!context->kernel)
		return context->died ? "dead" : "new";
	if (context->ending)
		return "dead";
	if (context->kernel->state == KERNEL_STARTING)
		return "starting";
	if (context->asking)
		return "input";
	return context->current ? "busy" : "idle";
}

struct cell *context_newest(struct context *context)
{
	return list_empty(&context->cells) ? NULL
					   : list_entry(context->cells.prev, struct cell, link);
}

struct cell *context_cell(struct context *context, uint32_t count)
{
	struct list *item;

	for (item = context->cells.prev; item != &context->cells; item = item->prev)
		if (list_entry(item, struct cell, link)->count == count)
			return list_entry(item, struct cell, link);
	return NULL;
}

int context_forget(struct context *context, struct cell *cell)
{
	if (!cell_is_over(cell))
		return -EBUSY;
	context->cells_len--;
	cell_free(cell);
	return 0;
}
