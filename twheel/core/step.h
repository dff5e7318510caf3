/* SPDX-License-Identifier: GPL-2.0 */
/* Changes of CLOCK_REALTIME. See step.c. */
#ifndef _TWHEEL_CORE_STEP_H
#define _TWHEEL_CORE_STEP_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/seqlock.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "shard.h"

/* Number of steps that a shard may notice at once without losing the time that one passed. */
#define TWHEEL_WALL_STEPS	8

/**
 * struct twheel_wall - CLOCK_REALTIME, as its notifier last saw it
 * @seq: write sections are serialised by the lock of the timekeeping core
 * @generation: number of steps while the notifier was registered
 * @offset: CLOCK_REALTIME minus CLOCK_MONOTONIC in ns
 * @back: @generation of the last step back
 * @reached: time that the clock had reached at each of the last steps, by the old offset
 * @watched: the notifier is registered; protected by watch_lock
 *
 * The other fields are protected by @seq.
 */
struct twheel_wall {
	seqcount_t	seq;
	u32		generation;
	u32		back;
	s64		offset;
	u64		reached[TWHEEL_WALL_STEPS];
	bool		watched;
};

extern struct twheel_wall twheel_wall;

/* The offset of the clock, and the generation that belongs to it. */
static inline u32 twheel_wall_read(s64 *offset)
{
	unsigned int seq;
	u32 generation;

	do {
		seq = read_seqcount_begin(&twheel_wall.seq);
		*offset = READ_ONCE(twheel_wall.offset);
		generation = READ_ONCE(twheel_wall.generation);
	} while (read_seqcount_retry(&twheel_wall.seq, seq));
	return generation;
}

/**
 * struct twheel_passed - time that the clock had reached before it was set
 * @first: before the first of several steps
 * @latest: latest time before any of them
 * @back: one of the steps went back, so the clock may show a time again
 */
struct twheel_passed {
	u64	first;
	u64	latest;
	bool	back;
};

void twheel_wall_get(void);
void twheel_wall_put(void);

/*
 * Number of changes of the offset, which are noticed from now on. A step that is undone at once
 * counts as two. User space sees a new time a little before the notifier is called: the read of a
 * clock waits for the end of the write section, as that of twheel_shard_look() does.
 */
static inline u32 twheel_wall_generation(void)
{
	/* Pairs with the release in twheel_wall_get(): the registration may count as a change. */
	if (unlikely(!smp_load_acquire(&twheel_wall.watched))) {
		twheel_wall_get();
		twheel_wall_put();
	}
	ktime_get_coarse_ns();
	return READ_ONCE(twheel_wall.generation);
}

void twheel_wall_passed(u32 from, u32 to, struct twheel_passed *passed);
void twheel_wall_check_later(void);
void twheel_wall_exit(void);

/**
 * struct twheel_steps - state of a base of CLOCK_REALTIME
 * @on_set: buckets of the timers that a step cancels; its nodes count for the queue of the base
 * @placing: timers without a bucket, to be placed by the time of the wheels
 * @added: timers that were added while @stepping, or found during it; they go to @placing
 * @added_on_set: likewise, timers that a step cancels
 * @cancelled: timers that a step has cancelled, not yet marked
 * @passed: time that the clock had reached, while @stepping
 * @now: least tick to which a step has set the clock, while @stepping
 * @stepping: timers that were due at this time may be in a bucket
 *
 * Protected by the lock of the shard.
 */
struct twheel_steps {
	struct twheel_queue	on_set;
	struct list_head	placing;
	struct list_head	added;
	struct list_head	added_on_set;
	struct list_head	cancelled;
	struct twheel_passed	passed;
	u64			now;
	bool			stepping;
};

int twheel_steps_init(struct twheel_base *base, gfp_t gfp);
void twheel_steps_destroy(struct twheel_base *base);
void twheel_steps_begin(struct twheel_base *base, const struct twheel_passed *passed, u64 now);
bool twheel_steps_run(struct twheel_base *base, unsigned int *budget);
bool twheel_steps_advance(struct twheel_base *base, u64 now, unsigned int *budget);
void twheel_steps_forward(struct twheel_base *base, u64 now);
bool twheel_steps_take(struct twheel_base *base, struct twheel_node **node);

/* Whether there is work that a step has left. */
static inline bool twheel_steps_busy(const struct twheel_steps *steps)
{
	return steps->stepping || !list_empty(&steps->placing) || !list_empty(&steps->cancelled);
}

#endif /* _TWHEEL_CORE_STEP_H */
