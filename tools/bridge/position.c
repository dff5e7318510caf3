// SPDX-License-Identifier: GPL-2.0
/*
 * The position of a subject: a detached operation of the purgatory that sums the steps, and never
 * ends. Its missing amount is END less the position. Its cookie is the time at which the stream was
 * created, since another stream of the same name has other sequence numbers.
 *
 * If somebody ends it, or signals its key, the bridge adds it again from memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"

#define END		(1ULL << 62)
#define QUEUE		(TWHEEL_MAX_QUEUES - 1)	/* of the events of ended positions */
#define NR_LISTED	256

/*
 * A bridge that is killed in set_position() leaves two operations. The new one has the lower
 * position.
 */
static void find_position(struct bridge *bridge, const struct twheel_pending *entry)
{
	for (int i = 0; i < bridge->nr_subjects; i++) {
		struct subject *subject = &bridge->subjects[i];

		if (memcmp(&subject->key, &entry->keys[0], sizeof(subject->key)) ||
		    entry->condition != TWHEEL_COND_SUM || entry->nr_keys != 1 ||
		    !(entry->flags & TWHEEL_PENDING_DETACHED) || entry->missing > END)
			continue;
		if (subject->id && subject->position < END - entry->missing) {
			twheel_cancel(bridge->fd, entry->id);
			continue;
		}
		if (subject->id)
			twheel_cancel(bridge->fd, subject->id);
		subject->id = entry->id;
		subject->position = END - entry->missing;
		subject->created = entry->cookie;
	}
}

void find_positions(struct bridge *bridge)
{
	static struct twheel_pending entries[NR_LISTED];
	uint64_t cursor = 0;

	while (cursor != TWHEEL_LIST_END) {
		ssize_t nr = twheel_list(bridge->fd, TWHEEL_LIST_OTHERS, &cursor, entries,
					 NR_LISTED);

		if (nr < 0)
			die(FAILED, "cannot list %s: %s", bridge->purgatory, strerror(errno));
		for (ssize_t i = 0; i < nr; i++)
			find_position(bridge, &entries[i]);
	}
}

/* Reads the events of ended positions, which would otherwise count as unread forever. */
static void drop_events(struct bridge *bridge)
{
	struct twheel_event event;
	int fd = twheel_events(bridge->fd, QUEUE, O_NONBLOCK);

	while (fd >= 0 && twheel_read_events(fd, &event, 1) == 1)
		;
	if (fd >= 0)
		close(fd);
}

/* Replaces the operation. The new one has the whole position from its start. */
void set_position(struct bridge *bridge, struct subject *subject, uint64_t position)
{
	struct twheel_watch_spec watch = { .key = subject->key };
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.condition = TWHEEL_COND_SUM,
		.nr_keys = 1,
		.keys = (uintptr_t)&watch,
		.threshold = END - position,
		.deadline = TWHEEL_NEVER,
		.clock = CLOCK_MONOTONIC,
		.cookie = subject->created,
		.queue = QUEUE,
	};

	if (twheel_add(bridge->fd, &args))
		die(FAILED, "cannot store the position of %s: %s", subject->name, strerror(errno));
	if (subject->id && !twheel_cancel(bridge->fd, subject->id))
		drop_events(bridge);
	subject->id = args.id;
	subject->position = position;
}

void check_position(struct bridge *bridge, struct subject *subject)
{
	static uint64_t said;
	struct twheel_pending entry;

	if (!twheel_info(bridge->fd, subject->id, &entry, NULL, 0)) {
		if (entry.missing == END - subject->position)
			return;
	} else if (errno != EALREADY) {
		die(FAILED, "cannot use %s: %s", bridge->purgatory, strerror(errno));
	}
	note(&said, "the position of %s was ended or changed: adding it again", subject->name);
	subject->positions++;
	set_position(bridge, subject, subject->position);
	drop_events(bridge);
}
