/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests, from their frames to their responses.
 *
 * A request is parsed and begins.  If amounts are missing, it waits; a request that has ended
 * its wait is answered with the state at that time.
 */
#ifndef BROKER_REQUEST_H
#define BROKER_REQUEST_H

#include <sys/queue.h>

#include "log.h"
#include "partition.h"
#include "waiting.h"
#include "wire.h"

/* Maximum number of partitions in a request, which may name unknown ones and repeat others. */
#define MAX_PARTS	256

enum error_code {
	OFFSET_OUT_OF_RANGE		= 1,
	CORRUPT_MESSAGE			= 2,
	UNKNOWN_TOPIC_OR_PARTITION	= 3,
	NOT_LEADER			= 6,
	REQUEST_TIMED_OUT		= 7,
	REPLICA_NOT_AVAILABLE		= 9,
	MESSAGE_TOO_LARGE		= 10,
	NOT_ENOUGH_REPLICAS		= 19,
	NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20,
	INVALID_REQUIRED_ACKS		= 21,
	UNSUPPORTED_VERSION		= 35,
	UNSUPPORTED_FOR_MESSAGE_FORMAT	= 43,
	STORAGE_ERROR			= 56,
	SESSION_NOT_FOUND		= 70,
	INVALID_RECORD			= 87,
};

/* A partition in a request. */
struct part {
	int group;		/* entries of one topic are in one group */
	struct text topic;
	int32_t index;		/* number of the partition in its topic */
	int partition;		/* in config.partitions; invalid if there is an error */
	enum error_code error;
	int64_t offset;		/* of a fetch; a time of ListOffsets; produce: the first one */
	int32_t max_bytes;
	struct place start;	/* fetch: the batch with this offset */
	int64_t required;	/* produce: high watermark that completes the request */
	struct text records;
};

struct connection;

struct request {
	TAILQ_ENTRY(request) added;
	bool is_added;		/* its wait has to be checked after the next submit */
	struct wait wait;
	struct connection *connection;
	const struct api *api;
	int version;
	int32_t correlation;
	struct reader body;	/* in the frame, which stays until the response */
	bool silent;		/* there is no response */
	bool failed;		/* close the connection instead of the response */
	uint64_t timeout_ms;
	uint64_t deadline;
	uint64_t missing;	/* when the wait was added */
	enum error_code error;	/* of the whole request */
	int acks;
	int min_bytes;
	int max_bytes;
	bool any_records;	/* are in the response */
	int replica;		/* ID of a follower; 0 for a consumer */
	struct part *parts;
	int nr_parts;
	int max_parts;
	int nr_groups;
};

struct api {
	int key;
	int min;
	int max;
	/* Read the fields. The caller checks @reader->bad. */
	void (*parse)(struct request *request, struct reader *reader);
	void (*begin)(struct request *request);
	/* Amount that the request waits for; 0 if it can be answered. */
	uint64_t (*missing)(struct request *request);
	enum wait_kind (*kind)(const struct request *request);
	void (*answer)(struct request *request, struct writer *writer);
};

extern const struct api api_produce, api_fetch, api_list_offsets, api_metadata, api_versions;

/* All of these, terminated by NULL. */
extern const struct api * const apis[];

/*
 * Parse the frame of a request and begin.
 * Return: the request; or NULL if the connection must be closed.
 */
struct request *request_begin(uint8_t *frame, size_t len);
uint64_t request_missing(struct request *request);
/* Queue a wait for the missing amount. */
void request_wait(struct request *request, uint64_t missing);
/* Return: false if the connection must be closed. Frees the request. */
bool request_answer(struct request *request, struct writer *writer);
void request_free(struct request *request);

/* Entries of an array of topics with arrays of partitions. */
typedef void part_reader(struct request *request, struct part *part, struct reader *reader);
typedef void part_writer(struct request *request, struct part *part, struct writer *writer);
void read_parts(struct request *request, struct reader *reader, part_reader *read);
void write_parts(struct request *request, struct writer *writer, part_writer *write);

#endif /* BROKER_REQUEST_H */
