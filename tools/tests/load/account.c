// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting of the workload. See account.h.
 */
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "outcome.h"

void init_account(struct account *a, size_t nr)
{
	*a = (struct account){ .nr = nr };
	a->requests = must_realloc(NULL, nr, sizeof(*a->requests));
	memset(a->requests, 0, nr * sizeof(*a->requests));
	a->lateness = must_realloc(NULL, nr, sizeof(*a->lateness));
}

void free_account(struct account *a)
{
	free(a->requests);
	free(a->lateness);
}

__u64 request_value(size_t request)
{
	return request + 1;
}

static bool is_early(const struct request *r, const struct twheel_event *event,
		     __u64 seen)
{
	return event->time < event->deadline || event->time < r->not_before ||
	       seen < r->not_before;
}

void account_event(struct account *a, const struct twheel_event *event,
		   __u64 seen)
{
	bool expired = event->reason == TWHEEL_REASON_EXPIRED;
	struct request *r;

	/* Requests are never cancelled. */
	if (event->cookie >= a->nr ||
	    (!expired && event->reason != TWHEEL_REASON_COMPLETED)) {
		a->wrong++;
		return;
	}

	r = &a->requests[event->cookie];
	if (r->reason) {
		a->twice++;
		return;
	}
	r->reason = event->reason;
	a->reported++;

	if (event->value != (expired ? 0 : request_value(event->cookie)))
		a->wrong++;
	if (expired) {
		if (is_early(r, event, seen))
			a->early++;
		a->lateness[a->ended[TWHEEL_REASON_EXPIRED]] =
			event->time > event->deadline ?
			event->time - event->deadline : 0;
	}
	a->ended[event->reason]++;
}

static int compare(const void *left, const void *right)
{
	__u64 a = *(const __u64 *)left;
	__u64 b = *(const __u64 *)right;

	return (a > b) - (a < b);
}

void close_account(struct account *a, size_t added)
{
	for (size_t i = 0; i < added; i++) {
		const struct request *r = &a->requests[i];

		/* The event of a completed request was there before the interrupt. */
		if (!r->reason && a->interrupted && !r->completed)
			a->unfinished++;
		else if (!r->reason)
			a->lost++;
		else if (r->completed != (r->reason == TWHEEL_REASON_COMPLETED))
			a->wrong++;
	}
	/* Events of requests that were not added */
	for (size_t i = added; i < a->nr; i++)
		a->wrong += a->requests[i].reason != 0;

	qsort(a->lateness, a->ended[TWHEEL_REASON_EXPIRED], sizeof(*a->lateness),
	      compare);
}

bool account_holds(const struct account *a)
{
	return !a->lost && !a->twice && !a->early && !a->wrong;
}

__u64 lateness(const struct account *a, unsigned int percent)
{
	size_t nr = a->ended[TWHEEL_REASON_EXPIRED];
	size_t rank = (nr * percent + 99) / 100;

	return nr ? a->lateness[rank ? rank - 1 : 0] : 0;
}
