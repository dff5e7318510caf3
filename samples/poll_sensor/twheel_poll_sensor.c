// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: sensors that are polled at a fixed rate.
 *
 * The callback of a sensor arms its timer again. Reading a sensor may take longer than a period;
 * the next poll then counts the missed periods. Slow callbacks delay other timers of
 * the same wheel, so the module has a private one, with a short tick. It uses
 * CLOCK_BOOTTIME: a suspend counts as missed periods.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. The load
 * fails with -EIO unless each period was either polled or counted as missed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#define SENSORS		4
#define POLLS		20
#define PERIOD_NS	(4 * NSEC_PER_MSEC)
#define IS_SLOW(poll)	((poll) % 8 == 4)

struct sensor {
	struct twheel_timer	timer;
	u64			start;		/* deadline of the first poll */
	u64			next;		/* deadline of the next poll */
	u64			polls, missed;
	u64			polled_at;	/* end of the last poll */
	bool			unplugged;
	unsigned int		wrong;
	struct completion	polled;		/* POLLS times */
};

static struct twheel *wheel;
static struct sensor sensor[SENSORS];

/* Each deadline before the end of the previous poll is counted, and none in the future. */
static bool count_valid(const struct sensor *s)
{
	u64 last = s->start + (s->polls + s->missed - 1) * PERIOD_NS;

	return last <= twheel_now(wheel) && last + PERIOD_NS > s->polled_at;
}

static void sensor_poll(struct twheel_timer *timer)
{
	struct sensor *s = container_of(timer, struct sensor, timer);

	s->polls++;
	s->missed += twheel_forward(&s->next, twheel_now(wheel), PERIOD_NS) - 1;
	s->wrong += s->unplugged || !count_valid(s);
	if (IS_SLOW(s->polls))
		usleep_range(10000, 12000);
	s->polled_at = twheel_now(wheel);
	if (s->polls == POLLS)
		complete(&s->polled);
	/* Refused after the shutdown. */
	twheel_timer_add(timer, s->next);
}

static int sensor_plug(struct sensor *s)
{
	init_completion(&s->polled);
	s->start = twheel_deadline_on(wheel, PERIOD_NS);
	s->next = s->start;
	twheel_timer_init(&s->timer, wheel, sensor_poll);
	return twheel_timer_add(&s->timer, s->start);
}

/* Afterwards the callback is not running and will not run: the sensor could be freed. */
static void sensor_unplug(struct sensor *s)
{
	twheel_timer_shutdown_sync(&s->timer);
	s->unplugged = true;
}

/* Unplug the first sensor while the others are polled. */
static int run(void)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < SENSORS && !err; n++)
		err = sensor_plug(&sensor[n]);
	/* The timeout only limits a failing run, which report() detects. */
	for (n = 0; n < SENSORS && !err; n++) {
		wait_for_completion_timeout(&sensor[n].polled, 30 * HZ);
		if (!n)
			sensor_unplug(&sensor[n]);
	}
	return err;
}

static int report(void)
{
	u64 polls = 0, missed = 0;
	unsigned int n, wrong = 0;
	struct twheel_stats stats;

	for (n = 0; n < SENSORS; n++) {
		polls += sensor[n].polls;
		missed += sensor[n].missed;
		wrong += sensor[n].wrong || sensor[n].polls < POLLS;
	}
	twheel_get_stats(wheel, &stats);
	wrong += stats.pending || stats.fired != polls;
	pr_info("%llu polls, %llu missed, %u incorrect\n", polls, missed, wrong);
	return wrong ? -EIO : 0;
}

static int __init poll_sensor_init(void)
{
	const struct twheel_config config = {
		.name		= "sensors",
		.tick_ns	= 100 * NSEC_PER_USEC,
		.clock		= TWHEEL_CLOCK_BOOTTIME,
	};
	int err;

	wheel = twheel_create(&config);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = run();
	/* Cancels all timers of the wheel, and waits for a running callback. */
	twheel_stop(wheel, NULL, NULL);
	err = err ?: report();
	twheel_destroy(wheel);
	return err;
}

static void __exit poll_sensor_exit(void)
{
}

module_init(poll_sensor_init);
module_exit(poll_sensor_exit);

MODULE_DESCRIPTION("twheel sample: sensors that are polled at a fixed rate");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
