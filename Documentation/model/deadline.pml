/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Re-arming against expiry: the deadline of a pending operation is changed to an earlier or
 * later time or to never (twheel_op_rearm() in op_deadline.c), while the clock advances, the
 * reaper expires the operation, and a cancel may run.
 *
 * Holds: exactly_once nothing_missed unlinked_first no_use_after_free nothing_left
 * Holds: never_early ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	EXPIRE_UNCHECKED	never_early
 *		the timer function does not check if the timer was armed again
 *	CHECK_ONLY_TIMER	never_early
 *		the timer function does not check if the deadline is never
 *	REARM_IN_TWO_STEPS	never_early
 *		the lock is dropped between the changes of the deadline and of the timer
 *	REARM_ONLY_DEADLINE	nothing_missed
 *		a timer that has fired is not armed again
 *	REARM_UNCHECKED		nothing_left
 *		the timer of an operation that has ended is armed again
 *	HOLD_WHILE_RUNNING	no_use_after_free
 *		a timer that is armed while its function runs has one hold instead of two
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 */
#define LAST	3
#define FAR	4	/* after the end of the clock */
#define NEVER	5

#define DUE	(now >= expires)
#define ARM	expires = deadline
#define EARLY	(no_deadline || now < deadline)

byte now, deadline, expires;

#include "op.pmh"

byte busy;

proctype clock()
{
	do
	:: now < LAST -> now++
	:: now == LAST -> break
	od;
	busy--
}

inline set_deadline()
{
	if
	:: to = 1
	:: to = 2
	:: to = LAST
	:: to = FAR
	:: to = NEVER
	fi;
	atomic {
		ACCESS;
		moved = false;
		if
#ifdef REARM_UNCHECKED
		:: true ->
#else
		:: state == PENDING ->
#endif
			deadline = to;
			no_deadline = (to == NEVER);
			moved = true;
#ifdef REARM_ONLY_DEADLINE
			if
			:: timer_pending || no_deadline -> arm()
			:: else
			fi
#else
#ifndef REARM_IN_TWO_STEPS
			arm()
#endif
#endif
		:: else
		fi
	}
#ifdef REARM_IN_TWO_STEPS
	atomic {
		if
		:: moved && state == PENDING -> arm()
		:: else
		fi
	}
#endif
}

proctype heartbeat()
{
	LOCALS;
	byte to;
	bool moved;

	set_deadline();
	set_deadline();
	atomic { put(); busy-- }
}

proctype canceller()
{
	LOCALS;

	if
	:: end_op()
	:: skip
	fi;
	atomic { put(); busy-- }
}

init {
	LOCALS;

	atomic {
		/* The operation has been added, with one key. */
		refs = 3;
		holds = 1;
		attach(0);
		linked[0] = true;
		park();
		deadline = 1;
		arm();
		busy = 3;
		run clock();
		run heartbeat();
		run canceller();
		run reaper()
	}
	atomic {
		busy == 0 && !timer_running && !(timer_pending && DUE) ->
		MUST(nothing_missed, state == DONE || EARLY)
	}
	end_op();
	atomic {
		!timer_running ->
		put();
		MUST(nothing_left, freed && holds == 1 && watches == 0);
		MUST(exactly_once, calls == 1)
	}
}
