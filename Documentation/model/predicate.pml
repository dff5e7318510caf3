/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A predicate that depends on two conditions, each with its own key. While the operation is
 * added (op_start() in op_add.c), both conditions become true on other CPUs, and each of these
 * CPUs then looks up the key and runs the predicates of its watchers (signal.c). The deadline
 * may pass at any time, or there is none.
 *
 * Holds: exactly_once one_at_a_time nothing_missed unlinked_first no_use_after_free
 * Holds: nothing_left ends
 *
 * Mutants, and the property that each one violates:
 *
 *	LOSE_RECHECK		nothing_missed
 *		a thread that finds the operation owned returns without a request (KAFKA-6653)
 *	NO_SECOND_CHECK		nothing_missed
 *		the predicate is not run after the keys have been linked
 *	CHECK_BEFORE_LINK	nothing_missed
 *		the second run of the predicate comes before the last link
 *	WATCH_WITHOUT_CHECK	nothing_missed
 *		the predicate is not run after a key has been added
 *	EVALUATE_UNOWNED	one_at_a_time
 *		a request runs the predicate even if the operation is owned
 *	CALL_BACK_WHILE_OWNED	one_at_a_time
 *		the claimer runs the callback while another thread runs the predicate
 *	CALL_BACK_BEFORE_UNLINK	unlinked_first
 *		the claimer runs the callback before it unlinks
 *	FORGET_CALLBACK		nothing_missed
 *		the owner does not run the callback that the claimer left to it
 *	LEAVE_CALLBACK		nothing_missed
 *		the claimer leaves the callback to an owner that is gone
 *	CLAIM_UNCHECKED		exactly_once
 *		a claim does not check if the operation is pending
 *	LINK_UNCHECKED		unlinked_first
 *		a watch is linked although the operation has ended
 *	LINK_AFTER_CHECK	unlinked_first
 *		the lock is dropped between the check of the state and the link
 *	ARM_UNCHECKED		unlinked_first
 *		the timer is armed although the operation has ended
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 *	ADD_WITHOUT_HOLD	no_use_after_free
 *		the add does not hold its operation, and the callback frees it
 *	HOLD_AFTER_LOOKUP	no_use_after_free
 *		a walk takes the hold after it has unlocked the bucket
 *	WALK_WITHOUT_HOLD	no_use_after_free
 *		a walk does not hold the operation while it runs the predicate
 */
#define PREDICATE
#define FREE_IN_CALLBACK
#define KEYS	2
#define EVALUATE	result = changed[0]; result = result && changed[1]

bool changed[2];
byte keys;	/* number of keys of the add */

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
	try_complete();
#endif
	link_watches(0, keys);
	atomic {
		ACCESS;
		if
#ifdef ARM_UNCHECKED
		:: true -> arm()
#else
		:: state == PENDING -> arm()
		:: else
#endif
		fi
	}
#if !defined(NO_SECOND_CHECK) && !defined(CHECK_BEFORE_LINK)
	try_complete();
#endif
#ifndef ADD_WITHOUT_HOLD
	atomic { unhold() }
#endif
	busy--
}

proctype watcher()
{
	LOCALS;

	/* op_hold_watchable() */
	atomic {
		if
		:: state == PENDING && keys == 1 -> hold()
		:: state > PENDING || keys == 2 -> put(); busy--; goto not_pending
		fi
	}
	atomic {
		ACCESS;
		mine = (state == PENDING);
		if
		:: mine -> attach(1)
		:: else
		fi
	}
	if
	:: mine ->
		link_watches(1, 2);
#ifndef WATCH_WITHOUT_CHECK
		try_complete()
#endif
	:: else
	fi;
	atomic { unhold() }
	atomic { put(); busy-- }
not_pending:
}

proctype signaller(byte key)
{
	LOCALS;
	bool found;

	changed[key] = true;
	/* The bucket is locked, see watch-signal.litmus. A linked operation is not freed. */
	atomic {
		found = linked[key];
#ifdef HOLD_AFTER_LOOKUP
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
		try_complete();
#ifndef WALK_WITHOUT_HOLD
		atomic { unhold() }
#endif
	:: else
	fi;
	busy--
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
		busy == 0 && !timer_running ->
		/* This must not depend on the deadline. */
		MUST(nothing_missed, state == DONE);
		MUST(nothing_left, freed && holds == 1 && watches == 0)
	}
}
