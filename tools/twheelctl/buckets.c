// SPDX-License-Identifier: GPL-2.0
/* Reads and prints the buckets of wheels. See buckets.h, and twheel/core/buckets.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buckets.h"
#include "show.h"
#include "twheelctl.h"
#include "units.h"

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

long read_buckets(const char *path, struct bucket_queue **list, size_t *unknown)
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

void free_buckets(struct bucket_queue *list, size_t nr)
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

void print_buckets(const struct bucket_queue *queue)
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

void print_buckets_json(const struct bucket_queue *queue)
{
	json_t *buckets = json_array(), *object;

	for (size_t i = 0; i < queue->nr; i++) {
		const struct bucket *bucket = &queue->buckets[i];

		object = json_object();
		json_object_set_new(object, "level", json_integer(bucket->level));
		json_object_set_new(object, "slot", json_integer(bucket->slot));
		json_object_set_new(object, "expires", json_digits(bucket->expires));
		json_object_set_new(object, "timers", json_number(bucket->timers));
		json_array_append_new(buckets, object);
	}
	object = json_object();
	json_object_set_new(object, "type", json_string("wheel"));
	json_object_set_new(object, "name", json_string(queue->name));
	json_object_set_new(object, "shard", json_integer(queue->shard));
	json_object_set_new(object, "clock", json_string(queue->clock));
	json_object_set_new(object, "tick_ns", json_digits(queue->tick_ns));
	json_object_set_new(object, "slots", json_integer(queue->slots));
	json_object_set_new(object, "levels", json_integer(queue->levels));
	json_object_set_new(object, "time", json_digits(queue->time));
	json_object_set_new(object, "now", json_digits(queue->now));
	json_object_set_new(object, "next_bucket", json_deadline(queue->next));
	json_object_set_new(object, "alarm", json_deadline(queue->alarm));
	json_object_set_new(object, "asleep", json_boolean(queue->asleep));
	json_object_set_new(object, "pending", json_number(queue->pending));
	json_object_set_new(object, "due", json_number(queue->due));
	json_object_set_new(object, "never", json_number(queue->never));
	json_object_set_new(object, "cascaded", json_number(queue->cascaded));
	json_object_set_new(object, "buckets", buckets);
	print_json(object);
}
