/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of watched keys (key.c). One key is linked, looked up and unlinked while its bucket
 * is split and merged.
 *
 * Bucket LOW has the key while the table has one bucket, and the bucket behind it while it has
 * two. A merge frees the memory of that one, after a grace period, and the next split allocates
 * other memory. Each lock, and each access without a lock, is a step.
 *
 *	lock_key()		twheel_key_lock()
 *	split(), merge()	keys_split_bucket(), keys_merge_bucket()
 *
 * The locks order everything but the size and the pointer to the memory, and a look-up does not
 * depend on these: with the lock held, it checks if the bucket has the key.
 *
 * Holds: keys_found nothing_missed no_use_after_free ends
 *
 * Mutants, and the property that each one violates:
 *
 *	LOOKUP_UNCHECKED	keys_found
 *		a look-up does not check that the locked bucket has the key
 *	CHECK_SIZE		keys_found
 *		a look-up reads the size again instead, and the bucket may have been replaced
 *	SPLIT_LOSES_KEY		keys_found
 *		a split removes the key from its bucket, and that is all
 *	SPLIT_UNLOCKED		keys_found
 *		a split does not lock the bucket from which it takes keys
 *	SPLIT_ONE_BY_ONE	keys_found
 *		a split unlocks the old bucket before the new one has the key
 *	MERGED_STAYS_VALID	keys_found
 *		a merged bucket looks as if it still had keys
 *	NO_SECOND_CHECK		nothing_missed
 *		the predicate is not run after the key has been linked
 *	FREE_AT_ONCE		no_use_after_free
 *		no grace period
 *	SIZE_BEFORE_SECTION	no_use_after_free
 *		the read-side section begins after the size has been read
 */
#include "must.pmh"

#define LOW	0
/* 1 and 2: the other bucket, in one of two pieces of memory */
#define BUCKETS	3

#define ADDER		0
#define SIGNALLER	1
#define LOOKERS		2
#define LOCALS		byte b, n

bool locked[BUCKETS], has[BUCKETS], in[BUCKETS], freed[BUCKETS];
byte size = 1;
byte memory = 2;		/* of the other bucket */

/* Read-side sections, and those that the grace period waits for. */
bool inside[LOOKERS], awaited[LOOKERS];
byte merged;			/* memory to be freed */

bool condition, found, seen, ended;
bool linked;			/* from the end of the link to the begin of the unlink */
byte busy;

inline enter()
{
	inside[me] = true
}

inline leave()
{
	d_step { inside[me] = false; awaited[me] = false }
}

inline lock(bucket)
{
	atomic {
		!locked[bucket];
		MUST(no_use_after_free, !freed[bucket]);
		locked[bucket] = true
	}
}

inline unlock(bucket)
{
	locked[bucket] = false
}

inline lock_key()
{
#ifndef SIZE_BEFORE_SECTION
	enter();
#endif
	do
	:: n = size;
	   if
	   :: n == 1 -> b = LOW
	   :: else -> b = memory
	   fi;
#ifdef SIZE_BEFORE_SECTION
	   enter();
#endif
	   lock(b);
	   if
#ifdef LOOKUP_UNCHECKED
	   :: true -> break
#elif defined(CHECK_SIZE)
	   :: n == size -> break
	   :: else -> unlock(b)
#else
	   :: has[b] -> break
	   :: else -> unlock(b)
#endif
	   fi
	od
}

inline unlock_key()
{
	unlock(b);
	leave()
}

proctype adder(byte me)
{
	LOCALS;

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
	LOCALS;
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

inline split()
{
	d_step {
		new = 3 - memory;
		locked[new] = false;
		in[new] = false;
		has[new] = false;
	}
	memory = new;
#ifndef SPLIT_UNLOCKED
	lock(LOW);
#endif
	lock(new);
	moves = in[LOW];
#ifdef SPLIT_ONE_BY_ONE
	d_step { in[LOW] = false; has[LOW] = false; has[new] = true };
	size = 2;
	unlock(new);
	unlock(LOW);
	in[new] = moves
#else
	in[LOW] = false;
#ifndef SPLIT_LOSES_KEY
	in[new] = moves;
#endif
	has[LOW] = false;
	has[new] = true;
	size = 2;
	unlock(new);
#ifndef SPLIT_UNLOCKED
	unlock(LOW)
#endif
#endif
}

inline merge()
{
	lock(LOW);
	lock(new);
	in[LOW] = in[new];
	in[new] = false;
	has[LOW] = true;
#ifndef MERGED_STAYS_VALID
	has[new] = false;
#endif
	size = 1;
	unlock(new);
	unlock(LOW);
	/* kfree_rcu() */
	atomic {
#ifdef FREE_AT_ONCE
		freed[new] = true
#else
		awaited[ADDER] = inside[ADDER];
		awaited[SIGNALLER] = inside[SIGNALLER];
		merged = new
#endif
	}
}

proctype resizer()
{
	byte new;
	bool moves;

	split();
	merge();
	split();
	if
	:: true
	/* The memory of the first bucket is used again. */
	:: merged == 0 && freed[3 - new] ->
		merge()
	fi;
	busy--
}

proctype rcu()
{
end:	do
	:: atomic {
		merged && !awaited[ADDER] && !awaited[SIGNALLER] ->
		freed[merged] = true;
		merged = 0
	   }
	od
}

init {
	atomic {
		has[LOW] = true;
		busy = 3;
		run adder(ADDER);
		run signaller(SIGNALLER);
		run resizer();
		run rcu()
	}
	busy == 0;
	MUST(nothing_missed, found || seen);
	MUST(keys_found, !in[LOW] && !in[memory])
}
