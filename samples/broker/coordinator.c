// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of the members of a group; see group.h.
 */
#include "group.h"

/* The leader gets all members of its generation. */
static void put_members(struct request *request, struct part *part, struct wire *wire)
{
	const struct member *member = NULL;
	size_t at = wire->size;
	int nr = 0;

	wire_count(wire, 0);
	while (request->is_leader && (member = group_next(request->group, member))) {
		struct text id = text_of(member->id), instance = text_of(member->instance);
		struct text metadata = group_metadata(member);

		if (metadata.len < 0)
			continue;
		if (!instance.len)
			instance.len = -1;
		wire_string(wire, &id);
		if (request->version >= 5)
			wire_string(wire, &instance);
		wire_bytes(wire, &metadata);
		nr++;
	}
	wire_patch(wire, at, nr);
}

const struct api api_join_group = {
	.key = 11, .max = 5,
	.request = FIELDS(TEXT(0, group_name), NUMBER(0, session_ms), NUMBER(1, timeout_ms),
		TEXT(0, member_id), TEXT(5, instance), TEXT(0, protocol), PAIRS(list)),
	.response = FIELDS(THROTTLE(2), NUMBER(0, error), NUMBER(0, generation),
		TEXT(0, protocol), TEXT(0, leader), TEXT(0, member_id), CALLS(put_members)),
	.group = group_join, .missing = group_missing, .closed = group_closed,
	.answer = group_answer,
};

const struct api api_sync_group = {
	.key = 14, .max = 3,
	.request = MEMBER_REQUEST(3, PAIRS(list)),
	.response = FIELDS(THROTTLE(1), NUMBER(0, error), BYTES(list)),
	.group = group_sync, .missing = group_missing, .closed = group_closed,
	.answer = group_answer,
};

const struct api api_heartbeat = {
	.key = 12, .max = 3,
	.request = MEMBER_REQUEST(3, { }),
	.response = FIELDS(THROTTLE(1), NUMBER(0, error)),
	.group = group_heartbeat,
};

const struct api api_leave_group = {
	.key = 13, .max = 3,
	.request = FIELDS(TEXT(0, group_name), FIELD(TEXT, 0, 2, request, member_id),
		EACH_PART(3, PART_TEXT(0, topic), PART_TEXT(0, note))),
	.response = FIELDS(THROTTLE(1), NUMBER(0, error),
		EACH_PART(3, PART_TEXT(0, topic), PART_TEXT(0, note), PART_NUMBER(0, error))),
	.group = group_leave,
};
