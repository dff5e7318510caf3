// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: /dev/twheel, with one ioctl per operation and one read() per event, or with
 * batches of 64 or 1024 ("batch64", "batch1024"). In the cases "keys1", each operation
 * also watches a unique key and can be completed by a signal.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "bench.h"

/* The longest command, and those of one size. */
#define MAX_COMMAND	TWHEEL_COMMAND_SIZE(TWHEEL_IOC_ADD)

/* Adds with structures that end before the fields that are 0. */
#define ADD_UP_TO(field)	_IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_MAGIC,		\
				     _IOC_NR(TWHEEL_IOC_ADD),			\
				     offsetof(struct twheel_add_args, field))
#define ADD_PLAIN		ADD_UP_TO(keys)
#define ADD_KEYS		ADD_UP_TO(threshold)

struct cancel_command {
	struct twheel_command head;
	struct twheel_cancel_args args;
};

struct rearm_command {
	struct twheel_command head;
	struct twheel_rearm_args args;
};

struct signal_command {
	struct twheel_command head;
	struct twheel_signal_args args;
};

/**
 * struct device - an open purgatory
 * @fd: its file descriptor
 * @keys: number of keys per operation, 0 or 1
 * @at_once: events per read()
 * @specs: keys of the commands of a batch
 * @commands: the commands of a batch
 * @results: their results
 * @events: buffer for events
 */
struct device {
	int				fd;
	unsigned int			keys;
	unsigned int			at_once;
	struct twheel_watch_spec	specs[LARGE_BATCH];
	__u64				commands[LARGE_BATCH][MAX_COMMAND / sizeof(__u64)];
	struct twheel_result		results[LARGE_BATCH];
	struct twheel_event		events[LARGE_BATCH];
};

static int open_device(struct session *session)
{
	struct device *device = session->data;
	const struct contender *contender = session->contender;

	device->keys = contender->signal ? 1 : 0;
	device->at_once = contender == &twheel_single || contender == &twheel_keys1 ?
			  1 : contender->batch;
	device->fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return device->fd < 0 ? -errno : 0;
}

static void close_device(struct session *session)
{
	struct device *device = session->data;

	close(device->fd);
}

static struct twheel_key key_of(uint32_t number)
{
	return (struct twheel_key){ .v = { number } };
}

/* Set the fields of an add up to those that it uses. */
static void to_add(struct device *device, const struct op *op, uint32_t number,
		   struct twheel_watch_spec *spec, struct twheel_add_args *args)
{
	args->flags = TWHEEL_ADD_ABSTIME;
	args->clock = CLOCK_MONOTONIC;
	args->deadline = op->deadline;
	args->cookie = number;
	if (!device->keys)
		return;
	*spec = (struct twheel_watch_spec){ .key = key_of(number) };
	args->keys = (uintptr_t)spec;
	args->nr_keys = 1;
	args->key_size = sizeof(*spec);
	args->condition = TWHEEL_COND_ANY;
	args->quorum = 0;
}

static int add_single(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct device *device = session->data;
	unsigned int cmd = device->keys ? ADD_KEYS : ADD_PLAIN;
	struct twheel_add_args args;

	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session->ops[numbers[i]];

		to_add(device, op, numbers[i], device->specs, &args);
		if (ioctl(device->fd, cmd, &args))
			return -errno;
		op->handle = args.id;
	}
	return 0;
}

static int cancel_single(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct device *device = session->data;

	for (unsigned int i = 0; i < nr; i++) {
		struct twheel_cancel_args args = { .id = session->ops[numbers[i]].handle };

		if (ioctl(device->fd, TWHEEL_IOC_CANCEL, &args))
			return -errno;
	}
	return 0;
}

static struct twheel_rearm_args to_rearm(const struct op *op)
{
	return (struct twheel_rearm_args){
		.id = op->handle,
		.deadline = op->deadline,
		.flags = TWHEEL_REARM_ABSTIME,
	};
}

static int rearm_single(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct device *device = session->data;

	for (unsigned int i = 0; i < nr; i++) {
		struct twheel_rearm_args args = to_rearm(&session->ops[numbers[i]]);

		if (ioctl(device->fd, TWHEEL_IOC_REARM, &args))
			return -errno;
	}
	return 0;
}

/* Only one operation watches each key. */
static int signal_single(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct device *device = session->data;

	for (unsigned int i = 0; i < nr; i++) {
		struct twheel_signal_args args = { .key = key_of(numbers[i]) };

		if (ioctl(device->fd, TWHEEL_IOC_SIGNAL, &args))
			return -errno;
	}
	return 0;
}

/* Execute @nr commands up to @end. All of them must succeed. */
static int execute(struct device *device, const void *end, unsigned int nr)
{
	struct twheel_batch_args args = {
		.commands = (uintptr_t)device->commands,
		.results = (uintptr_t)device->results,
		.nr = nr,
		.flags = TWHEEL_BATCH_STOP,
		.size = (char *)end - (char *)device->commands,
		.result_size = sizeof(device->results[0]),
	};

	if (ioctl(device->fd, TWHEEL_IOC_BATCH, &args))
		return -errno;
	if (args.failed)
		return device->results[args.done - 1].error;
	return args.done == nr ? 0 : -EIO;
}

static int add_batch(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct device *device = session->data;
	char *at = (char *)device->commands;
	unsigned int i;
	int error;

	for (i = 0; i < nr; i++) {
		const struct op *op = &session->ops[numbers[i]];
		struct twheel_command *command = (void *)at;

		command->cmd = device->keys ? ADD_KEYS : ADD_PLAIN;
		command->reserved = 0;
		to_add(device, op, numbers[i], &device->specs[i], (void *)(command + 1));
		at += TWHEEL_COMMAND_SIZE(command->cmd);
	}
	error = execute(device, at, nr);
	for (i = 0; i < nr && !error; i++)
		session->ops[numbers[i]].handle = device->results[i].value;
	return error;
}

static int cancel_batch(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct cancel_command *commands = (void *)((struct device *)session->data)->commands;

	for (unsigned int i = 0; i < nr; i++)
		commands[i] = (struct cancel_command){
			.head.cmd = TWHEEL_IOC_CANCEL,
			.args.id = session->ops[numbers[i]].handle,
		};
	return execute(session->data, commands + nr, nr);
}

static int rearm_batch(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct rearm_command *commands = (void *)((struct device *)session->data)->commands;

	for (unsigned int i = 0; i < nr; i++)
		commands[i] = (struct rearm_command){
			.head.cmd = TWHEEL_IOC_REARM,
			.args = to_rearm(&session->ops[numbers[i]]),
		};
	return execute(session->data, commands + nr, nr);
}

static int signal_batch(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct signal_command *commands = (void *)((struct device *)session->data)->commands;

	for (unsigned int i = 0; i < nr; i++)
		commands[i] = (struct signal_command){
			.head.cmd = TWHEEL_IOC_SIGNAL,
			.args.key = key_of(numbers[i]),
		};
	return execute(session->data, commands + nr, nr);
}

static int handle(struct session *session, const struct twheel_event *event, uint64_t now)
{
	if (event->reason == TWHEEL_REASON_CANCELLED || event->reason == TWHEEL_REASON_COMPLETED)
		return ended(session, event->cookie);
	if (event->reason == TWHEEL_REASON_EXPIRED && event->time <= now)
		return expired(session, event->cookie, event->time);
	failure("twheel: unexpected event: reason %u at %llu, current time %llu", event->reason,
		(unsigned long long)event->time, (unsigned long long)now);
	return -FAILED;
}

/* Returns the number of events read, at most a full buffer, or a negative error number. */
static int read_events(struct session *session)
{
	struct device *device = session->data;
	ssize_t bytes = read(device->fd, device->events,
			     device->at_once * sizeof(device->events[0]));
	int nr = bytes / (ssize_t)sizeof(device->events[0]), error;
	uint64_t now;

	if (bytes < 0)
		return errno == EAGAIN ? 0 : -errno;
	now = now_ns();
	for (int i = 0; i < nr; i++) {
		error = handle(session, &device->events[i], now);
		if (error)
			return error;
	}
	return nr;
}

/* The events are available as soon as a cancel or signal has returned. */
static int settle(struct session *session, unsigned int nr)
{
	while (nr) {
		int got = read_events(session);

		if (got < 0)
			return got;
		if (!got)
			break;
		nr -= (unsigned int)got < nr ? (unsigned int)got : nr;
	}
	return 0;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct device *device = session->data;
	struct pollfd pollfd = { .fd = device->fd, .events = POLLIN };
	int got = read_events(session);

	if (got)
		return got < 0 ? got : 0;
	if (poll(&pollfd, 1, timeout_ms) < 0)
		return -errno;
	got = read_events(session);
	return got < 0 ? got : 0;
}

static_assert(LARGE_BATCH <= TWHEEL_MAX_BATCH, "a batch fits in one call");

#define DEVICE(kind, most, how, signal_function) {	\
	.name = "twheel",				\
	.case_name = kind,				\
	.batch = most,					\
	.data_size = sizeof(struct device),		\
	.open = open_device,				\
	.add = add_##how,				\
	.cancel = cancel_##how,			\
	.signal = signal_function,			\
	.settle = settle,				\
	.rearm = rearm_##how,				\
	.take = take,					\
	.close = close_device,				\
}

const struct contender twheel_single = DEVICE("single", BATCH, single, NULL);
const struct contender twheel_batch = DEVICE("batch64", BATCH, batch, NULL);
const struct contender twheel_large_batch = DEVICE("batch1024", LARGE_BATCH, batch, NULL);
const struct contender twheel_keys1 = DEVICE("keys1", BATCH, single, signal_single);
const struct contender twheel_keys1_batch = DEVICE("keys1-batch64", BATCH, batch,
							    signal_batch);
