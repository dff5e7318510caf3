/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the buckets of the wheels from debugfs, and prints them.
 */
#ifndef TWHEELCTL_BUCKETS_H
#define TWHEELCTL_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

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

/*
 * Reads the queues that have timers or buckets from a file in debugfs. @list is freed by
 * free_buckets(); @unknown is set to the number of lines that cannot be parsed.
 * Return: number of queues; -1 with errno set if the file cannot be read.
 */
long read_buckets(const char *path, struct bucket_queue **list, size_t *unknown);

void free_buckets(struct bucket_queue *list, size_t nr);

/* Prints a queue: a line for its state, and a row of slots for each level. */
void print_buckets(const struct bucket_queue *queue);

/* Prints a queue as a JSON object. */
void print_buckets_json(const struct bucket_queue *queue);

#endif /* TWHEELCTL_BUCKETS_H */
