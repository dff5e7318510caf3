// SPDX-License-Identifier: GPL-2.0
/*
 * One child: threads that run sequences on files in common, until its time is over or its
 * worker kills it.
 *
 * Calls that wait are interrupted: the child's first thread sends signals all the time.
 * A child that is not killed looks at its own files in the end, when nobody else can
 * change them: what was added must have ended, and its events must have been read once.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fuzz.h"

#define TICK_USEC	100000

struct child *child;

/* Most steps make sense only with a file. */
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
	}
	if (t->step->kind == KIND_WILD || rule_of(t->step->kind))
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

static void run_sequence(struct thread *t)
{
	unsigned int i;

	t->cover.news = false;
	for (i = 0; i < t->now.nr && !__atomic_load_n(&child->stop, __ATOMIC_RELAXED); i++) {
		cover_begin(&t->cover);
		run_step(t, &t->now.steps[i]);
		cover_end(&t->cover);
	}
	t->step = NULL;
	if (t->cover.news)
		keep_sequence(&t->now);
}

static void open_fail_nth(struct thread *t)
{
	t->fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

static void *run_thread(void *data)
{
	struct thread *t = data;

	open_fail_nth(t);
	cover_start(&t->cover);
	while (!__atomic_load_n(&child->stop, __ATOMIC_RELAXED)) {
		next_sequence(t);
		run_sequence(t);
	}
	__atomic_store_n(&t->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void interrupt(int signal)
{
	(void)signal;
}

static void set_signals(void)
{
	struct sigaction action = { .sa_handler = interrupt };

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGIO, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void init_thread(struct thread *t, unsigned int index)
{
	t->index = index;
	t->random.state = options.seed + ((__u64)child->worker << 40) +
			  ((__u64)child->nr << 8) + index;
	next_random(&t->random);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	cover_open(&t->cover);
	if (memory_init(&t->memory) || t->epoll < 0)
		_exit(2);
}

/* One child in four may do no more than any user may. */
static void drop_privileges(void)
{
	if (child->nr % 4 != 3)
		return;
	if (setgid(USER) || setuid(USER))
		_exit(2);
	prctl(PR_SET_DUMPABLE, 1);
}

static bool all_done(void)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (!__atomic_load_n(&child->threads[i].done, __ATOMIC_SEQ_CST))
			return false;
	}
	return true;
}

/* Let the threads run for their time, and disturb them. */
static void disturb(void)
{
	__u64 end = now_ns() + CHILD_LIFE_MS * MSEC;
	unsigned int i;

	while (!all_done()) {
		usleep(TICK_USEC);
		if (now_ns() > end)
			__atomic_store_n(&child->stop, true, __ATOMIC_RELAXED);
		for (i = 0; i < NR_THREADS; i++)
			pthread_kill(child->threads[i].self, SIGUSR1);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(child->threads[i].self, NULL);
}

/* After its drain, everything of a private purgatory has ended and can be read. */
static void settle(struct thread *t, struct slot *slot)
{
	struct view view = { .slot = slot, .gen = slot->gen, .fd = slot->fd, .name = -1,
			     .access = slot->access };
	struct twheel_drain_args drain = {};
	struct twheel_query_args query = {};
	__u64 ended;
	long got;

	t->step = &t->now.steps[0];
	fcntl(slot->fd, F_SETFL, O_NONBLOCK);
	if (ioctl(slot->fd, TWHEEL_IOC_DRAIN, &drain))
		return;
	do {
		got = read_events(t, &view, t->memory.out, t->memory.out_size,
				  PLACE_PLAIN);
	} while (got && got != -EAGAIN);
	if (ioctl(slot->fd, TWHEEL_IOC_QUERY, &query)) {
		failed(NULL, "a drained file can't be queried");
		return;
	}
	ended = query.completed + query.expired + query.cancelled;
	if (query.pending || query.own || query.unread || query.keys || query.watches ||
	    query.added != ended)
		failed(NULL, "drained: %llu pending, %llu unread, %llu watches, %llu of %llu ended",
		       query.pending, query.unread, query.watches, ended, query.added);
	if (!slot->unsure && !child->forked && slot->finals != ended)
		failed(NULL, "%llu ended, and %lu last events were read", ended, slot->finals);
}

static bool may_settle(const struct slot *slot)
{
	return slot->fd >= 0 && slot->name < 0 && slot->access == O_RDWR && !slot->unsure &&
	       !child->forked;
}

/* All that one child does. @nr is its number among its worker's. */
void run_child(unsigned int worker, unsigned int nr)
{
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child = calloc(1, sizeof(*child));
	if (!child)
		_exit(2);
	child->worker = worker;
	child->nr = nr;
	set_signals();
	for (i = 0; i < NR_SLOTS; i++) {
		child->slots[i].fd = -1;
		child->slots[i].name = -1;
		child->slots[i].unsure = true;
	}
	for (i = 0; i < NR_THREADS; i++)
		init_thread(&child->threads[i], i);
	drop_privileges();
	for (i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&child->threads[i].self, NULL, run_thread, &child->threads[i]))
			_exit(2);
	}
	disturb();
	child->settling = true;
	open_fail_nth(&child->threads[0]);
	for (i = 0; i < NR_SLOTS; i++) {
		if (may_settle(&child->slots[i]))
			settle(&child->threads[0], &child->slots[i]);
	}
	_exit(0);
}
