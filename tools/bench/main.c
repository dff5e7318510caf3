// SPDX-License-Identifier: GPL-2.0
/*
 * twheel_bench: /dev/twheel beside the other ways to wait for many deadlines from user space,
 * in one run. Options, limits and the last word.
 *
 * Prints a line for each sample; a contender that is not there or comes to a limit is passed
 * over with a line that says why. Exits with 1 and without the line that ends the suite if
 * anything came early, twice or never: not for being slow. Run it as root, which may raise
 * the limits on descriptors and signals.
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
"  --pending N,N...   how many operations are pending, 64 at least (1000,10000,100000)\n"
"  --reps N           repetitions (5)\n"
"  --ops N            operations that each figure is of (20000)\n"
"  --budget MS        unless these take longer than that (1000)\n"
"  --only NAME,...    only these: twheel, timerfd, posix_timer, io_uring, heap_timerfd,\n"
"                     or one case of one, such as io_uring/batch64\n"
"  --skip NAME,...    all but these\n"
"  --cpu N            the CPU to run on (0)\n"
"  --no-memory        do not measure memory\n"
"  --neighbours       measure the lateness of one user beside another instead\n"
"  --quick            1000 and 10000 pending, few of everything, no memory\n";

static void refuse(const char *what)
{
	fprintf(stderr, "twheel_bench: wrong number or option: %s\n%s", what, help);
	exit(2);
}

static unsigned int take_number(const char *text, unsigned int least, char **end)
{
	unsigned long number = strtoul(text, end, 10);

	if (*end == text || number < least || number > 100000000)
		refuse(text);
	return number;
}

static unsigned int take_option(const char *text, unsigned int least)
{
	char *end;
	unsigned int number = take_number(text, least, &end);

	if (*end)
		refuse(text);
	return number;
}

static void take_pending(struct options *options, const char *text)
{
	char *end;

	options->nr_pending = 0;
	do {
		if (options->nr_pending == ARRAY_SIZE(options->pending))
			refuse(text);
		options->pending[options->nr_pending++] = take_number(text, 64, &end);
		text = end + 1;
	} while (*end == ',');
	if (*end)
		refuse(text);
}

static void be_quick(struct options *options)
{
	take_pending(options, "1000,10000");
	options->repetitions = 2;
	options->operations = 1000;
	options->budget_ns = 100 * NSEC_PER_MSEC;
	options->memory = false;
}

static void take_one(struct options *options, int code)
{
	switch (code) {
	case 'p':
		take_pending(options, optarg);
		break;
	case 'r':
		options->repetitions = take_option(optarg, 1);
		break;
	case 'n':
		options->operations = take_option(optarg, 1);
		break;
	case 'b':
		options->budget_ns = take_option(optarg, 1) * NSEC_PER_MSEC;
		break;
	case 'o':
		options->only = optarg;
		break;
	case 's':
		options->skip = optarg;
		break;
	case 'm':
		options->memory = false;
		break;
	case 'u':
		options->neighbours = true;
		break;
	case 'q':
		be_quick(options);
		break;
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		exit(2);
	}
}

static void take_options(struct options *options, int argc, char **argv, unsigned int *cpu)
{
	static const struct option names[] = {
		{ "pending", required_argument, NULL, 'p' },
		{ "reps", required_argument, NULL, 'r' },
		{ "ops", required_argument, NULL, 'n' },
		{ "budget", required_argument, NULL, 'b' },
		{ "only", required_argument, NULL, 'o' },
		{ "skip", required_argument, NULL, 's' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "no-memory", no_argument, NULL, 'm' },
		{ "neighbours", no_argument, NULL, 'u' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int code;

	while ((code = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (code == 'c')
			*cpu = take_option(optarg, 0);
		else
			take_one(options, code);
	}
	if (optind != argc)
		refuse(argv[optind]);
}

static void write_limit(const char *path, unsigned int limit)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return;
	fprintf(file, "%u\n", limit);
	fclose(file);
}

/* As far as we may: whoever needs more is passed over. */
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
	unsigned int most = 0;

	for (unsigned int i = 0; i < options->nr_pending; i++)
		if (options->pending[i] > most)
			most = options->pending[i];
	/* And some for whatever else there is. */
	most += 100;
	if (most > 1048576)
		write_limit("/proc/sys/fs/nr_open", most);
	raise_limit(RLIMIT_NOFILE, most);
	/* Timers that were deleted count until RCU has freed them. */
	raise_limit(RLIMIT_SIGPENDING, 4 * most);
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

static void stay_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("twheel_bench: cannot stay on one CPU");
}

int main(int argc, char **argv)
{
	struct options options = {
		.pending = { 1000, 10000, 100000 },
		.nr_pending = 3,
		.repetitions = 5,
		.operations = 20000,
		.budget_ns = NSEC_PER_SEC,
		.memory = true,
	};
	unsigned int cpu = 0;

	take_options(&options, argc, argv, &cpu);
	setvbuf(stdout, NULL, _IOLBF, 0);
	raise_limits(&options);
	stay_on(cpu);
	if (options.neighbours) {
		set_suite("neighbours");
		run_neighbours(&options);
	} else {
		run_suite(&options);
	}
	if (has_failed())
		return 1;
	end_suite();
	return 0;
}
