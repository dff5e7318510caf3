// SPDX-License-Identifier: GPL-2.0
/*
 * Running a step of a sequence, and the final check of a file; used by both fuzzers.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"

struct child *child;

/* Most steps need a file. */
static void fill_slot(struct thread *t)
{
	const struct step *now = t->step;
	const struct slot *slot = &child->slots[now->slot % NR_SLOTS];
	struct step step = *now;

	if (slot->fd >= 0 || now->kind >= KIND_OPEN || one_in(t, 8))
		return;
	t->step = &step;
	step.kind = step.seed % 3 ? KIND_OPEN_NAMED : KIND_OPEN;
	step_open(t);
	if (slot->fd < 0) {
		step.kind = KIND_OPEN;
		step_open(t);
	}
	t->step = now;
	t->used = 0;
}

static void do_step(struct thread *t)
{
	switch (t->step->kind) {
	case KIND_OPEN:
	case KIND_OPEN_NAMED:
	case KIND_OPEN_CONTROL:
		return step_open(t);
	case KIND_CLOSE:
		return step_close(t);
	case KIND_DUP:
		return step_dup(t);
	case KIND_READ:
		return step_read(t);
	case KIND_POLL:
		return step_poll(t);
	case KIND_EPOLL:
		return step_epoll(t);
	case KIND_FCNTL:
		return step_fcntl(t);
	case KIND_FORK:
		return step_fork(t);
	case KIND_SEND:
		return step_send(t);
	case KIND_RECEIVE:
		return step_receive(t);
	case KIND_SHAKE:
		return shake(&child->threads[draw(t, NR_THREADS)].memory, draw(t, 8));
	case KIND_CLOCK:
		return step_clock(t);
	case KIND_SLEEP:
		usleep(random_below(&t->detail, 3000));
		return;
	case KIND_MISC:
		return step_misc(t);
	case KIND_LOOK:
		return step_look(t);
	case KIND_RING:
		return step_ring(t);
	case KIND_STORE:
		return step_store(t);
	}
	if (t->step->kind == KIND_WILD || row_of(t->step->kind))
		step_call(t);
}

void run_step(struct thread *t, const struct step *step)
{
	t->step = step;
	t->used = 0;
	t->detail.state = step->seed;
	fill_slot(t);
	do_step(t);
}

static bool may_settle(const struct slot *slot)
{
	return slot->fd >= 0 && slot->type == FILE_PURGATORY && slot->name < 0 &&
	       slot->access == O_RDWR && !slot->unsure && !child->forked;
}

/*
 * Drain a private purgatory that only the caller uses: all operations have ended, and each
 * has one last event.
 */
void settle(struct thread *t, struct slot *slot)
{
	struct view view = { .slot = slot, .gen = slot->gen, .fd = slot->fd, .name = -1,
			     .access = slot->access };
	struct twheel_drain_args drain = {};
	struct twheel_query_args query = {};
	__u64 ended;
	long got;

	if (!may_settle(slot))
		return;
	t->step = &t->now.steps[0];
	fcntl(slot->fd, F_SETFL, O_NONBLOCK);
	if (slot->drained_at == slot->gen &&
	    !ioctl(slot->fd, TWHEEL_IOC_QUERY, &query) && query.own)
		failed(NULL, "%llu operations are pending in a drained file", query.own);
	may_end(&view, TWHEEL_CALL_DRAIN);
	if (ioctl(slot->fd, TWHEEL_IOC_DRAIN, &drain))
		return;
	do {
		got = read_events(t, &view, t->memory.out, t->memory.out_size,
				  PLACE_PLAIN, false);
	} while (got && got != -EAGAIN);
	memset(&query, 0, sizeof(query));
	if (ioctl(slot->fd, TWHEEL_IOC_QUERY, &query)) {
		if (!slot->restricted)
			failed(NULL, "cannot query a drained file");
		return;
	}
	ended = query.completed + query.expired + query.cancelled;
	if (query.pending || query.own || query.unread || query.keys || query.watches ||
	    query.added != ended)
		failed(NULL, "drained: %llu pending, %llu unread, %llu watches, %llu of %llu ended",
		       query.pending, query.unread, query.watches, ended, query.added);
	if (!slot->unsure && !child->forked && (__u32)slot->finals != ended)
		failed(NULL, "%llu operations ended, but %u last events were read", ended,
		       (__u32)slot->finals);
}
