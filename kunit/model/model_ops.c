// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for timers: the calls of the module, and the functions of its timers.
 * See model.h.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "../queue.h"
#include "../stats.h"
#include "../vtime.h"
#include "model.h"

/* Returns true if other threads may run during the call. The others disable interrupts. */
bool model_sleeps(const struct model_op *op)
{
	switch (op->type) {
	case MODEL_CANCEL_SYNC:
	case MODEL_SHUTDOWN_SYNC:
	case MODEL_FLUSH:
	case MODEL_STOP:
	case MODEL_SET_CLOCK:
		return true;
	default:
		return false;
	}
}

struct model_time model_now(const struct model_run *run)
{
	struct model_time now;
	unsigned long flags;

	local_irq_save(flags);
	now.mono = ktime_get_ns();
	switch (run->sequence->config.clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		now.clock = ktime_get_boottime_ns();
		break;
	case TWHEEL_CLOCK_REALTIME:
		now.clock = ktime_get_real_ns();
		break;
	default:
		now.clock = now.mono;
	}
	local_irq_restore(flags);
	return now;
}

/* Difference between the wall clock and CLOCK_MONOTONIC. */
s64 model_offset(void)
{
	unsigned long flags;
	s64 offset;

	local_irq_save(flags);
	offset = ktime_get_real_ns() - ktime_get_ns();
	local_irq_restore(flags);
	return offset;
}

/* To set the same time also counts as a change. */
static long set_clock(s64 by)
{
	struct timespec64 ts = ns_to_timespec64(ktime_get_real_ns() + by);

	return do_settimeofday64(&ts);
}

/* Set the clock and wait until the kernel has noticed it. */
void model_set_offset(s64 offset)
{
	s64 by = offset - model_offset();

	if (by && !set_clock(by))
		vtime_sleep(2 * TICK_NSEC);
}

static void log_event(struct model_slot *slot, struct model_event *event)
{
	struct model_run *run = slot->run;
	unsigned long flags;

	spin_lock_irqsave(&run->log_lock, flags);
	event->t = slot->t;
	event->now = model_now(run);
	run->last = event->now.mono;
	if (event->type == MODEL_BEGINS && slot->takes_ns)
		event->wakes = run->last + slot->takes_ns;
	if (run->logged < MODEL_LOG)
		run->log[run->logged++] = *event;
	spin_unlock_irqrestore(&run->log_lock, flags);
}

/* Common part of all timer functions. Nothing happens between a call and its log entry. */
static void run_function(struct model_slot *slot, struct model_event *event)
{
	unsigned long flags;

	event->type = MODEL_BEGINS;
	log_event(slot, event);
	if (event->wakes)
		vtime_sleep_until(event->wakes);

	if (slot->acts) {
		slot->acts--;
		event->type = MODEL_CALLS;
		event->op = slot->act;
		local_irq_save(flags);
		model_do(slot->run, &event->op, &event->answer);
		log_event(slot, event);
		local_irq_restore(flags);
	}
	event->type = MODEL_ENDS;
	log_event(slot, event);
}

static void timer_fired(struct twheel_timer *timer)
{
	struct model_event event = { .error = twheel_timer_error(timer) };

	run_function(container_of(timer, struct model_slot, timer), &event);
}

static void work_done(struct work_struct *work)
{
	struct model_event event = {};

	run_function(container_of(to_twheel_work(work), struct model_slot, work), &event);
}

/* Returns the action of a timer function for the init step of its timer. */
static struct model_op action_of(const struct model_op *op)
{
	struct model_op act = { .t = op->t, .when = op->when };

	switch (op->choice) {
	case MODEL_REARM_SELF:
		act.type = MODEL_REARM;
		/* Work that is due while it is being cancelled is not queued. */
		if (model_kind(op->t) == MODEL_IS_WORK)
			act.when = max_t(u64, op->when, NSEC_PER_MSEC);
		break;
	case MODEL_CANCEL_OTHER:
		act.type = MODEL_CANCEL;
		act.t = op->other;
		break;
	case MODEL_ADD_OTHER:
		act.type = MODEL_ADD;
		act.t = op->other;
		break;
	}
	return act;
}

void model_init_slot(struct model_run *run, const struct model_op *op)
{
	struct model_slot *slot = &run->slot[op->t];

	slot->run = run;
	slot->t = op->t;
	slot->takes_ns = op->more;
	slot->acts = op->choice == MODEL_NOTHING ? 0 : op->count;
	slot->act = action_of(op);
	switch (model_kind(op->t)) {
	case MODEL_IS_PLAIN:
		if (op->flags || run->sequence->config.clock == TWHEEL_CLOCK_REALTIME)
			twheel_wall_timer_init(&slot->wall_timer, run->wheel, timer_fired,
					       op->flags);
		else
			twheel_timer_init(&slot->timer, run->wheel, timer_fired);
		break;
	case MODEL_IS_WORK:
		twheel_work_init(&slot->work, run->wheel, run->wq, work_done);
		break;
	}
}

/* Compute the deadline of a call, and the expected one. */
static void compute_deadline(struct model_run *run, const struct model_op *op,
			     struct model_answer *answer)
{
	u64 clock = answer->now.clock;

	if (op->flags & MODEL_ABSOLUTE) {
		answer->deadline = op->when;
		answer->expected = op->when;
		return;
	}
	if (run->sequence->config.clock == TWHEEL_CLOCK_MONOTONIC && op->t & 1)
		answer->deadline = twheel_deadline(op->when);
	else
		answer->deadline = twheel_deadline_on(run->wheel, op->when);
	if (check_add_overflow(clock, op->when, &answer->expected) ||
	    answer->expected > KTIME_MAX)
		answer->expected = TWHEEL_NEVER;
}

static long do_add(struct model_slot *slot, const struct model_op *op, u64 deadline)
{
	if (model_kind(op->t) == MODEL_IS_WORK)
		return twheel_work_add(&slot->work, deadline);
	return twheel_timer_add(&slot->timer, deadline);
}

static long do_rearm(struct model_slot *slot, const struct model_op *op, u64 deadline)
{
	if (model_kind(op->t) == MODEL_IS_WORK)
		return twheel_work_rearm(&slot->work, deadline, op->choice);
	return twheel_timer_rearm(&slot->timer, deadline, op->choice);
}

static long do_cancel(struct model_slot *slot, const struct model_op *op)
{
	if (model_kind(op->t) == MODEL_IS_WORK)
		return twheel_work_cancel(&slot->work);
	return twheel_timer_cancel(&slot->timer);
}

static long do_cancel_sync(struct model_slot *slot, const struct model_op *op)
{
	if (model_kind(op->t) == MODEL_IS_WORK)
		return twheel_work_cancel_sync(&slot->work);
	return twheel_timer_cancel_sync(&slot->timer);
}

static void hand_back(struct twheel_timer *timer, void *data)
{
	struct model_answer *answer = data;

	if (!twheel_timer_pending(timer))
		answer->handed |= BIT(container_of(timer, struct model_slot, timer)->t);
}

static long do_call(struct model_run *run, const struct model_op *op,
		    struct model_answer *answer)
{
	struct model_slot *slot = &run->slot[op->t];

	switch (op->type) {
	case MODEL_ADD:
		return do_add(slot, op, answer->deadline);
	case MODEL_ADD_SLACK:
		return twheel_timer_add_slack(&slot->timer, answer->deadline, op->more);
	case MODEL_REARM:
		return do_rearm(slot, op, answer->deadline);
	case MODEL_REARM_SLACK:
		return twheel_timer_rearm_slack(&slot->timer, answer->deadline, op->more,
						op->choice);
	case MODEL_CANCEL:
		return do_cancel(slot, op);
	case MODEL_CANCEL_SYNC:
		return do_cancel_sync(slot, op);
	case MODEL_SHUTDOWN_SYNC:
		return twheel_timer_shutdown_sync(&slot->timer);
	case MODEL_FLUSH:
		return twheel_flush(run->wheel);
	case MODEL_STOP:
		return twheel_stop(run->wheel, hand_back, answer);
	case MODEL_SET_CLOCK:
		return set_clock(op->when);
	}
	return 0;
}

static void observe_work(struct model_run *run, struct model_work_state *seen)
{
	struct twheel_work *work;
	unsigned int t;

	*seen = (struct model_work_state){};
	for (t = 0; t < MODEL_TIMERS; t++) {
		work = &run->slot[t].work;
		if (model_kind(t) != MODEL_IS_WORK)
			continue;
		seen->pending |= twheel_timer_pending(&work->timer) ? BIT(t) : 0;
		seen->queued |= work_pending(&work->work) ? BIT(t) : 0;
		seen->busy |= work_busy(&work->work) ? BIT(t) : 0;
	}
}

/* Run a step on the module. */
void model_do(struct model_run *run, const struct model_op *op, struct model_answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->now = model_now(run);
	observe_work(run, &answer->work);
	switch (op->type) {
	case MODEL_INIT:
		model_init_slot(run, op);
		return;
	case MODEL_ADD:
	case MODEL_ADD_SLACK:
	case MODEL_REARM:
	case MODEL_REARM_SLACK:
		compute_deadline(run, op, answer);
		break;
	}
	answer->ret = do_call(run, op, answer);
}

/* The counts since the start of the run. */
static void observe_stats(struct model_run *run, struct twheel_stats *stats)
{
	twheel_get_stats(run->wheel, stats);
	stats->pending -= run->base.pending;
	stats->added -= run->base.added;
	stats->rearmed -= run->base.rearmed;
	stats->cancelled -= run->base.cancelled;
	stats->fired -= run->base.fired;
	stats->rejected -= run->base.rejected;
	stats->slow -= run->base.slow;
}

/* Observe the state of the module. Called with interrupts disabled. */
void model_observe(struct model_run *run)
{
	struct model_state *seen = &run->seen;
	unsigned int t;

	seen->now = model_now(run);
	seen->wheel_now = twheel_now(run->wheel);
	seen->tick_ns = twheel_tick_ns(run->wheel);
	seen->next = wheel_next(run->wheel);
	observe_stats(run, &seen->stats);
	for (t = 0; t < MODEL_TIMERS; t++) {
		seen->pending[t] = twheel_timer_pending(&run->slot[t].timer);
		seen->remaining[t] = twheel_timer_remaining(&run->slot[t].timer);
	}
	observe_work(run, &seen->work);
}

/* Cancel all timers and destroy the wheel, in any state. */
void model_end_all(struct model_run *run)
{
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		if (model_kind(t) == MODEL_IS_WORK)
			twheel_work_cancel_sync(&run->slot[t].work);
		else
			twheel_timer_shutdown_sync(&run->slot[t].timer);
	}
	twheel_flush(run->wheel);
	if (run->sequence->system)
		return;
	twheel_stop(run->wheel, NULL, NULL);
	twheel_destroy(run->wheel);
}
