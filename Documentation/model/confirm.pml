/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that are confirmed (dev/event.c, twheel_events_put_back() in queue.c): operations end
 * while two workers read their events, each from a descriptor of its own. One of them is killed at
 * any time; its reads may fail with a fault. The other one goes on until all events are confirmed.
 *
 * Long: EVENTS=4
 *
 * Holds: nothing_lost marked_again in_order nothing_left ends
 *
 * Mutants, and the property that each one violates:
 *
 *	NOT_PUT_BACK		ends
 *		a descriptor that is closed forgets its events
 *	PUT_BACK_WITHOUT_WAKE	ends
 *		a descriptor that is closed puts them back, and wakes no reader
 *	CONFIRM_BEFORE_COPY	nothing_lost
 *		a read confirms the events that it is about to copy
 *	PUT_BACK_AT_TAIL	in_order
 *		a descriptor that is closed puts them behind the events of later operations
 *	PUT_BACK_ONE_BY_ONE	in_order
 *		they are put back one by one, and another reader takes the later ones
 *	UNMARKED		marked_again
 *		a descriptor that is closed puts them back without the mark
 *	FORGET_AT_CLOSE		nothing_left
 *		a descriptor that is closed puts them back, and frees its operations
 */
#ifndef EVENTS
#define EVENTS	3
#endif
/* Number of events that a read takes. */
#define READ	2

#include "must.pmh"

/* The queue, under its lock. */
byte queue[EVENTS + 1], nr;
/* Of an event: it is being put back; was delivered; is marked; its job was done; was freed. */
bool returning[EVENTS], delivered[EVENTS], again[EVENTS], done[EVENTS];
byte freed[EVENTS];
byte nr_freed;
/* A worker sleeps until the queue is woken. */
bool sleeping[2];
byte i;

inline wake()
{
	sleeping[0] = false;
	sleeping[1] = false;
}

inline push(event)
{
	queue[nr] = event;
	nr++;
}

inline push_head(event)
{
	i = nr;
	do
	:: i > 0 -> queue[i] = queue[i - 1]; i--
	:: else -> break
	od;
	queue[0] = event;
	nr++;
	i = 0;
}

inline free(event)
{
	freed[event]++;
	nr_freed++;
	MUST(nothing_lost, done[event]);
	MUST(nothing_left, freed[event] == 1);
	/* The end of the queue wakes its readers. */
	if
	:: nr_freed == EVENTS -> wake()
	:: else
	fi;
}

/* The events before are in the queue before this one. */
inline check_order()
{
	i = 1;
	do
	:: i < nr -> MUST(in_order, queue[i - 1] < queue[i]); i++
	:: else -> break
	od;
	i = 0;
}

inline put_back(event)
{
#ifdef PUT_BACK_AT_TAIL
	push(event);
#else
	push_head(event);
#endif
	returning[event] = true;
}

/* All that the worker holds is in the queue again. */
inline put_back_ends()
{
	k = 0;
	do
	:: k < EVENTS -> returning[k] = false; k++
	:: else -> break
	od;
	k = 0;
	check_order()
}

inline put_back_all()
{
#ifdef PUT_BACK_ONE_BY_ONE
	do
	:: held > 0 -> skip; d_step { held--; put_back(mine[held]) }
	:: else -> break
	od;
	skip;
	d_step { put_back_ends() }
#else
	d_step {
		do
		:: held > 0 -> held--; put_back(mine[held])
		:: else -> break
		od;
		put_back_ends()
	}
#endif
}

/* The last reference to a descriptor is gone. */
inline close_descriptor()
{
	d_step {
		k = 0;
		do
		:: k < held ->
#ifndef UNMARKED
			again[mine[k]] = true;
#endif
#ifdef FORGET_AT_CLOSE
			free(mine[k]);
#endif
			k++
		:: else -> break
		od;
		k = 0;
	}
#ifndef NOT_PUT_BACK
	put_back_all();
#endif
#ifndef PUT_BACK_WITHOUT_WAKE
	d_step { wake() }
#endif
}

/* A worker; @dies: it is killed at any time between its calls, and its buffer may fault. */
proctype worker(bit me; bool dies)
{
	byte mine[READ], held, k;

	do
	::
		/* read() confirms the events of the one before, */
		d_step {
			k = 0;
			do
			:: k < held -> free(mine[k]); k++
			:: else -> break
			od;
			held = 0;
			k = 0;
		}
retry:
		skip;
		/* and takes some from the head, */
		d_step {
			do
			:: nr > 0 && held < READ ->
				mine[held] = queue[0];
				MUST(in_order, !returning[queue[0]]);
				held++;
				nr--;
				k = 0;
				do
				:: k < nr -> queue[k] = queue[k + 1]; k++
				:: else -> break
				od;
				k = 0
			:: else -> break
			od;
			sleeping[me] = held == 0 && nr_freed < EVENTS;
#ifdef CONFIRM_BEFORE_COPY
			do
			:: k < held -> free(mine[k]); k++
			:: else -> break
			od;
			k = 0;
#endif
		}
		/* or waits for some. */
		if
		:: held > 0
		:: held == 0 && nr_freed == EVENTS -> break
		:: held == 0 && nr_freed < EVENTS ->
			if
			:: !sleeping[me] -> goto retry
			:: dies -> break
			fi
		fi;
		if
		:: dies ->
			/* A fault: they are for other readers. */
			put_back_all();
			d_step { wake() }
			goto retry
		:: true
		fi;
		d_step {
			do
			:: k < held ->
				MUST(marked_again, !delivered[mine[k]] || again[mine[k]]);
				delivered[mine[k]] = true;
				k++
			:: else -> break
			od;
			k = 0;
		}
		do
		:: k < held ->
			if
			:: done[mine[k]] = true
			:: dies -> break
			fi;
			k++
		:: else -> break
		od;
		if
		:: dies -> k = 0; break
		:: k == held -> k = 0
		fi
	od;
	close_descriptor();
}

proctype ends()
{
	byte event;

	do
	:: event < EVENTS ->
		d_step {
			push(event);
			check_order();
			wake();
		}
		event++
	:: else -> break
	od
}

init {
	atomic {
		run ends();
		run worker(0, true);
		run worker(1, false);
	}
	/* All are confirmed. */
	nr_freed == EVENTS;
	_nr_pr == 1;
	MUST(nothing_left, nr == 0);
}
