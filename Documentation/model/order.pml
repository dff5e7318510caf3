/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one CPU stores, and when another sees it.  The other models have each store
 * seen by all at once; here each process has a store buffer, which may let go
 * of stores late, and in any order:
 *
 *	store()		into the buffer; what it says reaches memory some time later
 *	load()		from the buffer, or else from memory
 *	smp_mb()	waits until all that was stored before has reached memory
 *	lock()		an acquire: at once, but it does not empty the buffer, and if
 *			the unlock before is still in there, neither reaches memory
 *	release()	a store that reaches memory after all that were made before
 *			it; unlock() is one
 *
 * That is weaker than x86, where stores keep their order and a lock empties the
 * buffer.  Loads are made in order, which is what the acquires and smp_mb() see to.
 *
 * An operation with a predicate waits, but nothing of it is linked yet. Two
 * CPUs make true what it waits for, a half of it each. One looks who watches the key
 * (walk_first() in signal.c), with the lock of its stripe held, as who links has it
 * (twheel_watches_link() in op_watch.c); the other has the operation, and asks for
 * the predicate (twheel_op_try_complete() in op.c).  There is no barrier but these
 * locks.  One waits for DONE (twheel_op_cancel_sync() in op.c).
 *
 * Holds: nothing_missed waits ends
 *
 * What breaks it, and what is broken then:
 *
 *	LOOK_WITHOUT_LOCK	nothing_missed
 *		the walk looks who watches the key without the lock of the stripe
 *	LINK_WITHOUT_LOCK	nothing_missed
 *		nor is that held to link
 *	STRIPE_WITHOUT_RELEASE	nothing_missed
 *		if stripe->lock did not order, who has it next would not see what came before
 *	UNLOCK_WITHOUT_RELEASE	nothing_missed
 *		if op->lock did not order, who leaves AGAIN would not be seen
 *	NO_BARRIER_IN_WAKE_UP	ends
 *		none between DONE and the look for who waits
 *	NO_BARRIER_IN_WAIT	ends
 *		none between going to sleep and the look at DONE
 *	AWAITED_WITHOUT_LOCK	ends
 *		who waits says so without op->lock
 *	DONE_WITHOUT_RELEASE	waits
 *		DONE is seen before what the callback did
 */
#include "must.pmh"

/* Places in memory. */
#define HALF	0	/* what the predicate looks at, by who looks the key up */
#define OTHER	1	/* and by who asks */
#define LINKED	2	/* the operation is in the key's ring */
#define OWNED	3
#define AGAIN	4
#define ENDED	5
#define DONE	6
#define CALLED	7	/* what the callback did */
#define ASLEEP	8	/* somebody waits for DONE */
#define STRIPE	9	/* stripe->lock */
#define OP	10	/* op->lock */
#define AWAITED	11
#define PLACES	12

#define ADDER	0
#define WALKER	1
#define ASKER	2
#define WAITER	3
#define CPUS	4

bit memory[PLACES];
bool woken;
byte busy;

/* The buffers: which places, what is to be stored, and after which others. */
short stored[CPUS];
short what[CPUS];
short stripe_after[CPUS], op_after[CPUS], done_after[CPUS];

#define BIT(place)	(1 << (place))
#define LOCALS		bit mine, again, ended, held, x

inline store(place, value)
{
	atomic {
		stored[cpu] = stored[cpu] | BIT(place);
		what[cpu] = (what[cpu] & ~BIT(place)) | (value << place)
	}
}

inline load(place, into)
{
	atomic {
		if
		:: stored[cpu] & BIT(place) -> into = (what[cpu] >> place) & 1
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
	what[cpu] = what[cpu] & ~BIT(place);
	stripe_after[cpu] = stripe_after[cpu] & ~BIT(place);
	op_after[cpu] = op_after[cpu] & ~BIT(place);
	done_after[cpu] = done_after[cpu] & ~BIT(place)
}

inline lock(place)
{
	atomic {
		if
		:: !memory[place] -> memory[place] = 1
		/* We have just unlocked it ourselves, and nobody else knows. */
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

inline unlock_stripe()
{
#ifdef STRIPE_WITHOUT_RELEASE
	store(STRIPE, 0)
#else
	release(STRIPE, 0, stripe_after[cpu])
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
	memory[place] = (what[cpu] >> place) & 1;
	forget(place)
}

#define MAY_REACH(place)	(stored[cpu] & BIT(place))

proctype buffer(byte cpu)
{
end:	do
	:: d_step { MAY_REACH(HALF) -> reach(HALF) }
	:: d_step { MAY_REACH(OTHER) -> reach(OTHER) }
	:: d_step { MAY_REACH(LINKED) -> reach(LINKED) }
	:: d_step { MAY_REACH(OWNED) -> reach(OWNED) }
	:: d_step { MAY_REACH(AGAIN) -> reach(AGAIN) }
	:: d_step { MAY_REACH(ENDED) -> reach(ENDED) }
	:: d_step { MAY_REACH(DONE) && !done_after[cpu] -> reach(DONE) }
	:: d_step { MAY_REACH(CALLED) -> reach(CALLED) }
	:: d_step { MAY_REACH(ASLEEP) -> reach(ASLEEP) }
	:: d_step { MAY_REACH(AWAITED) -> reach(AWAITED) }
	:: d_step { MAY_REACH(STRIPE) && !stripe_after[cpu] -> reach(STRIPE) }
	:: d_step { MAY_REACH(OP) && !op_after[cpu] -> reach(OP) }
	od
}

inline call_back()
{
	store(CALLED, 1);
	lock(OP);
#ifdef DONE_WITHOUT_RELEASE
	store(DONE, 1);
#else
	release(DONE, 1, done_after[cpu]);
#endif
	load(AWAITED, x);
	unlock_op();
	if
	:: x ->
#ifndef NO_BARRIER_IN_WAKE_UP
		smp_mb();
#endif
		/* wake_up_var() */
		load(ASLEEP, x);
		if
		:: x -> woken = true
		:: else
		fi
	:: else
	fi
}

/* Where nothing but the lock orders, a claim, the leave and LEFT are one. */
inline serve()
{
	do
	:: lock(OP);
	   load(ENDED, ended);
	   load(AGAIN, again);
	   if
	   :: again && !ended ->
		store(AGAIN, 0);
		unlock_op();
		load(HALF, held);
		load(OTHER, x);
		if
		:: held && x ->
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

inline ask()
{
	lock(OP);
	mine = 0;
	load(ENDED, ended);
	if
	:: !ended ->
		store(AGAIN, 1);
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
	lock(STRIPE);
#endif
	lock(OP);
	store(LINKED, 1);
	unlock_op();
#ifndef LINK_WITHOUT_LOCK
	unlock_stripe();
#endif
	ask();
	busy--
}

proctype walker(byte cpu)
{
	LOCALS;

	store(HALF, 1);
	/* walk_first() */
#ifndef LOOK_WITHOUT_LOCK
	lock(STRIPE);
#endif
	load(LINKED, x);
#ifndef LOOK_WITHOUT_LOCK
	unlock_stripe();
#endif
	if
	:: x -> ask()
	:: else
	fi;
	busy--
}

proctype asker(byte cpu)
{
	LOCALS;

	store(OTHER, 1);
	ask();
	busy--
}

proctype waiter(byte cpu)
{
	LOCALS;

	/* twheel_op_wait() */
#ifdef AWAITED_WITHOUT_LOCK
	store(AWAITED, 1);
#else
	lock(OP);
	store(AWAITED, 1);
	unlock_op();
#endif
	/* wait_var_event() */
	store(ASLEEP, 1);
#ifndef NO_BARRIER_IN_WAIT
	smp_mb();
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
		run buffer(ASKER);
		run buffer(WAITER);
		run adder(ADDER);
		run walker(WALKER);
		run asker(ASKER);
		run waiter(WAITER)
	}
	busy == 0 && !stored[ADDER] && !stored[WALKER] && !stored[ASKER];
	MUST(nothing_missed, memory[DONE])
}
