// SPDX-License-Identifier: GPL-2.0
/*
 * The output of 'twheelctl run'. See report.h.
 *
 * In JSON, ids are strings: they are opaque, and may be past what readers of
 * JSON keep exact. Times are nanoseconds of CLOCK_MONOTONIC, as in the event.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"
#include "twheelctl.h"
#include "units.h"

/* Nine digits are enough for what is measured here. */
#define JSON_FLAGS	(JSON_COMPACT | JSON_REAL_PRECISION(9))

const char *reason_name(__u32 reason)
{
	switch (reason) {
	case TWHEEL_COMPLETED:
		return "completed";
	case TWHEEL_EXPIRED:
		return "expired";
	case TWHEEL_CANCELLED:
		return "cancelled";
	}
	return "ended for no known reason";
}

void print_json(json_t *object)
{
	if (!object || json_dumpf(object, stdout, JSON_FLAGS))
		exit(device_trouble("JSON"));
	putchar('\n');
	json_decref(object);
}

static void report_event_json(const struct op *op)
{
	const struct twheel_event *event = &op->event;
	char id[24];

	snprintf(id, sizeof(id), "%llu", event->id);
	print_json(json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:I}",
			     "type", "event",
			     "name", op->name,
			     "id", id,
			     "reason", reason_name(event->reason),
			     "value", (json_int_t)event->value,
			     "deadline", event->deadline > INT64_MAX ?
			     json_null() : json_integer(event->deadline),
			     "time", (json_int_t)event->time));
}

static void report_event_text(const struct op *op, __u64 start)
{
	const struct twheel_event *event = &op->event;
	__u64 since = event->time > start ? event->time - start : 0;
	char distance[TIME_TEXT_SIZE];

	printf("%6llu.%06llu s  %s %s", since / NSEC_PER_SEC,
	       since % NSEC_PER_SEC / NSEC_PER_USEC, op->name,
	       reason_name(event->reason));
	if (event->reason == TWHEEL_COMPLETED)
		printf(" with value %llu", event->value);

	if (event->deadline > INT64_MAX)
		puts(", no deadline");
	else if (event->time < event->deadline)
		printf(", %s before its deadline\n",
		       format_time(distance, event->deadline - event->time));
	else
		printf(", %s after its deadline\n",
		       format_time(distance, event->time - event->deadline));
}

void report_event(const struct op *op, __u64 start, bool json)
{
	if (json)
		report_event_json(op);
	else
		report_event_text(op, start);
}

void report_tally(const struct tally *tally, bool json)
{
	size_t completed = tally->ended[TWHEEL_COMPLETED];
	size_t expired = tally->ended[TWHEEL_EXPIRED];
	size_t cancelled = tally->ended[TWHEEL_CANCELLED];
	size_t all = completed + expired + cancelled + tally->pending;

	if (json)
		print_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}",
				     "type", "tally",
				     "operations", (json_int_t)all,
				     "completed", (json_int_t)completed,
				     "expired", (json_int_t)expired,
				     "cancelled", (json_int_t)cancelled,
				     "pending", (json_int_t)tally->pending));
	else
		printf("%zu operations: %zu completed, %zu expired, %zu cancelled, %zu pending\n",
		       all, completed, expired, cancelled, tally->pending);
}
