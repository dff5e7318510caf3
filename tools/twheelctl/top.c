// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl top: a live view of a purgatory.
 */
#include <stdio.h>
#include <unistd.h>

#include "frames.h"
#include "pending.h"
#include "show.h"
#include "failure.h"
#include "units.h"

static const char top_help[] =
"usage: twheelctl -p NAME top [OPTION]...\n"
"\n"
"Shows the counts and rates of a purgatory and the operations that expire next, and\n"
"updates them every second. 'q' or ^C exits.\n"
"\n"
"  --count N        exit after N frames; 0, the default, means no limit\n"
"  --interval TIME  time between frames (1s)\n"
"  --rows N         number of operations, up to 32 (10)\n"
"  --json           print JSON, one frame per line\n"
"\n"
"It searches up to 4096 operations for the next deadlines of each frame.\n";

/* Maximum number of operations listed for a frame, to limit its cost. */
#define MAX_LISTED	4096

/**
 * struct top - a live view
 * @line: the command line
 * @fd: descriptor of the purgatory
 * @frames: the loop over the frames
 * @query: counts of this frame
 * @last: counts of the previous frame
 * @elapsed: time since the previous frame, in seconds; 0 in the first frame
 * @taken: time of the previous frame, in ns
 * @nearest: operations that expire next
 * @listed: number of operations searched for @nearest
 */
struct top {
	struct command_line *line;
	int fd;
	struct frames frames;
	struct twheel_query_args query;
	struct twheel_query_args last;
	double elapsed;
	__u64 taken;
	struct nearest nearest;
	long listed;
};

static bool take_frame(struct top *t)
{
	t->elapsed = t->taken ? (t->frames.taken - t->taken) / 1e9 : 0;
	t->taken = t->frames.taken;
	t->last = t->query;
	t->nearest.nr = 0;
	if (query_others(t->fd, &t->query))
		return false;
	t->listed = list_pending(t->fd, MAX_LISTED, keep_nearest, &t->nearest);
	return t->listed >= 0;
}

static double rate(const struct top *t, __u64 now, __u64 last)
{
	return (now - last) / t->elapsed;
}

static void print_rate(const struct top *t, const char *name, __u64 now, __u64 last)
{
	if (t->elapsed > 0)
		printf("%-10s  %12llu  %10.1f\n", name, now, rate(t, now, last));
	else
		printf("%-10s  %12llu  %10s\n", name, now, "-");
}

static void print_frame(const struct top *t)
{
	const struct twheel_query_args *q = &t->query, *last = &t->last;

	printf("%s: pending %llu of %u, detached %llu, unread %llu, ", q->name, q->pending,
	       q->max_pending, q->detached, q->detached_unread);
	printf("keys %llu, watches %llu, files %u\n\n", q->keys, q->watches, q->files);
	printf("%-10s  %12s  %10s\n", "", "SO FAR", "A SECOND");
	print_rate(t, "added", q->added, last->added);
	print_rate(t, "completed", q->completed, last->completed);
	print_rate(t, "expired", q->expired, last->expired);
	print_rate(t, "cancelled", q->cancelled, last->cancelled);
	print_rate(t, "rejected", q->rejected, last->rejected);
	putchar('\n');

	if (t->listed == MAX_LISTED)
		printf("of %ld operations:\n", t->listed);
	if (t->nearest.nr)
		print_pending_head();
	else
		puts("nothing expires");
	for (unsigned int i = 0; i < t->nearest.nr; i++)
		print_pending(&t->nearest.pending[i]);
	if (!t->frames.screen)
		putchar('\n');
}

static void set_rate(const struct top *t, json_t *object, const char *name, __u64 now, __u64 last)
{
	json_object_set_new(object, name,
			    t->elapsed > 0 ? json_real(rate(t, now, last)) : json_null());
}

static void print_frame_json(const struct top *t)
{
	const struct twheel_query_args *q = &t->query, *last = &t->last;
	json_t *object = json_query("frame", q), *next = json_array();

	set_rate(t, object, "added_rate", q->added, last->added);
	set_rate(t, object, "completed_rate", q->completed, last->completed);
	set_rate(t, object, "expired_rate", q->expired, last->expired);
	set_rate(t, object, "cancelled_rate", q->cancelled, last->cancelled);
	set_rate(t, object, "rejected_rate", q->rejected, last->rejected);
	for (unsigned int i = 0; i < t->nearest.nr; i++) {
		json_t *pending = json_pending(&t->nearest.pending[i]);

		json_object_set_new(pending, "keys", json_pending_keys(&t->nearest.pending[i]));
		json_array_append_new(next, pending);
	}
	json_object_set_new(object, "next", next);
	print_json(object);
}

static enum outcome show_frame(void *context)
{
	struct top *t = context;

	if (!take_frame(t))
		return refused(t->line, t->line->purgatory);
	if (t->line->json)
		print_frame_json(t);
	else
		print_frame(t);
	return OUTCOME_OK;
}

enum outcome top_command(struct command_line *line)
{
	struct number rows = { .value = 10 };
	struct top top = {
		.line = line,
		.frames = { .interval.value = NSEC_PER_SEC, .show = show_frame, .context = &top },
	};
	const struct option_spec specs[] = {
		{ "count", take_number, &top.frames.count, NUMBER_EXPECTED },
		{ "interval", take_time, &top.frames.interval, TIME_EXPECTED },
		{ "rows", take_number32, &rows, NUMBER32_EXPECTED },
		{ }
	};

	line->help = top_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	if (rows.value > MAX_NEAREST)
		return wrong_usage(line, "--rows: expected up to %d", MAX_NEAREST);
	top.fd = open_named(line, OPEN_READ_ONLY);
	if (top.fd < 0)
		return line->outcome;
	top.nearest.max = rows.value;
	line->outcome = show_frames(line, &top.frames);
	close(top.fd);
	return line->outcome;
}
