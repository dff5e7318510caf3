/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An add of io_uring, and the two ways out for its event (dev/uring.c): a worker of io_uring adds
 * the operation without the lock of the ring, or fails; a thread ends it; the ring exits, cancels it
 * and completes the command; the task work completes the command otherwise, with the event in
 * memory, or queued for a reader if it cannot be copied.
 *
 * Holds: exactly_once nothing_missed no_use_after_free nothing_left ends
 *
 * Mutants, and the property that each one violates:
 *
 *	MARK_LATE		no_use_after_free
 *		the command can be cancelled only after the operation is pending
 *	FAIL_AT_ONCE		no_use_after_free
 *		an add that fails forgets the operation while the command can be cancelled
 *	USE_COMMAND		no_use_after_free
 *		the callback uses the command after it has queued the task work
 *	DROP_EVENT		nothing_missed
 *		an event that cannot be copied is dropped
 *	EXIT_UNCHECKED		nothing_missed
 *		the event of an operation that the exit did not cancel is dropped
 *	FORGET_NOTHING		nothing_left
 *		the task work does not forget the operation whose event it has copied
 *	COMPLETE_ENDED		exactly_once
 *		the exit completes the command of an operation that it did not cancel
 *	CANCEL_NEW		exactly_once
 *		the exit completes the command of an operation that is not pending yet
 */
#include "must.pmh"

mtype = { NEW, PENDING, ENDED, FORGOTTEN };

mtype state = NEW;
bool locked;			/* the lock of the ring */
bool cancelable;
bool queued;			/* task work */
bool failed, exits;		/* of struct uring_add */
bool request = true;		/* of io_uring, with a reference to the file */
bool cancelled;			/* by the exit */
bool worker = true;		/* it has a reference to the request */
byte posted, written, unread, delivered, ends;

#define lock()		atomic { !locked -> locked = true }
#define unlock()	locked = false
#define command()	MUST(no_use_after_free, request || worker)
#define operation()	MUST(no_use_after_free, state != FORGOTTEN)

inline queue_work()
{
	command();
	MUST(exactly_once, !queued && !posted);
	queued = true
}

/* Callback: leave the pending list, then queue the task work. */
inline ended()
{
	operation();
	queue_work();
#ifdef USE_COMMAND
	MUST(no_use_after_free, request)
#endif
}

inline complete()
{
	MUST(exactly_once, !posted);
	posted++;
	cancelable = false;
	request = false
}

proctype adder()
{
	bool pending;

#ifndef MARK_LATE
	lock();
	cancelable = true;
	unlock();
#endif
	if
	:: atomic { state == NEW -> state = PENDING; pending = true }
	:: atomic { state == NEW -> failed = true }
	fi;
#ifdef MARK_LATE
	lock();
	MUST(no_use_after_free, request);
	cancelable = true;
	unlock();
#endif
	if
	:: !pending ->
#ifdef FAIL_AT_ONCE
		state = FORGOTTEN;
#endif
		queue_work()
	:: else
	fi;
	worker = false
}

proctype ender()
{
	if
	:: atomic { state == PENDING -> state = ENDED; ends++ };
		ended()
	:: failed || exits || posted
	fi
}

/* The submitter, or the kernel thread that replaces it. The event may not be copied. */
proctype task_work()
{
	do
	:: atomic { queued -> queued = false };
		lock();
		operation();
		if
		:: failed || exits -> state = FORGOTTEN
		:: !failed && !exits -> written++;
#ifndef FORGET_NOTHING
			state = FORGOTTEN
#endif
		:: !failed && !exits ->
#ifdef DROP_EVENT
			state = FORGOTTEN
#else
			unread++
#endif
		fi;
		complete();
		unlock()
	:: !request -> break
	od
}

proctype ring_exit()
{
	do
	:: request ->
		lock();
		if
		:: cancelable ->
			operation();
			if
			:: atomic { state == PENDING -> state = ENDED; ends++ };
				exits = true;
				cancelled = true;
				if
				:: state = FORGOTTEN; complete()
				/* Another thread runs the callback. */
				:: ended()
				fi
#ifdef EXIT_UNCHECKED
			:: state == ENDED -> exits = true
#endif
#ifdef COMPLETE_ENDED
			:: state == ENDED -> complete()
#endif
#ifdef CANCEL_NEW
			:: state == NEW -> exits = true; posted++
#endif
			:: else
			fi
		:: else
		fi;
		unlock()
	:: !request -> break
	od
}

proctype reader()
{
	do
	:: atomic { unread -> unread--; delivered++; operation(); state = FORGOTTEN }
	:: !request && !unread && !worker -> break
	od
}

init
{
	atomic {
		run adder();
		run ender();
		run task_work();
		run ring_exit();
		run reader()
	}
	_nr_pr == 1;
	MUST(exactly_once, posted == 1 && written + delivered <= 1 && ends <= 1);
	MUST(nothing_missed, written + delivered == 1 || failed || cancelled);
	MUST(nothing_left, state == FORGOTTEN && !cancelable && !queued && !unread)
}
