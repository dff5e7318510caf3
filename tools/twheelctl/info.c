// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl info: describes an operation, or prints the counts of a purgatory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "twheelctl.h"

static const char info_help[] =
"usage: twheelctl -p NAME info [ID] [--json]\n"
"\n"
"Describes an operation, with each of its keys: the number of the key in events, and\n"
"the signals that it still needs. Without an ID, prints the counts and limits of the\n"
"purgatory and of each queue of detached operations.\n"
"\n"
"Exits with 1 if the operation does not exist or has ended.\n";

static void print_key(const struct twheel_watch_spec *spec, __u32 condition)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];

	printf("key %-7u %s", spec->bit, twheel_key_format(spec->key, text));
	if (condition == TWHEEL_COND_SUM)
		putchar('\n');
	else if (spec->need)
		printf(", needs %u signal%s\n", spec->need, spec->need == 1 ? "" : "s");
	else
		puts(", satisfied");
}

static void print_info(const struct twheel_pending *p, const struct twheel_watch_spec *keys)
{
	char time[TIME_TEXT_SIZE];

	printf("operation   %llu", p->id);
	if (p->flags & TWHEEL_PENDING_DETACHED)
		printf(", detached, queue %u", p->queue);
	putchar('\n');
	if (p->flags & TWHEEL_PENDING_IDLE)
		puts("deadline    none while its cell is idle");
	else if (p->remaining > INT64_MAX)
		puts("deadline    never");
	else
		printf("deadline    in %s (%s%s%s)\n", format_time(time, p->remaining),
		       clock_name(p->clock),
		       p->flags & TWHEEL_PENDING_CELL ? ", in a cell" : "",
		       p->flags & TWHEEL_PENDING_CANCEL_ON_SET ? ", cancelled if that is set" : "");
	if (p->period) {
		printf("period      %s", format_time(time, p->period));
		if (p->flags & TWHEEL_PENDING_FIXED_DELAY)
			fputs(", from the read of the previous event", stdout);
		if (p->runs)
			printf(", %llu left", p->runs);
		putchar('\n');
	}
	printf("condition   %s", condition_name(p->condition));
	if (p->condition == TWHEEL_COND_SUM)
		printf(", %llu missing", p->missing);
	else if (p->condition != TWHEEL_COND_NONE)
		printf(", %llu of its %u key%s missing", p->missing, p->nr_keys,
		       p->nr_keys == 1 ? "" : "s");
	putchar('\n');
	for (__u32 i = 0; i < p->nr_keys && i < TWHEEL_MAX_KEYS; i++)
		print_key(&keys[i], p->condition);
}

static enum outcome info_operation(struct command_line *line, int fd, __u64 id)
{
	struct twheel_watch_spec keys[TWHEEL_MAX_KEYS];
	struct twheel_pending pending;

	if (twheel_info(fd, id, &pending, keys, TWHEEL_MAX_KEYS))
		return refused(line, line->args[0]);
	if (line->json)
		print_json(json_info(&pending, keys));
	else
		print_info(&pending, keys);
	return OUTCOME_OK;
}

static void print_queue(const struct twheel_queue_args *queue, __u32 max)
{
	char age[TIME_TEXT_SIZE];

	printf("queue %-5u %u of %u pending or unread", queue->queue, queue->ops, max);
	if (queue->unread)
		printf(", %u unread, the oldest for %s", queue->unread,
		       format_time(age, queue->oldest_unread_ns));
	if (queue->unconfirmed)
		printf(", %u unconfirmed, the oldest read %s ago", queue->unconfirmed,
		       format_time(age, queue->oldest_unconfirmed_ns));
	putchar('\n');
}

static void print_counts(const struct twheel_query_args *q)
{
	char tick[TIME_TEXT_SIZE];

	printf("purgatory   %s\n", q->name);
	printf("pending     %llu of %u, %llu of them detached\n", q->pending, q->max_pending,
	       q->detached);
	printf("unread      %llu detached\n", q->detached_unread);
	printf("per file    %u at most\n", q->max_file_pending);
	printf("user        %u of %u operations, %u of %u files\n", q->user_ops,
	       q->user_max_ops, q->user_files, q->user_max_files);
	printf("keys        %llu, watched %llu times\n", q->keys, q->watches);
	printf("files       %u\n", q->files);
	printf("added       %llu, and %llu rejected\n", q->added, q->rejected);
	printf("completed   %llu\n", q->completed);
	printf("expired     %llu\n", q->expired);
	printf("cancelled   %llu\n", q->cancelled);
	printf("tick        %s, %llu wake-ups\n", format_time(tick, q->tick_ns), q->wakeups);
}

static enum outcome info_counts(struct command_line *line, int fd)
{
	struct twheel_queue_args *queues;
	struct twheel_query_args query;
	json_t *object, *array;
	long nr = query_others(fd, &query) ? -1 : read_queues(fd, &queues);

	if (nr < 0)
		return refused(line, line->purgatory);
	if (line->json) {
		object = json_query("purgatory", &query);
		array = json_array();
		for (long i = 0; i < nr; i++)
			json_array_append_new(array, json_queue(&queues[i]));
		json_object_set_new(object, "queues", array);
		print_json(object);
	} else {
		print_counts(&query);
		for (long i = 0; i < nr; i++)
			print_queue(&queues[i], query.max_queue);
	}
	free(queues);
	return OUTCOME_OK;
}

enum outcome info_command(struct command_line *line)
{
	__u64 id;
	int fd;

	if (!take_arguments(line, info_help, NULL, 0, 1))
		return line->outcome;
	if (line->nr && !parse_count(line->args[0], UINT64_MAX, &id))
		return wrong_usage(line, "expected the ID of an operation, got '%s'",
				   line->args[0]);
	fd = open_named(line, O_RDONLY);
	if (fd < 0)
		return line->outcome;
	line->outcome = line->nr ? info_operation(line, fd, id) : info_counts(line, fd);
	close(fd);
	return line->outcome;
}
