// SPDX-License-Identifier: GPL-2.0
/*
 * Cost of re-arming, cancelling and adding while many operations are pending.
 *
 * "fill" is the last eighth of the initial adds. After that, each round re-arms some
 * operations picked at random, cancels some and adds the same number again. Contenders
 * with signals repeat the last step with signals instead of cancels. So at least seven
 * eighths of the operations are always pending. Deadlines are one to ten minutes ahead,
 * and no operation expires.
 *
 * "add" differs from "fill" in the state of the memory: "add" reuses memory that was just
 * freed, but the cancels have replaced the contents of the caches. An exact clock does not see
 * caches, and the growth of tables and slabs during "fill" depends on the past: there it is not
 * reported.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"

#define MOST_A_ROUND	1024

/* The first deadline is a minute after the start of the session. */
#define ENOUGH_NS	(50 * NSEC_PER_SEC)

/* Number of operations and their total time. */
struct total {
	uint64_t	nr;
	uint64_t	ns;
};

/* Calls that end operations, without and with reading the resulting events. */
struct ends {
	struct total	calls;
	struct total	all;
};

/**
 * struct churn - state of a measurement
 * @session: the session; all operations are pending between rounds
 * @options: options of the run
 * @end: latest time of a result, since operations expire soon after it
 * @numbers: numbers of all operations, the picked ones first
 * @picked: number of operations picked per round
 * @filled: the last initial adds
 * @added: adds of all rounds
 * @cancelled: cancels of all rounds
 * @signalled: signals of all rounds, one operation each
 * @rearmed: re-arms of all rounds
 */
struct churn {
	struct session		session;
	const struct options	*options;
	uint64_t		end;
	uint32_t		*numbers;
	unsigned int		picked;
	struct total		filled;
	struct total		added;
	struct ends		cancelled;
	struct ends		signalled;
	struct total		rearmed;
};

static void pick(struct churn *c)
{
	for (unsigned int i = 0; i < c->picked; i++) {
		unsigned int j = i + random_below(c->session.nr - i);
		uint32_t number = c->numbers[i];

		c->numbers[i] = c->numbers[j];
		c->numbers[j] = number;
	}
}

static bool is_enough(const struct churn *c, const struct total *total)
{
	return total->nr >= c->options->operations || total->ns >= c->options->budget_ns;
}

/*
 * Call @function for up to @nr picked operations, within @budget_ns. @nr is set to the
 * number of processed operations.
 */
static int timed(struct churn *c, struct total *total, unsigned int *nr, uint64_t budget_ns,
		 int (*function)(struct session *, const uint32_t *, unsigned int))
{
	uint64_t start = now_ns(), end = start;
	unsigned int batch = c->session.contender->batch, done = 0, step;
	int error;

	while (done < *nr && end - start < budget_ns) {
		step = *nr - done < batch ? *nr - done : batch;
		error = function(&c->session, c->numbers + done, step);
		if (error)
			return error;
		done += step;
		end = now_ns();
	}
	total->ns += end - start;
	total->nr += done;
	*nr = done;
	return 0;
}

static int rearm_some(struct churn *c)
{
	unsigned int nr = c->picked;
	uint64_t now = now_ns();

	pick(c);
	for (unsigned int i = 0; i < nr; i++)
		c->session.ops[c->numbers[i]].deadline = mixed_deadline(now);
	return timed(c, &c->rearmed, &nr, c->options->budget_ns,
		     c->session.contender->rearm);
}

/* End picked operations, read the resulting events, and check that all of them have ended. */
static int end_some(struct churn *c, struct ends *ends, unsigned int *nr,
		    int (*function)(struct session *, const uint32_t *, unsigned int))
{
	const struct contender *contender = c->session.contender;
	uint64_t before = ends->calls.ns, start;
	int error;

	pick(c);
	*nr = c->picked;
	error = timed(c, &ends->calls, nr, c->options->budget_ns, function);
	ends->all.ns += ends->calls.ns - before;
	ends->all.nr = ends->calls.nr;
	if (!error && contender->settle) {
		start = now_ns();
		error = contender->settle(&c->session, *nr);
		ends->all.ns += now_ns() - start;
	}
	/* An entry of an expired operation may have counted as one that was waited for. */
	if (!error && now_ns() > c->end)
		error = -TOO_LONG;
	for (unsigned int i = 0; i < *nr && !error; i++) {
		if (c->session.ops[c->numbers[i]].state == OP_IDLE)
			continue;
		failure("%s: the end of operation %u was not reported", contender->name,
			c->numbers[i]);
		error = -FAILED;
	}
	return error;
}

static int add_some(struct churn *c, unsigned int nr)
{
	uint64_t now = now_ns();

	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &c->session.ops[c->numbers[i]];

		op->deadline = mixed_deadline(now);
		op->state = OP_PENDING;
	}
	/* Without a time limit, since the next round needs all of them. */
	return timed(c, &c->added, &nr, UINT64_MAX, c->session.contender->add);
}

/* End operations and add the same number, unless the figure is complete. */
static int replace_some(struct churn *c, struct ends *ends,
			int (*function)(struct session *, const uint32_t *, unsigned int))
{
	unsigned int nr;
	int error;

	if (!function || is_enough(c, &ends->all))
		return 0;
	error = end_some(c, ends, &nr, function);
	return error ? error : add_some(c, nr);
}

static int rounds(struct churn *c)
{
	const struct contender *contender = c->session.contender;
	int error = 0;

	while (!is_enough(c, &c->rearmed) || !is_enough(c, &c->cancelled.all) ||
	       (contender->signal && !is_enough(c, &c->signalled.all))) {
		if (now_ns() > c->end)
			return c->added.nr ? 0 : -TOO_LONG;
		if (!is_enough(c, &c->rearmed))
			error = rearm_some(c);
		if (!error)
			error = replace_some(c, &c->cancelled, contender->cancel);
		if (!error)
			error = replace_some(c, &c->signalled, contender->signal);
		/* Operations that have expired are not found. */
		if (error)
			return now_ns() > c->end ? -TOO_LONG : error;
	}
	return 0;
}

static void report(const struct churn *c, const char *figure, const struct total *total)
{
	if (total->nr)
		sample_ns(c->session.contender, figure, c->session.nr,
			  (double)total->ns / total->nr);
}

static void report_all(const struct churn *c)
{
	if (!exact)
		report(c, "fill", &c->filled);
	report(c, "add", &c->added);
	report(c, "cancel", &c->cancelled.all);
	if (c->session.contender->settle)
		report(c, "cancel_call", &c->cancelled.calls);
	if (c->session.contender->signal)
		report(c, "signal", &c->signalled.all);
	report(c, "rearm", &c->rearmed);
}

static int fill(struct churn *c)
{
	unsigned int nr = c->session.nr, last = nr / 8;
	uint64_t start;
	int error;

	error = session_create(&c->session);
	if (!error)
		error = session_add(&c->session, 0, nr - last);
	start = now_ns();
	if (!error)
		error = session_add(&c->session, nr - last, nr);
	c->filled = (struct total){ .nr = last, .ns = now_ns() - start };
	return error;
}

/* @add_ns is set to the time per operation of "fill". */
int churn(const struct contender *contender, unsigned int pending,
	  const struct options *options, double *add_ns)
{
	struct churn c = { .options = options, .end = now_ns() + ENOUGH_NS };
	int error;

	c.picked = pending / 8 < MOST_A_ROUND ? pending / 8 : MOST_A_ROUND;
	c.numbers = malloc(pending * sizeof(*c.numbers));
	if (!c.numbers)
		return -ENOMEM;
	for (unsigned int i = 0; i < pending; i++)
		c.numbers[i] = i;

	error = session_open(&c.session, contender, pending);
	if (!error) {
		error = fill(&c);
		if (!error)
			error = rounds(&c);
		session_close(&c.session);
	}
	if (!error) {
		report_all(&c);
		*add_ns = (double)c.filled.ns / c.filled.nr;
	}
	free(c.numbers);
	return error;
}
