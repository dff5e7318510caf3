// SPDX-License-Identifier: GPL-2.0
/*
 * Output of events as text and JSON. See show.h.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "errors.h"
#include "outcome.h"
#include "output.h"
#include "show.h"
#include "units.h"

/* Nine digits are enough for seconds and rates. */
#define JSON_FLAGS	(JSON_COMPACT | JSON_REAL_PRECISION(9))

static void write_json(FILE *to, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_FLAGS) : NULL;

	if (!text)
		exit(device_failure("JSON"));
	fprintf(to, "%s\n", text);
	free(text);
	json_decref(object);
}

void print_json(json_t *object)
{
	write_json(stdout, object);
}

void make_printable(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

json_t *json_number(__u64 count)
{
	return json_integer(count);
}

json_t *json_digits(__u64 number)
{
	return json_sprintf("%llu", number);
}

json_t *json_deadline(__u64 deadline)
{
	return deadline > INT64_MAX ? json_null() : json_digits(deadline);
}

static const char *known_reason(__u32 reason)
{
	switch (reason) {
	case TWHEEL_REASON_COMPLETED:
		return "completed";
	case TWHEEL_REASON_EXPIRED:
		return "expired";
	case TWHEEL_REASON_CANCELLED:
		return "cancelled";
	}
	return NULL;
}

const char *reason_name(__u32 reason)
{
	return known_reason(reason) ?: "unknown";
}

const char *clock_name(__u32 clock)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		return "monotonic";
	case CLOCK_BOOTTIME:
		return "boottime";
	case CLOCK_REALTIME:
		return "realtime";
	default:
		return "unknown";
	}
}

/* The bit numbers of a mask. */
static json_t *json_bits(__u64 mask)
{
	json_t *bits = json_array();

	for (; mask; mask &= mask - 1)
		json_array_append_new(bits, json_number(__builtin_ctzll(mask)));
	return bits;
}

json_t *json_event(const struct twheel_event *event)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:s?, s:s, s:o, s:o, s:b, s:o, s:o, s:o}",
			 "type", "event",
			 "id", json_digits(event->id),
			 "cookie", json_digits(event->cookie),
			 "reason", reason_name(event->reason),
			 "value", json_digits(event->value),
			 "error", event->error ? error_name(-event->error) : NULL,
			 "clock", clock_name(event->clock),
			 "deadline", json_deadline(event->deadline),
			 "time", json_digits(event->time),
			 "more", event->flags & TWHEEL_EVENT_MORE,
			 "expirations", json_number(event->expirations),
			 "satisfied", json_bits(event->satisfied),
			 "missing", json_digits(event->missing));
}

static void write_reason(FILE *to, const struct twheel_event *event)
{
	bool more = event->flags & TWHEEL_EVENT_MORE;

	fputs(more ? "came round" :
	      known_reason(event->reason) ?: "ended for an unknown reason", to);
	if (event->expirations > 1)
		fprintf(to, more ? " %llu times" : " after %llu periods", event->expirations);
	if (event->error)
		fprintf(to, " with error %s", error_name(-event->error));
	else if (event->reason == TWHEEL_REASON_COMPLETED)
		fprintf(to, " with value %llu", event->value);
}

/*
 * What an operation that did not complete by its condition had got until then. That one key is
 * missing, and none is satisfied, goes without saying.
 */
static void write_missing(FILE *to, const struct twheel_event *event)
{
	__u64 mask;

	if (!event->missing || (event->missing == 1 && !event->satisfied))
		return;
	fprintf(to, ", %llu missing", event->missing);
	for (mask = event->satisfied; mask; mask &= mask - 1)
		fprintf(to, mask == event->satisfied ? ", satisfied: %d" : " %d",
			__builtin_ctzll(mask));
}

static void write_ending(FILE *to, const struct twheel_event *event)
{
	char distance[TIME_TEXT_SIZE];

	write_reason(to, event);
	if (event->deadline > INT64_MAX)
		fputs(", no deadline", to);
	else if (event->time < event->deadline)
		fprintf(to, ", %s before its deadline",
			format_time(distance, event->deadline - event->time));
	else
		fprintf(to, ", %s after its deadline",
			format_time(distance, event->time - event->deadline));
	write_missing(to, event);
	fputc('\n', to);
}

void print_ending(const struct twheel_event *event)
{
	write_ending(stdout, event);
}

static void write_event(FILE *to, const struct twheel_event *event, bool json)
{
	if (json) {
		write_json(to, json_event(event));
		return;
	}
	fprintf(to, "operation %llu ", event->id);
	write_ending(to, event);
}

bool show_event(const struct twheel_event *event, bool json)
{
	write_event(stdout, event, json);
	if (flush_output())
		return true;
	write_event(stderr, event, json);
	return false;
}

enum outcome event_outcome(const struct twheel_event *event)
{
	switch (event->reason) {
	case TWHEEL_REASON_EXPIRED:
		return OUTCOME_EXPIRED;
	case TWHEEL_REASON_CANCELLED:
		return OUTCOME_CANCELLED;
	}
	return event->error ? OUTCOME_FAILED : OUTCOME_OK;
}
