// SPDX-License-Identifier: GPL-2.0
/*
 * A probe for stretches with interrupts off.
 *
 * An hrtimer fires every few microseconds and records how late its interrupt was. An interrupt that
 * becomes due while interrupts are off is taken when they are on again, so the lateness is the rest
 * of that stretch. The longest lateness, less the smallest one, which is the cost of entering the
 * interrupt, approaches the longest stretch if similar stretches occur many times.
 *
 * This is exact only if the clock counts instructions and there is one CPU. Not recorded are
 * stretches with a tick of the kernel in them, and those that end in the idle task. A stretch
 * belongs to the module if interrupts were enabled by a function of twheel.ko or by one that it
 * called directly, such as spin_unlock_irq(). Other stretches are those of the kernel, for example
 * of its memory allocator, and are not reported.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <asm/irq_regs.h>

#include "../twheel/compat.h"
#include "bench.h"

/* Time between two interrupts: it must exceed the time that one takes. */
#define PERIOD_NS	3000
#define PERIOD_RANDOM	4096

#define DEPTH		24
#define SHOWN		8

/*
 * @late: the lateness
 * @stack: call chain at the end, the interrupted function first
 */
struct stretch {
	u64			late;
	unsigned long		stack[SHOWN];
};

/*
 * @timer: the probe
 * @random: state of the generator of the periods
 * @ticks: jiffies at the previous interrupt
 * @saved: the previous interrupt has saved a call chain
 * @least: smallest lateness
 * @module: longest stretch of the module
 * @kernel: lateness of the longest one of the kernel
 */
static struct irqs_probe {
	struct hrtimer		timer;
	struct rnd_state	random;
	unsigned long		ticks;
	bool			saved;
	u64			least;
	struct stretch		module;
	u64			kernel;
} probe;

/* Leave out the functions of the interrupt. */
static void save_stack(unsigned long *to)
{
#ifdef CONFIG_STACKTRACE
	struct pt_regs *regs = get_irq_regs();
	unsigned long stack[DEPTH];
	unsigned int i, nr = stack_trace_save(stack, DEPTH, 0), saved = 0;

	for (i = 0; regs && i < nr && saved < SHOWN; i++)
		if (saved || stack[i] == instruction_pointer(regs))
			to[saved++] = stack[i];
#endif
}

static bool is_of_module(const unsigned long *stack)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	for (i = 0; i < 2 && stack[i]; i++) {
		sprint_symbol(name, stack[i]);
		if (strstr(name, "[twheel]"))
			return true;
	}
	return false;
}

static void record(u64 late)
{
	struct stretch stretch = { .late = late };

	probe.least = min(probe.least, late);
	if (late <= min(probe.module.late, probe.kernel))
		return;
	probe.saved = true;
	save_stack(stretch.stack);
	if (!is_of_module(stretch.stack))
		probe.kernel = max(probe.kernel, late);
	else if (late > probe.module.late)
		probe.module = stretch;
}

static enum hrtimer_restart probe_fire(struct hrtimer *timer)
{
	u64 late = ktime_get_ns() - ktime_to_ns(hrtimer_get_expires(timer)), next;
	unsigned long ticks = jiffies;
	bool saved = probe.saved;

	/* Saving a call chain takes so long that the kernel may defer the next interrupt. */
	probe.saved = false;
	if (ticks == probe.ticks && !saved && !is_idle_task(current))
		record(late);
	probe.ticks = ticks;
	next = PERIOD_NS + prandom_u32_state(&probe.random) % PERIOD_RANDOM;
	hrtimer_set_expires(timer, ns_to_ktime(ktime_get_ns() + next));
	return HRTIMER_RESTART;
}

/* Start the probe on this CPU. */
void irqs_probe_start(u64 seed)
{
	probe = (struct irqs_probe){ .least = U64_MAX, .ticks = jiffies };
	prandom_seed_state(&probe.random, seed);
	twheel_hrtimer_setup(&probe.timer, probe_fire, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS_PINNED_HARD);
	hrtimer_start(&probe.timer, ns_to_ktime(ktime_get_ns() + PERIOD_NS),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Stop the probe. */
void irqs_probe_stop(void)
{
	hrtimer_cancel(&probe.timer);
}

/* Report the longest stretch of the module, and where it ended. */
void irqs_probe_report(const char *name, u64 pending)
{
	const struct stretch *longest = &probe.module;
	unsigned int i;

	if (!longest->late)
		return;
	bench_sample_ns(name, "twheel", "longest", pending, longest->late - probe.least, 1);
	for (i = 0; i < SHOWN && longest->stack[i]; i++)
		pr_info("#	%pS\n", (void *)longest->stack[i]);
}
