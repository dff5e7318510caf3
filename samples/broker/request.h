/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests, from their messages to their responses.
 *
 * A request is parsed and begins. If amounts are missing, it waits; a request that has ended
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

/* A partition in a request and its response. */
struct part {
	struct text topic;	/* one text for all partitions of an entry of a topic */
	int32_t index;		/* number of the partition in its topic */
	int number;		/* in config.partitions; -1 if there is none */
	int16_t error;
	int64_t offset;		/* of a fetch; a time of ListOffsets; produce: the first one */
	int64_t high;		/* fetch: high watermark in the response */
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
	int16_t version;
	int32_t correlation;
	struct text client;
	bool silent;		/* there is no response */
	bool failed;		/* close the connection instead of the response */
	int32_t timeout_ms;
	uint64_t deadline;
	uint64_t missing;	/* when the wait was added */
	enum wait_kind kind;
	int16_t error;		/* of the whole request */
	int16_t acks;
	int32_t min_bytes;
	int32_t max_bytes;
	bool any_records;	/* are in the response */
	int32_t replica;	/* ID of a follower */
	struct part *parts;
	int nr_parts;
	int max_parts;
	int nr_topics;
};

/*
 * A kind of request. @request and @response read or write these messages after their headers;
 * they use the version.
 */
struct api {
	int key;
	int min;
	int max;
	void (*request)(struct request *request, struct wire *wire);
	void (*begin)(struct request *request);
	/* Amount that the request waits for; 0 if it can be answered. */
	uint64_t (*missing)(struct request *request);
	void (*response)(struct request *request, struct wire *wire);
};

extern const struct api api_produce, api_fetch, api_list_offsets, api_metadata, api_versions;

/* All of these, terminated by NULL. */
extern const struct api * const apis[];

/*
 * Read a request and begin. The message must stay until the answer.
 * Return: the request; or NULL if the connection must be closed.
 */
struct request *request_begin(uint8_t *message, size_t len);
uint64_t request_missing(struct request *request);
/* Queue a wait for the missing amount. */
void request_wait(struct request *request, uint64_t missing);
/* Write the response, and free the request. Return: false if the connection must be closed. */
bool request_answer(struct request *request, struct wire *wire);
void request_free(struct request *request);

/* Write a request, with its size in front. */
void request_write(struct request *request, struct wire *wire);

/* Add a partition; another text is another topic. Return: NULL if there are too many. */
struct part *request_add(struct request *request, struct text topic);
/* Transfer an array of topics with arrays of partitions, which start with their number. */
typedef void part_fn(struct request *request, struct part *part, struct wire *wire);
void request_parts(struct request *request, struct wire *wire, part_fn *fn);

#endif /* BROKER_REQUEST_H */
