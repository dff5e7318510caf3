// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl top: a live view of a purgatory.
 *
 * On a terminal, each frame replaces the previous one, and 'q' exits. Otherwise,
 * frames are printed one after another as plain text.
 */
#include <stdint.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "interrupt.h"
#include "options.h"
#include "output.h"
#include "pending.h"
#include "show.h"
#include "nearest.h"
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

#define CLEAR		"\033[H\033[2J"

/**
 * struct top - a live view
 * @line: the command line
 * @fd: descriptor of the purgatory
 * @interval: time between frames, in ns
 * @screen: standard output is a terminal
 * @keys: standard input is a terminal and is read for 'q'
 * @query: counts of this frame
 * @last: counts of the previous frame
 * @elapsed: time since the previous frame, in seconds; 0 in the first frame
 * @taken: time of @query, in ns
 * @nearest: operations that expire next
 * @listed: number of operations searched for @nearest
 */
struct top {
	struct command_line *line;
	int fd;
	__u64 interval;
	bool screen;
	bool keys;
	struct twheel_query_args query;
	struct twheel_query_args last;
	double elapsed;
	__u64 taken;
	struct nearest nearest;
	long listed;
};

static bool take_frame(struct top *t)
{
	__u64 now = now_ns();

	t->elapsed = t->taken ? (now - t->taken) / 1e9 : 0;
	t->taken = now;
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

	if (t->screen)
		fputs(CLEAR, stdout);
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
	if (!t->screen)
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

/* Waits until the next frame. Return: true to exit. */
static bool wait_for_end(const struct top *t)
{
	struct pollfd input = { .fd = t->keys ? STDIN_FILENO : -1, .events = POLLIN };
	__u64 until = t->taken + t->interval;
	char key;

	for (__u64 now = now_ns(); now < until && !interrupted(); now = now_ns()) {
		struct timespec timeout = to_timespec(until - now);

		if (wait_or_interrupt(&input, 1, &timeout) > 0 && input.revents &&
		    (read(STDIN_FILENO, &key, 1) != 1 || key == 'q'))
			return true;
	}
	return interrupted();
}

static enum outcome show_frames(struct top *t, __u64 count)
{
	while (count--) {
		if (!take_frame(t))
			return refused(t->line, t->line->purgatory);
		if (t->line->json)
			print_frame_json(t);
		else
			print_frame(t);
		if (!flush_output())
			return OUTCOME_DEVICE;
		if (count && wait_for_end(t))
			break;
	}
	return OUTCOME_OK;
}

/* Keys are read without line buffering and echo; the terminal is restored at the end. */
static enum outcome show_on(struct top *t, __u64 count)
{
	struct termios before, raw;
	enum outcome outcome;

	t->screen = isatty(STDOUT_FILENO) && !t->line->json;
	/* In the background, changing the terminal would stop this process. */
	t->keys = t->screen && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
		  !tcgetattr(STDIN_FILENO, &before);
	if (t->keys) {
		raw = before;
		raw.c_lflag &= ~(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	outcome = show_frames(t, count);
	if (t->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return outcome;
}

enum outcome top_command(struct command_line *line)
{
	struct number interval = { .value = NSEC_PER_SEC }, rows = { .value = 10 };
	struct number count = { };
	const struct option_spec specs[] = {
		{ "count", take_number, &count, NUMBER_EXPECTED },
		{ "interval", take_time, &interval, TIME_EXPECTED },
		{ "rows", take_number32, &rows, NUMBER32_EXPECTED },
		{ }
	};
	struct top top = { .line = line };

	line->help = top_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	if (rows.value > MAX_NEAREST)
		return wrong_usage(line, "--rows: expected up to %d", MAX_NEAREST);
	top.fd = open_named(line, OPEN_READ_ONLY);
	if (top.fd < 0)
		return line->outcome;
	top.interval = interval.value;
	top.nearest.max = rows.value;
	catch_interrupts();
	line->outcome = show_on(&top, count.value ?: UINT64_MAX);
	close(top.fd);
	return line->outcome;
}
