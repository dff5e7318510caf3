/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the parts of the torture module; torture.c has an overview.
 */
#ifndef _TWHEEL_TORTURE_H
#define _TWHEEL_TORTURE_H

#include <linux/atomic.h>
#include <linux/prandom.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/time64.h>
#include <linux/twheel.h>

/* Few timers, so that threads often race on the same one. */
#define TORTURE_TIMERS	48

/* A timer this late counts as lost, even on a busy emulated machine. */
#define TORTURE_LOST_NS	(10 * NSEC_PER_SEC)

/* A thread without progress for this long counts as stalled. Debug kernels are slow. */
#define TORTURE_STALL_S	(IS_ENABLED(CONFIG_PROVE_LOCKING) ? 120 : 30)

enum torture_failure {
	FAIL_TWICE,		/* more outcomes than armings, or ends than adds */
	FAIL_EARLY,
	FAIL_LOST,		/* an arming without an outcome, an add without an end */
	FAIL_AFTER,		/* ran or was written after a call that rules it out */
	FAIL_OVERLAP,		/* ran concurrently with itself */
	FAIL_RESULT,		/* a call returned an impossible result */
	FAIL_COUNTS,		/* in twheel_get_stats() or twheel_purgatory_get_stats() */
	FAIL_STALL,
	FAIL_KINDS,
};

/* Counters of a wheel. */
enum torture_count {
	COUNT_ARMED,
	COUNT_MOVED,		/* re-armed while pending */
	COUNT_FIRED,
	COUNT_CANCELLED,
	COUNT_WORK_CANCELLED,	/* while pending, or queued after it had fired */
	COUNT_HANDED_BACK,
	COUNT_REFUSED,		/* -ESHUTDOWN */
	COUNT_REJECTED,		/* -ENOSPC */
	COUNT_ROUNDS,
	COUNT_KINDS,
};

/* Kinds of timers, which are armed and cancelled by different calls. */
enum torture_kind {
	KIND_TIMER,
	KIND_ORPHAN,		/* frees itself */
	KIND_WORK,
};

struct torture_timer;
struct torture_purgatory;

/**
 * struct torture_wheel - a wheel under test, created anew in each round
 * @gate: held for reading while @wheel is used, for writing while it is created or ended
 * @wheel: the current wheel, or NULL. Protected by @gate, like all other state of the
 *	round except for flags and counters
 * @number: index in torture_wheels; 0 stands for the system wheels
 * @clock: the clock of @wheel
 * @max_pending: limit on pending timers, 0 for none
 * @stopping: set before twheel_stop() is called
 * @stopped: set after twheel_stop() has returned
 * @closing: timer functions must not arm other timers
 * @draining: timer functions must not arm their own timer either
 * @orphans_running: running functions of orphans
 * @orphans: orphans that have not been freed
 * @count: counters by enum torture_count, over all rounds
 * @before: @count at the start of the round
 * @stats: twheel_get_stats() at the start of the round
 * @timer: array of TORTURE_TIMERS timers; orphans are not part of it
 *
 * In each round a flag changes at most once.
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
	atomic_t		orphans_running;
	atomic_t		orphans;
	atomic64_t		count[COUNT_KINDS];
	s64			before[COUNT_KINDS];
	struct twheel_stats	stats;
	struct torture_timer	*timer;
};

/**
 * struct torture_timer - a timer and the account of its armings
 * @timer: a timer of any kind
 * @part: as in &struct twheel_wall_timer
 * @wall_timer: the timer, on a wheel of CLOCK_REALTIME
 * @work: the timer, for KIND_WORK
 * @wheel: its wheel
 * @kind: its kind; changes only between rounds
 * @flags: its TWHEEL_TIMER_* flags
 * @users: threads with shared access; -1 for exclusive access
 * @begun: armings, including calls in progress that may arm it
 * @ended: armings that have an outcome
 * @syncs: calls that may have ended more armings than the one they report
 * @running: calls of its function in progress
 * @earliest: lower bound of the current deadline, by the clock of the wheel
 * @latest: upper bound of the time at which it should fire, likewise
 * @quiet: its function must not run: it is neither pending nor running
 * @shutdown_begun: set before twheel_timer_shutdown_sync() is called
 * @shutdown_done: set after twheel_timer_shutdown_sync() has returned
 * @blocked: synchronous cancels in progress, which block adds
 * @blocks: number of synchronous cancels that have begun or ended so far
 * @clock_seq: torture_clock_seq() before it was armed
 * @refs: references to an orphan: one for its creator, one for its arming
 * @rng: random numbers for its function
 */
struct torture_timer {
	union {
		struct {
			struct twheel_wall_part	part;
			struct twheel_timer	timer;
		};
		struct twheel_wall_timer	wall_timer;
		struct twheel_work		work;
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
	bool			shutdown_begun;
	bool			shutdown_done;
	atomic_t		blocked;
	atomic_t		blocks;
	int			clock_seq;
	refcount_t		refs;
	struct rnd_state	rng;
};

/* torture_handed_back() converts a struct twheel_timer of any kind. */
static_assert(offsetof(struct twheel_work, timer) == offsetof(struct twheel_wall_timer, timer));

/**
 * struct torture_thread - a thread of the torture
 * @task: the thread
 * @fn: its function, which runs until torture_should_stop()
 * @done: @fn has returned
 * @rng: random numbers for @fn
 * @wheel: the wheel of a torture_keeper()
 * @purgatory: the purgatory of a purgatory_keeper()
 * @doing: the current step, for the report of a stall
 * @steps: number of steps so far
 * @seen: @steps at the last check for a stall
 * @seen_at: time of the last check that found a new value of @steps, in jiffies
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
bool torture_may_delay(struct rnd_state *rng);
u32 torture_below(struct rnd_state *rng, u32 below);
void torture_seed(struct rnd_state *rng, u32 number);

/* threads.c */
int torture_start(unsigned int workers);
bool torture_stop(void);
bool torture_stalled(void);
bool torture_should_stop(void);
void torture_sleep(unsigned int ms);
void torture_pause(struct torture_thread *thread, bool closed);

/* wheels.c */
struct twheel *torture_create_wheel(const char *name, enum twheel_clock clock, u32 max_pending,
				    struct rnd_state *rng);
void torture_keeper(struct torture_thread *thread);
void torture_audit(void);

/* load.c */
u64 torture_deadline(struct rnd_state *rng, struct twheel *wheel);
u64 torture_slack(struct rnd_state *rng);
enum twheel_rearm torture_rearm(struct rnd_state *rng);
void torture_worker(struct torture_thread *thread);
void torture_timer_init(struct torture_timer *t, struct torture_wheel *w, enum torture_kind kind);
enum torture_kind torture_random_kind(struct rnd_state *rng, unsigned int number, bool allow_work);
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
void torture_count(struct torture_wheel *w, enum torture_count count, s64 n);
bool torture_report(enum torture_failure kind, const char *detail);
void torture_fail(enum torture_failure kind, const struct torture_timer *t, const char *detail);
bool torture_failed(void);
void torture_progress(unsigned long s);
void torture_expect_sums(void);
void torture_verdict(void);

/* outcome.c */
bool outcome_get_shared(struct torture_timer *t);
void outcome_put_shared(struct torture_timer *t);
bool outcome_get_exclusive(struct torture_timer *t);
void outcome_put_exclusive(struct torture_timer *t);

int outcome_add(struct torture_timer *t, u64 deadline, u64 slack);
int outcome_rearm(struct torture_timer *t, u64 deadline, u64 slack, enum twheel_rearm mode);
int outcome_cancel(struct torture_timer *t);
int outcome_cancel_sync(struct torture_timer *t);
void outcome_shutdown_sync(struct torture_timer *t);
int outcome_settle(struct torture_timer *t);
void outcome_settle_stopped(struct torture_timer *t);
void outcome_arm_exactly(struct torture_timer *t, u64 deadline, u64 other, enum twheel_rearm mode);
void outcome_handed_back(struct torture_timer *t);
void outcome_lower(atomic64_t *bound, u64 to);
void outcome_raise(atomic64_t *bound, u64 to);
void outcome_end(struct torture_timer *t, enum torture_count outcome);
int outcome_nr_open(const struct torture_timer *t);

/* running.c */
void outcome_expect_clock_set(struct torture_timer *t);
void outcome_enter(struct torture_timer *t);
void outcome_leave(struct torture_timer *t);
bool outcome_is_open(const struct torture_timer *t);
u64 outcome_latest(const struct torture_timer *t);
void outcome_audit(const struct torture_timer *t);

/* disturb.c */
extern atomic_t torture_offlined, torture_clock_steps;
bool torture_can_unplug(void);
void torture_unplugger(struct torture_thread *thread);
bool torture_set_clock(struct rnd_state *rng);
void torture_hold_clock(void);
void torture_release_clock(void);
void torture_reset_clock(void);
bool torture_clock_reached(int seq, u64 time);
int torture_clock_seq(void);
void torture_clock_setter(struct torture_thread *thread);

#endif /* _TWHEEL_TORTURE_H */
