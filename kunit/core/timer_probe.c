// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel and timers for the suites of timers. See timer_probe.h.
 */
#include <linux/ktime.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

struct twheel *timer_wheel;

static void probe_fired(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);

	probe->running = true;
	probe->fired = ktime_get_ns();
	probe->nr_fired++;
	probe->cancelled = twheel_timer_cancel(timer);
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
	if (probe->again) {
		probe->again--;
		probe->deadline = probe->after_ns ? twheel_deadline(probe->after_ns) : 0;
		twheel_timer_rearm(timer, probe->deadline, TWHEEL_REARM_ALWAYS);
	}
	probe->running = false;
}

void timer_probe_init(struct timer_probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	probe->after_ns = NSEC_PER_MSEC;
	twheel_timer_init(&probe->timer, timer_wheel, probe_fired);
}

int timer_probe_add(struct timer_probe *probe, u64 delay)
{
	probe->deadline = twheel_deadline(delay);
	return twheel_timer_add(&probe->timer, probe->deadline);
}

void expect_on_time(struct kunit *test, const struct timer_probe *probe)
{
	KUNIT_EXPECT_GE(test, probe->fired, probe->deadline);
	KUNIT_EXPECT_LE(test, probe->fired,
			probe->deadline + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
}

int timer_suite_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };

	timer_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
	return 0;
}

void timer_suite_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	twheel_destroy(timer_wheel);
}

void timer_suite_restart(struct kunit *test, const struct twheel_config *config)
{
	twheel_destroy(timer_wheel);
	timer_wheel = twheel_create(config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
}

int timer_probe_rearm(struct timer_probe *probe, u64 delay, enum twheel_rearm mode)
{
	probe->deadline = twheel_deadline(delay);
	return twheel_timer_rearm(&probe->timer, probe->deadline, mode);
}
