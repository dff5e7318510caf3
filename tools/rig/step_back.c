// SPDX-License-Identifier: GPL-2.0
/*
 * The function of a timer sets CLOCK_REALTIME back by an hour and adds another timer, due in
 * a second.  The hrtimer core uses the time read before the step until the end of its
 * interrupt: an alarm that rearmed itself for the second timer would fire continuously for
 * that second.
 */
#include <stdio.h>

#include <linux/twheel.h>
#include <rig/time.h>

#include "rig.h"

#define BACK	(3600 * NSEC_PER_SEC)
#define SOON	(50 * NSEC_PER_MSEC)
#define WAIT	NSEC_PER_SEC
/* Many more than required, and far fewer than are possible in the time. */
#define MAX_ALARMS	100

static struct twheel *wheel;
static struct twheel_timer first, second;
static bool over;
static unsigned long alarms;

static void end(struct twheel_timer *timer)
{
	alarms = rig_alarms - alarms;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
}

static void set_back(struct twheel_timer *timer)
{
	struct timespec64 time = ns_to_timespec64(twheel_now(wheel) - BACK);

	alarms = rig_alarms;
	do_settimeofday64(&time);
	if (twheel_timer_add(&second, twheel_now(wheel) + WAIT))
		printf("step_back: FAILURE: the second timer was not added\n");
}

int main(void)
{
	const struct twheel_config config = { .clock = TWHEEL_CLOCK_REALTIME, .shards = 1 };

	rig_start(2, 1);
	if (rig_module_init("twheel"))
		return 1;
	wheel = twheel_create(&config);
	twheel_timer_init_flags(&first, wheel, set_back, TWHEEL_TIMER_INLINE);
	twheel_timer_init_flags(&second, wheel, end, TWHEEL_TIMER_INLINE);
	if (twheel_timer_add(&first, twheel_now(wheel) + SOON))
		return 1;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		msleep(1);
	twheel_timer_shutdown_sync(&first);
	twheel_timer_shutdown_sync(&second);
	twheel_destroy(wheel);
	rig_module_exit("twheel");
	if (alarms > MAX_ALARMS)
		printf("step_back: FAILURE: the alarm was armed %lu times\n", alarms);
	if (rig_verdict() || alarms > MAX_ALARMS)
		return 1;
	printf("step_back: SUCCESS: the alarm was armed %lu times\n", alarms);
	return 0;
}
