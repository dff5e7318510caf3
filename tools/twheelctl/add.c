// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl add: adds an operation and, unless it is detached, prints its events.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheelctl.h"

static const char add_help[] =
"usage: twheelctl [-p NAME] add --in TIME|--at POINT|--never [OPTION]...\n"
"\n"
"Adds an operation, prints its ID, waits until it ends, and prints its events. The\n"
"exit status is 0 if it completed, 1 if it completed with an error, 4 if it expired,\n"
"5 if it was cancelled.\n"
"\n"
"  --in TIME         deadline, from now: 250ms, 5s, 2h, 1d\n"
"  --at POINT        deadline: @2026-12-01T03:00[:05][Z|+01:00] or @SECONDS since\n"
"                    1970, which imply --clock realtime; or a reading of another\n"
"                    --clock: 500s\n"
"  --never           no deadline; the default with keys\n"
"  --clock CLOCK     monotonic (default), boottime or realtime\n"
"  --cancel-on-set   with a date, or --never and realtime: cancel the operation\n"
"                    when the clock is set\n"
"  --slack TIME      allow it to expire up to TIME late, to save work\n"
"  --coarse          allow it to be late by an eighth of the time to its deadline\n"
"\n"
"  --key KEY[*NEED]  watch a key, which is satisfied after NEED signals (1); can be\n"
"                    repeated\n"
"  --any             complete when one key is satisfied (default)\n"
"  --all             complete when all keys are satisfied\n"
"  --quorum K        complete when K keys are satisfied\n"
"  --sum N           complete when the amounts signalled to its keys reach N\n"
"\n"
"  --every TIME      periodic, with an event for each period; the first period ends\n"
"                    after TIME unless a deadline is given\n"
"  --runs N          expire after N periods; 0, the default, means no limit\n"
"  --fixed-delay     start a period when the previous event is queued or, if it is not\n"
"                    read within the period, when it is read\n"
"\n"
"  --cookie N        number returned in its events\n"
"  --detach          print its ID and exit: the operation remains, and 'twheelctl\n"
"                    watch' reads its events\n"
"  --queue N         queue of its events, with --detach (0)\n"
"  --json            print JSON, one object per line\n"
"\n"
"A KEY in the form of a UUID is a UUID, a KEY of digits is a number, any other KEY\n"
"is text of 1 to 16 bytes. The prefixes text:, num: and uuid: select the type;\n"
"hash:TEXT takes a text of any length.\n"
"Without -p, only the deadline can end the operation.\n";

/* A key and its need, KEY[*NEED], which is 1 by default. */
static bool take_watch(const char *text, void *to)
{
	const char *star = strchrnul(text, '*');
	char *key = strndup(text, star - text);
	struct twheel_watch_spec spec = { };
	struct watch_list *list = to;
	__u64 need = 1;
	bool ok;

	if (!key)
		exit(device_failure("memory"));
	ok = parse_key(key, &spec.key) &&
	     (!*star || (parse_count(star + 1, TWHEEL_MAX_NEED, &need) && need));
	free(key);
	spec.need = need;
	list->specs = must_realloc(list->specs, list->nr + 1, sizeof(spec));
	list->specs[list->nr++] = spec;
	return ok;
}

/**
 * struct order - an operation to add
 * @args: arguments of the system call
 * @keys: keys that @args points to
 *
 * The others are the parsed options.
 */
struct order {
	struct twheel_add_args args;
	struct watch_list keys;
	struct when_options when;
	struct number clock;
	bool cancel_on_set;
	struct number slack;
	bool coarse;
	bool any;
	bool all;
	struct number quorum;
	struct number sum;
	struct number every;
	struct number runs;
	bool fixed_delay;
	struct number cookie;
	bool detach;
	struct number queue;
};

static bool have_needs(const struct watch_list *keys)
{
	unsigned int i = 0;

	while (i < keys->nr && keys->specs[i].need == 1)
		i++;
	return i < keys->nr;
}

/* Return: the first reason why the options are wrong, or NULL. */
static const char *wrong_options(const struct order *o, const char *purgatory)
{
	int conditions = o->any + o->all + o->quorum.given + o->sum.given;
	int deadlines = nr_when(&o->when);
	bool every = o->every.given, at = o->when.at.given, date = at && o->when.at.wall;
	bool realtime = o->clock.given && o->clock.value == CLOCK_REALTIME;
	const struct {
		bool wrong;
		const char *why;
	} rules[] = {
		{ conditions > 1, "--any, --all, --quorum and --sum are mutually exclusive" },
		{ conditions && !o->keys.nr, "a condition requires keys: --key KEY" },
		{ o->keys.nr > TWHEEL_MAX_KEYS, "an operation watches at most 64 keys" },
		{ o->sum.given && !o->sum.value, "--sum must be at least 1" },
		{ o->sum.given && have_needs(&o->keys),
		  "--sum counts amounts: its keys cannot have a NEED" },
		{ !every && (o->runs.given || o->fixed_delay),
		  "--runs and --fixed-delay require --every" },
		{ every && !o->every.value, "--every must not be 0" },
		{ every && o->when.never, "--every and --never are mutually exclusive" },
		{ every && (o->slack.given || o->coarse),
		  "--slack and --coarse cannot be used with --every" },
		{ deadlines > 1, "--in, --at and --never are mutually exclusive" },
		{ !deadlines && !o->keys.nr && !every,
		  "no deadline given: use --in TIME, --at POINT or --never" },
		{ date && o->clock.given && !realtime,
		  "--at with a date requires --clock realtime" },
		{ at && !date && (!o->clock.given || realtime),
		  "--at requires " POINT_EXPECTED "; --in is relative to now" },
		{ o->cancel_on_set && !(at ? date : o->when.never && realtime),
		  "--cancel-on-set requires --at with a date, or --never and --clock realtime" },
		{ o->slack.given && o->coarse, "--slack and --coarse are mutually exclusive" },
		{ o->queue.given && !o->detach, "--queue requires --detach" },
		{ o->detach && !purgatory, "--detach requires a named purgatory: -p NAME" },
		{ o->keys.nr && !purgatory, "--key requires a named purgatory: -p NAME" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].wrong)
			return rules[i].why;
	return NULL;
}

static void build(struct order *o)
{
	struct twheel_add_args *args = &o->args;

	*args = (struct twheel_add_args){
		.flags = (o->when.at.given || o->cancel_on_set ? TWHEEL_ADD_ABSTIME : 0) |
			 (o->detach ? TWHEEL_ADD_DETACHED : 0) |
			 (o->cancel_on_set ? TWHEEL_ADD_CANCEL_ON_SET : 0) |
			 (o->fixed_delay ? TWHEEL_ADD_FIXED_DELAY : 0),
		.cookie = o->cookie.value,
		.queue = o->queue.value,
		.quorum = o->quorum.value,
		.threshold = o->sum.value,
		.keys = (uintptr_t)o->keys.specs,
		.nr_keys = o->keys.nr,
		.clock = o->clock.given ? o->clock.value : CLOCK_MONOTONIC,
		.deadline = when_deadline(&o->when),
		.slack = o->coarse ? TWHEEL_SLACK_COARSE : o->slack.value,
		.period = o->every.value,
		.runs = o->runs.value,
	};
	if (o->all)
		args->condition = TWHEEL_COND_ALL;
	else if (o->quorum.given)
		args->condition = TWHEEL_COND_QUORUM;
	else if (o->sum.given)
		args->condition = TWHEEL_COND_SUM;
	else if (o->keys.nr)
		args->condition = TWHEEL_COND_ANY;
	for (unsigned int i = 0; o->sum.given && i < o->keys.nr; i++)
		o->keys.specs[i].need = 0;
	if (o->when.at.given && o->when.at.wall)
		args->clock = CLOCK_REALTIME;
	if (!nr_when(&o->when))
		args->deadline = o->every.given ? o->every.value : TWHEEL_NEVER;
}

/* Parses and checks the arguments, without the device. Return: as take_arguments(). */
static bool take_order(struct command_line *line, struct order *o)
{
	const struct option_spec specs[] = {
		{ "in", take_time, &o->when.in, TIME_EXPECTED },
		{ "at", take_point, &o->when.at, POINT_EXPECTED },
		{ "never", NULL, &o->when.never, NULL },
		{ "clock", take_clock, &o->clock, "monotonic, boottime or realtime" },
		{ "cancel-on-set", NULL, &o->cancel_on_set, NULL },
		{ "slack", take_time, &o->slack, TIME_EXPECTED },
		{ "coarse", NULL, &o->coarse, NULL },
		{ "key", take_watch, &o->keys,
		  "KEY[*NEED]: " KEY_EXPECTED
		  "; NEED: a whole number from 1 to 67108863 after '*'" },
		{ "any", NULL, &o->any, NULL },
		{ "all", NULL, &o->all, NULL },
		{ "quorum", take_number32, &o->quorum, NUMBER32_EXPECTED },
		{ "sum", take_number, &o->sum, NUMBER_EXPECTED },
		{ "every", take_time, &o->every, TIME_EXPECTED },
		{ "runs", take_number, &o->runs, NUMBER_EXPECTED },
		{ "fixed-delay", NULL, &o->fixed_delay, NULL },
		{ "cookie", take_number, &o->cookie, NUMBER_EXPECTED },
		{ "detach", NULL, &o->detach, NULL },
		{ "queue", take_queue, &o->queue, QUEUE_EXPECTED },
		{ }
	};
	const char *wrong;

	*o = (struct order){ };
	if (!take_arguments(line, add_help, specs, 0, 0))
		return false;
	wrong = wrong_options(o, line->purgatory);
	if (wrong)
		line->outcome = wrong_usage(line, "%s", wrong);
	else
		build(o);
	return !wrong;
}

/*
 * Prints only the ID of a detached operation, for use by scripts.
 * Return: false if it cannot be written.
 */
static bool print_added(const struct command_line *line, const struct twheel_add_args *args)
{
	json_t *object = json_pack("{s:s, s:o}", "type", "added", "id", json_digits(args->id));

	if (args->flags & TWHEEL_ADD_DETACHED)
		return show_change(line, object, "%llu", args->id);
	return show_change(line, object, "operation %llu is pending", args->id);
}

/* Prints the events of the operation, including the last one. */
static enum outcome follow(const struct command_line *line, const struct order *order, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	__u32 condition = order->args.condition;
	/* The condition counts satisfied keys. */
	bool counted = condition != TWHEEL_COND_NONE && condition != TWHEEL_COND_SUM;
	struct twheel_event event;
	ssize_t nr;

	do {
		if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
			return device_failure("waiting for an event");
		nr = twheel_read_events(fd, &event, 1);
		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return device_failure("reading an event");
		if (nr > 0 && !show_event(&event, counted ? &order->keys : NULL, line->json))
			return OUTCOME_DEVICE;
	} while (nr < 0 || (nr && event.flags & TWHEEL_EVENT_MORE));
	if (!nr) {
		fputs("twheelctl add: " REMOVED_TEXT ", and no event was received\n", stderr);
		return OUTCOME_FAILED;
	}
	return event_outcome(&event);
}

static enum outcome add(struct command_line *line, struct order *order)
{
	bool detached = order->args.flags & TWHEEL_ADD_DETACHED;
	int fd = detached ? open_named(line, O_WRONLY) : open_purgatory(line, O_RDWR);
	enum outcome outcome = OUTCOME_OK;

	if (fd < 0)
		return line->outcome;
	if (twheel_add(fd, &order->args))
		outcome = refused(line, "operation not added");
	else if (!print_added(line, &order->args))
		outcome = OUTCOME_DEVICE;
	else if (!detached)
		outcome = follow(line, order, fd);
	close(fd);
	return outcome;
}

enum outcome add_command(struct command_line *line)
{
	struct order order;

	if (take_order(line, &order))
		line->outcome = add(line, &order);
	free(order.keys.specs);
	return line->outcome;
}
