// SPDX-License-Identifier: GPL-2.0
/*
 * Consumer groups: their members and offsets, in memory that all processes of a broker share,
 * since the members of a group may be connected to different workers.
 *
 * A group without members is EMPTY. A member that joins, leaves or loses its session starts a
 * rebalance. The group is JOINING until all members have joined, or until the rebalance timeout,
 * which ends members that have not; the first rebalance lasts for the initial delay. It is
 * SYNCING until the leader has sent the assignments, and then STABLE. A JoinGroup waits as long
 * as its group is JOINING and a SyncGroup as long as it is SYNCING; the first one of them that
 * sees the end of the rebalance brings it about, and signals the others.
 *
 * A session is an alarm, so it outlives the connection of its member and its worker.
 *
 * One robust mutex protects all groups. If its owner is killed, all groups begin without members.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "request.h"

#define MAX_GROUPS	64
#define MAX_MEMBERS	2048	/* of all groups */

/* Maximum size of the protocols of a member, and of its assignment. */
#define GROUP_DATA_MAX	8192
#define GROUP_NAME_SIZE	255

enum group_state { EMPTY, JOINING, SYNCING, STABLE };

/* A text in shared memory. */
#define STORED(size)	{ int len; char bytes[size]; }
#define store(to, text)	store_text(&(to)->len, (to)->bytes, sizeof((to)->bytes), text)
#define stored(from)	((struct text){ (from)->bytes, (from)->len })

/* Return: false if the text is too long. */
static bool store_text(int *len, char *bytes, size_t size, struct text text)
{
	if (text.len > (int)size)
		return false;
	*len = text.len;
	memcpy(bytes, text.len > 0 ? text.data : "", MAX(text.len, 0));
	return true;
}

struct member {
	struct group *group;	/* NULL: free */
	struct STORED(48) id;
	int session_ms;
	int rebalance_ms;
	struct wait session;	/* alarm */
	int generation;		/* the last one that it has joined; 0 for a new member */
	uint64_t due;		/* end of the time for its JoinGroup or SyncGroup, or 0 */
	uint64_t ticket;	/* of its last request that may wait */
	pid_t waits_in;		/* worker in which this request waits, or 0 */
	struct STORED(GROUP_DATA_MAX) protocols;
	struct STORED(GROUP_DATA_MAX) assignment;
};

struct group {
	struct STORED(GROUP_NAME_SIZE) name;
	enum group_state state;
	int generation;
	uint64_t deadline;	/* of the rebalance */
	uint64_t limit;		/* on the deadline of an initial rebalance; 0 for others */
	struct member *leader;
	struct STORED(GROUP_NAME_SIZE) protocol;
	int64_t offsets[MAX_PARTITIONS];	/* that its members have committed, or -1 */
};

static struct {
	pthread_mutex_t lock;
	uint64_t tickets;
	int nr_slots;		/* of members that were ever used */
	struct group groups[MAX_GROUPS];
	struct member members[MAX_MEMBERS];
} *shared;

/*
 * Find a group, or create it in place of one without members. Return: NULL if there is none, or no
 * room for it.
 */
static struct group *find_group(struct text name, bool create)
{
	struct group *unused = NULL;

	for (struct group *group = shared->groups; group < shared->groups + MAX_GROUPS; group++) {
		if (text_equals(name, stored(&group->name)))
			return group;
		if (group->state == EMPTY && (!unused || (unused->name.len && !group->name.len)))
			unused = group;
	}
	if (!create || !unused)
		return NULL;
	*unused = (struct group){ .generation = unused->generation };
	memset(unused->offsets, -1, sizeof(unused->offsets));
	store(&unused->name, name);
	return unused;
}

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
	wait_signal(kind, group - shared->groups, UINT32_MAX);
}

/* Heartbeats do not replace the JoinGroup or SyncGroup of a member. */
static void renew(struct member *member)
{
	uint64_t end = now_ns() + member->session_ms * NS_PER_MS;

	if (member->due && member->due < end && !member->waits_in)
		end = member->due;
	wait_alarm(&member->session, end);
}

enum error_code group_coordinate(const struct request *request)
{
	struct text name = request->group_name;

	if (name.len <= 0 || name.len > GROUP_NAME_SIZE)
		return INVALID_GROUP_ID;
	return config.self == &config.nodes[0] ? 0 : NOT_COORDINATOR;
}

/* An ID has the number of the slot. */
static struct member *find_member(const struct group *group, struct text id)
{
	char copy[sizeof(shared->members->id.bytes)];
	struct member *member;
	int slot = -1;

	snprintf(copy, sizeof(copy), "%.*s", MAX(id.len, 0), id.len > 0 ? id.data : "");
	if (sscanf(copy, "member-%d-", &slot) != 1 || slot < 0 || slot >= shared->nr_slots)
		return NULL;
	member = &shared->members[slot];
	return member->group == group && text_equals(id, stored(&member->id)) ? member : NULL;
}

/* Find the group and the member of a request. */
static enum error_code find(struct request *request)
{
	struct group *group = find_group(request->group_name, false);

	request->group = group;
	request->member = group ? find_member(group, request->member_id) : NULL;
	return request->member ? 0 : UNKNOWN_MEMBER_ID;
}

/* Find the member of a request, and renew its session. */
static enum error_code check(struct request *request)
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
		if (all && name.len > 0 && name.len <= GROUP_NAME_SIZE)
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
	for_each_member(member, group) {
		if (!member->waits_in) {
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
	store(&group->protocol, choose(group, stored(&leader->protocols), leader));
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
		group->deadline = MIN(now + config.initial_delay_ms * NS_PER_MS, group->limit);
	}
	group->state = JOINING;
	for_each_member(member, group) {
		bool was_due = member->due;

		member->waits_in = 0;
		member->due = group->deadline;
		if (was_due)
			renew(member);
	}
}

/* If a request of the member waits, it is answered now. */
static void end_wait(struct member *member)
{
	if (member->waits_in)
		wake(member->group, member->group->state == JOINING ? WAIT_JOIN : WAIT_ASSIGN);
	member->waits_in = 0;
}

static void remove_member(struct member *member)
{
	struct group *group = member->group;

	end_wait(member);
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
	else if (member->group && !wait_again(wait, end))
		remove_member(member);
	group_unlock();
}

static struct member *new_member(struct group *group)
{
	struct member *member = shared->members;
	struct timespec now;

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
	member->session.key = (struct wait_key){ WAIT_SESSION, member - shared->members };
	/* An ID is not used again, not even by another broker or after a restart. */
	clock_gettime(CLOCK_REALTIME, &now);
	member->id.len = snprintf(member->id.bytes, sizeof(member->id.bytes), "member-%d-%llx",
				  (int)(member - shared->members),
				  now.tv_sec * 1000000000ULL + now.tv_nsec);
	member->group = group;
	return member;
}

/* The request may wait from now on, instead of an earlier one of its member. */
static void hold(struct request *request, enum wait_kind kind)
{
	struct member *member = request->member;

	end_wait(member);
	request->key = (struct wait_key){ kind, request->group - shared->groups };
	request->ticket = ++shared->tickets;
	member->ticket = request->ticket;
}

static enum error_code join(struct request *request)
{
	struct group *group = find_group(request->group_name, true);
	struct member *member;
	bool is_new, same;

	request->group = group;
	if (!group)
		return COORDINATOR_NOT_AVAILABLE;
	if (request->session_ms < 1)
		return INVALID_SESSION_TIMEOUT;
	if (request->list.len > GROUP_DATA_MAX)
		return MESSAGE_TOO_LARGE;
	member = request->member_id.len > 0 ? find_member(group, request->member_id) : NULL;
	if (request->member_id.len > 0 && !member)
		return UNKNOWN_MEMBER_ID;
	if (choose(group, request->list, member).len < 0)
		return INCONSISTENT_GROUP_PROTOCOL;
	is_new = !member;
	if (is_new)
		member = new_member(group);
	if (!member)
		return GROUP_MAX_SIZE_REACHED;
	same = !is_new && text_equals(stored(&member->protocols), request->list);
	store(&member->protocols, request->list);
	member->session_ms = request->session_ms;
	member->rebalance_ms = request->version ? request->timeout_ms : request->session_ms;
	request->member = member;
	hold(request, WAIT_JOIN);
	/* Nothing has changed, or the response was lost. */
	if (same && member->generation == group->generation &&
	    (group->state == SYNCING || (group->state == STABLE && member != group->leader))) {
		renew(member);
		return 0;
	}
	if (group->state != JOINING)
		rebalance(group);
	else if (is_new && group->limit)
		group->deadline = MIN(now_ns() + config.initial_delay_ms * NS_PER_MS, group->limit);
	member->waits_in = getpid();
	renew(member);
	try_join(group);
	return 0;
}

static enum error_code sync_group(struct request *request)
{
	enum error_code error = check(request);
	struct group *group = request->group;
	struct wire list = wire_of(request->list);
	struct member *member;
	struct text id, data;

	if (error)
		return error;
	/* The JoinGroup of this member may wait. */
	if (group->state == JOINING)
		return REBALANCE_IN_PROGRESS;
	hold(request, WAIT_ASSIGN);
	request->member->due = 0;
	renew(request->member);
	request->deadline = now_ns() + request->member->rebalance_ms * NS_PER_MS;
	if (group->state != SYNCING)
		return 0;
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
	enum error_code error = check(request);

	return !error && request->group->state == JOINING ? REBALANCE_IN_PROGRESS : error;
}

static enum error_code leave(struct request *request)
{
	enum error_code error = find(request);

	if (!error)
		remove_member(request->member);
	return error;
}

static enum error_code commit_offsets(struct request *request)
{
	struct group *group = find_group(request->group_name, true);
	enum error_code error = 0;

	if (!group)
		return COORDINATOR_NOT_AVAILABLE;
	/* Without members, anybody can set offsets. */
	if (request->generation >= 0 || group->state != EMPTY)
		error = check(request);
	if (!error && group->state == SYNCING)
		error = REBALANCE_IN_PROGRESS;
	for_each_part(part, request) {
		if (!error && part->number >= 0)
			group->offsets[part->number] = part->offset;
	}
	return error;
}

static void commit_answer(struct request *request)
{
	for_each_part(part, request)
		part->error = request->error ?:
			      part->number < 0 ? UNKNOWN_TOPIC_OR_PARTITION : 0;
}

static void fetch_answer(struct request *request)
{
	const struct group *group = find_group(request->group_name, false);

	for_each_part(part, request) {
		part->error = request->error;
		part->offset = group && part->number >= 0 ? group->offsets[part->number] : -1;
	}
}

/* Does the request still belong to its member? */
static bool is_current(const struct request *request)
{
	return request->member->group == request->group &&
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

/* A request of a member does not wait any more. */
static void give_up(struct member *member)
{
	member->waits_in = 0;
	/* Nobody knows the ID of a new member. */
	if (!member->generation)
		remove_member(member);
}

static enum error_code outcome(const struct request *request)
{
	struct member *member = request->member;

	if (request->error)
		return request->error;
	/* The member has left, or another request of it has taken the place of this one. */
	if (!is_current(request))
		return REBALANCE_IN_PROGRESS;
	if (request->key.kind == WAIT_JOIN ? !member->waits_in :
	    request->group->state == STABLE && request->generation == member->generation)
		return 0;
	give_up(member);
	return REBALANCE_IN_PROGRESS;
}

static void answer(struct request *request)
{
	const struct group *group = request->group;
	const struct text empty = text_of("");
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
	request->member_id = stored(&member->id);
	request->protocol = stored(&group->protocol);
	request->list = stored(&member->assignment);
	request->leader = stored(&group->leader->id);
	if (group->leader != member)
		return;
	/* The leader gets all members of its generation. */
	for_each_member(member, group) {
		struct text metadata = find_protocol(member, request->protocol);
		struct part *part;

		if (metadata.len < 0)
			continue;
		part = request_add(request, stored(&member->id), -1);
		part->records = metadata;
	}
}

/* The fields of a request of a member, and those after them. */
#define MEMBER_REQUEST(...) \
	FIELDS(TEXT(0, group_name), NUMBER(0, 4, generation), TEXT(0, member_id), __VA_ARGS__)

const struct api api_join_group = {
	.key = 11, .max = 4,
	.request = FIELDS(TEXT(0, group_name), NUMBER(0, 4, session_ms), NUMBER(1, 4, timeout_ms),
		TEXT(0, member_id), TEXT(0, protocol), PAIRS(list)),
	.response = FIELDS(THROTTLE(2), NUMBER(0, 2, error), NUMBER(0, 4, generation),
		TEXT(0, protocol), TEXT(0, leader), TEXT(0, member_id),
		EACH_PART(PART_TEXT(0, topic), PART_BYTES(records))),
	.in_group = true, .begin = join, .missing = missing, .answer = answer,
};

const struct api api_sync_group = {
	.key = 14, .max = 2,
	.request = MEMBER_REQUEST(PAIRS(list)),
	.response = FIELDS(THROTTLE(1), NUMBER(0, 2, error), BYTES(list)),
	.in_group = true, .begin = sync_group, .missing = missing, .answer = answer,
};

const struct api api_heartbeat = {
	.key = 12, .max = 2,
	.request = MEMBER_REQUEST({ }),
	.response = FIELDS(THROTTLE(1), NUMBER(0, 2, error)),
	.in_group = true, .begin = heartbeat,
};

const struct api api_leave_group = {
	.key = 13, .max = 2,
	.request = FIELDS(TEXT(0, group_name), TEXT(0, member_id)),
	.response = FIELDS(THROTTLE(1), NUMBER(0, 2, error)),
	.in_group = true, .begin = leave,
};

const struct api api_offset_commit = {
	.key = 8, .min = 2, .max = 3,
	.request = MEMBER_REQUEST(CONST(0, 8, -1),
		EACH_PARTITION(PART_NUMBER(0, 8, offset), PART_TEXT(0, note))),
	.response = FIELDS(THROTTLE(3), EACH_PARTITION(PART_NUMBER(0, 2, error))),
	.in_group = true, .begin = commit_offsets, .answer = commit_answer,
};

const struct api api_offset_fetch = {
	.key = 9, .min = 1, .max = 1,
	.request = FIELDS(TEXT(0, group_name), EACH_PARTITION({ })),
	/* The text of an offset is empty. */
	.response = FIELDS(EACH_PARTITION(PART_NUMBER(0, 8, offset), CONST(0, 2, 0),
					  PART_NUMBER(0, 2, error))),
	.in_group = true, .answer = fetch_answer,
};

void groups_repair(pid_t worker)
{
	group_lock();
	for (int i = 0; i < shared->nr_slots; i++) {
		struct member *member = &shared->members[i];

		if (member->group)
			wait_repair(&member->session);
		if (member->group && member->waits_in == worker)
			give_up(member);
	}
	for (int i = 0; i < MAX_GROUPS; i++) {
		wake(&shared->groups[i], WAIT_JOIN);
		wake(&shared->groups[i], WAIT_ASSIGN);
	}
	group_unlock();
	waiting_submit();
}

void groups_create(void)
{
	shared = shared_memory(sizeof(*shared));
	shared_lock(&shared->lock);
}
