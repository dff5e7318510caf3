// SPDX-License-Identifier: GPL-2.0
/*
 * CLOCK_REALTIME is set back by an hour.
 *
 *  - The function of a timer does this and adds another timer, due in a second. The hrtimer core
 *    uses the time read before the step until the end of its interrupt: an alarm that rearmed
 *    itself for the second timer would fire continuously for that second.
 *  - The clock is set back just after it has shown the deadline of two timers, and before the
 *    tick to which the deadline was rounded up. They fire nevertheless.
 *  - A timer that a step cancels is re-armed after the step: the re-arm is refused.
 */
#include <stdio.h>

#include "program.h"

#define BACK	(3600 * NSEC_PER_SEC)
#define SOON	(50 * NSEC_PER_MSEC)
#define WAIT	NSEC_PER_SEC
/* Many more than required, and far fewer than are possible in the time. */
#define MAX_ALARMS	100
#define ROUNDS	40

static struct twheel *wheel;
static struct twheel_timer first, second;
static struct twheel_clock_timer cancelled;
static bool over;
static unsigned long alarms;
static unsigned int fired;

static void set(s64 by)
{
	struct timespec64 time = ns_to_timespec64(twheel_now(wheel) + by);

	do_settimeofday64(&time);
}

static void end(struct twheel_timer *timer)
{
	alarms = rig_alarms - alarms;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
}

static void set_back(struct twheel_timer *timer)
{
	alarms = rig_alarms;
	set(-BACK);
	expect(!twheel_timer_add(&second, twheel_now(wheel) + WAIT),
	       "the second timer was not added");
}

static void alarm_follows(void)
{
	twheel_timer_init_flags(&first, wheel, set_back, TWHEEL_TIMER_INLINE);
	twheel_timer_init_flags(&second, wheel, end, TWHEEL_TIMER_INLINE);
	expect(!twheel_timer_add(&first, twheel_now(wheel) + SOON),
	       "the first timer was not added");
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		msleep(1);
	twheel_timer_shutdown_sync(&first);
	twheel_timer_shutdown_sync(&second);
	expect(alarms <= MAX_ALARMS, "the alarm was armed again and again");
}

static void count(struct twheel_timer *timer)
{
	__atomic_add_fetch(&fired, 1, __ATOMIC_RELAXED);
}

static void exact_deadline_decides(void)
{
	u64 tick = twheel_tick_ns(wheel), deadline;
	unsigned int round, ms;

	twheel_timer_init(&first, wheel, count);
	twheel_timer_init_flags(&second, wheel, count, TWHEEL_TIMER_INLINE);
	for (round = 0; round < ROUNDS; round++) {
		fired = 0;
		deadline = (twheel_now(wheel) / tick + 4) * tick + 1;
		twheel_timer_add(&first, deadline);
		twheel_timer_add(&second, deadline);
		while (twheel_now(wheel) < deadline)
			;
		set(-BACK);
		for (ms = 0; ms < 2000 && __atomic_load_n(&fired, __ATOMIC_RELAXED) != 2; ms++)
			msleep(1);
		expect(ms < 2000, "a timer that was due did not fire");
		twheel_timer_cancel_sync(&first);
		twheel_timer_cancel_sync(&second);
	}
}

static void rearm_is_refused(void)
{
	unsigned int round;

	twheel_clock_timer_init(&cancelled, wheel, count, 0);
	for (round = 0; round < ROUNDS; round++) {
		twheel_timer_add(&cancelled.timer, twheel_now(wheel) + BACK);
		set(-BACK);
		/* The reaper may have called the function already. */
		expect(twheel_timer_rearm(&cancelled.timer, twheel_now(wheel) + 2 * BACK,
					  TWHEEL_REARM_IF_PENDING) != 1,
		       "a re-arm has hidden a step");
		twheel_timer_cancel_sync(&cancelled.timer);
	}
}

int main(void)
{
	const struct twheel_config config = { .clock = TWHEEL_CLOCK_REALTIME, .shards = 1 };

	program_start(2, 1);
	wheel = twheel_create(&config);
	alarm_follows();
	exact_deadline_decides();
	rearm_is_refused();
	twheel_destroy(wheel);
	if (program_end())
		return 1;
	printf("step_back: SUCCESS: the alarm was armed %lu times\n", alarms);
	return 0;
}
