// SPDX-License-Identifier: GPL-2.0
/*
 * A child: threads of two users that run sequences on shared files, until its time is over
 * or its worker kills it.
 *
 * The main thread continuously sends signals, which interrupt blocking calls. A child that
 * is not killed checks its own files at the end, when no thread changes them: all operations
 * must have ended, and their events must have been read once.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#define TICK_USEC	100000

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

/*
 * The library function would change the user of the whole process. Threads alternate between
 * two users; in one child out of four, both are unprivileged, and in another one each thread has an
 * ID of its own.
 */
static void change_user(const struct thread *t)
{
	bool odd = t->index % 2;
	unsigned int user = child->nr % 4 == 3 ? (odd ? OTHER_USER : USER) : (odd ? USER : 0);

	if (child->nr % 4 == 1)
		user = OTHER_USER + 1 + child->nr * NR_THREADS + t->index;
	if (!user)
		return;
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, user, user, user) ||
	    syscall(SYS_setresuid, user, user, user))
		_exit(2);
	prctl(PR_SET_DUMPABLE, 1);
}

static void *run_thread(void *data)
{
	struct thread *t = data;

	open_fail_nth(t);
	cover_start(&t->cover);
	change_user(t);
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

static bool all_done(void)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (!__atomic_load_n(&child->threads[i].done, __ATOMIC_SEQ_CST))
			return false;
	}
	return true;
}

/* Let the threads run for their time, and send signals to them. */
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

/* Main function of a child. @nr is its index among the children of its worker. */
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
	init_slots();
	for (i = 0; i < NR_THREADS; i++)
		init_thread(&child->threads[i], i);
	for (i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&child->threads[i].self, NULL, run_thread, &child->threads[i]))
			_exit(2);
	}
	disturb();
	child->settling = true;
	open_fail_nth(&child->threads[0]);
	for (i = 0; i < NR_SLOTS; i++)
		settle(&child->threads[0], &child->slots[i]);
	_exit(0);
}
