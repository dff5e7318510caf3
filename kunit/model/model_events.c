// SPDX-License-Identifier: GPL-2.0
/*
 * The model of layer 4: what happens as time passes, and what can be seen of
 * that. See model.h.
 *
 * The model is told when a function was called, and says whether that was the
 * time for it: not before the tick of the deadline, and late by no more than
 * computing takes, unless the clock was set or another function was in the way.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "../vtime.h"
#include "model.h"

/* As long as the module's parameter slow_ns says by default. */
#define SLOW_NS		NSEC_PER_MSEC

static const char * const kinds[] = {
	[MODEL_IS_PLAIN]	= "timer",
	[MODEL_IS_PERIODIC]	= "periodic",
	[MODEL_IS_WORK]		= "work",
};

/* Whether a function is running that a timer has to wait for. Inline timers do not. */
static bool held_up(const struct model *model, const struct model_timer *timer)
{
	unsigned int t;

	if (timer->flags & TWHEEL_TIMER_INLINE)
		return false;
	for (t = 0; t < MODEL_TIMERS; t++)
		if (model->timer[t].running && model_kind(t) != MODEL_IS_WORK)
			return true;
	return false;
}

/* From when on a timer could fire, by CLOCK_MONOTONIC; U64_MAX if it can't yet. */
static u64 ready_at(const struct model *model, const struct model_timer *timer,
		    const struct model_time *now)
{
	u64 reached = max(timer->armed.mono, model->seen_set);

	if (!(timer->flags & TWHEEL_TIMER_INLINE))
		reached = max(reached, model->freed);
	if (timer->told && timer->told != MODEL_MAYBE_MOVED)
		return reached;
	if (now->clock < timer->due_last)
		return U64_MAX;
	/* Before the clock was set it may have read anything. */
	return max_t(s64, reached, now->mono - (now->clock - timer->due_last));
}

static void check_late(struct model *model, unsigned int t, const struct model_time *now)
{
	const struct model_timer *timer = &model->timer[t];
	u64 ready = ready_at(model, timer, now);

	if (ready != U64_MAX && now->mono > ready + VTIME_SLOP_NS && !held_up(model, timer))
		model_differs(model, "%s %u is late by %llu ns", kinds[model_kind(t)], t,
			      now->mono - ready);
}

/* Whether the alarm calls the function of a timer, in no order with those of the reaper. */
static bool is_inline(const struct model *model, unsigned int t)
{
	return model_kind(t) == MODEL_IS_WORK || model->timer[t].flags & TWHEEL_TIMER_INLINE;
}

/* Within a shard, timers of an earlier tick fire first; inline ones are not ordered. */
static void check_order(struct model *model, unsigned int t)
{
	const struct model_timer *timer;
	unsigned int i;

	for (i = 0; i < MODEL_TIMERS && model->ordered; i++) {
		timer = &model->timer[i];
		if (i == t || !timer->pending || model_kind(i) == MODEL_IS_WORK)
			continue;
		if (is_inline(model, i) != is_inline(model, t))
			continue;
		if (max(timer->due_last, timer->armed.clock) < model->timer[t].due)
			model_differs(model, "%s %u fired before %s %u, which is due earlier",
				      kinds[model_kind(t)], t, kinds[model_kind(i)], i);
	}
}

/* A timer has ceased to wait some time ago, as its time had come. */
static void fired(struct model *model, unsigned int t, const struct model_time *now)
{
	struct model_timer *timer = &model->timer[t];

	if (!timer->told && !timer->was_due && now->clock < timer->due)
		model_differs(model, "%s %u is early by %llu ns", kinds[model_kind(t)], t,
			      timer->due - now->clock);
	if (timer->told != MODEL_TOLD && now->clock > timer->due)
		model->late_ns = max(model->late_ns, now->clock - timer->due);
	timer->pending = false;
	model->stats.fired++;
}

/* It does so now. */
static void fires(struct model *model, unsigned int t, const struct model_time *now)
{
	check_late(model, t, now);
	check_order(model, t);
	fired(model, t, now);
}

static void check_error(struct model *model, const struct model_event *event)
{
	enum model_told told = model->timer[event->t].told;

	if ((told == MODEL_MAYBE_TOLD || told == MODEL_MAYBE_MOVED) &&
	    event->error == -ECANCELED)
		return;
	if (event->error != (told == MODEL_TOLD ? -ECANCELED : 0))
		model_differs(model, "%s %u was told the error %d", kinds[model_kind(event->t)],
			      event->t, event->error);
}

/* The next run, and how many there should have been by now. */
static void begin_periodic(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];
	u64 least = 0, most = 0, periods, now = event->now.clock;

	timer->last = event->error || (timer->left == 1 && model->lie != MODEL_REPEATS_FOREVER);
	if (timer->left != U64_MAX)
		timer->left--;
	if (timer->repeat == TWHEEL_FIXED_RATE && now > timer->deadline) {
		most = div64_u64(now - timer->deadline, timer->period);
		least = now - timer->deadline < VTIME_SLOP_NS ? 0 :
			div64_u64(now - VTIME_SLOP_NS - timer->deadline, timer->period);
	}
	if (event->overrun < least || event->overrun > most)
		model_differs(model, "periodic %u has overrun %llu, and not %llu to %llu",
			      event->t, event->overrun, least, most);
	if (timer->repeat != TWHEEL_FIXED_RATE)
		return;
	if (check_mul_overflow(event->overrun + 1, timer->period, &periods) ||
	    check_add_overflow(timer->deadline, periods, &timer->deadline))
		timer->deadline = TWHEEL_NEVER;
}

static void begin_work(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];

	/* It may have been queued while the function was running. */
	if (!timer->queued && timer->pending && event->now.mono < timer->done + MODEL_NEAR_NS)
		fired(model, event->t, &event->now);
	else if (!timer->queued && timer->pending)
		fires(model, event->t, &event->now);
	else if (!timer->queued)
		model_differs(model, "work %u is done that was not queued", event->t);
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
			model_differs(model, "%s %u fired, and was not pending", kinds[kind],
				      event->t);
		fires(model, event->t, &event->now);
		check_error(model, event);
	}
	timer->running = true;
	timer->cut = false;
	timer->begun = event->now.mono;
	timer->wakes = event->wakes;
	if (kind == MODEL_IS_PERIODIC)
		begin_periodic(model, event);
}

/* Whether a timer that repeats is to be told of the clock as it is armed again. */
static bool was_set(const struct model *model, const struct model_timer *timer)
{
	return timer->flags & TWHEEL_TIMER_CANCEL_ON_SET &&
	       model->clock == TWHEEL_CLOCK_REALTIME && model->sets != timer->sets;
}

/* Its run is over: does it wait for another? */
static void repeat(struct model *model, struct model_timer *timer, const struct model_time *now)
{
	u64 deadline = timer->deadline, last = deadline;

	if (timer->pending || timer->last || timer->cut || timer->shut || model->stopped)
		return;
	if (timer->repeat == TWHEEL_FIXED_DELAY) {
		if (check_add_overflow(now->clock, timer->period, &deadline))
			deadline = TWHEEL_NEVER;
		last = deadline > KTIME_MAX ? deadline : deadline + VTIME_SLOP_NS;
	}
	model_arm(timer, model_tick_due(model, deadline), model_tick_due(model, last), now);
	model->stats.added++;
	if (was_set(model, timer)) {
		/* It is due at once, and waits for nothing but its turn. */
		model_arm(timer, 0, 0, now);
		timer->told = MODEL_TOLD;
		model->ordered = false;
	}
}

static void event_ends(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];
	u64 took = event->now.mono - timer->begun;

	model->awaited &= ~BIT(event->t);
	timer->wakes = 0;
	timer->done = event->now.mono;
	if (model_kind(event->t) == MODEL_IS_WORK) {
		timer->ended = true;
		/* Who waits for work does so until the workqueue has seen that. */
		timer->running = model->sync != event->t;
	} else {
		timer->running = false;
		model->freed = event->now.mono;
		model->stats.slow += took > SLOW_NS;
		model->slow_maybe += took <= SLOW_NS && took > SLOW_NS - VTIME_SLOP_NS;
	}
	if (model_kind(event->t) == MODEL_IS_PERIODIC)
		repeat(model, timer, &event->now);
	/* Who waits for it may look at once, or too late to keep it from firing again. */
	if (model->sync == event->t && model->eager)
		model_look_sync(model);
}

/* Something that is in the log. */
void model_event(struct model *model, const struct model_event *event)
{
	switch (event->what) {
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

/* Whether work that was to be queued is, or has been, and its function called since. */
static bool was_queued(const struct model *model, unsigned int t, bool queued,
		       const struct model_time *now)
{
	const struct model_timer *timer = &model->timer[t];

	if (queued || timer->was_due)
		return true;
	return now->clock >= timer->due && timer->begun >= timer->armed.mono &&
	       now->mono - timer->begun <= now->clock - timer->due;
}

/* Work is queued without a word in the log: all of a sudden it is not pending any more. */
void model_work_fired(struct model *model, const struct model_work_seen *work,
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
		fired(model, t, now);
	}
}

/* What becomes of work besides what is in the log. */
void model_look_at_work(struct model *model, const struct model_seen *seen)
{
	struct model_timer *timer;
	unsigned int t;

	model_work_fired(model, &seen->work, &seen->now);
	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (model_kind(t) != MODEL_IS_WORK || seen->work.busy & BIT(t))
			continue;
		if (timer->queued)
			model_differs(model, "work %u is queued no more, and was not done", t);
		timer->running &= !timer->ended;
		timer->ended = false;
	}
}

static void look_at_timer(struct model *model, unsigned int t, const struct model_seen *seen)
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
		model_differs(model, "%s %u waits %llu ns, and not %llu to %llu", kind, t,
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
		model_differs(model, "%s is %llu, and not %llu to %llu", name, seen, least, most);
}

static void look_at_stats(struct model *model, const struct twheel_stats *seen)
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

/* Nothing fires before the wheel has something to do. */
static void look_at_next(struct model *model, const struct model_seen *seen)
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
		model_differs(model, "it is to wake at %llu, and not by %llu", seen->next, next);
	if (!model->system && !model->stats.added && seen->next != TWHEEL_NEVER)
		model_differs(model, "it is to wake at %llu for nothing", seen->next);
}

/* Whether all is as it should be at a moment. */
void model_look(struct model *model, const struct model_seen *seen)
{
	unsigned int t;

	if (seen->tick_ns != model->tick_ns)
		model_differs(model, "the tick is %llu", seen->tick_ns);
	if (seen->wheel_now != seen->now.clock)
		model_differs(model, "now is %llu, and not %llu", seen->wheel_now,
			      seen->now.clock);
	model_look_at_work(model, seen);
	for (t = 0; t < MODEL_TIMERS; t++)
		look_at_timer(model, t, seen);
	look_at_stats(model, &seen->stats);
	look_at_next(model, seen);
}

/* When the next timer is due, by CLOCK_MONOTONIC; U64_MAX if none will be. */
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

/* Until when a timer may be in the middle of something; 0 for not at all. */
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
	return patient && !held_up(model, timer) ? now->mono + MODEL_NEAR_NS : 0;
}

/*
 * Until when something is about to happen, by CLOCK_MONOTONIC, that would get
 * between a call and the look at it; 0 for nothing. What is due already is left
 * alone unless @patient, so that calls meet it too.
 */
u64 model_busy_until(const struct model *model, const struct model_time *now, bool patient)
{
	u64 until = 0;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		until = max(until, timer_busy_until(model, &model->timer[t], now, patient));
	return until;
}
