// SPDX-License-Identifier: GPL-2.0
/*
 * Suite irqs_off: the longest stretch with interrupts off while the given number of timers or
 * operations is under way, see irqs_probe.c. This takes an exact clock.
 *
 *	cascade		all timers move down three levels together and fire at one tick. The
 *			wheel has a tick of about 1 us and 64 slots per level:
 *
 *			level 3   |.......|bucket.|.......|	a slot is 268 ms
 *			level 2           |.x...|.....|		4.2 ms
 *			level 1             |.x.|		65 us
 *			level 0               |x		1 us
 *
 *	cascade_spread	they are spread over the span of their bucket
 *	burst		all timers are due at one tick
 *	clock_set	half of the timers are cancelled when CLOCK_REALTIME is set back; without
 *			the adds
 *	levels		the first timers of wheels with 1024 slots, one on each level
 *	keys		operations with one key each are added, so that the table grows; half of
 *			them are signalled, the others drained
 *	one_key		all operations watch one key, and are completed by one signal
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "ops.h"

#define BACK_S		3600
#define SPREAD_S	4295

/* Time to add a timer. While it waits for the deadlines, the probe takes instructions. */
#define ADD_NS		(2 * NSEC_PER_USEC)
#define LEAD_NS		(10 * NSEC_PER_MSEC)

/* The wheel of the cascades: the length of a slot, and the level of the bucket. */
#define SLOTS_SHIFT	6
#define SLOT_NS(level)	BIT_ULL(10 + (level) * SLOTS_SHIFT)
#define LEVEL		3

#define MOST_SLOTS	1024
#define LEVELS		3
#define WHEELS		200
#define STUCK_NS	(60 * NSEC_PER_SEC)

static atomic_t fired;

static void fire(struct twheel_timer *timer)
{
	atomic_inc(&fired);
}

static int wait_for(int wanted)
{
	u64 end = ktime_get_ns() + STUCK_NS;

	while (atomic_read(&fired) < wanted) {
		if (ktime_get_ns() > end)
			return -ETIMEDOUT;
		usleep_range(1000, 2000);
	}
	return 0;
}

/*
 * Add timers with deadlines from @from on, spread over @span. With @on_set, setting the clock
 * cancels half of them.
 */
static int timers_add(struct twheel *wheel, struct twheel_wall_timer *timer, u32 nr,
		      bool on_set, u64 from, u64 span)
{
	u64 deadline;
	u32 i;

	atomic_set(&fired, 0);
	for (i = 0; i < nr; i++) {
		twheel_wall_timer_init(&timer[i], wheel, fire,
				       on_set && i % 2 ? TWHEEL_TIMER_CANCEL_ON_SET : 0);
		deadline = from + mul_u64_u32_shr(span, hash_64(i, 32), 32);
		if (twheel_timer_add(&timer[i].timer, deadline))
			return -EIO;
		if (i % 1024 == 0)
			cond_resched();
	}
	return 0;
}

/* Run a load of timers on a wheel of its own. */
static int timers_load(const struct bench_config *config, const struct twheel_config *parameters,
		       int (*run)(const struct bench_config *config, struct twheel *wheel,
				  struct twheel_wall_timer *timer))
{
	struct twheel_wall_timer *timer = vcalloc(config->nr, sizeof(*timer));
	struct twheel *wheel;
	int err;

	if (!timer)
		return -ENOMEM;
	wheel = twheel_create(parameters);
	err = PTR_ERR_OR_ZERO(wheel);
	if (!err) {
		err = run(config, wheel, timer);
		twheel_stop(wheel, NULL, NULL);
		twheel_destroy(wheel);
	}
	vfree(timer);
	return err;
}

static int cascade_from(const struct bench_config *config, struct twheel *wheel,
			struct twheel_wall_timer *timer, u64 after, u64 span)
{
	u64 bucket = round_up(twheel_deadline(config->ahead_ns), SLOT_NS(LEVEL));

	return timers_add(wheel, timer, config->nr, false, bucket + after, span) ?:
	       wait_for(config->nr);
}

/* One slot further on each lower level, so that timers move through all levels. */
static int cascade(const struct bench_config *config, struct twheel *wheel,
		   struct twheel_wall_timer *timer)
{
	return cascade_from(config, wheel, timer, SLOT_NS(2) + SLOT_NS(1) + SLOT_NS(0), 0);
}

static int cascade_spread(const struct bench_config *config, struct twheel *wheel,
			  struct twheel_wall_timer *timer)
{
	return cascade_from(config, wheel, timer, 0, SLOT_NS(LEVEL));
}

static const struct twheel_config cascade_wheel = {
	.name		= "tw_bench",
	.tick_ns	= SLOT_NS(0),
	.slots		= BIT(SLOTS_SHIFT),
};

static int cascade_load(const struct bench_config *config)
{
	return timers_load(config, &cascade_wheel, cascade);
}

static int cascade_spread_load(const struct bench_config *config)
{
	return timers_load(config, &cascade_wheel, cascade_spread);
}

static int burst(const struct bench_config *config, struct twheel *wheel,
		 struct twheel_wall_timer *timer)
{
	u64 deadline = twheel_deadline(config->ahead_ns);

	return timers_add(wheel, timer, config->nr, false, deadline, 0) ?:
	       wait_for(config->nr);
}

static int burst_load(const struct bench_config *config)
{
	static const struct twheel_config parameters = { .name = "tw_bench" };

	return timers_load(config, &parameters, burst);
}

static int set_clock(s64 seconds)
{
	struct timespec64 time;

	ktime_get_real_ts64(&time);
	time.tv_sec += seconds;
	return do_settimeofday64(&time);
}

static int clock_set(const struct bench_config *config, struct twheel *wheel,
		     struct twheel_wall_timer *timer)
{
	int err = timers_add(wheel, timer, config->nr, true,
			     twheel_now(wheel) + BACK_S * NSEC_PER_SEC, SPREAD_S * NSEC_PER_SEC);

	if (err)
		return err;
	irqs_probe_stop();
	irqs_probe_start(config->seed);
	err = set_clock(-BACK_S) ?: wait_for(config->nr / 2);
	set_clock(BACK_S);
	return err;
}

static int clock_set_load(const struct bench_config *config)
{
	static const struct twheel_config parameters = {
		.name	= "tw_bench",
		.clock	= TWHEEL_CLOCK_REALTIME,
	};

	return timers_load(config, &parameters, clock_set);
}

static int levels(const struct bench_config *config, struct twheel *wheel,
		  struct twheel_wall_timer *timer)
{
	u64 span = twheel_tick_ns(wheel), now = twheel_now(wheel);
	int err = 0;
	u32 i;

	for (i = 0; i < config->nr && !err; i++) {
		span *= MOST_SLOTS;
		twheel_timer_init(&timer[i].timer, wheel, fire);
		err = twheel_timer_add(&timer[i].timer, now + span / 2);
	}
	return err;
}

static int levels_load(const struct bench_config *config)
{
	static const struct twheel_config parameters = {
		.name	= "tw_bench",
		.slots	= MOST_SLOTS,
	};
	const struct bench_config few = { .nr = LEVELS };
	unsigned int i;
	int err = 0;

	for (i = 0; i < WHEELS && !err; i++)
		err = timers_load(&few, &parameters, levels);
	return err;
}

static int ops_watch(u32 nr, bool one_key)
{
	struct twheel_watch_spec spec;
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		ops_unique_keys(&spec, 1, one_key ? 0 : i);
		err = ops_add(NULL, &spec, ops_far_deadline());
		if (i % 1024 == 0)
			cond_resched();
	}
	bench_ops.expected = TWHEEL_REASON_COMPLETED;
	return err;
}

static int ops_signal(u32 id, u32 wanted)
{
	const struct twheel_key key = { .v = { id } };
	u32 nr = twheel_signal_some(bench_ops.purgatory, &key, 1, 0, 0, TWHEEL_MAY_SLEEP);

	return nr == wanted ? 0 : -EIO;
}

static int keys(const struct bench_config *config)
{
	int err = ops_watch(config->nr, false);
	u32 i;

	for (i = 0; i < config->nr / 2 && !err; i++)
		err = ops_signal(i, 1);
	return err;
}

static int keys_load(const struct bench_config *config)
{
	return ops_start(1, config->seed) ?: ops_stop(keys(config));
}

static int one_key_load(const struct bench_config *config)
{
	return ops_start(1, config->seed) ?:
	       ops_stop(ops_watch(config->nr, true) ?: ops_signal(0, config->nr));
}

static const struct load {
	const char	*name;
	int		(*run)(const struct bench_config *config);
} loads[] = {
	{ "cascade",		cascade_load },
	{ "cascade_spread",	cascade_spread_load },
	{ "burst",		burst_load },
	{ "clock_set",		clock_set_load },
	{ "levels",		levels_load },
	{ "keys",		keys_load },
	{ "one_key",		one_key_load },
};

static int measure(const struct load *load, const struct bench_config *config)
{
	struct bench_config soon = *config;
	int err;

	if (!bench_wanted("twheel", load->name))
		return 0;
	soon.ahead_ns = LEAD_NS + config->nr * ADD_NS;
	irqs_probe_start(config->seed);
	err = load->run(&soon);
	irqs_probe_stop();
	if (err)
		return bench_failure("%s: error %d", load->name, err);
	irqs_probe_report(load->name, config->nr);
	return 0;
}

int irqs_off_suite(const struct bench_config *config)
{
	unsigned int rep, i;
	int err = 0;

	if (!config->exact) {
		bench_skip("-", "twheel", "longest", config->nr, "not-an-exact-clock");
		return 0;
	}
	for (rep = 0; rep < config->reps; rep++) {
		bench_repetition(rep);
		for (i = 0; i < ARRAY_SIZE(loads) && !err; i++)
			err = measure(&loads[i], config);
	}
	return err;
}
