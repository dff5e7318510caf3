/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All ways to end an operation, concurrently: while the operation is added
 * (op_add_predicate() in op_add.c), a walk visits its key (signal_key() in signal.c), to run the
 * predicate or to cancel; the predicate may hold, or complete the operation itself before it
 * returns; the deadline may pass, or there is none; a thread cancels the operation and waits
 * (twheel_op_cancel_sync() in op.c); and the purgatory is drained
 * (twheel_purgatory_drain() in purgatory.c, twheel_purgatory_end_all() in iter.c) and then freed.
 *
 * Holds: exactly_once one_at_a_time unlinked_first waits no_use_after_free
 * Holds: nothing_left ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	CLAIM_UNCHECKED		exactly_once
 *		a claim does not check if the timer is pending
 *	CALL_BACK_WHILE_OWNED	one_at_a_time
 *		the claimant runs the callback while another thread runs the predicate
 *	CALL_BACK_BEFORE_UNLINK	unlinked_first
 *		the claimant runs the callback before it unlinks
 *	FORGET_CALLBACK		ends
 *		the owner does not run the callback that the claimant left to it
 *	LEAVE_CALLBACK		ends
 *		the claimant leaves the callback to an owner that is gone
 *	KEEP_RECHECK		halts
 *		the owner does not clear the request to run the predicate
 *	DONE_TOO_EARLY		waits
 *		the state becomes DONE before the callback has returned
 *	WINNER_DOES_NOT_WAIT	waits
 *		the claimant does not wait for a callback that the owner runs
 *	BEGIN_WITHOUT_UNIT	waits
 *		a pending operation has no unit of the quota
 *	UNIT_BACK_EARLY		waits
 *		an operation returns its unit before its callback
 *	DRAIN_WITHOUT_REFERENCE	no_use_after_free
 *		the drain cancels an operation that it has found without a reference
 *	WALK_DURING_CHANGE	ends
 *		the walk of a drain begins while another call changes the keys
 *	CHANGE_DURING_WALK	ends
 *		a call changes the keys during the walk of a drain
 *	LINK_UNCHECKED		unlinked_first
 *		a watch is linked although the operation has ended
 *	WALK_WITHOUT_PURGATORY	no_use_after_free
 *		a walk does not hold the purgatory between two chunks
 *	BEGIN_UNCHECKED		nothing_left
 *		an operation is added although the purgatory is being drained
 */
#define PREDICATE
#define DEFERS
#define KEYS	1
#define EVALUATE	if :: end_op() :: skip fi; if :: result = true :: result = false fi

#include "op.pmh"

byte busy;
bool work_running;
/* A drain ends all operations; the adder changes the keys. */
bool ending, changing;
/* The purgatory is not destroyed during an add. */
bool adding = true;

proctype adder()
{
	LOCALS;

	/* The pool is locked. */
	atomic {
		if
#ifdef BEGIN_UNCHECKED
		:: true ->
#else
		:: !closed ->
#endif
			begin();
			get();
			listed = true
		:: closed ->
			put();
			busy--;
			adding = false;
			goto refused
		fi
	}
	serve();
	/* twheel_op_change_begin() */
	atomic {
		mine = true;
		if
#ifndef CHANGE_DURING_WALK
		:: ending -> mine = false
#endif
		:: else -> changing = true
		fi
	}
	if
	:: mine ->
		attach_watches(0, KEYS);
		if
		:: mine -> link_watches(0, KEYS)
		:: else
		fi;
		changing = false
	:: else -> end_op()
	fi;
	atomic { arm() }
	try_complete();
	atomic { put() }
	atomic { put(); busy--; adding = false }
refused:
}

/* To run the predicate, or to cancel. Called with the lock of the bucket held. */
inline signal_visit()
{
	won = false;
	found = false;
	if
	:: linked[0] && timer_pending -> found = true; get()
	:: linked[0] -> claim(); unlink_signalled(0)
	:: else
	fi
}

inline signal_finish()
{
	if
	:: found ->
		try_complete();
		atomic { put() }
	:: won ->
		finish()
	:: else
	fi
}

/* The key has more watches than one chunk. */
inline signal_mark()
{
#ifndef WALK_WITHOUT_PURGATORY
	hold();
#endif
	marked = true
}

proctype walker()
{
	LOCALS;
	bool found, marked, in_second;

	/* The operation is in the only chunk, the first of two, or the second of two. */
	atomic {
		if
		:: !linked[0] -> busy--; goto not_watched
		:: linked[0] -> signal_visit()
		:: linked[0] -> signal_visit(); signal_mark()
		:: linked[0] -> signal_mark(); in_second = true
		fi
	}
	signal_finish();
	if
	:: marked ->
		atomic {
			MUST(no_use_after_free, !drained);
			found = false;
			won = false;
			if
			:: in_second -> signal_visit()
			:: else
			fi
		}
		signal_finish();
#ifndef WALK_WITHOUT_PURGATORY
		atomic { release() }
#endif
	:: else
	fi;
	atomic { busy-- }
not_watched:
}

/* twheel_op_deferred_fn() */
proctype deferred_work()
{
	LOCALS;

end:	do
	:: atomic { deferred -> deferred = false; work_running = true }
		call_back_now();
		work_running = false
	od
}

proctype canceller()
{
	LOCALS;

	end_op();
	do
	:: state == NEW -> break
#ifdef WINNER_DOES_NOT_WAIT
	:: claims == 1 && won -> MUST(waits, state == DONE && !in_callback); break
#endif
	:: state == DONE ->
		MUST(waits, !in_predicate && !in_callback && calls == 1);
		break
	od;
	atomic { put(); busy-- }
}

/* An iterator visits the list of a pool or a key, and the drain ends the operation. */
inline drain_visit(there)
{
	atomic {
		mine = there;
		if
#ifndef DRAIN_WITHOUT_REFERENCE
		:: mine -> get()
#endif
		:: else
		fi
	}
	if
	:: mine ->
		end_op();
#ifndef DRAIN_WITHOUT_REFERENCE
		atomic { put() }
#endif
	:: else
	fi
}

inline drain()
{
	atomic { closed = true }
	atomic { ending = true }
#ifndef WALK_DURING_CHANGE
	!changing;
#endif
	drain_visit(listed);
	drain_visit((linked[0] && timer_pending));
	atomic { ending = false }
	units == 0
}

init {
	LOCALS;

	atomic {
		refs = 2;
		busy = 3;
		if
		:: no_deadline = true
		:: no_deadline = false
		fi;
		run adder();
		run walker();
		run canceller();
		run reaper();
		run deferred_work()
	}
	drain();
	MUST(waits, !in_predicate && !in_callback && calls == claims);
	/* It is destroyed. */
	atomic { !adding -> drained = true }
	atomic {
		busy == 0 && !timer_running && !work_running ->
		MUST(nothing_left, freed && watches == 0);
		MUST(exactly_once, calls == (state == DONE))
	}
}
