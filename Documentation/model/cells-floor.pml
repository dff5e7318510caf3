/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often the kernel looks at a cell at a due timer. A program raises the time of the word; a
 * look queues the timer for it, or for the next tick if it gave up. The second look in a row that
 * would do so for less than FLOOR ticks delays the timer to FLOOR ticks: so stores buy at most two
 * looks in FLOOR ticks. With a timeout, from a touch to the new deadline, of at least
 * 2 * FLOOR - 1 ticks the floor is never reached: a touch between two looks moves the deadline at
 * least FLOOR ticks beyond the second one.
 *
 * Holds: in_time bounded ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	NO_FLOOR		bounded
 *		each look queues the timer for the time of the word
 *	FLOOR_AT_ONCE		in_time
 *		the first look delays the timer, too
 *	SHORT_TIMEOUT		in_time
 *		a timeout is a tick shorter
 */
#include "must.pmh"

#define FLOOR	3
#ifdef SHORT_TIMEOUT
#define TIMEOUT	(2 * FLOOR - 2)
#else
#define TIMEOUT	(2 * FLOOR - 1)
#endif
#define LAST	24

byte now, word = TIMEOUT, timer = TIMEOUT;
bool short_before;		/* the look before queued the timer for less than FLOOR ticks */
bool hostile;			/* programs do not keep to a timeout, and looks may give up */

/* The times of the last two looks, plus 1. */
byte last, before_last;

proctype program()
{
end:	do
	/* A process that has read the clock a while ago does not store its deadline late. */
	:: atomic { word < now + TIMEOUT && now + TIMEOUT < LAST -> word = now + TIMEOUT }
	:: atomic { hostile && word < now + 1 && word < LAST -> word = now + 1 }
	:: atomic { hostile && word < now + 2 && word < LAST -> word = now + 2 }
	od
}

/* The timer for time @t. */
inline queue(t)
{
	if
#ifdef NO_FLOOR
	:: true -> timer = t
#else
	:: t - now >= FLOOR -> timer = t; short_before = false
#ifdef FLOOR_AT_ONCE
	:: t - now < FLOOR -> timer = now + FLOOR
#else
	:: t - now < FLOOR && !short_before -> timer = t; short_before = true
	:: t - now < FLOOR && short_before -> timer = now + FLOOR
#endif
#endif
	fi
}

proctype reaper()
{
end:	do
	:: atomic {
		timer <= now && timer < LAST ->
		MUST(bounded, before_last == 0 || now + 1 - before_last >= FLOOR);
		before_last = last;
		last = now + 1;
		if
		:: word > now -> queue(word)
		:: hostile -> queue(now + 1)
		:: word <= now -> timer = LAST	/* It has ended. */
		fi;
		MUST(in_time, hostile || timer <= word || word <= now)
	   }
	od
}

proctype clock()
{
end:	do
	/* The reaper is on time. */
	:: atomic { now < LAST && timer > now -> now++ }
	od
}

init {
	atomic {
		if
		:: hostile = true
		:: hostile = false
		fi;
		run program();
		run reaper();
		run clock()
	}
}
