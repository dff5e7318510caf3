// SPDX-License-Identifier: GPL-2.0
/*
 * What upsets the machine while timers wait: CPUs that come and go, and a wall
 * clock that is set forwards and backwards.
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

/* The boot CPU stays: some platforms can't do without, and one has to be left. */
static void turn(unsigned int cpu)
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

/* Whether there are CPUs that can come and go. */
bool torture_can_unplug(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (cpu && cpu_is_hotpluggable(cpu))
			return true;
	return false;
}

#else

static void turn(unsigned int cpu)
{
}

bool torture_can_unplug(void)
{
	return false;
}

#endif /* CONFIG_HOTPLUG_CPU */

static void turn_any(struct rnd_state *rng)
{
	unsigned int cpu, nr = torture_below(rng, num_present_cpus());

	for_each_present_cpu(cpu) {
		if (!nr--) {
			turn(cpu);
			return;
		}
	}
}

static void turn_all_on(void)
{
	unsigned int cpu;

	for_each_present_cpu(cpu)
		if (!cpu_online(cpu))
			turn(cpu);
}

/* A thread that takes CPUs offline and online again. */
void torture_unplugger(struct torture_thread *thread)
{
	while (!torture_over()) {
		torture_step(thread, "turn a CPU on or off");
		turn_any(&thread->rng);
		torture_nap(torture_onoff_ms);
	}
	turn_all_on();
}

/* The wall clock */

/* Serialises who sets it. */
static DEFINE_MUTEX(clock_lock);

/* How often it was set, twice: odd while it is. */
static atomic_t clock_sets;

/* The latest time that it showed before each of the last times that it was set. */
#define PEAKS	64
static atomic64_t peaks[PEAKS];

/* By how much it is wrong now. Protected by clock_lock. */
static s64 clock_wrong;

/* Make the clock wrong by so much. */
static bool set_clock(s64 wrong)
{
	unsigned int number = atomic_read(&clock_sets) / 2 + 1;
	u64 monotonic = ktime_get_ns(), real = ktime_get_real_ns();
	struct timespec64 to = ns_to_timespec64(real - clock_wrong + wrong);
	bool was_set;

	atomic_inc(&clock_sets);
	smp_mb();	/* pairs with the barriers of the judges */
	was_set = !do_settimeofday64(&to);
	if (was_set) {
		clock_wrong = wrong;
		atomic_inc(&torture_clock_steps);
	}
	/* It went on until it was set. */
	atomic64_set(&peaks[number % PEAKS], real + (ktime_get_ns() - monotonic));
	smp_mb();	/* it had been set before this says so */
	atomic_inc(&clock_sets);
	return was_set;
}

/* Set the clock, by little or by much, maybe to undo it at once. False if the kernel refuses. */
bool torture_set_clock(struct rnd_state *rng)
{
	static const s64 most[] = {
		10 * NSEC_PER_MSEC, 3 * NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
	};
	s64 span = most[torture_below(rng, ARRAY_SIZE(most))];
	s64 before, wrong = (s64)torture_below(rng, 2001) - 1000;
	bool was_set;

	mutex_lock(&clock_lock);
	before = clock_wrong;
	was_set = set_clock(div_s64(span, 1000) * wrong);
	if (was_set && !torture_below(rng, 3))
		set_clock(before);
	mutex_unlock(&clock_lock);
	return was_set;
}

/* Set the clock right again, but for what it took to set it so often. */
void torture_reset_clock(void)
{
	mutex_lock(&clock_lock);
	if (clock_wrong)
		set_clock(0);
	mutex_unlock(&clock_lock);
}

/* How often the clock was set; -1 while it is just being. */
int torture_clock_seq(void)
{
	int sets = atomic_read(&clock_sets);

	return sets & 1 ? -1 : sets / 2;
}

/*
 * Whether the clock may have shown a time before it was last set, but after it had been
 * set @sets times. Also true if that is not known.
 */
bool torture_clock_reached(int sets, u64 time)
{
	int i, now = torture_clock_seq();

	smp_rmb();	/* the peaks are at least as new; pairs with set_clock() */
	if (sets < 0 || now < 0 || now - sets >= PEAKS)
		return true;
	for (i = sets + 1; i <= now; i++)
		if (time <= (u64)atomic64_read(&peaks[i % PEAKS]))
			return true;
	return false;
}

/* A thread that sets the clock. */
void torture_clock_setter(struct torture_thread *thread)
{
	while (!torture_over()) {
		torture_step(thread, "set the clock");
		torture_set_clock(&thread->rng);
		torture_nap(torture_clock_ms / 2 + torture_below(&thread->rng, torture_clock_ms));
	}
}
