// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of events and operations as JSON, with one type for each field.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../twheelctl/show.h"
#include "../twheelctl/pending.h"
#include "tap.h"

static void is_json(json_t *object, const char *text)
{
	char *made = json_dumps(object, JSON_COMPACT);
	bool same = made && !strcmp(made, text);

	if (!same)
		printf("# got %s\n", made ? made : "no JSON");
	free(made);
	json_decref(object);
	CHECK(same);
}

TEST("events with all their fields")
{
	struct twheel_event event = {
		.id = 17, .cookie = 3, .value = 7, .deadline = 500, .time = 400,
		.reason = TWHEEL_REASON_COMPLETED, .clock = CLOCK_BOOTTIME,
	};

	is_json(json_event(&event, NULL),
		"{\"type\":\"event\",\"id\":\"17\",\"cookie\":\"3\",\"reason\":\"completed\",\"value\":\"7\",\"error\":null,\"clock\":\"boottime\",\"deadline\":\"500\",\"time\":\"400\",\"more\":false,\"again\":false,\"expirations\":0,\"satisfied\":[],\"missing\":\"0\"}");
	event.deadline = TWHEEL_NEVER;
	event.error = -EIO;
	event.value = 0;
	event.cookie = 1ULL << 63;
	is_json(json_event(&event, NULL),
		"{\"type\":\"event\",\"id\":\"17\",\"cookie\":\"9223372036854775808\",\"reason\":\"completed\",\"value\":\"0\",\"error\":\"EIO\",\"clock\":\"boottime\",\"deadline\":null,\"time\":\"400\",\"more\":false,\"again\":false,\"expirations\":0,\"satisfied\":[],\"missing\":\"0\"}");
	event = (struct twheel_event){
		.id = 1, .reason = TWHEEL_REASON_EXPIRED, .flags = TWHEEL_EVENT_MORE,
		.expirations = 2,
	};
	is_json(json_event(&event, NULL),
		"{\"type\":\"event\",\"id\":\"1\",\"cookie\":\"0\",\"reason\":\"expired\",\"value\":\"0\",\"error\":null,\"clock\":\"realtime\",\"deadline\":\"0\",\"time\":\"0\",\"more\":true,\"again\":false,\"expirations\":2,\"satisfied\":[],\"missing\":\"0\"}");
	event = (struct twheel_event){
		.id = 1, .reason = TWHEEL_REASON_EXPIRED, .satisfied = 1ULL << 63 | 5, .missing = 2,
	};
	is_json(json_event(&event, NULL),
		"{\"type\":\"event\",\"id\":\"1\",\"cookie\":\"0\",\"reason\":\"expired\",\"value\":\"0\",\"error\":null,\"clock\":\"realtime\",\"deadline\":\"0\",\"time\":\"0\",\"more\":false,\"again\":false,\"expirations\":0,\"satisfied\":[0,2,63],\"missing\":\"2\"}");
	event = (struct twheel_event){ .id = 1, .reason = 99, .clock = 99 };
	is_json(json_event(&event, NULL),
		"{\"type\":\"event\",\"id\":\"1\",\"cookie\":\"0\",\"reason\":\"unknown\",\"value\":\"0\",\"error\":null,\"clock\":\"unknown\",\"deadline\":\"0\",\"time\":\"0\",\"more\":false,\"again\":false,\"expirations\":0,\"satisfied\":[],\"missing\":\"0\"}");
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
	is_json(json_event(&event, &keys),
		"{\"type\":\"event\",\"id\":\"1\",\"cookie\":\"0\",\"reason\":\"expired\",\"value\":\"0\",\"error\":null,\"clock\":\"realtime\",\"deadline\":\"0\",\"time\":\"0\",\"more\":false,\"again\":false,\"expirations\":0,\"satisfied\":[1],\"missing\":\"1\",\"satisfied_keys\":[\"r2\"],\"unsatisfied_keys\":[\"r1\",\"3\"]}");
	event = (struct twheel_event){
		.id = 1, .reason = TWHEEL_REASON_EXPIRED,
		.flags = TWHEEL_EVENT_MORE | TWHEEL_EVENT_AGAIN,
	};
	is_json(json_event(&event, &keys),
		"{\"type\":\"event\",\"id\":\"1\",\"cookie\":\"0\",\"reason\":\"expired\",\"value\":\"0\",\"error\":null,\"clock\":\"realtime\",\"deadline\":\"0\",\"time\":\"0\",\"more\":true,\"again\":true,\"expirations\":0,\"satisfied\":[],\"missing\":\"0\"}");
}

TEST("the exit status of each event")
{
	struct twheel_event event = { .reason = TWHEEL_REASON_COMPLETED };

	CHECK(event_outcome(&event) == OUTCOME_OK);
	event.error = -EIO;
	CHECK(event_outcome(&event) == OUTCOME_FAILED);
	event = (struct twheel_event){ .reason = TWHEEL_REASON_EXPIRED };
	CHECK(event_outcome(&event) == OUTCOME_EXPIRED);
	event.reason = TWHEEL_REASON_CANCELLED;
	event.error = -ECANCELED;
	CHECK(event_outcome(&event) == OUTCOME_CANCELLED);
}

TEST("operations with the listed keys")
{
	struct twheel_pending pending = {
		.id = 5, .cookie = 2, .deadline = 900, .remaining = 100, .missing = 1,
		.condition = TWHEEL_COND_QUORUM, .clock = CLOCK_BOOTTIME,
		.nr_keys = 4, .flags = TWHEEL_PENDING_DETACHED, .queue = 3,
	};

	is_json(json_pending(&pending),
		"{\"type\":\"operation\",\"id\":\"5\",\"own\":false,\"detached\":true,\"cookie\":\"2\",\"condition\":\"quorum\",\"missing\":\"1\",\"clock\":\"boottime\",\"deadline\":\"900\",\"remaining\":\"100\",\"period\":\"0\",\"runs\":\"0\",\"cancel_on_set\":false,\"fixed_delay\":false,\"cell\":null,\"idle\":false,\"queue\":3,\"nr_keys\":4}");
	twheel_key_text("order-17", &pending.keys[0]);
	pending.keys[1] = twheel_key_number(42);
	twheel_key_text("42", &pending.keys[2]);
	is_json(json_pending_keys(&pending), "[\"order-17\",\"42\",\"text:42\"]");
	pending.nr_keys = 1;
	is_json(json_pending_keys(&pending), "[\"order-17\"]");
	pending.deadline = TWHEEL_NEVER;
	pending.remaining = TWHEEL_NEVER;
	pending.condition = 99;
	pending.clock = 99;
	is_json(json_pending(&pending),
		"{\"type\":\"operation\",\"id\":\"5\",\"own\":false,\"detached\":true,\"cookie\":\"2\",\"condition\":\"unknown\",\"missing\":\"1\",\"clock\":\"unknown\",\"deadline\":null,\"remaining\":null,\"period\":\"0\",\"runs\":\"0\",\"cancel_on_set\":false,\"fixed_delay\":false,\"cell\":null,\"idle\":false,\"queue\":3,\"nr_keys\":1}");
}

/* Return: the line of the table, freed by the caller. */
static char *printed(const struct twheel_pending *pending)
{
	FILE *out = stdout;
	char *text = NULL;
	size_t size;

	stdout = open_memstream(&text, &size);
	print_pending(pending);
	fclose(stdout);
	stdout = out;
	return text;
}

TEST("an operation whose cell is idle has no deadline")
{
	struct twheel_pending pending = {
		.id = 5, .deadline = TWHEEL_NEVER, .remaining = TWHEEL_NEVER,
		.clock = CLOCK_MONOTONIC, .flags = TWHEEL_PENDING_CELL | TWHEEL_PENDING_IDLE,
		.cell = 9,
	};
	char *text = printed(&pending);
	json_t *object;

	CHECK(strstr(text, " idle ") && !strstr(text, "never"));
	free(text);
	object = json_pending(&pending);
	CHECK(json_integer_value(json_object_get(object, "cell")) == 9);
	CHECK(json_is_true(json_object_get(object, "idle")));
	json_decref(object);
	pending.flags = TWHEEL_PENDING_CELL;
	text = printed(&pending);
	CHECK(strstr(text, " never "));
	free(text);
	object = json_pending(&pending);
	CHECK(json_integer_value(json_object_get(object, "cell")) == 9);
	CHECK(json_is_false(json_object_get(object, "idle")));
	json_decref(object);
}

TEST("counts of a purgatory")
{
	struct twheel_query_args query = {
		.name = "orders", .pending = 1, .keys = 2, .watches = 3, .tick_ns = 1048576,
		.wakeups = 4, .detached_unread = 7, .oldest_unread_ns = (1ULL << 53) + 1,
		.unconfirmed = 3, .oldest_unconfirmed_ns = (1ULL << 53) + 2,
		.max_queue = 8, .max_watches = 9,
	};

	is_json(json_query("purgatory", &query),
		"{\"type\":\"purgatory\",\"name\":\"orders\",\"max_pending\":0,\"max_file_pending\":0,\"max_watches\":9,\"max_queue\":8,\"pending\":1,\"nr_detached\":0,\"detached_unread\":7,\"unconfirmed\":3,\"nr_keys\":2,\"watches\":3,\"files\":0,\"added\":0,\"completed\":0,\"expired\":0,\"cancelled\":0,\"rejected\":0,\"rejected_enospc\":0,\"rejected_enobufs\":0,\"rejected_edquot\":0,\"user_ops\":0,\"user_max_ops\":0,\"user_files\":0,\"user_max_files\":0,\"wakeups\":4,\"oldest_unread_ns\":\"9007199254740993\",\"oldest_unconfirmed_ns\":\"9007199254740994\",\"tick_ns\":\"1048576\"}");
}

TAP_MAIN
