/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Heartbeats against the deadline: an operation that waits is given other deadlines,
 * sooner, later or never (twheel_op_rearm() in op_deadline.c), while the clock goes on, the
 * reaper expires it, and another may cancel it.
 *
 * Holds: exactly_once nothing_missed leaves_first no_use_after_free nothing_left
 * Holds: never_early ends halts
 *
 * What breaks it, and what is broken then:
 *
 *	EXPIRE_WITHOUT_LOOK	never_early
 *		the timer's function does not look whether it was armed anew
 *	LOOK_ONLY_AT_TIMER	never_early
 *		nor whether the deadline is never
 *	REARM_IN_TWO_STEPS	never_early
 *		the lock is let go of between the deadline and the timer
 *	REARM_ONLY_DEADLINE	nothing_missed
 *		a timer that has fired is not armed anew
 *	REARM_WITHOUT_LOOK	nothing_left
 *		an operation that has ended is armed once more
 *	HOLD_WHILE_RUNNING	no_use_after_free
 *		a timer that is armed while its function runs has one hold for both
 *	ARM_WITHOUT_HOLD	no_use_after_free
 *		an armed timer does not hold its operation
 */
#define LAST	3
#define FAR	4	/* which the clock does not reach */
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
		TOUCH;
		moved = false;
		if
#ifdef REARM_WITHOUT_LOOK
		:: true ->
#else
		:: life == WAITING ->
#endif
			deadline = to;
			no_deadline = (to == NEVER);
			moved = true;
#ifdef REARM_ONLY_DEADLINE
			if
			:: pending || no_deadline -> arm()
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
		:: moved && life == WAITING -> arm()
		:: else
		fi
	}
#endif
}

proctype heart()
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
		/* Added, with a key. */
		refs = 3;
		holds = 1;
		attach(0);
		linked[0] = true;
		park();
		deadline = 1;
		arm();
		busy = 3;
		run clock();
		run heart();
		run canceller();
		run reaper()
	}
	atomic {
		busy == 0 && !running && !(pending && DUE) ->
		MUST(nothing_missed, life == DONE || EARLY)
	}
	end_op();
	atomic {
		!running ->
		put();
		MUST(nothing_left, freed && holds == 1 && watches == 0);
		MUST(exactly_once, calls == 1)
	}
}
