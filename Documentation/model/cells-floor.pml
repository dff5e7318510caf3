/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often the kernel looks at a cell. A program raises the time of the word, or stores anything; a
 * look at a due timer queues the timer for it, or for the next tick if it gave up. The second look in
 * a row that would do so for less than FLOOR ticks delays the timer to FLOOR ticks. A timer that is
 * SLOTS ticks away or more is in a bucket of a higher level, which expires when a turn of SLOTS ticks
 * begins. A look in this cascade only makes the timer later. So stores buy at most two looks at due
 * timers in FLOOR ticks, and one in a cascade. With a timeout, from a touch to the new deadline, of at
 * least 2 * FLOOR - 1 ticks the floor is never reached: a touch between two looks moves the deadline
 * at least FLOOR ticks beyond the second one.
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
 *	CASCADE_LOWERS		bounded
 *		a look in a cascade queues the timer for an earlier time
 *	FEW_SLOTS		bounded
 *		a wheel with fewer slots looks in cascades
 */
#include "must.pmh"

#define FLOOR	4
#ifdef FEW_SLOTS
#define SLOTS	2
#else
#define SLOTS	(2 * FLOOR)
#endif
#ifdef SHORT_TIMEOUT
#define TIMEOUT	(2 * FLOOR - 2)
#else
#define TIMEOUT	(2 * FLOOR - 1)
#endif
#define LAST	20

byte now, word = TIMEOUT, timer = TIMEOUT;
byte at = TIMEOUT;		/* when its bucket expires */
bool short_before;		/* the look before queued the timer for less than FLOOR ticks */
bool hostile;			/* programs do not keep to a timeout, and looks may give up */
bool stored;			/* by a hostile program, since the last look and in this tick */

/* The times of the last two looks at a due timer, and of that in a cascade, plus 1. */
byte last, before_last, cascade;

#define STORE(t)	!stored && (hostile || word < (t)) && (t) < LAST ->		\
				word = (t); stored = hostile

proctype program()
{
end:	do
	/* A process that has read the clock a while ago does not store its deadline late. */
	:: atomic { STORE(now + TIMEOUT) }
	:: atomic { STORE(now + SLOTS + 1) }
	:: atomic { hostile && STORE(now + 1) }
	:: atomic { hostile && STORE(now + 2) }
	od
}

/* The timer for time @t. */
inline queue(t)
{
	timer = t;
	if
	:: timer - now < SLOTS -> at = timer
	:: else -> at = timer - timer % SLOTS
	fi
}

/* With the floor. */
inline queue_due(t)
{
	if
#ifdef NO_FLOOR
	:: true -> queue(t)
#else
	:: t - now >= FLOOR -> queue(t); short_before = false
#ifdef FLOOR_AT_ONCE
	:: t - now < FLOOR -> queue(now + FLOOR)
#else
	:: t - now < FLOOR && !short_before -> queue(t); short_before = true
	:: t - now < FLOOR && short_before -> queue(now + FLOOR)
#endif
#endif
	fi
}

inline look_in_cascade()
{
	MUST(bounded, cascade == 0 || now + 1 - cascade >= FLOOR);
	cascade = now + 1;
	if
#ifdef CASCADE_LOWERS
	:: word > now -> queue(word)
	:: else -> queue(now)
#else
	:: word > timer -> queue(word)
	:: else -> queue(timer)
#endif
	fi
}

inline look_at_due()
{
	MUST(bounded, before_last == 0 || now + 1 - before_last >= FLOOR);
	before_last = last;
	last = now + 1;
	if
	:: word > now -> queue_due(word)
	:: hostile -> queue_due(now + 1)
	:: word <= now -> timer = LAST; at = LAST	/* It has ended. */
	fi
}

proctype reaper()
{
end:	do
	:: atomic {
		at <= now && at < LAST ->
		if
		:: at < timer -> look_in_cascade()
		:: else -> look_at_due()
		fi;
		stored = false;
		MUST(in_time, hostile || timer <= word || word <= now)
	   }
	od
}

proctype clock()
{
end:	do
	/* The reaper is on time. */
	:: atomic { now < LAST && at > now -> now++; stored = false }
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
