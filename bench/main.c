// SPDX-License-Identifier: GPL-2.0
/*
 * In-kernel benchmarks of twheel. They use only exported symbols.
 *
 * Loading the module runs one suite, which compares twheel with its peers, and prints its figures
 * to the kernel log in the format described in report.c. The load fails if a timer was early, lost,
 * or called twice. It never fails because of low speed: see Documentation/performance.rst for the
 * figures.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "bench.h"

static char *suite = "timer";
module_param(suite, charp, 0444);
MODULE_PARM_DESC(suite, "suite to run (default timer)");

static unsigned int reps = 5;
module_param(reps, uint, 0444);
MODULE_PARM_DESC(reps, "repetitions per contender of a suite (default 5)");

static bool exact;
module_param(exact, bool, 0444);
MODULE_PARM_DESC(exact, "the clock counts instructions: report them, and discard a first repetition of each suite (default no)");

static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "comma-separated list of contenders, or contender/case, to run in a suite (default all)");

static bool quick;
module_param(quick, bool, 0444);
MODULE_PARM_DESC(quick, "skip the long parts of a suite (default no)");

static unsigned int nr = 1000000;
module_param(nr, uint, 0444);
MODULE_PARM_DESC(nr, "number of timers or operations (default 1000000)");

static const struct {
	const char	*name;
	int		(*run)(const struct bench_config *config);
} suites[] = {
	{ "timer",		timer_suite },
	{ "memory",		memory_suite },
	{ "purgatory",		purgatory_suite },
	{ "peers",		peers_suite },
	{ "irqs_off",		irqs_off_suite },
};

/* The last line marks a complete suite. */
static int __init bench_init(void)
{
	const struct bench_config config = {
		.nr		= nr,
		.reps		= reps + exact,
		.seed		= 1,
		.quick		= quick,
		.exact		= exact,
	};
	unsigned int i;
	int err;

	bench_report(suite, exact, only);
	for (i = 0; i < ARRAY_SIZE(suites) && nr && reps; i++) {
		if (strcmp(suites[i].name, suite))
			continue;
		/* Everything of a suite runs on one CPU. */
		set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
		err = suites[i].run(&config);
		if (!err)
			pr_info("end suite=%s\n", suite);
		return err;
	}
	pr_err("no such suite: suite=%s nr=%u reps=%u\n", suite, nr, reps);
	return -EINVAL;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("In-kernel benchmarks of twheel");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
