/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the torture module share; torture.c tells what it is all
 * about.
 */
#ifndef _TWHEEL_TORTURE_H
#define _TWHEEL_TORTURE_H

#include <linux/atomic.h>
#include <linux/prandom.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/time64.h>
#include <linux/twheel.h>

/* Few enough for the threads to meet on one. */
#define TORTURE_TIMERS	48

/* What is this late was forgotten, even on a machine that is emulated and busy. */
#define TORTURE_LOST_NS	(10 * NSEC_PER_SEC)

/* A thread that does nothing for this long hangs. */
#define TORTURE_STALL_S	30

/* What can be wrong. */
enum torture_wrong {
	WRONG_TWICE,		/* more fates than armings, or ends than adds */
	WRONG_EARLY,
	WRONG_LOST,		/* an arming without a fate, an add without an end */
	WRONG_AFTER,		/* ran, or was touched, after it was promised not to */
	WRONG_OVERLAP,		/* ran while it was running */
	WRONG_ANSWER,		/* a call returned what it can't have */
	WRONG_COUNTS,		/* of twheel_stats(), twheel_purgatory_stats() */
	WRONG_STALL,
	WRONG_KINDS,
};

/* What is counted, by wheel. */
enum torture_count {
	COUNT_ARMED,
	COUNT_MOVED,		/* re-armed while pending */
	COUNT_FIRED,
	COUNT_CANCELLED,
	COUNT_WORK_CANCELLED,	/* while it was pending, or queued after it had fired */
	COUNT_HANDED_BACK,
	COUNT_REFUSED,		/* -ESHUTDOWN */
	COUNT_REJECTED,		/* -ENOSPC */
	COUNT_ROUNDS,
	COUNT_KINDS,
};

/* What a timer is: they are armed and cancelled by different calls. */
enum torture_kind {
	KIND_TIMER,
	KIND_ORPHAN,		/* one that frees itself */
	KIND_PERIODIC,
	KIND_WORK,
};

struct torture_timer;
struct torture_purgatory;

/**
 * struct torture_wheel - a place for wheels, one after the other
 * @gate: read by who uses what is there, written by who makes and ends it
 * @wheel: what is there now, NULL if nothing. Protected by @gate, like all of
 *	the round that is no flag or count
 * @number: which place this is; the system's wheels are at place 0
 * @clock: what it goes by
 * @max_pending: how many timers may be pending, 0 for any number
 * @stopping: twheel_stop() has been called, or is about to be
 * @stopped: twheel_stop() has returned
 * @closing: its timers' functions arm no other timers any more
 * @draining: nor their own
 * @inside: functions of orphans under way
 * @orphans: how many are not freed
 * @count: by enum torture_count, over all rounds
 * @before: @count when the round began
 * @stats: counts of the wheel when the round began
 * @timer: the others; TORTURE_TIMERS of them
 *
 * The flags change only one way in a round.
 */
struct torture_wheel {
	struct rw_semaphore	gate;
	struct twheel		*wheel;
	unsigned int		number;
	enum twheel_clock	clock;
	unsigned int		max_pending;
	bool			stopping;
	bool			stopped;
	bool			closing;
	bool			draining;
	atomic_t		inside;
	atomic_t		orphans;
	atomic64_t		count[COUNT_KINDS];
	s64			before[COUNT_KINDS];
	struct twheel_stats	stats;
	struct torture_timer	*timer;
};

/**
 * struct torture_timer - a timer, and what became of its armings
 * @timer: the timer
 * @work: the same
 * @periodic: the same
 * @wheel: where it is
 * @kind: which of these it is; changes only between rounds
 * @flags: of the timer
 * @users: how many work on it; -1 for one who wants to be alone
 * @begun: armings, and calls that may yet become one
 * @ended: fates
 * @syncs: calls that may have ended more than the one that they tell of
 * @running: calls of its function under way
 * @earliest: no deadline that may hold now is before this, by the wheel's clock
 * @latest: nor after this, nor after the time when it was armed
 * @quiet: it must not run, for it is neither pending nor running
 * @shutting: twheel_timer_shutdown_sync() has been called, or is about to be
 * @shut: twheel_timer_shutdown_sync() has returned
 * @blocked: calls of twheel_work_cancel_sync() under way
 * @period: of a periodic timer
 * @repeat: likewise
 * @runs: since it was started; written by its function
 * @limit: how many there will be
 * @cut: how many more runs there may be is 2 - @cut; 0 for all
 * @sets: how often the clock had been set when it was armed
 * @next_sets: likewise, when its function knew from when the next run may come
 * @refs: of an orphan: its creator, and its arming
 * @rng: what its function does next
 */
struct torture_timer {
	union {
		struct twheel_timer	timer;
		struct twheel_work	work;
		struct twheel_periodic	periodic;
	};
	struct torture_wheel	*wheel;
	enum torture_kind	kind;
	unsigned int		flags;
	atomic_t		users;
	atomic_t		begun;
	atomic_t		ended;
	atomic_t		syncs;
	atomic_t		running;
	atomic64_t		earliest;
	atomic64_t		latest;
	bool			quiet;
	bool			shutting;
	bool			shut;
	atomic_t		blocked;
	u64			period;
	enum twheel_repeat	repeat;
	u32			runs;
	u32			limit;
	unsigned int		cut;
	int			sets;
	int			next_sets;
	refcount_t		refs;
	struct rnd_state	rng;
};

/* So that what is pending can be known by its timer. */
static_assert(!offsetof(struct twheel_work, timer) && !offsetof(struct twheel_periodic, timer));

/**
 * struct torture_thread - one of ours
 * @task: the thread
 * @fn: what it does until torture_over()
 * @done: @fn has returned
 * @rng: what it does next
 * @wheel: of a keeper, what it keeps
 * @purgatory: likewise
 * @doing: what it does, for the report of a stall
 * @steps: goes up as long as it gets on
 * @seen: @steps when last looked at
 * @seen_at: when @steps had last changed
 */
struct torture_thread {
	struct task_struct	*task;
	void			(*fn)(struct torture_thread *thread);
	bool			done;
	struct rnd_state	rng;
	struct torture_wheel	*wheel;
	struct torture_purgatory *purgatory;
	const char		*doing;
	unsigned long		steps;
	unsigned long		seen;
	unsigned long		seen_at;
};

static inline void torture_step(struct torture_thread *thread, const char *doing)
{
	WRITE_ONCE(thread->doing, doing);
	WRITE_ONCE(thread->steps, thread->steps + 1);
}

/* torture.c */
extern struct torture_wheel *torture_wheels;
extern unsigned int torture_nr_wheels;
extern unsigned int torture_onoff_ms;
extern unsigned int torture_clock_ms;
extern bool torture_verbose;
bool torture_idles(struct rnd_state *rng);
u32 torture_below(struct rnd_state *rng, u32 below);
void torture_seed(struct rnd_state *rng, u32 number);

/* threads.c */
int torture_start(unsigned int workers);
bool torture_stop(void);
bool torture_stalled(void);
bool torture_over(void);
void torture_nap(unsigned int ms);
void torture_rest(struct torture_thread *thread, bool closed);

/* wheels.c */
void torture_keeper(struct torture_thread *thread);
void torture_audit(void);

/* load.c */
void torture_worker(struct torture_thread *thread);
void torture_timer_init(struct torture_timer *t, struct torture_wheel *w, enum torture_kind kind);
enum torture_kind torture_any_kind(struct rnd_state *rng, unsigned int number, bool works);
void torture_run(struct torture_timer *t);
void torture_handed_back(struct twheel_timer *timer, void *data);

/* kinds.c */
int kinds_set_up(void);
void kinds_tear_down(void);
void kinds_flush(void);
void kind_init(struct torture_timer *t);
int kind_add(struct torture_timer *t, u64 deadline, u64 slack);
int kind_rearm(struct torture_timer *t, u64 deadline, u64 slack, enum twheel_rearm mode);
int kind_cancel(struct torture_timer *t);
int kind_cancel_sync(struct torture_timer *t);

/* report.c */
extern atomic64_t torture_late_ns;
void torture_count(struct torture_wheel *w, enum torture_count what, s64 more);
bool torture_tell(enum torture_wrong what, const char *detail);
void torture_wrong(enum torture_wrong what, const struct torture_timer *t, const char *detail);
bool torture_failed(void);
void torture_progress(unsigned long s);
void torture_expect_sums(void);
void torture_verdict(void);

/* outcome.c */
bool outcome_share(struct torture_timer *t);
void outcome_unshare(struct torture_timer *t);
bool outcome_alone(struct torture_timer *t);
void outcome_release(struct torture_timer *t);

int outcome_add(struct torture_timer *t, u64 deadline, u64 slack);
int outcome_rearm(struct torture_timer *t, u64 deadline, u64 slack, enum twheel_rearm mode);
int outcome_cancel(struct torture_timer *t);
int outcome_cancel_sync(struct torture_timer *t);
void outcome_shutdown_sync(struct torture_timer *t);
int outcome_settle(struct torture_timer *t);
void outcome_settled(struct torture_timer *t);
void outcome_arm_exactly(struct torture_timer *t, u64 deadline, u64 other, enum twheel_rearm mode);
void outcome_handed_back(struct torture_timer *t);
void outcome_raise(atomic64_t *bound, u64 to);
void outcome_end(struct torture_timer *t, enum torture_count how);
void outcome_repeated(struct torture_timer *t);
int outcome_nr_open(const struct torture_timer *t);
bool outcome_repeats(const struct torture_timer *t);

/* running.c */
void outcome_enter(struct torture_timer *t);
void outcome_leave(struct torture_timer *t);
bool outcome_open(const struct torture_timer *t);
u64 outcome_latest(const struct torture_timer *t);
void outcome_audit(const struct torture_timer *t);

/* disturb.c */
extern atomic_t torture_offlined, torture_clock_steps;
bool torture_can_unplug(void);
void torture_unplugger(struct torture_thread *thread);
bool torture_set_clock(struct rnd_state *rng);
void torture_reset_clock(void);
bool torture_clock_reached(int sets, u64 time);
int torture_clock_seq(void);
void torture_clock_setter(struct torture_thread *thread);

#endif /* _TWHEEL_TORTURE_H */
