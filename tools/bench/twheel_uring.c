// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: /dev/twheel with commands of io_uring, in batches of 64 ("uring64", "keys1-uring64").
 *
 * A cancel and a signal result in two completion entries, one for the command and one for the
 * operation, and a re-arm in one. The contender waits for all of them. An add results in no entry
 * before the end of its operation. Calls other than adds are embedded in entries of 128 bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <twheel_uring.h>
#include <unistd.h>

#include "ring.h"

/* User data of the entries of other calls than adds. */
#define OTHER		(~0ULL)

/**
 * struct device - a purgatory and a ring
 * @ring: the ring
 * @fd: descriptor of the purgatory
 * @keys: number of keys per operation, 0 or 1
 * @args: arguments of a batch of adds
 * @specs: their keys
 * @events: the event of each operation
 */
struct device {
	struct ring			ring;
	int				fd;
	unsigned int			keys;
	struct twheel_add_args		args[BATCH];
	struct twheel_watch_spec	specs[BATCH];
	struct twheel_event		*events;
};

static int handle(struct session *session, const struct io_uring_cqe *cqe, uint64_t now)
{
	struct device *device = session->data;
	const struct twheel_event *event = &device->events[cqe->user_data];

	if (cqe->user_data == OTHER || cqe->res < 0)
		return cqe->res < 0 ? cqe->res : 0;
	if (cqe->res != TWHEEL_REASON_EXPIRED)
		return ended(session, event->cookie);
	return event->time <= now ? expired(session, event->cookie, event->time) : -EIO;
}

static int open_device(struct session *session)
{
	struct device *device = session->data;
	int error;

	device->keys = session->contender->signal ? 1 : 0;
	device->ring.handle = handle;
	device->events = malloc(session->nr * sizeof(*device->events));
	error = device->events ? ring_init(&device->ring, session, IORING_SETUP_SQE128) : -ENOMEM;
	if (error) {
		free(device->events);
		return error;
	}
	device->fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
	if (device->fd < 0) {
		error = -errno;
		io_uring_queue_exit(&device->ring.uring);
		free(device->events);
	}
	return error;
}

static void close_device(struct session *session)
{
	struct device *device = session->data;

	io_uring_queue_exit(&device->ring.uring);
	close(device->fd);
	free(device->events);
}

static struct twheel_key key_of(uint32_t number)
{
	return (struct twheel_key){ .v = { number } };
}

static void to_add(struct device *device, const struct op *op, uint32_t number, unsigned int i)
{
	device->specs[i] = (struct twheel_watch_spec){ .key = key_of(number) };
	device->args[i] = (struct twheel_add_args){
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_MONOTONIC,
		.condition = device->keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
		.nr_keys = device->keys,
		.keys = device->keys ? (uintptr_t)&device->specs[i] : 0,
		.key_size = device->keys ? sizeof(device->specs[i]) : 0,
		.deadline = op->deadline,
		.cookie = number,
	};
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct device *device = session->data;
	int error;

	for (unsigned int i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&device->ring.uring);

		if (!sqe)
			return -ENOSPC;
		to_add(device, &session->ops[numbers[i]], numbers[i], i);
		twheel_uring_prep_add(sqe, device->fd, &device->args[i],
				      &device->events[numbers[i]]);
		sqe->user_data = numbers[i];
	}
	error = ring_submit(session, 0);
	for (unsigned int i = 0; i < nr && !error; i++)
		session->ops[numbers[i]].handle = device->args[i].id;
	return error;
}

/* Prepare a call other than an add. */
static int prepare(struct device *device, unsigned int cmd_op, void *args)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&device->ring.uring);

	if (!sqe)
		return -ENOSPC;
	twheel_uring_prep(sqe, device->fd, cmd_op, args, NULL);
	twheel_uring_embed(sqe);
	sqe->user_data = OTHER;
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct twheel_cancel_args args = { .id = session->ops[numbers[i]].handle };

		error = prepare(session->data, TWHEEL_IOC_CANCEL, &args);
	}
	return error ? error : ring_submit(session, 2 * nr);
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct twheel_rearm_args args = {
			.id = session->ops[numbers[i]].handle,
			.deadline = session->ops[numbers[i]].deadline,
			.flags = TWHEEL_REARM_ABSTIME,
		};

		error = prepare(session->data, TWHEEL_IOC_REARM, &args);
	}
	return error ? error : ring_submit(session, nr);
}

/* Only one operation watches each key. */
static int signal_keys(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct twheel_signal_args args = { .key = key_of(numbers[i]) };

		error = prepare(session->data, TWHEEL_IOC_SIGNAL, &args);
	}
	return error ? error : ring_submit(session, 2 * nr);
}

#define DEVICE(kind, signal_function) {	\
	.name = "twheel",				\
	.case_name = kind,				\
	.batch = BATCH,					\
	.data_size = sizeof(struct device),		\
	.open = open_device,				\
	.add = add,					\
	.cancel = cancel,				\
	.signal = signal_function,			\
	.rearm = rearm,					\
	.take = ring_take,					\
	.close = close_device,				\
}

const struct contender twheel_uring = DEVICE("uring64", NULL);
const struct contender twheel_uring_keys1 = DEVICE("keys1-uring64", signal_keys);
