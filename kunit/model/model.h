/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Property test for timers: sequences of random calls are run on the module and on a
 * simple model in lockstep.
 *
 *	model_sequence.c	generates sequences from a seed, and prints them
 *	model_ops.c		the calls, and the functions of the timers
 *	model.c			the model: an array of timers with exact deadlines
 *	timer_model_kunit.c	runs a sequence on both, until the first difference
 *
 * The timer functions log their calls and their own actions. The model does not predict
 * the order of these events. It replays the log and checks that each event is allowed.
 *
 * The test needs UML's virtual time on one CPU: with interrupts disabled, time stands
 * still and nothing happens between two observations.
 */
#ifndef _KUNIT_MODEL_H
#define _KUNIT_MODEL_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>

/* Number of timers of each kind: plain timers and work. */
#define MODEL_PLAIN	6
#define MODEL_WORK	2
#define MODEL_TIMERS	(MODEL_PLAIN + MODEL_WORK)
#define MODEL_OPS	50
#define MODEL_DIFF	120

enum model_kind {
	MODEL_IS_PLAIN,
	MODEL_IS_WORK,
};

static inline enum model_kind model_kind(unsigned int t)
{
	return t < MODEL_PLAIN ? MODEL_IS_PLAIN : MODEL_IS_WORK;
}

/* Each type is the call of that name for the kind of the timer, if the API has one. */
enum model_op_type {
	MODEL_SLEEP,
	MODEL_INIT,
	MODEL_ADD,
	MODEL_ADD_SLACK,
	MODEL_REARM,
	MODEL_REARM_SLACK,
	MODEL_CANCEL,
	MODEL_CANCEL_SYNC,
	MODEL_SHUTDOWN_SYNC,
	MODEL_FLUSH,
	MODEL_STOP,
	MODEL_SET_CLOCK,
	MODEL_OP_TYPES
};

/* Additional action of a timer function, after its sleep. */
enum model_action {
	MODEL_NOTHING,
	MODEL_REARM_SELF,
	MODEL_CANCEL_OTHER,
	MODEL_ADD_OTHER,
	MODEL_ACTIONS
};

/* In addition to the flags of timers: @when is a deadline, and not a delay. */
#define MODEL_ABSOLUTE	BIT(7)

/* A step of a sequence */
struct model_op {
	u8	type;	/* enum model_op_type */
	u8	t;	/* index of the timer */
	u8	flags;	/* flags for init, or MODEL_ABSOLUTE */
	/*
	 * enum twheel_rearm or model_action; for a sleep, whether to sleep until the next expiry
	 * first
	 */
	u8	choice;
	u16	other;	/* timer of an action */
	u16	count;	/* number of actions */
	/* delay or deadline; duration of a sleep; clock adjustment; delay of an action */
	u64	when;
	u64	more;	/* slack; duration of a function; maximum time to the next expiry */
};

/* A sequence of steps */
struct model_sequence {
	/* use the system's wheel for the clock in @config */
	bool			system;
	struct twheel_config	config;		/* configuration of the wheel */
	unsigned int		nr;		/* number of steps */
	struct model_op		op[MODEL_OPS];
	/* difference between the module and the model */
	char			diff[MODEL_DIFF];
};

/* The same moment by CLOCK_MONOTONIC and by the clock of the wheel. */
struct model_time {
	u64	mono;
	u64	clock;
};

/* States of work, one bit per timer. */
struct model_work_state {
	u32	pending;
	u32	queued;
	u32	busy;		/* queued or running */
};

/* Result of a call */
struct model_answer {
	long			ret;		/* return value */
	u64			deadline;	/* deadline passed to the call */
	u64			expected;	/* expected deadline for the delay */
	u32			handed;		/* timers returned by stop, one bit each */
	/* work that was pending or queued before the call */
	struct model_work_state	work;
	/* time of the call; with interrupts disabled, also the time of return */
	struct model_time	now;
};

enum model_event_type {
	MODEL_BEGINS,
	MODEL_CALLS,
	MODEL_ENDS,
};

/* An event logged by a timer function */
struct model_event {
	enum model_event_type	type;	/* kind of event */
	unsigned int		t;	/* index of the timer */
	int			error;	/* twheel_timer_error() at the start of the function */
	u64			wakes;	/* end of the function's sleep, by CLOCK_MONOTONIC */
	struct model_op		op;	/* call made by the function */
	struct model_answer	answer;	/* result of the call */
	struct model_time	now;	/* time of the event */
};

/* Observable state of a wheel and its timers. */
struct model_state {
	struct model_time	now;
	u64			wheel_now;
	u64			tick_ns;
	u64			next;
	struct twheel_stats	stats;
	bool			pending[MODEL_TIMERS];
	struct model_work_state	work;
	u64			remaining[MODEL_TIMERS];
};

enum model_on_set {
	MODEL_ON_SET_NONE,
	MODEL_ON_SET_MAYBE,		/* the timer was, or may have been, due already */
	MODEL_ON_SET_CANCEL,		/* the timer is cancelled */
};

/* State of a timer */
struct model_timer {
	unsigned int		flags;
	bool			pending;	/* the timer is pending */
	bool			running;	/* its function is running */
	/* work: waiting for the workqueue to call its function */
	bool			queued;
	/* work: the function has returned, but the workqueue has not noticed yet */
	bool			ended;
	bool			shutdown;
	/* whether the timer is cancelled because the clock was set */
	enum model_on_set	on_set;
	/* tick at which it fires, in ns by the clock; TWHEEL_NEVER */
	u64			due;
	/* if the clock was set after it read this time, the timer is due */
	u64			passes;
	/* last tick at which it may fire, until the exact tick is known */
	u64			due_last;
	bool			was_due;	/* it was due when the clock was set */
	struct model_time	armed;		/* when it was added or moved */
	u64			started;	/* start of its function */
	u64			wakes;		/* end of the sleep of its function */
	u64			done;		/* return of its function */
};

/* Expected state of the wheel */
struct model {
	struct model_timer	timer[MODEL_TIMERS];
	bool			system;		/* the wheel is one of the system's */
	bool			ordered;	/* timers of earlier ticks must fire first */
	bool			stopped;	/* the wheel was stopped */
	u64			tick_ns;	/* length of a tick */
	u64			limit;		/* maximum number of pending timers, 0 for none */
	enum twheel_clock	clock;		/* clock of the wheel */
	/* time by which the last clock change has been noticed */
	u64			set_noticed;
	/* return of the last function that delayed other timers */
	u64			unblocked_at;
	u64			late_ns;	/* maximum lateness */
	struct twheel_stats	stats;		/* expected counts */
	u64			rearmed_maybe;	/* possible additional re-arms */
	u64			slow_maybe;	/* possible additional slow functions */
	/* timer of a pending cancel_sync or shutdown_sync; -1 for none */
	int			sync;
	/* that call rechecks the timer as soon as the function has returned */
	bool			eager;
	bool			won;		/* that call has cancelled the timer */
	/* functions that a call waits for, one bit per timer */
	u32			awaited;
	/* the first difference to the observed state; empty for none */
	char			diff[MODEL_DIFF];
};

/* Virtual time that events in progress take to finish. */
#define MODEL_NEAR_NS	20000

void model_start(struct model *model, const struct model_sequence *sequence, u64 tick_ns);
bool model_allows(const struct model *model, const struct model_op *op);
void model_call(struct model *model, const struct model_op *op,
		const struct model_answer *answer);
void model_finish(struct model *model, const struct model_op *op,
		  const struct model_answer *answer);
void model_event(struct model *model, const struct model_event *event);
void model_compare(struct model *model, const struct model_state *seen);
u64 model_next_due(const struct model *model, const struct model_time *now);
void model_update_work(struct model *model, const struct model_state *seen);
u64 model_busy_until(const struct model *model, const struct model_time *now, bool patient);

__printf(2, 3)
void model_differs(struct model *model, const char *format, ...);

#define MODEL_LOG	1024

/* A timer of the module, and the behaviour of its function. */
struct model_slot {
	union {
		struct {
			struct twheel_wall_part	part;
			struct twheel_timer	timer;
		};
		struct twheel_wall_timer	wall_timer;
		struct twheel_work		work;
	};
	struct model_run	*run;
	unsigned int		t;
	u64			takes_ns;
	unsigned int		acts;
	struct model_op		act;
};

/* A run of a sequence */
struct model_run {
	const struct model_sequence	*sequence;
	struct model			model;	/* expected state */
	/* expected state before a call that allows concurrent events */
	struct model			start;
	struct twheel			*wheel;
	struct model_slot		slot[MODEL_TIMERS];
	struct workqueue_struct		*wq;	/* workqueue for work */
	struct twheel_stats		base;	/* counts at the start */
	struct model_state		seen;	/* last observed state */
	spinlock_t			log_lock;	/* taken with interrupts disabled */
	struct model_event		log[MODEL_LOG];	/* events since the last replay */
	unsigned int			logged;	/* number of events in the log */
	u64				last;	/* time of the last event */
	s64				offset;	/* of the wall clock, to restore it */
};

/* The calls. See model_ops.c. */
bool model_sleeps(const struct model_op *op);
struct model_time model_now(const struct model_run *run);
void model_init_slot(struct model_run *run, const struct model_op *op);
void model_do(struct model_run *run, const struct model_op *op, struct model_answer *answer);
void model_observe(struct model_run *run);
void model_set_offset(s64 offset);
s64 model_offset(void);
void model_end_all(struct model_run *run);

void model_generate(struct model_sequence *sequence, struct rnd_state *random, bool system,
		    enum twheel_clock clock);
void model_print(struct kunit *test, const struct model_sequence *sequence);

#endif /* _KUNIT_MODEL_H */
