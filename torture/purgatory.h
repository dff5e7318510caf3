/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the torture that race operations share; purgatory.c tells
 * what is promised of these.
 */
#ifndef _TWHEEL_TORTURE_PURGATORY_H
#define _TWHEEL_TORTURE_PURGATORY_H

#include <linux/bitmap.h>
#include <linux/mutex.h>
#include <linux/timer.h>

#include "torture.h"

/* Few enough for the threads to meet on one. */
#define TORTURE_SLOTS	24

/*
 * Keys that operations share, some more than one of them may watch. So many that a
 * purgatory gets them other buckets again and again, as they come and go.
 */
#define TORTURE_KEYS	640

/* Keys that only one operation watches. */
#define OWN_KEYS	4

/* Rooms for watches that come later. */
#define MORE_WATCHES	8
#define MAX_ROOMS	(TWHEEL_MAX_KEYS + 1 + MORE_WATCHES)

/* Wheels of a purgatory's operations: the first is its own. */
#define TORTURE_WHEELS	2

/* Calls that can be told apart by what their completions carry. */
#define TORTURE_TICKETS	1024

/* What must stay in the memory of what nobody is to touch. */
#define TORTURE_POISON	0x6b

/* By errors of this and less an operation was completed alone. */
#define ALONE_ERROR	(-2000)

/*
 * The call that completed an operation. It is in the upper half of the value, and
 * in the lower is which of these calls it was. But for the first: completed
 * by an unwatch, an operation carries 0.
 */
enum torture_how {
	HOW_UNWATCH,
	HOW_SIGNAL,
	HOW_CHECK,
	HOW_TRY,
	HOW_ADD,
	HOW_WATCH,
	HOW_COMPLETE,
	HOW_ALL,
	HOW_CANCEL,		/* carries nothing, nor does the next */
	HOW_EXPIRE,
};

enum torture_held {
	NOT_HELD,
	BEING_HELD,
	HELD,
};

struct torture_op;

/**
 * struct torture_key - a key, and what it was told
 * @key: the key
 * @begun: signals, from before the call
 * @over: signals that have returned
 * @sure: signals that tell all who watch, from before the call
 * @amount_begun: what the same carried
 * @amount_over: likewise
 * @amount_sure: likewise
 * @checks: calls of twheel_check_and_complete() without a limit
 * @cancels: calls of twheel_cancel_for_key()
 */
struct torture_key {
	struct twheel_key	key;
	atomic64_t		begun;
	atomic64_t		over;
	atomic64_t		sure;
	atomic64_t		amount_begun;
	atomic64_t		amount_over;
	atomic64_t		amount_sure;
	atomic64_t		checks;
	atomic64_t		cancels;
};

/**
 * struct torture_want - that an operation was added with a key
 * @key: the key
 * @need: signals that satisfy it
 * @over: of @key, before the add
 * @amount_over: likewise
 * @sure: of @key, after the add
 * @amount_sure: likewise
 * @cancels: likewise
 * @signalled: signals and checks of @key when the predicate came to hold
 */
struct torture_want {
	struct torture_key	*key;
	u32			need;
	s64			over;
	s64			amount_over;
	s64			sure;
	s64			amount_sure;
	s64			cancels;
	s64			signalled;
};

/**
 * struct torture_slot - where an operation is found
 * @lock: protects @op
 * @op: with a reference to it; NULL if there is none
 */
struct torture_slot {
	spinlock_t		lock;	/* of @op */
	struct torture_op	*op;
};

/**
 * struct torture_softirq - a worker in softirq context
 * @timer: calls it
 * @p: what it works on
 * @rng: what it does next
 */
struct torture_softirq {
	struct timer_list		timer;
	struct torture_purgatory	*p;
	struct rnd_state		rng;
};

#define TORTURE_SOFTIRQS	2

/**
 * struct torture_purgatory - a place for purgatories, one after the other
 * @gate: read by who uses what is there, written by who makes and ends it
 * @purgatory: what is there now, NULL if nothing. Protected by @gate, like all of
 *	the round that is no flag or count
 * @wheel: which it is on, and another that operations bring
 * @clock: of each @wheel
 * @number: which place this is
 * @max_pending: how many operations may wait, 0 for any number
 * @max_watches: how many watches they may have, likewise
 * @draining: it is being drained
 * @drained: that has returned
 * @closing: callbacks do nothing else any more
 * @inside: callbacks and predicates under way
 * @alive: operations that we have made, and whose books are open
 * @rounds: purgatories so far
 * @added: operations so far
 * @ended: likewise, by enum twheel_reason
 * @rejected: likewise, by a limit
 * @before: what these were when the round began
 * @alls: calls of twheel_complete_all()
 * @all_errors: what these answered to errors, less the operations that ended so
 * @unclaimed: operations that were cancelled, less the answers that say so
 * @next_ticket: for the next call
 * @ticket: what ended by a call, less what the call answered
 * @walking: serialises who walks with a number
 * @walks: the last of these numbers
 * @grave_lock: protects what follows
 * @grave: released operations, to be looked at before they are freed
 * @nr_graves: how many
 * @key: the keys
 * @slot: the operations that can be found
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
	atomic_t		inside;
	atomic_t		alive;
	atomic64_t		rounds;
	atomic64_t		added;
	atomic64_t		ended[TWHEEL_CANCELLED + 1];
	atomic64_t		rejected;
	struct twheel_purgatory_stats before;
	atomic64_t		alls;
	atomic_t		all_errors;
	atomic_t		unclaimed;
	atomic_t		next_ticket;
	atomic_t		ticket[TORTURE_TICKETS];
	struct mutex		walking;	/* of who walks */
	u32			walks;
	spinlock_t		grave_lock;	/* of the graves */
	struct list_head	grave;
	unsigned int		nr_graves;
	struct torture_key	key[TORTURE_KEYS];
	struct torture_slot	slot[TORTURE_SLOTS];
	struct torture_softirq	softirq[TORTURE_SOFTIRQS];
};

/**
 * struct torture_op - an operation, and its books
 * @op: the operation; poisoned when it is released, as are @watch
 * @p: where it is
 * @refs: on the books: of the operation until its release, and of its maker
 * @grave: in the list of the graves
 * @number: tells it apart
 * @condition: when it completes
 * @quorum: likewise
 * @threshold: likewise
 * @nr_want: how many keys it is added with
 * @nr_rooms: how many @watch there are
 * @own: its keys are its own: whoever asks for it counts in @users
 * @loose: its deadline may be moved by several at a time
 * @orphan: its callback gives back the only reference
 * @refused: its add has failed, and is not tried again
 * @wary: it is cancelled when the wall clock is set
 * @urged: somebody lets it expire at once
 * @wheel: which wheel of @p it is on
 * @slack: by how much it may expire later
 * @sets_before: how often the clock was set before the add; -1 if that can't be said
 * @sets_after: likewise, after the add
 * @users: of the operation and its own keys; -1 for one who judges it
 * @inside: calls of its predicate under way
 * @ended: calls of its callback
 * @released: calls of its release
 * @answers: calls that say that it was they who ended it
 * @adding: its add has been called, or is about to be
 * @added: its add has returned, and it was added
 * @returned: its callback has returned
 * @over: a call has said that it has ended
 * @asked: its predicate held when it was asked for, and that has returned
 * @held_before: its predicate held before it was added
 * @reshaped: it may watch other keys than it was added with
 * @held: its predicate, by enum torture_held
 * @alls: of its place, after the add
 * @rearming: bit 0 is set by who moves the deadline of one that is not @loose
 * @deadline: when it expires, unless it is just being moved
 * @next: to there
 * @earliest: of one that is @loose, no deadline that may hold is before this
 * @latest: nor of any after this
 * @walk: number of the last walk that came by
 * @nr_more: rooms of @watch that were used after the add
 * @back: which rooms were handed back
 * @error: with which it ended, set by its callback
 * @reason: likewise
 * @value: likewise
 * @rng: what its callbacks do next
 * @own_key: keys that nobody else watches
 * @watch: room for its watches
 * @want: the keys it is added with
 */
struct torture_op {
	struct twheel_op		op;
	struct torture_purgatory	*p;
	refcount_t			refs;
	struct list_head		grave;
	u32				number;
	enum twheel_condition		condition;
	u32				quorum;
	u64				threshold;
	u32				nr_want;
	u32				nr_rooms;
	bool				own;
	bool				loose;
	bool				orphan;
	bool				refused;
	bool				wary;
	bool				urged;
	unsigned int			wheel;
	u64				slack;
	int				sets_before;
	int				sets_after;
	atomic_t			users;
	atomic_t			inside;
	atomic_t			ended;
	atomic_t			released;
	atomic_t			answers;
	bool				adding;
	bool				added;
	bool				returned;
	bool				over;
	bool				asked;
	bool				held_before;
	bool				reshaped;
	atomic_t			held;
	s64				alls;
	unsigned long			rearming;
	u64				deadline;
	u64				next;
	atomic64_t			earliest;
	atomic64_t			latest;
	u32				walk;
	atomic_t			nr_more;
	DECLARE_BITMAP(back, MAX_ROOMS);
	int				error;
	enum twheel_reason		reason;
	u64				value;
	struct rnd_state		rng;
	struct torture_key		own_key[OWN_KEYS];
	struct twheel_watch		*watch;
	struct torture_want		want[];
};

/**
 * struct torture_call - a call under way, on the stack of who makes it
 * @p: where
 * @outer: the call from whose callback it is made, NULL for none
 * @how: which call
 * @ticket: which of these
 * @depth: how many calls are around this one
 * @chain: each callback ends one more operation, on top of the last
 */
struct torture_call {
	struct torture_purgatory	*p;
	struct torture_call		*outer;
	enum torture_how		how;
	u32				ticket;
	unsigned int			depth;
	bool				chain;
};

/* How one calls: what may sleep doesn't do so in callbacks and softirqs. */
struct torture_caller {
	struct rnd_state		*rng;
	bool				may_sleep;
};

/* Deadlines that follow the wall clock: of those we know little. */
static inline bool by_wall_clock(const struct torture_op *o)
{
	return o->p->clock[o->wheel] == TWHEEL_CLOCK_REALTIME;
}

static inline gfp_t caller_gfp(const struct torture_caller *c)
{
	return c->may_sleep ? GFP_KERNEL : GFP_ATOMIC;
}

/* purgatory.c */
extern struct torture_purgatory *torture_purgatories;
extern unsigned int torture_nr_purgatories;
int purgatories_set_up(unsigned int nr);
void purgatories_tear_down(void);
void purgatory_keeper(struct torture_thread *thread);

/* purgatory_end.c */
void purgatory_inspect(struct torture_purgatory *p);
void purgatory_await_near(struct torture_purgatory *p);
void purgatory_expect_room(struct torture_purgatory *p, struct rnd_state *rng);
void purgatory_expect_nothing(struct torture_purgatory *p);

/* purgatory_load.c */
void purgatory_worker(struct torture_thread *thread);
void purgatory_softirq(struct timer_list *timer);
void purgatory_play(struct torture_purgatory *p, const struct torture_caller *c);
void purgatory_chain(struct torture_purgatory *p, struct rnd_state *rng);
void slots_empty(struct torture_purgatory *p);

/* purgatory_op.c */
struct torture_op *op_make(struct torture_purgatory *p, const struct torture_caller *c);
struct torture_op *op_make_idle(struct torture_purgatory *p, const struct torture_caller *c,
				u32 nr);
struct torture_op *op_make_patient(struct torture_purgatory *p, const struct torture_caller *c,
				   struct torture_key *key);
void op_account_put(struct torture_op *o);
void graves_free(struct torture_purgatory *p, unsigned int keep);
void wrong_op(enum torture_wrong what, const struct torture_op *o, const char *detail);

/* purgatory_judge.c */
bool op_enter(struct torture_op *o);
void op_leave(struct torture_op *o);
void op_account_begin(struct torture_op *o);
void op_account_begun(struct torture_op *o);
bool op_due(struct torture_op *o);
void op_judge_end(struct torture_op *o, const struct twheel_op_result *result);
void op_judge_release(struct torture_op *o);

/* purgatory_call.c */
int calls_set_up(void);
void calls_tear_down(void);
struct torture_call *call_current(void);
void call_begin(struct torture_call *call, struct torture_purgatory *p, enum torture_how how);
void call_end(struct torture_call *call, int answer);
u64 call_value(const struct torture_call *call);
bool call_is_shallow(const struct torture_call *call);
bool op_won(struct torture_op *o);
int op_add(struct torture_op *o, const struct torture_caller *c);
void op_try(struct torture_op *o);
void op_complete(struct torture_op *o);
void op_fail(struct torture_op *o, struct rnd_state *rng);
void op_expire(struct torture_op *o);
void op_cancel(struct torture_op *o);
void op_cancel_wait(struct torture_op *o);
void op_hold(struct torture_op *o);

/* purgatory_shape.c */
u64 op_slack(struct rnd_state *rng);
u64 op_deadline(const struct torture_op *o, struct rnd_state *rng);
void op_rearm(struct torture_op *o, struct rnd_state *rng);
void op_watch(struct torture_op *o, const struct torture_caller *c);
void op_unwatch(struct torture_op *o, struct rnd_state *rng);
void op_look(struct torture_op *o);

/* purgatory_key.c */
void torture_key_init(struct torture_key *key, u64 v0, u64 v1);
void signal_key(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c);
void check_key(struct torture_purgatory *p, struct torture_key *key,
	       const struct torture_caller *c);
void cancel_key(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c);
u32 purgatory_complete_all(struct torture_purgatory *p, struct rnd_state *rng);
void purgatory_walk(struct torture_purgatory *p, struct rnd_state *rng);

#endif /* _TWHEEL_TORTURE_PURGATORY_H */
