/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A property test of layer 5: random calls about operations and keys, made on the
 * module and on a naive model in step.
 *
 *	op_model.c		the model: what waits for what, and what each call makes of it
 *	op_model_op.c		what the operations do when they are called
 *	op_model_calls.c	the calls, on both, and what they return
 *	op_model_look.c		all that can be seen of the module, held against the model
 *	purgatory_model_kunit.c	goes from step to step
 *
 * Nothing is due while a step is made: see op_model_sleep(). The conditions of
 * operations with predicates are words of the model that change without anybody
 * being told, so that what waits may well be complete until somebody asks.
 */
#ifndef _KUNIT_OP_MODEL_H
#define _KUNIT_OP_MODEL_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/twheel.h>

/* So many for so few keys that a walk under one takes more than a chunk. */
#define OP_MODEL_OPS	150
#define OP_MODEL_KEYS	8
#define OP_MODEL_SPECS	6
/* Used once in the life of an operation, so that a use after unwatch is found. */
#define OP_MODEL_ROOM	40
#define OP_MODEL_POISON	0x5a

enum op_model_life {
	OP_MODEL_NEW,
	OP_MODEL_WAITING,
	OP_MODEL_ENDED,
};

/* A watch, as the model knows it; @turn numbers all of them in the order of coming. */
struct op_model_watch {
	u64	key;
	u64	turn;
	u32	need;
};

struct op_model;

/**
 * struct op_model_op - an operation, and what the model knows of it
 * @op: for the module
 * @model: where it is
 * @room: for its watches, @nr_room of them used so far; the others are poisoned, and so
 *	are those that were handed @back
 * @holds: what its predicate says, and with what @holds_value
 * @calls: of its callback, the last one as number @order of all, with @result
 * @releases: of it
 * @met: by an iterator
 * @life: and the rest: what the model thinks. @amount is what came of a sum, and
 *	@armed_at when it was given its deadline
 * @end: how it should have ended, by the call that was number @end_order to end one,
 *	0 if the order is any; @end.time is the earliest, @latest the latest time
 */
struct op_model_op {
	struct twheel_op		op;
	struct op_model			*model;
	struct twheel_watch		room[OP_MODEL_ROOM];
	u32				nr_room;
	unsigned long			back;
	bool				holds;
	u64				holds_value;
	unsigned int			calls;
	unsigned int			order;
	struct twheel_op_result		result;
	unsigned int			releases;
	unsigned int			met;

	enum op_model_life		life;
	enum twheel_condition		condition;
	u32				quorum;
	u64				threshold;
	u64				amount;
	u64				deadline;
	u64				armed_at;
	u32				nr_watches;
	struct op_model_watch		watch[OP_MODEL_ROOM];
	struct twheel_op_result		end;
	unsigned int			end_order;
	u64				latest;
};

/**
 * struct op_model - a purgatory, as the model knows it
 * @test: the test
 * @max_pending: how many operations may be pending, and
 * @max_watches: how many watches these may have in all, 0 for any number
 * @random: what to do next
 * @step: how many were made, the last one @what to operation number @choice
 * @turns: watches so far
 * @calls: of callbacks so far
 * @nr_ended: operations that should have ended so far, by @ended
 * @any_order: ends of this step come in any order
 * @stats: as they should be, but for what is counted anew
 * @op: the operations
 */
struct op_model {
	struct kunit			*test;
	u64				max_pending;
	u64				max_watches;
	struct rnd_state		random;
	unsigned int			step;
	const char			*what;
	unsigned int			choice;
	u64				turns;
	unsigned int			calls;
	unsigned int			nr_ended;
	bool				any_order;
	struct twheel_purgatory_stats	stats;
	struct op_model_op		op[OP_MODEL_OPS];
};

#define OP_MODEL_EQ(_model, _left, _right)					\
do {										\
	const struct op_model *__model = (_model);				\
										\
	KUNIT_ASSERT_EQ_MSG(__model->test, _left, _right, "step %u: %s %u",	\
			    __model->step, __model->what, __model->choice);	\
} while (0)

static inline bool op_model_counts_signals(enum twheel_condition condition)
{
	return condition == TWHEEL_COND_ANY || condition == TWHEEL_COND_ALL ||
	       condition == TWHEEL_COND_QUORUM;
}

/* op_model.c */
u64 op_model_missing(const struct op_model_op *m);
struct op_model_watch *op_model_watch_of(struct op_model_op *m, u64 key);
u32 op_model_nr_new(struct op_model_op *m, const struct twheel_watch_spec *specs, u32 nr_keys);
int op_model_admit(struct op_model *model, u32 nr_ops, u32 nr_watches);
void op_model_end(struct op_model *model, struct op_model_op *m, enum twheel_reason reason,
		  int error, u64 value);
bool op_model_ask(struct op_model *model, struct op_model_op *m);
u32 op_model_watch(struct op_model *model, struct op_model_op *m,
		   const struct twheel_watch_spec *specs, u32 nr_keys);
int op_model_unwatch(struct op_model *model, struct op_model_op *m, u64 key);
u32 op_model_signal(struct op_model *model, u64 key, u64 amount, u64 value, u32 limit);
u32 op_model_check(struct op_model *model, u64 key, u32 limit);
u32 op_model_cancel_key(struct op_model *model, u64 key);
void op_model_sleep(struct op_model *model, u64 ns);

/* op_model_op.c: to clear is to forget what it watches; to finish, to find it released. */
void op_model_begin(struct op_model *model, struct op_model_op *m);
void op_model_clear(struct op_model_op *m);
void op_model_finish(struct op_model *model, struct op_model_op *m);

/* op_model_calls.c */
void op_model_start(struct op_model *model);
void op_model_step(struct op_model *model);
void op_model_stop(struct op_model *model);

/* op_model_look.c */
void op_model_look(struct op_model *model);

#endif /* _KUNIT_OP_MODEL_H */
