// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the arguments of 'twheelctl add'. Invalid arguments are in cli_test.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../twheelctl/order.h"
#include "tap.h"

#define MAX_WORDS	32

static struct order order;
static const struct twheel_add_args *args = &order.args;

/* Parses @text as the arguments of 'twheelctl -p NAME add'. */
static bool takes(const char *text)
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
		if (*word)
			argv[line.argc++] = word;
	free(order.keys.specs);
	ok = take_order(&line, &order);
	free(words);
	return ok;
}

static bool watches(unsigned int index, const char *key, __u32 need)
{
	const struct twheel_watch_spec *spec = &order.keys.specs[index];
	struct twheel_key expected;

	return index < order.keys.nr && !twheel_key_parse(key, &expected) &&
	       !memcmp(&spec->key, &expected, sizeof(expected)) && spec->need == need;
}

TEST("relative and missing deadlines")
{
	CHECK(takes("--in 250ms"));
	CHECK(args->deadline == 250000000 && !args->flags &&
	      args->clock == CLOCK_MONOTONIC);
	CHECK(!args->condition && !args->nr_keys && !args->slack && !args->period);
	CHECK(takes("--never"));
	CHECK(args->deadline == TWHEEL_NEVER && !args->flags);
	CHECK(takes("--key k"));
	CHECK(args->deadline == TWHEEL_NEVER);
}

TEST("absolute deadlines, with their clocks")
{
	CHECK(takes("--at @2026-12-01T03:00Z"));
	CHECK(args->deadline == 1796094000000000000 && args->flags == TWHEEL_ADD_ABSTIME);
	CHECK(args->clock == CLOCK_REALTIME);
	CHECK(takes("--at @7 --cancel-on-set"));
	CHECK(args->flags == (TWHEEL_ADD_ABSTIME | TWHEEL_ADD_CANCEL_ON_SET));
	CHECK(takes("--at 500s --clock boottime"));
	CHECK(args->deadline == 500000000000 && args->flags == TWHEEL_ADD_ABSTIME);
	CHECK(args->clock == CLOCK_BOOTTIME);
	CHECK(takes("--in 1s --clock realtime"));
	CHECK(args->clock == CLOCK_REALTIME && !args->flags);
}

TEST("each condition")
{
	CHECK(takes("--key a --key b*3"));
	CHECK(args->condition == TWHEEL_COND_ANY && args->nr_keys == 2);
	CHECK(args->keys == (uintptr_t)order.keys.specs);
	CHECK(watches(0, "a", 1) && watches(1, "b", 3));
	CHECK(takes("--any --key a"));
	CHECK(args->condition == TWHEEL_COND_ANY);
	CHECK(takes("--all --key a"));
	CHECK(args->condition == TWHEEL_COND_ALL && !args->quorum);
	CHECK(takes("--quorum 2 --key a --key b --key c"));
	CHECK(args->condition == TWHEEL_COND_QUORUM && args->quorum == 2);
	CHECK(takes("--sum 100 --key a"));
	CHECK(args->condition == TWHEEL_COND_SUM && args->threshold == 100);
	CHECK(watches(0, "a", 0));
}

TEST("keys are text, numbers and UUIDs")
{
	CHECK(takes("--key 42 --key text:42 --key 7f0c0a0e-5a4d-4b6e-9d1c-2f3e4d5c6b7a"));
	CHECK(watches(0, "num:42", 1) && watches(1, "text:42", 1));
	CHECK(watches(2, "uuid:7f0c0a0e-5a4d-4b6e-9d1c-2f3e4d5c6b7a", 1));
	CHECK(memcmp(&order.keys.specs[0], &order.keys.specs[1], sizeof(struct twheel_key)));
}

TEST("periods, by default with the first deadline after a period")
{
	CHECK(takes("--every 2s"));
	CHECK(args->deadline == 2000000000 && args->period == 2000000000);
	CHECK(!args->runs && !args->flags);
	CHECK(takes("--in 1s --every 2s --runs 3 --fixed-delay"));
	CHECK(args->deadline == 1000000000 && args->period == 2000000000);
	CHECK(args->runs == 3 && args->flags == TWHEEL_ADD_FIXED_DELAY);
}

TEST("slack, cookie and detached")
{
	CHECK(takes("--in 1s --slack 5ms --cookie 18446744073709551615"));
	CHECK(args->slack == 5000000 && args->cookie == ~0ULL);
	CHECK(takes("--in 1s --coarse --detach"));
	CHECK(args->slack == TWHEEL_SLACK_COARSE && args->flags == TWHEEL_ADD_DETACHED);
	CHECK(!args->key_size && !args->id);
}

TAP_MAIN
