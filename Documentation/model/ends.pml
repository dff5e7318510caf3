/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All ways of ending at once: while an operation is being added (op_add() in
 * op_add.c), another walks its key (walk_key() in signal.c), to ask or to cancel; the
 * predicate may hold, or complete the operation itself before it says whether it
 * holds; the deadline may pass; another cancels it and waits
 * (twheel_op_cancel_sync() in op.c, twheel_op_wait() in op.c); and the purgatory is drained
 * (twheel_purgatory_drain() in purgatory.c) and then gone.
 *
 * Holds: exactly_once one_at_a_time leaves_first waits no_use_after_free
 * Holds: nothing_left ends halts
 *
 * What breaks it, and what is broken then:
 *
 *	CLAIM_WITHOUT_LOOK	exactly_once
 *		who wants to end it does not look whether it waits
 *	CALL_BACK_WHILE_OWNED	one_at_a_time
 *		who wins calls back even if another runs the predicate
 *	FORGET_LEFT		ends
 *		the owner goes away though the callback was left to it
 *	KEEP_AGAIN		halts
 *		the owner does not clear what it was asked
 *	DONE_TOO_SOON		waits
 *		DONE is said before the callback has returned
 *	WINNER_GOES_ON		waits
 *		who wins is not made to wait for the owner's callback
 *	PARK_WITHOUT_HOLD	waits
 *		a parked operation does not hold its purgatory
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 *	DRAIN_WITHOUT_HOLD	no_use_after_free
 *		the drain cancels what it found listed without a reference
 *	WALK_WITHOUT_PURGATORY	no_use_after_free
 *		a walk does not hold the purgatory that a callback may let others end
 *	TAKE_DEFERRED_EARLY	leaves_first
 *		an expiry that lost makes the callback though the timer is armed for it
 *	DEFER_WITHOUT_HOLD	no_use_after_free
 *		the timer that brings the callback to the reaper does not hold it
 *	HELP_WITHOUT_TAKING	exactly_once
 *		who waits makes the reaper's callback, and leaves it to the reaper too
 *	HELP_WITHOUT_CANCEL	leaves_first
 *		who waits makes it while the timer is still armed for it
 *	PARK_WITHOUT_LOOK	no_use_after_free
 *		an operation is let in although the purgatory is being drained
 */
#define PREDICATE
#define DEFERS
#define KEYS	1
#define HOLDS	if :: end_op() :: skip fi; if :: held = true :: held = false fi

#include "op.pmh"

byte busy;
bool draining;

proctype adder()
{
	LOCALS;

	atomic {
		if
#ifdef PARK_WITHOUT_LOOK
		:: true ->
#else
		:: !draining ->
#endif
			attach(0);
			park();
			hold()
		:: draining ->
			/* Its caller sees to it that the purgatory is still there. */
			put();
			busy--;
			goto refused
		fi
	}
	serve();
	link_watches(0, KEYS);
	atomic {
		if
		:: life == WAITING -> arm()
		:: else
		fi
	}
	ask();
	atomic { unhold() }
	atomic { put(); busy-- }
refused:
}

/* walk_visit(), to ask or to cancel, with the lock of the stripe held. */
inline visit()
{
	won = false;
	found = false;
	if
	:: linked[0] && life == WAITING -> found = true; hold()
	:: linked[0] -> claim()
	:: else
	fi
}

/* walk_do() */
inline tell()
{
	if
	:: found ->
		ask();
		atomic { unhold() }
	:: won ->
		finish()
	:: else
	fi
}

/* walk_mark(): more watch the key than fit into a chunk. */
inline mark()
{
#ifndef WALK_WITHOUT_PURGATORY
	holds++;
#endif
	marked = true
}

proctype walker()
{
	LOCALS;
	bool found, marked, later;

	/* The operation is in the only chunk, or the first of two, or the second. */
	atomic {
		if
		:: !linked[0] -> busy--; goto not_watched
		:: linked[0] -> visit()
		:: linked[0] -> visit(); mark()
		:: linked[0] -> mark(); later = true
		fi
	}
	tell();
	if
	:: marked ->
		atomic {
			MUST(no_use_after_free, !drained);
			found = false;
			won = false;
			if
			:: later -> visit()
			:: else
			fi
		}
		tell();
#ifndef WALK_WITHOUT_PURGATORY
		atomic { holds-- }
#endif
	:: else
	fi;
	atomic { busy-- }
not_watched:
}

/* Make a callback that was left to the reaper: op_help() in op.c. */
inline help()
{
	atomic {
		TOUCH;
		late = deferred;
#ifndef HELP_WITHOUT_TAKING
		deferred = false
#endif
	}
	if
	:: late ->
#ifndef HELP_WITHOUT_CANCEL
		atomic {
			TOUCH;
			if
			:: pending -> pending = false; unhold()
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
	/* twheel_op_wait() */
	do
	:: life == NEW -> break
#ifdef WINNER_GOES_ON
	:: claims == 1 && won -> MUST(waits, life == DONE && !in_callback); break
#endif
	:: life == DONE ->
		MUST(waits, !in_predicate && !in_callback && calls == 1);
		break
	:: deferred -> help()
	od;
	atomic { put(); busy-- }
}

proctype reaper()
{
	LOCALS;

end:	do
	:: atomic { pop() } expired()
	od
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
		MUST(exactly_once, calls == (life == DONE))
	}
}
