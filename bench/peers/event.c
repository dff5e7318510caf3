// SPDX-License-Identifier: GPL-2.0
/* Contender: libevent, with a struct event per item: a heap in the event base. */
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "peers.h"

static struct session *current;
static struct event_base *base;
static struct event *events;

static void fire(int fd, short what, void *arg)
{
	expired(current, (struct event *)arg - events, now_ns());
}

/* Without PRECISE_TIMER the clock has the resolution of the kernel's tick. */
static int open_event(struct session *session)
{
	struct event_config *config = event_config_new();

	current = session;
	event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	base = event_base_new_with_config(config);
	event_config_free(config);
	events = calloc(session->nr, sizeof(*events));
	return events && base ? 0 : -ENOMEM;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct event *event = &events[numbers[i]];
		int64_t ns = session->ops[numbers[i]].deadline - peer_now;
		struct timeval in = {
			.tv_sec = ns / NSEC_PER_SEC,
			.tv_usec = ns % NSEC_PER_SEC / NSEC_PER_USEC,
		};

		if (!event_initialized(event))
			evtimer_assign(event, base, fire, event);
		if (evtimer_add(event, &in))
			return -ENOMEM;
	}
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		evtimer_del(&events[numbers[i]]);
		ended(session, numbers[i]);
	}
	return 0;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct timeval in = {
		.tv_sec = timeout_ms / 1000,
		.tv_usec = timeout_ms % 1000 * 1000,
	};

	if (!timeout_ms)
		return event_base_loop(base, EVLOOP_NONBLOCK) < 0 ? -EIO : 0;
	event_base_loopexit(base, &in);
	return event_base_loop(base, EVLOOP_ONCE) < 0 ? -EIO : 0;
}

static void close_event(struct session *session)
{
	event_base_free(base);
	free(events);
}

const struct contender peer = {
	.name = "libevent",
	.batch = BATCH,
	.open = open_event,
	.add = add,
	.cancel = cancel,
	.rearm = add,
	.take = take,
	.close = close_event,
};

PEER_WITHOUT_KEYS;
