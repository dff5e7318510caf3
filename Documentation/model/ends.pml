/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All ways to end an operation, concurrently: while the operation is added (twheel_op_add() in
 * op_add.c), a walk visits its key (signal_run() in signal.c), to run the predicate or to
 * cancel; the predicate may hold, or complete the operation itself before it returns; the
 * deadline may pass; a thread cancels the operation and waits (twheel_op_cancel_sync() and
 * op_wait() in op.c); and the purgatory is drained (twheel_purgatory_drain() in
 * purgatory.c) and then freed.
 *
 * Holds: exactly_once one_at_a_time unlinked_first waits no_use_after_free
 * Holds: nothing_left ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	CLAIM_UNCHECKED		exactly_once
 *		a claim does not check if the operation is pending
 *	CALL_BACK_WHILE_OWNED	one_at_a_time
 *		the claimer runs the callback while another thread runs the predicate
 *	FORGET_CALLBACK		ends
 *		the owner does not run the callback that the claimer left to it
 *	LEAVE_CALLBACK		ends
 *		the claimer leaves the callback to an owner that is gone
 *	KEEP_RECHECK		halts
 *		the owner does not clear the request to run the predicate
 *	DONE_TOO_EARLY		waits
 *		the state becomes DONE before the callback has returned
 *	WINNER_DOES_NOT_WAIT	waits
 *		the claimer does not wait for a callback that the owner runs
 *	PARK_WITHOUT_HOLD	waits
 *		a parked operation does not hold its purgatory
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 *	DRAIN_WITHOUT_HOLD	no_use_after_free
 *		the drain cancels an operation of the list without a hold
 *	WALK_WITHOUT_PURGATORY	no_use_after_free
 *		a walk does not hold the purgatory between two chunks
 *	TAKE_DEFERRED_EARLY	unlinked_first
 *		an expiry that lost runs the callback while the timer is armed for it
 *	DEFER_WITHOUT_HOLD	no_use_after_free
 *		the timer of a deferred callback does not hold the operation
 *	HELP_WITHOUT_TAKING	exactly_once
 *		a waiter runs the deferred callback, and the reaper runs it again
 *	HELP_WITHOUT_CANCEL	unlinked_first
 *		a waiter runs the deferred callback while the timer is armed for it
 *	PARK_UNCHECKED		no_use_after_free
 *		an operation is added although the purgatory is being drained
 */
#define PREDICATE
#define DEFERS
#define KEYS	1
#define EVALUATE	if :: end_op() :: skip fi; if :: result = true :: result = false fi

#include "op.pmh"

byte busy;
bool draining;

proctype adder()
{
	LOCALS;

	atomic {
		if
#ifdef PARK_UNCHECKED
		:: true ->
#else
		:: !draining ->
#endif
			attach(0);
			park();
			hold()
		:: draining ->
			/* The purgatory exists until the caller returns. */
			put();
			busy--;
			goto refused
		fi
	}
	serve();
	link_watches(0, KEYS);
	atomic {
		if
		:: state == PENDING -> arm()
		:: else
		fi
	}
	try_complete();
	atomic { unhold() }
	atomic { put(); busy-- }
refused:
}

/* To run the predicate, or to cancel. Called with the lock of the bucket held. */
inline signal_visit()
{
	won = false;
	found = false;
	if
	:: linked[0] && state == PENDING -> found = true; hold()
	:: linked[0] -> claim(); unlink_signalled(0)
	:: else
	fi
}

inline signal_finish()
{
	if
	:: found ->
		try_complete();
		atomic { unhold() }
	:: won ->
		finish()
	:: else
	fi
}

/* The key has more watches than one chunk. */
inline signal_mark()
{
#ifndef WALK_WITHOUT_PURGATORY
	holds++;
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
		atomic { holds-- }
#endif
	:: else
	fi;
	atomic { busy-- }
not_watched:
}

/* op_help(): run a callback that was deferred to the reaper. */
inline help()
{
	atomic {
		ACCESS;
		late = deferred;
#ifndef HELP_WITHOUT_TAKING
		deferred = false
#endif
	}
	if
	:: late ->
#ifndef HELP_WITHOUT_CANCEL
		atomic {
			ACCESS;
			if
			:: timer_pending -> timer_pending = false; unhold()
			:: else
			fi
		}
#endif
		call_back_now()
	:: else
	fi
}

proctype canceller()
{
	LOCALS;

	end_op();
	/* op_wait() */
	do
	:: state == NEW -> break
#ifdef WINNER_DOES_NOT_WAIT
	:: claims == 1 && won -> MUST(waits, state == DONE && !in_callback); break
#endif
	:: state == DONE ->
		MUST(waits, !in_predicate && !in_callback && calls == 1);
		break
	:: deferred -> help()
	od;
	atomic { put(); busy-- }
}

inline drain()
{
	atomic { draining = true }
	do
	:: atomic {
		listed ->
#ifndef DRAIN_WITHOUT_HOLD
		hold()
#endif
	   }
	   end_op();
#ifndef DRAIN_WITHOUT_HOLD
	   atomic { unhold() }
#endif
	:: atomic { !listed -> holds--; break }
	od;
	atomic { holds == 0 -> drained = true }
}

init {
	LOCALS;

	atomic {
		refs = 2;
		holds = 1;
		busy = 3;
		run adder();
		run walker();
		run canceller();
		run reaper()
	}
	drain();
	MUST(waits, !in_predicate && !in_callback && calls == claims);
	atomic {
		busy == 0 ->
		MUST(nothing_left, freed && watches == 0);
		MUST(exactly_once, calls == (state == DONE))
	}
}
