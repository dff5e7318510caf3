/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of events and numbers, as text or as JSON with one object per line.
 *
 * In JSON, IDs are strings: they are opaque, and may exceed the integers that JSON
 * readers represent exactly. Times are nanoseconds of the operation's clock.
 */
#ifndef TWHEEL_COMMON_SHOW_H
#define TWHEEL_COMMON_SHOW_H

#include <stdbool.h>

#include <jansson.h>
#include <twheel.h>

#include "outcome.h"

/* Buffer size for format_id(), including the terminating NUL. */
#define ID_TEXT_SIZE	24

char *format_id(char buffer[ID_TEXT_SIZE], __u64 id);

/* Prints a JSON object on a line and drops the reference to it. */
void print_json(json_t *object);

/* Return: a number; a string if it exceeds INT64_MAX, the limit of jansson. */
json_t *json_number(__u64 number);

/* Return: a deadline or a remaining time in ns; null for never. */
json_t *json_deadline(__u64 deadline);

/* Return: the name of an enum twheel_reason. */
const char *reason_name(__u32 reason);

/* Return: an event as a JSON object. */
json_t *json_event(const struct twheel_event *event);

/* Prints the reason and the time of an event, after the name of its operation. */
void print_ending(const struct twheel_event *event);

/*
 * Writes an event with the ID of its operation to standard output, or after an error to
 * standard error: it cannot be read from the device again.
 * Return: false after an error, which has been reported.
 */
bool show_event(const struct twheel_event *event, bool json);

/* Return: the exit status for the last event of an operation. */
enum outcome event_outcome(const struct twheel_event *event);

#endif /* TWHEEL_COMMON_SHOW_H */
