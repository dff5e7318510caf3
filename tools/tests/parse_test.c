// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the script parser with valid lines. Invalid lines are in play_test.
 */
#include <errno.h>
#include <string.h>

#include "play/parse.h"
#include "tap.h"

static struct op_table ops;
static struct command c;
static unsigned int nr_lines;

static bool parse(const char *line)
{
	free_command(&c);
	return parse_line("test", ++nr_lines, line, &ops, &c);
}

static bool is_key(const struct twheel_key *key, const char *text)
{
	char bytes[sizeof(*key)] = { 0 };

	memcpy(bytes, text, strlen(text));
	return !memcmp(key, bytes, sizeof(bytes));
}

static void deadlines(void)
{
	CHECK(parse("add in-250ms in 250ms"));
	CHECK(c.verb == VERB_ADD && c.when == WHEN_IN && c.time == 250000000);
	CHECK(c.condition == TWHEEL_COND_NONE && !c.watch.nr && !c.quorum);
	CHECK(ops.ops[c.op].line == nr_lines);
	CHECK(parse("add at-2h at 2h"));
	CHECK(c.when == WHEN_AT && c.time == 7200000000000);
	CHECK(parse("add no-deadline never"));
	CHECK(c.when == WHEN_NEVER);
}

static void conditions(void)
{
	CHECK(parse("add any in 1s any of a"));
	CHECK(c.condition == TWHEEL_COND_ANY && !c.quorum && c.watch.nr == 1);
	CHECK(parse("add all in 1s all of a b"));
	CHECK(c.condition == TWHEEL_COND_ALL && !c.quorum && c.watch.nr == 2);
	CHECK(parse("add two in 1s 2 of a b c"));
	CHECK(c.condition == TWHEEL_COND_QUORUM && c.quorum == 2);
	CHECK(c.watch.nr == 3);
	/* The device validates the quorum. */
	CHECK(parse("add none-of in 1s 0 of a"));
	CHECK(c.condition == TWHEEL_COND_QUORUM && c.quorum == 0);
}

static void keys(void)
{
	CHECK(parse("add watcher in 1s any of a*3 sixteen-bytes-xx"));
	CHECK(c.watch.nr == 2);
	CHECK(is_key(&c.watch.specs[0].key, "a") && c.watch.specs[0].need == 3);
	CHECK(is_key(&c.watch.specs[1].key, "sixteen-bytes-xx") && c.watch.specs[1].need == 1);
	CHECK(parse("watch watcher c*67108863"));
	CHECK(c.verb == VERB_WATCH && !strcmp(ops.ops[c.op].name, "watcher"));
	CHECK(c.watch.nr == 1 && c.watch.specs[0].need == TWHEEL_MAX_NEED);
}

static void endings(void)
{
	CHECK(parse("add ends in 1s"));
	CHECK(parse("signal k"));
	CHECK(c.verb == VERB_SIGNAL && is_key(&c.key, "k"));
	CHECK(!c.has_count && c.value == 0);
	CHECK(parse("signal k value 9223372036854775807 completes 2"));
	CHECK(c.value == 9223372036854775807 && c.has_count && c.count == 2);
	CHECK(parse("complete ends value 7"));
	CHECK(c.verb == VERB_COMPLETE && c.value == 7);
	CHECK(!strcmp(ops.ops[c.op].name, "ends"));
	CHECK(parse("cancel ends"));
	CHECK(c.verb == VERB_CANCEL && !strcmp(ops.ops[c.op].name, "ends"));
}

static void calls_of_an_operation(void)
{
	CHECK(parse("add moved in 1s any of a"));
	CHECK(parse("rearm moved in 2s"));
	CHECK(c.verb == VERB_REARM && c.when == WHEN_IN && c.time == 2000000000);
	CHECK(c.mode == TWHEEL_REARM_ALWAYS && !strcmp(ops.ops[c.op].name, "moved"));
	CHECK(parse("rearm moved never if-later"));
	CHECK(c.when == WHEN_NEVER && c.mode == TWHEEL_REARM_IF_LATER);
	CHECK(parse("rearm moved at 2s if-earlier"));
	CHECK(c.when == WHEN_AT && c.mode == TWHEEL_REARM_IF_EARLIER);
	CHECK(parse("unwatch moved a"));
	CHECK(c.verb == VERB_UNWATCH && is_key(&c.key, "a"));
	CHECK(parse("cancel-key a"));
	CHECK(c.verb == VERB_CANCEL_KEY && is_key(&c.key, "a") && !c.has_count);
	CHECK(parse("cancel-key a cancels 0"));
	CHECK(c.has_count && c.count == 0);
}

static void sums_and_periods(void)
{
	CHECK(parse("add sum in 1s sum 100 of a b*2"));
	CHECK(c.condition == TWHEEL_COND_SUM && c.threshold == 100 && !c.quorum);
	CHECK(c.watch.nr == 2 && !c.watch.specs[0].need && c.watch.specs[1].need == 2);
	CHECK(parse("signal a value 7 amount 60 completes 0"));
	CHECK(c.value == 7 && c.amount == 60 && c.has_count);
	CHECK(parse("add periodic in 1s every 5ms"));
	CHECK(c.period == 5000000 && !c.runs && !c.condition);
	CHECK(parse("add some-runs in 1s every 5ms runs 3 any of a"));
	CHECK(c.period == 5000000 && c.runs == 3 && c.condition == TWHEEL_COND_ANY);
	CHECK(parse("expect periodic round within 1s"));
	CHECK(c.verb == VERB_EXPECT_ROUND && c.time == 1000000000);
}

static void expectations(void)
{
	CHECK(parse("add awaited in 1s"));
	CHECK(parse("expect awaited completed value 7 within 2s"));
	CHECK(c.verb == VERB_EXPECT_END && c.reason == TWHEEL_REASON_COMPLETED);
	CHECK(c.has_value && c.value == 7 && c.time == 2000000000);
	CHECK(parse("expect awaited expired"));
	CHECK(c.reason == TWHEEL_REASON_EXPIRED && !c.has_value);
	CHECK(c.time == 30000000000);
	CHECK(parse("expect awaited cancelled"));
	CHECK(c.reason == TWHEEL_REASON_CANCELLED);
	CHECK(parse("expect nothing"));
	CHECK(c.verb == VERB_EXPECT_NOTHING && c.time == 0);
	CHECK(parse("expect nothing for 5ms"));
	CHECK(c.verb == VERB_EXPECT_NOTHING && c.time == 5000000);
	CHECK(parse("expect pending 12"));
	CHECK(c.verb == VERB_EXPECT_PENDING && c.count == 12);
}

static void errors(void)
{
	size_t nr_ops = ops.nr;

	CHECK(parse("expect-error EINVAL add refused in 1s 2 of a"));
	CHECK(c.error == EINVAL && c.verb == VERB_ADD && c.op == NO_OP);
	CHECK(ops.nr == nr_ops && !find_op(&ops, "refused"));
	CHECK(parse("add refused in 1s"));
	CHECK(parse("expect-error ENOENT cancel refused"));
	CHECK(c.error == ENOENT && c.verb == VERB_CANCEL);
}

static void blanks(void)
{
	CHECK(parse("") && c.verb == VERB_NONE);
	CHECK(parse(" \t\r") && c.verb == VERB_NONE);
	CHECK(parse("# add x in 1s") && c.verb == VERB_NONE);
	CHECK(parse("\tsleep\t 1s   # and more\r"));
	CHECK(c.verb == VERB_SLEEP && c.time == 1000000000);
	CHECK(!strcmp(c.text, "\tsleep\t 1s   # and more\r"));
	CHECK(parse("signal a#b"));
	CHECK(is_key(&c.key, "a#b"));
}

int main(void)
{
	static const struct tap_case cases[] = {
		{ "add accepts each kind of deadline", deadlines },
		{ "add accepts each condition", conditions },
		{ "keys are text, with an optional need", keys },
		{ "signal, complete and cancel", endings },
		{ "rearm, unwatch and cancel-key", calls_of_an_operation },
		{ "sums, amounts and periods", sums_and_periods },
		{ "expect accepts reasons, nothing and pending", expectations },
		{ "expect-error adds no operation", errors },
		{ "blanks and comments are ignored", blanks },
		{ }
	};
	int status = tap_run(cases);

	free_command(&c);
	free_ops(&ops);
	return status;
}
