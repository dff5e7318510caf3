// SPDX-License-Identifier: GPL-2.0
/*
 * Output of events as text and JSON.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twheelctl.h"

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

/* Prints a line, and frees it. */
static bool show_text(char *text)
{
	bool written;

	if (!text)
		exit(device_failure("output"));
	puts(text);
	written = flush_output();
	if (!written)
		fprintf(stderr, "%s\n", text);
	free(text);
	return written;
}

bool show_json(json_t *object)
{
	char *text = object ? json_dumps(object, JSON_FLAGS) : NULL;

	json_decref(object);
	return show_text(text);
}

bool show_change(const struct command_line *line, json_t *object, const char *format, ...)
{
	char *text;
	va_list args;

	if (line->json)
		return show_json(object);
	json_decref(object);
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return show_text(text);
}

void make_printable(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

json_t *json_digits(__u64 number)
{
	return json_sprintf("%llu", number);
}

json_t *json_deadline(__u64 deadline)
{
	return deadline > INT64_MAX ? json_null() : json_digits(deadline);
}

/* Return: the name, or the number of an error without a name, until the next call. */
static const char *error_name(int error)
{
	static char number[12];

	snprintf(number, sizeof(number), "%d", error);
	return strerrorname_np(error) ?: number;
}

/* The greatest error of a completion. */
#define MAX_ERROR	4095

bool take_error(const char *text, void *to)
{
	for (int error = 1; error <= MAX_ERROR; error++) {
		if (strcmp(text, error_name(error)))
			continue;
		*(int *)to = error;
		return true;
	}
	return false;
}

static const char *reason_name(__u32 reason)
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

static const char *const condition_names[] = {
	[TWHEEL_COND_NONE] = "none",
	[TWHEEL_COND_ANY] = "any",
	[TWHEEL_COND_ALL] = "all",
	[TWHEEL_COND_QUORUM] = "quorum",
	[TWHEEL_COND_SUM] = "sum",
};

const char *condition_name(__u32 condition)
{
	return condition < ARRAY_SIZE(condition_names) ? condition_names[condition] : "unknown";
}

bool take_clock(const char *text, void *to)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	struct number *clock = to;

	clock->given = true;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		clock->value = clocks[i];
		if (!strcmp(text, clock_name(clocks[i])))
			return true;
	}
	return false;
}

/* The bit numbers of a mask. */
static json_t *json_bits(__u64 mask)
{
	json_t *bits = json_array();

	for (; mask; mask &= mask - 1)
		json_array_append_new(bits, json_integer(__builtin_ctzll(mask)));
	return bits;
}

/* The keys that are satisfied, or those that are not. */
static json_t *json_keys(const struct twheel_event *event, const struct watch_list *keys,
			 bool satisfied)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];
	json_t *array = json_array();

	for (unsigned int i = 0; i < keys->nr; i++) {
		if ((event->satisfied >> i & 1) != satisfied)
			continue;
		twheel_key_format(keys->specs[i].key, text);
		json_array_append_new(array, json_string(text));
	}
	return array;
}

/* Return: true if @keys are known, and @event has their bits. */
static bool has_keys(const struct twheel_event *event, const struct watch_list *keys)
{
	return keys && !(event->flags & TWHEEL_EVENT_MORE);
}

json_t *json_event(const struct twheel_event *event, const struct watch_list *keys)
{
	json_t *object;

	object = json_pack("{s:s,s:o,s:o,s:s,s:o,s:s?,s:s,s:o,s:o,s:b,s:b,s:o,s:o,s:o}",
			   "type", "event",
			   "id", json_digits(event->id),
			   "cookie", json_digits(event->cookie),
			   "reason", reason_name(event->reason) ?: "unknown",
			   "value", json_digits(event->value),
			   "error", event->error ? error_name(-event->error) : NULL,
			   "clock", clock_name(event->clock),
			   "deadline", json_deadline(event->deadline),
			   "time", json_digits(event->time),
			   "more", event->flags & TWHEEL_EVENT_MORE,
			   "again", event->flags & TWHEEL_EVENT_AGAIN,
			   "expirations", json_integer(event->expirations),
			   "satisfied", json_bits(event->satisfied),
			   "missing", json_digits(event->missing));
	if (!has_keys(event, keys))
		return object;
	json_object_set_new(object, "satisfied_keys", json_keys(event, keys, true));
	json_object_set_new(object, "unsatisfied_keys", json_keys(event, keys, false));
	return object;
}

static void write_reason(FILE *to, const struct twheel_event *event)
{
	bool more = event->flags & TWHEEL_EVENT_MORE;

	fputs(more ? "came round" :
	      reason_name(event->reason) ?: "ended for an unknown reason", to);
	if (event->expirations > 1)
		fprintf(to, more ? " %llu times" : " after %llu periods", event->expirations);
	if (event->error)
		fprintf(to, " with error %s", error_name(-event->error));
	else if (event->reason == TWHEEL_REASON_COMPLETED)
		fprintf(to, " with value %llu", event->value);
}

static void write_bits(FILE *to, __u64 mask)
{
	const char *before = ", satisfied bits: ";

	for (; mask; mask &= mask - 1, before = " ")
		fprintf(to, "%s%d", before, __builtin_ctzll(mask));
}

static void write_keys(FILE *to, __u64 mask, const struct watch_list *keys, const char *before)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];

	for (unsigned int i = 0; i < keys->nr; i++) {
		if (!(mask >> i & 1))
			continue;
		fprintf(to, "%s%s", before, twheel_key_format(keys->specs[i].key, text));
		before = " ";
	}
}

/*
 * What an operation that did not complete by its condition had got until then, and which of
 * several keys it got. That one key is missing, and none is satisfied, goes without saying.
 */
static void write_missing(FILE *to, const struct twheel_event *event,
			  const struct watch_list *keys)
{
	bool several = has_keys(event, keys) && keys->nr > 1;

	if (event->missing > 1 || (event->missing && (several || event->satisfied)))
		fprintf(to, ", %llu missing", event->missing);
	if (several) {
		write_keys(to, event->satisfied, keys, ", satisfied: ");
		write_keys(to, ~event->satisfied, keys, ", not satisfied: ");
	} else if (event->missing) {
		write_bits(to, event->satisfied);
	}
}

static void write_event(FILE *to, const struct twheel_event *event,
			const struct watch_list *keys, bool json)
{
	char distance[TIME_TEXT_SIZE];

	if (json) {
		write_json(to, json_event(event, keys));
		return;
	}
	fprintf(to, "operation %llu ", event->id);
	write_reason(to, event);
	if (event->deadline > INT64_MAX)
		fputs(", no deadline", to);
	else if (event->time < event->deadline)
		fprintf(to, ", %s before its deadline",
			format_time(distance, event->deadline - event->time));
	else
		fprintf(to, ", %s after its deadline",
			format_time(distance, event->time - event->deadline));
	write_missing(to, event, keys);
	fputc('\n', to);
}

bool show_event(const struct twheel_event *event, const struct watch_list *keys, bool json)
{
	write_event(stdout, event, keys, json);
	if (flush_output())
		return true;
	write_event(stderr, event, keys, json);
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
