/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A property test of layer 4: sequences of random calls, run on the module and
 * on a naive model in step.
 *
 *	model_sequence.c	makes sequences from a seed, and prints them
 *	model_ops.c		makes the calls, and is what the timers' functions do
 *	model.c			the model: an array of timers with exact deadlines
 *	model_events.c		what of it time changes, and what can be seen
 *	model_run.c		runs a sequence on both, up to the first difference
 *	model_shrink.c		makes a sequence that fails as short as it can
 *
 * The functions of the timers write what happens to them, and what they do
 * themselves, into a log. The model does not foretell the order in which that
 * happens; it is told it from the log, and says whether it may have been.
 *
 * All of this goes by UML's virtual time on one CPU: with interrupts off the
 * time stands still, and nothing can happen between two looks.
 */
#ifndef _KUNIT_MODEL_H
#define _KUNIT_MODEL_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>

/* Of each kind some: plain timers, ones that repeat, and work. */
#define MODEL_PLAIN	6
#define MODEL_PERIODIC	2
#define MODEL_WORK	2
#define MODEL_TIMERS	(MODEL_PLAIN + MODEL_PERIODIC + MODEL_WORK)
#define MODEL_OPS	50
#define MODEL_DIFF	120

enum model_kind {
	MODEL_IS_PLAIN,
	MODEL_IS_PERIODIC,
	MODEL_IS_WORK,
};

static inline enum model_kind model_kind(unsigned int t)
{
	if (t < MODEL_PLAIN)
		return MODEL_IS_PLAIN;
	return t < MODEL_PLAIN + MODEL_PERIODIC ? MODEL_IS_PERIODIC : MODEL_IS_WORK;
}

/* Each stands for the call of that name for the kind of its timer, if there is one. */
enum model_what {
	MODEL_SLEEP,
	MODEL_INIT,
	MODEL_ADD,
	MODEL_ADD_SLACK,
	MODEL_REARM,
	MODEL_REARM_SLACK,
	MODEL_START,
	MODEL_CANCEL,
	MODEL_CANCEL_SYNC,
	MODEL_SHUTDOWN_SYNC,
	MODEL_FLUSH,
	MODEL_STOP,
	MODEL_SET_CLOCK,
	MODEL_CREATE,
	MODEL_WHATS
};

/* What a timer's function does besides, after it has slept. */
enum model_script {
	MODEL_NOTHING,
	MODEL_REARM_SELF,
	MODEL_CANCEL_OTHER,
	MODEL_ADD_OTHER,
	MODEL_SCRIPTS
};

/* Besides the flags of timers: @when is no delay but a deadline. */
#define MODEL_ABSOLUTE	BIT(7)

/**
 * struct model_op - a step of a sequence
 * @what: enum model_what
 * @t: the timer
 * @flags: of the timer that is initialised, or MODEL_ABSOLUTE
 * @choice: enum twheel_rearm, twheel_repeat, twheel_clock or model_script; whether
 *	to sleep till something is due first
 * @other: the timer that a script is about; shards of a wheel that is created
 * @count: how often a script acts; runs; slots
 * @when: delay or deadline; how long to sleep; by how much the clock is set;
 *	delay of a script; tick
 * @more: slack; period; how long a function sleeps; limit of a wheel; how
 *	long to wait for what is due at most
 */
struct model_op {
	u8	what;
	u8	t;
	u8	flags;
	u8	choice;
	u16	other;
	u16	count;
	u64	when;
	u64	more;
};

/**
 * struct model_sequence - what is run
 * @system: on a wheel of the system's, of which @config has but the clock
 * @config: of the wheel
 * @nr: how many steps
 * @op: the steps
 * @diff: in what it differed from the model
 */
struct model_sequence {
	bool			system;
	struct twheel_config	config;
	unsigned int		nr;
	struct model_op		op[MODEL_OPS];
	char			diff[MODEL_DIFF];
};

/* What the model may wrongly believe, to see that it is found out. */
enum model_lie {
	MODEL_TRUTH,
	MODEL_CANCEL_SYNC_LOSES, /* to cancel what is pending and wait comes too late */
	MODEL_EARLIER_MOVES,	/* TWHEEL_REARM_IF_EARLIER moves any timer */
	MODEL_REPEATS_FOREVER,	/* runs are not counted */
	MODEL_STOP_FORGETS,	/* stop hands nothing back */
	MODEL_LIES
};

/* The same moment by CLOCK_MONOTONIC and by the clock of the wheel. */
struct model_time {
	u64	mono;
	u64	clock;
};

/* Of which work that is true, a bit for each timer. */
struct model_work_seen {
	u32	pending;
	u32	queued;
	u32	busy;		/* queued or running */
};

/**
 * struct model_answer - what became of a call
 * @ret: what it returned
 * @deadline: what was given to it
 * @expected: the deadline that the delay should have come to
 * @handed: the timers that stop handed back, a bit each
 * @work: the work that was pending before, and that was queued
 * @now: when it was called; with interrupts off also when it returned
 */
struct model_answer {
	long			ret;
	u64			deadline;
	u64			expected;
	u32			handed;
	struct model_work_seen	work;
	struct model_time	now;
};

enum model_event_what {
	MODEL_BEGINS,
	MODEL_CALLS,
	MODEL_ENDS,
};

/**
 * struct model_event - something that a timer's function saw or did
 * @what: which
 * @t: the timer
 * @error: that twheel_timer_error() told as it began
 * @overrun: that twheel_periodic_overrun() told
 * @wakes: when it will have slept, by CLOCK_MONOTONIC
 * @op: what it called
 * @answer: and what came of it
 * @now: when that was
 */
struct model_event {
	enum model_event_what	what;
	unsigned int		t;
	int			error;
	u64			overrun;
	u64			wakes;
	struct model_op		op;
	struct model_answer	answer;
	struct model_time	now;
};

/* What can be seen of a wheel and its timers at one moment. */
struct model_seen {
	struct model_time	now;
	u64			wheel_now;
	u64			tick_ns;
	u64			next;
	struct twheel_stats	stats;
	bool			pending[MODEL_TIMERS];
	struct model_work_seen	work;
	u64			remaining[MODEL_TIMERS];
};

enum model_told {
	MODEL_NOT_TOLD,
	MODEL_MAYBE_TOLD,	/* it was due already */
	MODEL_MAYBE_MOVED,	/* else it will be told, or was due */
	MODEL_TOLD,		/* that the clock was set */
};

/**
 * struct model_timer - all there is to know about a timer
 * @flags: its flags
 * @pending: it waits
 * @running: its function is being called
 * @queued: it is work, and waits for its function to be called
 * @ended: it is work whose function has returned, which the workqueue has yet to see
 * @last: the run that goes on is the last one
 * @cut: cancelled while it was running
 * @shut: shut down
 * @told: whether it ends as the clock was set
 * @sets: how often the clock had been set when it was started
 * @due: the tick at which it fires, in ns by the clock; TWHEEL_NEVER
 * @due_last: the last tick at which it may, until it has been looked at
 * @was_due: that had come, once, when the clock was set
 * @armed: when it was added or moved
 * @begun: when its function was called
 * @wakes: when that will have slept
 * @done: when its function returned
 * @deadline: of the next run, if it repeats at a fixed rate
 * @period: in ns
 * @left: runs, with the one that goes on
 * @repeat: from when a period counts
 */
struct model_timer {
	unsigned int		flags;
	bool			pending;
	bool			running;
	bool			queued;
	bool			ended;
	bool			last;
	bool			cut;
	bool			shut;
	enum model_told		told;
	unsigned int		sets;
	u64			due;
	u64			due_last;
	bool			was_due;
	struct model_time	armed;
	u64			begun;
	u64			wakes;
	u64			done;
	u64			deadline;
	u64			period;
	u64			left;
	enum twheel_repeat	repeat;
};

/**
 * struct model - the wheel as it should be
 * @timer: its timers
 * @lie: what it believes wrongly
 * @system: it is a wheel of the system's
 * @ordered: what is due at an earlier tick must fire first
 * @stopped: it was stopped
 * @tick_ns: length of a tick
 * @limit: on what may be pending, 0 for none
 * @clock: what it goes by
 * @sets: how often the clock was set
 * @seen_set: when it is known for sure that the clock was set
 * @freed: when the last function returned that others had to wait for
 * @late_ns: the most that one was late
 * @stats: the counts as they should be
 * @rearmed_maybe: by how much more they may be
 * @slow_maybe: by how much more they may be
 * @sync: the timer that is being cancelled and waited for; -1 for none
 * @eager: that looks as soon as the function has returned
 * @won: that was pending
 * @awaited: functions that a call has to wait for, a bit for each timer
 * @diff: the first difference to what was seen; empty for none
 */
struct model {
	struct model_timer	timer[MODEL_TIMERS];
	enum model_lie		lie;
	bool			system;
	bool			ordered;
	bool			stopped;
	u64			tick_ns;
	u64			limit;
	enum twheel_clock	clock;
	unsigned int		sets;
	u64			seen_set;
	u64			freed;
	u64			late_ns;
	struct twheel_stats	stats;
	u64			rearmed_maybe;
	u64			slow_maybe;
	int			sync;
	bool			eager;
	bool			won;
	u32			awaited;
	char			diff[MODEL_DIFF];
};

/* How long it takes until what is under way has been done, in virtual time. */
#define MODEL_NEAR_NS	20000

void model_start(struct model *model, const struct model_sequence *sequence,
		 u64 tick_ns, enum model_lie lie);
bool model_allows(const struct model *model, const struct model_op *op);
void model_call(struct model *model, const struct model_op *op,
		const struct model_answer *answer);
void model_finish(struct model *model, const struct model_op *op,
		  const struct model_answer *answer);
void model_event(struct model *model, const struct model_event *event);
void model_look(struct model *model, const struct model_seen *seen);
u64 model_next_due(const struct model *model, const struct model_time *now);
void model_look_at_work(struct model *model, const struct model_seen *seen);
u64 model_busy_until(const struct model *model, const struct model_time *now, bool patient);

/* Between model.c and model_events.c. */
__printf(2, 3)
void model_differs(struct model *model, const char *format, ...);
u64 model_pending(const struct model *model);
u64 model_tick_due(const struct model *model, u64 deadline);
void model_arm(struct model_timer *timer, u64 due, u64 due_last, const struct model_time *now);
void model_look_sync(struct model *model);
void model_work_fired(struct model *model, const struct model_work_seen *work,
		      const struct model_time *now);

#define MODEL_LOG	1024

/* A timer of the module's, and what its function does. */
struct model_slot {
	union {
		struct twheel_timer	timer;
		struct twheel_periodic	periodic;
		struct twheel_work	work;
	};
	struct model_run	*run;
	unsigned int		t;
	bool			may_sleep;
	u64			takes_ns;
	unsigned int		acts;
	struct model_op		act;
};

/**
 * struct model_run - a sequence that is being run
 * @sequence: the sequence
 * @model: how it should be
 * @start: how it was before a call that others may come between
 * @wheel: how it is
 * @slot: its timers
 * @wq: for work
 * @base: the counts when it began
 * @seen: at the last look
 * @log_lock: protects the log; taken from any context
 * @log: what happened since the model was told last
 * @logged: how many events these are
 * @last: when the last event was
 * @offset: of the wall clock, to be restored
 */
struct model_run {
	const struct model_sequence	*sequence;
	struct model			model;
	struct model			start;
	struct twheel			*wheel;
	struct model_slot		slot[MODEL_TIMERS];
	struct workqueue_struct		*wq;
	struct twheel_stats		base;
	struct model_seen		seen;
	spinlock_t			log_lock;	/* with interrupts off */
	struct model_event		log[MODEL_LOG];
	unsigned int			logged;
	u64				last;
	s64				offset;
};

/* The calls; see model_ops.c. */
bool model_sleeps(const struct model_op *op);
struct model_time model_now(const struct model_run *run);
void model_init_slot(struct model_run *run, const struct model_op *op);
void model_do(struct model_run *run, const struct model_op *op, struct model_answer *answer);
void model_see(struct model_run *run);
void model_set_offset(s64 offset);
s64 model_offset(void);
void model_end_all(struct model_run *run);

/*
 * Runs a sequence. Returns at which step it differed from the model, with what it
 * differed in left in the sequence; -1 if it did not. The end of the wheel counts
 * as one more step.
 */
int model_run(struct model_run *run, struct model_sequence *sequence, enum model_lie lie);

void model_generate(struct model_sequence *sequence, struct rnd_state *random, bool system,
		    enum twheel_clock clock);
void model_print(struct kunit *test, const struct model_sequence *sequence);

/* Makes a sequence that fails shorter while it does, until @until by CLOCK_MONOTONIC. */
void model_shrink(struct model_run *run, struct model_sequence *sequence, enum model_lie lie,
		  u64 until);

#endif /* _KUNIT_MODEL_H */
