/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of bad input: good arguments for every ioctl, of which a test
 * spoils one, and a fixture that sees that a refused call changed nothing.
 * Each test finds two pending operations and one unread event; the teardown
 * finds them again, untouched, and no purgatory more than there was.
 */
#ifndef _TWHEEL_REFUSED_H
#define _TWHEEL_REFUSED_H

#include "named.h"

/* What TWHEEL_IOC_CREATE makes, and TWHEEL_IOC_REMOVE ends. */
#define NEW_NAME	"new"
#define OLD_NAME	"old"

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

	EXPECT_FALSE(node_exists(NEW_NAME));
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
	struct twheel_pending entry[2];
	struct twheel_command command[2];
	struct twheel_result result[2];
	struct twheel_add_args add;
	struct twheel_cancel_args cancel;
	struct twheel_complete_args complete;
	struct twheel_rearm_args rearm;
	struct twheel_watch_args watch;
	struct twheel_unwatch_args unwatch;
	struct twheel_signal_args signal;
	struct twheel_cancel_key_args cancel_key;
	struct twheel_batch_args batch;
	struct twheel_complete_all_args complete_all;
	struct twheel_drain_args drain;
	struct twheel_detached_args detached;
	struct twheel_info_args info;
	struct twheel_list_args list;
	struct twheel_query_args query;
	struct twheel_create_args create;
	struct twheel_remove_args remove;
};

static inline void good_op_args(struct good *good, __u64 id)
{
	good->add.condition = TWHEEL_COND_ALL;
	good->add.nr_keys = 2;
	good->add.deadline = HOUR;
	good->add.keys = address(good->spec);
	good->add.id = POISON;
	good->cancel.id = id;
	good->complete.id = id;
	good->rearm.id = id;
	good->rearm.deadline = HOUR;
	good->rearm.moved = (__u32)POISON;
	good->watch.id = id;
	good->watch.nr_keys = 2;
	good->watch.keys = address(good->spec);
	good->unwatch.id = id;
	good->unwatch.key = key_of(1);
	good->signal.key = key_of(1);
	good->signal.completed = (__u32)POISON;
	good->cancel_key.key = key_of(1);
	good->cancel_key.cancelled = (__u32)POISON;
	good->info.id = id;
	good->info.keys = address(good->spec);
	good->info.room = 2;
}

/* @id is that of an operation which watches the keys 1 and 2. */
static inline void good_args(struct good *good, __u64 id)
{
	unsigned int i;

	memset(good, 0, sizeof(*good));
	good->spec[0] = spec_of(11, 1);
	good->spec[1] = spec_of(12, 1);
	good_op_args(good, id);
	for (i = 0; i < 2; i++) {
		good->command[i].call = TWHEEL_CALL_SIGNAL;
		good->command[i].signal.key = key_of(11);
	}
	good->batch.commands = address(good->command);
	good->batch.results = address(good->result);
	good->batch.nr = 2;
	good->list.entries = address(good->entry);
	good->list.room = 2;
	good->create = create_args(NEW_NAME, 0600);
	good->remove = remove_args(OLD_NAME, 0);
}

/*
 * A call, its good arguments, and where among them the flags are, which of these it
 * knows, and a reserved field if it has any.
 */
struct one_call {
	unsigned int request;
	void *args;
	__u32 *flags;
	__u32 known;
	__u32 *reserved;
};

#define NR_CALLS	17

/* The call in the place @nr of the header. */
static inline struct one_call nth_call(struct good *g, unsigned int nr)
{
	struct one_call calls[NR_CALLS] = {
		{ TWHEEL_IOC_ADD, &g->add, &g->add.flags, 0xf, &g->add.reserved },
		{ TWHEEL_IOC_CANCEL, &g->cancel, &g->cancel.flags, 0, &g->cancel.reserved },
		{ TWHEEL_IOC_COMPLETE, &g->complete, &g->complete.flags, 0, NULL },
		{ TWHEEL_IOC_REARM, &g->rearm, &g->rearm.flags, 1, &g->rearm.reserved },
		{ TWHEEL_IOC_WATCH, &g->watch, &g->watch.flags, 0, NULL },
		{ TWHEEL_IOC_UNWATCH, &g->unwatch, &g->unwatch.flags, 0,
		  &g->unwatch.reserved },
		{ TWHEEL_IOC_SIGNAL, &g->signal, &g->signal.flags, 0, &g->signal.reserved },
		{ TWHEEL_IOC_CANCEL_KEY, &g->cancel_key, &g->cancel_key.flags, 0, NULL },
		{ TWHEEL_IOC_BATCH, &g->batch, &g->batch.flags, 1, NULL },
		{ TWHEEL_IOC_COMPLETE_ALL, &g->complete_all, &g->complete_all.flags, 1,
		  &g->complete_all.reserved },
		{ TWHEEL_IOC_DRAIN, &g->drain, &g->drain.flags, 0, NULL },
		{ TWHEEL_IOC_DETACHED, &g->detached, &g->detached.flags, 0,
		  &g->detached.reserved },
		{ TWHEEL_IOC_INFO, &g->info, &g->info.flags, 0, NULL },
		{ TWHEEL_IOC_LIST, &g->list, &g->list.flags, 1, &g->list.reserved },
		{ TWHEEL_IOC_QUERY, &g->query, &g->query.flags, 0, NULL },
		{ TWHEEL_IOC_CREATE, &g->create, &g->create.flags, 0, NULL },
		{ TWHEEL_IOC_REMOVE, &g->remove, &g->remove.flags, 1, NULL },
	};

	return calls[nr];
}

/* Whether a call is made on a node that has a name, since it has no use on another. */
static inline bool wants_a_name(const struct one_call *one)
{
	return one->request == TWHEEL_IOC_DETACHED;
}

/* Whether a call only looks. */
static inline bool only_looks(const struct one_call *one)
{
	return one->request == TWHEEL_IOC_INFO || one->request == TWHEEL_IOC_LIST ||
	       one->request == TWHEEL_IOC_QUERY;
}

/* Whether a call is about named purgatories, and made on /dev/twheel only. */
static inline bool makes_names(const struct one_call *one)
{
	return one->request == TWHEEL_IOC_CREATE || one->request == TWHEEL_IOC_REMOVE;
}

#endif /* _TWHEEL_REFUSED_H */
