// SPDX-License-Identifier: GPL-2.0
/*
 * The torture module as a native program: the same load and the same checks on real CPUs.
 *
 * The options are its module parameters and options of the rig; see usage().
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <rig/mem.h>
#include <rig/time.h>

#include "rig.h"

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: torture [-s SECONDS] [-t THREADS] [-c CPUS] [-w WHEELS] [-p PURGATORIES]\n"
		"               [-o OPERATIONS] [-k CLOCK_MS] [-f N] [-S SEED] [-W]\n"
		"  -t  number of threads for timers, and for operations each\n"
		"  -o  operations of a purgatory that all threads share\n"
		"  -c  virtual CPUs, with an interrupt and a softirq thread each\n"
		"  -k  interval between changes of the realtime clock; 0: never\n"
		"  -f  one in N allocations and kthread creations fails\n"
		"  -W  stop at the first warning\n");
	exit(status);
}

struct options {
	unsigned long seconds, threads, cpus, wheels, purgatories, operations, clock_ms, seed;
};

static struct options parse(int argc, char **argv)
{
	struct options o = {
		.seconds = 10, .threads = 3, .cpus = 3, .wheels = 3, .purgatories = 2,
		.operations = 24, .clock_ms = 2000, .seed = ktime_get_ns() % 1000000007,
	};
	int option;

	while ((option = getopt(argc, argv, "s:t:c:w:p:o:k:f:S:Wh")) != -1) {
		unsigned long value = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (option) {
		case 's':
			o.seconds = value;
			break;
		case 't':
			o.threads = value;
			break;
		case 'c':
			o.cpus = value;
			break;
		case 'w':
			o.wheels = value;
			break;
		case 'p':
			o.purgatories = value;
			break;
		case 'o':
			o.operations = value;
			break;
		case 'k':
			o.clock_ms = value;
			break;
		case 'f':
			rig_fail_every = value;
			break;
		case 'W':
			rig_stop_at_warning = true;
			break;
		case 'S':
			o.seed = value ?: o.seed;
			break;
		default:
			usage(option == 'h' ? 0 : 2);
		}
	}
	return o;
}

static void set(const char *name, unsigned long value)
{
	rig_param_set("twheel_torture", name, value);
}

bool torture_failed(void);	/* torture/report.c */

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);

	rig_start(o.cpus, o.seed);
	printf("seed=%lu threads=%lu operations=%lu cpus=%lu\n", o.seed, o.threads,
	       o.operations, o.cpus);
	set("seconds", o.seconds);
	set("threads", o.threads);
	set("wheels", o.wheels);
	set("purgatories", o.purgatories);
	set("operations", o.operations);
	set("clock_interval_ms", o.clock_ms);
	set("onoff_interval_ms", 0);
	set("seed", o.seed);
	if (rig_module_init("twheel") || rig_module_init("twheel_torture"))
		return 2;
	/* Hanging threads still use the module. */
	if (torture_failed())
		return 1;
	rig_module_exit("twheel_torture");
	rig_module_exit("twheel");
	return rig_verdict();
}
