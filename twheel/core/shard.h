/* SPDX-License-Identifier: GPL-2.0 */
/* Shards of a wheel, their clocks and their reapers. See shard.c and reaper.c. */
#ifndef _TWHEEL_CORE_SHARD_H
#define _TWHEEL_CORE_SHARD_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/kconfig.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/time.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "turn.h"
#include "wheel.h"

static inline clockid_t twheel_clock_id(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return CLOCK_BOOTTIME;
	case TWHEEL_CLOCK_REALTIME:
		return CLOCK_REALTIME;
	default:
		return CLOCK_MONOTONIC;
	}
}

static inline u64 twheel_clock_ns(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

/* The time of the kernel's last tick: cheap, and never ahead. */
static inline u64 twheel_clock_coarse_ns(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_to_ns(ktime_get_coarse_boottime());
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_coarse_real_ns();
	default:
		return ktime_get_coarse_ns();
	}
}

#define TWHEEL_TICK_NS_MIN	1000ULL
#define TWHEEL_TICK_NS_MAX	10000000000ULL
/* About a millisecond, and a shift instead of a division. */
#define TWHEEL_TICK_NS_DEFAULT	BIT_ULL(20)

#define TWHEEL_SHARDS_MAX	1024U

/*
 * Number of items, nodes and buckets, that a reaper visits with the lock held, and an alarm in its
 * interrupt, callbacks included. If all of them miss the caches and the TLB, each takes 150 ns
 * or a little more; see Documentation/performance.rst.
 */
#define TWHEEL_CHUNK		32

/*
 * The alarm runs in hard interrupt context and calls inline timers there. On PREEMPT_RT it must
 * not take our lock, and only wakes the reaper.
 */
#define TWHEEL_ALARM_MODE	(IS_ENABLED(CONFIG_PREEMPT_RT) ? \
				 HRTIMER_MODE_ABS_HARD : HRTIMER_MODE_ABS)

/*
 * Number of inline callbacks per alarm, of which the nodes that it moves leave as many, and the
 * delay of the next alarm if more are due: at most 320,000 inline callbacks a second.
 */
#define TWHEEL_ALARM_CHUNK	16U
#define TWHEEL_ALARM_GAP_NS	50000

/*
 * The bases of a shard: timers with callbacks in the reaper, and timers with callbacks in the
 * alarm. On PREEMPT_RT the reaper serves both.
 */
#define TWHEEL_BASE_REAPER	0
#define TWHEEL_BASE_INLINE	1
#define TWHEEL_BASES		2

/* The flag of a timer is the index of its base. */
static_assert(TWHEEL_TIMER_INLINE == TWHEEL_BASE_INLINE);

/* Internal flag of a timer: cancelled by a change of the clock. */
#define TWHEEL_TIMER_WAS_SET	BIT(2)
/* Internal flag of a timer: its deadline had passed when it was added. */
#define TWHEEL_TIMER_WAS_PAST	BIT(3)
/* Mask of the flags in the low bits of @shard_flags. */
#define TWHEEL_TIMER_FLAGS	(TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET | \
				 TWHEEL_TIMER_WAS_SET | TWHEEL_TIMER_WAS_PAST)

/* Waiters for the running callback of a base; a cancel among them refuses to arm the timer. */
#define TWHEEL_WAITED		BIT(0)
#define TWHEEL_WAITED_CANCEL	BIT(1)

/* Reasons for which a shard may refuse to arm a timer. */
#define TWHEEL_REFUSE_STOPPED	BIT(0)
#define TWHEEL_REFUSE_CANCEL	BIT(1)

struct mem_cgroup;
struct twheel_steps;

/**
 * struct twheel_limit - limit on the pending timers of a wheel
 * @pending: number of pending timers
 * @max: maximum
 */
struct twheel_limit {
	atomic64_t	pending;
	s64		max;
};

/**
 * struct twheel_base - timers of a shard with callbacks that run one at a time
 * @running: timer with a running callback; may have been freed, so never dereferenced
 * @queue: pending timers
 * @fired: number of callbacks called
 * @was_set: @running was cancelled by a change of the clock; its callback reads this without
 *	the lock
 * @waited: TWHEEL_WAITED*, for @running
 * @steps: for changes of the clock, on a shard of CLOCK_REALTIME; else NULL. Immutable
 * @idle: woken when a callback has returned that was @waited for
 *
 * Protected by the lock of the shard. An add or a cancel uses the first cache line, an add also
 * the two that begin with queue.wheel.level and queue.wheel.level_of.
 */
struct twheel_base {
	struct twheel_timer	*running;
	struct twheel_queue	queue;
	u64			fired;
	bool			was_set;
	u8			waited;
	struct twheel_steps	*steps;
	wait_queue_head_t	idle;
} ____cacheline_aligned;

static_assert(offsetof(struct twheel_base, queue.wheel.level) == 64 || !IS_ENABLED(CONFIG_64BIT));

/**
 * struct twheel_shard - two bases with their reaper and their alarm
 * @lock: protects the fields up to @offset, and from @base to @wakeups; taken in any context
 * @generation: last seen twheel_wall_generation(), of a shard of CLOCK_REALTIME
 * @refuse: TWHEEL_REFUSE_*
 * @asleep: the shard has no turns, and has to ask for one for work of its base
 * @woken: the reaper was woken, and has not had a turn since
 * @alarmed: on PREEMPT_RT, an inline timer is due, or the alarm has expired; written without the
 *	lock
 * @watching: a shard of CLOCK_REALTIME that notices steps
 * @armed: tick for which @alarm is armed; TWHEEL_TICK_NEVER if it is not, 0 if it expires at
 *	once or after a gap, or is expiring. An add that needs an earlier tick reprograms the
 *	alarm.
 * @forwarded: jiffies at which an add last forwarded the wheels
 * @added: timers that became pending, without those that moved to another shard
 * @rearmed: pending timers that got another deadline
 * @cancelled: timers cancelled
 * @offset: last seen offset of CLOCK_REALTIME, of a shard of this clock
 * @wheel: its wheel; immutable, like the following fields up to @memcg
 * @limit: limit on pending timers, or NULL
 * @reaper: serves the shard
 * @tick_ns: length of a tick
 * @tick_shift: log2 of @tick_ns, or 0 if it is not a power of two
 * @plain: its calls may be plain, see arm.c: ticks are a power of two, there is no limit, and the
 *	clock does not go back
 * @number: its number in @wheel
 * @clock: clock of the deadlines
 * @account: TWHEEL_GFP_ACCOUNT if the levels are charged, or 0
 * @memcg: memory cgroup charged for levels that the reaper allocates
 * @share: its owner on @reaper
 * @base: pending timers, by TWHEEL_TIMER_INLINE
 * @stepped: tick to which the clock was last set
 * @rejected: timers rejected by the limit
 * @slow: long callbacks
 * @latest_ticks: maximum lateness in ticks
 * @late_ns: sum of the lateness of callbacks
 * @late: histogram of the lateness of callbacks, see &struct twheel_stats
 * @wakeups: how often the reaper was woken for the shard
 * @alarm: expires with the earliest bucket
 * @turn: in the shards of @share while it waits for a turn
 * @ended: it gets no more turns; like @turn, protected by the lock of @reaper
 *
 * The first cache line has the fields that most calls write, the second one those that they only
 * read, also without the lock.
 */
struct twheel_shard {
	spinlock_t		lock;	/* of both bases */
	u32			generation;
	u8			refuse;
	bool			asleep;
	bool			woken;
	bool			alarmed;
	bool			watching;
	u64			armed;
	unsigned long		forwarded;
	u64			added;
	u64			rearmed;
	u64			cancelled;
	s64			offset;
	struct twheel		*wheel ____cacheline_aligned;
	struct twheel_limit	*limit;
	struct twheel_reaper	*reaper;
	u64			tick_ns;
	u8			tick_shift;
	bool			plain;
	unsigned int		number;
	enum twheel_clock	clock;
	gfp_t			account;
	struct mem_cgroup	*memcg;
	struct twheel_share	*share;
	struct twheel_base	base[TWHEEL_BASES];
	u64			stepped;
	u64			rejected;
	u64			slow;
	u64			latest_ticks;
	u64			late_ns;
	u64			late[TWHEEL_LATE_BUCKETS];
	u64			wakeups;
	struct hrtimer		alarm;
	struct list_head	turn;
	bool			ended;
} ____cacheline_aligned;

/* Two cache lines before the bases, unless debugging makes locks larger. */
static_assert(offsetof(struct twheel_shard, base) <= 2 * SMP_CACHE_BYTES ||
	      sizeof(spinlock_t) > sizeof(u32));

/* The low bits of the address of a shard are free for the flags of a timer. */
static_assert(__alignof__(struct twheel_shard) > TWHEEL_TIMER_FLAGS);

static inline struct twheel_shard *twheel_timer_shard(const struct twheel_timer *timer)
{
	return (struct twheel_shard *)(READ_ONCE(timer->shard_flags) & ~TWHEEL_TIMER_FLAGS);
}

static inline unsigned int twheel_timer_flags(const struct twheel_timer *timer)
{
	return READ_ONCE(timer->shard_flags) & TWHEEL_TIMER_FLAGS;
}

/* The base of timers with @flags. */
static inline struct twheel_base *twheel_shard_base(struct twheel_shard *shard, unsigned int flags)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_REAPER];

	/* A branch instead of an index: see twheel_timer_predict_shard(). */
	if (unlikely(flags & TWHEEL_TIMER_INLINE)) {
		base = &shard->base[TWHEEL_BASE_INLINE];
		OPTIMIZER_HIDE_VAR(base);
	}
	return base;
}

static inline struct twheel_base *twheel_timer_base(struct twheel_shard *shard,
						    const struct twheel_timer *timer)
{
	return twheel_shard_base(shard, twheel_timer_flags(timer));
}

struct twheel_wheel *__twheel_shard_wheel(struct twheel_shard *shard, unsigned int flags);

/* The wheel of timers with @flags. */
static inline struct twheel_wheel *twheel_shard_wheel(struct twheel_shard *shard,
						      unsigned int flags)
{
	if (unlikely(flags & (TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET)))
		return __twheel_shard_wheel(shard, flags);
	return &shard->base[TWHEEL_BASE_REAPER].queue.wheel;
}

/* Whether the alarm runs the callbacks of a base. */
static inline bool twheel_base_is_inline(const struct twheel_shard *shard,
					 const struct twheel_base *base)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && base == &shard->base[TWHEEL_BASE_INLINE];
}

int twheel_shard_init(struct twheel_shard *shard, const struct twheel_config *config,
		      unsigned int number);
void twheel_shard_stop(struct twheel_shard *shard);

u64 twheel_shard_time(const struct twheel_shard *shard, u64 tick);
void twheel_shard_arm(struct twheel_shard *shard, u64 tick);
u64 twheel_shard_next(const struct twheel_shard *shard);
void twheel_shard_arm_next(struct twheel_shard *shard);
void twheel_shard_wake(struct twheel_shard *shard);
u64 twheel_shard_look(struct twheel_shard *shard);
bool twheel_shard_set(struct twheel_shard *shard);
void twheel_shard_unwatch(struct twheel_shard *shard);
void twheel_shard_forward(struct twheel_shard *shard);
void __twheel_shard_added(struct twheel_shard *shard, struct twheel_base *base, u64 next);
u64 twheel_base_next(const struct twheel_base *base);
void twheel_shard_wait(struct twheel_shard *shard, struct twheel_base *base, u8 waited);
bool __twheel_shard_charge(struct twheel_shard *shard);

/* Charge a timer to the limit of the wheel. Returns false if the limit is reached. */
static inline bool twheel_shard_charge(struct twheel_shard *shard)
{
	return likely(!shard->limit) || __twheel_shard_charge(shard);
}

static inline void twheel_shard_uncharge(struct twheel_shard *shard)
{
	if (unlikely(shard->limit))
		atomic64_dec(&shard->limit->pending);
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

u64 twheel_steps_add(struct twheel_base *base, struct twheel_timer *timer, u64 tick);

/* Add a timer that is on no list, with its deadline set, for its tick, to its base. */
static __always_inline void twheel_shard_add(struct twheel_shard *shard, struct twheel_base *base,
					     struct twheel_timer *timer, u64 tick)
{
	u64 next;

	lockdep_assert_held(&shard->lock);
	if (unlikely(base->queue.wheel.rewinds))
		next = twheel_steps_add(base, timer, tick);
	else
		next = twheel_queue_add(&base->queue, &timer->node, tick);
	if (unlikely(next == base->queue.wheel.now || next < shard->armed))
		__twheel_shard_added(shard, base, next);
}

bool twheel_shard_serve(struct twheel_shard *shard);
enum hrtimer_restart twheel_reaper_alarm(struct hrtimer *alarm);

#endif /* _TWHEEL_CORE_SHARD_H */
