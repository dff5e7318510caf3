/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A declared condition: the operation completes when all of its keys have been signalled.
 * Concurrently, one process adds the operation with one or two keys (op_begin_linked() in
 * op_add.c), one adds the second key to it (twheel_op_watch() in op_watch.c), one removes that
 * key (twheel_op_unwatch()), each key is signalled (signal.c), and the operation may be completed
 * by a call.
 *
 * Holds: exactly_once nothing_missed unlinked_first no_use_after_free
 * Holds: nothing_left counts_right ends
 *
 * Mutants, and the property that each one violates:
 *
 *	COUNT_WITHOUT_LOCK	nothing_missed
 *		signals of different keys update the count without the lock of the shard
 *	COUNT_SATISFIED		counts_right
 *		a signal of a satisfied key is counted
 *	UNWATCH_WITHOUT_CLAIM	nothing_missed
 *		removing the last unsatisfied key does not complete the operation
 *	UNWATCH_UNLINKED	no_use_after_free
 *		a watch is returned to the caller before it is linked
 *	WATCH_UNCHECKED		nothing_left
 *		a key is added to an operation that has ended
 *	LINK_UNCHECKED		unlinked_first
 *		a watch is linked although the operation has ended
 *	LINK_AFTER_CHECK	unlinked_first
 *		the lock is dropped between the check of the state and the link
 *	LINK_AFTER_BEGIN	no_use_after_free
 *		an add links further keys after the operation is pending
 *	COMPLETE_UNCHECKED	exactly_once
 *		the timer stays pending when the count reaches zero
 */
#define FREE_IN_CALLBACK
#define KEYS	2

#include "op.pmh"

byte need[KEYS], missing, busy;
bool signalled[KEYS];	/* signalled while the key was watched */

inline attach_counted(key)
{
	attach(key);
	need[key] = 1;
	missing++
}

/* All watched keys are satisfied. */
#define SATISFIED	((!attached[0] || need[0] == 0) && (!attached[1] || need[1] == 0))
#define ALL_SIGNALLED	((!attached[0] || signalled[0]) && (!attached[1] || signalled[1]))

/* Called with the shard locked. */
inline claim_if_complete()
{
	if
	:: missing == 0 ->
		MUST(counts_right, SATISFIED);
#ifdef COMPLETE_UNCHECKED
		won = true;
		claims++;
		MUST(exactly_once, claims == 1)
#else
		claim()
#endif
	:: else
	fi
}

proctype adder()
{
	LOCALS;

	attach_counted(0);
	if
	:: attach_counted(1)
	:: skip
	fi;
	/* op_link_rest(): a signal finds that the operation is not pending. */
	k = attached[1];
#ifndef LINK_AFTER_BEGIN
	atomic { linked[1] = k };
#endif
	atomic {
		begin();
		linked[0] = true
	}
#ifdef LINK_AFTER_BEGIN
	if
	:: k -> atomic { ACCESS; linked[1] = true }
	:: else
	fi;
#endif
	busy--
}

proctype watcher()
{
	LOCALS;
	bool watched;

	atomic {
		if
		:: timer_pending -> hold()
		:: claims > 0 -> put(); busy--; goto not_pending
		fi
	}
	atomic {
		ACCESS;
		if
#ifdef WATCH_UNCHECKED
		:: true ->
#else
		:: timer_pending && !attached[1] && !handed_back[1] ->
#endif
			attach_counted(1);
			watched = true
		:: !timer_pending || attached[1] || handed_back[1] ->
			watched = false
		fi
	}
	if
	:: watched -> link_watches(1, 2)
	:: else
	fi;
	atomic { release() }
	atomic { put(); busy-- }
not_pending:
}

/* op_detach(): remove the second key from the operation if it is linked. */
inline detach()
{
	if
#ifdef UNWATCH_UNLINKED
	:: timer_pending && attached[1] ->
#else
	:: timer_pending && attached[1] && linked[1] ->
#endif
		missing = missing - need[1];
		need[1] = 0;
		attached[1] = false;
		linked[1] = false;
		handed_back[1] = true;
		watches--;
#ifndef UNWATCH_WITHOUT_CLAIM
		claim_if_complete()
#endif
	:: else
	fi
}

proctype unwatcher()
{
	LOCALS;

	/* The bucket and the shard are locked. */
	atomic {
		ACCESS;
		won = false;
		detach()
	}
	if
	:: won -> finish()
	:: else
	fi;
	atomic { put(); busy-- }
}

/* Visit the operation if it is in the ring of the key. */
inline signal(key)
{
	atomic {
		won = false;
		there = linked[key] && timer_pending;
		if
		:: there ->
			MUST(no_use_after_free, !handed_back[key]);
			ACCESS;
			signalled[key] = true;
			before = missing
		:: else
		fi;
#ifdef COUNT_WITHOUT_LOCK
	}
	atomic {
#endif
		if
#ifdef COUNT_SATISFIED
		:: there && timer_pending ->
#else
		:: there && timer_pending && need[key] > 0 ->
#endif
			need[key] = 0;
			missing = before - 1;
			claim_if_complete();
			unlink_signalled(key)
		:: else
		fi
	}
	if
	:: won -> finish()
	:: else
	fi
}

proctype signaller(byte key)
{
	LOCALS;
	byte before;
	bool there;

	signal(key);
	busy--
}

/* Signals the first key again, or completes the operation, or does nothing. */
proctype second_caller()
{
	LOCALS;
	byte before;
	bool there;

	if
	:: signal(0)
	:: end_op()
	:: skip
	fi;
	atomic { put(); busy-- }
}

init {
	LOCALS;

	atomic {
		refs = 4;
		no_deadline = true;
		busy = 6;
		run adder();
		run watcher();
		run unwatcher();
		run signaller(0);
		run signaller(1);
		run second_caller()
	}
	atomic {
		busy == 0 ->
		MUST(counts_right, !timer_pending || missing == need[0] + need[1]);
		MUST(nothing_missed, !timer_pending || !ALL_SIGNALLED)
	}
	/* There is no other reference; a pending operation has one of its own. */
	if
	:: timer_pending -> end_op()
	:: else
	fi;
	atomic {
		MUST(nothing_left, freed && units == 0 && watches == 0);
		MUST(exactly_once, calls == 1)
	}
}
