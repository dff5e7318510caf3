// SPDX-License-Identifier: GPL-2.0
/*
 * Extreme values in every field of every structure: a call returns one of its documented
 * errors, and the purgatory keeps working.
 *
 * Structures and arrays are static, so that an address with a corrupted half does not
 * refer to memory of this program.
 */
#include "named.h"

#define NAME	"fields"

/* The errors of a call, in addition to EINVAL and EFAULT. */
struct target {
	const char *name;
	unsigned int request;
	bool control;		/* a call of /dev/twheel-control */
	int errors[6];
};

static const struct target targets[] = {
	{ "add", TWHEEL_IOC_ADD, false, { ENOSPC, ENOBUFS, EDQUOT, ENOMEM, E2BIG } },
	{ "cancel", TWHEEL_IOC_CANCEL, false, { ENOENT, EALREADY } },
	{ "complete", TWHEEL_IOC_COMPLETE, false, { ENOENT, EALREADY } },
	{ "rearm", TWHEEL_IOC_REARM, false, { ENOENT, EALREADY, EOPNOTSUPP } },
	{ "watch", TWHEEL_IOC_WATCH, false, { ENOENT, EALREADY, ENOSPC, ENOMEM, E2BIG } },
	{ "unwatch", TWHEEL_IOC_UNWATCH, false, { ENOENT, EALREADY, ESRCH } },
	{ "signal", TWHEEL_IOC_SIGNAL, false, { 0 } },
	{ "cancel_key", TWHEEL_IOC_CANCEL_KEY, false, { 0 } },
	{ "batch", TWHEEL_IOC_BATCH, false, { E2BIG } },
	{ "complete_all", TWHEEL_IOC_COMPLETE_ALL, false, { 0 } },
	{ "drain", TWHEEL_IOC_DRAIN, false, { 0 } },
	{ "events", TWHEEL_IOC_EVENTS, false, { 0 } },
	{ "restrict", TWHEEL_IOC_RESTRICT, false, { 0 } },
	{ "info", TWHEEL_IOC_INFO, false, { ENOENT, EALREADY, E2BIG } },
	{ "list", TWHEEL_IOC_LIST, false, { E2BIG } },
	{ "query", TWHEEL_IOC_QUERY, false, { 0 } },
	{ "create", TWHEEL_IOC_CREATE, true, { EEXIST, ENOSPC } },
	{ "remove", TWHEEL_IOC_REMOVE, true, { ENOENT, EBUSY } },
};

static union {
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
	struct twheel_events_args events;
	struct twheel_restrict_args confine;
	struct twheel_info_args info;
	struct twheel_list_args list;
	struct twheel_create_args create;
	struct twheel_remove_args remove;
	char bytes[512];
} args;

static struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
static struct twheel_pending entries[64];
static struct twheel_command commands[4];
static struct twheel_result results[4];

/* Set valid arguments of each call. */
static void make_good(unsigned int request, __u64 id)
{
	memset(&args, 0, sizeof(args));
	specs[0] = spec_of(11, 1);
	specs[1] = spec_of(12, 1);
	switch (_IOC_NR(request)) {
	case TWHEEL_CALL_ADD:
		args.add.condition = TWHEEL_COND_ALL;
		args.add.nr_keys = 2;
		args.add.key_size = sizeof(struct twheel_watch_spec);
		args.add.keys = address(specs);
		args.add.deadline = HOUR;
		break;
	case TWHEEL_CALL_WATCH:
		args.watch.id = id;
		args.watch.nr_keys = 2;
		args.watch.key_size = sizeof(struct twheel_watch_spec);
		args.watch.keys = address(specs);
		break;
	case TWHEEL_CALL_UNWATCH:
		args.unwatch.id = id;
		args.unwatch.key = key_of(1);
		break;
	case TWHEEL_CALL_SIGNAL:
		args.signal.key = key_of(1);
		args.signal.amount = 1;
		break;
	case TWHEEL_CALL_CANCEL_KEY:
		args.cancel_key.key = key_of(1);
		break;
	case TWHEEL_CALL_BATCH:
		args.batch.commands = address(commands);
		args.batch.command_size = sizeof(commands[0]);
		args.batch.results = address(results);
		args.batch.result_size = sizeof(results[0]);
		args.batch.nr = ARRAY_SIZE(commands);
		break;
	case TWHEEL_CALL_LIST:
		args.list.entries = address(entries);
		args.list.max_entries = ARRAY_SIZE(entries);
		args.list.entry_size = sizeof(entries[0]);
		break;
	case TWHEEL_CALL_INFO:
		args.info.id = id;
		args.info.entry = address(entries);
		args.info.entry_size = sizeof(entries[0]);
		args.info.keys = address(specs);
		args.info.max_keys = ARRAY_SIZE(specs);
		args.info.key_size = sizeof(specs[0]);
		break;
	case TWHEEL_CALL_CREATE:
		args.create = create_args("made", 0600);
		break;
	case TWHEEL_CALL_REMOVE:
		args.remove = remove_args("made", 0);
		break;
	case TWHEEL_CALL_CANCEL:
	case TWHEEL_CALL_COMPLETE:
	case TWHEEL_CALL_REARM:
		/* The ID is the first field of these structures. */
		args.cancel.id = id;
		break;
	}
}

static bool allowed(const struct target *target, int error)
{
	unsigned int i;

	if (!error || error == EINVAL || error == EFAULT)
		return true;
	for (i = 0; i < ARRAY_SIZE(target->errors); i++)
		if (target->errors[i] == error)
			return true;
	return false;
}

/* Number of values that fit into 32 bits. */
#define NR_SHORT	6

static const __u64 numbers[] = {
	0, 1, 4096, 1ULL << 31, ~0U - 1ULL, ~0U,
	1ULL << 32, 1ULL << 62, 1ULL << 63, (1ULL << 63) - 1, ~0ULL - 1, ~0ULL,
};

FIXTURE(field) {
	int fd;
};

FIXTURE_VARIANT(field) {
	bool batch;
};

FIXTURE_VARIANT_ADD(field, called) {
	.batch = false,
};

FIXTURE_VARIANT_ADD(field, in_a_batch) {
	.batch = true,
};

FIXTURE_SETUP(field)
{
	remove_all_named();
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(field)
{
	remove_all_named();
	close(self->fd);
}

/* Make the call with these args in a batch. Return: its errno. */
static int in_a_batch(int fd, unsigned int request)
{
	struct twheel_batch_args batch = {
		.commands = address(commands),
		.command_size = sizeof(struct twheel_command),
		.results = address(results),
		.result_size = sizeof(struct twheel_result),
		.nr = 1,
	};
	int error;

	memset(commands, 0, sizeof(commands));
	commands[0].call = _IOC_NR(request);
	memcpy(commands[0].pad, &args, _IOC_SIZE(request));
	error = call(fd, TWHEEL_IOC_BATCH, &batch);
	memset(commands, 0, sizeof(commands));
	return error ?: -results[0].error;
}

/* Make a call with @size bytes at @at set to @number. Return: an errno. */
static int spoilt(const struct target *target, bool batch, unsigned int at,
		  unsigned int size, __u64 number)
{
	int fd = target->control ? twheel_open_control() : twheel_open_named(NAME, O_NONBLOCK);
	int error;
	__u64 id;

	if (fd < 0)
		return errno;
	id = target->control ? 0 : add_keys(fd, TWHEEL_COND_QUORUM, 2, 4);
	make_good(target->request, id);
	memcpy(args.bytes + at, &number, size);
	error = batch ? in_a_batch(fd, target->request) : call(fd, target->request, &args);
	if (target->control)
		remove_by_force("made");
	close(fd);
	return error;
}

struct counts {
	unsigned int calls;
	unsigned int accepted;
	unsigned int unexpected;
};

/* Try all values at one offset. */
static void spoil(const struct target *target, bool batch, unsigned int at,
		  unsigned int size, struct counts *counts)
{
	unsigned int i, nr = size == 4 ? NR_SHORT : ARRAY_SIZE(numbers);
	int error;

	for (i = 0; i < nr; i++) {
		error = spoilt(target, batch, at, size, numbers[i]);
		counts->calls++;
		counts->accepted += !error;
		if (allowed(target, error))
			continue;
		counts->unexpected++;
		printf("# %s: 0x%llx in %u bytes at %u: %s\n", target->name, numbers[i],
		       size, at, strerror(error));
	}
}

/* Thousands of calls take long on a debug kernel. */
TEST_F_TIMEOUT(field, extreme_values_are_handled, 240)
{
	const struct target *target;
	struct counts counts = { 0 };
	unsigned int i, at;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		target = &targets[i];
		if (variant->batch && _IOC_NR(target->request) > TWHEEL_CALL_CANCEL_KEY)
			continue;
		for (at = 0; at + 4 <= _IOC_SIZE(target->request); at += 4)
			spoil(target, variant->batch, at, 4, &counts);
		for (at = 0; at + 8 <= _IOC_SIZE(target->request); at += 8)
			spoil(target, variant->batch, at, 8, &counts);
	}
	TH_LOG("%u calls, of which %u were accepted", counts.calls, counts.accepted);
	EXPECT_EQ(0, counts.unexpected);
	EXPECT_NE(0, counts.accepted);
	EXPECT_NE(counts.calls, counts.accepted);

	/* The purgatory still works. */
	EXPECT_EQ(query(self->fd).detached, query(self->fd).pending);
	EXPECT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 1));
	EXPECT_LE(1, key_signal(self->fd, 1, 1));
	EXPECT_TRUE(readable(self->fd, 0));
}

FIXTURE(key) {
	int fd;
};

FIXTURE_SETUP(key)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(key)
{
	close(self->fd);
}

TEST_F(key, extreme_values_are_handled)
{
	struct twheel_add_args add = {
		.condition = TWHEEL_COND_ALL,
		.nr_keys = 2,
		.key_size = sizeof(specs[0]),
		.keys = address(specs),
		.deadline = HOUR,
	};
	unsigned int j, at;
	bool good;
	int error;

	for (at = 0; at + 4 <= 2 * sizeof(specs[0]); at += 4) {
		for (j = 0; j < NR_SHORT; j++) {
			specs[0] = spec_of(11, 1);
			specs[1] = spec_of(12, 1);
			memcpy((char *)specs + at, &numbers[j], 4);
			error = op_add(self->fd, &add);
			EXPECT_TRUE(!error || error == EINVAL);
			good = specs[0].need <= TWHEEL_MAX_NEED && specs[1].need <= TWHEEL_MAX_NEED;
			EXPECT_EQ(good, !error);
			if (!error)
				EXPECT_EQ(0, op_cancel(self->fd, add.id));
		}
	}
	EXPECT_EQ(0, query(self->fd).watches);
}

TEST_HARNESS_MAIN
