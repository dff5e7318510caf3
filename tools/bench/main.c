// SPDX-License-Identifier: GPL-2.0
/*
 * twheel_bench: compare /dev/twheel with other ways to manage many deadlines in user
 * space. This file parses the options and sets the limits.
 *
 * The output has one line per sample. A contender that is not available or reaches a
 * limit is skipped, and the reason is printed. If an operation ended early, twice or
 * never, the exit status is 1 and the final line of the suite is missing. Low speed is
 * not an error. Run it as root, which is allowed to raise the limits on descriptors and
 * signals.
 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

static const char help[] =
"usage: twheel_bench [OPTION]...\n"
"\n"
"  --pending N        number of pending operations, at least 64 (10000)\n"
"  --reps N           repetitions (5)\n"
"  --only NAME,...    contenders to run: twheel, timerfd, posix_timer, io_uring, or a\n"
"                     single case such as io_uring/batch64\n"
"  --exact            the clock counts instructions: report them, and discard a first\n"
"                     repetition; stop a figure after 100 ms\n"
"  --no-memory        do not measure memory\n"
"  --quick            fewer operations, no memory\n";

static void refuse(const char *text)
{
	fprintf(stderr, "twheel_bench: invalid number or option: %s\n%s", text, help);
	exit(2);
}

static unsigned int parse_number(const char *text, unsigned int least)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end || end == text || number < least || number > 100000000)
		refuse(text);
	return number;
}

static void parse_one(struct options *options, int code)
{
	switch (code) {
	case 'p':
		options->pending = parse_number(optarg, 64);
		break;
	case 'r':
		options->repetitions = parse_number(optarg, 1);
		break;
	case 'o':
		options->only = optarg;
		break;
	case 'e':
		options->budget_ns = 100 * NSEC_PER_MSEC;
		exact = true;
		break;
	case 'm':
		options->memory = false;
		break;
	case 'q':
		options->repetitions = 2;
		options->operations = 1000;
		options->budget_ns = 100 * NSEC_PER_MSEC;
		options->memory = false;
		break;
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		exit(2);
	}
}

static void parse_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "pending", required_argument, NULL, 'p' },
		{ "reps", required_argument, NULL, 'r' },
		{ "only", required_argument, NULL, 'o' },
		{ "exact", no_argument, NULL, 'e' },
		{ "no-memory", no_argument, NULL, 'm' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int code;

	while ((code = getopt_long(argc, argv, "", names, NULL)) != -1)
		parse_one(options, code);
	if (optind != argc)
		refuse(argv[optind]);
}

/* Raise a limit as far as permitted. Contenders that need more are skipped. */
static void raise_limit(int which, rlim_t limit)
{
	struct rlimit now, both = { limit, limit };

	if (!setrlimit(which, &both) || getrlimit(which, &now))
		return;
	now.rlim_cur = now.rlim_max;
	setrlimit(which, &now);
}

static void raise_limits(const struct options *options)
{
	/* Some more for other files. */
	unsigned int most = options->pending + 100;

	raise_limit(RLIMIT_NOFILE, most);
	/* Deleted timers count until RCU has freed them. */
	raise_limit(RLIMIT_SIGPENDING, 4 * most);
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

static void pin_to_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("twheel_bench: cannot set the CPU affinity");
}

/*
 * With this policy the kernel's threads preempt the program, which then reads full batches. So the
 * number of instructions does not depend on the scheduler's choices.
 */
static void yield_to_kernel(void)
{
	static const struct sched_param param;

	if (sched_setscheduler(0, SCHED_IDLE, &param))
		perror("twheel_bench: cannot set the scheduling policy");
}

int main(int argc, char **argv)
{
	struct options options = {
		.pending = 10000,
		.repetitions = 5,
		.operations = 20000,
		.budget_ns = NSEC_PER_SEC,
		.memory = true,
	};

	parse_options(&options, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	raise_limits(&options);
	pin_to_cpu();
	if (exact)
		yield_to_kernel();
	run_suite(&options);
	if (failed)
		return 1;
	puts("end suite=device");
	return 0;
}
