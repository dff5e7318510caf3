// SPDX-License-Identifier: GPL-2.0
/*
 * The output of the player. See report.h, and show.h for the events.
 */
#include <stdio.h>
#include <stdlib.h>

#include "outcome.h"
#include "report.h"
#include "show.h"
#include "units.h"

static void report_event_json(const struct op *op)
{
	json_t *event = json_event(&op->event, NULL);
	json_t *named = json_pack("{s:s, s:s}", "type", "event", "name", op->name);

	/* Updates keep the order of existing keys: the name stays second. */
	if (json_object_update(named, event))
		exit(device_failure("JSON"));
	json_decref(event);
	print_json(named);
}

static void report_event_text(const struct op *op, __u64 start)
{
	const struct twheel_event *event = &op->event;
	__u64 since = event->time > start ? event->time - start : 0;

	printf("%6llu.%06llu s  %s ", since / NSEC_PER_SEC,
	       since % NSEC_PER_SEC / NSEC_PER_USEC, op->name);
	print_ending(event);
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
	size_t completed = tally->ended[TWHEEL_REASON_COMPLETED];
	size_t expired = tally->ended[TWHEEL_REASON_EXPIRED];
	size_t cancelled = tally->ended[TWHEEL_REASON_CANCELLED];
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
