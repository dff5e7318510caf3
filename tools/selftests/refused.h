/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of bad input: valid arguments for every ioctl, of which a test corrupts
 * one, and a fixture that checks that a refused call has no effect.  Each test starts
 * with two pending operations and one unread event; the teardown checks that they are
 * unchanged, and that no purgatory was created.
 */
#ifndef _TWHEEL_REFUSED_H
#define _TWHEEL_REFUSED_H

#include "named.h"

/* Created by TWHEEL_IOC_CREATE, removed by TWHEEL_IOC_REMOVE. */
#define NEW_NAME	"new"
#define OLD_NAME	"old"

/* Valid arguments for each call; a test corrupts one of them. */
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
	struct twheel_events_args events;
	struct twheel_restrict_args confine;
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
	good->add.key_size = sizeof(good->spec[0]);
	good->add.keys = address(good->spec);
	good->add.deadline = HOUR;
	good->cancel.id = id;
	good->complete.id = id;
	good->rearm.id = id;
	good->rearm.deadline = HOUR;
	good->watch.id = id;
	good->watch.nr_keys = 2;
	good->watch.key_size = sizeof(good->spec[0]);
	good->watch.keys = address(good->spec);
	good->unwatch.id = id;
	good->unwatch.key = key_of(1);
	good->signal.key = key_of(1);
	good->cancel_key.key = key_of(1);
	good->info.id = id;
	good->info.entry = address(good->entry);
	good->info.entry_size = sizeof(good->entry[0]);
	good->info.keys = address(good->spec);
	good->info.max_keys = 2;
	good->info.key_size = sizeof(good->spec[0]);
}

/* @id is an operation that watches the keys 1 and 2. */
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
	good->batch.command_size = sizeof(good->command[0]);
	good->batch.results = address(good->result);
	good->batch.result_size = sizeof(good->result[0]);
	good->batch.nr = 2;
	good->list.entries = address(good->entry);
	good->list.max_entries = 2;
	good->list.entry_size = sizeof(good->entry[0]);
	good->create = create_args(NEW_NAME, 0600);
	good->remove = remove_args(OLD_NAME, 0);
}

/* The types of nodes. */
enum node {
	PRIVATE,
	NAMED,
	CONTROL,
	NR_NODES,
};

/* A range of bytes in a structure. */
struct bytes {
	char *at;
	size_t size;
};

static inline struct bytes bytes_between(void *from, void *to)
{
	return (struct bytes) { from, (char *)to - (char *)from };
}

/**
 * struct one_call - a call and its valid arguments
 * @request: ioctl number
 * @node: node that the call is made on
 * @args: structure of the call
 * @flags: flags field of the structure
 * @known: valid flags
 * @reserved: a reserved field, or NULL
 * @out: output fields
 */
struct one_call {
	unsigned int request;
	enum node node;
	void *args;
	__u32 *flags;
	__u32 known;
	__u32 *reserved;
	struct bytes out;
};

#define NR_CALLS	18

#define CALL(NAME, member, where, valid, reserve, output)			\
	{									\
		.request = TWHEEL_IOC_##NAME, .node = where,			\
		.args = &(member), .flags = &(member).flags, .known = valid,	\
		.reserved = reserve, .out = output,				\
	}

/* The output fields from @from to @to. */
#define OUT(from, to)		bytes_between(&(from), &(to) + 1)
#define NO_OUT			bytes_between(NULL, NULL)
#define SAME_OUT(field)		OUT(field, field)

/* The call with index @nr, in the order of the header. */
static inline struct one_call nth_call(struct good *g, unsigned int nr)
{
	struct one_call calls[NR_CALLS] = {
		CALL(ADD, g->add, PRIVATE, 0xf, &g->add.reserved, SAME_OUT(g->add.id)),
		CALL(CANCEL, g->cancel, PRIVATE, 0, &g->cancel.reserved, NO_OUT),
		CALL(COMPLETE, g->complete, PRIVATE, 0, NULL, NO_OUT),
		CALL(REARM, g->rearm, PRIVATE, 7, NULL, SAME_OUT(g->rearm.moved)),
		CALL(WATCH, g->watch, PRIVATE, 0, &g->watch.reserved, NO_OUT),
		CALL(UNWATCH, g->unwatch, PRIVATE, 0, &g->unwatch.reserved, NO_OUT),
		CALL(SIGNAL, g->signal, PRIVATE, 0, &g->signal.reserved,
		     SAME_OUT(g->signal.completed)),
		CALL(CANCEL_KEY, g->cancel_key, PRIVATE, 0, NULL,
		     SAME_OUT(g->cancel_key.cancelled)),
		CALL(BATCH, g->batch, PRIVATE, 1, NULL, OUT(g->batch.done, g->batch.failed)),
		CALL(COMPLETE_ALL, g->complete_all, PRIVATE, 1, &g->complete_all.reserved,
		     SAME_OUT(g->complete_all.completed)),
		CALL(DRAIN, g->drain, PRIVATE, 0, NULL, SAME_OUT(g->drain.cancelled)),
		CALL(EVENTS, g->events, NAMED, 1, NULL, NO_OUT),
		CALL(RESTRICT, g->confine, PRIVATE, 0, NULL, NO_OUT),
		CALL(INFO, g->info, PRIVATE, 0, NULL, NO_OUT),
		CALL(LIST, g->list, PRIVATE, 1, NULL, SAME_OUT(g->list.nr)),
		CALL(QUERY, g->query, PRIVATE, 0, NULL, OUT(g->query.max_pending, g->query.name)),
		CALL(CREATE, g->create, CONTROL, 0, NULL,
		     OUT(g->create.major, g->create.minor)),
		CALL(REMOVE, g->remove, CONTROL, 1, NULL, SAME_OUT(g->remove.cancelled)),
	};

	return calls[nr];
}

/* Return: true if the call does not need a file that is open for writing. */
static inline bool only_reads(const struct one_call *one)
{
	return one->request == TWHEEL_IOC_RESTRICT || one->request == TWHEEL_IOC_INFO ||
	       one->request == TWHEEL_IOC_LIST || one->request == TWHEEL_IOC_QUERY;
}

/**
 * struct one_array - an array argument of a call
 * @call: the call
 * @entries: field with the address of the array
 * @nr: field with the number of entries, or NULL if another array has it, or for one entry
 * @size: field with the size of an entry
 * @first: size of an entry in the first version
 * @input: the call reads the array
 * @output: the call writes the array
 */
struct one_array {
	struct one_call call;
	__u64 *entries;
	__u32 *nr;
	__u32 *size;
	__u32 first;
	bool input;
	bool output;
};

#define NR_ARRAYS	7

/* Indexes for nth_call() of the calls that take arrays. */
#define PLACE_ADD	0
#define PLACE_WATCH	4
#define PLACE_BATCH	8
#define PLACE_INFO	13
#define PLACE_LIST	14

static inline struct one_array nth_array(struct good *g, unsigned int nr)
{
	struct one_array arrays[NR_ARRAYS] = {
		{ nth_call(g, PLACE_ADD), &g->add.keys, &g->add.nr_keys,
		  &g->add.key_size, 24, true, false },
		{ nth_call(g, PLACE_WATCH), &g->watch.keys, &g->watch.nr_keys,
		  &g->watch.key_size, 24, true, false },
		{ nth_call(g, PLACE_BATCH), &g->batch.commands, &g->batch.nr,
		  &g->batch.command_size, 128, true, false },
		{ nth_call(g, PLACE_BATCH), &g->batch.results, NULL,
		  &g->batch.result_size, 16, false, true },
		{ nth_call(g, PLACE_INFO), &g->info.entry, NULL,
		  &g->info.entry_size, 128, false, true },
		{ nth_call(g, PLACE_INFO), &g->info.keys, &g->info.max_keys,
		  &g->info.key_size, 24, false, true },
		{ nth_call(g, PLACE_LIST), &g->list.entries, &g->list.max_entries,
		  &g->list.entry_size, 128, false, true },
	};

	return arrays[nr];
}

FIXTURE(refused) {
	int fd;
	int nodes[NR_NODES];	/* nodes[PRIVATE] is fd */
	__u64 plain;		/* pending, watches nothing */
	__u64 watching;		/* pending, watches all of the keys 1 and 2 */
	__u64 ended;		/* cancelled, its event not read */
	struct twheel_query_args before;
};

FIXTURE_SETUP(refused)
{
	remove_all_named();
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, create_named(OLD_NAME, 0600));
	self->nodes[PRIVATE] = self->fd;
	self->nodes[NAMED] = twheel_open_named(OLD_NAME, O_NONBLOCK);
	self->nodes[CONTROL] = twheel_open_control();
	ASSERT_LE(0, self->nodes[NAMED]);
	ASSERT_LE(0, self->nodes[CONTROL]);
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

	/* Other programs of this user may change these. */
	after.wakeups = self->before.wakeups;
	after.user_ops = self->before.user_ops;
	after.user_files = self->before.user_files;
	EXPECT_EQ(0, memcmp(&self->before, &after, sizeof(after)));

	EXPECT_FALSE(node_exists(NEW_NAME));
	EXPECT_EVENT(self->fd, self->ended, TWHEEL_REASON_CANCELLED, 0);
	/* The tests signal key 1: if a signal had been counted, key 2 would complete it. */
	EXPECT_EQ(0, key_signal(self->fd, 2, 2));
	EXPECT_EQ(1, key_signal(self->fd, 1, 1));
	EXPECT_EVENT(self->fd, self->watching, TWHEEL_REASON_COMPLETED, 1);
	EXPECT_EQ(0, op_complete(self->fd, self->plain, 3));
	EXPECT_EVENT(self->fd, self->plain, TWHEEL_REASON_COMPLETED, 3);
	close(self->fd);
	close(self->nodes[NAMED]);
	close(self->nodes[CONTROL]);
	remove_all_named();
}

/* Make a call on its node. */
#define call_on_its_node(one, args)					\
	call(self->nodes[(one).node], (one).request, args)

#endif /* _TWHEEL_REFUSED_H */
