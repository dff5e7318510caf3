// SPDX-License-Identifier: GPL-2.0
/*
 * The player of scripts. See player.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "outcome.h"
#include "player.h"
#include "show.h"
#include "units.h"

#define EVENT_BATCH	64

/*
 * Reports a failed call or expectation of command @c with its line number.
 * A macro, so that the compiler checks the format.
 */
#define failed(p, c, format, ...)					\
	(fprintf(stderr, "%s:%u: " format "\n", (p)->file, (c)->line,	\
		 __VA_ARGS__), OUTCOME_FAILED)

/* Reports a bug of the module, which fails any script. */
static enum outcome broken(const struct player *p, const char *name,
			   const char *message)
{
	fprintf(stderr, "%s: %s: %s\n", p->file, name, message);
	return OUTCOME_FAILED;
}

static enum outcome take_event(struct player *p, const struct twheel_event *event)
{
	struct op *op;

	if (event->cookie >= p->ops.nr)
		return broken(p, "an event", "the script did not add its operation");
	op = &p->ops.ops[event->cookie];
	if (event->id != op->id)
		return broken(p, op->name, "an event with a wrong ID");
	if (event->reason < TWHEEL_REASON_COMPLETED || event->reason > TWHEEL_REASON_CANCELLED)
		return broken(p, op->name, "an event with an unknown reason");
	if (op->over)
		return broken(p, op->name, "an event after its last event");

	op->event = *event;
	p->nr_events++;
	if (event->flags & TWHEEL_EVENT_MORE) {
		op->rounds += event->expirations;
	} else {
		op->over = true;
		p->tally.ended[event->reason]++;
		p->tally.pending--;
	}
	report_event(op, p->start, p->json);

	if (event->reason == TWHEEL_REASON_EXPIRED && event->time < event->deadline)
		return broken(p, op->name, "expired before its deadline");
	return OUTCOME_OK;
}

enum outcome take_events(struct player *p)
{
	struct twheel_event events[EVENT_BATCH];
	ssize_t nr;

	while ((nr = twheel_read_events(p->fd, events, EVENT_BATCH)) > 0) {
		for (ssize_t i = 0; i < nr; i++) {
			enum outcome outcome = take_event(p, &events[i]);

			if (outcome)
				return outcome;
		}
	}
	if (nr < 0 && errno != EAGAIN && errno != EINTR)
		return device_failure("reading events");
	return OUTCOME_OK;
}

/* Waits until @until at the latest, and handles the queued events. */
static enum outcome wait_events(struct player *p, __u64 until)
{
	struct pollfd poll_fd = { .fd = p->fd, .events = POLLIN };
	__u64 now = now_ns();
	struct timespec timeout = to_timespec(until > now ? until - now : 0);

	if (ppoll(&poll_fd, 1, &timeout, NULL) < 0 && errno != EINTR)
		return device_failure("waiting for events");
	return take_events(p);
}

static __u64 deadline(const struct player *p, const struct command *c)
{
	switch (c->when) {
	case WHEN_IN:
		return c->time;
	case WHEN_AT:
		return p->start + c->time;
	default:
		return TWHEEL_NEVER;
	}
}

static int call_add(struct player *p, const struct command *c)
{
	struct twheel_add_args args = {
		.flags = c->when == WHEN_AT ? TWHEEL_ADD_ABSTIME : 0,
		.clock = CLOCK_MONOTONIC,
		.deadline = deadline(p, c),
		.period = c->period,
		.runs = c->runs,
		.condition = c->condition,
		.quorum = c->quorum,
		.threshold = c->threshold,
		.nr_keys = c->watch.nr,
		.keys = (uintptr_t)c->watch.specs,
		.cookie = c->op,
	};

	if (twheel_add(p->fd, &args))
		return -1;
	if (c->op != NO_OP) {
		p->ops.ops[c->op].id = args.id;
		p->tally.pending++;
	}
	return 0;
}

static int call_signal(const struct player *p, const struct command *c, unsigned int *ended)
{
	struct twheel_signal_args args = {
		.key = c->key,
		.value = c->value,
		.amount = c->amount,
	};

	if (twheel_signal_with(p->fd, &args))
		return -1;
	*ended = args.completed;
	return 0;
}

static int call_rearm(const struct player *p, const struct command *c, __u64 id)
{
	__u32 flags = c->when == WHEN_AT ? TWHEEL_REARM_ABSTIME : 0;

	return twheel_rearm(p->fd, id, deadline(p, c), flags | c->mode) < 0 ? -1 : 0;
}

/* Return: 0 or -1. @ended is set by calls that return a number of operations. */
static int call(struct player *p, const struct command *c, unsigned int *ended)
{
	__u64 id = c->op < p->ops.nr ? p->ops.ops[c->op].id : 0;

	switch (c->verb) {
	case VERB_ADD:
		return call_add(p, c);
	case VERB_WATCH:
		return twheel_watch(p->fd, id, c->watch.specs, c->watch.nr);
	case VERB_UNWATCH:
		return twheel_unwatch(p->fd, id, c->key);
	case VERB_SIGNAL:
		return call_signal(p, c, ended);
	case VERB_COMPLETE:
		return twheel_complete(p->fd, id, c->value);
	case VERB_CANCEL_KEY:
		return twheel_cancel_key(p->fd, c->key, ended);
	case VERB_REARM:
		return call_rearm(p, c, id);
	default:
		return twheel_cancel(p->fd, id);
	}
}

static enum outcome play_call(struct player *p, const struct command *c)
{
	const char *verb = c->verb == VERB_SIGNAL ? "complete" : "cancel";
	unsigned int ended = 0;
	int error = call(p, c, &ended) ? errno : 0;

	if (error && !c->error)
		return failed(p, c, "refused with %s (%s)",
			      strerrorname_np(error), strerror(error));
	if (error != c->error)
		return failed(p, c, "expected %s, got %s",
			      strerrorname_np(c->error),
			      error ? strerrorname_np(error) : "no error");
	if (c->has_count && ended != c->count)
		return failed(p, c, "expected to %s %llu operations, it was %u", verb,
			      c->count, ended);
	return OUTCOME_OK;
}

static enum outcome play_sleep(struct player *p, const struct command *c)
{
	__u64 until = now_ns() + c->time;
	enum outcome outcome;

	do {
		outcome = wait_events(p, until);
	} while (!outcome && now_ns() < until);
	return outcome;
}

static enum outcome play_expect_end(struct player *p, const struct command *c)
{
	__u64 until = now_ns() + c->time;
	enum outcome outcome = take_events(p);
	const struct op *op = &p->ops.ops[c->op];
	char within[TIME_TEXT_SIZE];

	while (!outcome && !op->over && now_ns() < until)
		outcome = wait_events(p, until);
	if (outcome)
		return outcome;

	if (!op->over)
		return failed(p, c, "expected %s %s, nothing came within %s",
			      op->name, reason_name(c->reason),
			      format_time(within, c->time));
	if (op->event.reason != c->reason)
		return failed(p, c, "expected %s %s, it is %s", op->name,
			      reason_name(c->reason),
			      reason_name(op->event.reason));
	if (c->has_value && op->event.value != c->value)
		return failed(p, c, "expected value %llu, it is %llu",
			      c->value, op->event.value);
	return OUTCOME_OK;
}

static enum outcome play_expect_round(struct player *p, const struct command *c)
{
	__u64 until = now_ns() + c->time;
	enum outcome outcome = take_events(p);
	struct op *op = &p->ops.ops[c->op];
	char within[TIME_TEXT_SIZE];

	while (!outcome && !op->rounds && !op->over && now_ns() < until)
		outcome = wait_events(p, until);
	if (outcome)
		return outcome;

	if (!op->rounds)
		return failed(p, c, "expected %s to come round, it %s %s", op->name,
			      op->over ? "is" : "did not within",
			      op->over ? reason_name(op->event.reason) :
					 format_time(within, c->time));
	op->rounds--;
	return OUTCOME_OK;
}

static enum outcome play_expect_nothing(struct player *p, const struct command *c)
{
	size_t nr_events = p->nr_events;
	enum outcome outcome = play_sleep(p, c);

	if (!outcome && p->nr_events > nr_events)
		return failed(p, c, "expected nothing, %zu events came",
			      p->nr_events - nr_events);
	return outcome;
}

static enum outcome play_expect_pending(struct player *p, const struct command *c)
{
	struct twheel_query_args query;

	if (twheel_query(p->fd, &query))
		return device_failure("query");
	if (query.own != c->count)
		return failed(p, c, "expected %llu operations pending, %llu are",
			      c->count, query.own);
	return OUTCOME_OK;
}

enum outcome play_command(struct player *p, const struct command *command)
{
	switch (command->verb) {
	case VERB_NONE:
		return OUTCOME_OK;
	case VERB_SLEEP:
		return play_sleep(p, command);
	case VERB_EXPECT_END:
		return play_expect_end(p, command);
	case VERB_EXPECT_ROUND:
		return play_expect_round(p, command);
	case VERB_EXPECT_NOTHING:
		return play_expect_nothing(p, command);
	case VERB_EXPECT_PENDING:
		return play_expect_pending(p, command);
	default:
		return play_call(p, command);
	}
}

enum outcome end_play(struct player *p)
{
	__u64 until = now_ns() + NSEC_PER_SEC;
	struct twheel_query_args query;
	enum outcome outcome;

	/*
	 * An operation may end between the last read and the query, or during the
	 * query. Only a persistent difference is an error.
	 */
	do {
		outcome = take_events(p);
		if (outcome)
			return outcome;
		if (twheel_query(p->fd, &query))
			return device_failure("query");
	} while (query.own != p->tally.pending && now_ns() < until);

	if (query.own != p->tally.pending) {
		fprintf(stderr, "%s: %zu operations have not ended, but %llu are pending\n",
			p->file, p->tally.pending, query.own);
		return OUTCOME_FAILED;
	}
	report_tally(&p->tally, p->json);
	return OUTCOME_OK;
}
