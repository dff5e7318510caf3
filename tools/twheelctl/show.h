/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the commands print of events, operations and counts: for people, or as
 * JSON with one object a line.
 *
 * In JSON, ids are strings: they are opaque, and may be past what readers of JSON
 * keep exact. Times are nanoseconds of the operation's clock.
 */
#ifndef TWHEELCTL_SHOW_H
#define TWHEELCTL_SHOW_H

#include <stdbool.h>

#include <jansson.h>
#include <twheel.h>

#include "twheelctl.h"

/* Room for what format_id() writes, the end of the string included. */
#define ID_TEXT_SIZE	24

char *format_id(char buffer[ID_TEXT_SIZE], __u64 id);

/* Prints a JSON object on a line of its own, and gives it up. */
void print_json(json_t *object);

/* Return: a number; as a string if it is past what JSON's numbers are here. */
json_t *json_number(__u64 number);

/* Return: a deadline or what remains to it, in ns; null for never. */
json_t *json_deadline(__u64 deadline);

/* Return: the word for an enum twheel_reason. */
const char *reason_name(__u32 reason);

/* Return: all that an event says, as a JSON object. */
json_t *json_event(const struct twheel_event *event);

/* Prints the rest of a line that says whose event it is: how it ended, and when. */
void print_ending(const struct twheel_event *event);

/* Prints an event of an operation that has only its id as a name. */
void show_event(const struct twheel_event *event, bool json);

/* Return: how a command exits that has waited for this event. */
enum outcome event_outcome(const struct twheel_event *event);

#endif /* TWHEELCTL_SHOW_H */
