// Requests of the kernel that wait for something.
#include "fs/parked.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "fs/agent.h"
#include "fs/mount.h"

#define LOOK_USEC 100000

static void on_wake(struct waiter *waiter)
{
	struct parked *p = container_of(waiter, struct parked, waiter);

	p->retry(p, false);
}

static void on_deadline(struct loop_timer *timer)
{
	struct parked *p = container_of(timer, struct parked, deadline);

	p->retry(p, true);
}

/* Called by libfuse while it handles the interrupt (or registers for it): answering here would be
 * too early, so it is only noted. */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct parked *p = arg;

	(void)req;
	if (list_empty(&p->told))
		list_add_tail(&p->m->interrupted, &p->told);
}

/* The kernel interrupts for every signal, and only once. One that merely tells the caller something,
 * as of a child's end, is no reason to give up; but one that is may follow, so look again. */
static void tell(struct parked *p)
{
	if (!p->ends_at_any_signal && !agent_wants_end(p->m->agent, p->pid)) {
		loop_timer_set(p->m->loop, &p->look, clock_monotonic_usec() + LOOK_USEC);
		return;
	}
	/* What is cancelled may end at once: that is then no news for this request. */
	list_remove(&p->waiter.link);
	if (p->interrupted)
		p->interrupted(p);
	parked_reply(p, -EINTR);
}

static void on_look(struct loop_timer *timer)
{
	tell(container_of(timer, struct parked, look));
}

struct parked *parked_new(struct mount *m, fuse_req_t req, void *handle, struct list *waiters,
	void (*retry)(struct parked *p, bool at_deadline))
{
	struct parked *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->m = m;
	p->req = req;
	p->pid = fuse_req_ctx(req)->pid;
	p->handle = handle;
	p->retry = retry;
	p->waiter.wake = on_wake;
	p->deadline.fire = on_deadline;
	p->look.fire = on_look;
	list_init(&p->waiter.link);
	list_init(&p->told);
	list_add_tail(&m->parked, &p->all);
	list_add_tail(waiters, &p->waiter.link);
	fuse_req_interrupt_func(req, on_interrupt, p);
	return p;
}

void parked_again(struct parked *p, struct list *waiters)
{
	list_remove(&p->waiter.link);
	list_add_tail(waiters, &p->waiter.link);
}

void parked_deadline(struct parked *p, uint64_t usec)
{
	loop_timer_set(p->m->loop, &p->deadline, clock_monotonic_usec() + usec);
}

/* Takes the request out of everything that knows it. */
fuse_req_t parked_take(struct parked *p)
{
	fuse_req_t req = p->req;

	mount_tell(p->m);
	fuse_req_interrupt_func(req, NULL, NULL);
	loop_timer_cancel(p->m->loop, &p->deadline);
	loop_timer_cancel(p->m->loop, &p->look);
	list_remove(&p->waiter.link);
	list_remove(&p->told);
	list_remove(&p->all);
	if (p->drop)
		p->drop(p->handle);
	free(p->data);
	free(p);
	return req;
}

void parked_reply(struct parked *p, int err)
{
	fuse_reply_err(parked_take(p), -err);
}

void parked_reply_data(struct parked *p, const void *data, size_t len)
{
	fuse_reply_buf(parked_take(p), data, len);
}

void parked_reply_write(struct parked *p, size_t count)
{
	fuse_reply_write(parked_take(p), count);
}

int parked_reply_open(struct parked *p, const struct fuse_file_info *fi)
{
	return fuse_reply_open(parked_take(p), fi);
}

void parked_tell_interrupted(struct mount *m)
{
	while (!list_empty(&m->interrupted)) {
		struct parked *p = list_entry(m->interrupted.next, struct parked, told);

		list_remove(&p->told);
		tell(p);
	}
}

void parked_reply_all(struct mount *m, int err)
{
	while (!list_empty(&m->parked))
		parked_reply(list_entry(m->parked.next, struct parked, all), err);
}
