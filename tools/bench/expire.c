// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs per event when so many operations expire at nearly the same time and are told
 * of. Each has a deadline of its own, 10 ns for each operation apart on the average.
 *
 * "expire" is all of it, by the wall: from that time on until the last event is here, while
 * the kernel and the program share a CPU. "deliver" is the program's part: the kernel has had
 * time to notice all of them before the first is asked for.
 */
#include <errno.h>

#include "bench.h"

/* When nothing has come for so long, what is missing is lost. */
#define LOST_MS		20000

/* How far apart deadlines are: faster than any contender is, so that it is busy all along */
#define APART_NS	10

/* What an event too many has to come within */
#define SURPLUS_MS	20

/* Due from @due on, in no order */
static int add_due(struct session *session, uint64_t due)
{
	for (unsigned int i = 0; i < session->nr; i++)
		session->ops[i].deadline = due + random_below(APART_NS * session->nr);
	return session_add(session, 0, session->nr);
}

/*
 * A session whose operations are due from @due on, before which all have been added. If
 * @add_ns for each of them were too few, once more with more.
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
		*due = start + lead;
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
		/* A wait may end before its time, as by a signal: go by the clock. */
		if (now_ns() - since < LOST_MS * NSEC_PER_MSEC)
			continue;
		failure("%s: %u of %u operations never expired", name, session->nr - before,
			session->nr);
		return -FAILED;
	}
	return 0;
}

/*
 * @pause_ns is for how long nobody looks at what has expired; @ns is set to what the rest
 * takes.
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
	/* From some time before, so that what comes early is seen. */
	sleep_until(due - 100 * NSEC_PER_MSEC);
	if (pause_ns) {
		sleep_until(due + pause_ns);
		due = now_ns();
	}
	error = take_all(&session);
	*ns = now_ns() - due;
	/* One that comes twice is a failure, and would come now. */
	if (!error)
		error = contender->take(&session, SURPLUS_MS);
	session_close(&session);
	return error;
}

int expire(const struct contender *contender, unsigned int pending, double add_ns)
{
	uint64_t all_ns, deliver_ns;
	int error;

	error = burst(contender, pending, add_ns, 0, &all_ns);
	if (error)
		return error;
	sample(contender, "expire", pending, "ns", (double)all_ns / pending);
	error = burst(contender, pending, add_ns, 2 * all_ns + 10 * NSEC_PER_MSEC, &deliver_ns);
	if (!error)
		sample(contender, "deliver", pending, "ns", (double)deliver_ns / pending);
	return error;
}
