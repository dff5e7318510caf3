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
 */
struct order {
	struct twheel_add_args args;
	struct watch_list keys;
};

/* The parsed options. */
struct order_options {
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

static const char *wrong_condition(const struct order_options *o, const struct order *order)
{
	int nr = o->any + o->all + o->quorum.given + o->sum.given;

	if (nr > 1)
		return "--any, --all, --quorum and --sum are mutually exclusive";
	if (nr && !order->keys.nr)
		return "a condition requires keys: --key KEY";
	if (order->keys.nr > TWHEEL_MAX_KEYS)
		return "an operation watches at most 64 keys";
	if (o->sum.given && !o->sum.value)
		return "--sum must be at least 1";
	for (unsigned int i = 0; o->sum.given && i < order->keys.nr; i++)
		if (order->keys.specs[i].need != 1)
			return "--sum counts amounts: its keys cannot have a NEED";
	return NULL;
}

static const char *wrong_period(const struct order_options *o)
{
	if (!o->every.given && (o->runs.given || o->fixed_delay))
		return "--runs and --fixed-delay require --every";
	if (o->every.given && !o->every.value)
		return "--every must not be 0";
	if (o->every.given && o->when.never)
		return "--every and --never are mutually exclusive";
	if (o->every.given && (o->slack.given || o->coarse))
		return "--slack and --coarse cannot be used with --every";
	return NULL;
}

static const char *wrong_time(const struct order_options *o, const struct order *order)
{
	bool realtime = o->clock.given && o->clock.value == CLOCK_REALTIME;

	if (nr_when(&o->when) > 1)
		return "--in, --at and --never are mutually exclusive";
	if (!nr_when(&o->when) && !order->keys.nr && !o->every.given)
		return "no deadline given: use --in TIME, --at POINT or --never";
	if (o->when.at.given && o->when.at.wall && o->clock.given && !realtime)
		return "--at with a date requires --clock realtime";
	if (o->when.at.given && !o->when.at.wall && (!o->clock.given || realtime))
		return "--at requires " POINT_EXPECTED "; --in is relative to now";
	if (o->cancel_on_set && !(o->when.at.given ? o->when.at.wall : o->when.never && realtime))
		return "--cancel-on-set requires --at with a date, or --never and --clock realtime";
	if (o->slack.given && o->coarse)
		return "--slack and --coarse are mutually exclusive";
	return NULL;
}

static const char *wrong_purgatory(const struct command_line *line,
				   const struct order_options *o, const struct order *order)
{
	if (o->queue.given && !o->detach)
		return "--queue requires --detach";
	if (line->purgatory)
		return NULL;
	if (o->detach)
		return "--detach requires a named purgatory: -p NAME";
	if (order->keys.nr)
		return "--key requires a named purgatory: -p NAME";
	return NULL;
}

static void set_condition(struct twheel_add_args *args, const struct order_options *o,
			  const struct watch_list *keys)
{
	if (o->all)
		args->condition = TWHEEL_COND_ALL;
	else if (o->quorum.given)
		args->condition = TWHEEL_COND_QUORUM;
	else if (o->sum.given)
		args->condition = TWHEEL_COND_SUM;
	else if (keys->nr)
		args->condition = TWHEEL_COND_ANY;
	args->quorum = o->quorum.value;
	args->threshold = o->sum.value;
	args->keys = (uintptr_t)keys->specs;
	args->nr_keys = keys->nr;

	for (unsigned int i = 0; o->sum.given && i < keys->nr; i++)
		keys->specs[i].need = 0;
}

static void set_time(struct twheel_add_args *args, const struct order_options *o)
{
	args->clock = o->clock.given ? o->clock.value : CLOCK_MONOTONIC;
	if (o->when.at.given && o->when.at.wall)
		args->clock = CLOCK_REALTIME;
	args->deadline = when_deadline(&o->when);
	if (!nr_when(&o->when))
		args->deadline = o->every.given ? o->every.value : TWHEEL_NEVER;
	args->slack = o->coarse ? TWHEEL_SLACK_COARSE : o->slack.value;
	args->period = o->every.value;
	args->runs = o->runs.value;
}

static __u32 flags(const struct order_options *o)
{
	return (o->when.at.given || o->cancel_on_set ? TWHEEL_ADD_ABSTIME : 0) |
	       (o->detach ? TWHEEL_ADD_DETACHED : 0) |
	       (o->cancel_on_set ? TWHEEL_ADD_CANCEL_ON_SET : 0) |
	       (o->fixed_delay ? TWHEEL_ADD_FIXED_DELAY : 0);
}

static bool build(struct command_line *line, const struct order_options *o,
		  struct order *order)
{
	const char *wrong = wrong_condition(o, order);

	if (!wrong)
		wrong = wrong_period(o);
	if (!wrong)
		wrong = wrong_time(o, order);
	if (!wrong)
		wrong = wrong_purgatory(line, o, order);
	if (wrong) {
		line->outcome = wrong_usage(line, "%s", wrong);
		return false;
	}

	order->args = (struct twheel_add_args){
		.flags = flags(o),
		.cookie = o->cookie.value,
		.queue = o->queue.value,
	};
	set_condition(&order->args, o, &order->keys);
	set_time(&order->args, o);
	return true;
}

/* Parses and checks the arguments, without the device. Return: as take_arguments(). */
static bool take_order(struct command_line *line, struct order *order)
{
	struct order_options o = { };
	const struct option_spec specs[] = {
		{ "in", take_time, &o.when.in, TIME_EXPECTED },
		{ "at", take_point, &o.when.at, POINT_EXPECTED },
		{ "never", NULL, &o.when.never, NULL },
		{ "clock", take_clock, &o.clock, "monotonic, boottime or realtime" },
		{ "cancel-on-set", NULL, &o.cancel_on_set, NULL },
		{ "slack", take_time, &o.slack, TIME_EXPECTED },
		{ "coarse", NULL, &o.coarse, NULL },
		{ "key", take_watch, &order->keys,
		  "KEY[*NEED]: " KEY_EXPECTED
		  "; NEED: a whole number from 1 to 67108863 after '*'" },
		{ "any", NULL, &o.any, NULL },
		{ "all", NULL, &o.all, NULL },
		{ "quorum", take_number32, &o.quorum, NUMBER32_EXPECTED },
		{ "sum", take_number, &o.sum, NUMBER_EXPECTED },
		{ "every", take_time, &o.every, TIME_EXPECTED },
		{ "runs", take_number, &o.runs, NUMBER_EXPECTED },
		{ "fixed-delay", NULL, &o.fixed_delay, NULL },
		{ "cookie", take_number, &o.cookie, NUMBER_EXPECTED },
		{ "detach", NULL, &o.detach, NULL },
		{ "queue", take_queue, &o.queue, QUEUE_EXPECTED },
		{ }
	};

	*order = (struct order){ };
	return take_arguments(line, add_help, specs, 0, 0) && build(line, &o, order);
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

/* Return: the keys, if the condition counts satisfied ones. */
static const struct watch_list *counted_keys(const struct order *order)
{
	__u32 condition = order->args.condition;

	return condition == TWHEEL_COND_NONE || condition == TWHEEL_COND_SUM ? NULL : &order->keys;
}

/* Prints the events of the operation, including the last one. */
static enum outcome follow(const struct command_line *line, const struct order *order, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	const struct watch_list *keys = counted_keys(order);
	struct twheel_event event;
	ssize_t nr;

	do {
		if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
			return device_failure("waiting for an event");
		nr = twheel_read_events(fd, &event, 1);
		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return device_failure("reading an event");
		if (nr > 0 && !show_event(&event, keys, line->json))
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
	int fd = detached ? open_named(line, O_WRONLY) : open_purgatory(line);
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
	enum outcome outcome;
	struct order order;

	if (take_order(line, &order))
		outcome = add(line, &order);
	else
		outcome = line->outcome;
	free(order.keys.specs);
	return outcome;
}
