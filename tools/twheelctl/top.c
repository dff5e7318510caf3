// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl top: a live view of a purgatory.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "twheelctl.h"

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

#define MAX_ROWS	32

/**
 * struct top - a live view
 * @frames: the loop over the frames; the first member, see show_frame()
 * @fd: descriptor of the purgatory
 * @query: counts of this frame
 * @last: counts of the previous frame
 * @elapsed: time since the previous frame, in seconds; 0 in the first frame
 * @taken: time of the previous frame, in ns
 * @rows: number of operations to show
 * @listed: number of operations searched for those that expire next
 * @pending: these operations, sorted by deadline
 */
struct top {
	struct frames frames;
	int fd;
	struct twheel_query_args query;
	struct twheel_query_args last;
	double elapsed;
	__u64 taken;
	struct number rows;
	unsigned int listed;
	struct twheel_pending pending[MAX_LISTED];
};

/* For list_pending(). */
static void keep_pending(const struct twheel_pending *pending, void *top)
{
	struct top *t = top;

	t->pending[t->listed++] = *pending;
}

/* For qsort(); TWHEEL_NEVER is the greatest time. */
static int compare_deadlines(const void *first, const void *second)
{
	const struct twheel_pending *a = first, *b = second;

	return (a->remaining > b->remaining) - (a->remaining < b->remaining);
}

/* Return: the number of operations to show. */
static unsigned int nr_rows(const struct top *t)
{
	unsigned int nr = 0;

	while (nr < t->rows.value && nr < t->listed && t->pending[nr].remaining != TWHEEL_NEVER)
		nr++;
	return nr;
}

/* The counts with rates, and their names. */
static const struct {
	const char *name;
	const char *rate;
	size_t offset;
} counts[] = {
	{ "added", "added_rate", offsetof(struct twheel_query_args, added) },
	{ "completed", "completed_rate", offsetof(struct twheel_query_args, completed) },
	{ "expired", "expired_rate", offsetof(struct twheel_query_args, expired) },
	{ "cancelled", "cancelled_rate", offsetof(struct twheel_query_args, cancelled) },
	{ "rejected", "rejected_rate", offsetof(struct twheel_query_args, rejected) },
};

static __u64 count_of(const struct twheel_query_args *query, size_t i)
{
	return *(const __u64 *)((const char *)query + counts[i].offset);
}

/* Only from the second frame on. */
static double rate_of(const struct top *t, size_t i)
{
	return (count_of(&t->query, i) - count_of(&t->last, i)) / t->elapsed;
}

static void print_frame(const struct top *t)
{
	const struct twheel_query_args *q = &t->query;

	printf("%s: pending %llu of %u, detached %llu, unread %llu, ", q->name, q->pending,
	       q->max_pending, q->detached, q->detached_unread);
	printf("keys %llu, watches %llu, files %u\n\n", q->keys, q->watches, q->files);
	printf("%-10s  %12s  %10s\n", "", "SO FAR", "A SECOND");
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		printf("%-10s  %12llu  ", counts[i].name, count_of(q, i));
		if (t->elapsed > 0)
			printf("%10.1f\n", rate_of(t, i));
		else
			printf("%10s\n", "-");
	}
	putchar('\n');

	if (t->listed == MAX_LISTED)
		printf("of %u operations:\n", t->listed);
	if (nr_rows(t))
		print_pending_head();
	else
		puts("nothing expires");
	for (unsigned int i = 0; i < nr_rows(t); i++)
		print_pending(&t->pending[i]);
	if (!t->frames.screen)
		putchar('\n');
}

static void print_frame_json(const struct top *t)
{
	json_t *object = json_query("frame", &t->query), *next = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_object_set_new(object, counts[i].rate,
				    t->elapsed > 0 ? json_real(rate_of(t, i)) : json_null());
	for (unsigned int i = 0; i < nr_rows(t); i++)
		json_array_append_new(next, json_pending(&t->pending[i]));
	json_object_set_new(object, "next", next);
	print_json(object);
}

static enum outcome show_frame(struct frames *frames)
{
	struct top *t = (struct top *)frames;

	t->elapsed = t->taken ? (frames->taken - t->taken) / 1e9 : 0;
	t->taken = frames->taken;
	t->last = t->query;
	t->listed = 0;
	if (query_others(t->fd, &t->query) ||
	    list_pending(t->fd, MAX_LISTED, keep_pending, t) < 0)
		return refused(frames->line, frames->line->purgatory);
	qsort(t->pending, t->listed, sizeof(*t->pending), compare_deadlines);
	if (frames->line->json)
		print_frame_json(t);
	else
		print_frame(t);
	return OUTCOME_OK;
}

enum outcome top_command(struct command_line *line)
{
	struct top top = {
		.rows.value = 10,
		.frames = { .line = line, .interval.value = NSEC_PER_SEC, .show = show_frame },
	};
	const struct option_spec specs[] = {
		{ "count", take_number, &top.frames.count, NUMBER_EXPECTED },
		{ "interval", take_time, &top.frames.interval, TIME_EXPECTED },
		{ "rows", take_number32, &top.rows, NUMBER32_EXPECTED },
		{ }
	};

	if (!take_arguments(line, top_help, specs, 0, 0))
		return line->outcome;
	if (top.rows.value > MAX_ROWS)
		return wrong_usage(line, "--rows: expected up to %d", MAX_ROWS);
	top.fd = open_named(line, O_RDONLY);
	if (top.fd < 0)
		return line->outcome;
	line->outcome = show_frames(&top.frames);
	close(top.fd);
	return line->outcome;
}
