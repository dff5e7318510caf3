// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the library's batches with a fake device: the number of system calls, that
 * each command is executed once and in order with its keys, and that the callback
 * receives its result. The tests of twheel.hpp have each command.
 */
#include <stdlib.h>

#include "libtwheel_fake.h"
#include "tap.h"

#define MAX_SEEN	4096

/* A command, with space for the longest structure. */
struct seen {
	__u32 cmd;
	union {
		TWHEEL_ARGS
	};
};

/* Behaviour of the fake device, and the commands that it executed. */
static struct {
	unsigned int most;		/* commands executed by a call; 0 for all */
	unsigned int calls_left;	/* calls before EFAULT; 0 for no limit */
	__u64 bad_cookie;		/* adds with it fail with ENOSPC; 0 for none */
	unsigned int nr;
	struct seen seen[MAX_SEEN];
	struct twheel_watch_spec keys[MAX_SEEN];	/* first key of each command */
} device;

/* Arguments of the callback. */
static struct {
	unsigned int nr;
	bool in_order;
	struct twheel_result results[MAX_SEEN];
	struct seen commands[MAX_SEEN];
} reported;

static struct seen see(const struct twheel_command *command)
{
	struct seen seen = { .cmd = command->cmd };

	CHECK(!command->reserved);
	memcpy(&seen.add_args, command + 1, _IOC_SIZE(command->cmd));
	return seen;
}

static bool is_add(__u32 cmd)
{
	return _IOC_NR(cmd) == _IOC_NR(TWHEEL_IOC_ADD);
}

static const struct twheel_watch_spec *keys_of(const struct seen *command)
{
	if (is_add(command->cmd) && command->add_args.nr_keys)
		return (const void *)(uintptr_t)command->add_args.keys;
	if (command->cmd == TWHEEL_IOC_WATCH)
		return (const void *)(uintptr_t)command->watch_args.keys;
	return NULL;
}

static int execute(const struct seen *command, struct twheel_result *result)
{
	const struct twheel_watch_spec *keys = keys_of(command);
	unsigned int nr = device.nr++;

	device.seen[nr] = *command;
	if (keys)
		device.keys[nr] = keys[0];
	memset(result, 0, sizeof(*result));
	if (is_add(command->cmd) && command->add_args.cookie &&
	    command->add_args.cookie == device.bad_cookie)
		result->error = -ENOSPC;
	else
		result->value = nr + 1;
	return result->error;
}

static void answer(unsigned long request, void *args)
{
	struct twheel_batch_args *batch = args;
	const char *at = (void *)(uintptr_t)batch->commands, *end = at + batch->size;
	struct twheel_result *results = (void *)(uintptr_t)batch->results;
	unsigned int nr = batch->nr;

	CHECK(request == TWHEEL_IOC_BATCH);
	if (device.calls_left && !--device.calls_left)
		fake.error = EFAULT;	/* for the next calls */
	if (device.most && nr > device.most)
		nr = device.most;
	for (batch->done = 0; batch->done < nr;) {
		struct seen command = see((const void *)at);
		int error = execute(&command, &results[batch->done]);

		at += TWHEEL_COMMAND_SIZE(command.cmd);
		CHECK(at <= end);
		batch->done++;
		batch->failed += error != 0;
		if (error && batch->flags & TWHEEL_BATCH_STOP)
			break;
	}
}

static void on_result(void *context, uint64_t index, const struct twheel_command *command,
		      const struct twheel_result *result)
{
	CHECK(context == &reported);
	reported.in_order &= index == reported.nr;
	reported.commands[reported.nr] = see(command);
	reported.results[reported.nr++] = *result;
}

static struct twheel_batch *batch_of(unsigned int size, unsigned int flags)
{
	struct twheel_batch *batch = twheel_batch_new(FAKE_FD, size, flags);

	memset(&device, 0, sizeof(device));
	memset(&reported, 0, sizeof(reported));
	reported.in_order = true;
	fake_reset();
	fake.answer = answer;
	CHECK(batch);
	CHECK(!twheel_batch_on_result(batch, on_result, &reported));
	return batch;
}

static int add(struct twheel_batch *batch, __u64 cookie)
{
	const struct twheel_add_args args = { .cookie = cookie, .deadline = TWHEEL_NEVER };

	return twheel_batch_add(batch, &args);
}

/* Adds with the cookies @from to @to. Return: number of commands put into the batch. */
static unsigned int add_many(struct twheel_batch *batch, __u64 from, __u64 to)
{
	unsigned int nr = 0;

	for (; from <= to; from++)
		nr += !add(batch, from);
	return nr;
}

TEST("adds need one call per full batch")
{
	struct twheel_batch *batch = batch_of(50, 0);

	CHECK(add_many(batch, 1, 1000) == 1000);
	CHECK(!twheel_batch_submit(batch));
	CHECK(fake.calls == 1000 / 50);
	CHECK(device.nr == 1000 && reported.nr == 1000 && reported.in_order);
	CHECK(device.seen[999].add_args.cookie == 1000 && reported.results[999].value == 1000);
	twheel_batch_free(batch);
}

TEST("an empty batch makes no call")
{
	struct twheel_batch *batch = batch_of(50, 0);

	CHECK(!twheel_batch_submit(batch));
	CHECK(!fake.calls);
	twheel_batch_free(batch);
	twheel_batch_free(NULL);
}

TEST("sizes and flags are checked")
{
	errno = 0;
	CHECK(!twheel_batch_new(FAKE_FD, 0, 0) && errno == EINVAL);
	CHECK(!twheel_batch_new(FAKE_FD, TWHEEL_MAX_BATCH + 1, 0) && errno == EINVAL);
	CHECK(!twheel_batch_new(FAKE_FD, 1, 1U << 31) && errno == EINVAL);
}

TEST("signals and moved deadlines have a short form")
{
	const struct twheel_signal_args signal = { .key = { { 3, 4 } }, .value = 5 };
	const struct twheel_rearm_args rearm = {
		.id = 7, .deadline = 8, .flags = TWHEEL_REARM_ABSTIME,
	};
	struct twheel_batch *batch = batch_of(100, 0);

	CHECK(!twheel_batch_signal(batch, signal.key, 5));
	CHECK(!twheel_batch_signal_with(batch, &signal));
	CHECK(!twheel_batch_rearm(batch, 7, 8, TWHEEL_REARM_ABSTIME));
	CHECK(!twheel_batch_rearm_with(batch, &rearm) && !twheel_batch_submit(batch));
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(!memcmp(&device.seen[i].signal_args, &signal, sizeof(signal)));
		CHECK(!memcmp(&device.seen[i + 2].rearm_args, &rearm, sizeof(rearm)));
	}
	twheel_batch_free(batch);
}

#define NR_ADDS	9

TEST("an add has the shortest structure")
{
	static const struct twheel_watch_spec spec = { .key = { .v = { 3, 4 } } };
	static const struct twheel_add_args args[NR_ADDS] = {
		{ .flags = 1, .clock = 1, .deadline = 5, .cookie = 6 },
		{ .condition = TWHEEL_COND_ANY },
		{ .keys = (uintptr_t)&spec, .nr_keys = 1, .condition = TWHEEL_COND_QUORUM,
		  .quorum = 1 },
		{ .threshold = 1 }, { .slack = 1 }, { .period = 1 }, { .runs = 1 }, { .queue = 1 },
		{ .cell = 1 },
	};
	struct twheel_batch *batch = batch_of(100, 0);
	unsigned int i;

	for (i = 0; i < NR_ADDS; i++)
		CHECK(!twheel_batch_add(batch, &args[i]));
	CHECK(!twheel_batch_submit(batch) && device.nr == NR_ADDS);
	for (i = 0; i < NR_ADDS; i++)
		CHECK(device.seen[i].cmd == (!i ? FAKE_ADD(keys) : i < 3 ? FAKE_ADD(threshold) :
					     TWHEEL_IOC_ADD));
	CHECK(device.seen[0].add_args.cookie == 6 && device.seen[2].add_args.quorum == 1);
	CHECK(device.keys[2].key.v[0] == 3);
	twheel_batch_free(batch);
}

TEST("keys are copied into the batch")
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
	struct twheel_add_args args = { .keys = (uintptr_t)specs };
	struct twheel_batch *batch = batch_of(300, 0);
	unsigned int round, i;
	bool right = true;

	/* The second and third round reuse the allocated blocks of keys. */
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 300; i++) {
			memset(specs, 0, sizeof(specs));
			specs[0].key.v[0] = i;
			args.nr_keys = i % (TWHEEL_MAX_KEYS + 1);
			CHECK(!twheel_batch_add(batch, &args));
		}
		memset(specs, 0xff, sizeof(specs));
		CHECK(!twheel_batch_submit(batch));
	}
	for (i = 0; i < 900; i++)
		if (device.seen[i].add_args.nr_keys)
			right &= device.keys[i].key.v[0] == i % 300;
	CHECK(device.nr == 900 && right);
	twheel_batch_free(batch);
}

TEST("too many keys are refused")
{
	struct twheel_add_args args = { .nr_keys = TWHEEL_MAX_KEYS + 1, .keys = 1 };
	struct twheel_batch *batch = batch_of(10, 0);

	CHECK(twheel_batch_add(batch, &args) == -1 && errno == EINVAL);
	CHECK(twheel_batch_watch(batch, 7, NULL, ~0U) == -1 && errno == EINVAL);
	CHECK(!twheel_batch_submit(batch) && !fake.calls && !reported.nr);
	twheel_batch_free(batch);
}

TEST("each failure is reported and counted once")
{
	struct twheel_batch *batch = batch_of(4, 0);

	device.bad_cookie = 3;
	CHECK(add_many(batch, 1, 10) == 10);
	CHECK(twheel_batch_submit(batch) == 1);
	CHECK(reported.nr == 10 && reported.in_order && device.nr == 10);
	CHECK(reported.results[2].error == -ENOSPC && reported.commands[2].add_args.cookie == 3);
	CHECK(!reported.results[3].error && reported.results[3].value == 4);
	CHECK(twheel_batch_submit(batch) == 0);
	twheel_batch_free(batch);
}

TEST("a partial call is continued by the next call")
{
	struct twheel_batch *batch = batch_of(100, 0);

	device.most = 30;
	CHECK(add_many(batch, 1, 100) == 100);
	CHECK(!twheel_batch_submit(batch));
	CHECK(fake.calls == 4 && device.nr == 100 && reported.nr == 100 && reported.in_order);
	CHECK(device.seen[99].add_args.cookie == 100);
	twheel_batch_free(batch);
}

TEST("remaining commands keep their keys")
{
	struct twheel_watch_spec spec = { .need = 1 };
	struct twheel_batch *batch = batch_of(3, 0);
	unsigned int i;

	for (i = 1; i <= 2; i++) {
		spec.key.v[0] = i;
		CHECK(!twheel_batch_watch(batch, 7, &spec, 1));
	}
	/* The second call fails: one command remains, and two more are added. */
	device.most = 1;
	device.calls_left = 1;
	CHECK(twheel_batch_submit(batch) == -1 && errno == EFAULT && device.nr == 1);
	fake.error = 0;
	for (i = 3; i <= 4; i++) {
		spec.key.v[0] = i;
		CHECK(!twheel_batch_watch(batch, 7, &spec, 1));
	}
	CHECK(!twheel_batch_submit(batch));
	CHECK(device.nr == 4 && reported.nr == 4 && reported.in_order);
	for (i = 0; i < 4; i++)
		CHECK(device.keys[i].key.v[0] == i + 1);
	twheel_batch_free(batch);
}

TEST("a batch with stop cancels the commands after a failure")
{
	struct twheel_batch *batch = batch_of(4, TWHEEL_BATCH_STOP);

	device.bad_cookie = 2;
	CHECK(add_many(batch, 1, 10) == 10);
	CHECK(twheel_batch_submit(batch) == 9);
	CHECK(device.nr == 2 && reported.nr == 10 && reported.in_order && fake.calls == 1);
	CHECK(!reported.results[0].error && reported.results[1].error == -ENOSPC);
	CHECK(reported.results[2].error == -ECANCELED && reported.results[9].error == -ECANCELED);
	CHECK(!reported.results[9].value);
	/* The batch is empty after submission and can be reused. */
	CHECK(add_many(batch, 11, 12) == 2);
	CHECK(twheel_batch_submit(batch) == 0 && device.nr == 4);
	twheel_batch_free(batch);
}

TEST("a failed call keeps the commands")
{
	struct twheel_batch *batch = batch_of(4, 0);

	CHECK(add_many(batch, 1, 4) == 4);
	fake.error = ESHUTDOWN;
	CHECK(add(batch, 5) == -1 && errno == ESHUTDOWN);
	CHECK(twheel_batch_submit(batch) == -1 && errno == ESHUTDOWN);
	CHECK(!reported.nr && !device.nr);
	fake.error = 0;
	CHECK(!add(batch, 5));
	CHECK(!twheel_batch_submit(batch));
	CHECK(device.nr == 5 && reported.nr == 5 && reported.in_order);
	twheel_batch_free(batch);
}

TEST("a device without progress is an error")
{
	struct twheel_batch *batch = batch_of(4, 0);

	fake.answer = NULL;
	CHECK(!add(batch, 1));
	CHECK(twheel_batch_submit(batch) == -1 && errno == EIO && fake.calls == 1);
	twheel_batch_free(batch);
}

static void use_batch(void *context, uint64_t index, const struct twheel_command *command,
		      const struct twheel_result *result)
{
	struct twheel_batch *batch = context;

	reported.nr++;
	CHECK(!index && see(command).add_args.cookie == 1 && !result->error);
	CHECK(add(batch, 2) == -1 && errno == EBUSY);
	CHECK(twheel_batch_submit(batch) == -1 && errno == EBUSY);
	CHECK(twheel_batch_on_result(batch, NULL, NULL) == -1 && errno == EBUSY);
}

TEST("a callback cannot use its batch")
{
	struct twheel_batch *batch = batch_of(4, 0);

	CHECK(!twheel_batch_on_result(batch, use_batch, batch));
	CHECK(!add(batch, 1));
	CHECK(twheel_batch_on_result(batch, NULL, NULL) == -1 && errno == EBUSY);
	CHECK(!twheel_batch_submit(batch) && reported.nr == 1 && device.nr == 1);
	twheel_batch_free(batch);
}

TEST("the callback is optional")
{
	struct twheel_batch *batch = batch_of(4, 0);

	CHECK(!twheel_batch_on_result(batch, NULL, NULL));
	device.bad_cookie = 2;
	CHECK(add_many(batch, 1, 6) == 6);
	CHECK(twheel_batch_submit(batch) == 1 && !reported.nr);
	twheel_batch_free(batch);
}

TAP_MAIN
