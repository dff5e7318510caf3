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
 *	ARM_BY_STATE		exactly_once
 *		a re-arm checks the state, which stays PENDING after a pop
 *	ARM_UNCHECKED		exactly_once
 *		the timer of an operation that has ended is armed again
 *	REARM_IN_TWO_STEPS	never_early
 *		the lock is dropped between the changes of the deadline and of the timer
 *	REARM_ONLY_DEADLINE	never_early
 *		the timer keeps the earlier deadline
 *	CLAIM_UNCHECKED		exactly_once
 *		a claim does not check if the timer is pending
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
		moved = timer_pending;
		if
		:: moved ->
			deadline = to;
			no_deadline = (to == NEVER)
		:: else
		fi;
#ifdef REARM_IN_TWO_STEPS
	}
	atomic {
#endif
#ifndef REARM_ONLY_DEADLINE
		arm()
#endif
	}
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
		attach(0);
		linked[0] = true;
		begin();
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
		MUST(nothing_left, freed && units == 0 && watches == 0);
		MUST(exactly_once, calls == 1)
	}
}
