/* SPDX-License-Identifier: GPL-2.0 */
/* Shards of a wheel, their clocks and their alarms. See shard.c and reaper.c. */
#ifndef _TWHEEL_CORE_SHARD_H
#define _TWHEEL_CORE_SHARD_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "turn.h"
#include "wall.h"
#include "wheel.h"

static inline u64 twheel_clock_ns(enum twheel_clock clock)
{
	if (likely(clock == TWHEEL_CLOCK_MONOTONIC))
		return ktime_get_ns();
	return clock == TWHEEL_CLOCK_BOOTTIME ? ktime_get_boottime_ns() : ktime_get_real_ns();
}

#define TWHEEL_TICK_NS_MIN	1000ULL
#define TWHEEL_TICK_NS_MAX	10000000000ULL
/* About a millisecond, and a shift instead of a division. */
#define TWHEEL_TICK_NS_DEFAULT	BIT_ULL(20)

#define TWHEEL_SHARDS_MAX	1024U

/*
 * Number of items, nodes and buckets, that a reaper visits with the lock held, and an alarm in its
 * interrupt. If all of them miss the caches and the TLB, each takes 150 ns or a little more.
 */
#define TWHEEL_CHUNK		32

/* Delay of an alarm that has done a chunk of its work. */
#define TWHEEL_ALARM_GAP_NS	50000

/* Mask of the flags in the low bits of @shard_flags. */
#define TWHEEL_TIMER_FLAGS	(TWHEEL_TIMER_CANCEL_ON_SET | TWHEEL_TIMER_CELL)

/*
 * Reasons to look closer at a shard. The first three are looked at when a timer is armed, which
 * takes the short way without any: the shard may refuse it, or is of CLOCK_REALTIME. The others are
 * those of waiters for the running callback, whose timer cannot be armed with TWHEEL_CHECK_CANCEL.
 */
#define TWHEEL_CHECK_STOPPED	BIT(0)
#define TWHEEL_CHECK_LIMIT	BIT(1)
#define TWHEEL_CHECK_WALL	BIT(2)
#define TWHEEL_CHECK_WAITED	BIT(3)
#define TWHEEL_CHECK_CANCEL	BIT(4)

struct mem_cgroup;

/**
 * struct twheel_shard - timers with callbacks that run one at a time, their reaper and alarm
 * @lock: protects the fields up to @fired, those from @idle to @wakeups, and the timers; taken in
 *	any context
 * @checks: TWHEEL_CHECK_*
 * @asleep: the shard has no turns, and has to ask for one
 * @woken: the reaper was woken, and has not had a turn since
 * @armed: tick for which @alarm is armed, for CLOCK_REALTIME the time; TWHEEL_TICK_NEVER if it is
 *	not. An add that needs an earlier one reprograms the alarm.
 * @forwarded: jiffies at which an add last forwarded the wheel
 * @added: timers that became pending, without those that moved to another shard
 * @rearmed: pending timers that got another deadline
 * @cancelled: timers cancelled
 * @running: timer with a running callback; may have been freed, so never dereferenced
 * @fired: number of callbacks called
 * @wheel: its wheel; immutable, like the following fields up to @share
 * @tick_ns: length of a tick
 * @tick_shift: log2 of @tick_ns, or 0 if it is not a power of two
 * @number: its number in @wheel
 * @clock: clock of the deadlines
 * @account: TWHEEL_GFP_ACCOUNT if the levels are charged, or 0
 * @memcg: memory cgroup charged for levels that the reaper allocates
 * @share: its owner, on the reaper that serves it
 * @idle: woken when a callback has returned that was waited for
 * @max_pending: limit on pending timers, with TWHEEL_CHECK_LIMIT
 * @rejected: timers rejected by the limit
 * @slow: long callbacks
 * @latest_ticks: maximum lateness in ticks
 * @late_ns: sum of the lateness of callbacks
 * @late: histogram of the lateness of callbacks, see &struct twheel_stats
 * @wakeups: how often the reaper was woken for the shard
 * @expired: when the batch of due timers expires, by @clock, or 0 before that was needed; used by
 *	the reaper only, also in callbacks
 * @alarm: expires with the earliest bucket or timer
 * @turn: in the shards of @share while it waits for a turn
 * @watch: in the watchers or the unchecked shards of @share, if timers are cancelled on set
 * @ended: it gets no more turns; like @turn and @watch, protected by the lock of the reaper
 * @due: first member of the following two
 * @queue: pending timers
 * @wall: pending timers of CLOCK_REALTIME; the memory of such a shard ends here
 *
 * The first cache line has the fields that most calls write, the second one those that they only
 * read, also without the lock. An add also uses the first line of @queue and those that begin with
 * @queue.wheel.level and @queue.wheel.level_of.
 */
struct twheel_shard {
	spinlock_t		lock;	/* of the timers */
	u8			checks;
	bool			asleep;
	bool			woken;
	u64			armed;
	unsigned long		forwarded;
	u64			added;
	u64			rearmed;
	u64			cancelled;
	struct twheel_timer	*running;
	u64			fired;
	struct twheel		*wheel ____cacheline_aligned;
	u64			tick_ns;
	u8			tick_shift;
	unsigned int		number;
	enum twheel_clock	clock;
	gfp_t			account;
	struct mem_cgroup	*memcg;
	struct twheel_share	*share;
	wait_queue_head_t	idle;
	u64			max_pending;
	u64			rejected;
	u64			slow;
	u64			latest_ticks;
	u64			late_ns;
	u64			late[TWHEEL_LATE_BUCKETS];
	u64			wakeups;
	u64			expired;
	struct hrtimer		alarm;
	struct list_head	turn;
	struct list_head	watch;
	bool			ended;
	union {
		struct twheel_due	due;
		struct twheel_queue	queue;
		struct twheel_wall	wall;
	} ____cacheline_aligned;
} ____cacheline_aligned;

static_assert(!offsetof(struct twheel_queue, due) && !offsetof(struct twheel_wall, due));
static_assert(offsetof(struct twheel_queue, wheel.level) == 64 || !IS_ENABLED(CONFIG_64BIT));
/* The low bits of the address of a shard are free for the flags of a timer. */
static_assert(__alignof__(struct twheel_shard) > TWHEEL_TIMER_FLAGS);

static inline bool twheel_shard_is_wall(const struct twheel_shard *shard)
{
	return shard->clock == TWHEEL_CLOCK_REALTIME;
}

static inline struct twheel_shard *twheel_timer_shard(const struct twheel_timer *timer)
{
	return (struct twheel_shard *)(READ_ONCE(timer->shard_flags) & ~TWHEEL_TIMER_FLAGS);
}

static inline unsigned int twheel_timer_flags(const struct twheel_timer *timer)
{
	return READ_ONCE(timer->shard_flags) & TWHEEL_TIMER_FLAGS;
}

size_t twheel_shard_size(enum twheel_clock clock);
int twheel_shard_init(struct twheel_shard *shard, const struct twheel_config *config,
		      unsigned int number);
void twheel_shard_stop(struct twheel_shard *shard);

u64 twheel_shard_time(const struct twheel_shard *shard, u64 tick);
u64 twheel_shard_now(const struct twheel_shard *shard);
void twheel_shard_arm_next(struct twheel_shard *shard);
void twheel_shard_wake(struct twheel_shard *shard);
void twheel_shard_forward(struct twheel_shard *shard);
void twheel_shard_added(struct twheel_shard *shard, u64 next);
void twheel_shard_add_levels(struct twheel_shard *shard, u64 tick);
void twheel_shard_wait(struct twheel_shard *shard, u8 checks);
void twheel_shard_count_late(struct twheel_shard *shard, u64 nr, u64 late_ns, u64 late);

/*
 * The time in the callback of a timer of the shard. To read a clock takes 35 instructions, so
 * timers that are due together share it, until the tick of the kernel passes.
 */
static inline u64 twheel_shard_expired(struct twheel_shard *shard)
{
	if (!shard->expired)
		shard->expired = twheel_clock_ns(shard->clock);
	return shard->expired;
}

static inline u64 twheel_shard_pending(const struct twheel_shard *shard)
{
	return shard->added - shard->fired - shard->cancelled;
}

static inline u64 twheel_tick_floor(const struct twheel_shard *shard, u64 ns)
{
	if (likely(shard->tick_shift))
		return ns >> shard->tick_shift;
	return div64_u64(ns, shard->tick_ns);
}

/* First tick that does not begin before a deadline; TWHEEL_TICK_NEVER past KTIME_MAX. */
static inline u64 twheel_shard_tick(const struct twheel_shard *shard, u64 deadline)
{
	if (unlikely(deadline > KTIME_MAX))
		return TWHEEL_TICK_NEVER;
	return twheel_tick_floor(shard, deadline + shard->tick_ns - 1);
}

bool twheel_shard_serve(struct twheel_shard *shard);
enum hrtimer_restart twheel_shard_alarm(struct hrtimer *alarm);

/* The shard of a timer */

DECLARE_PER_CPU(struct twheel_shard *, twheel_last_shard);

/*
 * The shard of a timer that may not be in the caches. Usually it is the one of the last call on
 * this CPU. As this is a branch, the CPU predicts the address, and does not wait for the timer
 * before it computes the bucket and fetches the next timer of the caller. NULL for a timer that was
 * not initialised.
 */
static inline struct twheel_shard *twheel_timer_predict_shard(const struct twheel_timer *timer)
{
	/* Compared and then used: it must not be read twice. */
	struct twheel_shard *last = this_cpu_read(twheel_last_shard), *shard;

	if (unlikely(READ_ONCE(timer->shard_flags) != (unsigned long)last)) {
		shard = twheel_timer_shard(timer);
		if (likely(shard))
			raw_cpu_write(twheel_last_shard, shard);
		return shard;
	}
	return last;
}

/*
 * Lock the shard of an initialised timer, which may move until the lock is held; @shard is the one
 * that it had. Inlined: 10 instructions less for each call.
 */
static __always_inline struct twheel_shard *twheel_timer_lock_from(struct twheel_shard *shard,
								   struct twheel_timer *timer,
								   unsigned long *flags)
	__acquires(timer)
{
	for (;;) {
		spin_lock_irqsave(&shard->lock, *flags);
		/* Most timers have no flags. */
		if (likely(READ_ONCE(timer->shard_flags) == (unsigned long)shard) ||
		    shard == twheel_timer_shard(timer))
			return shard;
		spin_unlock_irqrestore(&shard->lock, *flags);
		shard = twheel_timer_predict_shard(timer);
	}
}

static __always_inline struct twheel_shard *twheel_timer_lock(struct twheel_timer *timer,
							      unsigned long *flags)
	__acquires(timer)
{
	return twheel_timer_lock_from(twheel_timer_predict_shard(timer), timer, flags);
}

struct twheel_shard *twheel_shard_lock_local(struct twheel_shard *shard,
					     const struct twheel_timer *timer);

#endif /* _TWHEEL_CORE_SHARD_H */
