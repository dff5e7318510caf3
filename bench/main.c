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

struct bench_config bench_config = {
	.suite	= "timer",
	.nr	= 1000000,
	.reps	= 5,
	.seed	= 1,
};

module_param_named(suite, bench_config.suite, charp, 0444);
MODULE_PARM_DESC(suite, "suite to run (default timer)");

module_param_named(reps, bench_config.reps, uint, 0444);
MODULE_PARM_DESC(reps, "repetitions per contender of a suite (default 5)");

module_param_named(exact, bench_config.exact, bool, 0444);
MODULE_PARM_DESC(exact, "the clock counts instructions: report them, and discard a first repetition of each suite (default no)");

module_param_named(only, bench_config.only, charp, 0444);
MODULE_PARM_DESC(only, "comma-separated list of contenders, or contender/case, to run in a suite (default all)");

module_param_named(quick, bench_config.quick, bool, 0444);
MODULE_PARM_DESC(quick, "skip the long parts of a suite (default no)");

module_param_named(nr, bench_config.nr, uint, 0444);
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
	struct bench_config *config = &bench_config;
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(suites) && config->nr && config->reps; i++) {
		if (strcmp(suites[i].name, config->suite))
			continue;
		config->reps += config->exact;
		/* Everything of a suite runs on one CPU. */
		set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
		err = suites[i].run(config);
		if (!err)
			pr_info("end suite=%s\n", config->suite);
		return err;
	}
	pr_err("no such suite: suite=%s nr=%u reps=%u\n", config->suite, config->nr, config->reps);
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
