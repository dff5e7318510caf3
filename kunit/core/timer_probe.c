// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel and timers for the suites of timers. See timer_probe.h.
 */
#include <linux/preempt.h>
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
	probe->fired = twheel_now(timer_wheel);
	probe->error = twheel_timer_error(timer);
	probe->nr_fired++;
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
	if (probe->again) {
		probe->again--;
		probe->deadline = 0;
		if (probe->after_ns)
			probe->deadline = twheel_deadline_on(timer_wheel, probe->after_ns);
		twheel_timer_rearm(timer, probe->deadline, TWHEEL_REARM_ALWAYS);
	}
	probe->running = false;
}

void timer_probe_init_flags(struct timer_probe *probe, unsigned int flags)
{
	memset(probe, 0, sizeof(*probe));
	probe->after_ns = NSEC_PER_MSEC;
	twheel_wall_timer_init(container_of(&probe->timer, struct twheel_wall_timer, timer),
			       timer_wheel, probe_fired, flags);
}

void timer_probe_init(struct timer_probe *probe)
{
	timer_probe_init_flags(probe, 0);
}

int timer_probe_add_at(struct timer_probe *probe, u64 deadline)
{
	probe->deadline = deadline;
	return twheel_timer_add(&probe->timer, deadline);
}

int timer_probe_add(struct timer_probe *probe, u64 delay)
{
	return timer_probe_add_at(probe, twheel_deadline_on(timer_wheel, delay));
}

int timer_probe_rearm(struct timer_probe *probe, u64 delay, enum twheel_rearm mode)
{
	probe->deadline = twheel_deadline_on(timer_wheel, delay);
	return twheel_timer_rearm(&probe->timer, probe->deadline, mode);
}

void expect_on_time(struct kunit *test, const struct timer_probe *probe)
{
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe->error, 0);
	KUNIT_EXPECT_GE(test, probe->fired, probe->deadline);
	KUNIT_EXPECT_LE(test, probe->fired,
			probe->deadline + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
}

int timer_suite_start(struct kunit *test, const struct twheel_config *config)
{
	timer_wheel = twheel_create(config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
	return 0;
}

int timer_suite_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };

	return timer_suite_start(test, &config);
}

void timer_suite_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	twheel_destroy(timer_wheel);
}

void timer_suite_restart(struct kunit *test, const struct twheel_config *config)
{
	twheel_destroy(timer_wheel);
	timer_suite_start(test, config);
}
