/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of events and numbers, as text or as JSON with one object per line.
 *
 * Many JSON readers represent integers exactly only up to 2^53. A field that may exceed it is
 * always a string of digits, and has one type: IDs, cookies, values, amounts, and the times of
 * twheelctl in ns. Counts are numbers.
 */
#ifndef TWHEELCTL_SHOW_H
#define TWHEELCTL_SHOW_H

#include <stdbool.h>

#include <jansson.h>
#include <twheel.h>

#include "keys.h"
#include "twheelctl.h"

/* Prints a JSON object on a line and drops the reference to it. */
void print_json(json_t *object);

/*
 * Prints a change that the command has made: with --json the object, whose reference it drops,
 * otherwise text without the end of the line. After a write error it goes to standard error: the
 * command must not be repeated. Return: false after an error, which has been reported.
 */
bool show_change(const struct command_line *line, json_t *object, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* show_change() of a command that always prints JSON. */
bool show_json(json_t *object);

/* Replaces the bytes that are not printable ASCII by '?'. */
void make_printable(char *text);

/* Return: a count, as a number. */
json_t *json_number(__u64 count);

/* Return: a string of digits. */
json_t *json_digits(__u64 number);

/* Return: a deadline or a remaining time in ns, as a string of digits; null for never. */
json_t *json_deadline(__u64 deadline);

/* For option_spec.take: the number of the error @text, to an int. */
bool take_error(const char *text, void *to);

/* Return: the name of a clock; "unknown" for one of a later module. */
const char *clock_name(__u32 clock);

/*
 * @keys: the keys of the operation, in the order of its add; NULL if they are unknown, or if the
 *	condition does not count them, then the event is shown with the bits only
 * Return: an event as a JSON object.
 */
json_t *json_event(const struct twheel_event *event, const struct watch_list *keys);

/*
 * Writes an event with the ID of its operation to standard output, or after an error to
 * standard error: it cannot be read from the device again. @keys: as for json_event().
 * Return: false after an error, which has been reported.
 */
bool show_event(const struct twheel_event *event, const struct watch_list *keys, bool json);

/* Return: the exit status for the last event of an operation. */
enum outcome event_outcome(const struct twheel_event *event);

#endif /* TWHEELCTL_SHOW_H */
