/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the torture of operations; purgatory.c has an overview.
 */
#ifndef _TWHEEL_TORTURE_PURGATORY_H
#define _TWHEEL_TORTURE_PURGATORY_H

#include <linux/bitmap.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>

#include "torture.h"

/* Half of the calls on operations use these slots, to increase contention. */
#define HOT_SLOTS	2

/*
 * Shared keys. There are more than one operation can watch, and enough for the hash table
 * of a purgatory to grow and shrink again and again.
 */
#define TORTURE_KEYS	640

/* Keys that only one operation watches, of each such operation. */
#define OWN_KEYS	4

/* Spare watches for twheel_op_watch(). */
#define SPARE_WATCHES	8
#define MAX_WATCHES	(TWHEEL_MAX_KEYS + SPARE_WATCHES)

/* Wheels for the operations of a purgatory: the first is its default. */
#define TORTURE_WHEELS	2

/* Number of tickets. A ticket identifies the call that completed an operation. */
#define TORTURE_TICKETS	1024

/* Contents of memory that must not be written. */
#define TORTURE_POISON	0x6b

/* twheel_op_complete_error() passes -1 to this, twheel_complete_all() lower numbers. */
#define MIN_OP_ERROR	(-2000)

/*
 * The call that completed an operation is in its value: the type in the upper half, the
 * ticket in the lower half. The exception is the first type: twheel_op_unwatch() completes
 * an operation with the value 0.
 */
enum torture_call_type {
	CALL_UNWATCH,
	CALL_SIGNAL,
	CALL_CHECK,
	CALL_TRY,
	CALL_ADD,
	CALL_WATCH,
	CALL_COMPLETE,
	CALL_ALL,
	CALL_CANCEL,		/* this and the next pass no value */
	CALL_EXPIRE,
};

enum torture_held {
	NOT_HELD,
	BEING_HELD,
	HELD,
};

struct torture_op;

/**
 * struct torture_key - a key and its counters
 * @key: the key
 * @begun: signals, counted before the call
 * @done: signals, counted after the call
 * @unlimited: signals without a limit, which reach all watchers; counted before the call
 * @amount_begun: total amount of the signals in @begun
 * @amount_done: total amount of the signals in @done
 * @amount_unlimited: total amount of the signals in @unlimited
 * @checks: calls of twheel_check_and_complete() without a limit
 * @cancels: calls of twheel_cancel_for_key()
 */
struct torture_key {
	struct twheel_key	key;
	atomic64_t		begun;
	atomic64_t		done;
	atomic64_t		unlimited;
	atomic64_t		amount_begun;
	atomic64_t		amount_done;
	atomic64_t		amount_unlimited;
	atomic64_t		checks;
	atomic64_t		cancels;
};

/**
 * struct torture_want - a key of an operation, with its counters at the add
 * @key: the key
 * @need: number of signals that satisfy it
 * @done: @done of @key before the add
 * @amount_done: @amount_done of @key before the add
 * @unlimited: @unlimited of @key after the add
 * @amount_unlimited: @amount_unlimited of @key after the add
 * @cancels: @cancels of @key after the add
 * @signalled: @unlimited plus @checks of @key when the predicate started to hold
 */
struct torture_want {
	struct torture_key	*key;
	u32			need;
	s64			done;
	s64			amount_done;
	s64			unlimited;
	s64			amount_unlimited;
	s64			cancels;
	s64			signalled;
};

/**
 * struct torture_slot - makes an operation reachable for all callers
 * @lock: protects @op
 * @op: the operation, with a reference to it, or NULL
 */
struct torture_slot {
	spinlock_t		lock;	/* protects op */
	struct torture_op	*op;
};

/**
 * struct torture_softirq - a worker in softirq context
 * @timer: calls the worker
 * @p: the purgatory it works on
 * @rng: its random numbers
 */
struct torture_softirq {
	struct hrtimer			timer;
	struct torture_purgatory	*p;
	struct rnd_state		rng;
};

#define TORTURE_SOFTIRQS	2

/**
 * struct torture_purgatory - a purgatory under test, created anew in each round
 * @gate: held for reading while @purgatory is used, for writing while it is created or
 *	ended
 * @purgatory: the current purgatory, or NULL. Protected by @gate, like all other state of
 *	the round except for flags and counters
 * @wheel: its wheel, and another one that operations may use
 * @clock: the clock of each @wheel
 * @number: index in torture_purgatories
 * @max_pending: limit on pending operations, 0 for none
 * @max_watches: limit on watches, 0 for none
 * @draining: set before twheel_purgatory_drain() is called
 * @drained: set after twheel_purgatory_drain() has returned
 * @closing: callbacks must not make further calls
 * @callbacks: callbacks and predicates in progress
 * @alive: operations that have been created and not yet put into the quarantine
 * @rounds: purgatories so far
 * @added: operations added so far
 * @ended: operations ended so far, by enum twheel_reason
 * @rejected: calls so far that exceeded a limit
 * @before: @added, @ended and @rejected at the start of the round
 * @complete_alls: calls of twheel_complete_all()
 * @complete_all_errors: operations that twheel_complete_all() ended with an error, less
 *	the results of these calls
 * @unclaimed: cancelled operations that no other call claims, less the results of drains
 * @next_ticket: the next ticket
 * @ticket: for each ticket, operations completed with it, less the result of the call
 * @walk_lock: serialises walks
 * @nr_walks: number of the current or last walk
 * @quarantine_lock: protects @quarantine and @nr_quarantined
 * @quarantine: released operations, which are checked before they are freed
 * @nr_quarantined: length of @quarantine
 * @key: the shared keys
 * @slot: array of torture_nr_slots reachable operations
 * @softirq: its workers in softirq context
 */
struct torture_purgatory {
	struct rw_semaphore	gate;
	struct twheel_purgatory	*purgatory;
	struct twheel		*wheel[TORTURE_WHEELS];
	enum twheel_clock	clock[TORTURE_WHEELS];
	unsigned int		number;
	u32			max_pending;
	u32			max_watches;
	bool			draining;
	bool			drained;
	bool			closing;
	atomic_t		callbacks;
	atomic_t		alive;
	atomic64_t		rounds;
	atomic64_t		added;
	atomic64_t		ended[TWHEEL_REASON_CANCELLED + 1];
	atomic64_t		rejected;
	struct twheel_purgatory_stats before;
	atomic64_t		complete_alls;
	atomic_t		complete_all_errors;
	atomic_t		unclaimed;
	atomic_t		next_ticket;
	atomic_t		ticket[TORTURE_TICKETS];
	struct mutex		walk_lock;	/* serialises walks */
	u32			nr_walks;
	spinlock_t		quarantine_lock; /* protects quarantine */
	struct list_head	quarantine;
	unsigned int		nr_quarantined;
	struct torture_key	key[TORTURE_KEYS];
	struct torture_slot	*slot;
	struct torture_softirq	softirq[TORTURE_SOFTIRQS];
};

/**
 * struct torture_op - an operation and its account
 * @part: what precedes an operation of CLOCK_REALTIME; the end of it, one with a cell
 * @op: the operation; poisoned when it is released, like @watch
 * @p: its purgatory
 * @refs: references to the account: one until the release, one for the creator
 * @quarantine_entry: entry in the quarantine
 * @number: identifies it in messages
 * @condition: its condition
 * @quorum: its quorum, for TWHEEL_COND_QUORUM
 * @threshold: its threshold, for TWHEEL_COND_SUM
 * @nr_want: number of keys it is added with
 * @nr_watches: number of elements of @watch
 * @own: it watches only keys in @own_key, and @users counts the threads that use it
 * @shared_deadline: several threads may move its deadline at the same time
 * @orphan: its callback drops the only reference
 * @refused: its add has failed and is not tried again
 * @cancel_on_set: a change of the wall clock cancels it
 * @has_cell: its deadline is in @cell
 * @lowered: calls lower the deadline in @cell
 * @hostile: random words are stored to @cell
 * @idled: @cell may have been idle
 * @expire_called: set before twheel_op_expire() is called
 * @wheel: index of its wheel in @p
 * @slack: its slack in ns
 * @clock_seq_before: torture_clock_seq() before the add
 * @clock_seq_after: torture_clock_seq() after the add
 * @users: users of an operation with @own; -1 while the last user checks it
 * @evaluating: calls of its predicate in progress
 * @ended: calls of its callback
 * @released: calls of its release
 * @claims: calls that reported to have ended it
 * @adding: set before it is added
 * @added: set after a successful add
 * @returned: its callback has returned
 * @known_ended: a call or the callback has shown that it has ended
 * @checked: a call that began after the predicate held has evaluated it and returned
 * @held_before: the predicate held before the add
 * @keys_changed: its keys may differ from those of the add
 * @held: state of its predicate, by enum torture_held
 * @complete_alls: @complete_alls of @p after the add
 * @rearming: without @shared_deadline, bit 0 serialises re-arms
 * @deadline: its deadline, unless a re-arm is in progress
 * @next_deadline: the deadline that a re-arm in progress sets
 * @earliest: with @shared_deadline, a lower bound of its deadline
 * @latest: with @shared_deadline, an upper bound of its deadline
 * @cell: the word of its deadline
 * @least_word: lower bound of the life and the time of the word at its end
 * @last_word: the word at its end
 * @last_walk: number of the last walk that visited it
 * @nr_spare_used: elements of @watch used after the add
 * @unwatched: elements of @watch returned by twheel_op_unwatch()
 * @error: the error it ended with, set by its callback
 * @reason: the reason it ended for, set by its callback
 * @value: the value it ended with, set by its callback
 * @rng: random numbers for its callbacks
 * @own_key: keys that no other operation watches
 * @watch: memory for its watches
 * @want: the keys it is added with
 */
struct torture_op {
	struct twheel_wall_part		part;
	struct twheel_op		op;
	struct torture_purgatory	*p;
	refcount_t			refs;
	struct list_head		quarantine_entry;
	u32				number;
	enum twheel_condition		condition;
	u32				quorum;
	u64				threshold;
	u32				nr_want;
	u32				nr_watches;
	bool				own;
	bool				shared_deadline;
	bool				orphan;
	bool				refused;
	bool				cancel_on_set;
	bool				has_cell;
	bool				lowered;
	bool				hostile;
	bool				idled;
	bool				expire_called;
	unsigned int			wheel;
	u64				slack;
	int				clock_seq_before;
	int				clock_seq_after;
	atomic_t			users;
	atomic_t			evaluating;
	atomic_t			ended;
	atomic_t			released;
	atomic_t			claims;
	bool				adding;
	bool				added;
	bool				returned;
	bool				known_ended;
	bool				checked;
	bool				held_before;
	bool				keys_changed;
	atomic_t			held;
	s64				complete_alls;
	unsigned long			rearming;
	u64				deadline;
	u64				next_deadline;
	atomic64_t			earliest;
	atomic64_t			latest;
	atomic64_t			cell;
	atomic64_t			least_word;
	u64				last_word;
	u32				last_walk;
	atomic_t			nr_spare_used;
	DECLARE_BITMAP(unwatched, MAX_WATCHES);
	int				error;
	enum twheel_reason		reason;
	u64				value;
	struct rnd_state		rng;
	struct torture_key		own_key[OWN_KEYS];
	struct twheel_watch		*watch;
	struct torture_want		want[];
};

/**
 * struct torture_call - a call in progress, on the stack of the caller
 * @p: its purgatory
 * @outer: the call that runs the callback making this call, or NULL
 * @type: its type
 * @ticket: its ticket
 * @depth: number of outer calls
 * @chain: each callback completes another operation, recursively
 */
struct torture_call {
	struct torture_purgatory	*p;
	struct torture_call		*outer;
	enum torture_call_type		type;
	u32				ticket;
	unsigned int			depth;
	bool				chain;
};

/* The context of a call. Callbacks and softirqs must not sleep. */
struct torture_caller {
	struct rnd_state		*rng;
	bool				may_sleep;
};

/* Deadlines by CLOCK_REALTIME, which are not checked exactly. */
static inline bool uses_wall_clock(const struct torture_op *o)
{
	return o->p->clock[o->wheel] == TWHEEL_CLOCK_REALTIME;
}

/* Signals and completions skip it then. */
static inline bool op_may_be_idle(const struct torture_op *o)
{
	return READ_ONCE(o->idled) || o->hostile;
}

static inline gfp_t caller_gfp(const struct torture_caller *c)
{
	return c->may_sleep ? GFP_KERNEL : GFP_ATOMIC;
}

/* purgatory.c */
extern struct torture_purgatory *torture_purgatories;
extern unsigned int torture_nr_purgatories;
extern unsigned int torture_nr_slots;
int purgatories_set_up(unsigned int nr, unsigned int slots);
void purgatories_tear_down(void);
void purgatory_keeper(struct torture_thread *thread);

/* purgatory_end.c */
void purgatory_flush_wheels(struct torture_purgatory *p);
void purgatory_inspect(struct torture_purgatory *p);
void purgatory_wait_for_near(struct torture_purgatory *p);
void purgatory_check_limits(struct torture_purgatory *p, struct torture_thread *thread);
void purgatory_check_empty(struct torture_purgatory *p);

/* purgatory_load.c */
void purgatory_worker(struct torture_thread *thread);
enum hrtimer_restart purgatory_softirq(struct hrtimer *timer);
void purgatory_random_call(struct torture_purgatory *p, const struct torture_caller *c);
void purgatory_chain(struct torture_purgatory *p, struct rnd_state *rng);
struct torture_op *slot_get(struct torture_slot *slot);
void slots_empty(struct torture_purgatory *p);

/* purgatory_op.c */
struct torture_op *op_create(struct torture_purgatory *p, const struct torture_caller *c);
struct torture_op *op_create_idle(struct torture_purgatory *p, const struct torture_caller *c,
				  u32 nr);
struct torture_op *op_create_patient(struct torture_purgatory *p, const struct torture_caller *c,
				     struct torture_key *key);
void op_account_put(struct torture_op *o);
void quarantine_free(struct torture_purgatory *p, unsigned int keep);
void op_fail(enum torture_failure kind, const struct torture_op *o, const char *detail);

/* purgatory_check.c */
bool op_enter(struct torture_op *o);
void op_leave(struct torture_op *o);
void op_account_begin(struct torture_op *o);
void op_account_added(struct torture_op *o);
bool op_due(struct torture_op *o);
void op_check_end(struct torture_op *o, const struct twheel_op_result *result);
void op_check_release(struct torture_op *o);

/* purgatory_call.c */
int calls_set_up(void);
void calls_tear_down(void);
struct torture_call *call_current(void);
void call_begin(struct torture_call *call, struct torture_purgatory *p,
		enum torture_call_type type);
void call_end(struct torture_call *call, int completed);
u64 call_value(const struct torture_call *call);
bool call_is_shallow(const struct torture_call *call);
bool op_claim(struct torture_op *o);
int op_add(struct torture_op *o, const struct torture_caller *c);
void op_try_complete(struct torture_op *o);
void op_complete(struct torture_op *o);
void op_complete_error(struct torture_op *o, struct rnd_state *rng);
void op_expire(struct torture_op *o);
void op_cancel(struct torture_op *o);
void op_cancel_sync(struct torture_op *o);
void op_hold(struct torture_op *o);

/* purgatory_change.c */
void op_rearm(struct torture_op *o, struct rnd_state *rng);
void op_watch(struct torture_op *o, const struct torture_caller *c);
void op_unwatch(struct torture_op *o, struct rnd_state *rng);
void op_check_progress(struct torture_op *o);

/* purgatory_cell.c */
void op_begin_life(struct torture_op *o);
void op_use_cell(struct torture_op *o, struct rnd_state *rng);
void purgatory_cancel_idle(struct torture_purgatory *p);
void op_check_word(struct torture_op *o, const struct twheel_op_result *result);
void op_check_last_word(struct torture_op *o);

/* purgatory_key.c */
void torture_key_init(struct torture_key *key, u64 v0, u64 v1);
void key_signal(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c);
void key_check(struct torture_purgatory *p, struct torture_key *key,
	       const struct torture_caller *c);
void key_cancel(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c);
u32 purgatory_complete_all(struct torture_purgatory *p, struct rnd_state *rng);
void purgatory_walk(struct torture_purgatory *p, struct rnd_state *rng);

#endif /* _TWHEEL_TORTURE_PURGATORY_H */
