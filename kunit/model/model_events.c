// SPDX-License-Identifier: GPL-2.0
/*
 * The model of timers: effects of time, and checks of the observable state. See model.h.
 *
 * The model replays calls of timer functions from the log and checks their time: not
 * before the tick of the deadline, and not late by more than the time of computation,
 * unless the clock was set or another function delayed it.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "../vtime.h"
#include "model.h"

/* Longer callbacks are counted: the kernel sees each of them by its tick. */
#define SLOW_NS		(2 * TICK_NSEC)

static const char * const kinds[] = {
	[MODEL_IS_PLAIN]	= "timer",
	[MODEL_IS_WORK]		= "work",
};

/* Returns true if a running function delays the timers. */
static bool is_delayed(const struct model *model)
{
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		if (model->timer[t].running && model_kind(t) != MODEL_IS_WORK)
			return true;
	return false;
}

/* The earliest time at which a timer can fire, by CLOCK_MONOTONIC; U64_MAX if not yet due. */
static u64 ready_at(const struct model *model, const struct model_timer *timer,
		    const struct model_time *now)
{
	u64 reached = max(timer->armed.mono, model->set_noticed);

	reached = max(reached, model->unblocked_at);
	if (timer->on_set)
		return reached;
	if (now->clock < timer->due_last)
		return U64_MAX;
	/* The clock may have had any value before it was set. */
	return max_t(s64, reached, now->mono - (now->clock - timer->due_last));
}

static void check_late(struct model *model, unsigned int t, const struct model_time *now)
{
	const struct model_timer *timer = &model->timer[t];
	u64 ready = ready_at(model, timer, now);

	if (ready != U64_MAX && now->mono > ready + VTIME_SLOP_NS && !is_delayed(model))
		model_differs(model, "%s %u is late by %llu ns", kinds[model_kind(t)], t,
			      now->mono - ready);
}

/* Timers of an earlier tick in the same shard fire first. */
static void check_order(struct model *model, unsigned int t)
{
	const struct model_timer *timer;
	unsigned int i;

	/* The function of work runs later. */
	if (model_kind(t) == MODEL_IS_WORK)
		return;
	for (i = 0; i < MODEL_TIMERS && model->ordered; i++) {
		timer = &model->timer[i];
		if (i == t || !timer->pending || model_kind(i) == MODEL_IS_WORK)
			continue;
		if (max(timer->due_last, timer->armed.clock) < model->timer[t].due)
			model_differs(model, "%s %u fired before %s %u, which is due earlier",
				      kinds[model_kind(t)], t, kinds[model_kind(i)], i);
	}
}

/*
 * The wheel counts the lateness of all timers that it makes due together, before the first
 * of them fires. So a timer that is still pending may have been counted.
 */
void model_note_late(struct model *model, const struct model_time *now)
{
	const struct model_timer *timer;

	for (timer = model->timer; timer < model->timer + MODEL_TIMERS; timer++)
		if (timer->pending && timer->on_set != MODEL_ON_SET_CANCEL &&
		    now->clock > timer->due)
			model->late_ns = max(model->late_ns, now->clock - timer->due);
}

/* A timer has fired at or before @now. */
static void timer_fired(struct model *model, unsigned int t, const struct model_time *now)
{
	struct model_timer *timer = &model->timer[t];

	if (!timer->on_set && !timer->was_due && now->clock < timer->due)
		model_differs(model, "%s %u is early by %llu ns", kinds[model_kind(t)], t,
			      timer->due - now->clock);
	model_note_late(model, now);
	timer->pending = false;
	model->stats.fired++;
}

/* A timer fires at @now. */
static void timer_fires(struct model *model, unsigned int t, const struct model_time *now)
{
	check_late(model, t, now);
	check_order(model, t);
	timer_fired(model, t, now);
}

static void check_error(struct model *model, const struct model_event *event)
{
	enum model_on_set on_set = model->timer[event->t].on_set;

	if (on_set == MODEL_ON_SET_MAYBE && event->error == -ECANCELED)
		return;
	if (event->error != (on_set == MODEL_ON_SET_CANCEL ? -ECANCELED : 0))
		model_differs(model, "%s %u got error %d", kinds[model_kind(event->t)],
			      event->t, event->error);
}

static void begin_work(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];

	/* It may have been queued while the function was running. */
	if (!timer->queued && timer->pending && event->now.mono < timer->done + MODEL_NEAR_NS)
		timer_fired(model, event->t, &event->now);
	else if (!timer->queued && timer->pending)
		timer_fires(model, event->t, &event->now);
	else if (!timer->queued)
		model_differs(model, "work %u ran but was not queued", event->t);
	timer->queued = false;
	timer->ended = false;
}

static void event_begins(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];
	enum model_kind kind = model_kind(event->t);

	if (kind == MODEL_IS_WORK) {
		begin_work(model, event);
	} else {
		if (!timer->pending)
			model_differs(model, "%s %u fired but was not pending", kinds[kind],
				      event->t);
		timer_fires(model, event->t, &event->now);
		check_error(model, event);
	}
	timer->running = true;
	timer->started = event->now.mono;
	timer->wakes = event->wakes;
}

static void event_ends(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];
	u64 took = event->now.mono - timer->started;

	model->awaited &= ~BIT(event->t);
	timer->wakes = 0;
	timer->done = event->now.mono;
	if (model_kind(event->t) == MODEL_IS_WORK) {
		timer->ended = true;
		/* cancel_sync waits until the workqueue has noticed the return. */
		timer->running = model->sync != event->t;
	} else {
		timer->running = false;
		model->unblocked_at = event->now.mono;
		model->stats.slow += took > SLOW_NS;
		/* The tick of the kernel may pass during any callback. */
		model->slow_maybe += took <= SLOW_NS;
	}
	/* cancel_sync may check at once, or too late to prevent another run. */
	if (model->sync == event->t && model->eager)
		model_recheck_sync(model);
}

/* Replay an event of the log. */
void model_event(struct model *model, const struct model_event *event)
{
	switch (event->type) {
	case MODEL_BEGINS:
		event_begins(model, event);
		break;
	case MODEL_CALLS:
		model_call(model, &event->op, &event->answer);
		break;
	case MODEL_ENDS:
		event_ends(model, event);
		break;
	}
}

/* Returns true if expired work is queued, or was queued and its function has been called. */
static bool was_queued(const struct model *model, unsigned int t, bool queued,
		       const struct model_time *now)
{
	const struct model_timer *timer = &model->timer[t];

	if (queued || timer->was_due)
		return true;
	return now->clock >= timer->due && timer->started >= timer->armed.mono &&
	       now->mono - timer->started <= now->clock - timer->due;
}

/* The log has no event for queueing work. The work just stops being pending. */
void model_work_fired(struct model *model, const struct model_work_state *work,
		      const struct model_time *now)
{
	struct model_timer *timer;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (model_kind(t) != MODEL_IS_WORK || !timer->pending || work->pending & BIT(t) ||
		    !was_queued(model, t, work->queued & BIT(t), now))
			continue;
		timer->queued = work->queued & BIT(t);
		timer_fired(model, t, now);
	}
}

/* State changes of work that are not in the log. */
void model_update_work(struct model *model, const struct model_state *seen)
{
	struct model_timer *timer;
	unsigned int t;

	model_work_fired(model, &seen->work, &seen->now);
	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (model_kind(t) != MODEL_IS_WORK || seen->work.busy & BIT(t))
			continue;
		if (timer->queued)
			model_differs(model, "work %u was dequeued but did not run", t);
		timer->running &= !timer->ended;
		timer->ended = false;
	}
}

static void check_timer(struct model *model, unsigned int t, const struct model_state *seen)
{
	struct model_timer *timer = &model->timer[t];
	const char *kind = kinds[model_kind(t)];
	u64 clock = seen->now.clock, least = TWHEEL_NEVER, most = TWHEEL_NEVER;

	if (seen->pending[t] != timer->pending)
		model_differs(model, "%s %u is %spending", kind, t,
			      seen->pending[t] ? "" : "not ");
	if (timer->pending && timer->due != TWHEEL_NEVER) {
		least = timer->due > clock ? timer->due - clock : 0;
		most = timer->due_last > clock ? timer->due_last - clock : 0;
	}
	if (seen->remaining[t] < least || seen->remaining[t] > most)
		model_differs(model, "%s %u has %llu ns remaining, expected %llu to %llu", kind, t,
			      seen->remaining[t], least, most);
	if (timer->pending && seen->remaining[t] && timer->due != TWHEEL_NEVER) {
		timer->due = clock + seen->remaining[t];
		timer->due_last = timer->due;
	}
	if (timer->pending)
		check_late(model, t, &seen->now);
}

static void check_count(struct model *model, const char *name, u64 seen, u64 least, u64 most)
{
	if (seen < least || seen > most)
		model_differs(model, "%s is %llu, expected %llu to %llu", name, seen, least, most);
}

static void check_stats(struct model *model, const struct twheel_stats *seen)
{
	struct twheel_stats *stats = &model->stats;
	u64 pending = model_pending(model);

	check_count(model, "pending", seen->pending, pending, pending);
	check_count(model, "added", seen->added, stats->added, stats->added);
	check_count(model, "rearmed", seen->rearmed, stats->rearmed,
		    stats->rearmed + model->rearmed_maybe);
	check_count(model, "cancelled", seen->cancelled, stats->cancelled, stats->cancelled);
	check_count(model, "fired", seen->fired, stats->fired, stats->fired);
	check_count(model, "rejected", seen->rejected, stats->rejected, stats->rejected);
	check_count(model, "slow", seen->slow, stats->slow, stats->slow + model->slow_maybe);
	if (!model->system)
		check_count(model, "latest_ticks", seen->latest_ticks, 0,
			    1 + div64_u64(model->late_ns, model->tick_ns));
	stats->rearmed = seen->rearmed;
	model->rearmed_maybe = 0;
	stats->slow = seen->slow;
	model->slow_maybe = 0;
}

/* The wheel must wake up before the next timer fires. */
static void check_next(struct model *model, const struct model_state *seen)
{
	const struct model_timer *timer;
	u64 next = TWHEEL_NEVER;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (timer->pending && timer->due != TWHEEL_NEVER)
			next = min(next, max(timer->due_last, seen->now.clock));
	}
	if (seen->next > next)
		model_differs(model, "next wake-up is at %llu, expected by %llu", seen->next, next);
	if (!model->system && !model->stats.added && seen->next != TWHEEL_NEVER)
		model_differs(model, "next wake-up is at %llu, but no timer was added", seen->next);
}

/* Compare the model with the observed state. */
void model_compare(struct model *model, const struct model_state *seen)
{
	unsigned int t;

	if (seen->tick_ns != model->tick_ns)
		model_differs(model, "tick is %llu", seen->tick_ns);
	if (seen->wheel_now != seen->now.clock)
		model_differs(model, "now is %llu, expected %llu", seen->wheel_now,
			      seen->now.clock);
	model_update_work(model, seen);
	for (t = 0; t < MODEL_TIMERS; t++)
		check_timer(model, t, seen);
	model_note_late(model, &seen->now);
	check_stats(model, &seen->stats);
	check_next(model, seen);
}

/* The next expiry by CLOCK_MONOTONIC, or U64_MAX. */
u64 model_next_due(const struct model *model, const struct model_time *now)
{
	const struct model_timer *timer;
	u64 next = TWHEEL_NEVER;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (timer->pending && timer->due > now->clock)
			next = min(next, timer->due);
	}
	return next == TWHEEL_NEVER ? next : now->mono + (next - now->clock);
}

/* The time until which a timer is in a transition, or 0 if it is in none. */
static u64 timer_busy_until(const struct model *model, const struct model_timer *timer,
			    const struct model_time *now, bool patient)
{
	u64 due;

	if (timer->running && timer->wakes + MODEL_NEAR_NS > now->mono &&
	    timer->wakes < now->mono + MODEL_NEAR_NS)
		return timer->wakes + MODEL_NEAR_NS;
	if (timer->queued)
		return patient ? now->mono + MODEL_NEAR_NS : 0;
	if (!timer->pending)
		return 0;
	if (timer->due_last > now->clock) {
		due = timer->due > now->clock ? timer->due - now->clock : 0;
		return due < MODEL_NEAR_NS ? now->mono + due + MODEL_NEAR_NS : 0;
	}
	if (now->clock - timer->due_last < MODEL_NEAR_NS)
		return now->mono + MODEL_NEAR_NS;
	return patient && !is_delayed(model) ? now->mono + MODEL_NEAR_NS : 0;
}

/*
 * The time by CLOCK_MONOTONIC until which a timer is about to change state, or 0. Such a
 * change might happen between a call and the check of its effects. Timers that are
 * already due are ignored unless @patient, so that calls are made on due timers, too.
 */
u64 model_busy_until(const struct model *model, const struct model_time *now, bool patient)
{
	u64 until = 0;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		until = max(until, timer_busy_until(model, &model->timer[t], now, patient));
	return until;
}
