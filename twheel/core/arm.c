// SPDX-License-Identifier: GPL-2.0
/*
 * core: adds and re-arms of timers.
 *
 *
 * Two paths
 * ---------
 *
 * Most timers have no flags and no slack, and are on the shard of this CPU, which has no limit and
 * a clock that does not go back. If the new tick has not passed and the levels reach it, a call is
 * plain: it takes the short path, plain_call(). All others take timer_arm(), which allows for all
 * cases.
 *
 *
 * Locking
 * -------
 *
 * A timer is protected by the lock of its shard, see timer.c. To keep CPUs from contending for one
 * lock, an add or re-arm moves the timer to the shard of the current CPU, unless the timer is
 * running:
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
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "shard.h"
#include "timer.h"
#include "twheel.h"

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

/*
 * Try to lock the local shard, too, to move a timer there. Returns this shard, or the shard of
 * the timer.
 */
static struct twheel_shard *timer_lock_local(const struct twheel_timer *timer,
					     struct twheel_shard *shard)
{
	struct twheel_shard *local;

	lockdep_assert_held(&shard->lock);
	if (shard->number == raw_smp_processor_id())
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
static bool shard_reaches(struct twheel_shard *shard, const struct twheel_wheel *wheel, u64 tick)
{
	unsigned long kernel_tick = jiffies;

	lockdep_assert_held(&shard->lock);
	/* The coarse clock advances with jiffies; CLOCK_REALTIME may be set in between. */
	if (shard->forwarded != kernel_tick || shard->clock == TWHEEL_CLOCK_REALTIME)
		twheel_shard_forward(shard);
	return tick - wheel->now < wheel->reach ||
	       tick == TWHEEL_TICK_NEVER || twheel_wheel_reaches(wheel, tick);
}

/*
 * Add a level, unless another CPU did so meanwhile. Returns false if out of memory. A level of many
 * slots takes several pages, and no reserves for them.
 */
static bool add_level(struct twheel_shard *shard, struct twheel_wheel *wheel, u64 tick)
{
	struct twheel_level *level;
	unsigned long flags;
	gfp_t gfp;

	gfp = wheel->slots * sizeof(struct twheel_bucket) <= PAGE_SIZE ? GFP_ATOMIC : GFP_NOWAIT;
	level = twheel_level_alloc(wheel, gfp | __GFP_NOWARN | shard->account);
	if (!level)
		return false;
	spin_lock_irqsave(&shard->lock, flags);
	if (!twheel_wheel_reaches(wheel, tick) && twheel_wheel_grow(wheel, level))
		level = NULL;
	spin_unlock_irqrestore(&shard->lock, flags);
	twheel_level_free(level);
	return true;
}

/*
 * The tick for a deadline with slack: the last start of a slot within the slack, on the
 * highest level possible. Timers with this tick share a bucket and fire when it expires.
 */
static u64 tick_with_slack(const struct twheel_shard *shard, u64 deadline, u64 slack_ns)
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

static bool timer_refused(struct twheel_shard *shard, const struct twheel_timer *timer)
{
	const struct twheel_base *base = twheel_timer_base(shard, timer);

	return !timer->fn || shard->refuse & TWHEEL_REFUSE_STOPPED ||
	       (base->running == timer && base->waited & TWHEEL_WAITED_CANCEL);
}

/* Reset the flags of a timer that is being armed; a step of the clock from now on cancels it. */
static void timer_reset(const struct twheel_shard *shard, struct twheel_timer *timer)
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
static void timer_enqueue(struct twheel_shard *shard, struct twheel_timer *timer,
			  unsigned int kind, u64 expires, u64 tick)
{
	struct twheel_base *base = twheel_shard_base(shard, kind);

	if (kind)
		timer_reset(shard, timer);
	if (tick < base->queue.wheel.now)
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_PAST);
	twheel_debug_activate(timer);
	timer->node.expires = expires;
	shard->added++;
	twheel_shard_add(shard, base, timer, tick);
	trace_twheel_timer_add(timer, shard);
}

/* Internal mode: add a timer that is not pending. */
#define ARM_ADD		UINT_MAX

/**
 * struct arming - a timer that is being armed
 * @timer: the timer
 * @mode: an enum twheel_rearm, or ARM_ADD
 * @expires: its new deadline, with slack that of its tick
 * @tick: its new tick
 * @from: its shard, locked
 * @to: the shard on which to arm it, locked; may be @from
 * @kind: the flags of the timer, which do not change while @from is locked
 * @flags: state of interrupts before the locks
 */
struct arming {
	struct twheel_timer	*timer;
	unsigned int		mode;
	u64			expires;
	u64			tick;
	struct twheel_shard	*from;
	struct twheel_shard	*to;
	unsigned int		kind;
	unsigned long		flags;
};

static void arming_init(struct arming *arming, u64 deadline, u64 slack_ns)
{
	/* Any shard of the wheel will do for the tick. */
	const struct twheel_shard *shard = twheel_timer_shard(arming->timer);

	arming->expires = deadline;
	if (!slack_ns) {
		arming->tick = twheel_shard_tick(shard, deadline);
		return;
	}
	arming->tick = tick_with_slack(shard, deadline, slack_ns);
	if (arming->tick != TWHEEL_TICK_NEVER)
		arming->expires = twheel_shard_time(shard, arming->tick);
}

static void arming_lock(struct arming *arming, bool may_move)
	__acquires(arming)
{
	arming->from = twheel_timer_lock(arming->timer, &arming->flags);
	arming->to = may_move ? timer_lock_local(arming->timer, arming->from) : arming->from;
	arming->kind = twheel_timer_flags(arming->timer);
}

static void arming_unlock(const struct arming *arming)
	__releases(arming)
{
	if (arming->to != arming->from) {
		__acquire(&arming->from->lock);
		spin_unlock(&arming->from->lock);
	}
	spin_unlock_irqrestore(&arming->to->lock, arming->flags);
}

static struct twheel_wheel *arming_wheel(const struct arming *arming)
{
	return twheel_shard_wheel(arming->to, arming->kind);
}

static int arming_check(const struct arming *arming)
{
	const struct twheel_wheel *wheel = arming_wheel(arming);

	if (timer_refused(arming->to, arming->timer))
		return -ESHUTDOWN;
	/* Only a base of inline timers may be without a level. */
	if (!wheel->nr_levels && arming->tick > wheel->now && arming->tick != TWHEEL_TICK_NEVER)
		return -ENOMEM;
	return 0;
}

static void arming_enqueue(const struct arming *arming)
{
	struct twheel_timer *timer = arming->timer;

	if (arming->to != arming->from)
		WRITE_ONCE(timer->shard_flags, (unsigned long)arming->to | arming->kind);
	timer_enqueue(arming->to, timer, arming->kind, arming->expires, arming->tick);
}

/* Arm a timer that is not pending. */
static int arming_add(const struct arming *arming)
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

/* Move a pending timer to another bucket, and perhaps to another shard. It stays charged. */
static int arming_move(const struct arming *arming)
{
	struct twheel_timer *timer = arming->timer;
	/* twheel_stop() removes the pending timers of a stopped wheel. */
	int err = arming_check(arming);

	if (err)
		return err;
	if (twheel_timer_follows_steps(arming->to, timer) &&
	    twheel_clock_timer(timer)->generation != arming->to->generation)
		return -ECANCELED;
	twheel_queue_del(&twheel_shard_base(arming->from, arming->kind)->queue, &timer->node);
	twheel_debug_deactivate(timer);
	/* It counts as added on the shard where it will end. */
	arming->from->added--;
	arming_enqueue(arming);
	arming->to->rearmed++;
	return 1;
}

/* Whether the mode allows to set a later deadline, or an equal one. */
static bool arming_may_delay(const struct arming *arming)
{
	return arming->mode == TWHEEL_REARM_ALWAYS || arming->mode == TWHEEL_REARM_IF_PENDING ||
	       (arming->mode == TWHEEL_REARM_IF_LATER &&
		arming->expires != arming->timer->node.expires);
}

/* Inline timers do not stay, since the alarm would have to place them again, a few at a time. */
static bool arming_stays(const struct arming *arming)
{
	const struct twheel_timer *timer = arming->timer;
	struct twheel_shard *shard = arming->to;
	const struct twheel_base *base = twheel_shard_base(shard, arming->kind);
	const struct twheel_wheel *wheel = &base->queue.wheel;

	return twheel_timer_pending(timer) && arming_may_delay(arming) &&
	       shard == arming->from && node_stays(wheel, &timer->node, arming->expires) &&
	       arming->tick - wheel->now < wheel->reach && !wheel->rewinds &&
	       !timer_refused(shard, timer) && !twheel_base_is_inline(shard, base);
}

/* By exact deadlines, which count when the clock is set. */
static bool arming_applies(const struct arming *arming)
{
	const struct twheel_timer *timer = arming->timer;
	bool pending = twheel_timer_pending(timer);

	switch (arming->mode) {
	case TWHEEL_REARM_ALWAYS:
		return true;
	case TWHEEL_REARM_IF_PENDING:
		return pending;
	case TWHEEL_REARM_IF_EARLIER:
		return !pending || arming->expires < timer->node.expires;
	case TWHEEL_REARM_IF_LATER:
		return !pending || arming->expires > timer->node.expires;
	}
	WARN_ON_ONCE(1);
	return false;
}

static int arming_finish(const struct arming *arming)
{
	struct twheel_timer *timer = arming->timer;

	if (arming->mode == ARM_ADD)
		return twheel_timer_pending(timer) ? -EBUSY : arming_add(arming);
	if (arming_stays(arming)) {
		timer->node.expires = arming->expires;
		trace_twheel_timer_stay(timer, arming->to->number);
		arming->to->rearmed++;
		return 1;
	}
	if (!arming_applies(arming))
		return 0;
	return twheel_timer_pending(timer) ? arming_move(arming) : arming_add(arming) ?: 2;
}

/*
 * Add or re-arm any timer. If the wheel needs another level, it is allocated without the lock.
 * Without memory, the timer stays on its shard, and goes to the last slot of the top level if this
 * shard needs a level, too; see wheel.c. Not inlined: it would take registers of plain_call().
 */
static noinline int timer_arm(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			      unsigned int mode)
{
	struct arming arming = { .timer = timer, .mode = mode };
	bool grown = true;
	int ret;

	if (twheel_timer_is_zeroed(timer))
		return -EINVAL;
	arming_init(&arming, deadline, slack_ns);
	for (;;) {
		arming_lock(&arming, grown);
		if (arming_stays(&arming) ||
		    shard_reaches(arming.to, arming_wheel(&arming), arming.tick) || !grown)
			break;
		arming_unlock(&arming);
		grown = add_level(arming.to, arming_wheel(&arming), arming.tick);
	}
	ret = arming_finish(&arming);
	arming_unlock(&arming);
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
		return timer_arm(timer, deadline, slack_ns, ARM_ADD);
	shard = plain_shard(timer);
	ret = likely(shard) ? plain_call(shard, timer, deadline, false) : NOT_PLAIN;
	return likely(ret != NOT_PLAIN) ? ret : timer_arm(timer, deadline, 0, ARM_ADD);
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

	return likely(ret != NOT_PLAIN) ? ret : timer_arm(timer, deadline, 0, ARM_ADD);
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
		return timer_arm(timer, deadline, slack_ns, mode);
	shard = plain_shard(timer);
	ret = likely(shard) ? plain_call(shard, timer, deadline, true) : NOT_PLAIN;
	return likely(ret != NOT_PLAIN) ? ret :
		timer_arm(timer, deadline, 0, TWHEEL_REARM_ALWAYS);
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm_slack);
