/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A predicate that depends on two conditions, each with its own key. While the operation is
 * added (op_add_predicate() in op_add.c), both conditions become true on other CPUs, and each of
 * these CPUs then looks up the key and runs the predicates of its watchers (signal.c). The deadline
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
 *	LINK_AFTER_CHECK	unlinked_first
 *		the lock is dropped between the check of the state and the link
 *	ARM_UNCHECKED		exactly_once
 *		the timer is armed although the operation has ended
 *	ADD_WITHOUT_REFERENCE	no_use_after_free
 *		the add has no reference, and the callback frees the operation
 *	REFERENCE_AFTER_LOOKUP	no_use_after_free
 *		a walk takes the reference after it has unlocked the bucket
 *	WALK_WITHOUT_REFERENCE	no_use_after_free
 *		a walk has no reference to the operation while it runs the predicate
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
		begin();
#ifndef ADD_WITHOUT_REFERENCE
		get();
#endif
		listed = true
	}
	serve();
#ifdef CHECK_BEFORE_LINK
	try_complete();
#endif
	attach_watches(0, keys);
	if
	:: mine -> link_watches(0, keys)
	:: else
	fi;
	atomic { ACCESS; arm() }
#if !defined(NO_SECOND_CHECK) && !defined(CHECK_BEFORE_LINK)
	try_complete();
#endif
#ifndef ADD_WITHOUT_REFERENCE
	atomic { put() }
#endif
	busy--
}

proctype watcher()
{
	LOCALS;

	/* op_hold_purgatory() */
	atomic {
		if
		:: timer_pending && keys == 1 -> hold()
		:: claims > 0 || keys == 2 -> put(); busy--; goto not_pending
		fi
	}
	attach_watches(1, 2);
	if
	:: mine ->
		link_watches(1, 2);
#ifndef WATCH_WITHOUT_CHECK
		try_complete()
#endif
	:: else
	fi;
	atomic { release() }
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
		found = linked[key] && timer_pending;
#ifdef REFERENCE_AFTER_LOOKUP
	}
	atomic {
#endif
		if
		:: found ->
#ifndef WALK_WITHOUT_REFERENCE
			get()
#endif
		:: else
		fi
	}
	if
	:: found ->
		try_complete();
#ifndef WALK_WITHOUT_REFERENCE
		atomic { put() }
#endif
	:: else
	fi;
	busy--
}

init {
	LOCALS;

	atomic {
		refs = 2;
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
		MUST(nothing_left, freed && units == 0 && watches == 0)
	}
}
