// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl signal, complete, cancel and rearm: end or move pending operations.
 */
#include <unistd.h>

#include "twheelctl.h"

static const char signal_help[] =
"usage: twheelctl -p NAME signal KEY [OPTION]...\n"
"\n"
"Signals a key once to all operations that watch it, and prints the number of\n"
"completed operations.\n"
"\n"
"  --value V    value in the events of the completed operations\n"
"  --amount A   amount to add to the sum of operations with --sum (1)\n"
"  --limit N    stop after N completed operations; 0 means no limit\n"
"  --json       print JSON\n";

static const char complete_help[] =
"usage: twheelctl -p NAME complete ID|--all [OPTION]...\n"
"\n"
"Completes an operation, or all of the purgatory, regardless of their conditions.\n"
"\n"
"  --all         complete all pending operations\n"
"  --value V     value in their events\n"
"  --error NAME  complete with an error such as EIO\n"
"  --json        print JSON\n"
"\n"
"Exits with 1 if the operation does not exist or has ended.\n";

static const char cancel_help[] =
"usage: twheelctl -p NAME cancel ID|--key KEY\n"
"\n"
"Cancels an operation, or all that watch a key.\n"
"\n"
"  --key KEY    cancel all that watch this key, and print their number\n"
"  --json       print JSON\n"
"\n"
"Exits with 1 if the operation does not exist or has ended.\n";

static const char rearm_help[] =
"usage: twheelctl -p NAME rearm ID --in TIME|--at POINT|--never [OPTION]...\n"
"\n"
"Moves the deadline of an operation. 'twheelctl heartbeat' is an alias.\n"
"\n"
"  --in TIME     from now: 250ms, 5s, 2h, 1d\n"
"  --at POINT    @2026-12-01T03:00[:05][Z|+01:00] or @SECONDS if the operation uses\n"
"                the realtime clock, else a reading of its clock: 500s\n"
"  --never       no deadline\n"
"  --if-earlier  only if the new deadline is earlier than the current one\n"
"  --if-later    only if the new deadline is later than the current one\n"
"  --slack TIME  allow it to expire up to TIME late, to save work\n"
"  --coarse      allow it to be late by an eighth of the time to its deadline\n"
"  --json        print JSON\n"
"\n"
"Exits with 1 if the deadline was not moved, or if the operation does not exist or\n"
"has ended.\n";

/* The argument of --key */
struct key_option {
	bool given;
	struct twheel_key key;
};

static bool take_key(const char *text, void *to)
{
	struct key_option *option = to;

	option->given = true;
	return parse_key(text, &option->key);
}

/* @verb: "completed" or "cancelled" */
static void print_number(const struct command_line *line, const char *verb, unsigned int nr)
{
	show_change(line, json_pack("{s:s, s:I}", "type", line->command, verb, (json_int_t)nr),
		    "%s %u operation%s", verb, nr, nr == 1 ? "" : "s");
}

static void print_one(const struct command_line *line, const char *verb, __u64 id)
{
	show_change(line, json_pack("{s:s, s:o}", "type", line->command, "id", json_digits(id)),
		    "operation %llu %s", id, verb);
}

enum outcome signal_command(struct command_line *line)
{
	struct number value = { }, amount = { }, limit = { };
	const struct option_spec specs[] = {
		{ "value", take_number, &value, NUMBER_EXPECTED },
		{ "amount", take_number, &amount, NUMBER_EXPECTED },
		{ "limit", take_number32, &limit, NUMBER32_EXPECTED },
		{ }
	};
	struct twheel_signal_args args = { };
	int fd;

	if (!take_arguments(line, signal_help, specs, 1, 1))
		return line->outcome;
	if (!parse_key(line->args[0], &args.key))
		return wrong_usage(line, "expected %s, got '%s'", KEY_EXPECTED, line->args[0]);
	args.value = value.value;
	args.amount = amount.value;
	args.limit = limit.value;

	fd = open_named(line, O_WRONLY);
	if (fd < 0)
		return line->outcome;
	line->outcome = twheel_signal_with(fd, &args) ? refused(line, "signal failed") :
							OUTCOME_OK;
	close(fd);
	if (!line->outcome)
		print_number(line, "completed", args.completed);
	return line->outcome;
}

/* Parses the ID. @instead: @option was given, which replaces the ID. */
static bool take_id(struct command_line *line, bool instead, const char *option, __u64 *id)
{
	if (instead ? line->nr : !line->nr)
		line->outcome = wrong_usage(line, "expected either an ID or %s", option);
	else if (line->nr && !parse_count(line->args[0], UINT64_MAX, id))
		line->outcome = wrong_usage(line, "expected the ID of an operation, got '%s'",
					    line->args[0]);
	else
		return true;
	return false;
}

enum outcome complete_command(struct command_line *line)
{
	struct number value = { };
	bool all = false;
	int error = 0;
	const struct option_spec specs[] = {
		{ "all", NULL, &all, NULL },
		{ "value", take_number, &value, NUMBER_EXPECTED },
		{ "error", take_error, &error, "the name of an error such as EINVAL" },
		{ }
	};
	unsigned int nr;
	__u64 id = 0;
	int fd, result;

	if (!take_arguments(line, complete_help, specs, 0, 1) ||
	    !take_id(line, all, "--all", &id))
		return line->outcome;
	if (value.given && error)
		return wrong_usage(line, "--value and --error are mutually exclusive");
	fd = open_named(line, O_WRONLY);
	if (fd < 0)
		return line->outcome;
	if (all)
		result = twheel_complete_all(fd, value.value, -error, TWHEEL_COMPLETE_OTHERS, &nr);
	else if (error)
		result = twheel_complete_error(fd, id, -error);
	else
		result = twheel_complete(fd, id, value.value);
	line->outcome = result ? refused(line, "completion failed") : OUTCOME_OK;
	close(fd);

	if (!line->outcome && all)
		print_number(line, "completed", nr);
	else if (!line->outcome)
		print_one(line, "completed", id);
	return line->outcome;
}

enum outcome cancel_command(struct command_line *line)
{
	struct key_option key = { };
	const struct option_spec specs[] = {
		{ "key", take_key, &key, KEY_EXPECTED },
		{ }
	};
	unsigned int nr;
	__u64 id = 0;
	int fd, result;

	if (!take_arguments(line, cancel_help, specs, 0, 1) ||
	    !take_id(line, key.given, "--key KEY", &id))
		return line->outcome;
	fd = open_named(line, O_WRONLY);
	if (fd < 0)
		return line->outcome;
	result = key.given ? twheel_cancel_key(fd, key.key, &nr) : twheel_cancel(fd, id);
	line->outcome = result ? refused(line, "cancellation failed") : OUTCOME_OK;
	close(fd);

	if (!line->outcome && key.given)
		print_number(line, "cancelled", nr);
	else if (!line->outcome)
		print_one(line, "cancelled", id);
	return line->outcome;
}

/* A date is valid only if the operation uses CLOCK_REALTIME, and required then. */
static bool right_clock(struct command_line *line, int fd, __u64 id, const struct point *at)
{
	struct twheel_pending pending;
	bool wall;

	if (!at->given)
		return true;
	if (twheel_info(fd, id, &pending, NULL, 0)) {
		line->outcome = refused(line, "cannot move the deadline");
		return false;
	}
	wall = pending.clock == CLOCK_REALTIME;
	if (at->wall == wall)
		return true;
	line->outcome = wrong_usage(line, "its clock is %s: --at takes %s, or use --in",
				    clock_name(pending.clock),
				    wall ? "a date" : "a reading of it, such as 500s");
	return false;
}

static enum outcome rearm(struct command_line *line, struct twheel_rearm_args *args,
			  const struct point *at)
{
	int fd = open_named(line, at->given ? O_RDWR : O_WRONLY);
	int moved;

	if (fd < 0)
		return line->outcome;
	if (right_clock(line, fd, args->id, at)) {
		moved = twheel_rearm_with(fd, args);
		line->outcome = moved < 0 ? refused(line, "cannot move the deadline") :
					    moved ? OUTCOME_OK : OUTCOME_FAILED;
		if (moved >= 0)
			show_change(line, json_pack("{s:s, s:b}", "type", "rearm", "moved", moved),
				    "operation %llu %s", args->id,
				    moved ? "has the new deadline" : "keeps its deadline");
	}
	close(fd);
	return line->outcome;
}

enum outcome rearm_command(struct command_line *line)
{
	bool earlier = false, later = false, coarse = false;
	struct twheel_rearm_args args = { };
	struct when_options when = { };
	struct number slack = { };
	const struct option_spec specs[] = {
		{ "in", take_time, &when.in, TIME_EXPECTED },
		{ "at", take_point, &when.at, POINT_EXPECTED },
		{ "never", NULL, &when.never, NULL },
		{ "if-earlier", NULL, &earlier, NULL },
		{ "if-later", NULL, &later, NULL },
		{ "slack", take_time, &slack, TIME_EXPECTED },
		{ "coarse", NULL, &coarse, NULL },
		{ }
	};

	if (!take_arguments(line, rearm_help, specs, 1, 1) ||
	    !take_id(line, false, "none", &args.id))
		return line->outcome;
	if (nr_when(&when) != 1)
		return wrong_usage(line, "expected one of --in TIME, --at POINT and --never");
	if ((earlier && later) || (slack.given && coarse))
		return wrong_usage(line, "%s are mutually exclusive",
				   earlier ? "--if-earlier and --if-later" :
					     "--slack and --coarse");
	args.deadline = when_deadline(&when);
	args.flags = (when.at.given ? TWHEEL_REARM_ABSTIME : 0) |
		     (earlier ? TWHEEL_REARM_IF_EARLIER : 0) | (later ? TWHEEL_REARM_IF_LATER : 0);
	args.slack = coarse ? TWHEEL_SLACK_COARSE : slack.value;
	return rearm(line, &args, &when.at);
}
