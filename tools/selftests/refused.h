/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of bad input: valid arguments for every ioctl of <twheel_calls.h>, of which a
 * test corrupts one, and a fixture that checks that a refused call has no effect. Each test
 * starts with three pending operations and one unread event; the teardown checks that they are
 * unchanged, and that no purgatory was created.
 */
#ifndef _TWHEEL_REFUSED_H
#define _TWHEEL_REFUSED_H

#include <twheel_calls.h>
#include "named.h"

/* Created by TWHEEL_IOC_CREATE, removed by TWHEEL_IOC_REMOVE. */
#define NEW_NAME	"new"
#define OLD_NAME	"old"

/* Valid arguments for each call, for example add_args; a test corrupts one of them. */
struct good {
	TWHEEL_ARGS
	struct twheel_watch_spec spec[2];
	struct twheel_pending entry[2];
	__u64 space[256];	/* commands of a batch */
	struct twheel_result result[2];
};

static inline void good_op_args(struct good *good, __u64 id)
{
	good->add_args.condition = TWHEEL_COND_ALL;
	good->add_args.nr_keys = 2;
	good->add_args.key_size = sizeof(good->spec[0]);
	good->add_args.keys = address(good->spec);
	good->add_args.deadline = HOUR;
	good->cancel_args.id = id;
	good->confirm_args.id = id;
	good->complete_args.id = id;
	good->rearm_args.id = id;
	good->rearm_args.deadline = HOUR;
	good->watch_args.id = id;
	good->watch_args.nr_keys = 2;
	good->watch_args.key_size = sizeof(good->spec[0]);
	good->watch_args.keys = address(good->spec);
	good->unwatch_args.id = id;
	good->unwatch_args.key = key_of(1);
	good->exchange_args.id = id;
	good->signal_args.key = key_of(1);
	good->cancel_key_args.key = key_of(1);
	good->info_args.id = id;
	good->info_args.entry = address(good->entry);
	good->info_args.entry_size = sizeof(good->entry[0]);
	good->info_args.keys = address(good->spec);
	good->info_args.max_keys = 2;
	good->info_args.key_size = sizeof(good->spec[0]);
}

/* @id is an operation that watches the keys 1 and 2. */
static inline void good_args(struct good *good, __u64 id)
{
	struct twheel_signal_args *signal;

	memset(good, 0, sizeof(*good));
	good->spec[0] = spec_of(11, 1);
	good->spec[1] = spec_of(12, 1);
	good_op_args(good, id);
	good->batch_args.commands = address(good->space);
	while (good->batch_args.nr < 2) {
		signal = put_command(&good->batch_args, TWHEEL_IOC_SIGNAL);
		signal->key = key_of(11);
	}
	good->batch_args.results = address(good->result);
	good->batch_args.result_size = sizeof(good->result[0]);
	good->list_args.entries = address(good->entry);
	good->list_args.max_entries = 2;
	good->list_args.entry_size = sizeof(good->entry[0]);
	good->create_args = create_args(NEW_NAME, 0600);
	good->remove_args = remove_args(OLD_NAME, 0);
}

/* The call after @one, the first one for NULL. Return: NULL after the last one. */
static inline const struct twheel_call_row *next_call(const struct twheel_call_row *one)
{
	const struct twheel_call_row *end = twheel_calls + ARRAY_SIZE(twheel_calls);

	for (one = one ? one + 1 : twheel_calls; one < end; one++)
		if (one->name)
			return one;
	return NULL;
}

#define for_each_call(one) \
	for ((one) = next_call(NULL); (one); (one) = next_call(one))

/* The arguments of a call. */
static inline void *args_of(struct good *good, const struct twheel_call_row *one)
{
#define OFFSET(name)	offsetof(struct good, name##_args)
	static const size_t offsets[] = { TWHEEL_CALLS(OFFSET) };

	return (char *)good + offsets[_IOC_NR(one->request)];
}

/*
 * The errno of a call with good arguments. Their operation has no cell; twheel_cell_test exchanges
 * the words of those that have one.
 */
static inline int good_errno(const struct twheel_call_row *one)
{
	return one->request == TWHEEL_IOC_EXCHANGE ? EOPNOTSUPP : 0;
}

/*
 * Make a call as a command of a batch, with a structure of @size bytes, of which unknown ones are
 * not zero, before a command that fails with ENOENT. Return: the errno of the command.
 */
static inline int call_in_a_batch(int fd, const struct twheel_call_row *one, struct good *good,
				  unsigned int size)
{
	unsigned int known = _IOC_SIZE(one->request);
	char *args;

	good->batch_args.nr = 0;
	good->batch_args.size = 0;
	args = put_command(&good->batch_args, resized(one->request, size));
	memcpy(args, args_of(good, one), size < known ? size : known);
	if (size > known)
		args[size - 1] = 1;
	put_command(&good->batch_args, TWHEEL_IOC_CANCEL);
	return call(fd, TWHEEL_IOC_BATCH, &good->batch_args) ?:
	       good->result[1].error != -ENOENT ? -1 : -good->result[0].error;
}

/* The types of nodes. */
enum node {
	PRIVATE,
	NAMED,
	CONTROL,
	QUEUE,
	NR_NODES,
};

/* The node on which a test makes the call. */
static inline enum node node_of(const struct twheel_call_row *one)
{
	if (one->control)
		return CONTROL;
	if (one->events)
		return QUEUE;
	return one->request == TWHEEL_IOC_EVENTS || one->request == TWHEEL_IOC_QUEUE ? NAMED :
										       PRIVATE;
}

/* Return: a descriptor that keeps the event of operation *@id until this is confirmed. */
static inline int open_keeping(__u64 *id)
{
	struct twheel_add_args args = { .flags = TWHEEL_ADD_DETACHED, .deadline = HOUR };
	int fd = twheel_open_named(OLD_NAME, 0);
	struct twheel_event event = { 0 };
	int queue = open_events(fd, TWHEEL_EVENTS_CONFIRM | O_NONBLOCK);

	if (!op_add(fd, &args) && !op_cancel(fd, args.id))
		read_events(queue, &event, 1);
	close(fd);
	*id = event.id;
	return queue;
}

/**
 * struct one_array - an array argument of a call
 * @call: the call
 * @entries: field with the address of the array
 * @nr: field with the number of entries, or NULL if another array has it, or for one entry
 * @size: field with the size of an entry
 * @first: size of an entry in the first version
 * @input: the call reads the array, and otherwise writes it
 */
struct one_array {
	const struct twheel_call_row *call;
	__u64 *entries;
	__u32 *nr;
	__u32 *size;
	__u32 first;
	bool input;
};

#define NR_ARRAYS	6

static inline struct one_array nth_array(struct good *g, unsigned int nr)
{
	struct one_array arrays[NR_ARRAYS] = {
		{ &twheel_calls[TWHEEL_CALL_ADD], &g->add_args.keys, &g->add_args.nr_keys,
		  &g->add_args.key_size, 24, true },
		{ &twheel_calls[TWHEEL_CALL_WATCH], &g->watch_args.keys, &g->watch_args.nr_keys,
		  &g->watch_args.key_size, 24, true },
		{ &twheel_calls[TWHEEL_CALL_BATCH], &g->batch_args.results, NULL,
		  &g->batch_args.result_size, 16, false },
		{ &twheel_calls[TWHEEL_CALL_INFO], &g->info_args.entry, NULL,
		  &g->info_args.entry_size, 128, false },
		{ &twheel_calls[TWHEEL_CALL_INFO], &g->info_args.keys, &g->info_args.max_keys,
		  &g->info_args.key_size, 24, false },
		{ &twheel_calls[TWHEEL_CALL_LIST], &g->list_args.entries, &g->list_args.max_entries,
		  &g->list_args.entry_size, 128, false },
	};

	return arrays[nr];
}

FIXTURE(refused) {
	int fd;
	int nodes[NR_NODES];	/* nodes[PRIVATE] is fd */
	__u64 plain;		/* pending, watches nothing */
	__u64 watching;		/* pending, watches all of the keys 1 and 2 */
	__u64 periodic;		/* pending */
	__u64 ended;		/* cancelled, its event not read */
	__u64 kept;		/* cancelled, its event kept by nodes[QUEUE] */
	struct twheel_query_args before;
};

FIXTURE_SETUP(refused)
{
	struct twheel_add_args periodic = { .deadline = HOUR, .period = HOUR };

	remove_all_named();
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, create_named(OLD_NAME, 0600));
	self->nodes[PRIVATE] = self->fd;
	self->nodes[NAMED] = twheel_open_named(OLD_NAME, O_NONBLOCK);
	self->nodes[CONTROL] = twheel_open_control();
	ASSERT_LE(0, self->nodes[NAMED]);
	ASSERT_LE(0, self->nodes[CONTROL]);
	self->nodes[QUEUE] = open_keeping(&self->kept);
	ASSERT_NE(0, self->kept);
	self->plain = add_deadline(self->fd, HOUR, 0, 0);
	self->watching = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);
	ASSERT_EQ(0, op_add(self->fd, &periodic));
	self->periodic = periodic.id;
	self->ended = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_EQ(0, op_cancel(self->fd, self->ended));
	self->before = query(self->fd);
	ASSERT_EQ(3, self->before.pending);
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
	EXPECT_EQ(0, op_cancel(self->fd, self->periodic));
	EXPECT_EVENT(self->fd, self->periodic, TWHEEL_REASON_CANCELLED, 0);
	close(self->fd);
	close(self->nodes[NAMED]);
	close(self->nodes[CONTROL]);
	EXPECT_EQ(0, op_confirm(self->nodes[QUEUE], self->kept));
	close(self->nodes[QUEUE]);
	remove_all_named();
}

/* Make a call on its node. */
#define call_on_its_node(one, args)					\
	call(self->nodes[node_of(one)], (one)->request, args)

#endif /* _TWHEEL_REFUSED_H */
