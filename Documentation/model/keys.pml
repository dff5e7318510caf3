/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of watched keys (key.c). One key is linked, looked up and unlinked while all keys are
 * moved to another table, and from there to a third one.
 *
 * Only the bucket of the key is modelled, one in each table. The segment of the bucket and the
 * table are freed one after the other, each after a grace period. Each lock, and each access
 * without a lock, is a step.
 *
 *	lock_key()	twheel_key_lock()
 *	move()		bucket_move() and keys_move_chunk()
 *
 * The locks order everything but the pointers, and a look-up does not depend on these: with the
 * lock held, it checks if the bucket still has its keys.
 *
 * Holds: keys_found nothing_missed no_use_after_free ends
 *
 * Mutants, and the property that each one violates:
 *
 *	LOOKUP_UNCHECKED	keys_found
 *		a look-up does not check whether the keys of the locked bucket were moved
 *	MOVE_LOSES_KEY		keys_found
 *		a move does not put the key into the next table
 *	MOVE_UNLOCKED		keys_found
 *		a move does not lock the bucket from which it takes keys
 *	MARKED_FIRST		keys_found
 *		a move marks the bucket, unlocks it, and then moves the key
 *	MARKED_LATER		keys_found
 *		a move unlocks the bucket before it is marked
 *	NO_SECOND_CHECK		nothing_missed
 *		the predicate is not run after the key has been linked
 *	FREE_AT_ONCE		no_use_after_free
 *		no grace period
 *	READ_BEFORE_SECTION	no_use_after_free
 *		the read-side section begins after the pointer to the table has been read
 *	FREED_WHILE_CURRENT	no_use_after_free
 *		the grace period of a table begins before look-ups get the next one
 */
#include "must.pmh"

#define TABLES	3

#define ADDER		0
#define SIGNALLER	1
#define LOOKERS		2
#define LOCALS		byte b

/* The bucket in each table: @segment is the pointer to it. */
bool locked[TABLES], in[TABLES], moved[TABLES], segment[TABLES];
byte table, next[TABLES];

/* Memory: the segments and the tables */
#define SEGMENT(t)	(t)
#define TABLE(t)	(TABLES + (t))
#define OBJECTS		(2 * TABLES)
bool retired[OBJECTS], freed[OBJECTS];

/* Read-side sections, and those that the grace period of an object waits for */
bool inside[LOOKERS], awaited[LOOKERS * OBJECTS];

bool condition, found, seen, ended;
bool linked;			/* from the end of the link to the begin of the unlink */
byte busy;

inline enter()
{
	inside[me] = true
}

inline leave()
{
	d_step {
		inside[me] = false;
		n = 0;
		do
		:: n < OBJECTS -> awaited[LOOKERS * n + me] = false; n++
		:: else -> break
		od;
		n = 0
	}
}

inline lock(bucket)
{
	atomic {
		!locked[bucket];
		MUST(no_use_after_free, !freed[SEGMENT(bucket)]);
		locked[bucket] = true
	}
}

inline unlock(bucket)
{
	locked[bucket] = false
}

inline lock_key()
{
#ifndef READ_BEFORE_SECTION
	enter();
#endif
	b = table;
#ifdef READ_BEFORE_SECTION
	enter();
#endif
	do
	:: atomic { MUST(no_use_after_free, !freed[TABLE(b)]); missing = !segment[b] };
	   if
	   :: missing
	   :: else ->
		lock(b);
		if
#ifdef LOOKUP_UNCHECKED
		:: true -> break
#else
		:: !moved[b] -> break
		:: else -> unlock(b)
#endif
		fi
	   fi;
	   atomic { MUST(no_use_after_free, !freed[TABLE(b)]); b = next[b] }
	od
}

inline unlock_key()
{
	unlock(b);
	leave()
}

proctype adder(byte me)
{
	LOCALS, n = 0;
	bool missing;

	lock_key();
	in[b] = true;
	unlock_key();
	linked = true;
#ifndef NO_SECOND_CHECK
	seen = condition;
#endif
	linked = false;
	lock_key();
	MUST(keys_found, in[b]);
	in[b] = false;
	ended = true;
	unlock_key();
	busy--
}

proctype signaller(byte me)
{
	LOCALS, n = 0;
	bool missing;
	bool before;

	condition = true;
	before = linked;
	lock_key();
	atomic {
		MUST(keys_found, in[b] || !before || !linked);
		found = in[b] || ended
	}
	unlock_key();
	/* Once more: the key may have moved. */
	before = linked;
	lock_key();
	MUST(keys_found, in[b] || !before || !linked);
	unlock_key();
	busy--
}

/* kfree_rcu() */
inline retire(object)
{
	atomic {
#ifdef FREE_AT_ONCE
		freed[object] = true
#else
		awaited[LOOKERS * (object) + ADDER] = inside[ADDER];
		awaited[LOOKERS * (object) + SIGNALLER] = inside[SIGNALLER];
		retired[object] = true
#endif
	}
}

inline move(from)
{
	segment[from + 1] = true;
	next[from] = from + 1;
#ifndef MOVE_UNLOCKED
	lock(from);
#endif
#ifdef MARKED_FIRST
	moved[from] = true;
	unlock(from);
#endif
	key = in[from];
	lock(from + 1);
#ifndef MOVE_LOSES_KEY
	in[from + 1] = key;
#endif
	unlock(from + 1);
#ifndef MARKED_FIRST
	in[from] = false;
#ifdef MARKED_LATER
	unlock(from);
#endif
	moved[from] = true;
#if !defined(MARKED_LATER) && !defined(MOVE_UNLOCKED)
	unlock(from);
#endif
#endif
	segment[from] = false;
	retire(SEGMENT(from));
#ifdef FREED_WHILE_CURRENT
	retire(TABLE(from));
	table = from + 1
#else
	table = from + 1;
	retire(TABLE(from))
#endif
}

proctype mover()
{
	bool key;

	move(0);
	move(1);
	busy--
}

#define GRACE(object)									\
	atomic { retired[object] && !awaited[LOOKERS * (object) + ADDER] &&		\
		 !awaited[LOOKERS * (object) + SIGNALLER] ->				\
		 freed[object] = true; retired[object] = false }

proctype rcu()
{
end:	do
	:: GRACE(SEGMENT(0))
	:: GRACE(SEGMENT(1))
	:: GRACE(TABLE(0))
	:: GRACE(TABLE(1))
	od
}

init {
	atomic {
		segment[0] = true;
		busy = 3;
		run adder(ADDER);
		run signaller(SIGNALLER);
		run mover();
		run rcu()
	}
	busy == 0;
	MUST(nothing_missed, found || seen);
	MUST(keys_found, !in[0] && !in[1] && !in[2])
}
