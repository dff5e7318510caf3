// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl add: adds an operation and, unless it is detached, prints its events.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "order.h"
#include "output.h"
#include "show.h"
#include "failure.h"

/*
 * Prints only the ID of a detached operation, for use by scripts.
 * Return: false if it cannot be written.
 */
static bool print_added(const struct command_line *line, const struct twheel_add_args *args)
{
	json_t *object = json_pack("{s:s, s:o}", "type", "added", "id", json_digits(args->id));

	if (args->flags & TWHEEL_ADD_DETACHED)
		return show_change(line, object, "%llu", args->id);
	return show_change(line, object, "operation %llu is pending", args->id);
}

/* Return: the keys, if the condition counts satisfied ones. */
static const struct watch_list *counted_keys(const struct order *order)
{
	__u32 condition = order->args.condition;

	return condition == TWHEEL_COND_NONE || condition == TWHEEL_COND_SUM ? NULL : &order->keys;
}

/* Prints the events of the operation, including the last one. */
static enum outcome follow(const struct command_line *line, const struct order *order, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	const struct watch_list *keys = counted_keys(order);
	struct twheel_event event;
	ssize_t nr;

	do {
		if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
			return device_failure("waiting for an event");
		nr = twheel_read_events(fd, &event, 1);
		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return device_failure("reading an event");
		if (nr > 0 && !show_event(&event, keys, line->json))
			return OUTCOME_DEVICE;
	} while (nr < 0 || (nr && event.flags & TWHEEL_EVENT_MORE));
	if (!nr) {
		fputs("twheelctl add: " REMOVED_TEXT ", and no event was received\n", stderr);
		return OUTCOME_FAILED;
	}
	return event_outcome(&event);
}

static enum outcome add(struct command_line *line, struct order *order)
{
	bool detached = order->args.flags & TWHEEL_ADD_DETACHED;
	int fd = detached ? open_named(line, OPEN_WRITE_ONLY) : open_purgatory(line);
	enum outcome outcome = OUTCOME_OK;

	if (fd < 0)
		return line->outcome;
	if (twheel_add(fd, &order->args))
		outcome = refused(line, "operation not added");
	else if (!print_added(line, &order->args))
		outcome = OUTCOME_DEVICE;
	else if (!detached)
		outcome = follow(line, order, fd);
	close(fd);
	return outcome;
}

enum outcome add_command(struct command_line *line)
{
	enum outcome outcome;
	struct order order;

	if (take_order(line, &order))
		outcome = add(line, &order);
	else
		outcome = line->outcome;
	free(order.keys.specs);
	return outcome;
}
