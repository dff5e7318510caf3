// SPDX-License-Identifier: GPL-2.0
/*
 * The property test of layer 4: runs a sequence on the module and on the model
 * in step, up to the first difference. See model.h.
 *
 * Nothing else runs between a call and the look at what it did. A call that
 * sleeps is different: what is in the log by then happened before it took
 * effect, or after, and any of these orders will do.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../vtime.h"
#include "model.h"

/* The log must not run over, however often a timer repeats. */
#define SLEEP_NS	(100 * NSEC_PER_MSEC)

/* How many orders are tried: each timer may fire, and do something, before a call takes effect. */
#define ORDERS		64

/* How often we look again before we believe that something is wrong. */
#define LOOKS		4

static void replay(struct model_run *run, unsigned int from, unsigned int to)
{
	unsigned int i;

	if (run->logged == MODEL_LOG)
		model_differs(&run->model, "the log is full");
	for (i = from; i < to; i++)
		model_event(&run->model, &run->log[i]);
}

/* Tell the model all that has happened. */
static void drain(struct model_run *run)
{
	unsigned long flags;

	spin_lock_irqsave(&run->log_lock, flags);
	replay(run, 0, run->logged);
	run->logged = 0;
	spin_unlock_irqrestore(&run->log_lock, flags);
}

static void sleep_until(struct model_run *run, u64 until)
{
	u64 now = ktime_get_ns();

	while (now < until && !run->model.diff[0]) {
		vtime_sleep_until(min(until, now + SLEEP_NS));
		drain(run);
		now = ktime_get_ns();
	}
}

/* As drain(), and find what work has been queued. */
static struct model_time catch_up(struct model_run *run)
{
	unsigned long flags;

	local_irq_save(flags);
	drain(run);
	model_see(run);
	model_look_at_work(&run->model, &run->seen);
	local_irq_restore(flags);
	return run->seen.now;
}

/*
 * Wait until nothing is in the middle of happening, or about to. What is due already,
 * and has not fired for a while, will not soon: somebody holds it up.
 */
static void settle(struct model_run *run, bool patient)
{
	unsigned int patience = patient ? 8 : 4, tries;
	struct model_time now;
	u64 until;

	for (tries = 0; tries < 1000; tries++) {
		now = catch_up(run);
		if (now.mono < run->last + MODEL_NEAR_NS)
			until = run->last + MODEL_NEAR_NS;
		else
			until = model_busy_until(&run->model, &now, patient && patience);
		if (!until)
			return;
		patience -= !!patience;
		sleep_until(run, until);
	}
	model_differs(&run->model, "it never comes to rest");
}

static void look(struct model_run *run)
{
	unsigned int looks = LOOKS;
	unsigned long flags;

	while (!run->model.diff[0]) {
		local_irq_save(flags);
		drain(run);
		run->start = run->model;
		model_see(run);
		if (!run->model.diff[0])
			model_look(&run->model, &run->seen);
		local_irq_restore(flags);
		if (!run->model.diff[0] || !--looks)
			return;
		run->model = run->start;
		vtime_sleep(MODEL_NEAR_NS);
	}
}

static bool try_order(struct model_run *run, const struct model_op *op,
		      const struct model_answer *answer, unsigned int at, bool eager)
{
	run->model = run->start;
	run->model.eager = eager;
	replay(run, 0, at);
	model_call(&run->model, op, answer);
	replay(run, at, run->logged);
	model_finish(&run->model, op, answer);
	return !run->model.diff[0];
}

/* How many events came before the clock was set: they saw it as it had been. */
static unsigned int before_set(struct model_run *run, const struct model_answer *answer)
{
	const struct model_event *event = run->log;
	unsigned int nr = 0;

	while (nr < run->logged && event[nr].now.clock - event[nr].now.mono ==
				   answer->now.clock - answer->now.mono)
		nr++;
	return nr;
}

/* Others come before or after a call that slept: find out when it took effect. */
static void resolve(struct model_run *run, const struct model_op *op,
		    const struct model_answer *answer)
{
	unsigned int orders = min_t(unsigned int, ORDERS, run->logged + 1);
	unsigned int i;

	if (op->what == MODEL_SET_CLOCK) {
		try_order(run, op, answer, before_set(run, answer), false);
		run->logged = 0;
		return;
	}
	for (i = 0; i < 2 * orders; i++)
		if (try_order(run, op, answer, i / 2, i % 2))
			break;
	/* What is said of a failure is for the likeliest of them. */
	if (i == 2 * orders)
		try_order(run, op, answer, 0, false);
	run->logged = 0;
}

static void step_that_sleeps(struct model_run *run, const struct model_op *op)
{
	struct model_answer answer;
	unsigned long flags;

	local_irq_save(flags);
	drain(run);
	run->start = run->model;
	local_irq_restore(flags);
	if (!model_allows(&run->model, op))
		return;
	model_do(run, op, &answer);
	local_irq_save(flags);
	resolve(run, op, &answer);
	local_irq_restore(flags);
}

static void step_at_once(struct model_run *run, const struct model_op *op)
{
	struct model_answer answer;
	unsigned long flags;

	local_irq_save(flags);
	drain(run);
	if (model_allows(&run->model, op)) {
		model_do(run, op, &answer);
		model_call(&run->model, op, &answer);
	}
	local_irq_restore(flags);
}

static void step_asleep(struct model_run *run, const struct model_op *op)
{
	struct model_time now = model_now(run);
	u64 due = model_next_due(&run->model, &now);

	if (op->choice && due < now.mono + op->more)
		sleep_until(run, due + op->when);
	else
		sleep_until(run, now.mono + op->when);
	settle(run, false);
}

static bool step(struct model_run *run, const struct model_op *op)
{
	bool sleeps = model_sleeps(op);

	if (op->what == MODEL_SLEEP) {
		step_asleep(run, op);
	} else {
		settle(run, sleeps);
		if (sleeps)
			step_that_sleeps(run, op);
		else
			step_at_once(run, op);
	}
	look(run);
	return !run->model.diff[0];
}

/* The end of a wheel: it hands back what is pending, and nothing fires any more. */
static bool end_steps(struct model_run *run)
{
	struct model_op cancel = { .what = MODEL_CANCEL_SYNC };
	const struct model_op stop = { .what = MODEL_STOP };
	const struct model_op sleep = { .what = MODEL_SLEEP, .when = NSEC_PER_MSEC };
	bool ok = step(run, &stop);

	for (; ok && cancel.t < MODEL_TIMERS; cancel.t++)
		ok = step(run, &cancel);
	return ok && step(run, &sleep);
}

static bool run_start(struct model_run *run, enum model_lie lie)
{
	const struct model_sequence *sequence = run->sequence;
	struct model_op init = { .what = MODEL_INIT };

	run->logged = 0;
	run->last = 0;
	run->offset = model_offset();
	if (!sequence->system)
		run->wheel = twheel_create(&sequence->config);
	else if (sequence->config.clock == TWHEEL_CLOCK_MONOTONIC)
		run->wheel = twheel_system();
	else
		run->wheel = twheel_system_clock(sequence->config.clock);
	model_start(&run->model, sequence, sequence->config.tick_ns ?: BIT_ULL(20), lie);
	if (IS_ERR(run->wheel)) {
		model_differs(&run->model, "no wheel: error %ld", PTR_ERR(run->wheel));
		return false;
	}
	twheel_stats(run->wheel, &run->base);
	for (; init.t < MODEL_TIMERS; init.t++)
		model_init_slot(run, &init);
	return true;
}

int model_run(struct model_run *run, struct model_sequence *sequence, enum model_lie lie)
{
	unsigned int i = 0;

	run->sequence = sequence;
	if (!run_start(run, lie))
		return 0;
	while (i < sequence->nr && step(run, &sequence->op[i]))
		i++;
	if (i == sequence->nr)
		end_steps(run);
	model_end_all(run);
	flush_workqueue(run->wq);
	model_set_offset(run->offset);
	strscpy(sequence->diff, run->model.diff, sizeof(sequence->diff));
	return sequence->diff[0] ? i : -1;
}
