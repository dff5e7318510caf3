/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 3: shards of a wheel and the reapers that drive them. See reaper.c. */
#ifndef _TWHEEL_REAPER_H
#define _TWHEEL_REAPER_H

#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "queue.h"

#define TWHEEL_TICK_NS_MIN	1000ULL
#define TWHEEL_TICK_NS_MAX	10000000000ULL
/* About a millisecond, and a shift instead of a division. */
#define TWHEEL_TICK_NS_DEFAULT	BIT_ULL(20)

#define TWHEEL_SHARDS_MAX	1024U

/*
 * How many nodes a reaper moves before it lets go of the lock of its shard.
 * Some 60 ns each at worst, when every one of them misses the caches.
 */
#define TWHEEL_CHUNK		64

/**
 * struct twheel_shard - a queue, and the reaper that drives it
 * @lock: protects what follows up to @wakeups; taken from any context
 * @queue: the timers that are pending
 * @running: the timer whose function the reaper is calling. Only ever
 *	compared: the timer may be gone by now
 * @armed: the tick for which @alarm was armed; 0 while the reaper is awake and
 *	will look for itself
 * @waiters: how many wait on @idle for @running to change
 * @stopped: no timer is let in any more
 * @added: times that a timer began to wait
 * @rearmed: times that one that waited was given another deadline
 * @cancelled: times that one was cancelled
 * @fired: times that one's function was called
 * @latest_ticks: the most ticks that one was late
 * @wakeups: how often the reaper has woken up
 * @idle: woken when a function has returned and somebody waits for that
 * @alarm: wakes the reaper when the earliest bucket expires
 * @task: the reaper; immutable after init
 * @tick_ns: length of a tick; immutable after init
 * @tick_shift: its log2, 0 if it is no power of two; immutable after init
 */
struct twheel_shard {
	spinlock_t		lock;	/* innermost of all */
	struct twheel_queue	queue;
	struct twheel_timer	*running;
	u64			armed;
	unsigned int		waiters;
	bool			stopped;
	u64			added;
	u64			rearmed;
	u64			cancelled;
	u64			fired;
	u64			latest_ticks;
	u64			wakeups;
	wait_queue_head_t	idle;
	struct hrtimer		alarm;
	struct task_struct	*task;
	u64			tick_ns;
	unsigned int		tick_shift;
} ____cacheline_aligned_in_smp;

int twheel_shard_start(struct twheel_shard *shard, const struct twheel_config *config,
		       unsigned int number);
void twheel_shard_stop(struct twheel_shard *shard);

u64 twheel_shard_tick(const struct twheel_shard *shard, u64 deadline);
void twheel_shard_forward(struct twheel_shard *shard);
void twheel_shard_add(struct twheel_shard *shard, struct twheel_node *node);

#endif /* _TWHEEL_REAPER_H */
