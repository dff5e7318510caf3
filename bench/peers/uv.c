// SPDX-License-Identifier: GPL-2.0
/* Contender: libuv, with a uv_timer_t per item: a heap in the loop, deadlines in ms. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <uv.h>

#include "peers.h"

static struct session *current;
static uv_timer_t *timers;

static void fire(uv_timer_t *timer)
{
	expired(current, timer - timers, now_ns());
}

static int open_uv(struct session *session)
{
	current = session;
	timers = calloc(session->nr, sizeof(*timers));
	return timers ? 0 : -ENOMEM;
}

/* The delay counts from the time that the loop read in this round, in ms. */
static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		uv_timer_t *timer = &timers[numbers[i]];
		int64_t ns = session->ops[numbers[i]].deadline - peer_now;

		if (!timer->loop && uv_timer_init(uv_default_loop(), timer))
			return -ENOMEM;
		if (uv_timer_start(timer, fire, (ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, 0))
			return -EINVAL;
	}
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		uv_timer_stop(&timers[numbers[i]]);
		ended(session, numbers[i]);
	}
	return 0;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	uv_loop_t *loop = uv_default_loop();
	struct pollfd pollfd = { .fd = uv_backend_fd(loop), .events = POLLIN };
	int next;

	uv_update_time(loop);
	next = uv_backend_timeout(loop);
	poll(&pollfd, 1, next >= 0 && next < (int)timeout_ms ? next : (int)timeout_ms);
	uv_run(loop, UV_RUN_NOWAIT);
	return 0;
}

static void close_uv(struct session *session)
{
	free(timers);
}

const struct contender peer = {
	.name = "libuv",
	.batch = BATCH,
	.open = open_uv,
	.add = add,
	.cancel = cancel,
	.rearm = add,
	.take = take,
	.close = close_uv,
};

PEER_WITHOUT_KEYS;
