// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: DPDK's rte_timer, a skip list per core. It never sleeps: the program polls, here
 * without a pause, as a core of DPDK does.
 */
#include <errno.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_timer.h>
#include <stdlib.h>

#include "peers.h"

static struct session *current;
static struct rte_timer *timers;

static void fire(struct rte_timer *timer, void *arg)
{
	expired(current, timer - timers, now_ns());
}

static int open_dpdk(struct session *session)
{
	char **args = (char *[]){ "peers", "--no-huge", "--no-pci", "--no-telemetry",
		"--no-shconf", "--lcores=0", "-m", "64", "--log-level=lib.eal:error", NULL };

	current = session;
	timers = calloc(session->nr, sizeof(*timers));
	if (!timers)
		return -ENOMEM;
	if (rte_eal_init(9, args) < 0)
		return -EIO;
	return rte_timer_subsystem_init();
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	double hz = rte_get_timer_hz();

	for (unsigned int i = 0; i < nr; i++) {
		struct rte_timer *timer = &timers[numbers[i]];
		int64_t ns = session->ops[numbers[i]].deadline - peer_now;

		if (session->ops[numbers[i]].handle != 1)
			rte_timer_init(timer);
		session->ops[numbers[i]].handle = 1;
		if (rte_timer_reset(timer, ns * hz / 1e9, SINGLE, rte_lcore_id(), fire, NULL))
			return -EBUSY;
	}
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (rte_timer_stop(&timers[numbers[i]]))
			return -EBUSY;
		ended(session, numbers[i]);
	}
	return 0;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * NSEC_PER_MSEC;
	unsigned int before = session->expired;

	do
		rte_timer_manage();
	while (session->expired == before && now_ns() < end);
	return 0;
}

static void close_dpdk(struct session *session)
{
	rte_timer_subsystem_finalize();
	free(timers);
}

const struct contender peer = {
	.name = "rte_timer",
	.batch = BATCH,
	.open = open_dpdk,
	.add = add,
	.cancel = cancel,
	.rearm = add,
	.take = take,
	.close = close_dpdk,
};

PEER_WITHOUT_KEYS;
