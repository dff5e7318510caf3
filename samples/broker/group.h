/* SPDX-License-Identifier: GPL-2.0 */
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
 * One robust mutex protects all groups. If its owner is killed, all groups begin without members,
 * as after a restart of the broker; their offsets are read from the log.
 */
#ifndef BROKER_GROUP_H
#define BROKER_GROUP_H

#include "request.h"

#define MAX_GROUPS	64
#define MAX_MEMBERS	2048	/* of all groups */

/* Maximum size of the protocols of a member, and of its assignment. */
#define GROUP_DATA_MAX	8192
#define GROUP_NAME_SIZE	256
#define OFFSET_TEXT_MAX	64

enum group_state { EMPTY, JOINING, SYNCING, STABLE };

struct data {
	int len;
	char bytes[GROUP_DATA_MAX];
};

struct member {
	struct group *group;	/* NULL: free */
	char id[48];
	char instance[GROUP_NAME_SIZE];
	int session_ms;
	int rebalance_ms;
	struct wait session;	/* alarm */
	int generation;		/* the last one that it has joined; 0 for a new member */
	uint64_t due;		/* end of the time for its JoinGroup or SyncGroup, or 0 */
	uint64_t ticket;	/* of its last request that may wait */
	pid_t waits_in;		/* worker in which this request waits, or 0 */
	struct data protocols;
	struct data assignment;
};

struct offset {
	int64_t next;		/* offset + 1; 0: none */
	int len;
	char text[OFFSET_TEXT_MAX];
};

struct group {
	char name[GROUP_NAME_SIZE];
	enum group_state state;
	int generation;
	uint64_t deadline;	/* of the rebalance */
	uint64_t limit;		/* on the deadline of an initial rebalance; 0 for others */
	struct member *leader;
	char type[GROUP_NAME_SIZE];
	char protocol[GROUP_NAME_SIZE];
	bool has_offsets;
	struct offset offsets[MAX_PARTITIONS];
};

/* Create the shared memory and read the offsets, before the workers start. */
bool groups_create(void);
/* Forget the waiting requests of a killed worker, and complete its signals. */
void groups_repair(pid_t worker);

void group_lock(void);
void group_unlock(void);
/* Find a group, or create it. Return: NULL if there is none, or no room for it. */
struct group *group_find(struct text name, bool create);
/* Check the name of a group, and that this broker is its coordinator. */
enum error_code group_coordinate(const struct request *request);
/* Find the member of a request, and renew its session. */
enum error_code group_check(struct request *request);
/* The fields of a request of a member, and those after them. */
#define MEMBER_REQUEST(instance_version, ...) \
	FIELDS(TEXT(0, group_name), NUMBER(0, 4, generation), TEXT(0, member_id), \
	       TEXT(instance_version, instance), __VA_ARGS__)

/* Read the offsets of all groups from the log. */
bool offsets_load(void);
/* Replace the log by one that has each offset once. */
bool offsets_compact(struct group *groups);

#endif /* BROKER_GROUP_H */
