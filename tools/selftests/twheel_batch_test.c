// SPDX-License-Identifier: GPL-2.0
/*
 * Batches: commands are executed in order, have a result each, and have the effect of
 * single calls. A failed command does not affect the others, unless the batch stops at
 * it. A command or result that cannot be accessed ends the batch.
 */
#include <twheel_calls.h>
#include "selftest.h"

#define MOST	TWHEEL_MAX_BATCH

FIXTURE(batch) {
	int fd;
	struct twheel_batch_args args;
	char *commands;
	struct twheel_result *results;
};

FIXTURE_SETUP(batch)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->commands = malloc(MOST * TWHEEL_COMMAND_SIZE(TWHEEL_IOC_ADD));
	self->results = malloc(MOST * sizeof(*self->results));
	ASSERT_TRUE(self->commands && self->results);
	memset(self->results, 0xa5, MOST * sizeof(*self->results));
	self->args = (struct twheel_batch_args) {
		.commands = address(self->commands),
		.results = address(self->results),
		.result_size = sizeof(struct twheel_result),
	};
}

FIXTURE_TEARDOWN(batch)
{
	free(self->commands);
	free(self->results);
	close(self->fd);
}

static void put_add(struct twheel_batch_args *args, const struct twheel_watch_spec *spec)
{
	struct twheel_add_args *add = put_command(args, TWHEEL_IOC_ADD);

	add->deadline = HOUR;
	if (spec) {
		add->condition = TWHEEL_COND_ANY;
		add->nr_keys = 1;
		add->key_size = sizeof(struct twheel_watch_spec);
		add->keys = address(spec);
	}
}

static void put_signal(struct twheel_batch_args *args, __u64 name, __u64 value)
{
	struct twheel_signal_args *signal = put_command(args, TWHEEL_IOC_SIGNAL);

	signal->key = key_of(name);
	signal->value = value;
}

static void put_cancel(struct twheel_batch_args *args, __u64 id)
{
	struct twheel_cancel_args *cancel = put_command(args, TWHEEL_IOC_CANCEL);

	cancel->id = id;
}

static void clear(struct twheel_batch_args *args)
{
	args->nr = 0;
	args->size = 0;
}

static int submit(int fd, struct twheel_batch_args *args)
{
	args->done = 0;
	args->failed = 0;
	return call(fd, TWHEEL_IOC_BATCH, args);
}

#define EXPECT_RESULT(nr, _value, _error)				\
do {									\
	EXPECT_EQ(_value, self->results[nr].value);			\
	EXPECT_EQ(_error, self->results[nr].error);			\
	EXPECT_EQ(0, self->results[nr].reserved);			\
} while (0)

#define EXPECT_UNTOUCHED(nr)						\
	EXPECT_EQ(POISON, self->results[nr].value)

TEST_F(batch, commands_are_executed_in_order)
{
	struct twheel_watch_spec spec = spec_of(1, 1);

	put_signal(&self->args, 1, 1);
	put_add(&self->args, &spec);
	put_add(&self->args, &spec);
	put_signal(&self->args, 1, 2);
	put_signal(&self->args, 1, 3);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(5, self->args.done);
	EXPECT_EQ(0, self->args.failed);
	EXPECT_RESULT(0, 0, 0);
	EXPECT_NE(0, self->results[1].value);
	EXPECT_NE(self->results[1].value, self->results[2].value);
	EXPECT_RESULT(3, 2, 0);
	EXPECT_RESULT(4, 0, 0);
	EXPECT_UNTOUCHED(5);
	EXPECT_EVENT(self->fd, self->results[1].value, TWHEEL_REASON_COMPLETED, 2);
	EXPECT_EVENT(self->fd, self->results[2].value, TWHEEL_REASON_COMPLETED, 2);
}

TEST_F(batch, every_call_is_executed)
{
	struct twheel_watch_spec more = spec_of(9, 1);
	struct twheel_cancel_key_args *cancel_key;
	struct twheel_complete_args *complete;
	struct twheel_unwatch_args *unwatch;
	struct twheel_rearm_args *rearm;
	struct twheel_watch_args *watch;
	struct twheel_add_args *add;
	__u64 ids[4];
	int i;

	for (i = 0; i < 4; i++)
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, 2);
	put_cancel(&self->args, ids[0]);
	complete = put_command(&self->args, TWHEEL_IOC_COMPLETE);
	complete->id = ids[1];
	complete->error = -EIO;
	rearm = put_command(&self->args, TWHEEL_IOC_REARM);
	rearm->id = ids[2];
	rearm->deadline = HOUR;
	watch = put_command(&self->args, TWHEEL_IOC_WATCH);
	watch->id = ids[2];
	watch->nr_keys = 1;
	watch->key_size = sizeof(struct twheel_watch_spec);
	watch->keys = address(&more);
	unwatch = put_command(&self->args, TWHEEL_IOC_UNWATCH);
	unwatch->id = ids[2];
	unwatch->key = key_of(1);
	put_signal(&self->args, 1, 11);
	put_signal(&self->args, 9, 99);
	cancel_key = put_command(&self->args, TWHEEL_IOC_CANCEL_KEY);
	cancel_key->key = key_of(2);
	add = put_command(&self->args, TWHEEL_IOC_ADD);
	add->deadline = HOUR;
	/* Output fields are ignored: a batch writes only to its results. */
	rearm->moved = 7;
	cancel_key->cancelled = 7;
	add->id = 7;

	ids[3] = add_keys(self->fd, TWHEEL_COND_ALL, 0, 3);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(9, self->args.done);
	EXPECT_EQ(0, self->args.failed);
	EXPECT_RESULT(0, 0, 0);
	EXPECT_RESULT(1, 0, 0);
	EXPECT_RESULT(2, 1, 0);
	EXPECT_RESULT(3, 0, 0);
	EXPECT_RESULT(4, 0, 0);
	EXPECT_RESULT(5, 1, 0);
	EXPECT_RESULT(6, 1, 0);
	EXPECT_RESULT(7, 1, 0);
	EXPECT_NE(0, self->results[8].value);
	EXPECT_NE(7, self->results[8].value);
	EXPECT_EQ(7, add->id);
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_EQ(5, query(self->fd).unread);
}

TEST_F(batch, failure_does_not_affect_other_commands)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);

	put_add(&self->args, NULL);
	put_cancel(&self->args, id);
	put_cancel(&self->args, id);
	put_cancel(&self->args, ~0ULL);
	put_add(&self->args, NULL);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(5, self->args.done);
	EXPECT_EQ(2, self->args.failed);
	EXPECT_RESULT(1, 0, 0);
	EXPECT_RESULT(2, 0, -ENOENT);
	EXPECT_RESULT(3, 0, -ENOENT);
	EXPECT_EQ(2, query(self->fd).pending);

	/* A batch succeeds even if all its commands fail. */
	clear(&self->args);
	put_cancel(&self->args, ~0ULL);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(1, self->args.failed);
	((struct twheel_command *)self->commands)->reserved = 1;
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_RESULT(0, 0, -EINVAL);
}

TEST_F(batch, batch_stops_at_the_first_failure)
{
	put_add(&self->args, NULL);
	put_cancel(&self->args, ~0ULL);
	put_add(&self->args, NULL);
	self->args.flags = TWHEEL_BATCH_STOP;
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(2, self->args.done);
	EXPECT_EQ(1, self->args.failed);
	EXPECT_RESULT(1, 0, -ENOENT);
	EXPECT_EQ(1, query(self->fd).pending);
}

TEST_F(batch, results_are_optional)
{
	put_add(&self->args, NULL);
	put_cancel(&self->args, ~0ULL);
	self->args.results = 0;
	self->args.result_size = 0;
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(2, self->args.done);
	EXPECT_EQ(1, self->args.failed);
	EXPECT_EQ(1, query(self->fd).pending);
}

TEST_F(batch, largest_batch_is_executed)
{
	struct twheel_event event;
	unsigned int i;

	if (query(self->fd).max_file_pending < MOST)
		SKIP(return, "max_pending is below %d", MOST);
	for (i = 0; i < MOST; i++)
		put_add(&self->args, NULL);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(MOST, self->args.done);
	EXPECT_EQ(MOST, query(self->fd).pending);
	clear(&self->args);
	for (i = 0; i < MOST; i++)
		put_cancel(&self->args, self->results[i].value);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(0, self->args.failed);
	for (i = 0; i < MOST; i++)
		ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(batch, unknown_calls_are_refused)
{
	__u32 cmd, nr;

	for (nr = 0; nr < 256; nr++) {
		cmd = _IOWR(TWHEEL_IOC_MAGIC, nr, struct twheel_signal_args);
		clear(&self->args);
		/* Calls that are not in batches, or do not exist; wrong directions and numbers. */
		if (nr < ARRAY_SIZE(twheel_calls) && twheel_calls[nr].batch)
			put_command(&self->args, cmd ^ _IOR(0, 0, struct twheel_command));
		else
			put_command(&self->args, cmd);
		put_command(&self->args, cmd ^ 1 << 8);
		put_add(&self->args, NULL);
		ASSERT_EQ(0, submit(self->fd, &self->args));
		EXPECT_EQ(3, self->args.done);
		EXPECT_EQ(2, self->args.failed);
		EXPECT_RESULT(0, 0, -ENOTTY);
		EXPECT_RESULT(1, 0, -ENOTTY);
		EXPECT_EQ(0, self->results[2].error);
	}
	EXPECT_EQ(query(self->fd).added, query(self->fd).pending);
}

/* Fields that are missing are zero, and so are those that are not known. */
TEST_F(batch, adds_of_other_versions)
{
	struct twheel_add_args *add;
	unsigned int i, nr = 50;

	for (i = 0; i < nr; i++) {
		add = put_command(&self->args, resized(TWHEEL_IOC_ADD, 32 + i % 20 * 24));
		add->deadline = HOUR;
		add->cookie = i;
	}
	memset(self->commands + self->args.size, 0xff, 128);
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(nr, self->args.done);
	EXPECT_EQ(0, self->args.failed);
	EXPECT_EQ(nr, query(self->fd).own);
}

TEST_F(batch, batch_ends_at_an_unreadable_command)
{
	const unsigned int size = TWHEEL_COMMAND_SIZE(TWHEEL_IOC_ADD);
	unsigned int good;

	for (good = 1; good < 30; good++) {
		__u64 before = query(self->fd).added;

		clear(&self->args);
		self->args.commands = address(cliff() - good * size);
		while (self->args.nr < good)
			put_add(&self->args, NULL);
		self->args.nr = 30;
		self->args.size = 30 * size;
		ASSERT_EQ(0, submit(self->fd, &self->args));
		EXPECT_EQ(good, self->args.done);
		EXPECT_EQ(0, self->args.failed);
		EXPECT_EQ(before + good, query(self->fd).added);
	}
}

/* The last command is not complete. */
TEST_F(batch, batch_ends_at_its_size)
{
	unsigned int nr = 30, all, cut;

	for (all = 0; all < nr; all++)
		put_add(&self->args, NULL);
	all = self->args.size;
	for (cut = 1; cut < all; cut += 13) {
		__u64 before = query(self->fd).added;
		unsigned int good = (all - cut) / (all / nr);

		self->args.size = all - cut;
		EXPECT_EQ(good ? 0 : EINVAL, submit(self->fd, &self->args));
		if (good)
			EXPECT_EQ(good, self->args.done);
		EXPECT_EQ(before + good, query(self->fd).added);
	}
}

/* The commands of its chunk have been executed, but no later ones. */
TEST_F(batch, unwritable_result_ends_the_batch)
{
	struct twheel_result *edge = (void *)cliff();
	unsigned int nr_writable, i;
	__u64 added;

	for (i = 0; i < 30; i++)
		put_add(&self->args, NULL);
	for (nr_writable = 1; nr_writable < 30; nr_writable++) {
		__u64 before = query(self->fd).added;

		self->args.results = address(edge - nr_writable);
		EXPECT_EQ(EFAULT, submit(self->fd, &self->args));
		added = query(self->fd).added - before;
		EXPECT_LT(nr_writable, added);
		EXPECT_GE(nr_writable + 1024 / TWHEEL_COMMAND_SIZE(TWHEEL_IOC_ADD), added);
	}
}

TEST_F(batch, commands_are_only_read)
{
	long page = sysconf(_SC_PAGESIZE);
	char *commands = cliff() - page;

	self->args.commands = address(commands);
	put_add(&self->args, NULL);
	put_signal(&self->args, 1, 1);
	put_command(&self->args, TWHEEL_IOC_REARM);
	put_command(&self->args, TWHEEL_IOC_CANCEL_KEY);
	ASSERT_EQ(0, mprotect(commands, page, PROT_READ));
	ASSERT_EQ(0, submit(self->fd, &self->args));
	EXPECT_EQ(4, self->args.done);
	EXPECT_EQ(1, self->args.failed);
}

TEST_HARNESS_MAIN
