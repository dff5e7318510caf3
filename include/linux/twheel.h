/* SPDX-License-Identifier: GPL-2.0 */
/*
 * twheel for kernel modules: timers on a hierarchical timing wheel, and purgatories of
 * delayed operations.
 *
 * Times are in nanoseconds of the clock of a wheel, CLOCK_MONOTONIC by default. The
 * kernel-doc of a function is at its definition; Documentation/kernel-api.rst has examples.
 */
#ifndef _LINUX_TWHEEL_H
#define _LINUX_TWHEEL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <uapi/linux/twheel.h>

struct twheel;
struct twheel_shard;
struct twheel_purgatory;

/* Timers */

/**
 * struct twheel_node - a timer as seen by the wheel
 * @entry: in the list of a bucket; unhashed while the timer is not pending
 * @expires: deadline in ns; with slack, the start of the tick of the expiry
 *
 * Protected by the lock of the timer's shard.
 */
struct twheel_node {
	struct hlist_node	entry;
	u64			expires;
};

/**
 * struct twheel_timer - a timer
 * @node: entry in the wheel
 * @fn: callback; NULL after a shutdown. Protected by the lock of the shard
 * @shard_flags: address of the shard, with TWHEEL_TIMER_* in the low bits. Written with the
 *	locks of the old and the new shard held
 *
 * Embed it. The members are private.
 */
struct twheel_timer {
	struct twheel_node	node;
	void			(*fn)(struct twheel_timer *timer);
	unsigned long		shard_flags;
};

/* Flag of a timer of TWHEEL_CLOCK_REALTIME: see twheel_wall_timer_init(). */
#define TWHEEL_TIMER_CANCEL_ON_SET	BIT(0)

/* Flag of the timer of an operation with a cell, private. */
#define TWHEEL_TIMER_CELL		BIT(3)

/**
 * struct twheel_wall_part - what a timer of TWHEEL_CLOCK_REALTIME needs beside the timer
 * @queued: in the tree of the shard while the timer is pending and not due
 * @changes: number of changes of the clock before the timer was armed
 * @past: its deadline had passed then
 * @cancelled: a change of the clock has cancelled it
 *
 * The members are private, and protected by the lock of the timer's shard.
 */
struct twheel_wall_part {
	struct rb_node		queued;
	u32			changes;
	bool			past;
	bool			cancelled;
};

/**
 * struct twheel_wall_timer - a timer of TWHEEL_CLOCK_REALTIME
 * @part: private
 * @timer: the timer, for all calls but twheel_wall_timer_init()
 */
struct twheel_wall_timer {
	struct twheel_wall_part	part;
	struct twheel_timer	timer;
};

/**
 * struct twheel_cell_part - what an operation with a cell needs beside the operation
 * @word: the cell; not used after the end
 * @last: the word at the end
 * @looked: the last look at the due timer has queued it for less than 16 ticks
 * @number: for the caller; immutable
 *
 * The lock of the timer's shard protects the others.
 */
struct twheel_cell_part {
	atomic64_t		*word;
	u64			last;
	bool			looked;
	u32			number;
};

/**
 * enum twheel_clock - clock of a wheel
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC, which stops during suspend
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME, which includes suspend
 * @TWHEEL_CLOCK_REALTIME: CLOCK_REALTIME, the wall clock. If it is set, pending
 *	deadlines follow it in both directions. Its timers are &struct twheel_wall_timer, and
 *	take O(log n).
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC	= 0,
	TWHEEL_CLOCK_BOOTTIME	= 1,
	TWHEEL_CLOCK_REALTIME	= 2,
};

/*
 * A mode for kernel users, in addition to enum twheel_rearm: the timer is not armed unless it is
 * pending. An operation is pending until it ends, so for an operation it means no condition.
 */
#define TWHEEL_REARM_IF_PENDING	((enum twheel_rearm)128)

/**
 * struct twheel_config - parameters of a wheel
 * @name: name of its reaper threads, up to 9 characters
 * @tick_ns: length of a tick, 1000 (1 us) to 10^10 (10 s); 0 for the default
 * @slots: slots of a level, 2 to 1024; 0 for the default. A power of two saves a division
 *	per move.
 * @shards: number of shards, up to 1024; 0 for one. Each has a reaper.
 * @clock: clock of the deadlines
 * @max_pending: limit on pending timers, of a wheel with one shard; 0 for none
 */
struct twheel_config {
	const char		*name;
	u64			tick_ns;
	unsigned int		slots;
	unsigned int		shards;
	enum twheel_clock	clock;
	u64			max_pending;
};

struct twheel *twheel_create(const struct twheel_config *config);
long twheel_stop(struct twheel *wheel,
		 void (*cancelled)(struct twheel_timer *timer, void *data), void *data);
void twheel_destroy(struct twheel *wheel);
int twheel_flush(struct twheel *wheel);
struct twheel *twheel_system_clock(enum twheel_clock clock);

/**
 * twheel_system - the shared wheel of CLOCK_MONOTONIC
 *
 * Context: process; may sleep.
 * Return: as twheel_system_clock().
 */
static inline struct twheel *twheel_system(void)
{
	return twheel_system_clock(TWHEEL_CLOCK_MONOTONIC);
}

u64 twheel_tick_ns(const struct twheel *wheel);
u64 twheel_now(const struct twheel *wheel);

#define TWHEEL_LATE_BUCKETS	26

/**
 * struct twheel_stats - counters of a wheel, summed over its shards
 * @pending: pending timers
 * @added: timers that became pending
 * @rearmed: pending timers that got another deadline
 * @cancelled: timers cancelled, or handed back by twheel_stop()
 * @fired: callbacks called
 * @cascaded: moves to another bucket, when a bucket expired before its timers
 * @looks: looks at cells
 * @wakeups: wake-ups of the reapers
 * @slow: callbacks that took at least as long as the module parameter slow_ns, with those before
 *	them in the same chunk, if the kernel's tick passed meanwhile
 * @rejected: adds rejected by the limit on pending timers
 * @latest_ticks: maximum number of ticks by which the reaper was late for a timer
 * @late_ns: sum of the lateness of the callbacks in @late in ns
 * @late: histogram of the lateness of callbacks, from the tick of the deadline to the tick of
 *	the call. Entry i counts those that were less than 2^(10+i) ns late and are in no
 *	earlier entry, the last one all others. Timers that were due when they were added, or
 *	were added before CLOCK_REALTIME was last set, are not counted.
 *
 * @added is the sum of @fired, @cancelled and @pending.
 */
struct twheel_stats {
	u64	pending;
	u64	added;
	u64	rearmed;
	u64	cancelled;
	u64	fired;
	u64	cascaded;
	u64	looks;
	u64	wakeups;
	u64	slow;
	u64	rejected;
	u64	latest_ticks;
	u64	late_ns;
	u64	late[TWHEEL_LATE_BUCKETS];
};

void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats);

/**
 * twheel_deadline_after - deadline after a delay
 * @now: time in ns
 * @delay_ns: delay from @now in ns
 *
 * Context: any.
 * Return: the deadline in ns; TWHEEL_NEVER if it exceeds 2^63 - 1.
 */
static inline u64 twheel_deadline_after(u64 now, u64 delay_ns)
{
	u64 deadline;

	if (check_add_overflow(now, delay_ns, &deadline) || deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	return deadline;
}

/**
 * twheel_deadline - deadline after a delay, by CLOCK_MONOTONIC
 * @delay_ns: delay from now in ns
 *
 * For wheels of CLOCK_MONOTONIC, such as twheel_system().
 *
 * Context: any except NMI.
 * Return: as twheel_deadline_after().
 */
static inline u64 twheel_deadline(u64 delay_ns)
{
	return twheel_deadline_after(ktime_get_ns(), delay_ns);
}

/**
 * twheel_deadline_on - deadline after a delay, by the clock of a wheel
 * @wheel: the wheel
 * @delay_ns: delay from now in ns
 *
 * On a wheel of CLOCK_REALTIME the deadline is a time of day, and setting the clock changes
 * the delay. Use a wheel of another clock for plain delays.
 *
 * Context: any except NMI.
 * Return: as twheel_deadline_after().
 */
static inline u64 twheel_deadline_on(const struct twheel *wheel, u64 delay_ns)
{
	return twheel_deadline_after(twheel_now(wheel), delay_ns);
}

void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
		       void (*fn)(struct twheel_timer *timer));
void twheel_wall_timer_init(struct twheel_wall_timer *timer, struct twheel *wheel,
			    void (*fn)(struct twheel_timer *timer), unsigned int flags);
int twheel_timer_add_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns);
int twheel_timer_rearm_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode);
int twheel_timer_cancel(struct twheel_timer *timer);
int twheel_timer_cancel_sync(struct twheel_timer *timer);
int twheel_timer_shutdown_sync(struct twheel_timer *timer);
u64 twheel_timer_remaining(struct twheel_timer *timer);
int twheel_timer_error(const struct twheel_timer *timer);

/**
 * twheel_timer_add - add a timer
 * @timer: the timer, initialised
 * @deadline: in ns by the clock of the wheel, see twheel_deadline()
 *
 * twheel_timer_add_slack() without slack.
 *
 * Context: as twheel_timer_add_slack().
 * Return: as twheel_timer_add_slack().
 */
static inline int twheel_timer_add(struct twheel_timer *timer, u64 deadline)
{
	return twheel_timer_add_slack(timer, deadline, 0);
}

/**
 * twheel_timer_rearm - change the deadline of a timer
 * @timer: the timer, initialised
 * @deadline: as for twheel_timer_add()
 * @mode: as for twheel_timer_rearm_slack()
 *
 * twheel_timer_rearm_slack() without slack.
 *
 * Context: as twheel_timer_add_slack().
 * Return: as twheel_timer_rearm_slack().
 */
static inline int twheel_timer_rearm(struct twheel_timer *timer, u64 deadline,
				     enum twheel_rearm mode)
{
	return twheel_timer_rearm_slack(timer, deadline, 0, mode);
}

#ifdef CONFIG_DEBUG_OBJECTS
void twheel_timer_init_onstack(struct twheel_timer *timer, struct twheel *wheel,
			       void (*fn)(struct twheel_timer *timer));
void twheel_timer_destroy_onstack(struct twheel_timer *timer);
#else
/**
 * twheel_timer_init_onstack - twheel_timer_init() for a timer on the stack
 * @timer: the timer
 * @wheel: its wheel
 * @fn: callback
 *
 * The caller must call twheel_timer_destroy_onstack() before it returns.
 *
 * Context: any.
 */
static inline void twheel_timer_init_onstack(struct twheel_timer *timer, struct twheel *wheel,
					     void (*fn)(struct twheel_timer *timer))
{
	twheel_timer_init(timer, wheel, fn);
}

/**
 * twheel_timer_destroy_onstack - end the use of a timer on the stack
 * @timer: the timer, neither pending nor running
 *
 * Context: any.
 */
static inline void twheel_timer_destroy_onstack(struct twheel_timer *timer)
{
}
#endif

/**
 * twheel_timer_pending - check whether a timer is pending
 * @timer: the timer
 *
 * Without a lock the result may be stale.
 *
 * Context: any.
 * Return: true from an add or re-arm until the timer is cancelled or its callback is about
 * to run. During a concurrent re-arm it may be either.
 */
static inline bool twheel_timer_pending(const struct twheel_timer *timer)
{
	return !hlist_unhashed_lockless(&timer->node.entry);
}

/**
 * twheel_forward - advance the deadline of a periodic timer
 * @deadline: the deadline, which is set to the first one after @now, a whole number of periods
 *	later; to TWHEEL_NEVER beyond the end of the clock
 * @now: the time by the clock of the wheel
 * @period_ns: the period
 *
 * For a callback that re-arms its own timer, as hrtimer_forward().
 *
 * Context: any.
 * Return: number of periods; 0 if the deadline has not passed. More than 1: deadlines were missed.
 */
static inline u64 twheel_forward(u64 *deadline, u64 now, u64 period_ns)
{
	u64 nr, ns;

	if (now < *deadline)
		return 0;
	nr = div64_u64(now - *deadline, period_ns) + 1;
	if (check_mul_overflow(nr, period_ns, &ns) || check_add_overflow(*deadline, ns, &ns) ||
	    ns > KTIME_MAX)
		ns = TWHEEL_NEVER;
	*deadline = ns;
	return nr;
}

/* Work on a workqueue at a deadline */

/**
 * struct twheel_work - work that is queued at a deadline
 * @part: private
 * @timer: timer of the deadline, by any clock
 * @work: the work; to_twheel_work() returns the structure that contains it
 * @wq: workqueue
 * @blocked: number of twheel_work_cancel_sync() calls under way, which block adds;
 *	protected by the lock of the timer's shard
 *
 * Embed it. The members are private.
 */
struct twheel_work {
	struct twheel_wall_part	part;
	struct twheel_timer	timer;
	struct work_struct	work;
	struct workqueue_struct	*wq;
	unsigned int		blocked;
};

/**
 * to_twheel_work - structure of a work item
 * @work: argument of the work function
 *
 * Return: the &struct twheel_work that contains @work.
 */
static inline struct twheel_work *to_twheel_work(struct work_struct *work)
{
	return container_of(work, struct twheel_work, work);
}

void __twheel_work_init(struct twheel_work *work, struct twheel *wheel,
			struct workqueue_struct *wq);

/**
 * twheel_work_init - initialise work
 * @_work: the &struct twheel_work, neither pending, queued nor running
 * @_wheel: its wheel
 * @_wq: its workqueue
 * @_fn: work function, a work_func_t
 *
 * A long work function delays no timer. Work that is still queued when its deadline passes
 * again is not queued twice.
 *
 * Context: any.
 */
#define twheel_work_init(_work, _wheel, _wq, _fn)		\
	do {							\
		struct twheel_work *__work = (_work);		\
								\
		INIT_WORK(&__work->work, _fn);			\
		__twheel_work_init(__work, _wheel, _wq);	\
	} while (0)

/**
 * twheel_work_add - twheel_timer_add() for work
 * @work: the work, initialised
 * @deadline: time at which to queue it
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_add().
 */
static inline int twheel_work_add(struct twheel_work *work, u64 deadline)
{
	return twheel_timer_add(&work->timer, deadline);
}

/**
 * twheel_work_rearm - twheel_timer_rearm() for work
 * @work: the work, initialised
 * @deadline: time at which to queue it
 * @mode: as for twheel_timer_rearm(). Queued or running work is not pending.
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_rearm().
 */
static inline int twheel_work_rearm(struct twheel_work *work, u64 deadline,
				    enum twheel_rearm mode)
{
	return twheel_timer_rearm(&work->timer, deadline, mode);
}

int twheel_work_cancel(struct twheel_work *work);
int twheel_work_cancel_sync(struct twheel_work *work);

/* Operations and purgatories */

struct twheel_op;

/*
 * A condition for kernel users, in addition to enum twheel_condition: the result of the
 * try_complete callback.
 */
#define TWHEEL_COND_PREDICATE	((enum twheel_condition)128)

/**
 * struct twheel_op_ops - callbacks of an operation
 * @try_complete: predicate of TWHEEL_COND_PREDICATE. It returns true if the operation is
 *	complete, and may set the value of the completion, which is 0 by default. A
 *	pending operation is checked by twheel_op_try_complete() and
 *	twheel_check_and_complete(). The predicate never runs concurrently with itself, nor
 *	during or after @ended. A call that finds it running does not wait: the running
 *	task repeats it once for all such calls. It must be short and must not cause
 *	another check of its own operation, for instance by signalling its keys.
 * @ended: called exactly once for an added operation, after it ended and was removed from
 *	its wheel and its keys; twheel_op_get_result() returns the result. The task that ended
 *	the operation runs it: the reaper, or a caller of twheel_signal(),
 *	twheel_op_complete(), twheel_op_cancel() and so on, before that call returns.
 *	There are two exceptions. If another task, or the same task further up the stack,
 *	is running @try_complete, it runs @ended next. If less than half of the stack is
 *	left, as when callbacks end further operations, a work item runs it.
 * @release: called for the last reference; frees the operation
 * @looked_up: threads without a reference may take one, by refcount_inc_not_zero() in memory that
 *	stays valid. If the memory can become another operation meanwhile, as with
 *	SLAB_TYPESAFE_BY_RCU, they need smp_rmb() after that, and then check whether it is the one
 *	that they want, by smp_load_acquire() of a name that the consumer clears, with smp_wmb()
 *	before twheel_op_init(), and sets by smp_store_release() after it.
 *	Without it, an operation must not be shared before its add by threads that
 *	have a single reference together.
 *
 * Callbacks must not sleep, since they run in the context of the caller. No lock of twheel is
 * held: they may add, complete, cancel and signal operations, including their own, and
 * drop references.
 */
struct twheel_op_ops {
	bool (*try_complete)(struct twheel_op *op, u64 *value);
	void (*ended)(struct twheel_op *op);
	void (*release)(struct twheel_op *op);
	bool looked_up;
};

/*
 * Part of the result of an operation, private. It is in memory that the pending operation used for
 * its first watch, or for the list of those without watches.
 */
struct twheel_outcome {
	u64			value;
	u64			time;
};

/**
 * struct twheel_watch - a watch of an operation
 * @key_next: next watch of the key, or the first one of another key in the same bucket; protected
 *	by the lock of the bucket, see twheel/op/key.c
 * @key_prev: previous watch of the key, or the last one for the first one; likewise. NULL if it
 *	is not linked
 * @outcome: in the first watch of an ended operation
 * @key: immutable while the watch is attached to @op
 * @op: likewise
 * @next: next watch of @op; protected by the lock of the shard of @op
 * @need: number of signals until the watch is satisfied; likewise
 * @bit: bit of the key in the result of @op; likewise
 * @hash: hash of the key, immutable as @key
 *
 * The caller provides the memory, usually in its own structure, until the operation is
 * released or twheel_op_unwatch() has returned the watch. The members are private.
 */
struct twheel_watch {
	union {
		struct {
			struct twheel_watch	*key_next;
			struct twheel_watch	*key_prev;
		};
		struct twheel_outcome		outcome;
	};
	struct twheel_key	key;
	struct twheel_op	*op;
	struct twheel_watch	*next;
	u32			need : 26;
	u32			bit : 6;
	u32			hash;
};

/**
 * struct twheel_op - a delayed operation
 *
 * Embed it. The members are private; twheel/op/op.c describes them.
 */
struct twheel_op {
	/* private: */
	union {
		struct twheel_timer	timer;		/* first, see struct twheel_wall_op */
		struct {
			struct hlist_node	unhashed;	/* of @timer */
			struct llist_node	deferred;	/* callback after the end */
		};
	};
	struct twheel_purgatory		*purgatory;
	const struct twheel_op_ops	*ops;
	refcount_t			ref;
	u8				state;
	u8				reason;
	u8				condition;
	u8				nr_watches;
	union {
		struct {
			struct twheel_watch	*watches;
			u64			missing;
		};
		struct hlist_node		listed;		/* pending, without watches */
		struct twheel_outcome		outcome;	/* ended, without watches */
	};
	u64				deadline;
	pid_t				owner;
	union {
		u16			pool;		/* while @listed */
		s16			error;		/* after the end */
	};
	bool				awaited;
};

/**
 * struct twheel_wall_op - an operation with a deadline by CLOCK_REALTIME
 * @part: private
 * @op: the operation, for all calls
 *
 * With TWHEEL_OP_WALL.
 */
struct twheel_wall_op {
	struct twheel_wall_part		part;
	struct twheel_op		op;
};

/**
 * struct twheel_cell_op - an operation with its deadline in a cell
 * @part: after the end, @part.last is the word that it had; the deadline of its result is that of
 *	the add
 * @op: the operation, for all calls but twheel_op_rearm_slack()
 *
 * With TWHEEL_OP_CELL.
 */
struct twheel_cell_op {
	struct twheel_cell_part		part;
	struct twheel_op		op;
};

/*
 * Flags of an operation.
 *
 * TWHEEL_OP_WALL: the operation is that of a struct twheel_wall_op, and its wheel is of
 * TWHEEL_CLOCK_REALTIME.
 *
 * TWHEEL_OP_CANCEL_ON_SET: with TWHEEL_OP_WALL. Each change of the clock cancels the pending
 * operation with the error -ECANCELED, also if it has no deadline. A resume from suspend counts as
 * a change, as with timerfd.
 *
 * TWHEEL_OP_MAY_SLEEP: the add may sleep. If the table of keys is too small and there is no free
 * memory for further buckets, it reclaims some.
 *
 * TWHEEL_OP_CELL: the operation is that of a struct twheel_cell_op, see twheel_op_init_cell(). Its
 * deadline is in a cell, which programs change, see Documentation/cells-protocol.rst.
 */
#define TWHEEL_OP_CANCEL_ON_SET	BIT(0)
#define TWHEEL_OP_MAY_SLEEP	BIT(1)
#define TWHEEL_OP_WALL		BIT(2)
#define TWHEEL_OP_CELL		TWHEEL_TIMER_CELL

/**
 * struct twheel_op_args - arguments of twheel_op_add()
 * @wheel: wheel of the deadline, without a limit on pending timers, valid until the operation is
 *	released, or twheel_op_cancel_sync() or a drain of the purgatory has returned; NULL for the
 *	wheel of the purgatory
 * @flags: TWHEEL_OP_WALL, TWHEEL_OP_CANCEL_ON_SET, TWHEEL_OP_MAY_SLEEP, TWHEEL_OP_CELL
 * @deadline: time of the expiry; TWHEEL_NEVER for none
 * @slack_ns: tolerance of the expiry, as for twheel_timer_add_slack()
 * @condition: condition on the keys
 * @quorum: number of keys for TWHEEL_COND_QUORUM, else 0
 * @threshold: sum of the amounts for TWHEEL_COND_SUM, else 0
 * @nr_keys: number of entries of @specs and @watches
 * @specs: keys; not used after the call
 * @watches: memory for the watches
 */
struct twheel_op_args {
	struct twheel			*wheel;
	unsigned int			flags;
	u64				deadline;
	u64				slack_ns;
	enum twheel_condition		condition;
	u32				quorum;
	u64				threshold;
	u32				nr_keys;
	const struct twheel_watch_spec	*specs;
	struct twheel_watch		*watches;
};

/**
 * struct twheel_op_result - result of an operation
 * @reason: completed, expired or cancelled
 * @error: error passed to twheel_op_complete_error(); -ECANCELED after a change of the clock
 *	of a TWHEEL_OP_CANCEL_ON_SET operation; else 0
 * @value: value of the signal or of the completion
 * @deadline: its deadline
 * @time: time of the end, by the clock of its wheel; operations that are due together may share it
 * @missing: number of keys that were yet to be satisfied, or for TWHEEL_COND_SUM the missing
 *	amount; 0 for other conditions
 * @satisfied: a bit for each satisfied key, see &struct twheel_watch_spec; 0 unless the
 *	condition counts signals
 */
struct twheel_op_result {
	enum twheel_reason	reason;
	int			error;
	u64			value;
	u64			deadline;
	u64			time;
	u64			missing;
	u64			satisfied;
};

/**
 * struct twheel_op_progress - progress of a pending operation
 * @deadline: its deadline, or TWHEEL_NEVER, also while it is idle
 * @remaining: time until the deadline in ns; 0 if it has passed
 * @condition: its condition
 * @missing: number of keys yet to be satisfied, or for TWHEEL_COND_SUM the missing amount;
 *	0 for other conditions
 * @nr_keys: number of keys; 0 while the add runs the predicate before it watches the keys
 * @idle: its cell is idle
 */
struct twheel_op_progress {
	u64			deadline;
	u64			remaining;
	enum twheel_condition	condition;
	u64			missing;
	u32			nr_keys;
	bool			idle;
};

/**
 * struct twheel_purgatory_config - parameters of a purgatory
 * @name: name in debugfs, up to 31 characters; NULL for none
 * @wheel: wheel of the deadlines of operations without a wheel, without a limit on pending
 *	timers, not of TWHEEL_CLOCK_REALTIME, valid until the purgatory is destroyed; NULL for
 *	twheel_system()
 * @max_pending: limit on pending operations, 1 to 2^30
 * @max_watches: limit on their watches; 0 for none
 * @account: charge the memory cgroup of the caller, for a purgatory of user space
 */
struct twheel_purgatory_config {
	const char	*name;
	struct twheel	*wheel;
	u32		max_pending;
	u32		max_watches;
	bool		account;
};

/**
 * struct twheel_purgatory_stats - counters of a purgatory
 * @pending: pending operations
 * @keys: watched keys
 * @watches: watches of all keys
 * @added: operations added
 * @ended: operations ended, by enum twheel_reason
 * @rejected: adds and further watches rejected by a limit
 *
 * Exact while no call is under way.
 */
struct twheel_purgatory_stats {
	u64	pending;
	u64	keys;
	u64	watches;
	u64	added;
	u64	ended[TWHEEL_REASON_CANCELLED + 1];
	u64	rejected;
};

/*
 * A position among the watches of a key, which lasts while their bucket is not locked, private: two
 * watches without an operation. See twheel/op/signal.c.
 */
struct twheel_marks {
	struct twheel_watch	cursor;		/* before the next watch to visit */
	struct twheel_watch	end;		/* behind the last one */
	bool			linked;
};

/**
 * struct twheel_op_iter - an iterator over the pending operations of a purgatory
 *
 * See twheel_op_iter_start(). The members are private.
 */
struct twheel_op_iter {
	/* private: */
	struct twheel_purgatory		*purgatory;
	struct twheel_op		*op;
	/* The lists of the pools: before the next operation to visit */
	struct twheel_op		cursor;
	unsigned int			pool;
	/* The table of keys */
	u64				hash;
	struct twheel_key		key;
	struct twheel_marks		marks;
	bool				has_key;
	bool				all;
	bool				may_sleep;
};

struct twheel_purgatory *
twheel_purgatory_create(const struct twheel_purgatory_config *config);
u32 twheel_purgatory_drain(struct twheel_purgatory *purgatory);
void twheel_purgatory_destroy(struct twheel_purgatory *purgatory);
void twheel_purgatory_get_stats(struct twheel_purgatory *purgatory,
				struct twheel_purgatory_stats *stats);

void twheel_op_init(struct twheel_op *op, const struct twheel_op_ops *ops);
void twheel_op_get(struct twheel_op *op);
void twheel_op_put(struct twheel_op *op);

int twheel_op_check(const struct twheel_op_args *args);
int twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args);
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys);
struct twheel_watch *twheel_op_unwatch(struct twheel_op *op, const struct twheel_key *key);
u64 twheel_op_init_cell(struct twheel_op *op, struct twheel *wheel, atomic64_t *word,
			u64 deadline);
int twheel_op_exchange_cell(struct twheel_op *op, u64 from, u64 to);
int twheel_op_rearm_slack(struct twheel_op *op, u64 deadline, u64 slack_ns,
			  enum twheel_rearm mode);

/**
 * twheel_op_rearm - change the deadline of a pending operation
 * @op: the operation; the caller has a reference
 * @deadline: as for twheel_op_rearm_slack()
 * @mode: likewise
 *
 * twheel_op_rearm_slack() without slack.
 *
 * Context: as twheel_op_rearm_slack().
 * Return: as twheel_op_rearm_slack().
 */
static inline int twheel_op_rearm(struct twheel_op *op, u64 deadline, enum twheel_rearm mode)
{
	return twheel_op_rearm_slack(op, deadline, 0, mode);
}

int twheel_op_try_complete(struct twheel_op *op);
int twheel_op_end(struct twheel_op *op, enum twheel_reason reason, int error, u64 value);

/**
 * twheel_op_complete - complete an operation regardless of its condition
 * @op: the operation; the caller has a reference
 * @value: value of the completion
 *
 * Context: as twheel_op_end().
 * Return: as twheel_op_end().
 */
static inline int twheel_op_complete(struct twheel_op *op, u64 value)
{
	return twheel_op_end(op, TWHEEL_REASON_COMPLETED, 0, value);
}

/**
 * twheel_op_complete_error - complete an operation with an error
 * @op: the operation; the caller has a reference
 * @error: a negative error number
 *
 * Context: as twheel_op_end().
 * Return: as twheel_op_end(); -EINVAL if @error is not negative.
 */
static inline int twheel_op_complete_error(struct twheel_op *op, int error)
{
	return error < 0 ? twheel_op_end(op, TWHEEL_REASON_COMPLETED, error, 0) : -EINVAL;
}

/**
 * twheel_op_expire - expire an operation regardless of the time
 * @op: the operation; the caller has a reference
 *
 * For consumers with further timers of their own.
 *
 * Context: as twheel_op_end().
 * Return: as twheel_op_end().
 */
static inline int twheel_op_expire(struct twheel_op *op)
{
	return twheel_op_end(op, TWHEEL_REASON_EXPIRED, 0, 0);
}

/**
 * twheel_op_cancel - cancel an operation
 * @op: the operation; the caller has a reference
 *
 * Context: as twheel_op_end().
 * Return: as twheel_op_end().
 */
static inline int twheel_op_cancel(struct twheel_op *op)
{
	return twheel_op_end(op, TWHEEL_REASON_CANCELLED, 0, 0);
}

int twheel_op_cancel_sync(struct twheel_op *op);
void twheel_op_get_result(const struct twheel_op *op, struct twheel_op_result *result);
int twheel_op_get_progress(struct twheel_op *op, struct twheel_op_progress *progress,
			   struct twheel_watch_spec *keys, u32 max_keys);

/*
 * Flags of calls that may end many operations.
 *
 * TWHEEL_MAY_SLEEP: the call reschedules after each chunk of operations.
 *
 * TWHEEL_KILLABLE: likewise, and a fatal signal ends the call early. It returns the number
 * of operations that it ended; fatal_signal_pending() is the reason if others are left.
 */
#define TWHEEL_MAY_SLEEP	BIT(0)
#define TWHEEL_KILLABLE		BIT(1)

u32 twheel_signal_some(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		       u64 amount, u64 value, u32 limit, unsigned int flags);

/**
 * twheel_signal - signal a key
 * @purgatory: the purgatory
 * @key: the key
 * @amount: amount for TWHEEL_COND_SUM; 0 means 1
 * @value: value for the operations that this call completes
 *
 * twheel_signal_some() without a limit and without sleeping.
 *
 * Context: as twheel_signal_some() without flags.
 * Return: number of operations that this call completed.
 */
static inline u32 twheel_signal(struct twheel_purgatory *purgatory, const struct twheel_key *key,
				u64 amount, u64 value)
{
	return twheel_signal_some(purgatory, key, amount, value, 0, 0);
}

u32 twheel_check_and_complete(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			      u32 limit, unsigned int flags);
u32 twheel_cancel_for_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			  void (*fn)(struct twheel_op *op, void *data), void *data,
			  unsigned int flags);
u32 twheel_complete_all(struct twheel_purgatory *purgatory, int error, u64 value,
			unsigned int flags);

void twheel_op_iter_start(struct twheel_op_iter *iter, struct twheel_purgatory *purgatory);
struct twheel_op *twheel_op_iter_next(struct twheel_op_iter *iter);
void twheel_op_iter_end(struct twheel_op_iter *iter);

#endif /* _LINUX_TWHEEL_H */
