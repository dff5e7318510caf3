/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A predicate that waits for two things, each under a key of its own. While the
 * operation is being added (op_start() in op_add.c), both come true on other CPUs,
 * each of which then looks its key up and asks its watchers (walk.c). The deadline
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
 *	LINK_WITHOUT_RCU	no_use_after_free
 *		keys are locked that may have been given back
 *	LINK_WITHOUT_FIRST_LOOK	no_use_after_free
 *		RCU, but begun after the keys may have been given back
 *	ARM_WITHOUT_LOOK	leaves_first
 *		the timer is armed although the operation has ended
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 *	ADD_WITHOUT_HOLD	no_use_after_free
 *		the add does not hold its operation, and the callback frees it
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
		/* Its keys, which nobody else uses. */
		users[0]++;
		users[1] = users[1] + (keys == 2)
	}
	atomic {
		attached[0] = true;
		attached[1] = (keys == 2);
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
	/* smp_mb(), see order.pml */
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
	atomic { users[1]++ }
	atomic {
		TOUCH;
		mine = (life == WAITING);
		attached[1] = mine
	}
	if
	:: mine ->
		link_watches(1, 2);
		/* smp_mb(), see order.pml */
#ifndef WATCH_WITHOUT_CHECK
		ask()
#endif
	:: else ->
		atomic { key_unuse(1) }
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
	/* smp_mb(), see order.pml */
	atomic {
		/* A key that is watched is there. Who is linked there has not left. */
		found = linked[key];
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
		MUST(nothing_left, freed && holds == 1);
		MUST(nothing_left, key_freed[0] && users[1] == 0)
	}
}
