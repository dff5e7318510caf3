// SPDX-License-Identifier: GPL-2.0
/*
 * Cost per event when many operations expire at nearly the same time. Deadlines are 10 ns
 * apart on average. The last one is just before a tick of the device, so that the wait for that
 * tick is not part of the figures.
 *
 * "expire" is the elapsed time from the first deadline to the last event, while the
 * kernel and the program share a CPU. "deliver" is the part of the program: the kernel
 * has had time to process all expiries before the program reads the first event.
 *
 * With an exact clock, fewer operations are due at a time, in several bursts: all have expired
 * before RCU begins to free the first ones, which would take instructions at a time that varies.
 */
#include <errno.h>

#include "bench.h"

/* Operations that have not expired after this time are lost. */
#define LOST_MS		20000

/* Average distance of deadlines, short enough to keep every contender busy. */
#define APART_NS	10

/* Length of a tick of the device. */
#define TICK_NS		1048576ULL

/* With an exact clock: the operations of a burst, and the number of bursts. */
#define EXACT_DUE	1000
#define EXACT_BURSTS	6

/* Time to wait for surplus events. */
#define SURPLUS_MS	20

/* Add all operations with random deadlines from @due on. */
static int add_due(struct session *session, uint64_t due)
{
	for (unsigned int i = 0; i < session->nr; i++)
		session->ops[i].deadline = due + random_below(APART_NS * session->nr);
	return session_add(session, 0, session->nr);
}

/*
 * Open a session and add all operations before @due, the first deadline. Retry with a
 * later @due if @add_ns per operation was not enough.
 */
static int open_due(struct session *session, const struct contender *contender,
		    unsigned int pending, double add_ns, uint64_t *due)
{
	uint64_t lead = 20 * NSEC_PER_MSEC + 2 * pending * add_ns, start;
	int error;

	for (;;) {
		error = session_open(session, contender, pending);
		if (error)
			return error;
		error = session_create(session);
		start = now_ns();
		*due = (start + lead) / TICK_NS * TICK_NS + TICK_NS - APART_NS * pending % TICK_NS;
		if (!error)
			error = add_due(session, *due);
		if (!error && now_ns() + 2 * NSEC_PER_MSEC < *due)
			return 0;
		lead = 2 * (now_ns() - start) + 20 * NSEC_PER_MSEC;
		session_close(session);
		if (error)
			return error;
	}
}

static int take_all(struct session *session)
{
	const char *name = session->contender->name;
	uint64_t since = now_ns();

	while (session->expired < session->nr) {
		unsigned int before = session->expired;
		int error = session->contender->take(session, LOST_MS);

		if (error)
			return error;
		if (session->expired != before) {
			since = now_ns();
			continue;
		}
		/* take() may return early, for example after a signal, so check the clock. */
		if (now_ns() - since < LOST_MS * NSEC_PER_MSEC)
			continue;
		failure("%s: %u of %u operations never expired", name, session->nr - before,
			session->nr);
		return -FAILED;
	}
	return 0;
}

/*
 * The program does not read events for @pause_ns after the first deadline. @ns is set to
 * the time it needs to read them all.
 */
static int burst(const struct contender *contender, unsigned int pending, double add_ns,
		 uint64_t pause_ns, uint64_t *ns)
{
	struct session session;
	uint64_t due;
	int error;

	error = open_due(&session, contender, pending, add_ns, &due);
	if (error)
		return error;
	/* Start early, to detect early events. */
	sleep_until(due - 100 * NSEC_PER_MSEC);
	if (pause_ns) {
		sleep_until(due + pause_ns);
		due = now_ns();
	}
	error = take_all(&session);
	*ns = now_ns() - due;
	/* A surplus event is a failure and would arrive now. */
	if (!error)
		error = contender->take(&session, SURPLUS_MS);
	session_close(&session);
	return error;
}

/* The lowest duration of several bursts: deferred work of the kernel only adds to it. */
static int bursts(const struct contender *contender, unsigned int pending, double add_ns,
		  uint64_t pause_ns, uint64_t *lowest)
{
	unsigned int i, nr = exact ? EXACT_BURSTS : 1;
	uint64_t ns = 0;
	int error = 0;

	*lowest = UINT64_MAX;
	for (i = 0; i < nr && !error; i++) {
		error = burst(contender, pending, add_ns, pause_ns, &ns);
		if (ns < *lowest)
			*lowest = ns;
	}
	return error;
}

int expire(const struct contender *contender, unsigned int pending, double add_ns)
{
	uint64_t expire_ns, deliver_ns;
	int error;

	if (exact && pending > EXACT_DUE)
		pending = EXACT_DUE;
	error = bursts(contender, pending, add_ns, 0, &expire_ns);
	if (error)
		return error;
	sample_ns(contender, "expire", pending, (double)expire_ns / pending);
	error = bursts(contender, pending, add_ns, 4 * expire_ns + 10 * NSEC_PER_MSEC, &deliver_ns);
	if (!error)
		sample_ns(contender, "deliver", pending, (double)deliver_ns / pending);
	return error;
}
