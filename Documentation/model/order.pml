/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory ordering. In the other models a store is visible to all processes at once. Here
 * each process has a store buffer, which may delay and reorder stores:
 *
 *	store()		writes to the buffer; the value reaches memory at a later time
 *	load()		reads from the buffer, or else from memory
 *	smp_mb()	waits until all earlier stores have reached memory
 *	lock()		an acquire, at once; it does not flush the buffer. If the
 *			preceding unlock is still in the buffer, it never reaches memory
 *	release()	a store that reaches memory after all earlier ones;
 *			unlock() is a release
 *
 * This is weaker than x86, which preserves the order of stores and flushes the buffer on a
 * locked instruction. Loads are in order, which the acquires and smp_mb() ensure.
 *
 * An operation with a predicate is pending, but not linked yet. Two CPUs make the condition
 * of the predicate true, one half each. One of them looks up the watchers of the key
 * (signal_first() in signal.c) with the lock of the bucket, which also protects linking
 * (twheel_watches_link() in op_watch.c). The other has a reference to the operation and
 * requests a run of the predicate (twheel_op_try_complete() in op.c). The locks are the only
 * barriers of these three. A fourth CPU waits for DONE (twheel_op_cancel_sync() in op.c),
 * which is stored without a lock.
 *
 * Holds: nothing_missed waits ends
 *
 * Mutants, and the property that each one violates:
 *
 *	LOOKUP_WITHOUT_LOCK	nothing_missed
 *		the walk looks up the watchers without the lock of the bucket
 *	LINK_WITHOUT_LOCK	nothing_missed
 *		the watch is linked without the lock of the bucket
 *	BUCKET_WITHOUT_RELEASE	nothing_missed
 *		stores before the unlock of the bucket may be visible after it
 *	UNLOCK_WITHOUT_RELEASE	nothing_missed
 *		stores before the unlock of op->lock, such as RECHECK, may be visible after it
 *	NO_BARRIER_IN_WAKE_UP	ends
 *		no barrier between the store of DONE and the checks for a waiter
 *	NO_BARRIER_IN_WAIT	ends
 *		no barrier between going to sleep and the check of DONE
 *	AWAITED_TOO_LATE	ends
 *		the waiter sets AWAITED after the barrier
 *	DONE_WITHOUT_RELEASE	waits
 *		DONE may be visible before the stores of the callback
 */
#include "must.pmh"

/* Locations in memory. */
#define COND_A	0	/* read by the predicate, set before the lookup of the key */
#define COND_B	1	/* read by the predicate, set before the request */
#define LINKED	2	/* the operation is in the ring of the key */
#define OWNED	3
#define RECHECK	4
#define ENDED	5
#define DONE	6
#define CALLED	7	/* a store of the callback */
#define ASLEEP	8	/* the waiter is asleep */
#define BUCKET	9	/* bucket->lock */
#define OP	10	/* op->lock */
#define AWAITED	11
#define PLACES	12

#define ADDER	0
#define WALKER	1
#define CHECKER	2
#define WAITER	3
#define CPUS	4

bit memory[PLACES];
bool woken;
byte busy;

/* The buffers, as bitmaps: buffered stores, their values, and stores that must come first. */
short stored[CPUS];
short value_of[CPUS];
short bucket_after[CPUS], op_after[CPUS], done_after[CPUS];

#define BIT(place)	(1 << (place))
#define LOCALS		bit mine, recheck, ended, result, x

inline store(place, value)
{
	atomic {
		stored[cpu] = stored[cpu] | BIT(place);
		value_of[cpu] = (value_of[cpu] & ~BIT(place)) | (value << place)
	}
}

inline load(place, into)
{
	atomic {
		if
		:: stored[cpu] & BIT(place) -> into = (value_of[cpu] >> place) & 1
		:: else -> into = memory[place]
		fi
	}
}

inline smp_mb()
{
	stored[cpu] == 0
}

inline forget(place)
{
	stored[cpu] = stored[cpu] & ~BIT(place);
	value_of[cpu] = value_of[cpu] & ~BIT(place);
	bucket_after[cpu] = bucket_after[cpu] & ~BIT(place);
	op_after[cpu] = op_after[cpu] & ~BIT(place);
	done_after[cpu] = done_after[cpu] & ~BIT(place)
}

inline lock(place)
{
	atomic {
		if
		:: !memory[place] -> memory[place] = 1
		/* Unlocked by this CPU, but the store is still in the buffer. */
		:: stored[cpu] & BIT(place) -> forget(place)
		fi
	}
}

inline release(place, value, after)
{
	atomic {
		after = stored[cpu] & ~BIT(place);
		store(place, value)
	}
}

inline unlock_bucket()
{
#ifdef BUCKET_WITHOUT_RELEASE
	store(BUCKET, 0)
#else
	release(BUCKET, 0, bucket_after[cpu])
#endif
}

inline unlock_op()
{
#ifdef UNLOCK_WITHOUT_RELEASE
	store(OP, 0)
#else
	release(OP, 0, op_after[cpu])
#endif
}

inline reach(place)
{
	memory[place] = (value_of[cpu] >> place) & 1;
	forget(place)
}

#define MAY_REACH(place)	(stored[cpu] & BIT(place))

proctype buffer(byte cpu)
{
end:	do
	:: d_step { MAY_REACH(COND_A) -> reach(COND_A) }
	:: d_step { MAY_REACH(COND_B) -> reach(COND_B) }
	:: d_step { MAY_REACH(LINKED) -> reach(LINKED) }
	:: d_step { MAY_REACH(OWNED) -> reach(OWNED) }
	:: d_step { MAY_REACH(RECHECK) -> reach(RECHECK) }
	:: d_step { MAY_REACH(ENDED) -> reach(ENDED) }
	:: d_step { MAY_REACH(DONE) && !done_after[cpu] -> reach(DONE) }
	:: d_step { MAY_REACH(CALLED) -> reach(CALLED) }
	:: d_step { MAY_REACH(ASLEEP) -> reach(ASLEEP) }
	:: d_step { MAY_REACH(AWAITED) -> reach(AWAITED) }
	:: d_step { MAY_REACH(BUCKET) && !bucket_after[cpu] -> reach(BUCKET) }
	:: d_step { MAY_REACH(OP) && !op_after[cpu] -> reach(OP) }
	od
}

inline call_back()
{
	store(CALLED, 1);
#ifdef DONE_WITHOUT_RELEASE
	store(DONE, 1);
#else
	release(DONE, 1, done_after[cpu]);
#endif
	/* op_wake() */
#ifndef NO_BARRIER_IN_WAKE_UP
	smp_mb();
#endif
	load(AWAITED, x);
	if
	:: x ->
		/* wake_up_var() */
		load(ASLEEP, x);
		if
		:: x -> woken = true
		:: else
		fi
	:: else
	fi
}

/* The claim and the unlink are one step, since only the lock orders them. */
inline serve()
{
	do
	:: lock(OP);
	   load(ENDED, ended);
	   load(RECHECK, recheck);
	   if
	   :: recheck && !ended ->
		store(RECHECK, 0);
		unlock_op();
		load(COND_A, result);
		load(COND_B, x);
		if
		:: result && x ->
			lock(OP);
			store(ENDED, 1);
			unlock_op();
			call_back();
			break
		:: else
		fi
	   :: else ->
		store(OWNED, 0);
		unlock_op();
		break
	   fi
	od
}

inline try_complete()
{
	lock(OP);
	mine = 0;
	load(ENDED, ended);
	if
	:: !ended ->
		store(RECHECK, 1);
		load(OWNED, x);
		if
		:: !x -> store(OWNED, 1); mine = 1
		:: else
		fi
	:: else
	fi;
	unlock_op();
	if
	:: mine -> serve()
	:: else
	fi
}

proctype adder(byte cpu)
{
	LOCALS;

	/* twheel_watches_link() */
#ifndef LINK_WITHOUT_LOCK
	lock(BUCKET);
#endif
	lock(OP);
	store(LINKED, 1);
	unlock_op();
#ifndef LINK_WITHOUT_LOCK
	unlock_bucket();
#endif
	try_complete();
	busy--
}

proctype walker(byte cpu)
{
	LOCALS;

	store(COND_A, 1);
	/* signal_first() */
#ifndef LOOKUP_WITHOUT_LOCK
	lock(BUCKET);
#endif
	load(LINKED, x);
#ifndef LOOKUP_WITHOUT_LOCK
	unlock_bucket();
#endif
	if
	:: x -> try_complete()
	:: else
	fi;
	busy--
}

proctype checker(byte cpu)
{
	LOCALS;

	store(COND_B, 1);
	try_complete();
	busy--
}

proctype waiter(byte cpu)
{
	LOCALS;

	/* op_wait() */
#ifndef AWAITED_TOO_LATE
	store(AWAITED, 1);
#endif
	/* wait_var_event() */
	store(ASLEEP, 1);
#ifndef NO_BARRIER_IN_WAIT
	smp_mb();
#endif
#ifdef AWAITED_TOO_LATE
	store(AWAITED, 1);
#endif
	load(DONE, x);
	if
	:: x
	:: else -> woken; load(DONE, x)
	fi;
	load(CALLED, x);
	MUST(waits, x)
}

init {
	atomic {
		busy = 3;
		run buffer(ADDER);
		run buffer(WALKER);
		run buffer(CHECKER);
		run buffer(WAITER);
		run adder(ADDER);
		run walker(WALKER);
		run checker(CHECKER);
		run waiter(WAITER)
	}
	busy == 0 && !stored[ADDER] && !stored[WALKER] && !stored[CHECKER];
	MUST(nothing_missed, memory[DONE])
}
