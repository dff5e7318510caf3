// SPDX-License-Identifier: GPL-2.0
/*
 * core: timers.
 *
 *
 * Overview
 * --------
 *
 * A timer is on one shard of its wheel. The reaper of the shard runs its callback, or the
 * alarm if the timer is inline (reaper.c). Operations use the same API as other modules.
 * Periodic timers (periodic.c) and work (work.c) are built on it.
 *
 *
 * States
 * ------
 *
 * A timer is pending from the add until it is cancelled or its callback is about to run. It
 * is running while ->running of its base points to it. A callback that adds its own timer
 * again makes it pending and running at the same time.
 *
 *	state of the timer	cancel		cancel_sync, shutdown_sync
 *	------------------	------		--------------------------
 *	neither			-EALREADY	-EALREADY
 *	pending			0		0
 *	running			-EINPROGRESS	waits, -EALREADY
 *	pending and running	1		waits, 0
 *
 * While cancel_sync waits, adds of the timer fail: a callback that arms its own timer for the past
 * again and again would keep it waiting.
 *
 * All three stop a periodic timer that is running. A callback that would wait for itself gets
 * a warning and -EDEADLK.
 *
 *
 * Locking
 * -------
 *
 * A timer is protected by the lock of its shard. timer->shard_flags has the address of this
 * shard, and is written with the lock held. If the timer moves to another shard, both locks
 * are held. So twheel_timer_lock() reads the shard, locks it, and checks that the timer has
 * not moved in between.
 *
 * To keep CPUs from contending for one lock, an add or re-arm moves the timer to the shard of
 * the current CPU, unless the timer is running:
 *
 *	arming CPU			another CPU
 *	----------			-----------
 *	lock the old shard		read shard_flags: the old shard
 *	trylock the local shard		lock the old shard
 *	shard_flags = local shard	  (spins)
 *	arm the timer
 *	unlock both			read shard_flags: the local shard
 *					unlock the old shard, retry
 *
 * The second lock is only tried, so shards need no lock order. If the local shard is locked,
 * the timer stays where it is.
 *
 *
 * Later deadlines
 * ---------------
 *
 * Heartbeats and idle timeouts are re-armed to later deadlines all the time. If such a timer is
 * on the local shard, it usually stays in its bucket with the new tick, see node_stays().
 * The bucket expires before that tick, and then the timer moves to the bucket of this tick, as
 * other timers on its level do.
 */
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "callback.h"
#include "shard.h"
#include "timer.h"
#include "twheel.h"

/* Keep timers small: there may be millions. */
static_assert(sizeof(struct twheel_timer) <= 5 * sizeof(u64));

/* The shard of the last timer that was locked on this CPU. Only compared with other shards. */
DEFINE_PER_CPU(struct twheel_shard *, twheel_last_shard);

static u64 deadline_after(u64 now, u64 delay_ns)
{
	u64 deadline;

	if (check_add_overflow(now, delay_ns, &deadline) || deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	return deadline;
}

/**
 * twheel_deadline - deadline after a delay, by CLOCK_MONOTONIC
 * @delay_ns: delay from now in ns
 *
 * For wheels of CLOCK_MONOTONIC, such as twheel_system().
 *
 * Context: any except NMI.
 * Return: the deadline in ns; TWHEEL_NEVER if it exceeds 2^63 - 1.
 */
u64 twheel_deadline(u64 delay_ns)
{
	return deadline_after(ktime_get_ns(), delay_ns);
}
EXPORT_SYMBOL_GPL(twheel_deadline);

/**
 * twheel_deadline_on - deadline after a delay, by the clock of a wheel
 * @wheel: the wheel
 * @delay_ns: delay from now in ns
 *
 * On a wheel of CLOCK_REALTIME the deadline is a time of day, and setting the clock changes
 * the delay. Use a wheel of another clock for plain delays.
 *
 * Context: any except NMI.
 * Return: the deadline in ns; TWHEEL_NEVER if it exceeds 2^63 - 1.
 */
u64 twheel_deadline_on(const struct twheel *wheel, u64 delay_ns)
{
	return deadline_after(twheel_now(wheel), delay_ns);
}
EXPORT_SYMBOL_GPL(twheel_deadline_on);

/**
 * twheel_timer_init_flags - initialise a timer
 * @timer: the timer, neither pending nor running
 * @wheel: its wheel, such as twheel_system()
 * @fn: callback, called without locks each time the timer fires. The reaper calls it in
 *	process context; with TWHEEL_TIMER_INLINE the hard interrupt of the deadline does. It
 *	may add, re-arm and cancel any timer, and may free its own. It must be short, since
 *	it delays the other timers of the shard; see twheel_work_init() for long callbacks.
 * @flags: TWHEEL_TIMER_INLINE or 0
 *
 * A running timer is known by its address only. If a callback frees its timer, and the memory
 * is reused for a timer before the callback has returned, the new timer counts as running.
 * A module with callbacks that free their timers must call twheel_flush() before it is
 * unloaded.
 *
 * Context: any.
 */
void twheel_timer_init_flags(struct twheel_timer *timer, struct twheel *wheel,
			     void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_INLINE);
	__twheel_timer_init(timer, wheel, fn, flags & TWHEEL_TIMER_INLINE);
}
EXPORT_SYMBOL_GPL(twheel_timer_init_flags);

/**
 * twheel_clock_timer_init - initialise a timer that a change of the clock cancels
 * @timer: the timer, neither pending nor running
 * @wheel: its wheel, of TWHEEL_CLOCK_REALTIME; on another wheel it is an ordinary timer
 * @fn: callback, see twheel_timer_init_flags()
 * @flags: TWHEEL_TIMER_INLINE or 0
 *
 * The other functions take &timer->timer. Each change of the clock, even one that is undone at
 * once, cancels the pending timer: its callback is called at once, also if it has no deadline,
 * and twheel_timer_error() returns -ECANCELED. If its deadline had passed by the old time,
 * twheel_timer_error() returns 0. A resume from suspend counts as a change, as with timerfd.
 * Until its callback has been called, a re-arm fails with -ECANCELED.
 *
 * Context: any.
 */
void twheel_clock_timer_init(struct twheel_clock_timer *timer, struct twheel *wheel,
			     void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_INLINE);
	__twheel_timer_init(&timer->timer, wheel, fn,
			    (flags & TWHEEL_TIMER_INLINE) | TWHEEL_TIMER_CANCEL_ON_SET);
}
EXPORT_SYMBOL_GPL(twheel_clock_timer_init);

/* Returns true for a zeroed timer, with a warning. Debugobjects detects other cases. */
static noinline bool timer_is_zeroed(const struct twheel_timer *timer)
{
	return WARN_ON_ONCE(!twheel_timer_shard(timer));
}

/* Slow path of twheel_timer_usable(). */
bool __twheel_timer_usable(struct twheel_timer *timer)
{
	twheel_debug_assert_init(timer);
	return !timer_is_zeroed(timer);
}

/**
 * twheel_timer_remaining - time until a timer expires
 * @timer: the timer, initialised
 *
 * Context: as twheel_timer_add().
 * Return: time in ns until the tick at which it expires, 0 if this has passed; TWHEEL_NEVER
 * if it is not pending or never expires.
 */
u64 twheel_timer_remaining(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	u64 when, now, remaining = TWHEEL_NEVER;
	unsigned long flags;

	if (!twheel_timer_usable(timer))
		return TWHEEL_NEVER;
	shard = twheel_timer_lock(timer, &flags);
	if (twheel_timer_pending(timer) && timer->node.expires <= KTIME_MAX) {
		when = twheel_shard_time(shard, twheel_shard_tick(shard, timer->node.expires));
		now = twheel_clock_ns(shard->clock);
		remaining = when > now ? when - now : 0;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return remaining;
}
EXPORT_SYMBOL_GPL(twheel_timer_remaining);

/*
 * Try to lock the local shard, too, to move a timer there. Returns this shard, or the shard of
 * the timer.
 */
static inline struct twheel_shard *timer_lock_local(const struct twheel_timer *timer,
						    struct twheel_shard *shard)
{
	struct twheel_shard *local;

	lockdep_assert_held(&shard->lock);
	if (likely(shard->number == raw_smp_processor_id()))
		return shard;
	local = twheel_local_shard(shard->wheel);
	if (local == shard || twheel_timer_base(shard, timer)->running == timer ||
	    !spin_trylock(&local->lock))
		return shard;
	/* Sparse does not count a lock that is only held in some cases. */
	__release(&local->lock);
	return local;
}

/* Forward the wheels if they are idle, and check whether the levels of one suffice for a tick. */
static inline bool shard_reaches(struct twheel_shard *shard, const struct twheel_wheel *wheel,
				 u64 tick)
{
	unsigned long kernel_tick = jiffies;

	lockdep_assert_held(&shard->lock);
	/* The coarse clock advances with jiffies; CLOCK_REALTIME may be set in between. */
	if (shard->forwarded != kernel_tick || shard->clock == TWHEEL_CLOCK_REALTIME)
		twheel_shard_forward(shard);
	return likely(tick - wheel->now < wheel->reach) ||
	       tick == TWHEEL_TICK_NEVER || twheel_wheel_reaches(wheel, tick);
}

/*
 * Add a level, unless another CPU did so meanwhile. Returns false if out of memory. A level of many
 * slots takes several pages, and no reserves for them.
 */
static noinline bool add_level(struct twheel_shard *shard, struct twheel_wheel *wheel, u64 tick)
{
	struct twheel_level *level;
	unsigned long flags;
	gfp_t gfp;

	gfp = wheel->slots * sizeof(struct twheel_bucket) <= PAGE_SIZE ? GFP_ATOMIC : GFP_NOWAIT;
	level = twheel_level_alloc(wheel, gfp | __GFP_NOWARN | shard->account);
	if (!level)
		return false;
	spin_lock_irqsave(&shard->lock, flags);
	if (!twheel_wheel_reaches(wheel, tick)) {
		twheel_wheel_grow(wheel, level);
		level = NULL;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	twheel_level_free(level);
	return true;
}

/*
 * The tick for a deadline with slack: the last start of a slot within the slack, on the
 * highest level possible. Timers with this tick share a bucket and fire when it expires.
 */
static noinline u64 tick_with_slack(const struct twheel_shard *shard, u64 deadline, u64 slack_ns)
{
	u64 slack, last, span = 1, slots = shard->base[TWHEEL_BASE_REAPER].queue.wheel.slots;
	u64 tick = twheel_shard_tick(shard, deadline);

	if (tick == TWHEEL_TICK_NEVER)
		return tick;
	if (slack_ns == TWHEEL_SLACK_COARSE)
		slack_ns = max_t(s64, 0, deadline - twheel_clock_ns(shard->clock)) / 8;
	slack = div64_u64(slack_ns, shard->tick_ns);
	if (check_add_overflow(tick, slack, &last))
		return tick;
	while (slack >= slots) {
		slack = div64_u64(slack, slots);
		span *= slots;
	}
	return div64_u64(last, span) * span;
}

/**
 * struct arming - a timer that is being armed
 * @timer: the timer
 * @expires: its new deadline, with slack that of its tick
 * @tick: its new tick
 * @from: its shard, locked
 * @to: the shard on which to arm it, locked; may be @from
 * @kind: the flags of the timer, which do not change while @from is locked
 * @flags: state of interrupts before the locks
 *
 * The functions that add and re-arm are inlined as a whole, so that this stays in registers.
 */
struct arming {
	struct twheel_timer	*timer;
	u64			expires;
	u64			tick;
	struct twheel_shard	*from;
	struct twheel_shard	*to;
	unsigned int		kind;
	unsigned long		flags;
};

static __always_inline void arming_lock(struct arming *arming, struct twheel_shard *shard,
					bool may_move)
	__acquires(arming)
{
	arming->from = twheel_timer_lock_from(shard, arming->timer, &arming->flags);
	arming->to = may_move ? timer_lock_local(arming->timer, arming->from) : arming->from;
	arming->kind = arming->timer->shard_flags & TWHEEL_TIMER_FLAGS;
}

static __always_inline void arming_unlock(const struct arming *arming)
	__releases(arming)
{
	if (unlikely(arming->to != arming->from)) {
		__acquire(&arming->from->lock);
		spin_unlock(&arming->from->lock);
	}
	spin_unlock_irqrestore(&arming->to->lock, arming->flags);
}

/*
 * Compute the tick of a timer, and lock it to add or re-arm it.
 *
 * If the wheel needs another level, the caller allocates it without the lock, see arming_grow(),
 * and tries again, with @grown if this succeeded. Without memory, the timer stays on its shard, and
 * goes to the last slot of the top level if this shard needs a level, too; see wheel.c.
 */
static __always_inline struct arming arming_begin(struct twheel_timer *timer, u64 deadline,
						  u64 slack_ns, bool grown)
	__acquires(arming)
{
	/* Any shard of the wheel will do for the tick. */
	struct twheel_shard *shard = twheel_timer_predict_shard(timer);
	struct arming arming = { .timer = timer, .expires = deadline };

	if (likely(!slack_ns)) {
		arming.tick = twheel_shard_tick(shard, deadline);
	} else {
		arming.tick = tick_with_slack(shard, deadline, slack_ns);
		if (arming.tick != TWHEEL_TICK_NEVER)
			arming.expires = twheel_shard_time(shard, arming.tick);
	}
	arming_lock(&arming, shard, grown);
	return arming;
}

/* Internal results of adds and re-arms: try again, with another level or without memory for one. */
#define ARMING_GROWN		3
#define ARMING_NO_MEMORY	4

/* Unlock a timer, and add a level to the wheel on which it is armed. Returns one of these. */
static __always_inline int arming_grow(const struct arming *arming)
	__releases(arming)
{
	struct twheel_wheel *wheel = twheel_shard_wheel(arming->to, arming->kind);

	arming_unlock(arming);
	return add_level(arming->to, wheel, arming->tick) ? ARMING_GROWN : ARMING_NO_MEMORY;
}

/* Whether the wheel of a timer reaches its tick. */
static __always_inline bool arming_reaches(const struct arming *arming)
{
	struct twheel_wheel *wheel = twheel_shard_wheel(arming->to, arming->kind);

	return likely(shard_reaches(arming->to, wheel, arming->tick));
}

/* Assign a timer that is on no list to the shard on which it is armed. */
static __always_inline void arming_move(const struct arming *arming)
{
	if (likely(arming->to == arming->from))
		return;
	WRITE_ONCE(arming->timer->shard_flags, (unsigned long)arming->to | arming->kind);
}

/* Whether a shard with reasons to refuse timers refuses this one. */
static noinline bool shard_refuses(struct twheel_shard *shard, const struct twheel_timer *timer)
{
	const struct twheel_base *base = twheel_timer_base(shard, timer);

	return shard->refuse & TWHEEL_REFUSE_STOPPED ||
	       (base->running == timer && base->waited & TWHEEL_WAITED_CANCEL);
}

static inline bool timer_refused(struct twheel_shard *shard, const struct twheel_timer *timer)
{
	return (unlikely(shard->refuse) && shard_refuses(shard, timer)) || !timer->fn;
}

static __always_inline int arming_check(const struct arming *arming)
{
	const struct twheel_wheel *wheel = twheel_shard_wheel(arming->to, arming->kind);

	if (timer_refused(arming->to, arming->timer))
		return -ESHUTDOWN;
	/* Only a base of inline timers may be without a level. */
	if (unlikely(arming->kind) && !wheel->nr_levels && arming->tick > wheel->now &&
	    arming->tick != TWHEEL_TICK_NEVER)
		return -ENOMEM;
	return 0;
}

/* Reset the flags of a timer that is being armed; a step of the clock from now on cancels it. */
static noinline void timer_reset(const struct twheel_shard *shard, struct twheel_timer *timer)
{
	WRITE_ONCE(timer->shard_flags, timer->shard_flags &
		   ~(TWHEEL_TIMER_WAS_SET | TWHEEL_TIMER_WAS_PAST));
	if (twheel_timer_follows_steps(shard, timer))
		twheel_clock_timer(timer)->generation = shard->generation;
}

/*
 * Make a timer with flags of @kind pending. If its tick has passed, it is due at once, but not
 * late.
 */
static __always_inline void timer_enqueue(struct twheel_shard *shard, struct twheel_timer *timer,
					  unsigned int kind, u64 expires, u64 tick)
{
	struct twheel_base *base = twheel_shard_base(shard, kind);

	if (unlikely(kind))
		timer_reset(shard, timer);
	if (unlikely(tick < base->queue.wheel.now))
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_PAST);
	twheel_debug_activate(timer);
	timer->node.expires = expires;
	shard->added++;
	twheel_shard_add(shard, base, timer, tick);
	trace_twheel_timer_add(timer, shard);
}

static __always_inline void arming_enqueue(const struct arming *arming)
{
	arming_move(arming);
	timer_enqueue(arming->to, arming->timer, arming->kind, arming->expires, arming->tick);
}

/* Arm a timer that is not pending. */
static __always_inline int timer_arm(const struct arming *arming)
{
	int err = arming_check(arming);

	if (err)
		return err;
	if (!twheel_shard_charge(arming->to)) {
		arming->to->rejected++;
		return -ENOSPC;
	}
	arming_enqueue(arming);
	return 0;
}

static __always_inline int timer_add(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
				     bool grown)
{
	struct arming arming = arming_begin(timer, deadline, slack_ns, grown);
	int err;

	if (!arming_reaches(&arming) && grown)
		return arming_grow(&arming);
	err = twheel_timer_pending(timer) ? -EBUSY : timer_arm(&arming);
	arming_unlock(&arming);
	return err;
}

/* Not inlined, so that it takes no registers of plain_call(). */
static noinline int timer_add_any(struct twheel_timer *timer, u64 deadline, u64 slack_ns)
{
	int ret = ARMING_GROWN;

	if (timer_is_zeroed(timer))
		return -EINVAL;
	while (ret >= ARMING_GROWN)
		ret = timer_add(timer, deadline, slack_ns, ret == ARMING_GROWN);
	return ret;
}

/*
 * Whether a pending node stays in its bucket when its timer is re-armed to a later deadline: the
 * bucket expires before that, and then the node is placed by its new tick. This does not hold
 *
 * - on level 0, where a bucket expires as a whole, unless it is mixed. A node there has a tick
 *   less than a turn ahead: it had when it was placed there, and it does not stay with a later
 *   one.
 * - on a wheel that goes back, as those of CLOCK_REALTIME do
 * - beyond the reach of the levels; with memory they are extended
 *
 * The last two are left to the caller. The wheel may not have been forwarded: the node was placed
 * by an earlier tick of the wheel, and the reach is longer from a later one.
 */
static __always_inline bool node_stays(const struct twheel_wheel *wheel,
				       const struct twheel_node *node, u64 deadline)
{
	return deadline >= node->expires &&
	       node->expires > (wheel->now + wheel->slots - 1) * wheel->tick_ns;
}

/*
 * Plain calls
 *
 * Most timers have no flags and no slack, and are on the shard of this CPU, which has no limit and
 * a clock that does not go back. If the new tick has not passed and the levels reach it, an add or
 * re-arm is short. All others take the functions above, which allow for everything.
 */

/* Internal result of a plain call: the timer or its tick is not plain. */
#define NOT_PLAIN	3

/* The shard of a timer for a plain call, or NULL; see twheel_timer_predict_shard(). */
static __always_inline struct twheel_shard *plain_shard(const struct twheel_timer *timer)
{
	struct twheel_shard *shard = this_cpu_read(twheel_last_shard);

	if (unlikely(READ_ONCE(timer->shard_flags) != (unsigned long)shard)) {
		if (twheel_timer_flags(timer))
			return NULL;
		shard = twheel_timer_predict_shard(timer);
	}
	OPTIMIZER_HIDE_VAR(shard);
	if (unlikely(!shard || !shard->plain))
		return NULL;
	/* The caller may migrate after that: any shard is correct. */
	if (likely(shard->number == raw_smp_processor_id()))
		return shard;
	/* A wheel may have fewer shards than there are CPUs. */
	return twheel_local_shard(shard->wheel) == shard ? shard : NULL;
}

/* As twheel_shard_tick() */
static __always_inline u64 plain_tick(const struct twheel_shard *shard, u64 deadline)
{
	if (unlikely(deadline > KTIME_MAX))
		return TWHEEL_TICK_NEVER;
	return (deadline + shard->tick_ns - 1) >> shard->tick_shift;
}

/* Whether a call is plain, now that the shard is locked, which may not be that of the timer. */
static __always_inline bool plain_holds(struct twheel_shard *shard,
					const struct twheel_timer *timer, u64 tick)
{
	const struct twheel_wheel *wheel = &shard->base[TWHEEL_BASE_REAPER].queue.wheel;
	unsigned long kernel_tick = jiffies;

	lockdep_assert_held(&shard->lock);
	if (unlikely(READ_ONCE(timer->shard_flags) != (unsigned long)shard || shard->refuse))
		return false;
	if (unlikely(shard->forwarded != kernel_tick))
		twheel_shard_forward(shard);
	return likely(tick > wheel->now && tick - wheel->now < wheel->reach);
}

static __always_inline void plain_enqueue(struct twheel_shard *shard, struct twheel_timer *timer,
					  u64 deadline, u64 tick)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_REAPER];
	u64 next;

	twheel_debug_activate(timer);
	timer->node.expires = deadline;
	next = twheel_queue_place(&base->queue, &timer->node, tick);
	if (unlikely(next < shard->armed))
		__twheel_shard_added(shard, base, next);
	trace_twheel_timer_add(timer, shard);
}

/* Add a timer that is not pending. Return: 0, or NOT_PLAIN after a shutdown. */
static __always_inline int plain_arm(struct twheel_shard *shard, struct twheel_timer *timer,
				     u64 deadline, u64 tick)
{
	if (unlikely(!timer->fn))
		return NOT_PLAIN;
	shard->base[TWHEEL_BASE_REAPER].queue.nr_nodes++;
	shard->added++;
	plain_enqueue(shard, timer, deadline, tick);
	return 0;
}

/* Re-arm a timer always. */
static __always_inline int plain_move(struct twheel_shard *shard, struct twheel_timer *timer,
				      u64 deadline, u64 tick)
{
	if (unlikely(!twheel_timer_pending(timer)))
		return plain_arm(shard, timer, deadline, tick) ?: 2;
	if (node_stays(&shard->base[TWHEEL_BASE_REAPER].queue.wheel, &timer->node, deadline)) {
		timer->node.expires = deadline;
		trace_twheel_timer_stay(timer, shard->number);
	} else {
		list_del_init(&timer->node.entry);
		twheel_debug_deactivate(timer);
		plain_enqueue(shard, timer, deadline, tick);
	}
	shard->rearmed++;
	return 1;
}

/* Add a timer, or re-arm it always. */
static __always_inline int plain_call(struct twheel_shard *shard, struct twheel_timer *timer,
				      u64 deadline, bool rearm)
{
	u64 tick = plain_tick(shard, deadline);
	int ret = NOT_PLAIN;
	unsigned long flags;

	spin_lock_irqsave(&shard->lock, flags);
	if (plain_holds(shard, timer, tick)) {
		if (rearm)
			ret = plain_move(shard, timer, deadline, tick);
		else if (likely(!twheel_timer_pending(timer)))
			ret = plain_arm(shard, timer, deadline, tick);
		else
			ret = -EBUSY;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return ret;
}

/**
 * twheel_timer_add_slack - add a timer with a tolerance
 * @timer: the timer, initialised
 * @deadline: in ns by the clock of the wheel, see twheel_deadline(). A deadline that has
 *	passed fires at once; one after 2^63 - 1 never fires.
 * @slack_ns: tolerance in ns, in addition to a tick; TWHEEL_SLACK_COARSE for an eighth of the
 *	remaining time. The timer is never early.
 *
 * With slack, timers share wake-ups, and most of them stay in their first bucket until they
 * fire.
 *
 * Context: any except NMI, without locks that a wake-up takes; on PREEMPT_RT neither hard
 * interrupt context nor under a raw spinlock.
 * Return:
 * * %0          - the timer is pending
 * * %-EBUSY     - it was pending: use twheel_timer_rearm()
 * * %-ESHUTDOWN - it was shut down, the wheel has been stopped, or twheel_timer_cancel_sync() is
 *   waiting for its callback
 * * %-ENOSPC    - the wheel has reached its limit on pending timers
 * * %-ENOMEM    - no memory for the first inline timer of a shard; other timers need none
 * * %-EINVAL    - it was not initialised; with a warning
 */
int twheel_timer_add_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns)
{
	struct twheel_shard *shard;
	int ret;

	twheel_debug_assert_init(timer);
	if (unlikely(slack_ns))
		return timer_add_any(timer, deadline, slack_ns);
	shard = plain_shard(timer);
	if (unlikely(!shard))
		return timer_add_any(timer, deadline, 0);
	ret = plain_call(shard, timer, deadline, false);
	return likely(ret != NOT_PLAIN) ? ret : timer_add_any(timer, deadline, 0);
}
EXPORT_SYMBOL_GPL(twheel_timer_add_slack);

/*
 * twheel_timer_add() for a timer without flags that was initialised just now and that no other
 * thread knows. It is pending afterwards, or has fired; the errors are those of a wheel that has
 * been stopped or has a limit.
 */
int twheel_timer_add_new(struct twheel_timer *timer, u64 deadline)
{
	struct twheel_shard *shard = twheel_timer_shard(timer);
	int ret = likely(shard->plain) ? plain_call(shard, timer, deadline, false) : NOT_PLAIN;

	return likely(ret != NOT_PLAIN) ? ret : timer_add_any(timer, deadline, 0);
}

/* By exact deadlines, which count when the clock is set. */
static inline bool rearm_applies(const struct twheel_timer *timer, u64 deadline,
				 enum twheel_rearm mode)
{
	bool pending = twheel_timer_pending(timer);

	switch ((unsigned int)mode) {
	case TWHEEL_REARM_ALWAYS:
		return true;
	case TWHEEL_REARM_IF_PENDING:
		return pending;
	case TWHEEL_REARM_IF_EARLIER:
		return !pending || deadline < timer->node.expires;
	case TWHEEL_REARM_IF_LATER:
		return !pending || deadline > timer->node.expires;
	}
	WARN_ON_ONCE(1);
	return false;
}

/* Whether a mode allows to set a later deadline, or an equal one. */
static inline bool rearm_may_delay(enum twheel_rearm mode, bool equal)
{
	return mode == TWHEEL_REARM_ALWAYS || mode == TWHEEL_REARM_IF_PENDING ||
	       (mode == TWHEEL_REARM_IF_LATER && !equal);
}

/* Inline timers do not stay, since the alarm would have to place them again, a few at a time. */
static __always_inline bool arming_stays(const struct arming *arming, enum twheel_rearm mode)
{
	struct twheel_timer *timer = arming->timer;
	struct twheel_shard *shard = arming->to;
	const struct twheel_base *base = twheel_shard_base(shard, arming->kind);
	const struct twheel_wheel *wheel = &base->queue.wheel;

	return twheel_timer_pending(timer) &&
	       rearm_may_delay(mode, arming->expires == timer->node.expires) &&
	       shard == arming->from && node_stays(wheel, &timer->node, arming->expires) &&
	       arming->tick - wheel->now < wheel->reach && !wheel->rewinds &&
	       !timer_refused(shard, timer) &&
	       !(unlikely(arming->kind) && twheel_base_is_inline(shard, base));
}

/* Move a pending timer to another bucket, and perhaps to another shard. It stays charged. */
static __always_inline void timer_replace(const struct arming *arming)
{
	struct twheel_timer *timer = arming->timer;

	twheel_queue_del(&twheel_shard_base(arming->from, arming->kind)->queue, &timer->node);
	twheel_debug_deactivate(timer);
	/* It counts as added on the shard where it will end. */
	arming->from->added--;
	arming_enqueue(arming);
}

/* Move a timer to another tick, or arm it if it is not pending. */
static __always_inline int timer_move(const struct arming *arming)
{
	struct twheel_timer *timer = arming->timer;
	struct twheel_shard *shard = arming->to;
	int err;

	if (!twheel_timer_pending(timer))
		return timer_arm(arming) ?: 2;
	/* twheel_stop() removes the pending timers of a stopped wheel. */
	err = arming_check(arming);
	if (err)
		return err;
	if (unlikely(arming->kind) && twheel_timer_follows_steps(shard, timer) &&
	    twheel_clock_timer(timer)->generation != shard->generation)
		return -ECANCELED;
	timer_replace(arming);
	shard->rearmed++;
	return 1;
}

static __always_inline int timer_rearm(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
				       enum twheel_rearm mode, bool grown)
{
	struct arming arming = arming_begin(timer, deadline, slack_ns, grown);
	int ret = 0;

	if (arming_stays(&arming, mode)) {
		timer->node.expires = arming.expires;
		trace_twheel_timer_stay(timer, arming.to->number);
		arming.to->rearmed++;
		ret = 1;
	} else if (!arming_reaches(&arming) && grown) {
		return arming_grow(&arming);
	} else if (rearm_applies(timer, arming.expires, mode)) {
		ret = timer_move(&arming);
	}
	arming_unlock(&arming);
	return ret;
}

/* As timer_add_any() */
static noinline int timer_rearm_any(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
				    enum twheel_rearm mode)
{
	int ret = ARMING_GROWN;

	if (timer_is_zeroed(timer))
		return -EINVAL;
	while (ret >= ARMING_GROWN)
		ret = timer_rearm(timer, deadline, slack_ns, mode, ret == ARMING_GROWN);
	return ret;
}

/**
 * twheel_timer_rearm_slack - change the deadline of a timer
 * @timer: the timer, initialised
 * @deadline: as for twheel_timer_add_slack()
 * @slack_ns: likewise
 * @mode: condition for the change, and whether a timer that is not pending is armed
 *
 * Like twheel_op_rearm(), this returns a positive value if the new deadline is in effect. A
 * caller that holds a reference for a pending timer takes one if the result is 2.
 *
 * Context: as twheel_timer_add_slack().
 * Return:
 * * %1          - it was pending and has been moved
 * * %2          - it was not pending and has been armed
 * * %0          - @mode excluded the change
 * * %-ECANCELED - a change of the clock has cancelled it, see twheel_clock_timer_init(): its
 *   callback has not been called yet, and will be
 * * %-ESHUTDOWN - as for twheel_timer_add_slack()
 * * %-ENOSPC    - it was not pending, and the wheel has reached its limit on pending timers
 * * %-ENOMEM    - as for twheel_timer_add_slack(); a pending timer stays as it was
 * * %-EINVAL    - it was not initialised; with a warning
 */
int twheel_timer_rearm_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode)
{
	struct twheel_shard *shard;
	int ret;

	twheel_debug_assert_init(timer);
	if (unlikely(slack_ns || mode != TWHEEL_REARM_ALWAYS))
		return timer_rearm_any(timer, deadline, slack_ns, mode);
	shard = plain_shard(timer);
	if (unlikely(!shard))
		return timer_rearm_any(timer, deadline, 0, TWHEEL_REARM_ALWAYS);
	ret = plain_call(shard, timer, deadline, true);
	return likely(ret != NOT_PLAIN) ? ret :
		timer_rearm_any(timer, deadline, 0, TWHEEL_REARM_ALWAYS);
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm_slack);

/*
 * Arm a periodic timer for its next run. The limit on pending timers is not enforced, as the
 * timer was charged for the previous run: at most one timer per shard exceeds the limit.
 */
static void timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline,
			 u64 tick)
{
	/* If the clock was set during the callback, the timer was not in the wheel. */
	bool was_set = twheel_timer_follows_steps(shard, timer) &&
		       twheel_clock_timer(timer)->generation != shard->generation;

	if (shard->limit)
		atomic64_inc(&shard->limit->pending);
	timer_enqueue(shard, timer, twheel_timer_flags(timer), was_set ? 0 : deadline,
		      was_set ? 0 : tick);
	if (was_set)
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_SET);
}

/*
 * Arm a periodic timer again, just before its callback returns, unless it was armed during the
 * callback, or cancelled; in this case it may have been freed. Periodic timers are never inline.
 */
void twheel_timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_REAPER];
	u64 tick = twheel_shard_tick(shard, deadline);
	struct twheel_wheel *wheel;
	unsigned long flags;
	bool grown = true;

	for (;;) {
		spin_lock_irqsave(&shard->lock, flags);
		WARN_ON_ONCE(base->running != timer);
		if (base->running_cancelled || timer_refused(shard, timer) ||
		    twheel_timer_pending(timer))
			break;
		wheel = twheel_shard_wheel(shard, twheel_timer_flags(timer));
		if (shard_reaches(shard, wheel, tick) || !grown) {
			timer_repeat(shard, timer, deadline, tick);
			break;
		}
		spin_unlock_irqrestore(&shard->lock, flags);
		grown = add_level(shard, wheel, tick);
	}
	spin_unlock_irqrestore(&shard->lock, flags);
}

/* Cancel a timer of a base. Returns true if it was pending. It may be running in either case. */
static inline bool timer_stop(struct twheel_shard *shard, struct twheel_base *base,
			      struct twheel_timer *timer)
{
	lockdep_assert_held(&shard->lock);
	if (unlikely(base->running == timer))
		base->running_cancelled = true;
	if (!twheel_timer_pending(timer))
		return false;
	twheel_queue_del(&base->queue, &timer->node);
	twheel_debug_deactivate(timer);
	twheel_shard_uncharge(shard);
	trace_twheel_timer_cancel(timer, shard->number);
	shard->cancelled++;
	return true;
}

/**
 * twheel_timer_cancel - cancel a timer
 * @timer: the timer, initialised
 *
 * This does not wait for a running callback. After 0 and -EALREADY the timer may be freed if
 * no other thread adds it, and not during twheel_stop(), which passes it to a callback. After 1
 * and -EINPROGRESS the callback may still use the timer and add it again: call
 * twheel_timer_cancel_sync() before freeing the timer.
 *
 * Context: as twheel_timer_add().
 * Return:
 * * %0            - it was pending, and its callback is not running
 * * %1            - it was pending, and its callback is running: the timer was added again
 *   during the callback
 * * %-EINPROGRESS - it was not pending, and its callback is running
 * * %-EALREADY    - it was neither pending nor running
 * * %-EINVAL      - it was not initialised; with a warning
 */
int twheel_timer_cancel(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	struct twheel_base *base;
	unsigned long flags;
	bool won, running;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = twheel_timer_lock(timer, &flags);
	base = twheel_timer_base(shard, timer);
	won = timer_stop(shard, base, timer);
	running = base->running == timer;
	spin_unlock_irqrestore(&shard->lock, flags);
	if (won)
		return running;
	return running ? -EINPROGRESS : -EALREADY;
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel);

/* Whether the caller may be the running callback of a base. */
static bool waits_for_itself(const struct twheel_shard *shard, const struct twheel_base *base)
{
	return in_interrupt() ||
	       (shard->reaper->task == current && !twheel_base_is_inline(shard, base));
}

/* Let lockdep know that the caller may wait for the callback of a timer. */
static void timer_may_wait(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	unsigned long flags, class = 0;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	shard = twheel_timer_lock(timer, &flags);
	/* The callback itself gets -EDEADLK. */
	if (timer->fn && !waits_for_itself(shard, twheel_timer_base(shard, timer)))
		class = twheel_timer_class(timer);
	spin_unlock_irqrestore(&shard->lock, flags);
	if (class)
		twheel_callback_wait(class);
}

/*
 * Cancel a timer and wait for its callback. With @shutdown it cannot be added again. Otherwise
 * another thread may add it when the callback has returned, even to another shard.
 */
static int cancel_and_wait(struct twheel_timer *timer, bool shutdown)
{
	struct twheel_shard *shard;
	struct twheel_base *base;
	unsigned long flags;
	bool won = false;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	timer_may_wait(timer);
	for (;;) {
		shard = twheel_timer_lock(timer, &flags);
		base = twheel_timer_base(shard, timer);
		if (shutdown)
			timer->fn = NULL;
		won |= timer_stop(shard, base, timer);
		if (base->running != timer) {
			spin_unlock_irqrestore(&shard->lock, flags);
			return won ? 0 : -EALREADY;
		}
		if (WARN_ON_ONCE(waits_for_itself(shard, base))) {
			spin_unlock_irqrestore(&shard->lock, flags);
			return -EDEADLK;
		}
		twheel_shard_wait(shard, base, TWHEEL_WAITED | TWHEEL_WAITED_CANCEL);
		spin_unlock_irqrestore(&shard->lock, flags);
	}
}

/**
 * twheel_timer_cancel_sync - cancel a timer and wait for its callback
 * @timer: the timer, initialised
 *
 * When this returns, the callback is not running, and the timer may be freed if no other
 * thread adds it. This holds for callbacks that add their own timer again, too: during the wait
 * adds fail with -ESHUTDOWN. A concurrent twheel_stop() may still pass the timer to its @cancelled
 * function; see there.
 *
 * Context: process; may sleep.
 * Return:
 * * %0         - it was pending
 * * %-EALREADY - it was not pending; if it was running, the callback has returned
 * * %-EDEADLK  - called by the callback of the timer, with a warning; the timer is not pending
 *   any more, but still running
 * * %-EINVAL   - it was not initialised; with a warning
 */
int twheel_timer_cancel_sync(struct twheel_timer *timer)
{
	might_sleep();
	return cancel_and_wait(timer, false);
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel_sync);

/**
 * twheel_timer_shutdown_sync - cancel a timer permanently and wait for its callback
 * @timer: the timer, initialised
 *
 * As twheel_timer_cancel_sync(), and from now on add and re-arm return -ESHUTDOWN, until the
 * timer is initialised again. For the teardown of an object that other threads may still use.
 *
 * Context: process; may sleep.
 * Return: as twheel_timer_cancel_sync().
 */
int twheel_timer_shutdown_sync(struct twheel_timer *timer)
{
	might_sleep();
	return cancel_and_wait(timer, true);
}
EXPORT_SYMBOL_GPL(twheel_timer_shutdown_sync);

/*
 * As twheel_timer_shutdown_sync(), until twheel_timer_unblock(). @blocked is the number of
 * concurrent blocks, protected by the lock of the shard.
 */
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked)
{
	struct twheel_shard *shard;
	unsigned long flags;

	shard = twheel_timer_lock(timer, &flags);
	++*blocked;
	spin_unlock_irqrestore(&shard->lock, flags);
	return cancel_and_wait(timer, true);
}

/* Undo twheel_timer_block(). The last of several concurrent callers restores the callback. */
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer))
{
	struct twheel_shard *shard;
	unsigned long flags;

	shard = twheel_timer_lock(timer, &flags);
	if (!--*blocked)
		timer->fn = fn;
	spin_unlock_irqrestore(&shard->lock, flags);
}

/* Whether a reaper runs a callback of a shard. The caller is the reaper of the shard. */
static bool shard_runs_function(const struct twheel_shard *shard)
{
	const struct twheel_base *base;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++)
		if (!twheel_base_is_inline(shard, base) && base->running)
			return true;
	return false;
}

/* Whether the caller may be a callback of a wheel: in an interrupt, or on one of its reapers. */
bool twheel_runs_functions(const struct twheel *wheel)
{
	unsigned int i;

	if (in_interrupt())
		return true;
	for (i = 0; i < wheel->nr_shards; i++)
		if (wheel->shard[i].reaper->task == current &&
		    shard_runs_function(&wheel->shard[i]))
			return true;
	return false;
}

/**
 * twheel_flush - wait for the running callbacks of a wheel
 * @wheel: the wheel
 *
 * Callbacks that begin during the call are not waited for. A module with callbacks that free
 * their timers must call this before it is unloaded, when none of these timers is pending.
 *
 * Context: process; may sleep.
 * Return: 0; -EDEADLK if called by a callback of the wheel, with a warning.
 */
int twheel_flush(struct twheel *wheel)
{
	struct twheel_shard *shard;
	unsigned int i, b;

	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++) {
		shard = &wheel->shard[i];
		spin_lock_irq(&shard->lock);
		for (b = 0; b < TWHEEL_BASES; b++)
			twheel_shard_wait(shard, &shard->base[b], TWHEEL_WAITED);
		spin_unlock_irq(&shard->lock);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_flush);
