// SPDX-License-Identifier: GPL-2.0
/*
 * The torture module as a native program: the same load and the same checks on real CPUs.
 *
 * The arguments are NAME=VALUE: parameters of the module, see torture/torture.c, and
 *
 *	cpus	virtual CPUs, with an interrupt and a softirq thread each
 *	fail	one in this many allocations and kthread creations fails
 *	stop	stop at the first warning
 */
#include <stdio.h>

#include "program.h"

static void set(const char *name, unsigned long value)
{
	rig_param_set("twheel_torture", name, value);
}

/* The first CPU stays online, so the rig has no hotplug. */
static void set_parameters(char **argv)
{
	static const char * const names[] = {
		"wheels", "purgatories", "operations", "clock_interval_ms",
	};
	unsigned long value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (rig_param_get("twheel_torture", names[i], &value))
			set(names[i], program_option(argv, names[i], value));
	set("seconds", program_option(argv, "seconds", 10));
	set("threads", program_option(argv, "threads", 3));
	set("onoff_interval_ms", 0);
}

bool torture_failed(void);	/* torture/report.c */

int main(int argc, char **argv)
{
	unsigned long seed = program_option(argv, "seed", ktime_get_ns() % 1000000007);

	rig_fail_every = program_option(argv, "fail", 0);
	rig_stop_at_warning = program_option(argv, "stop", 0);
	set_parameters(argv);
	set("seed", seed);
	program_start(program_option(argv, "cpus", 3), seed);
	if (rig_module_init("twheel_torture"))
		return 2;
	/* Hanging threads still use the module. */
	if (torture_failed())
		return 1;
	rig_module_exit("twheel_torture");
	return program_end();
}
