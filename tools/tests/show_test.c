// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of events, operations and counts as JSON, and of an operation as text. The types are in
 * schema_test.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../twheelctl/twheelctl.h"
#include "tap.h"

/* Checks these fields of @object, in JSON with ' instead of ", and unless @nr is 0 their number. */
static void check_json(json_t *object, size_t nr, const char *fields)
{
	char *text = strdup(fields);
	json_t *expected, *value;
	const char *name;

	for (char *at = text; (at = strchr(at, '\''));)
		*at = '"';
	expected = json_loads(text, 0, NULL);
	CHECK(expected && (!nr || json_object_size(object) == nr));
	json_object_foreach(expected, name, value) {
		if (!json_equal(value, json_object_get(object, name)))
			printf("# %s\n", name);
		CHECK(json_equal(value, json_object_get(object, name)));
	}
	json_decref(expected);
	json_decref(object);
	free(text);
}

TEST("events with all their fields")
{
	static const struct {
		struct twheel_event event;
		const char *fields;
	} rows[] = {
		{ { .id = 17, .cookie = 1ULL << 63, .value = 7, .deadline = 500, .time = 400,
		    .reason = TWHEEL_REASON_COMPLETED, .clock = CLOCK_BOOTTIME },
		  "{'type': 'event', 'id': '17', 'cookie': '9223372036854775808', 'reason': 'completed', 'value': '7', 'error': null, 'clock': 'boottime', 'deadline': '500', 'time': '400', 'more': false, 'again': false, 'expirations': 0, 'satisfied': [], 'missing': '0'}"
		},
		{ { .reason = TWHEEL_REASON_COMPLETED, .deadline = TWHEEL_NEVER, .error = -EIO },
		  "{'error': 'EIO', 'value': '0', 'deadline': null, 'clock': 'realtime'}" },
		{ { .reason = TWHEEL_REASON_COMPLETED, .error = -4095 }, "{'error': '4095'}" },
		{ { .reason = TWHEEL_REASON_EXPIRED, .flags = TWHEEL_EVENT_MORE, .expirations = 2 },
		  "{'reason': 'expired', 'more': true, 'again': false, 'expirations': 2}" },
		{ { .reason = TWHEEL_REASON_CANCELLED, .satisfied = 1ULL << 63 | 5, .missing = 2 },
		  "{'reason': 'cancelled', 'satisfied': [0, 2, 63], 'missing': '2'}" },
		{ { .reason = 99, .clock = 99 }, "{'reason': 'unknown', 'clock': 'unknown'}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_json(json_event(&rows[i].event, NULL), 14, rows[i].fields);
}

/* The satisfied ones of the keys that are known. */
TEST("events with the keys of their operation")
{
	struct twheel_event event = {
		.id = 1, .reason = TWHEEL_REASON_EXPIRED, .satisfied = 2, .missing = 1,
	};
	struct twheel_watch_spec specs[3] = { };
	struct watch_list keys = { .specs = specs, .nr = 3 };

	twheel_key_text("r1", &specs[0].key);
	twheel_key_text("r2", &specs[1].key);
	specs[2].key = twheel_key_number(3);
	check_json(json_event(&event, &keys), 16,
		   "{'satisfied': [1], 'satisfied_keys': ['r2'], 'unsatisfied_keys': ['r1', '3']}");
	event.flags = TWHEEL_EVENT_MORE | TWHEEL_EVENT_AGAIN;
	check_json(json_event(&event, &keys), 14,
		   "{'more': true, 'again': true}");
}

TEST("the exit status of each event")
{
	struct twheel_event event = { .reason = TWHEEL_REASON_COMPLETED };

	CHECK(event_outcome(&event) == OUTCOME_OK);
	event.error = -EIO;
	CHECK(event_outcome(&event) == OUTCOME_FAILED);
	event.reason = TWHEEL_REASON_CANCELLED;
	CHECK(event_outcome(&event) == OUTCOME_CANCELLED);
	event.reason = TWHEEL_REASON_EXPIRED;
	CHECK(event_outcome(&event) == OUTCOME_EXPIRED);
}

TEST("operations with the listed keys")
{
	struct twheel_pending pending = {
		.id = 5, .cookie = 2, .deadline = 900, .remaining = 100, .missing = 1,
		.condition = TWHEEL_COND_QUORUM, .clock = CLOCK_BOOTTIME,
		.nr_keys = 4, .flags = TWHEEL_PENDING_DETACHED, .queue = 3,
	};

	twheel_key_text("order-17", &pending.keys[0]);
	pending.keys[1] = twheel_key_number(42);
	twheel_key_text("42", &pending.keys[2]);
	check_json(json_pending(&pending), 19,
		   "{'type': 'operation', 'id': '5', 'own': false, 'detached': true, 'cookie': '2', 'condition': 'quorum', 'missing': '1', 'clock': 'boottime', 'deadline': '900', 'remaining': '100', 'period': '0', 'runs': '0', 'cancel_on_set': false, 'fixed_delay': false, 'cell': null, 'idle': false, 'queue': 3, 'nr_keys': 4, 'keys': ['order-17', '42', 'text:42']}");
	pending.nr_keys = 1;
	check_json(json_pending(&pending), 0, "{'keys': ['order-17']}");
	pending.deadline = TWHEEL_NEVER;
	pending.remaining = TWHEEL_NEVER;
	pending.condition = 99;
	pending.clock = 99;
	check_json(json_pending(&pending), 0,
		   "{'condition': 'unknown', 'clock': 'unknown', 'deadline': null, 'remaining': null}");
}

static bool prints(const struct twheel_pending *pending, const char *text)
{
	return strstr(PRINTED(print_pending(pending)), text);
}

TEST("an operation whose cell is idle has no deadline")
{
	struct twheel_pending pending = {
		.id = 5, .deadline = TWHEEL_NEVER, .remaining = TWHEEL_NEVER,
		.clock = CLOCK_MONOTONIC, .flags = TWHEEL_PENDING_CELL | TWHEEL_PENDING_IDLE,
		.cell = 9,
	};

	CHECK(prints(&pending, " idle ") && !prints(&pending, "never"));
	check_json(json_pending(&pending), 0, "{'cell': 9, 'idle': true}");
	pending.flags = TWHEEL_PENDING_CELL;
	CHECK(prints(&pending, " never "));
	check_json(json_pending(&pending), 0, "{'cell': 9, 'idle': false}");
}

TEST("counts of a purgatory")
{
	struct twheel_query_args query = {
		.name = "orders", .pending = 1, .keys = 2, .watches = 3, .tick_ns = 1048576,
		.wakeups = 4, .detached_unread = 7, .oldest_unread_ns = (1ULL << 53) + 1,
		.unconfirmed = 3, .oldest_unconfirmed_ns = (1ULL << 53) + 2,
		.max_queue = 8, .max_watches = 9,
	};

	check_json(json_query("purgatory", &query), 29,
		   "{'type': 'purgatory', 'name': 'orders', 'max_pending': 0, 'max_watches': 9, 'max_queue': 8, 'pending': 1, 'detached_unread': 7, 'unconfirmed': 3, 'nr_keys': 2, 'watches': 3, 'wakeups': 4, 'tick_ns': '1048576', 'oldest_unread_ns': '9007199254740993', 'oldest_unconfirmed_ns': '9007199254740994'}");
}

TAP_MAIN
