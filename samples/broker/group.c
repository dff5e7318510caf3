// SPDX-License-Identifier: GPL-2.0
/* Consumer groups: see group.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "group.h"

#define MAX_SESSION_MS	1800000

static struct {
	pthread_mutex_t lock;
	uint64_t tickets;
	int nr_slots;		/* of members that were ever used */
	struct group groups[MAX_GROUPS];
	struct member members[MAX_MEMBERS];
} *shared;

void group_lock(void)
{
	if (pthread_mutex_lock(&shared->lock) != EOWNERDEAD)
		return;
	/* The owner was killed, and may have left anything unfinished. */
	pthread_mutex_consistent(&shared->lock);
	for (int i = 0; i < shared->nr_slots; i++) {
		shared->members[i].group = NULL;
		shared->members[i].session.id = 0;
	}
	for (int i = 0; i < MAX_GROUPS; i++)
		shared->groups[i].state = EMPTY;
	offsets_load();
}

void group_unlock(void)
{
	pthread_mutex_unlock(&shared->lock);
}

/* Return: the next member after @last, or the first one after NULL. */
static struct member *next_member(const struct group *group, struct member *last)
{
	struct member *next = last ? last + 1 : shared->members;

	while (next < shared->members + shared->nr_slots && next->group != group)
		next++;
	return next < shared->members + shared->nr_slots ? next : NULL;
}

#define for_each_member(member, group) \
	for (member = next_member(group, NULL); member; member = next_member(group, member))

static void wake(struct group *group, enum wait_kind kind)
{
	wait_signal((struct wait_key){ kind, group - shared->groups }, UINT32_MAX);
}

/* Heartbeats do not replace the JoinGroup or SyncGroup of a member. */
static void renew(struct member *member)
{
	uint64_t end = now_ns() + member->session_ms * NS_PER_MS;

	if (member->due && member->due < end && !member->waits_in)
		end = member->due;
	wait_alarm(&member->session, (struct wait_key){ WAIT_SESSION, member - shared->members },
		   end);
}

static bool store(struct data *data, struct text text)
{
	if (text.len > GROUP_DATA_MAX)
		return false;
	data->len = MAX(text.len, 0);
	memcpy(data->bytes, data->len ? text.data : "", data->len);
	return true;
}

static struct text stored(const struct data *data)
{
	return (struct text){ data->bytes, data->len };
}

enum error_code group_coordinate(const struct request *request)
{
	struct text name = request->group_name;

	if (name.len <= 0 || name.len >= GROUP_NAME_SIZE || memchr(name.data, 0, name.len))
		return INVALID_GROUP_ID;
	return config_coordinator(name) == config.self ? 0 : NOT_COORDINATOR;
}

struct group *group_find(struct text name, bool create)
{
	struct group *unused = NULL;

	for (struct group *group = shared->groups; group < shared->groups + MAX_GROUPS; group++) {
		if (text_is(name, group->name))
			return group;
		if (!unused && group->state == EMPTY && !group->has_offsets)
			unused = group;
	}
	if (!create || !unused)
		return NULL;
	*unused = (struct group){ .generation = unused->generation };
	text_copy(unused->name, sizeof(unused->name), name);
	return unused;
}

/* An ID has the number of the slot. */
static struct member *find_member(const struct group *group, struct text id)
{
	char copy[sizeof(shared->members->id)];
	struct member *member;
	int slot = -1;

	text_copy(copy, sizeof(copy), id);
	if (sscanf(copy, "member-%d-", &slot) != 1 || slot < 0 || slot >= shared->nr_slots)
		return NULL;
	member = &shared->members[slot];
	return member->group == group && text_is(id, member->id) ? member : NULL;
}

static struct member *find_instance(const struct group *group, struct text instance)
{
	struct member *member = instance.len > 0 ? next_member(group, NULL) : NULL;

	while (member && !text_is(instance, member->instance))
		member = next_member(group, member);
	return member;
}

/* Find the group and the member of a request. */
static enum error_code find(struct request *request)
{
	struct group *group = group_find(request->group_name, false);
	struct member *holder = group ? find_instance(group, request->instance) : NULL;

	request->group = group;
	request->member = group ? find_member(group, request->member_id) : NULL;
	if (holder && holder != request->member)
		return FENCED_INSTANCE_ID;
	return request->member ? 0 : UNKNOWN_MEMBER_ID;
}

enum error_code group_check(struct request *request)
{
	enum error_code error = find(request);

	if (error)
		return error;
	if (request->generation != request->group->generation ||
	    request->generation != request->member->generation)
		return ILLEGAL_GENERATION;
	renew(request->member);
	return 0;
}

/* Find a protocol of a member. Return: its metadata, or a length of -1. */
static struct text find_protocol(const struct member *member, struct text name)
{
	struct wire list = wire_of(stored(&member->protocols));
	struct text metadata, found;

	while (wire_pair(&list, &found, &metadata)) {
		if (text_equals(found, name))
			return metadata;
	}
	return (struct text){ .len = -1 };
}

/* Return: the first protocol of a list that all other members have, or a length of -1. */
static struct text choose(const struct group *group, struct text protocols,
			  const struct member *except)
{
	struct wire list = wire_of(protocols);
	struct text name, metadata;
	struct member *member;

	while (wire_pair(&list, &name, &metadata)) {
		bool all = true;

		for_each_member(member, group)
			all &= member == except || find_protocol(member, name).len >= 0;
		if (all && name.len > 0 && name.len < GROUP_NAME_SIZE)
			return name;
	}
	return (struct text){ .len = -1 };
}

/* End a rebalance if all members have joined, or its time is over. */
static void try_join(struct group *group)
{
	struct member *member, *leader = NULL;
	bool is_over = now_ns() >= group->deadline;

	if (group->state != JOINING || (!is_over && group->limit))
		return;
	for_each_member(member, group) {
		if (!member->waits_in && !is_over)
			return;
		if (member->waits_in && (!leader || member == group->leader))
			leader = member;
	}
	/* A static member keeps its place until the end of its session. */
	for_each_member(member, group) {
		if (!member->waits_in && !member->instance[0]) {
			wait_complete(&member->session);
			member->group = NULL;
		}
	}
	if (!leader) {
		if (!next_member(group, NULL))
			group->state = EMPTY;
		return;
	}
	group->generation++;
	group->state = SYNCING;
	group->limit = 0;
	group->leader = leader;
	text_copy(group->protocol, sizeof(group->protocol),
		  choose(group, stored(&leader->protocols), leader));
	for_each_member(member, group) {
		member->assignment.len = 0;
		if (!member->waits_in)
			continue;
		member->generation = group->generation;
		member->due = now_ns() + member->rebalance_ms * NS_PER_MS;
		member->waits_in = 0;
		renew(member);
	}
	wake(group, WAIT_JOIN);
}

static void rebalance(struct group *group)
{
	uint64_t now = now_ns();
	struct member *member;
	int longest = 0;

	for_each_member(member, group)
		longest = MAX(longest, member->rebalance_ms);
	if (group->state == SYNCING)
		wake(group, WAIT_ASSIGN);
	group->limit = 0;
	group->deadline = now + longest * NS_PER_MS;
	if (group->state == EMPTY) {
		group->limit = group->deadline;
		group->deadline = now + config.initial_delay_ms * NS_PER_MS;
	}
	group->state = JOINING;
	for_each_member(member, group) {
		bool was_due = member->due;

		member->waits_in = 0;
		member->due = member->instance[0] ? 0 : group->deadline;
		if (was_due)
			renew(member);
	}
}

/* A request of the member that waits is answered with an error. */
static void remove_member(struct member *member)
{
	struct group *group = member->group;

	if (member->waits_in)
		wake(group, group->state == JOINING ? WAIT_JOIN : WAIT_ASSIGN);
	wait_complete(&member->session);
	member->group = NULL;
	if (!next_member(group, NULL))
		group->state = EMPTY;
	else if (group->state != JOINING)
		rebalance(group);
	try_join(group);
}

/* The session of a member cannot end while its request waits. */
static void session_ended(struct wait *wait, enum wait_end end)
{
	struct member *member = container_of(wait, struct member, session);

	group_lock();
	if (member->group && end <= WAIT_EXPIRED && member->waits_in)
		renew(member);
	else if (member->group && !wait_again(wait, end) && end != WAIT_STOPPED)
		remove_member(member);
	group_unlock();
}

/* An ID is not used again, not even by another broker or after a restart. */
static void name_member(struct member *member)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(member->id, sizeof(member->id), "member-%d-%llx", (int)(member - shared->members),
		 now.tv_sec * 1000000000ULL + now.tv_nsec);
}

static struct member *new_member(struct group *group, struct text instance)
{
	struct member *member = shared->members;

	while (member->group && member < shared->members + MAX_MEMBERS - 1)
		member++;
	if (member->group)
		return NULL;
	if (member - shared->members >= shared->nr_slots)
		shared->nr_slots = member - shared->members + 1;
	member->generation = 0;
	member->due = 0;
	member->assignment.len = 0;
	member->session.fn = session_ended;
	name_member(member);
	text_copy(member->instance, sizeof(member->instance), instance);
	member->group = group;
	return member;
}

/* The request may wait from now on. */
static void hold(struct request *request, enum wait_kind kind)
{
	request->key = (struct wait_key){ kind, request->group - shared->groups };
	request->ticket = ++shared->tickets;
	request->member->ticket = request->ticket;
}

static enum error_code join(struct request *request)
{
	struct group *group = group_find(request->group_name, true);
	struct member *member, *holder;
	bool is_new, restarts, same;

	request->group = group;
	if (!group)
		return COORDINATOR_NOT_AVAILABLE;
	if (request->session_ms < config.min_session_ms || request->session_ms > MAX_SESSION_MS)
		return INVALID_SESSION_TIMEOUT;
	if (request->list.len > GROUP_DATA_MAX || request->instance.len >= GROUP_NAME_SIZE)
		return MESSAGE_TOO_LARGE;
	holder = find_instance(group, request->instance);
	member = request->member_id.len > 0 ? find_member(group, request->member_id) : holder;
	if (holder && member != holder)
		return FENCED_INSTANCE_ID;
	if (request->member_id.len > 0 && !member)
		return UNKNOWN_MEMBER_ID;
	if ((group->state != EMPTY && !text_is(request->protocol, group->type)) ||
	    request->protocol.len <= 0 || request->protocol.len >= GROUP_NAME_SIZE ||
	    choose(group, request->list, member).len < 0)
		return INCONSISTENT_GROUP_PROTOCOL;
	is_new = !member;
	if (is_new)
		member = new_member(group, request->instance);
	if (!member)
		return GROUP_MAX_SIZE_REACHED;
	/* A static member that has restarted: the old ID is not valid any more. */
	restarts = holder && request->member_id.len <= 0;
	if (restarts)
		name_member(member);
	same = !is_new && text_equals(stored(&member->protocols), request->list);
	store(&member->protocols, request->list);
	member->session_ms = request->session_ms;
	member->rebalance_ms = request->version ? request->timeout_ms : request->session_ms;
	request->member = member;
	hold(request, WAIT_JOIN);
	/* Nothing has changed, or the response was lost. The leader knows only old IDs. */
	if (same && member->generation == group->generation &&
	    (group->state == SYNCING ? !restarts :
	     group->state == STABLE && (restarts || member != group->leader))) {
		renew(member);
		return 0;
	}
	if (group->state == EMPTY)
		text_copy(group->type, sizeof(group->type), request->protocol);
	if (group->state != JOINING)
		rebalance(group);
	else if (is_new && group->limit)
		group->deadline = now_ns() + config.initial_delay_ms * NS_PER_MS;
	if (group->limit && group->deadline > group->limit)
		group->deadline = group->limit;
	member->waits_in = getpid();
	renew(member);
	try_join(group);
	return 0;
}

static enum error_code sync_group(struct request *request)
{
	enum error_code error = group_check(request);
	struct group *group = request->group;
	struct wire list = wire_of(request->list);
	struct member *member;
	struct text id, data;

	if (error)
		return error;
	hold(request, WAIT_ASSIGN);
	request->member->due = 0;
	renew(request->member);
	request->deadline = now_ns() + request->member->rebalance_ms * NS_PER_MS;
	if (group->state != SYNCING)
		return group->state == JOINING ? REBALANCE_IN_PROGRESS : 0;
	if (request->member != group->leader) {
		request->member->waits_in = getpid();
		return 0;
	}
	while (wire_pair(&list, &id, &data)) {
		member = find_member(group, id);
		if (member && !store(&member->assignment, data))
			return MESSAGE_TOO_LARGE;
	}
	for_each_member(member, group)
		member->waits_in = 0;
	group->state = STABLE;
	wake(group, WAIT_ASSIGN);
	return 0;
}

static enum error_code heartbeat(struct request *request)
{
	enum error_code error = group_check(request);

	return !error && request->group->state == JOINING ? REBALANCE_IN_PROGRESS : error;
}

static enum error_code leave(struct request *request)
{
	if (request->version < 3)
		request_add(request, request->member_id);
	for_each_part(part, request) {
		request->member_id = part->topic;
		request->instance = part->note;
		part->error = find(request);
		/* An administrator removes a static member by its name. */
		if (part->error == FENCED_INSTANCE_ID && part->topic.len <= 0) {
			request->member = find_instance(request->group, part->note);
			part->error = 0;
		}
		if (!part->error)
			remove_member(request->member);
	}
	return request->version < 3 && request->nr_parts ? request->parts[0].error : 0;
}

/* Does the request still belong to its member? */
static bool is_current(const struct request *request)
{
	return request->member && request->member->group == request->group &&
	       request->member->ticket == request->ticket;
}

static uint64_t missing(struct request *request)
{
	if (request->error)
		return 0;
	if (request->key.kind == WAIT_JOIN) {
		try_join(request->group);
		request->deadline = request->group->deadline;
	}
	return is_current(request) && request->member->waits_in;
}

static void closed(struct request *request)
{
	if (request->error || !is_current(request))
		return;
	request->member->waits_in = 0;
	/* Nobody knows the ID of a new member. */
	if (!request->member->generation)
		remove_member(request->member);
}

static enum error_code outcome(const struct request *request)
{
	struct member *member = request->member;

	if (request->error || !is_current(request))
		return request->error ?: UNKNOWN_MEMBER_ID;
	if (request->key.kind == WAIT_JOIN ? !member->waits_in :
	    request->group->state == STABLE && request->generation == member->generation)
		return 0;
	member->waits_in = 0;
	return REBALANCE_IN_PROGRESS;
}

static void answer(struct request *request)
{
	const struct group *group = request->group;
	const struct text none = { .len = -1 }, empty = text_of("");
	struct member *member = request->member;

	request->error = outcome(request);
	request->list = empty;
	request->protocol = empty;
	request->leader = empty;
	if (request->member_id.len < 0)
		request->member_id = empty;
	request->generation = -1;
	if (request->error)
		return;
	request->generation = member->generation;
	request->member_id = text_of(member->id);
	request->protocol = text_of(group->protocol);
	request->list = stored(&member->assignment);
	if (group->leader != member || group->state != STABLE)
		request->leader = text_of(group->leader->id);
	/* A leader that has restarted in a stable group does not assign again. */
	if (group->leader != member || group->state == STABLE)
		return;
	/* The leader gets all members of its generation. */
	for_each_member(member, group) {
		struct text metadata = find_protocol(member, request->protocol);
		struct part *part = NULL;

		if (metadata.len >= 0)
			part = request_add(request, text_of(member->id));
		if (part) {
			part->note = member->instance[0] ? text_of(member->instance) : none;
			part->records = metadata;
		}
		request->failed |= !part && metadata.len >= 0;
	}
}

const struct api api_join_group = {
	.key = 11, .max = 5,
	.request = FIELDS(TEXT(0, group_name), NUMBER(0, 4, session_ms), NUMBER(1, 4, timeout_ms),
		TEXT(0, member_id), TEXT(5, instance), TEXT(0, protocol), PAIRS(list)),
	.response = FIELDS(THROTTLE(2), NUMBER(0, 2, error), NUMBER(0, 4, generation),
		TEXT(0, protocol), TEXT(0, leader), TEXT(0, member_id),
		EACH_PART(0, PART_TEXT(0, topic), PART_TEXT(5, note), PART_BYTES(records))),
	.group = join, .missing = missing, .closed = closed, .answer = answer,
};

const struct api api_sync_group = {
	.key = 14, .max = 3,
	.request = MEMBER_REQUEST(3, PAIRS(list)),
	.response = FIELDS(THROTTLE(1), NUMBER(0, 2, error), BYTES(list)),
	.group = sync_group, .missing = missing, .closed = closed, .answer = answer,
};

const struct api api_heartbeat = {
	.key = 12, .max = 3,
	.request = MEMBER_REQUEST(3, { }),
	.response = FIELDS(THROTTLE(1), NUMBER(0, 2, error)),
	.group = heartbeat,
};

const struct api api_leave_group = {
	.key = 13, .max = 3,
	.request = FIELDS(TEXT(0, group_name), FIELD(TEXT, 0, 2, 2, request, member_id),
		EACH_PART(3, PART_TEXT(0, topic), PART_TEXT(0, note))),
	.response = FIELDS(THROTTLE(1), NUMBER(0, 2, error),
		EACH_PART(3, PART_TEXT(0, topic), PART_TEXT(0, note), PART_NUMBER(0, 2, error))),
	.group = leave,
};

void groups_repair(pid_t worker)
{
	group_lock();
	for (int i = 0; i < shared->nr_slots; i++) {
		struct member *member = &shared->members[i];

		if (!member->group)
			continue;
		wait_repair(&member->session);
		if (member->waits_in != worker)
			continue;
		member->waits_in = 0;
		if (!member->generation)
			remove_member(member);
	}
	for (int i = 0; i < MAX_GROUPS; i++) {
		wake(&shared->groups[i], WAIT_JOIN);
		wake(&shared->groups[i], WAIT_ASSIGN);
	}
	group_unlock();
	waiting_submit();
}

bool groups_create(void)
{
	shared = shared_memory(sizeof(*shared));
	if (!shared)
		return false;
	shared_lock(&shared->lock);
	return offsets_load() && offsets_compact(shared->groups);
}
