// SPDX-License-Identifier: GPL-2.0
/* Contender: /dev/twheel by libtwheel, in batches of 64 calls; the kernel keeps the keys. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <twheel.h>
#include <unistd.h>

#include "peers.h"

static int fd;
static struct twheel_batch *batch;

/* Called for each call of a batch. */
static void result(void *context, uint64_t index, const struct twheel_command *command,
		   const struct twheel_result *result)
{
	const struct twheel_add_args *args = (const void *)(command + 1);
	struct session *session = context;

	if (result->error)
		failure("twheel: call %u: error %d", _IOC_NR(command->cmd), result->error);
	if (_IOC_NR(command->cmd) == _IOC_NR(TWHEEL_IOC_ADD))
		session->ops[args->cookie].handle = result->value;
}

static int submit(int error)
{
	return error || twheel_batch_submit(batch) < 0 ? -errno : 0;
}

static int open_twheel(struct session *session)
{
	fd = twheel_open(O_NONBLOCK);
	batch = fd < 0 ? NULL : twheel_batch_new(fd, BATCH, 0);
	return batch ? twheel_batch_on_result(batch, result, session) : -errno;
}

static int watch(struct session *session, const uint32_t *numbers, const uint64_t *keys,
		 unsigned int nr, unsigned int need)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct twheel_watch_spec specs[3];
		struct twheel_add_args args = {
			.flags = TWHEEL_ADD_ABSTIME,
			.clock = CLOCK_MONOTONIC,
			.deadline = session->ops[numbers[i]].deadline,
			.cookie = numbers[i],
		};

		if (need) {
			for (int j = 0; j < 3; j++)
				specs[j] = (struct twheel_watch_spec){
					.key = twheel_key_number(keys[i] + j)
				};
			args.condition = need == 1 ? TWHEEL_COND_ANY : TWHEEL_COND_QUORUM;
			args.quorum = need == 1 ? 0 : need;
			args.nr_keys = 3;
			args.keys = (uintptr_t)specs;
		}
		error = twheel_batch_add(batch, &args);
	}
	return submit(error);
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	return watch(session, numbers, NULL, nr, 0);
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++)
		error = twheel_batch_cancel(batch, session->ops[numbers[i]].handle);
	return submit(error);
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++)
		error = twheel_batch_rearm(batch, session->ops[numbers[i]].handle,
					   session->ops[numbers[i]].deadline,
					   TWHEEL_REARM_ABSTIME);
	return submit(error);
}

static int signal_keys(struct session *session, const uint64_t *keys, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++)
		error = twheel_batch_signal(batch, twheel_key_number(keys[i]), 0);
	return submit(error);
}

static int read_events(struct session *session, unsigned int nr)
{
	struct twheel_event events[BATCH];
	ssize_t got = twheel_read_events(fd, events, nr < BATCH ? nr : BATCH);
	uint64_t now = now_ns();

	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (ssize_t i = 0; i < got; i++) {
		if (events[i].reason == TWHEEL_REASON_EXPIRED)
			expired(session, events[i].cookie, now);
		else
			ended(session, events[i].cookie);
	}
	return got;
}

/* Events are queued before the call that causes them returns. */
static int settle(struct session *session, unsigned int nr)
{
	int got = read_events(session, nr);

	return got < 0 ? got : got == (int)nr ? 0 : -EIO;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int got;

	if (timeout_ms && poll(&pollfd, 1, timeout_ms) < 0)
		return -errno;
	got = read_events(session, BATCH);
	return got < 0 ? got : 0;
}

static void close_twheel(struct session *session)
{
	twheel_batch_free(batch);
	close(fd);
}

const struct contender peer = {
	.name = "twheel_device",
	.batch = BATCH,
	.open = open_twheel,
	.add = add,
	.cancel = cancel,
	.settle = settle,
	.rearm = rearm,
	.take = take,
	.close = close_twheel,
};

const struct peer_traits peer_traits = {
	.in_kernel = true,
	.watch = watch,
	.signal = signal_keys,
};
