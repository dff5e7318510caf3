// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for timers: random sequences of all calls, on system wheels and on
 * wheels of any configuration, run on the module and on the model until the first difference. See
 * model.h. A failing sequence is printed up to the step that differs.
 *
 * No event can happen between a call and the check of its effects, except for calls that
 * sleep. Their logged events may have happened before or after the call took effect, and
 * the model accepts any such order.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../random.h"
#include "../vtime.h"
#include "model.h"

/* Longest sleep between two replays, so that timers that arm themselves do not overflow the log. */
#define SLEEP_NS	(100 * NSEC_PER_MSEC)

/* Number of orders to try: each timer may fire and act before a call takes effect. */
#define ORDERS		64

/* Number of checks before a difference is reported. */
#define CHECKS		4

static void replay(struct model_run *run, unsigned int from, unsigned int to)
{
	if (run->logged == MODEL_LOG)
		model_differs(&run->model, "the log is full");
	while (from < to)
		model_event(&run->model, &run->log[from++]);
}

/* Replay all logged events on the model. */
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

/* Like drain(), but also update the state of work. */
static struct model_time catch_up(struct model_run *run)
{
	unsigned long flags;

	local_irq_save(flags);
	drain(run);
	model_observe(run);
	model_update_work(&run->model, &run->seen);
	local_irq_restore(flags);
	return run->seen.now;
}

/*
 * Wait until no timer is in a transition or about to fire. A timer that is due but has
 * not fired for some time is blocked by a running function.
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
	model_differs(&run->model, "no steady state is reached");
}

static void check_state(struct model_run *run)
{
	unsigned int checks = CHECKS;
	unsigned long flags;

	while (!run->model.diff[0]) {
		local_irq_save(flags);
		drain(run);
		run->start = run->model;
		model_observe(run);
		if (!run->model.diff[0])
			model_compare(&run->model, &run->seen);
		local_irq_restore(flags);
		if (!run->model.diff[0] || !--checks)
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

/* Number of events before the clock was set. */
static unsigned int before_set(struct model_run *run, const struct model_answer *answer)
{
	const struct model_event *event = run->log;
	unsigned int nr = 0;

	while (nr < run->logged && event[nr].now.clock - event[nr].now.mono ==
				   answer->now.clock - answer->now.mono)
		nr++;
	return nr;
}

/* Find an order in which a call that sleeps took effect among the logged events. */
static void resolve(struct model_run *run, const struct model_op *op,
		    const struct model_answer *answer)
{
	unsigned int orders = min_t(unsigned int, ORDERS, run->logged + 1);
	unsigned int i;

	if (op->type == MODEL_SET_CLOCK) {
		try_order(run, op, answer, before_set(run, answer), false);
		run->logged = 0;
		return;
	}
	for (i = 0; i < 2 * orders; i++)
		if (try_order(run, op, answer, i / 2, i % 2))
			break;
	/* On failure, report the difference for the most likely order. */
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

static void step_sleep(struct model_run *run, const struct model_op *op)
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

	if (op->type == MODEL_SLEEP) {
		step_sleep(run, op);
	} else {
		settle(run, sleeps);
		if (sleeps)
			step_that_sleeps(run, op);
		else
			step_at_once(run, op);
	}
	check_state(run);
	return !run->model.diff[0];
}

/* Stop the wheel, which returns the pending timers, and check that no timer fires. */
static bool end_steps(struct model_run *run)
{
	struct model_op cancel = { .type = MODEL_CANCEL_SYNC };
	const struct model_op stop = { .type = MODEL_STOP };
	const struct model_op sleep = { .type = MODEL_SLEEP, .when = NSEC_PER_MSEC };
	bool ok = step(run, &stop);

	for (; ok && cancel.t < MODEL_TIMERS; cancel.t++)
		ok = step(run, &cancel);
	return ok && step(run, &sleep);
}

static bool run_start(struct model_run *run)
{
	const struct model_sequence *sequence = run->sequence;
	struct model_op init = { .type = MODEL_INIT };

	run->logged = 0;
	run->last = 0;
	run->offset = model_offset();
	if (!sequence->system)
		run->wheel = twheel_create(&sequence->config);
	else if (sequence->config.clock == TWHEEL_CLOCK_MONOTONIC)
		run->wheel = twheel_system();
	else
		run->wheel = twheel_system_clock(sequence->config.clock);
	model_start(&run->model, sequence, sequence->config.tick_ns ?: BIT_ULL(20));
	if (IS_ERR(run->wheel)) {
		model_differs(&run->model, "cannot create wheel: error %ld", PTR_ERR(run->wheel));
		return false;
	}
	twheel_get_stats(run->wheel, &run->base);
	for (; init.t < MODEL_TIMERS; init.t++)
		model_init_slot(run, &init);
	return true;
}

/*
 * Run a sequence. Returns -1 if it does not differ from the model. Otherwise returns the
 * index of the differing step, and stores the difference in the sequence. The end of the
 * wheel counts as one more step.
 */
static int run_sequence(struct model_run *run, struct model_sequence *sequence)
{
	unsigned int i = 0;

	run->sequence = sequence;
	if (!run_start(run))
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

/* Time limit for the search, below KUnit's 300 seconds per test. */
#define SEARCH_NS	(120 * NSEC_PER_SEC)

#define SEQUENCES	100

static struct model_run *run;
static struct model_sequence sequence;

static int model_init(struct kunit *test)
{
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	spin_lock_init(&run->log_lock);
	run->wq = alloc_workqueue("twheel_model", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, run->wq);
	return 0;
}

static void model_exit(struct kunit *test)
{
	if (run && run->wq)
		destroy_workqueue(run->wq);
	kvfree(run);
	run = NULL;
}

/* Run sequences until one fails, and cut it after the step that differs. */
static bool find_failure(struct rnd_state *random, bool system, enum twheel_clock clock)
{
	u64 begin = ktime_get_ns();
	unsigned int i;
	int step;

	for (i = 0; i < SEQUENCES && ktime_get_ns() < begin + SEARCH_NS; i++) {
		model_generate(&sequence, random, system, clock);
		step = run_sequence(run, &sequence);
		if (step < 0)
			continue;
		sequence.nr = min_t(unsigned int, sequence.nr, step + 1);
		return true;
	}
	return false;
}

struct kind {
	const char		*name;
	bool			system;
	enum twheel_clock	clock;
};

static const struct kind kinds[] = {
	{ "private, monotonic", false, TWHEEL_CLOCK_MONOTONIC },
	{ "private, boottime", false, TWHEEL_CLOCK_BOOTTIME },
	{ "private, realtime", false, TWHEEL_CLOCK_REALTIME },
	{ "system, monotonic", true, TWHEEL_CLOCK_MONOTONIC },
	{ "system, boottime", true, TWHEEL_CLOCK_BOOTTIME },
	{ "system, realtime", true, TWHEEL_CLOCK_REALTIME },
};

static void kind_desc(const struct kind *kind, char *desc)
{
	strscpy(desc, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, kind_desc);

static void random_calls_match_model(struct kunit *test)
{
	const struct kind *kind = test->param_value;
	struct rnd_state random;

	random_start(test, &random);
	if (!find_failure(&random, kind->system, kind->clock))
		return;
	kunit_info(test, "fails with the seed above after these steps:\n");
	model_print(test, &sequence);
	KUNIT_FAIL(test, "%s", sequence.diff);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(random_calls_match_model, kind_gen_params),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "twheel_timer_model",
	.init		= model_init,
	.exit		= model_exit,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
