// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the arguments of 'twheelctl add'. Invalid arguments are in cli_test.
 */
#include "../twheelctl/add.c"
#include "tap.h"

#define MAX_WORDS	32
#define MSEC		NSEC_PER_MSEC
#define UUID		"7f0c0a0e-5a4d-4b6e-9d1c-2f3e4d5c6b7a"

/* Parses @text as the arguments of 'twheelctl -p NAME add'. */
static bool takes(const char *text, struct order *order)
{
	char *argv[MAX_WORDS] = { "twheelctl" };
	struct command_line line = {
		.command = "add",
		.argc = 1,
		.argv = argv,
		.purgatory = "orders",
	};
	char *words = strdup(text), *rest = words, *word;
	bool ok;

	while ((word = strsep(&rest, " ")) && line.argc < MAX_WORDS - 1)
		argv[line.argc++] = word;
	ok = take_order(&line, order);
	free(words);
	return ok;
}

#define MONOTONIC	.clock = CLOCK_MONOTONIC
#define NEVER		MONOTONIC, .deadline = TWHEEL_NEVER

static const struct {
	const char *text;
	struct twheel_add_args args;
} rows[] = {
	/* Deadlines */
	{ "--in 250ms", { MONOTONIC, .deadline = 250 * MSEC } },
	{ "--never", { NEVER } },
	{ "--in 1s --clock realtime", { .clock = CLOCK_REALTIME, .deadline = NSEC_PER_SEC } },
	{ "--at @2026-12-01T03:00Z", { .clock = CLOCK_REALTIME, .deadline = 1796094000000000000,
				       .flags = TWHEEL_ADD_ABSTIME } },
	{ "--at @7 --cancel-on-set", { .clock = CLOCK_REALTIME, .deadline = 7 * NSEC_PER_SEC,
				       .flags = TWHEEL_ADD_ABSTIME | TWHEEL_ADD_CANCEL_ON_SET } },
	{ "--at 500s --clock boottime", { .clock = CLOCK_BOOTTIME, .deadline = 500 * NSEC_PER_SEC,
					  .flags = TWHEEL_ADD_ABSTIME } },
	/* Periods, by default with the first deadline after a period */
	{ "--every 2s", { MONOTONIC, .deadline = 2000 * MSEC, .period = 2000 * MSEC } },
	{ "--in 1s --every 2s --runs 3 --fixed-delay",
	  { MONOTONIC, .deadline = 1000 * MSEC, .period = 2000 * MSEC, .runs = 3,
	    .flags = TWHEEL_ADD_FIXED_DELAY } },
	/* Conditions */
	{ "--key a --key b*3", { NEVER, .condition = TWHEEL_COND_ANY, .nr_keys = 2 } },
	{ "--any --key a", { NEVER, .condition = TWHEEL_COND_ANY, .nr_keys = 1 } },
	{ "--all --key a", { NEVER, .condition = TWHEEL_COND_ALL, .nr_keys = 1 } },
	{ "--quorum 2 --key a --key b --key c",
	  { NEVER, .condition = TWHEEL_COND_QUORUM, .quorum = 2, .nr_keys = 3 } },
	{ "--sum 100 --key a",
	  { NEVER, .condition = TWHEEL_COND_SUM, .threshold = 100, .nr_keys = 1 } },
	/* The rest */
	{ "--in 1s --slack 5ms --cookie 18446744073709551615",
	  { MONOTONIC, .deadline = NSEC_PER_SEC, .slack = 5 * MSEC, .cookie = ~0ULL } },
	{ "--never --coarse --detach --queue 7",
	  { NEVER, .slack = TWHEEL_SLACK_COARSE, .flags = TWHEEL_ADD_DETACHED, .queue = 7 } },
};

TEST("each option sets its field of the add, and no other")
{
	struct order order;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK(takes(rows[i].text, &order));
		CHECK(order.args.keys == (uintptr_t)order.keys.specs);
		order.args.keys = 0;
		if (memcmp(&order.args, &rows[i].args, sizeof(order.args)))
			printf("# %s\n", rows[i].text);
		CHECK(!memcmp(&order.args, &rows[i].args, sizeof(order.args)));
		free(order.keys.specs);
	}
}

static bool watches(const struct order *order, unsigned int index, const char *key, __u32 need)
{
	const struct twheel_watch_spec *spec = &order->keys.specs[index];
	struct twheel_key expected;

	return index < order->keys.nr && !twheel_key_parse(key, &expected) &&
	       !memcmp(&spec->key, &expected, sizeof(expected)) && spec->need == need;
}

TEST("keys are text, numbers and UUIDs, with a need")
{
	struct order order;

	CHECK(takes("--key 42 --key text:42*3 --key " UUID, &order));
	CHECK(watches(&order, 0, "num:42", 1) && watches(&order, 1, "text:42", 3));
	CHECK(watches(&order, 2, "uuid:" UUID, 1));
	free(order.keys.specs);
	/* A key of a sum needs none. */
	CHECK(takes("--sum 100 --key a", &order) && watches(&order, 0, "a", 0));
	free(order.keys.specs);
}

TAP_MAIN
