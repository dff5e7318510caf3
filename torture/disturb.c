// SPDX-License-Identifier: GPL-2.0
/*
 * Disturbances of pending timers: CPUs go offline and online, and the wall clock is
 * set forwards and backwards.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>

#include "torture.h"

atomic_t torture_offlined, torture_clock_steps;

/* CPUs */

#ifdef CONFIG_HOTPLUG_CPU

/* CPU 0 stays online: some platforms need it, and one CPU must remain. */
static void toggle_cpu(unsigned int cpu)
{
	if (!cpu || !cpu_is_hotpluggable(cpu))
		return;
	if (cpu_online(cpu)) {
		if (!remove_cpu(cpu))
			atomic_inc(&torture_offlined);
	} else {
		add_cpu(cpu);
	}
}

/* Whether any CPU can be taken offline. */
bool torture_can_unplug(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (cpu && cpu_is_hotpluggable(cpu))
			return true;
	return false;
}

#else

static void toggle_cpu(unsigned int cpu)
{
}

bool torture_can_unplug(void)
{
	return false;
}

#endif /* CONFIG_HOTPLUG_CPU */

static void toggle_random_cpu(struct rnd_state *rng)
{
	unsigned int cpu, nr = torture_below(rng, num_present_cpus());

	for_each_present_cpu(cpu) {
		if (!nr--) {
			toggle_cpu(cpu);
			return;
		}
	}
}

static void online_all_cpus(void)
{
	unsigned int cpu;

	for_each_present_cpu(cpu)
		if (!cpu_online(cpu))
			toggle_cpu(cpu);
}

/* Thread function: takes CPUs offline and online again. */
void torture_unplugger(struct torture_thread *thread)
{
	while (!torture_should_stop()) {
		torture_step(thread, "toggle a CPU");
		toggle_random_cpu(&thread->rng);
		torture_sleep(torture_onoff_ms);
	}
	online_all_cpus();
}

/* The wall clock */

/* Serialises changes of the clock. */
static DEFINE_MUTEX(clock_lock);

/* Sequence counter of the changes: odd while one is in progress. */
static atomic_t clock_sets;

/* The time of the wall clock just before each of the last changes. */
#define PEAKS	64
static atomic64_t peaks[PEAKS];

/* Current offset from the correct time. Protected by clock_lock. */
static s64 clock_offset;

/* Set the clock to the correct time plus @offset. */
static bool set_clock(s64 offset)
{
	unsigned int number = atomic_read(&clock_sets) / 2 + 1;
	u64 monotonic = ktime_get_ns(), real = ktime_get_real_ns();
	struct timespec64 to = ns_to_timespec64(real - clock_offset + offset);
	bool was_set;

	atomic_inc(&clock_sets);
	smp_mb();	/* pairs with the read barriers of the checks */
	was_set = !do_settimeofday64(&to);
	if (was_set) {
		clock_offset = offset;
		atomic_inc(&torture_clock_steps);
	}
	/* The clock ran on until it was set. */
	atomic64_set(&peaks[number % PEAKS], real + (ktime_get_ns() - monotonic));
	smp_mb();	/* the change precedes its count */
	atomic_inc(&clock_sets);
	return was_set;
}

/*
 * Step the clock by a random amount, and sometimes back at once. Return: false if the
 * kernel refuses.
 */
bool torture_set_clock(struct rnd_state *rng)
{
	static const s64 max_step[] = {
		10 * NSEC_PER_MSEC, 3 * NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
	};
	s64 span = max_step[torture_below(rng, ARRAY_SIZE(max_step))];
	s64 before, offset = (s64)torture_below(rng, 2001) - 1000;
	bool was_set;

	mutex_lock(&clock_lock);
	before = clock_offset;
	was_set = set_clock(div_s64(span, 1000) * offset);
	if (was_set && !torture_below(rng, 3))
		set_clock(before);
	mutex_unlock(&clock_lock);
	return was_set;
}

/* Until the release, the clock is not set. */
void torture_hold_clock(void)
{
	mutex_lock(&clock_lock);
}

void torture_release_clock(void)
{
	mutex_unlock(&clock_lock);
}

/* Restore the correct time, except for the delay of each change. */
void torture_reset_clock(void)
{
	mutex_lock(&clock_lock);
	if (clock_offset)
		set_clock(0);
	mutex_unlock(&clock_lock);
}

/* Return: the number of changes of the clock so far, -1 while one is in progress. */
int torture_clock_seq(void)
{
	int seq = atomic_read(&clock_sets);

	return seq & 1 ? -1 : seq / 2;
}

/*
 * Whether the clock may have shown @time after change number @seq and before the last
 * change. Also true if that is unknown.
 */
bool torture_clock_reached(int seq, u64 time)
{
	int i, now = torture_clock_seq();

	smp_rmb();	/* read the peaks after the count; pairs with set_clock() */
	if (seq < 0 || now < 0 || now - seq >= PEAKS)
		return true;
	for (i = seq + 1; i <= now; i++)
		if (time <= (u64)atomic64_read(&peaks[i % PEAKS]))
			return true;
	return false;
}

/* Thread function: sets the clock. */
void torture_clock_setter(struct torture_thread *thread)
{
	while (!torture_should_stop()) {
		torture_step(thread, "set the clock");
		torture_set_clock(&thread->rng);
		torture_sleep(torture_clock_ms / 2 + torture_below(&thread->rng, torture_clock_ms));
	}
}
