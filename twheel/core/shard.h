/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 3: the clocks that a wheel may go by. */
#ifndef _TWHEEL_CORE_SHARD_H
#define _TWHEEL_CORE_SHARD_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/time.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

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

/* As of the last tick of the kernel: cheap, and never ahead. */
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

/*
 * How far the wall clock is ahead of CLOCK_MONOTONIC. It changes whenever that
 * is set, by a leap second, and in suspend, in which the other stands still;
 * not by NTP, which slews both alike.
 */
static inline s64 twheel_clock_offset(void)
{
	return ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_REAL));
}

extern atomic_t twheel_clock_steps;

/*
 * How often that offset has changed while there was a wheel that goes by the wall clock.
 * A step that is undone at once is two changes; see shard.c.
 */
static inline u32 twheel_clock_generation(void)
{
	return atomic_read(&twheel_clock_steps);
}

/*
 * Layer 3: shards of a wheel and the reapers that drive them. See shard.c for
 * what both sides of a shard use, and reaper.c for the reaper's side.
 */

#define TWHEEL_TICK_NS_MIN	1000ULL
#define TWHEEL_TICK_NS_MAX	10000000000ULL
/* About a millisecond, and a shift instead of a division. */
#define TWHEEL_TICK_NS_DEFAULT	BIT_ULL(20)

#define TWHEEL_SHARDS_MAX	1024U

/*
 * How many nodes a reaper moves before it lets go of the lock of its shard.
 * Some 150 ns each, or a little more, when every one of them misses the caches and
 * the TLB; see Documentation/performance.rst.
 */
#define TWHEEL_CHUNK		32

/*
 * In hard interrupt context, which is also where the functions of inline timers
 * are called; but on PREEMPT_RT it may not take our lock, and only wakes the reaper.
 */
#define TWHEEL_ALARM_MODE	(IS_ENABLED(CONFIG_PREEMPT_RT) ? \
				 HRTIMER_MODE_ABS_HARD : HRTIMER_MODE_ABS)

/* How many inline functions an alarm calls, and how long it pauses if more are due. */
#define TWHEEL_ALARM_CHUNK	16
#define TWHEEL_ALARM_GAP_NS	50000

/*
 * The two bases of a shard: of timers whose functions the reaper calls, and of those
 * whose functions the alarm calls, in its interrupt. On PREEMPT_RT the reaper serves
 * both.
 */
#define TWHEEL_BASE_REAPER	0
#define TWHEEL_BASE_INLINE	1
#define TWHEEL_BASES		2

/* A timer's flag is the index of its base. */
static_assert(TWHEEL_TIMER_INLINE == TWHEEL_BASE_INLINE);

/* A flag of a timer besides those of linux/twheel.h: it ended as the clock was set. */
#define TWHEEL_TIMER_WAS_SET	BIT(2)
/* And another: its deadline had passed when it was added. */
#define TWHEEL_TIMER_WAS_PAST	BIT(3)
/* All that may stand in the low bits of a timer's place. */
#define TWHEEL_TIMER_FLAGS	(TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET | \
				 TWHEEL_TIMER_WAS_SET | TWHEEL_TIMER_WAS_PAST)

/* Stretches with interrupts off are counted by their length: below 1 us, 2 us, ... */
#define TWHEEL_STRETCHES	64

struct mem_cgroup;

/**
 * struct twheel_limit - a limit on the timers that are pending on a wheel
 * @pending: how many are
 * @max: how many may be
 */
struct twheel_limit {
	atomic64_t	pending;
	s64		max;
};

/**
 * struct twheel_base - the timers of a shard whose functions run one after the other
 * @queue: the timers that are pending
 * @running: the timer whose function is being called. Only ever compared: the
 *	timer may be gone by now
 * @fired: times that one's function was called
 * @running_cancelled: @running was cancelled meanwhile and must not repeat
 * @was_set: @running was called because the clock was set; also read by its function,
 *	without the lock
 *
 * Protected by the lock of the shard.
 */
struct twheel_base {
	struct twheel_queue	queue;
	struct twheel_timer	*running;
	u64			fired;
	bool			running_cancelled;
	bool			was_set;
};

/**
 * struct twheel_shard - two bases, and the reaper and the alarm that serve them
 * @lock: protects what follows up to @irqs_off_ns; taken from any context
 * @armed: the tick for which @alarm is armed, TWHEEL_TICK_NEVER if it is not; 0 if it
 *	goes off at once or in a moment, or is going off. An earlier one reprograms it
 * @forwarded: the kernel's tick at which an add last forwarded the wheels
 * @waiters: how many wait on @idle for a base's @running to change
 * @asleep: the reaper sleeps, and has to be woken when its base has something to do
 * @stopped: no timer is let in any more
 * @starting: @start is under way
 * @generation: twheel_clock_generation() when last looked at, for a shard that goes by
 *	the wall clock
 * @offset: of the wall clock when last looked at, likewise
 * @stepped: the tick to which that was set when it last was
 * @base: the timers that are pending, by TWHEEL_TIMER_INLINE
 * @added: times that a timer began to wait
 * @rearmed: times that one that waited was given another deadline
 * @cancelled: times that one was cancelled
 * @rejected: times that one was refused for want of a place
 * @slow: times that a function took longer than it should
 * @latest_ticks: the most ticks that one was late
 * @wakeups: how often the reaper has woken up
 * @held_since: when the lock was taken, if that is measured
 * @irqs_off_ns: the longest that it was held with interrupts off
 * @idle: woken when a function has returned and somebody waits for that
 * @alarm: goes off when the earliest bucket expires
 * @start: makes the reaper; queued when it is first needed
 * @task: the reaper, NULL until then; changes under @lock, and once
 * @wheel: whose shard it is; immutable after init, as all that follows
 * @number: which one of that wheel
 * @limit: the limit on what is pending, NULL for none
 * @account: __GFP_ACCOUNT if the levels of the wheels are charged, or 0
 * @memcg: the memory cgroup that is charged for those that the reaper allocates
 * @clock: what it goes by
 * @tick_ns: length of a tick
 * @tick_shift: its log2, 0 if it is no power of two
 * @name: of the wheel
 */
struct twheel_shard {
	spinlock_t		lock;	/* innermost of all */
	u64			armed;
	unsigned long		forwarded;
	unsigned int		waiters;
	bool			asleep;
	bool			stopped;
	bool			starting;
	u32			generation;
	s64			offset;
	u64			stepped;
	struct twheel_base	base[TWHEEL_BASES];
	u64			added;
	u64			rearmed;
	u64			cancelled;
	u64			rejected;
	u64			slow;
	u64			latest_ticks;
	u64			wakeups;
	u64			held_since;
	u64			irqs_off_ns;
	wait_queue_head_t	idle;
	struct hrtimer		alarm;
	struct delayed_work	start;
	struct task_struct	*task;
	struct twheel		*wheel;
	unsigned int		number;
	struct twheel_limit	*limit;
	gfp_t			account;
	struct mem_cgroup	*memcg;
	enum twheel_clock	clock;
	u64			tick_ns;
	unsigned int		tick_shift;
	char			name[20];
} ____cacheline_aligned;

/* A timer's place has the flags where the address of a shard has zeroes. */
static_assert(__alignof__(struct twheel_shard) > TWHEEL_TIMER_FLAGS);

static inline struct twheel_shard *twheel_timer_shard(const struct twheel_timer *timer)
{
	return (struct twheel_shard *)(READ_ONCE(timer->shard_flags) & ~TWHEEL_TIMER_FLAGS);
}

static inline unsigned int twheel_timer_flags(const struct twheel_timer *timer)
{
	return READ_ONCE(timer->shard_flags) & TWHEEL_TIMER_FLAGS;
}

static inline struct twheel_base *twheel_timer_base(struct twheel_shard *shard,
						    const struct twheel_timer *timer)
{
	return &shard->base[twheel_timer_flags(timer) & TWHEEL_TIMER_INLINE];
}

/* Whether the alarm calls the functions of a base. */
static inline bool twheel_base_is_inline(const struct twheel_shard *shard,
					 const struct twheel_base *base)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && base == &shard->base[TWHEEL_BASE_INLINE];
}

/*
 * The lock of a shard.  With the module's parameter 'measure' each stretch for
 * which it is held, with interrupts off, is timed; else that costs nothing.
 */
DECLARE_STATIC_KEY_FALSE(twheel_measuring);

void twheel_shard_measured(struct twheel_shard *shard, s64 ns);
u64 twheel_shard_stretches(unsigned int us);

static inline void twheel_shard_locked(struct twheel_shard *shard)
{
	if (static_branch_unlikely(&twheel_measuring))
		shard->held_since = ktime_get_mono_fast_ns();
}

static inline void twheel_shard_unlocking(struct twheel_shard *shard)
{
	if (static_branch_unlikely(&twheel_measuring))
		twheel_shard_measured(shard, ktime_get_mono_fast_ns() - shard->held_since);
}

static inline unsigned long twheel_shard_lock(struct twheel_shard *shard)
	__acquires(&shard->lock)
{
	unsigned long flags;

	spin_lock_irqsave(&shard->lock, flags);
	twheel_shard_locked(shard);
	return flags;
}

static inline void twheel_shard_unlock(struct twheel_shard *shard, unsigned long flags)
	__releases(&shard->lock)
{
	twheel_shard_unlocking(shard);
	spin_unlock_irqrestore(&shard->lock, flags);
}

static inline void twheel_shard_lock_irq(struct twheel_shard *shard)
	__acquires(&shard->lock)
{
	spin_lock_irq(&shard->lock);
	twheel_shard_locked(shard);
}

static inline void twheel_shard_unlock_irq(struct twheel_shard *shard)
	__releases(&shard->lock)
{
	twheel_shard_unlocking(shard);
	spin_unlock_irq(&shard->lock);
}

void __init twheel_shard_measure(void);

int twheel_shard_init(struct twheel_shard *shard, const struct twheel_config *config,
		      unsigned int number);
void twheel_shard_stop(struct twheel_shard *shard);

u64 twheel_shard_time(const struct twheel_shard *shard, u64 tick);
void twheel_shard_arm(struct twheel_shard *shard, u64 tick);
u64 twheel_shard_next(const struct twheel_shard *shard);
void twheel_shard_arm_next(struct twheel_shard *shard);
u64 twheel_shard_look(struct twheel_shard *shard);
void twheel_shard_set(struct twheel_shard *shard);
void twheel_shard_forward(struct twheel_shard *shard);
void twheel_shard_add(struct twheel_shard *shard, struct twheel_timer *timer);
void twheel_shard_wait(struct twheel_shard *shard, const struct twheel_base *base);
bool twheel_shard_charge(struct twheel_shard *shard);
void twheel_shard_uncharge(struct twheel_shard *shard);

static inline u64 twheel_tick_floor(const struct twheel_shard *shard, u64 ns)
{
	if (likely(shard->tick_shift))
		return ns >> shard->tick_shift;
	return div64_u64(ns, shard->tick_ns);
}

/**
 * twheel_shard_tick - the tick at which a deadline has passed
 * @shard: the shard
 * @deadline: in ns by the clock
 *
 * Return: the first tick that does not begin before @deadline, or
 * TWHEEL_TICK_NEVER for a deadline past what the clock can show.
 */
static inline u64 twheel_shard_tick(const struct twheel_shard *shard, u64 deadline)
{
	if (unlikely(deadline > KTIME_MAX))
		return TWHEEL_TICK_NEVER;
	return twheel_tick_floor(shard, deadline + shard->tick_ns - 1);
}

int twheel_reaper(void *data);
enum hrtimer_restart twheel_reaper_alarm(struct hrtimer *alarm);

#endif /* _TWHEEL_CORE_SHARD_H */
