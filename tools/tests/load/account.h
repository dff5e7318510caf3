/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accounting of the workload: the requests, and the events of their operations.
 *
 * Each request must have exactly one event, which is not early and agrees with the
 * return value of the call that completed the request. The earliest time is checked
 * against the clock of the reader, too, not only against the times in the event.
 */
#ifndef TWHEEL_LOAD_ACCOUNT_H
#define TWHEEL_LOAD_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

/**
 * struct request - a request; its index is the cookie of its operation
 * @not_before: earliest valid time of expiry, in ns; set before the add
 * @completed: the call to complete the request succeeded
 * @reason: reason of the first event; 0 without an event
 */
struct request {
	__u64 not_before;
	bool completed;
	__u8 reason;
};

/**
 * struct account - accounting of all requests and events
 * @requests: all requests
 * @nr: number of requests
 * @lateness: lateness of the expired requests, in ns; sorted by close_account()
 * @reported: number of requests with an event
 * @ended: number of requests with an event, by enum twheel_reason
 * @twice: number of further events of a request that had one already
 * @early: number of requests that expired early, even by a nanosecond
 * @wrong: number of events of unknown requests, with a wrong value, or contradicting
 *	the call to complete the request
 * @interrupted: the run was interrupted; set before close_account()
 * @unfinished: number of requests that an interrupted run left pending; set by
 *	close_account()
 * @lost: number of other requests without an event; set by close_account()
 */
struct account {
	struct request *requests;
	size_t nr;
	__u64 *lateness;
	size_t reported;
	size_t ended[TWHEEL_REASON_CANCELLED + 1];
	size_t twice;
	size_t early;
	size_t wrong;
	bool interrupted;
	size_t unfinished;
	size_t lost;
};

void init_account(struct account *a, size_t nr);
void free_account(struct account *a);

/* Return: the value to complete a request with; never 0. */
__u64 request_value(size_t request);

/**
 * account_event() - account an event
 * @a: the account
 * @event: the event
 * @seen: time after the event was read, in ns
 */
void account_event(struct account *a, const struct twheel_event *event,
		   __u64 seen);

/**
 * close_account() - find lost and wrong events after the last event
 * @a: the account
 * @added: number of added requests; requests are added in the order of their index
 */
void close_account(struct account *a, size_t added);

/* Return: true if no event is lost, duplicate, early or wrong. */
bool account_holds(const struct account *a);

/**
 * lateness() - lateness of expired requests
 * @a: the closed account
 * @percent: percentile, up to 100
 *
 * Return: the lateness in ns, 0 if no request expired.
 */
__u64 lateness(const struct account *a, unsigned int percent);

#endif /* TWHEEL_LOAD_ACCOUNT_H */
