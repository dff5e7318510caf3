// SPDX-License-Identifier: GPL-2.0
/*
 * Suite purgatory, case cells: the reaper's looks at operations whose deadline was moved later in
 * their cells.
 *
 *	look		in a cascade, instead of a move to a lower level
 *	look_due	at a due timer, which is queued again
 *
 * All timers are touched at one tick. Two operations expire one tick before and after it: the time
 * between both is that of the looks. Meanwhile the suite has the CPU, until all ticks are due.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "ops.h"

/* Ticks, and slots of levels 1 and 2, of the default wheel */
#define TICK_NS		BIT_ULL(20)
#define SLOT_NS		BIT_ULL(26)
#define LATER_NS	BIT_ULL(32)

/* Operations are not looked at in the order of their memory. Coprime to powers of ten. */
#define STRIDE		7919

/* Time to add an operation, and to change all cells and begin to hold the CPU */
#define ADD_NS		5000
#define HOLD_NS		(20 * NSEC_PER_MSEC)

static struct cells_run {
	struct twheel		*wheel;
	struct twheel_purgatory	*purgatory;
	struct twheel_cell_op	*op;
	atomic64_t		*word;
	struct twheel_op	mark[2];
	u64			marked_at[2];
	struct completion	marked;
} run;

static void op_ended(struct twheel_op *op)
{
	twheel_op_put(op);
}

static void mark_ended(struct twheel_op *op)
{
	run.marked_at[op - run.mark] = ktime_get_ns();
	twheel_op_put(op);
	if (op == &run.mark[1])
		complete(&run.marked);
}

/* The memory is freed after the drain. */
static void op_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops op_ops = { .ended = op_ended, .release = op_release };
static const struct twheel_op_ops mark_ops = { .ended = mark_ended, .release = op_release };

static int mark_add(unsigned int i, u64 deadline)
{
	const struct twheel_op_args args = { .wheel = run.wheel, .deadline = deadline };

	run.marked_at[i] = 0;
	twheel_op_init(&run.mark[i], &mark_ops);
	return twheel_op_add(run.purgatory, &run.mark[i], &args);
}

static int cells_add(u32 nr, u64 deadline)
{
	struct twheel_op_args args = { .wheel = run.wheel, .flags = TWHEEL_OP_CELL };
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		u32 nth = (u64)i * STRIDE % nr;
		struct twheel_op *op = &run.op[nth].op;

		twheel_op_init(op, &op_ops);
		args.deadline = twheel_op_init_cell(op, run.wheel, &run.word[nth], deadline);
		err = twheel_op_add(run.purgatory, op, &args);
		if (i % 1024 == 0)
			cond_resched();
	}
	return err;
}

/* The timers move to level 0 at @slot, and are due half a slot later. */
static int measure(const char *figure, const struct bench_config *config, u64 slot, bool due)
{
	u64 at = due ? slot + SLOT_NS / 2 : slot;
	struct twheel_stats stats;
	int err;
	u32 i;

	init_completion(&run.marked);
	err = cells_add(config->nr, slot + SLOT_NS / 2) ?: mark_add(0, at - TICK_NS) ?:
	      mark_add(1, at + TICK_NS);
	if (err)
		return err;
	if (ktime_get_ns() + SLOT_NS > slot) {
		bench_skip("cells", "twheel", figure, config->nr, "added-too-late");
		return 0;
	}
	bench_sleep_until(at - HOLD_NS);
	twheel_get_stats(run.wheel, &stats);
	/* Those that are touched during the cascade would be looked at once only. */
	if (due && stats.looks < config->nr) {
		bench_skip("cells", "twheel", figure, config->nr, "cascade-too-long");
		return 0;
	}
	/* Move all deadlines later, as a program does. */
	for (i = 0; i < config->nr; i++)
		atomic64_add(LATER_NS >> TWHEEL_CELL_SHIFT, &run.word[i]);
	preempt_disable();
	while (ktime_get_ns() < at + 2 * TICK_NS)
		cpu_relax();
	preempt_enable();
	if (!wait_for_completion_timeout(&run.marked, 60 * HZ))
		return -ETIMEDOUT;
	twheel_get_stats(run.wheel, &stats);
	if (stats.looks != config->nr * (1 + due))
		return bench_failure("%s: %llu looks at %u cells", figure, stats.looks, config->nr);
	bench_sample_ns("cells", "twheel", figure, config->nr,
			run.marked_at[1] - run.marked_at[0], config->nr);
	return 0;
}

static int measure_on_wheel(const char *figure, const struct bench_config *config, bool due)
{
	static const struct twheel_config on = { .name = "bench_cells" };
	const struct twheel_purgatory_config in = {
		.name		= "bench_cells",
		.max_pending	= 1U << 30,
	};
	u64 slot = round_up(ktime_get_ns() + config->nr * ADD_NS + 2 * SLOT_NS, SLOT_NS);
	int err;

	run.wheel = twheel_create(&on);
	if (IS_ERR(run.wheel))
		return PTR_ERR(run.wheel);
	run.purgatory = twheel_purgatory_create(&in);
	err = PTR_ERR_OR_ZERO(run.purgatory);
	if (!err) {
		err = measure(figure, config, slot, due);
		twheel_purgatory_drain(run.purgatory);
		twheel_purgatory_destroy(run.purgatory);
	}
	twheel_stop(run.wheel, NULL, NULL);
	twheel_destroy(run.wheel);
	return err;
}

int cells_case(const struct bench_config *config)
{
	unsigned int rep;
	int err;

	if (!bench_wanted("twheel", "cells"))
		return 0;
	run.op = vcalloc(config->nr, sizeof(*run.op));
	run.word = vcalloc(config->nr, sizeof(*run.word));
	err = run.op && run.word ? 0 : -ENOMEM;
	for (rep = 0; rep < config->reps && !err; rep++) {
		bench_repetition(rep);
		err = measure_on_wheel("look", config, false) ?:
		      measure_on_wheel("look_due", config, true);
	}
	vfree(run.word);
	vfree(run.op);
	return err;
}
