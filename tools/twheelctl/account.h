/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The books of the workload: what was asked for, and what events told.
 *
 * Each request is told exactly once, by an event that agrees with what the
 * thread that completes saw, and none is told early. The books trust their
 * own clock before they trust the times in the event.
 */
#ifndef TWHEELCTL_ACCOUNT_H
#define TWHEELCTL_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

/**
 * struct request - one request; its number is the cookie of its operation
 * @not_before: it may not expire before this; set before it is added
 * @completed: the call that was to complete it did so
 * @reason: how it ended, by its first event; 0 while none has come
 */
struct request {
	__u64 not_before;
	bool completed;
	__u8 reason;
};

/**
 * struct account - the books
 * @requests: all requests
 * @nr: how many
 * @lateness: of those that expired, in ns; sorted by close_account()
 * @told: requests that an event told
 * @ended: of these, how many by enum twheel_reason
 * @twice: events for a request that was told already
 * @early: requests that expired too early, if only by a nanosecond
 * @wrong: events for no request of ours, with a wrong value, or that
 *	contradict the call that was to complete the request
 * @lost: requests that were added and not told; set by close_account()
 */
struct account {
	struct request *requests;
	size_t nr;
	__u64 *lateness;
	size_t told;
	size_t ended[TWHEEL_CANCELLED + 1];
	size_t twice;
	size_t early;
	size_t wrong;
	size_t lost;
};

void init_account(struct account *a, size_t nr);
void free_account(struct account *a);

/* The value that a request is completed with; none is 0. */
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
 * @added: how many requests were added, in the order of their numbers
 */
void close_account(struct account *a, size_t added);

/* Return: nothing was lost, told twice, early or wrong. */
bool account_holds(const struct account *a);

/**
 * lateness() - how late requests expired
 * @a: the books, closed
 * @percent: how many of them were no later than what is returned, up to 100
 *
 * Return: the lateness in ns, 0 if none expired.
 */
__u64 lateness(const struct account *a, unsigned int percent);

#endif /* TWHEELCTL_ACCOUNT_H */
