/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel interface of twheel: timers on a hierarchical timing wheel, and
 * purgatories of delayed operations above them.
 *
 * For other kernel modules.  The kernel-doc of each function stands at its
 * definition; Documentation/kernel-api.rst puts them together with examples.
 * Times are nanoseconds by the clock of a wheel, which is CLOCK_MONOTONIC unless
 * it was made with another.
 */
#ifndef _LINUX_TWHEEL_H
#define _LINUX_TWHEEL_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <uapi/linux/twheel.h>

struct twheel;
struct twheel_shard;
struct twheel_purgatory;

/* Timers */

/**
 * struct twheel_node - what a bucket holds; the part of a timer that moves
 * @entry: in the list of a bucket, empty while the timer is not pending
 * @expires: the tick at which it is due
 *
 * Both are protected by the lock of the timer's shard.
 */
struct twheel_node {
	struct list_head	entry;
	u64			expires;
};

/**
 * struct twheel_timer - calls a function once, at or just after its deadline
 * @node: its place in the wheel
 * @fn: called when the deadline has come, with no lock held; NULL once the
 *	timer has been shut down. Protected by the lock of its shard
 * @shard_flags: the shard it is on, and its flags in the low bits. Changes with the
 *	locks of both shards held, the old and the new
 *
 * Embed it, and treat the members as private.
 */
struct twheel_timer {
	struct twheel_node	node;
	void			(*fn)(struct twheel_timer *timer);
	unsigned long		shard_flags;
};

/*
 * Flags of a timer.
 *
 * TWHEEL_TIMER_INLINE: its function is so short that no thread needs to be
 * woken for it. The hard interrupt of the deadline calls it, also if other timers are
 * due before it or the reaper waits for a CPU. It must neither sleep nor take a lock
 * that is ever held with interrupts on. It suits a wake-up or a queue_work().
 * On PREEMPT_RT the reaper calls it.
 *
 * TWHEEL_TIMER_CANCEL_ON_SET: on a wheel that goes by TWHEEL_CLOCK_REALTIME, each change
 * of that clock cancels the timer if it is pending and not due, also a change that is
 * undone at once: its function is called, and twheel_timer_error() returns -ECANCELED.
 * Timers that are due fire first. A timer that is added after the change is not
 * cancelled by it. As with timerfd, it counts as a change when the system resumes from
 * suspend, too.
 */
#define TWHEEL_TIMER_INLINE		BIT(0)
#define TWHEEL_TIMER_CANCEL_ON_SET	BIT(1)

/**
 * struct twheel_config - what a wheel of one's own looks like
 * @name: of its reaper threads, up to 9 characters
 * @tick_ns: length of a tick, 1000 (1 us) to 10^10 (10 s); 0 for the default
 * @slots: slots in each level, 2 to 1024; 0 for the default. A power of two
 *	saves a division at each move.
 * @shards: how many reapers share the work, up to 1024; 0 for one
 * @clock: what it goes by
 * @max_pending: how many timers may be pending at a time; 0 for any number. It
 *	costs an atomic counter that all shards share.
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
struct twheel *twheel_system(void);
struct twheel *twheel_system_clock(enum twheel_clock clock);
u64 twheel_tick_ns(const struct twheel *wheel);
u64 twheel_now(const struct twheel *wheel);
u64 twheel_next(struct twheel *wheel);

/**
 * struct twheel_stats - counts of a wheel, summed over its shards
 * @pending: timers that wait
 * @added: times that one began to wait
 * @rearmed: times that one that waited was given another deadline
 * @cancelled: times that one was cancelled, or handed back by twheel_stop()
 * @fired: times that one's function was called
 * @cascaded: moves down a level
 * @wakeups: of the reapers
 * @slow: callbacks that took at least as long as the module parameter slow_ns, if the
 *	kernel's tick passed meanwhile
 * @rejected: adds that the limit on what is pending refused
 * @latest_ticks: the most ticks by which a timer was late when the reaper
 *	came to it, since something had held up the shard
 * @irqs_off_ns: the longest stretch for which interrupts were off, 0 unless
 *	the module's parameter measure is set
 *
 * What was added has fired, was cancelled, or is pending.
 */
struct twheel_stats {
	u64	pending;
	u64	added;
	u64	rearmed;
	u64	cancelled;
	u64	fired;
	u64	cascaded;
	u64	wakeups;
	u64	slow;
	u64	rejected;
	u64	latest_ticks;
	u64	irqs_off_ns;
};

void twheel_stats(struct twheel *wheel, struct twheel_stats *stats);

u64 twheel_deadline(u64 delay_ns);
u64 twheel_deadline_on(const struct twheel *wheel, u64 delay_ns);
void twheel_timer_init_flags(struct twheel_timer *timer, struct twheel *wheel,
			     void (*fn)(struct twheel_timer *timer), unsigned int flags);
int twheel_timer_add(struct twheel_timer *timer, u64 deadline);
int twheel_timer_add_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns);
int twheel_timer_rearm(struct twheel_timer *timer, u64 deadline, enum twheel_rearm mode);
int twheel_timer_rearm_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode);
int twheel_timer_cancel(struct twheel_timer *timer);
int twheel_timer_cancel_sync(struct twheel_timer *timer);
int twheel_timer_shutdown_sync(struct twheel_timer *timer);
u64 twheel_timer_remaining(struct twheel_timer *timer);
int twheel_timer_error(const struct twheel_timer *timer);

#ifdef CONFIG_DEBUG_OBJECTS
void twheel_timer_init_onstack(struct twheel_timer *timer, struct twheel *wheel,
			       void (*fn)(struct twheel_timer *timer), unsigned int flags);
void twheel_timer_destroy_onstack(struct twheel_timer *timer);
#else
/**
 * twheel_timer_init_onstack - twheel_timer_init_flags() for a timer on the stack
 * @timer: the timer
 * @wheel: where it will wait
 * @fn: its function
 * @flags: its flags
 *
 * Whoever calls this calls twheel_timer_destroy_onstack() before returning.
 */
static inline void twheel_timer_init_onstack(struct twheel_timer *timer, struct twheel *wheel,
					     void (*fn)(struct twheel_timer *timer),
					     unsigned int flags)
{
	twheel_timer_init_flags(timer, wheel, fn, flags);
}

/**
 * twheel_timer_destroy_onstack - the end of a timer on the stack
 * @timer: the timer, neither pending nor running
 */
static inline void twheel_timer_destroy_onstack(struct twheel_timer *timer)
{
}
#endif

/**
 * twheel_timer_init - make a timer ready for use
 * @timer: the timer, neither pending nor running
 * @wheel: where it will wait; twheel_system() if no other
 * @fn: called once for each time the timer reaches its deadline; see
 *	twheel_timer_init_flags()
 *
 * Context: any.
 */
static inline void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
				     void (*fn)(struct twheel_timer *timer))
{
	twheel_timer_init_flags(timer, wheel, fn, 0);
}

/**
 * twheel_timer_pending - whether a timer waits for its deadline
 * @timer: the timer
 *
 * Context: any. Without a lock the answer may be old when it arrives, and while
 * others re-arm the timer it may be either.
 * Return: true from add or re-arm until it is cancelled or its function is
 * about to run.
 */
static inline bool twheel_timer_pending(const struct twheel_timer *timer)
{
	/* A list operation may run meanwhile: only a deletion makes the node look empty. */
	return !data_race(list_empty(&timer->node.entry));
}

/* Timers that repeat */

/**
 * enum twheel_repeat - from when a period counts
 * @TWHEEL_FIXED_RATE: from the deadline before: runs lie on a grid. Deadlines
 *	that had passed by when a run begins are counted, and not made up for.
 * @TWHEEL_FIXED_DELAY: from when the function has returned
 */
enum twheel_repeat {
	TWHEEL_FIXED_RATE,
	TWHEEL_FIXED_DELAY,
};

/**
 * struct twheel_periodic - a timer that calls its function again and again
 * @timer: waits for the next run
 * @fn: called at each run; see twheel_periodic_init()
 * @deadline: of the run that is waited for or going on
 * @period: in ns
 * @left: how many runs are left, that one included; U64_MAX for any number
 * @overrun: deadlines that passed unserved between the last run and this one
 * @generation: how often the wall clock had been set at the start
 * @repeat: from when a period counts
 *
 * Embed it, and treat the members as private.
 */
struct twheel_periodic {
	struct twheel_timer	timer;
	void			(*fn)(struct twheel_periodic *periodic);
	u64			deadline;
	u64			period;
	u64			left;
	u64			overrun;
	u32			generation;
	enum twheel_repeat	repeat;
};

void twheel_periodic_init(struct twheel_periodic *periodic, struct twheel *wheel,
			  void (*fn)(struct twheel_periodic *periodic), unsigned int flags);
int twheel_periodic_start(struct twheel_periodic *periodic, u64 deadline, u64 period_ns,
			  u64 runs, enum twheel_repeat repeat);
u64 twheel_periodic_overrun(const struct twheel_periodic *periodic);

/**
 * twheel_periodic_cancel - twheel_timer_cancel() for a timer that repeats
 * @periodic: the timer
 *
 * Of a function that is running, this is the last run.
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_cancel().
 */
static inline int twheel_periodic_cancel(struct twheel_periodic *periodic)
{
	return twheel_timer_cancel(&periodic->timer);
}

/**
 * twheel_periodic_cancel_sync - twheel_timer_cancel_sync() for a timer that repeats
 * @periodic: the timer
 *
 * Context: process; may sleep.
 * Return: as twheel_timer_cancel_sync().
 */
static inline int twheel_periodic_cancel_sync(struct twheel_periodic *periodic)
{
	return twheel_timer_cancel_sync(&periodic->timer);
}

/**
 * twheel_periodic_shutdown_sync - twheel_timer_shutdown_sync() for a timer that repeats
 * @periodic: the timer
 *
 * Context: process; may sleep.
 * Return: as twheel_timer_shutdown_sync().
 */
static inline int twheel_periodic_shutdown_sync(struct twheel_periodic *periodic)
{
	return twheel_timer_shutdown_sync(&periodic->timer);
}

/* Timers whose functions run on a workqueue */

/**
 * struct twheel_work - work that is queued when a deadline has come
 * @timer: waits for the deadline
 * @work: the work; its function gets it, and to_twheel_work() what it is part of
 * @wq: where it is queued
 * @blocked: how many wait for it to be cancelled, and keep it from being added;
 *	protected by the lock of the timer's shard
 *
 * Embed it, and treat the members as private.
 */
struct twheel_work {
	struct twheel_timer	timer;
	struct work_struct	work;
	struct workqueue_struct	*wq;
	unsigned int		blocked;
};

/**
 * to_twheel_work - what the function of a struct twheel_work was called for
 * @work: what it was given
 *
 * Return: the &struct twheel_work of which that is a part.
 */
static inline struct twheel_work *to_twheel_work(struct work_struct *work)
{
	return container_of(work, struct twheel_work, work);
}

void __twheel_work_init(struct twheel_work *work, struct twheel *wheel,
			struct workqueue_struct *wq);

/**
 * twheel_work_init - make work ready that a wheel will queue
 * @_work: the &struct twheel_work, neither pending, nor queued, nor running
 * @_wheel: where it will wait
 * @_wq: where it will be queued
 * @_fn: its function, a work_func_t
 *
 * However long the function runs, no timer waits for it. Work that is still
 * queued when its deadline comes once more is not queued twice.
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
 * @deadline: when to queue it
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
 * @deadline: when to queue it
 * @mode: which work is moved. To be queued or running is not to be pending.
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
 * A condition of the kernel's own, beside those of enum twheel_condition: that
 * which its consumer's try_complete says.
 */
#define TWHEEL_COND_PREDICATE	((enum twheel_condition)128)

/**
 * struct twheel_op_ops - what a consumer does about its operations
 * @try_complete: whether the operation is complete, for TWHEEL_COND_PREDICATE; it
 *	may set the value that its completion carries, which is 0 until then.
 *	Called whenever somebody asks, by whoever that is, while the
 *	operation waits. Whoever asks while it runs does not wait: it is called
 *	once more, for all of these, when it has returned. It never runs beside
 *	itself, nor beside or after @ended of the same operation. Who runs it goes on
 *	for as long as somebody asks while it runs: so it has to be short, and must
 *	not ask for itself, as by a signal to its own keys.
 * @ended: called exactly once for an operation that was added, when it has
 *	ended; twheel_op_result() tells how. It has left the wheel and every
 *	key by then. It runs on whoever ended the operation - the reaper, or the
 *	caller of twheel_signal(), twheel_op_complete(), twheel_op_cancel() and so on -
 *	and has returned before that call does, but for two cases. If
 *	@try_complete is being run by another, or further up on the same stack, that one
 *	runs @ended as soon as it has returned. And where less than half of the
 *	stack is left, as when operations end each other in their callbacks, the
 *	reaper runs it.
 * @release: the last reference is gone; frees the operation.
 *
 * None of them may sleep, since they run in the context of whoever calls us.
 * No lock of ours is held: they may add, complete, cancel and signal operations,
 * this one included, and may give back references.
 */
struct twheel_op_ops {
	bool (*try_complete)(struct twheel_op *op, u64 *value);
	void (*ended)(struct twheel_op *op);
	void (*release)(struct twheel_op *op);
};

/**
 * struct twheel_watch - room for one watch of an operation
 * @entry: in the ring of all who watch the key; protected by the lock of its stripe,
 *	see twheel/op/key.c
 * @chain: of the first of that ring, if its bucket was full: the first watch of the next
 *	such key; likewise
 * @key: what is watched; immutable while the watch is on @op
 * @op: who watches; likewise
 * @next: further watches of @op; protected by @op's lock
 * @need: how many more signals satisfy it; protected by @op's lock
 * @mark: the hash of the key, immutable as that; and in the low bits whether it is in
 *	the ring, and the first of it, protected by the lock of the stripe
 *
 * The consumer provides the memory, usually within its own structure, and
 * keeps it until the operation is released, or twheel_op_unwatch() has handed
 * it back. The members are private.
 */
struct twheel_watch {
	struct list_head	entry;
	struct twheel_watch	*chain;
	struct twheel_key	key;
	struct twheel_op	*op;
	struct twheel_watch	*next;
	u32			need;
	u32			mark;
};

/**
 * struct twheel_op - a delayed operation
 *
 * Embed it in what is to be completed. The members are private;
 * twheel/op/op.c tells their life and what protects them.
 */
struct twheel_op {
	/* private: */
	struct twheel_timer		timer;
	union {
		struct list_head	parked;	/* while it waits */
		struct {			/* from its end on */
			u64		value;
			u64		time;
		};
	};
	struct twheel_purgatory		*purgatory;
	const struct twheel_op_ops	*ops;
	struct twheel_watch		*watches;
	u64				deadline;
	u64				missing;
	u32				generation;
	struct kref			ref;
	refcount_t			holds;
	spinlock_t			lock;	/* see op.c */
	pid_t				owner;
	u16				state;
	s16				error;
	u8				list;
	u8				nr_watches;
	u8				condition;
	u8				reason;
};

/*
 * Flags of an operation.
 *
 * TWHEEL_OP_CANCEL_ON_SET: on a wheel that goes by TWHEEL_CLOCK_REALTIME, the
 * operation is cancelled with the error -ECANCELED as soon as that clock is set
 * while it waits, whether it has a deadline or not. As with timerfd, it counts as
 * set when the system resumes from suspend, too.
 */
#define TWHEEL_OP_CANCEL_ON_SET	BIT(0)

/**
 * struct twheel_op_args - how an operation waits
 * @wheel: for its deadline, to outlive it, and without a limit of its own on what
 *	is pending; NULL for that of the purgatory
 * @flags: TWHEEL_OP_CANCEL_ON_SET
 * @deadline: when it expires, by the clock of its wheel; TWHEEL_NEVER for never
 * @slack_ns: by how much it may expire later, as in twheel_timer_add_slack(); 0
 *	for none, TWHEEL_SLACK_COARSE for an eighth of the time that is left
 * @condition: when it completes by its keys
 * @quorum: how many keys for TWHEEL_COND_QUORUM, else 0
 * @threshold: what the amounts have to add up to for TWHEEL_COND_SUM, else 0
 * @nr_keys: how many entries @specs and @watches have
 * @specs: the keys; not used any more once the call has returned
 * @watches: room for as many watches
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
 * struct twheel_op_result - how an operation ended
 * @reason: completed, expired or cancelled
 * @error: what it was completed with by who could not do better; -ECANCELED if it
 *	was cancelled since its clock was set; else 0
 * @value: what the signal or the completion carried
 * @deadline: when it was to expire
 * @time: when it ended, by the clock of its wheel as the deadline
 */
struct twheel_op_result {
	enum twheel_reason	reason;
	int			error;
	u64			value;
	u64			deadline;
	u64			time;
};

/**
 * struct twheel_op_progress - how far an operation that waits has come
 * @deadline: when it expires, by the clock of its wheel; TWHEEL_NEVER for never
 * @remaining: until then, in ns; 0 if it has passed
 * @condition: when it completes by its keys
 * @missing: how many keys are still to be satisfied, or for TWHEEL_COND_SUM what
 *	amount is missing; 0 if nothing of that can complete it
 * @nr_keys: how many keys it watches
 */
struct twheel_op_progress {
	u64			deadline;
	u64			remaining;
	enum twheel_condition	condition;
	u64			missing;
	u32			nr_keys;
};

/**
 * struct twheel_purgatory_config - how to make a purgatory
 * @name: for who looks at it from outside, up to 31 characters; NULL for none
 * @wheel: for the deadlines of operations that bring no wheel, to outlive it, and
 *	without a limit of its own on what is pending; NULL for the system's
 * @max_pending: how many operations may be pending at a time, at least one, at most
 *	2^30
 * @max_watches: how many watches these may have in all; 0 for any number
 * @account: charge the caller's memory cgroup for what it takes: for one that was made
 *	for user space
 */
struct twheel_purgatory_config {
	const char	*name;
	struct twheel	*wheel;
	u32		max_pending;
	u32		max_watches;
	bool		account;
};

/**
 * struct twheel_purgatory_stats - counts of a purgatory
 * @pending: operations that have not ended
 * @keys: keys that something watches
 * @watches: watches, summed over all keys
 * @added: operations added so far
 * @ended: operations ended so far, by enum twheel_reason
 * @rejected: adds, and further watches, refused by a limit so far
 *
 * Exact when nothing is under way, and each never off by more than what is.
 */
struct twheel_purgatory_stats {
	u64	pending;
	u64	keys;
	u64	watches;
	u64	added;
	u64	ended[TWHEEL_CANCELLED + 1];
	u64	rejected;
};

/**
 * struct twheel_op_iter - a walk over the operations that wait in a purgatory
 *
 * See twheel_op_iter_start(). The members are private.
 */
struct twheel_op_iter {
	/* private: */
	struct list_head		entry;
	struct twheel_purgatory		*purgatory;
	struct twheel_op		*op;
	struct twheel_op		*next;
	struct twheel_op		*last;
	unsigned int			list;
};

struct twheel_purgatory *
twheel_purgatory_create(const struct twheel_purgatory_config *config);
u32 twheel_purgatory_drain(struct twheel_purgatory *purgatory);
void twheel_purgatory_destroy(struct twheel_purgatory *purgatory);
void twheel_purgatory_stats(struct twheel_purgatory *purgatory,
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
int twheel_op_rearm(struct twheel_op *op, u64 deadline, enum twheel_rearm mode);
int twheel_op_rearm_slack(struct twheel_op *op, u64 deadline, u64 slack_ns,
			  enum twheel_rearm mode);

int twheel_op_try_complete(struct twheel_op *op);
int twheel_op_end(struct twheel_op *op, enum twheel_reason reason, int error, u64 value);

/**
 * twheel_op_complete - complete an operation regardless of its condition
 * @op: the operation; the caller has a reference
 * @value: value of the completion
 *
 * Kafka's forceComplete.
 *
 * Context: as twheel_op_end().
 * Return: as twheel_op_end().
 */
static inline int twheel_op_complete(struct twheel_op *op, u64 value)
{
	return twheel_op_end(op, TWHEEL_COMPLETED, 0, value);
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
	return error < 0 ? twheel_op_end(op, TWHEEL_COMPLETED, error, 0) : -EINVAL;
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
	return twheel_op_end(op, TWHEEL_EXPIRED, 0, 0);
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
	return twheel_op_end(op, TWHEEL_CANCELLED, 0, 0);
}

int twheel_op_cancel_sync(struct twheel_op *op);
void twheel_op_result(const struct twheel_op *op, struct twheel_op_result *result);
int twheel_op_progress(struct twheel_op *op, struct twheel_op_progress *progress,
		       struct twheel_watch_spec *keys, u32 max_keys);

/*
 * Flags of calls that may end many operations.
 *
 * TWHEEL_MAY_SLEEP: the call reschedules after each chunk of operations.
 *
 * TWHEEL_KILLABLE: likewise, and a fatal signal ends the call early.  It returns the number
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
