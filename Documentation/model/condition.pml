/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A declared condition: an operation that waits for all of its keys to be signalled.
 * While it is being added (op_add() in op_add.c), another adds a key to it
 * (twheel_op_watch() in op_watch.c), another takes that off (twheel_op_unwatch()),
 * each key is signalled (signal.c), and it may be completed by hand.
 *
 * Holds: exactly_once nothing_missed leaves_first no_use_after_free
 * Holds: nothing_left counts_right ends
 *
 * What breaks it, and what is broken then:
 *
 *	COUNT_WITHOUT_LOCK	nothing_missed
 *		signals under different keys count down without op->lock
 *	COUNT_SATISFIED		counts_right
 *		a signal counts although its key is satisfied
 *	FORGO_WITHOUT_CLAIM	nothing_missed
 *		the last key that is not satisfied is taken off, and that's all
 *	UNWATCH_UNLINKED	no_use_after_free
 *		a watch that is still to be linked is handed back
 *	WATCH_WITHOUT_LOOK	nothing_left
 *		a key is added to an operation that has ended
 *	LINK_WITHOUT_LOOK	leaves_first
 *		a watch is linked although the operation has ended
 *	LINK_AFTER_LOOK		leaves_first
 *		it is let go of after it was seen to wait, and linked then
 *	FINISH_WITHOUT_CLAIM	exactly_once
 *		who counts down to zero does not look whether it waits
 */
#define KEYS	2

#include "op.pmh"

byte need[KEYS], missing, busy;
bool heard[KEYS];	/* a signal came while the key was watched */
bool parked;

inline attach_counted(key)
{
	attach(key);
	need[key] = 1;
	missing++
}

/* All keys that it watches are satisfied. */
#define SATISFIED	((!attached[0] || need[0] == 0) && (!attached[1] || need[1] == 0))
#define ALL_HEARD	((!attached[0] || heard[0]) && (!attached[1] || heard[1]))

/* With op->lock held. */
inline claim_if_complete()
{
	if
	:: missing == 0 ->
		MUST(counts_right, SATISFIED);
#ifdef FINISH_WITHOUT_CLAIM
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

	atomic {
		attach_counted(0);
		park();
		hold()
	}
	link_watches(0, 1);
	atomic {
		if
		:: life == WAITING -> arm()
		:: else
		fi
	}
	atomic { unhold() }
	atomic { put(); busy-- }
}

proctype watcher()
{
	LOCALS;
	bool watched;

	atomic {
		if
		:: life == WAITING -> hold()
		:: life > WAITING -> put(); busy--; goto not_waiting
		fi
	}
	atomic {
		TOUCH;
		if
#ifdef WATCH_WITHOUT_LOOK
		:: true ->
#else
		:: life == WAITING ->
#endif
			attach_counted(1);
			watched = true
		:: life != WAITING ->
			watched = false
		fi
	}
	if
	:: watched -> link_watches(1, 2)
	:: else
	fi;
	atomic { unhold() }
	atomic { put(); busy-- }
not_waiting:
}

/* Take the second key off the operation, if it is linked: op_detach(). */
inline detach()
{
	if
#ifdef UNWATCH_UNLINKED
	:: life == WAITING && attached[1] ->
#else
	:: life == WAITING && attached[1] && linked[1] ->
#endif
		missing = missing - need[1];
		need[1] = 0;
		attached[1] = false;
		linked[1] = false;
		handed_back[1] = true;
		watches--;
#ifndef FORGO_WITHOUT_CLAIM
		claim_if_complete()
#endif
	:: else
	fi
}

proctype unwatcher()
{
	LOCALS;

	/* With the lock of the stripe held, and op->lock. */
	atomic {
		TOUCH;
		won = false;
		detach()
	}
	if
	:: won -> finish()
	:: else
	fi;
	atomic { put(); busy-- }
}

/* Visit the operation, if the ring of the key leads to it. */
inline signal(key)
{
	atomic {
		won = false;
		there = linked[key];
		if
		:: there ->
			MUST(no_use_after_free, !handed_back[key]);
			TOUCH;
			heard[key] = true;
			before = missing
		:: else
		fi;
#ifdef COUNT_WITHOUT_LOCK
	}
	atomic {
#endif
		if
#ifdef COUNT_SATISFIED
		:: there && life == WAITING ->
#else
		:: there && life == WAITING && need[key] > 0 ->
#endif
			need[key] = 0;
			missing = before - 1;
			claim_if_complete()
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

/* Signals the first key once more, or completes the operation, or neither. */
proctype another()
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
		refs = 5;
		holds = 1;
		no_deadline = true;
		busy = 6;
		run adder();
		run watcher();
		run unwatcher();
		run signaller(0);
		run signaller(1);
		run another()
	}
	atomic {
		busy == 0 ->
		MUST(counts_right, life != WAITING || missing == need[0] + need[1]);
		MUST(nothing_missed, life != WAITING || !ALL_HEARD)
	}
	end_op();
	atomic {
		put();
		MUST(nothing_left, freed && holds == 1 && watches == 0);
		MUST(exactly_once, calls == 1)
	}
}
