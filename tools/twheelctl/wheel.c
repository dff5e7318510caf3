// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl wheel: the wheels with the timers in their slots.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twheelctl.h"

/* Time of a queue without a next bucket, or without an alarm. */
#define TICK_NEVER	(~0ULL)

/* The kernel counts this number of timers of a list at most. */
#define MOST_COUNTED	32

/**
 * struct bucket - a bucket of a wheel
 * @level: level, from 0
 * @slot: slot of the level
 * @expires: tick at which it expires
 * @timers: number of timers, up to MOST_COUNTED; 0 if cancels have emptied it
 */
struct bucket {
	unsigned int level;
	unsigned int slot;
	__u64 expires;
	__u64 timers;
};

/**
 * struct bucket_queue - a wheel of a shard with its buckets
 * @clock: name of the clock
 * @shard: number of the shard
 * @tick_ns: length of a tick
 * @slots: slots of a level
 * @levels: number of levels
 * @time: time of the clock, in ticks
 * @now: current tick of the wheel, which stays behind while nothing happens
 * @next: tick of the next bucket, or TICK_NEVER
 * @alarm: tick of the alarm of the shard, or TICK_NEVER; 0 if it is about to expire
 * @asleep: 1 if the reaper has nothing to do
 * @pending: pending timers of the shard
 * @due: timers that are due, up to MOST_COUNTED
 * @never: timers without a deadline, likewise
 * @cascaded: moves to another bucket
 * @name: name of the wheel, without control characters
 * @nr: number of entries in @buckets
 * @buckets: the buckets, by level and slot
 */
struct bucket_queue {
	char clock[16];
	unsigned int shard;
	__u64 tick_ns;
	unsigned int slots;
	unsigned int levels;
	__u64 time;
	__u64 now;
	__u64 next;
	__u64 alarm;
	unsigned int asleep;
	__u64 pending;
	__u64 due;
	__u64 never;
	__u64 cascaded;
	char name[32];
	size_t nr;
	struct bucket *buckets;
};

/* Slots of a row; a level may have several rows. */
#define ROW_SLOTS	64

static __u64 parse_tick(const char *text)
{
	return strcmp(text, "never") ? strtoull(text, NULL, 10) : TICK_NEVER;
}

static bool parse_queue(const char *line, struct bucket_queue *queue)
{
	char next[24], alarm[24];
	int nr;

	memset(queue, 0, sizeof(*queue));
	nr = sscanf(line,
		    "clock=%15s shard=%u tick_ns=%llu slots=%u levels=%u time=%llu now=%llu next=%23s alarm=%23s asleep=%u pending=%llu due=%llu never=%llu cascaded=%llu name=%31[^\n]",
		    queue->clock, &queue->shard, &queue->tick_ns, &queue->slots, &queue->levels,
		    &queue->time, &queue->now, next, alarm, &queue->asleep, &queue->pending,
		    &queue->due, &queue->never, &queue->cascaded, queue->name);
	if (nr != 15 || !queue->slots || queue->slots > 1024 || queue->levels > 64)
		return false;
	queue->next = parse_tick(next);
	queue->alarm = parse_tick(alarm);
	/* The name is chosen by a module. */
	make_printable(queue->name);
	return true;
}

static bool parse_bucket(const char *line, struct bucket_queue *queue)
{
	struct bucket bucket;

	if (sscanf(line, " level=%u slot=%u expires=%llu timers=%llu", &bucket.level, &bucket.slot,
		   &bucket.expires, &bucket.timers) != 4 ||
	    bucket.level >= queue->levels || bucket.slot >= queue->slots)
		return false;
	queue->buckets = must_realloc(queue->buckets, queue->nr + 1, sizeof(bucket));
	queue->buckets[queue->nr++] = bucket;
	return true;
}

/*
 * Reads the queues that have timers or buckets from a file in debugfs, see
 * twheel/core/buckets.c. @list is freed by free_buckets(); @unknown is set to the number of lines
 * that cannot be parsed.
 * Return: number of queues; -1 with errno set if the file cannot be read.
 */
static long read_buckets(const char *path, struct bucket_queue **list, size_t *unknown)
{
	FILE *file = fopen(path, "re");
	struct bucket_queue queue;
	size_t size = 0, nr = 0;
	char *line = NULL;

	*list = NULL;
	*unknown = 0;
	if (!file)
		return -1;
	while (getline(&line, &size, file) >= 0) {
		if (parse_queue(line, &queue)) {
			*list = must_realloc(*list, nr + 1, sizeof(queue));
			(*list)[nr++] = queue;
		} else if (!nr || !parse_bucket(line, &(*list)[nr - 1])) {
			++*unknown;
		}
	}
	free(line);
	fclose(file);
	return nr;
}

static void free_buckets(struct bucket_queue *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(list[i].buckets);
	free(list);
}

static const struct bucket *find_bucket(const struct bucket_queue *queue, unsigned int level,
					unsigned int slot)
{
	for (const struct bucket *bucket = queue->buckets; bucket < queue->buckets + queue->nr;
	     bucket++)
		if (bucket->level == level && bucket->slot == slot)
			return bucket;
	return NULL;
}

/* The number of timers as one character. */
static char bucket_sign(const struct bucket *bucket)
{
	if (bucket->timers < 10)
		return '0' + bucket->timers;
	return bucket->timers < MOST_COUNTED ? 'x' : '+';
}

static const char *or_more(__u64 counted)
{
	return counted < MOST_COUNTED ? "" : " or more";
}

static void print_level(const struct bucket_queue *queue, unsigned int level, __u64 span)
{
	unsigned int current = queue->time / span % queue->slots;
	char text[TIME_TEXT_SIZE] = "";
	const struct bucket *bucket;
	__u64 ns;

	/* A slot of the highest levels may be longer than 64 bits of ns. */
	if (__builtin_mul_overflow(span, queue->tick_ns, &ns))
		snprintf(text, sizeof(text), "centuries");
	else
		format_time(text, ns);
	for (unsigned int slot = 0; slot < queue->slots; slot++) {
		if (!slot)
			printf("  level %-2u  %14s  ", level, text);
		else if (slot % ROW_SLOTS == 0)
			printf("\n%28s", "");
		bucket = find_bucket(queue, level, slot);
		putchar(bucket ? bucket_sign(bucket) : slot == current ? '>' : '.');
	}
	putchar('\n');
}

static void print_alarm(const struct bucket_queue *queue)
{
	char text[TIME_TEXT_SIZE];

	if (!queue->asleep)
		puts("the reaper is at work");
	else if (queue->alarm == TICK_NEVER)
		puts("no alarm");
	else if (queue->alarm <= queue->time)
		puts("the alarm is about to expire");
	else
		printf("alarm in %s\n",
		       format_time(text, (queue->alarm - queue->time) * queue->tick_ns));
}

static void print_buckets(const struct bucket_queue *queue)
{
	unsigned int levels = 1;
	__u64 span = 1;

	printf("%s/%u, %s: pending %llu, due %llu%s, never %llu%s, cascaded %llu\n",
	       queue->name, queue->shard, queue->clock, queue->pending, queue->due,
	       or_more(queue->due), queue->never, or_more(queue->never), queue->cascaded);
	printf("tick %llu; ", queue->time);
	print_alarm(queue);
	/* The empty levels above are not interesting. */
	for (size_t i = 0; i < queue->nr; i++)
		if (queue->buckets[i].level >= levels)
			levels = queue->buckets[i].level + 1;
	for (unsigned int level = 0; level < levels; level++) {
		print_level(queue, level, span);
		if (__builtin_mul_overflow(span, (__u64)queue->slots, &span))
			break;
	}
}

static void print_buckets_json(const struct bucket_queue *queue)
{
	json_t *buckets = json_array(), *object;

	for (size_t i = 0; i < queue->nr; i++) {
		const struct bucket *bucket = &queue->buckets[i];

		object = json_pack("{s:i, s:i, s:o, s:o}",
				   "level", bucket->level,
				   "slot", bucket->slot,
				   "expires", json_digits(bucket->expires),
				   "timers", json_integer(bucket->timers));
		json_array_append_new(buckets, object);
	}
	object = json_pack("{s:s,s:s,s:i,s:s,s:o,s:i,s:i,s:o,s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o}",
			   "type", "wheel",
			   "name", queue->name,
			   "shard", queue->shard,
			   "clock", queue->clock,
			   "tick_ns", json_digits(queue->tick_ns),
			   "slots", queue->slots,
			   "levels", queue->levels,
			   "time", json_digits(queue->time),
			   "now", json_digits(queue->now),
			   "next_bucket", json_deadline(queue->next),
			   "alarm", json_deadline(queue->alarm),
			   "asleep", queue->asleep,
			   "pending", json_integer(queue->pending),
			   "due", json_integer(queue->due),
			   "never", json_integer(queue->never),
			   "cascaded", json_integer(queue->cascaded),
			   "buckets", buckets);
	print_json(object);
}

static const char wheel_help[] =
"usage: twheelctl wheel [OPTION]...\n"
"\n"
"Shows each wheel that has pending timers: a row of slots for each level, with the number\n"
"of timers in each slot.\n"
"\n"
"  .  empty     >  the current slot     1 to 9  timers\n"
"  0  emptied by cancels     x  10 timers or more       +  32 timers or more\n"
"\n"
"  --watch          show it again every second; 'q' or ^C exits\n"
"  --interval TIME  time between frames (1s)\n"
"  --count N        exit after N frames; 0, the default, means no limit\n"
"  --json           print JSON, one wheel per line\n"
"\n"
"Requires root and debugfs.\n";

#define BUCKETS	"/sys/kernel/debug/twheel/buckets"

static enum outcome show_wheels(struct frames *frames)
{
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
	for (long i = 0; i < nr; i++) {
		if (frames->line->json) {
			print_buckets_json(&list[i]);
		} else {
			print_buckets(&list[i]);
			putchar('\n');
		}
	}
	if (!nr && !frames->line->json)
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
	struct frames frames = {
		.line = line, .interval.value = NSEC_PER_SEC, .show = show_wheels,
	};
	const struct option_spec specs[] = {
		{ "watch", NULL, &watch, NULL },
		{ "interval", take_time, &frames.interval, TIME_EXPECTED },
		{ "count", take_number, &frames.count, NUMBER_EXPECTED },
		{ }
	};

	if (!take_arguments(line, wheel_help, specs, 0, 0))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "shows the wheels of all purgatories, so -p has no use");
	if (!watch && (frames.interval.given || frames.count.given))
		return wrong_usage(line, "--interval and --count require --watch");
	if (!device_present())
		return OUTCOME_DEVICE;
	if (!watch)
		return show_wheels(&frames);
	return show_frames(&frames);
}
