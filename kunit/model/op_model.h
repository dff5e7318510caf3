/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Property test for operations: random calls on operations and keys are made on the module
 * and on a simple model in lockstep.
 *
 *	op_model.c		the model: operations, watches, and effects of the calls
 *	op_model_calls.c	the calls, on both, and checks of their results
 *	purgatory_model_kunit.c	the test cases, and comparison of the observable state
 *
 * No operation becomes due during a step: see op_model_sleep(). The conditions of
 * operations with predicates are variables of the model that change without notification.
 * Therefore the condition of a pending operation may be true until its next evaluation.
 */
#ifndef _KUNIT_OP_MODEL_H
#define _KUNIT_OP_MODEL_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/twheel.h>

/* Enough operations per key that a walk takes more than one chunk. */
#define OP_MODEL_OPS	150
#define OP_MODEL_KEYS	8
#define OP_MODEL_SPECS	6
/* Each watch is used once per operation, to detect a use after unwatch. */
#define OP_MODEL_SLOTS	40
#define OP_MODEL_POISON	0x5a
#define OP_MODEL_WALKS	2

enum op_model_life {
	OP_MODEL_NEW,
	OP_MODEL_PENDING,
	OP_MODEL_ENDED,
};

/* A watch in the model. @serial is the position among all watches in the order of linking. */
struct op_model_watch {
	u64	key;
	u64	serial;
	u32	need;
	u32	bit;
};

struct op_model;

/* An operation, and its expected state */
struct op_model_op {
	struct twheel_op		op;		/* operation of the module */
	struct op_model			*model;
	/*
	 * memory for its watches. The first @nr_used are in use. The others are poisoned, and so
	 * are those returned by unwatch
	 */
	struct twheel_watch		watches[OP_MODEL_SLOTS];
	u32				nr_used;
	/* bit mask of the watches returned by unwatch */
	unsigned long			returned;
	bool				holds;		/* result of its predicate */
	u64				holds_value;	/* value set by its predicate */
	unsigned int			calls;		/* number of callbacks */
	/* position of the last callback among all callbacks */
	unsigned int			order;
	struct twheel_op_result		result;		/* result reported in the callback */
	unsigned int			releases;	/* number of releases */
	/* number of times that an iterator returned it */
	unsigned int			visited;
	/* bit mask of the walks since whose begin it is pending, with the same keys */
	unsigned long			steady;
	/* bit mask of the walks that have visited it */
	unsigned long			seen;

	/* expected state, also in all following members */
	enum op_model_life		life;
	enum twheel_condition		condition;
	u32				quorum;		/* number of keys for TWHEEL_COND_QUORUM */
	u64				threshold;	/* for TWHEEL_COND_SUM */
	u64				amount;		/* sum of the signalled amounts */
	u64				deadline;
	u64				armed_at;	/* when the deadline was set */
	u32				nr_watches;	/* number of watches */
	struct op_model_watch		watch[OP_MODEL_SLOTS];
	/* expected result; @end.time is the earliest possible time */
	struct twheel_op_result		end;
	/* expected position among all ends, 0 for any */
	unsigned int			end_order;
	u64				latest;		/* latest possible time of the end */
};

/* A walk with a step of the iterator after each step of the test. @at is held by the iterator. */
struct op_model_walk {
	struct twheel_op_iter	iter;
	bool			active;
	struct op_model_op	*at;
	unsigned int		visits;
};

/* Expected state of a purgatory */
struct op_model {
	struct kunit			*test;	/* the test */
	u64				max_pending;	/* limit on pending operations */
	u64				max_watches;	/* limit on watches, 0 for none */
	struct rnd_state		random;	/* source of random numbers */
	unsigned int			step;	/* number of steps */
	const char			*call_name;	/* name of the last call */
	/* operation chosen for the last call, unused by calls on keys */
	unsigned int			choice;
	u64				nr_serials;	/* number of watches so far */
	unsigned int			calls;	/* number of callbacks so far */
	unsigned int			nr_ended;	/* number of ended operations so far */
	/* the operations of this step may end in any order */
	bool				any_order;
	struct twheel_purgatory_stats	stats;	/* expected counts */
	/* walks over the pending operations */
	struct op_model_walk		walk[OP_MODEL_WALKS];
	struct op_model_op		op[OP_MODEL_OPS];
};

#define OP_MODEL_EQ(_model, _left, _right)					\
do {										\
	const struct op_model *__model = (_model);				\
										\
	KUNIT_ASSERT_EQ_MSG(__model->test, _left, _right,			\
			    "step %u: %s (operation %u)", __model->step,	\
			    __model->call_name, __model->choice);		\
} while (0)

static inline bool op_model_counts_signals(enum twheel_condition condition)
{
	return condition == TWHEEL_COND_ANY || condition == TWHEEL_COND_ALL ||
	       condition == TWHEEL_COND_QUORUM;
}

/* op_model.c */
u64 op_model_missing(const struct op_model_op *m);
struct op_model_watch *op_model_watch_of(struct op_model_op *m, u64 key);
bool op_model_has_equal(const struct twheel_watch_spec *specs, u32 nr_keys);
u32 op_model_nr_new(struct op_model_op *m, const struct twheel_watch_spec *specs, u32 nr_keys);
int op_model_admit(struct op_model *model, u32 nr_ops, u32 nr_watches);
void op_model_end(struct op_model *model, struct op_model_op *m, enum twheel_reason reason,
		  int error, u64 value);
bool op_model_evaluate(struct op_model *model, struct op_model_op *m);
u32 op_model_watch(struct op_model *model, struct op_model_op *m,
		   const struct twheel_watch_spec *specs, u32 nr_keys);
int op_model_unwatch(struct op_model *model, struct op_model_op *m, u64 key);
u32 op_model_signal(struct op_model *model, u64 key, u64 amount, u64 value, u32 limit);
u32 op_model_check(struct op_model *model, u64 key, u32 limit);
u32 op_model_cancel_key(struct op_model *model, u64 key);
void op_model_sleep(struct op_model *model, u64 ns);

/* Clear removes all watches, finish expects the release. */
void op_model_begin(struct op_model *model, struct op_model_op *m);
void op_model_clear(struct op_model_op *m);
void op_model_finish(struct op_model *model, struct op_model_op *m);

/* op_model_calls.c */
void op_model_start(struct op_model *model);
void op_model_step(struct op_model *model);
void op_model_stop(struct op_model *model);

/* purgatory_model_kunit.c */
void op_model_walk_end(struct op_model_walk *walk);

#endif /* _KUNIT_OP_MODEL_H */
