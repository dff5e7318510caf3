// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl wheel: the wheels with the timers in their slots.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "buckets.h"
#include "failure.h"
#include "frames.h"
#include "options.h"
#include "units.h"

static const char wheel_help[] =
"usage: twheelctl wheel [OPTION]...\n"
"\n"
"Shows each wheel that has pending timers: a row of slots for each level, with the number\n"
"of timers in each slot.\n"
"\n"
"  .  empty     >  the current slot     1 to 9  timers\n"
"  0  emptied by cancels     x  10 timers or more, c  100, m  1000\n"
"\n"
"  --watch          show it again every second; 'q' or ^C exits\n"
"  --interval TIME  time between frames (1s)\n"
"  --count N        exit after N frames; 0, the default, means no limit\n"
"  --json           print JSON, one wheel per line\n"
"\n"
"Requires root and debugfs. It counts the timers one by one: with millions of them, use it\n"
"sparingly.\n";

#define BUCKETS	"/sys/kernel/debug/twheel/buckets"

/**
 * struct wheel_view - a view of the wheels
 * @line: the command line
 * @frames: the loop over the frames
 */
struct wheel_view {
	struct command_line *line;
	struct frames frames;
};

static void print_wheel(const struct wheel_view *view, const struct bucket_queue *queue)
{
	if (view->line->json) {
		print_buckets_json(queue);
		return;
	}
	print_buckets(queue);
	putchar('\n');
}

static enum outcome show_wheels(void *context)
{
	const struct wheel_view *view = context;
	struct bucket_queue *list;
	size_t unknown;
	long nr;

	nr = read_buckets(BUCKETS, &list, &unknown);
	if (nr < 0) {
		fprintf(stderr, "twheelctl wheel: cannot open " BUCKETS
			": %s; it requires root and debugfs: mount -t debugfs none /sys/kernel/debug\n",
			strerror(errno));
		return OUTCOME_DEVICE;
	}
	for (long i = 0; i < nr; i++)
		print_wheel(view, &list[i]);
	if (!nr && !view->line->json)
		puts("no pending timer");
	free_buckets(list, nr);
	if (!unknown)
		return OUTCOME_OK;
	fprintf(stderr, "twheelctl wheel: %zu lines of " BUCKETS " have an unknown format\n",
		unknown);
	return OUTCOME_DEVICE;
}

enum outcome wheel_command(struct command_line *line)
{
	bool watch = false;
	struct wheel_view view = {
		.line = line,
		.frames = { .interval.value = NSEC_PER_SEC, .show = show_wheels, .context = &view },
	};
	const struct option_spec specs[] = {
		{ "watch", NULL, &watch, NULL },
		{ "interval", take_time, &view.frames.interval, TIME_EXPECTED },
		{ "count", take_number, &view.frames.count, NUMBER_EXPECTED },
		{ }
	};

	line->help = wheel_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "shows the wheels of all purgatories, so -p has no use");
	if (!watch && (view.frames.interval.given || view.frames.count.given))
		return wrong_usage(line, "--interval and --count require --watch");
	if (!device_present())
		return OUTCOME_DEVICE;
	if (!watch)
		return show_wheels(&view);
	return show_frames(line, &view.frames);
}
