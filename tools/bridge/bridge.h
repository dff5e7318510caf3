/* SPDX-License-Identifier: GPL-2.0 */
/*
 * twheel-bridge: signals of a NATS JetStream stream, applied to a named purgatory.
 *
 * The purgatory has the position of each subject: the sequence number in the stream of its last
 * applied signal. Both die together, so no crash of the bridge separates them. The bridge
 * therefore needs no acknowledgements: a consumer without a name starts after the position,
 * and each signal and the step of the position are adjacent commands of a batch (subject.c). A
 * detached operation is the position (position.c). Each subject has a thread; the main thread
 * writes the metrics and waits for SIGTERM.
 */
#ifndef TWHEEL_BRIDGE_H
#define TWHEEL_BRIDGE_H

#include <err.h>
#include <nats/nats.h>
#include <pthread.h>
#include <twheel.h>

#include "../twheelctl/units.h"

#define MAX_SUBJECTS	16
#define MAX_SERVERS	16
#define NAME_SIZE	256	/* longest subject or name of a stream, with the NUL */

/* Exit status. */
enum { FAILED = 1, USAGE = 2 };

/* A subject of the stream, used by its thread. metrics.c reads the counts. */
struct subject {
	char name[NAME_SIZE];
	struct twheel_key key;		/* of the operation that is the position */
	uint64_t id;			/* of that operation, or 0 */
	uint64_t position;		/* sequence number of the last applied signal, or 0 */
	uint64_t created;		/* time of creation of the stream of the position */
	unsigned int behind;		/* consecutive answers of a stream that ends before it */

	natsSubscription *inbox;	/* of the consumer */
	uint64_t delivered;		/* signals that the consumer has delivered */
	unsigned int batched;		/* signals in the batch */

	_Atomic uint64_t connected, lag, late, applied, skipped, wrong, dropped, consumers,
			 positions, resets;
};

/* The purgatory, its configuration and its connection. Strings live until the exit. */
extern struct bridge {
	const char *purgatory;
	const char *servers[MAX_SERVERS];
	int nr_servers;
	const char *ca, *certificate, *key, *credentials, *user, *password, *stream, *metrics;
	__u64 max_age, duplicates;	/* in ns */
	__u64 replicas;
	struct subject subjects[MAX_SUBJECTS];
	int nr_subjects;

	int fd;				/* of the purgatory */
	int events;			/* queue of the events of positions */
	pthread_mutex_t batch;		/* held during a batch: no exit stops one in its middle */
	natsConnection *connection;
	jsCtx *js;
	_Atomic unsigned int connects;
} bridge;

/* config.c; exits if the configuration is wrong or the servers refuse it */
void read_config(const char *path);
void connect_bridge(bool wait);
const char *violation(void);
const char *why(natsStatus status);

/* position.c; exits if the purgatory cannot be used */
void find_positions(void);
void set_position(struct subject *subject, uint64_t position);
void check_position(struct subject *subject);

/* subject.c */
bool parse_signal(const char *text, size_t length, struct twheel_signal_args *args);
void *run_subject(void *subject);

/* metrics.c */
bool write_metrics(void);

/* publish.c */
int publish(const char *subject, bool ids);
int setup(void);

/* Prints a line at most once a minute for each @said, which starts at 0. */
__attribute__((format(printf, 2, 3)))
void note(uint64_t *said, const char *format, ...);

#endif /* TWHEEL_BRIDGE_H */
