/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of bad input: good arguments for every ioctl, of which a test
 * spoils one, and a fixture that sees that a refused call changed nothing.
 * Each test finds two pending operations and one unread event; the teardown
 * finds them again, untouched.
 */
#ifndef _TWHEEL_REFUSED_H
#define _TWHEEL_REFUSED_H

#include "selftest.h"

FIXTURE(refused) {
	int fd;
	__u64 plain;		/* pending, watches nothing */
	__u64 watching;		/* pending, watches all of the keys 1 and 2 */
	__u64 ended;		/* cancelled, its event not read */
	struct twheel_query_args before;
};

FIXTURE_SETUP(refused)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->plain = add_deadline(self->fd, HOUR, 0, 0);
	self->watching = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);
	self->ended = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_EQ(0, op_cancel(self->fd, self->ended));
	self->before = query(self->fd);
	ASSERT_EQ(2, self->before.pending);
	ASSERT_EQ(1, self->before.unread);
}

FIXTURE_TEARDOWN(refused)
{
	struct twheel_query_args after = query(self->fd);

	/* The wheel has other users, who may wake its reaper. */
	after.wakeups = self->before.wakeups;
	EXPECT_EQ(0, memcmp(&self->before, &after, sizeof(after)));

	EXPECT_EVENT(self->fd, self->ended, TWHEEL_CANCELLED, 0);
	/* The tests signal key 1: had one of them counted, key 2 would do. */
	EXPECT_EQ(0, key_signal(self->fd, 2, 2));
	EXPECT_EQ(1, key_signal(self->fd, 1, 1));
	EXPECT_EVENT(self->fd, self->watching, TWHEEL_COMPLETED, 1);
	EXPECT_EQ(0, op_complete(self->fd, self->plain, 3));
	EXPECT_EVENT(self->fd, self->plain, TWHEEL_COMPLETED, 3);
	close(self->fd);
}

/* Good arguments for each call, for a test to spoil one of them. */
struct good {
	struct twheel_watch_spec spec[2];
	struct twheel_add_args add;
	struct twheel_cancel_args cancel;
	struct twheel_watch_args watch;
	struct twheel_signal_args signal;
	struct twheel_complete_args complete;
	struct twheel_query_args query;
};

static inline void good_args(struct good *good, __u64 id)
{
	memset(good, 0, sizeof(*good));
	good->spec[0] = spec_of(11, 1);
	good->spec[1] = spec_of(12, 1);
	good->add.condition = TWHEEL_COND_ALL;
	good->add.nr_keys = 2;
	good->add.deadline = HOUR;
	good->add.keys = (__u64)(unsigned long)good->spec;
	good->add.id = POISON;
	good->cancel.id = id;
	good->watch.id = id;
	good->watch.nr_keys = 2;
	good->watch.keys = good->add.keys;
	good->signal.key = key_of(1);
	good->signal.completed = (__u32)POISON;
	good->complete.id = id;
}

struct one_call {
	unsigned int request;
	void *args;
};

#define NR_CALLS	6

/* The call with the number @nr and its good arguments. */
static inline struct one_call nth_call(struct good *good, unsigned int nr)
{
	struct one_call calls[NR_CALLS] = {
		{ TWHEEL_IOC_ADD, &good->add },
		{ TWHEEL_IOC_CANCEL, &good->cancel },
		{ TWHEEL_IOC_WATCH, &good->watch },
		{ TWHEEL_IOC_SIGNAL, &good->signal },
		{ TWHEEL_IOC_COMPLETE, &good->complete },
		{ TWHEEL_IOC_QUERY, &good->query },
	};

	return calls[nr];
}

#endif /* _TWHEEL_REFUSED_H */
