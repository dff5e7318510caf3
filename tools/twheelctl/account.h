/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The books of the workload: the requests, and the events of their operations.
 *
 * Each request has exactly one event, which is not early and agrees with the
 * return value of the call that completed the request. Times are those of the
 * clock of the reader, not those in the event.
 */
#ifndef TWHEELCTL_ACCOUNT_H
#define TWHEELCTL_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

/**
 * struct request - one request; its number is the cookie of its operation
 * @not_before: it may not expire before this; set before it is added
 * @completed: the call to complete it succeeded
 * @reason: from its first event; 0 before
 */
struct request {
	__u64 not_before;
	bool completed;
	__u8 reason;
};

/**
 * struct account - the books
 * @requests: all requests
 * @nr: number of requests
 * @lateness: of those that expired, in ns; sorted by close_account()
 * @reported: requests with an event
 * @ended: number of them by enum twheel_reason
 * @twice: events of requests that had one already
 * @early: requests that expired too early, if only by a nanosecond
 * @wrong: events of unknown requests, with a wrong value, or that contradict the
 *	call to complete the request
 * @lost: requests without an event; set by close_account()
 */
struct account {
	struct request *requests;
	size_t nr;
	__u64 *lateness;
	size_t reported;
	size_t ended[TWHEEL_CANCELLED + 1];
	size_t twice;
	size_t early;
	size_t wrong;
	size_t lost;
};

void init_account(struct account *a, size_t nr);
void free_account(struct account *a);

/* The value for completing a request; never 0. */
__u64 request_value(size_t request);

/**
 * account_event() - enter an event
 * @a: the books
 * @event: as it was read
 * @seen: the clock after it was read, in ns
 */
void account_event(struct account *a, const struct twheel_event *event,
		   __u64 seen);

/**
 * close_account() - settle the books when no more events will come
 * @a: the books
 * @added: number of requests that were added, in the order of their numbers
 */
void close_account(struct account *a, size_t added);

/* Return: true if no event is lost, early, wrong or a second one. */
bool account_holds(const struct account *a);

/**
 * lateness() - lateness of expired requests
 * @a: the books, closed
 * @percent: percentile, up to 100
 *
 * Return: the lateness in ns, 0 if none expired.
 */
__u64 lateness(const struct account *a, unsigned int percent);

#endif /* TWHEELCTL_ACCOUNT_H */
