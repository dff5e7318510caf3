// SPDX-License-Identifier: GPL-2.0
/*
 * Output of events as text and JSON. See show.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "errors.h"
#include "outcome.h"
#include "show.h"
#include "units.h"

/* Nine digits are enough for seconds and rates. */
#define JSON_FLAGS	(JSON_COMPACT | JSON_REAL_PRECISION(9))

char *format_id(char buffer[ID_TEXT_SIZE], __u64 id)
{
	snprintf(buffer, ID_TEXT_SIZE, "%llu", id);
	return buffer;
}

void print_json(json_t *object)
{
	if (!object || json_dumpf(object, stdout, JSON_FLAGS))
		exit(device_failure("JSON"));
	putchar('\n');
	json_decref(object);
}

json_t *json_number(__u64 number)
{
	char text[ID_TEXT_SIZE];

	return number > INT64_MAX ? json_string(format_id(text, number)) :
				    json_integer(number);
}

json_t *json_deadline(__u64 deadline)
{
	return deadline > INT64_MAX ? json_null() : json_integer(deadline);
}

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
	return "ended for an unknown reason";
}

json_t *json_event(const struct twheel_event *event)
{
	char id[ID_TEXT_SIZE];

	return json_pack("{s:s, s:s, s:o, s:s, s:o, s:s?, s:o, s:o, s:b, s:o}",
			 "type", "event",
			 "id", format_id(id, event->id),
			 "cookie", json_number(event->cookie),
			 "reason", reason_name(event->reason),
			 "value", json_number(event->value),
			 "error", event->error ? error_name(-event->error) : NULL,
			 "deadline", json_deadline(event->deadline),
			 "time", json_number(event->time),
			 "more", event->flags & TWHEEL_EVENT_MORE,
			 "expirations", json_number(event->expirations));
}

static void print_reason(const struct twheel_event *event)
{
	bool more = event->flags & TWHEEL_EVENT_MORE;

	fputs(more ? "came round" : reason_name(event->reason), stdout);
	if (event->expirations > 1)
		printf(more ? " %llu times" : " after %llu periods", event->expirations);
	if (event->error)
		printf(" with error %s", error_name(-event->error));
	else if (event->reason == TWHEEL_COMPLETED)
		printf(" with value %llu", event->value);
}

void print_ending(const struct twheel_event *event)
{
	char distance[TIME_TEXT_SIZE];

	print_reason(event);
	if (event->deadline > INT64_MAX)
		puts(", no deadline");
	else if (event->time < event->deadline)
		printf(", %s before its deadline\n",
		       format_time(distance, event->deadline - event->time));
	else
		printf(", %s after its deadline\n",
		       format_time(distance, event->time - event->deadline));
}

void show_event(const struct twheel_event *event, bool json)
{
	if (json) {
		print_json(json_event(event));
		return;
	}
	printf("operation %llu ", event->id);
	print_ending(event);
}

enum outcome event_outcome(const struct twheel_event *event)
{
	switch (event->reason) {
	case TWHEEL_EXPIRED:
		return OUTCOME_EXPIRED;
	case TWHEEL_CANCELLED:
		return OUTCOME_CANCELLED;
	}
	return event->error ? OUTCOME_FAILED : OUTCOME_OK;
}
