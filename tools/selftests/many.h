/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests with many operations: adding operations quickly, pinning threads, and
 * medians of measurements.
 */
#ifndef _TWHEEL_MANY_H
#define _TWHEEL_MANY_H

#include <sched.h>
#include "named.h"

/* Run this thread on one CPU only, so that its operations are on one shard. */
static inline bool pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* Add @nr identical operations in batches. Return: true if all were added. */
static inline bool add_many(int fd, const struct twheel_add_args *args, unsigned int nr)
{
	static struct {
		struct twheel_command head;
		struct twheel_add_args add;
	} commands[TWHEEL_MAX_BATCH];
	struct twheel_batch_args batch = {
		.commands = address(commands),
		.size = sizeof(commands),
	};
	unsigned int i;

	for (i = 0; i < TWHEEL_MAX_BATCH; i++) {
		commands[i].head.cmd = TWHEEL_IOC_ADD;
		commands[i].add = *args;
	}
	while (nr) {
		batch.nr = nr < TWHEEL_MAX_BATCH ? nr : TWHEEL_MAX_BATCH;
		if (call(fd, TWHEEL_IOC_BATCH, &batch) || batch.failed)
			return false;
		nr -= batch.done;
	}
	return true;
}

/* Read all events. Return: number of events; @last is set to the latest end time. */
static inline unsigned int read_all_events(int fd, __u64 *last)
{
	static struct twheel_event events[1024];
	unsigned int nr = 0;
	long i, got;

	*last = 0;
	while ((got = read_events(fd, events, ARRAY_SIZE(events))) > 0) {
		for (i = 0; i < got; i++)
			if (events[i].time > *last)
				*last = events[i].time;
		nr += got;
	}
	return nr;
}

static inline int compare_u64(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static inline __u64 median(__u64 *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), compare_u64);
	return values[nr / 2];
}

#endif /* _TWHEEL_MANY_H */
