/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests, from their messages to their responses.
 *
 * A request is parsed and begins. If amounts are missing, it waits; a request that has ended
 * its wait is answered with the state at that time.
 */
#ifndef BROKER_REQUEST_H
#define BROKER_REQUEST_H

#include "partition.h"
#include "waiting.h"

/* Maximum number of partitions in a message, which may name unknown ones and repeat others. */
#define MAX_PARTS	256

/*
 * A partition in a request and its response; or a member in the response to its leader. The numbers
 * that a table of fields names are of type int64_t, whatever their size in a message is.
 */
struct part {
	struct text topic;	/* ID of a member */
	int32_t index;		/* number of the partition in its topic */
	int number;		/* in config.partitions; -1 if there is none */
	int64_t error;
	int64_t offset;		/* of a fetch or group; produce: first one; a time of ListOffsets */
	int64_t high;		/* fetch: high watermark in the response */
	int64_t max_bytes;
	struct place start;	/* fetch: the batch with this offset */
	int64_t required;	/* produce: high watermark that completes the request */
	struct text records;
	struct text note;	/* text of an offset, not stored */
};

struct request {
	struct wait wait;
	struct connection *connection;
	const struct api *api;
	int16_t version;
	int32_t correlation;
	struct text client, unused;
	bool silent;		/* there is no response */
	bool failed;		/* close the connection instead of the response */
	int64_t timeout_ms;
	uint64_t deadline;
	uint64_t missing;	/* when the wait was added */
	struct wait_key key;	/* its kind, and the number if the request has no parts */
	int64_t error;		/* of the whole request */
	struct part *parts;
	int nr_parts;
	bool all;		/* null instead of an array of topics */
	int64_t acks;		/* produce */
	/* Of a fetch: */
	int64_t min_bytes, max_bytes;
	int64_t replica;	/* ID of a follower */
	/* Of a group and its member: */
	struct text group_name, member_id;
	int64_t generation, session_ms;
	struct text protocol;	/* type of the protocols in a request, or the chosen one */
	struct text leader;
	struct text list;	/* protocols or assignments, as they came; or the assignment */
	struct group *group;
	struct member *member;
	uint64_t ticket;	/* of the member, when the request began */
};

#define for_each_part(part, request) \
	for (struct part *part = (request)->parts; \
	     part - (request)->parts < (request)->nr_parts; part++)

/*
 * A field of a message, since a version. A table of them is read into a request and its parts, or
 * written, see struct wire.
 */
struct field {
	enum {
		FIELD_END, FIELD_NUMBER, FIELD_CONSTANT, FIELD_TEXT, FIELD_PAIRS, FIELD_TOPICS,
		FIELD_PARTS, FIELD_CALL,
	} type;
	int from;
	int at;			/* offset of the variable */
	int size;		/* of a number, or of the length of a text */
	int64_t value;		/* of a constant, which is not read */
	const struct field *fields;
	void (*call)(struct request *request, struct part *part, struct wire *wire);
};

#define FIELDS(...)	((const struct field[]){ __VA_ARGS__, { } })
#define FIELD(kind, first, bytes, of, name) \
	{ .type = FIELD_##kind, .from = (first), .size = (bytes), .at = offsetof(struct of, name) }
#define NUMBER(version, bytes, name)		FIELD(NUMBER, version, bytes, request, name)
#define TEXT(version, name)			FIELD(TEXT, version, 2, request, name)
#define BYTES(name)				FIELD(TEXT, 0, 4, request, name)
/* An array of texts and bytes, see wire_pair(). */
#define PAIRS(name)				FIELD(PAIRS, 0, 4, request, name)
#define PART_NUMBER(version, bytes, name)	FIELD(NUMBER, version, bytes, part, name)
#define PART_TEXT(version, name)		FIELD(TEXT, version, 2, part, name)
#define PART_BYTES(name)			FIELD(TEXT, 0, 4, part, name)
#define CONST(first, bytes, number) \
	{ .type = FIELD_CONSTANT, .from = (first), .size = (bytes), .value = (number) }
#define THROTTLE(version)	CONST(version, 4, 0)
/* An array of topics with arrays of partitions, which start with their number; or of parts. */
#define EACH_PARTITION(...)	{ .type = FIELD_TOPICS, .fields = FIELDS(__VA_ARGS__) }
#define EACH_PART(...)		{ .type = FIELD_PARTS, .fields = FIELDS(__VA_ARGS__) }
#define CALLS(function)		{ .type = FIELD_CALL, .call = (function) }

/* A kind of request. The fields are those after the headers. */
struct api {
	int key, min, max;
	const struct field *request, *response;
	bool in_group;		/* all functions are called with the lock of the groups */
	/* Return: the error of the whole request. */
	enum error_code (*begin)(struct request *request);
	/* Amount that the request waits for; 0 if it can be answered. */
	uint64_t (*missing)(struct request *request);
	/* Set what the response has. */
	void (*answer)(struct request *request);
};

#define NR_APIS	12
extern const struct api * const apis[NR_APIS];
extern const struct api api_produce, api_fetch, api_list_offsets, api_metadata, api_versions,
	api_find_coordinator, api_join_group, api_sync_group, api_heartbeat, api_leave_group,
	api_offset_commit, api_offset_fetch;

/*
 * Read a request and begin. The message must stay until the answer.
 * Return: the request; or NULL if the connection must be closed.
 */
struct request *request_begin(uint8_t *message, size_t len);
/* Begin a request that has been read. */
void request_start(struct request *request);
uint64_t request_missing(struct request *request);
/* Queue a wait for the missing amount. */
void request_wait(struct request *request, uint64_t missing);
/* Write the response, and free the request. Return: false if the connection must be closed. */
bool request_answer(struct request *request, struct wire *wire);
void request_free(struct request *request);

/* Write a request, with its size in front. */
void request_write(struct request *request, struct wire *wire);
/* Read or write fields, of a part or of the request. */
void request_fields(struct request *request, struct part *part, struct wire *wire,
		    const struct field *fields);
/* Add a partition and find it, with an error unless this broker is its leader. */
struct part *request_add(struct request *request, struct text topic, int index);

/* Create the groups, before the workers start; or exit. */
void groups_create(void);
/* Forget the waiting requests of a killed worker, and complete its signals. */
void groups_repair(pid_t worker);
void group_lock(void);
void group_unlock(void);
/* Check the name of a group, and that this broker is its coordinator. */
enum error_code group_coordinate(const struct request *request);

/* Serve clients until SIGTERM. @signals: an inherited signalfd. Return: the exit status. */
int worker_main(int signals);
/* Copy from a leader until the connection ends. Return: 1 if nothing was copied. */
int replicator_main(const struct node *leader);
bool replicator_follows(const struct node *leader);

#endif /* BROKER_REQUEST_H */
