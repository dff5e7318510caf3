/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A predicate that waits for two things, each under a key of its own. While the
 * operation is being added (op_start() in op_add.c), both come true on other CPUs,
 * each of which then looks its key up and asks its watchers (signal.c). The deadline
 * may pass at any time, or no_deadline.
 *
 * Holds: exactly_once one_at_a_time nothing_missed leaves_first no_use_after_free
 * Holds: nothing_left ends
 *
 * What breaks it, and what is broken then:
 *
 *	LOSE_AGAIN		nothing_missed
 *		who finds it owned goes away without a word (KAFKA-6653)
 *	NO_SECOND_CHECK		nothing_missed
 *		check, then watch, but don't check again
 *	CHECK_BEFORE_LINK	nothing_missed
 *		the second check comes before the last link
 *	WATCH_WITHOUT_CHECK	nothing_missed
 *		the predicate is not run after a key was added
 *	EVALUATE_UNOWNED	one_at_a_time
 *		who asks runs the predicate whether it is owned or not
 *	CALL_BACK_WHILE_OWNED	one_at_a_time
 *		who wins calls back even if another runs the predicate
 *	CALL_BACK_BEFORE_LEAVING leaves_first
 *		the operation is owned for the callback before it has left
 *	FORGET_LEFT		nothing_missed
 *		the owner goes away though the callback was left to it
 *	CLAIM_WITHOUT_LOOK	exactly_once
 *		who wants to end it does not look whether it waits
 *	LINK_WITHOUT_LOOK	leaves_first
 *		a watch is linked although the operation has ended
 *	LINK_AFTER_LOOK		leaves_first
 *		it is let go of after it was seen to wait, and linked then
 *	ARM_WITHOUT_LOOK	leaves_first
 *		the timer is armed although the operation has ended
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 *	ADD_WITHOUT_HOLD	no_use_after_free
 *		the add does not hold its operation, and the callback frees it
 *	HOLD_AFTER_LOOK		no_use_after_free
 *		the stripe is unlocked before who was found there is held
 *	WALK_WITHOUT_HOLD	no_use_after_free
 *		who found the operation under its key asks without a hold
 */
#define PREDICATE
#define FREE_IN_CALLBACK
#define KEYS	2
#define HOLDS	held = came[0]; held = held && came[1]

bool came[2];
byte keys;	/* of the add */

#include "op.pmh"

byte busy;

proctype adder()
{
	LOCALS;

	atomic {
		attach(0);
		if
		:: keys == 2 -> attach(1)
		:: else
		fi;
		park();
#ifndef ADD_WITHOUT_HOLD
		hold()
#endif
	}
	serve();
#ifdef CHECK_BEFORE_LINK
	ask();
#endif
	link_watches(0, keys);
	atomic {
		TOUCH;
		if
#ifdef ARM_WITHOUT_LOOK
		:: true -> arm()
#else
		:: life == WAITING -> arm()
		:: else
#endif
		fi
	}
#if !defined(NO_SECOND_CHECK) && !defined(CHECK_BEFORE_LINK)
	ask();
#endif
#ifndef ADD_WITHOUT_HOLD
	atomic { unhold() }
#endif
	busy--
}

proctype watcher()
{
	LOCALS;

	/* twheel_op_may_watch() */
	atomic {
		if
		:: life == WAITING && keys == 1 -> hold()
		:: life > WAITING || keys == 2 -> put(); busy--; goto not_waiting
		fi
	}
	atomic {
		TOUCH;
		mine = (life == WAITING);
		if
		:: mine -> attach(1)
		:: else
		fi
	}
	if
	:: mine ->
		link_watches(1, 2);
#ifndef WATCH_WITHOUT_CHECK
		ask()
#endif
	:: else
	fi;
	atomic { unhold() }
	atomic { put(); busy-- }
not_waiting:
}

proctype signaller(byte key)
{
	LOCALS;
	bool found;

	came[key] = true;
	/* With the stripe locked, see order.pml. Who is linked there has not left. */
	atomic {
		found = linked[key];
#ifdef HOLD_AFTER_LOOK
	}
	atomic {
#endif
		if
		:: found ->
#ifndef WALK_WITHOUT_HOLD
			hold()
#endif
		:: else
		fi
	}
	if
	:: found ->
		ask();
#ifndef WALK_WITHOUT_HOLD
		atomic { unhold() }
#endif
	:: else
	fi;
	busy--
}

proctype reaper()
{
	LOCALS;

end:	do
	:: atomic { pop() } expired()
	od
}

init {
	LOCALS;

	atomic {
		refs = 2;
		holds = 1;
		if
		:: keys = 1
		:: keys = 2
		fi;
		if
		:: no_deadline = true
		:: no_deadline = false
		fi;
		busy = 4;
		run adder();
		run watcher();
		run signaller(0);
		run signaller(1);
		run reaper()
	}
	atomic {
		busy == 0 && !running ->
		/* Even if the deadline has not come, and never does. */
		MUST(nothing_missed, life == DONE);
		MUST(nothing_left, freed && holds == 1 && watches == 0)
	}
}
