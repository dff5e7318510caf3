// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: /dev/twheel with commands of io_uring, in batches of 64 ("uring64", "keys1-uring64").
 *
 * Each command results in a completion entry, for which the contender waits; only an add that
 * succeeds posts none. A multishot read delivers events, up to 64 with each entry; a cancel or a
 * signal also waits for those of its operations. Calls other than adds are embedded in entries of
 * 128 bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <twheel_uring.h>
#include <unistd.h>

#include "ring.h"

/* User data of the entries. */
enum { COMMAND, READ };

/* Buffers for events, of a batch each. */
#define BUFFERS		16
#define GROUP		1

/**
 * struct device - a purgatory and a ring
 * @ring: the ring
 * @fd: descriptor of the purgatory
 * @keys: number of keys per operation, 0 or 1
 * @args: arguments of a batch of adds
 * @specs: their keys
 * @buffers: addresses of the buffers for events
 * @events: these buffers
 * @ended: number of events received that are not an expiry
 */
struct device {
	struct ring			ring;
	int				fd;
	unsigned int			keys;
	struct twheel_add_args		args[BATCH];
	struct twheel_watch_spec	specs[BATCH];
	struct io_uring_buf_ring	*buffers;
	struct twheel_event		(*events)[BATCH];
	unsigned int			ended;
};

static void provide(struct device *device, unsigned int buffer)
{
	io_uring_buf_ring_add(device->buffers, device->events[buffer],
			      sizeof(device->events[buffer]), buffer,
			      io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(device->buffers, 1);
}

/* Start the read, with the next submission. */
static int start_read(struct device *device)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&device->ring.uring);

	if (!sqe)
		return -ENOSPC;
	twheel_uring_prep_read(sqe, device->fd, GROUP);
	sqe->user_data = READ;
	return 0;
}

static int handle_event(struct session *session, const struct twheel_event *event, uint64_t now)
{
	struct device *device = session->data;

	if (event->reason == TWHEEL_REASON_EXPIRED)
		return event->time <= now ? expired(session, event->cookie, event->time) : -EIO;
	device->ended++;
	return ended(session, event->cookie);
}

static int handle(struct session *session, const struct io_uring_cqe *cqe, uint64_t now)
{
	struct device *device = session->data;
	unsigned int buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	int error = 0;

	if (cqe->user_data == COMMAND)
		return cqe->res < 0 ? cqe->res : 0;
	if (cqe->res > 0) {
		for (int i = 0; i < cqe->res / (int)sizeof(struct twheel_event) && !error; i++)
			error = handle_event(session, &device->events[buffer][i], now);
		provide(device, buffer);
	} else if (cqe->res != -ENOBUFS) {
		return cqe->res ? cqe->res : -EIO;
	}
	return error || cqe->flags & IORING_CQE_F_MORE ? error : start_read(device);
}

static int open_buffers(struct device *device)
{
	struct io_uring_buf_reg group = { .ring_entries = BUFFERS, .bgid = GROUP };
	int error;

	device->buffers = aligned_alloc(getpagesize(), getpagesize());
	device->events = malloc(BUFFERS * sizeof(*device->events));
	if (!device->buffers || !device->events)
		return -ENOMEM;
	group.ring_addr = (uintptr_t)device->buffers;
	error = io_uring_register_buf_ring(&device->ring.uring, &group, 0);
	if (error)
		return error;
	io_uring_buf_ring_init(device->buffers);
	for (unsigned int i = 0; i < BUFFERS; i++)
		provide(device, i);
	return start_read(device);
}

static void close_device(struct session *session)
{
	struct device *device = session->data;

	io_uring_queue_exit(&device->ring.uring);
	if (device->fd >= 0)
		close(device->fd);
	free(device->buffers);
	free(device->events);
}

static int open_device(struct session *session)
{
	struct device *device = session->data;
	int error;

	device->keys = session->contender->signal ? 1 : 0;
	device->ring.handle = handle;
	error = ring_init(&device->ring, session, IORING_SETUP_SQE128);
	if (error)
		return error;
	device->fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	error = device->fd < 0 ? -errno : open_buffers(device);
	if (error)
		close_device(session);
	return error;
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
		twheel_uring_prep_add(sqe, device->fd, &device->args[i]);
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
		sqe->user_data = COMMAND;
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
	twheel_uring_prep(sqe, device->fd, cmd_op, args);
	twheel_uring_embed(sqe);
	sqe->user_data = COMMAND;
	return 0;
}

/* Submit, and wait for as many completions, and for the events of as many operations. */
static int submit_and_receive(struct session *session, unsigned int nr)
{
	struct device *device = session->data;
	unsigned int until = device->ended + nr;
	int error = ring_submit(session, nr);

	while (!error && device->ended < until)
		error = ring_submit(session, 1);
	return error;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct twheel_cancel_args args = { .id = session->ops[numbers[i]].handle };

		error = prepare(session->data, TWHEEL_IOC_CANCEL, &args);
	}
	return error ? error : submit_and_receive(session, nr);
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
	return error ? error : submit_and_receive(session, nr);
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
