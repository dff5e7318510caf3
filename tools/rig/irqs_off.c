// SPDX-License-Identifier: GPL-2.0
/*
 * The longest time with interrupts off: while a lock is held with interrupts off, and in the
 * alarm, the only code of the module in hard interrupt context.
 *
 *	cascade		all timers are due at the same tick, just after a bucket of level 3
 *			expires: each one moves three times and fires
 *	cascade_spread	deadlines are spread over the span of the bucket, in an order that is
 *			independent of the memory layout
 *	clock_set	half of the timers are cancelled when CLOCK_REALTIME is set back, on a wheel
 *			with 1024 slots; half of the timers are inline
 *	machine		a loop that does nothing: interruptions of the program by the machine
 *
 * Times are CPU times of the thread, so that they do not include other threads, and do not
 * include spinning for a lock. They do include interrupts of the real CPU, and the time in which
 * a virtual machine loses its CPU.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/hash.h>
#include <linux/twheel.h>
#include <rig/time.h>

#include "rig.h"

#define CPUS		2
#define AHEAD		NSEC_PER_SEC
#define BACK		(3600 * NSEC_PER_SEC)
#define MACHINE_NS	(3 * NSEC_PER_SEC)
#define TICK_SHIFT	10
#define SLOTS_SHIFT	6
#define LEVEL		3
#define SLOT_NS(level)	BIT_ULL(TICK_SHIFT + (level) * SLOTS_SHIFT)

static unsigned int nr = 1000000, repetitions = 5;
static struct twheel_clock_timer *timers;
static struct twheel *wheel;
static atomic_t fired;
static u64 expires;		/* the bucket of cascade and cascade_spread */

static void fail(const char *message)
{
	printf("FAILURE: %s\n", message);
	exit(1);
}

static void fn(struct twheel_timer *timer)
{
	atomic_inc(&fired);
}

static void create(const struct twheel_config *config)
{
	wheel = twheel_create(config);
	if (IS_ERR(wheel))
		fail("twheel_create");
	atomic_set(&fired, 0);
}

static void add(u64 (*deadline)(unsigned int i), unsigned int (*flags)(unsigned int i))
{
	unsigned int i, of;

	for (i = 0; i < nr; i++) {
		of = flags ? flags(i) : 0;
		if (of & TWHEEL_TIMER_CANCEL_ON_SET)
			twheel_clock_timer_init(&timers[i], wheel, fn, of & TWHEEL_TIMER_INLINE);
		else
			twheel_timer_init_flags(&timers[i].timer, wheel, fn, of);
		if (twheel_timer_add(&timers[i].timer, deadline(i)))
			fail("twheel_timer_add");
	}
}

static void wait_for(unsigned int wanted)
{
	while (atomic_read(&fired) < (int)wanted)
		msleep(1);
}

/* One slot further on each lower level. */
static u64 one_tick(unsigned int i)
{
	return expires + SLOT_NS(2) + SLOT_NS(1) + SLOT_NS(0);
}

static u64 spread(unsigned int i)
{
	return expires + ((u64)hash_64(i, LEVEL * SLOTS_SHIFT) << TICK_SHIFT);
}

static void cascade(u64 (*deadline)(unsigned int i))
{
	const struct twheel_config config = {
		.tick_ns = SLOT_NS(0), .slots = BIT(SLOTS_SHIFT), .shards = 1,
	};

	create(&config);
	expires = roundup(twheel_now(wheel) + AHEAD, SLOT_NS(LEVEL));
	add(deadline, NULL);
	wait_for(nr);
}

static void run_cascade(void)
{
	cascade(one_tick);
}

static void run_cascade_spread(void)
{
	cascade(spread);
}

static u64 distant(unsigned int i)
{
	return expires + (hash_64(i, 32) + 1) * NSEC_PER_MSEC;
}

static unsigned int on_set_or_inline(unsigned int i)
{
	return (i & 1 ? TWHEEL_TIMER_CANCEL_ON_SET : 0) | (i & 2 ? 0 : TWHEEL_TIMER_INLINE);
}

static void run_clock_set(void)
{
	const struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME, .slots = 1024, .shards = 1,
	};
	struct timespec64 time;

	create(&config);
	expires = twheel_now(wheel) + BACK;
	add(distant, on_set_or_inline);
	time = ns_to_timespec64(twheel_now(wheel) - BACK);
	do_settimeofday64(&time);
	wait_for(nr / 2);
	twheel_stop(wheel, NULL, NULL);
}

static void run_machine(void)
{
	u64 end = ktime_get_ns() + MACHINE_NS;
	unsigned int spin;

	while (ktime_get_ns() < end) {
		rig_irqs_off();
		for (spin = 0; spin < 1000; spin++)
			barrier();
		rig_irqs_on();
	}
}

static const struct load {
	const char *name;
	void (*run)(void);
} loads[] = {
	{ "cascade", run_cascade },
	{ "cascade_spread", run_cascade_spread },
	{ "clock_set", run_clock_set },
	{ "machine", run_machine },
};

static void sample(const struct load *load, const char *figure, const char *unit, u64 value)
{
	printf("sample suite=irqs_off case=%s of=%s what=%s pending=%u unit=%s value=%llu\n",
	       load->name, load->run == run_machine ? "machine" : "twheel", figure, nr, unit,
	       value);
}

static void report(const struct load *load)
{
	static const unsigned int from_us[] = { 0, 1, 5, 10, 15, 20, 50, RIG_IRQS_OFF_US };
	char figure[32];
	unsigned int i, us;
	u64 count;

	sample(load, "longest", "ns", rig_irqs_off_longest);
	for (i = 0; i + 1 < ARRAY_SIZE(from_us); i++) {
		count = 0;
		for (us = from_us[i]; us < from_us[i + 1]; us++)
			count += rig_irqs_off_counts[us];
		snprintf(figure, sizeof(figure), "from_%02u_us", from_us[i]);
		sample(load, figure, "count", count);
	}
}

static void run(const struct load *load)
{
	rig_irqs_off_reset();
	wheel = NULL;
	load->run();
	report(load);
	if (wheel)
		twheel_destroy(wheel);
}

int main(int argc, char **argv)
{
	unsigned int i, rep;
	int option;

	while ((option = getopt(argc, argv, "n:r:")) != -1) {
		switch (option) {
		case 'n':
			nr = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			repetitions = strtoul(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	rig_start(CPUS, 1);
	timers = calloc(nr, sizeof(*timers));
	if (!timers || rig_module_init("twheel"))
		return 2;
	printf("begin suite=irqs_off pending=%u\n", nr);
	for (rep = 0; rep < repetitions; rep++)
		for (i = 0; i < ARRAY_SIZE(loads); i++)
			run(&loads[i]);
	printf("end suite=irqs_off\n");
	rig_module_exit("twheel");
	return !!rig_verdict();
}
