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
#include <stdio.h>
#include <string.h>

#include "bridge.h"

#define END		(1ULL << 62)
#define QUEUE		(TWHEEL_MAX_QUEUES - 1)	/* of the events of ended positions */
#define NR_LISTED	256

/*
 * A bridge that is killed in set_position() leaves two operations. The new one has the lower
 * position.
 */
static void find_position(struct subject *subject, const struct twheel_pending *entry)
{
	uint64_t position = END - entry->missing;
	bool old = subject->id && position > subject->position;

	if (memcmp(&subject->key, &entry->keys[0], sizeof(subject->key)) || entry->nr_keys != 1 ||
	    entry->condition != TWHEEL_COND_SUM || !(entry->flags & TWHEEL_PENDING_DETACHED))
		return;
	if (subject->id)
		twheel_cancel(bridge.fd, old ? entry->id : subject->id);
	if (old)
		return;
	subject->id = entry->id;
	subject->position = position;
	subject->created = entry->cookie;
}

void find_positions(void)
{
	static struct twheel_pending entries[NR_LISTED];
	char text[2 * NAME_SIZE + 16];
	uint64_t cursor = 0;
	ssize_t nr;

	for (int i = 0; i < bridge.nr_subjects; i++) {
		nr = sprintf(text, "twheel-bridge %s %s", bridge.stream, bridge.subjects[i].name);
		bridge.subjects[i].key = twheel_key_hash(text, nr);
	}
	while (cursor != TWHEEL_LIST_END) {
		nr = twheel_list(bridge.fd, TWHEEL_LIST_OTHERS, &cursor, entries, NR_LISTED);
		if (nr < 0)
			err(FAILED, "cannot list %s", bridge.purgatory);
		while (nr-- > 0)
			for (int i = 0; i < bridge.nr_subjects; i++)
				find_position(&bridge.subjects[i], &entries[nr]);
	}
	bridge.events = twheel_events(bridge.fd, QUEUE, O_NONBLOCK);
	if (bridge.events < 0)
		err(FAILED, "cannot read the events of %s", bridge.purgatory);
}

/* Replaces the operation. The new one has the whole position from its start. */
void set_position(struct subject *subject, uint64_t position)
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
	struct twheel_event event;

	if (twheel_add(bridge.fd, &args))
		err(FAILED, "cannot store the position of %s", subject->name);
	if (subject->id)
		twheel_cancel(bridge.fd, subject->id);
	/* Unread events would count against the limit of the queue. */
	while (twheel_read_events(bridge.events, &event, 1) > 0)
		;
	subject->id = args.id;
	subject->position = position;
}

void check_position(struct subject *subject)
{
	static __thread uint64_t said;
	struct twheel_pending entry;

	if (!twheel_info(bridge.fd, subject->id, &entry, NULL, 0)) {
		if (entry.missing == END - subject->position)
			return;
	} else if (errno != ENOENT) {
		err(FAILED, "cannot use %s", bridge.purgatory);
	}
	note(&said, "the position of %s was ended or changed: adding it again", subject->name);
	subject->positions++;
	set_position(subject, subject->position);
}
