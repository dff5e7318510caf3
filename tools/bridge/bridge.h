/* SPDX-License-Identifier: GPL-2.0 */
/*
 * twheel-bridge: signals of a NATS JetStream stream, applied to a named purgatory.
 *
 * The purgatory has the position of each subject: the sequence number in the stream of its last
 * applied signal. Both die together, so no crash of the bridge separates them. The bridge
 * therefore needs no acknowledgements: a pull consumer without a name starts after the position
 * (consumer.c), each signal and the step of the position are adjacent commands of a batch
 * (apply.c), and a detached operation is the position (position.c). One thread does all of this.
 */
#ifndef TWHEEL_BRIDGE_H
#define TWHEEL_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <nats/nats.h>
#include <twheel.h>

#define MAX_SUBJECTS	16
#define MAX_SERVERS	16
#define NAME_SIZE	256	/* longest subject, name of a stream or consumer, with the NUL */

/* Exit status. */
enum { FAILED = 1, USAGE = 2 };

/**
 * struct subject - a subject of the stream
 * @name: name of the subject
 * @key: key of the operation that is its position
 * @id: that operation
 * @position: sequence number of the last applied signal; 0 for none
 * @created: time at which the stream was created, to which the position refers
 * @consumer: name of the consumer; a signal of another one is late and ignored
 * @delivered: signals that the consumer has delivered
 * @asked: signals that the consumer may still send
 * @heard: time of its last message, on CLOCK_MONOTONIC; 0 without a consumer
 * @retry: earliest time for a new consumer
 * @behind: consecutive answers of a stream that ends before the position
 * @lag: signals that the consumer has not sent
 * @late: age of the last signal when it was applied, in ns
 * @applied, @skipped, @wrong, @dropped, @consumers, @positions, @resets: counts, see metrics.c
 */
struct subject {
	char name[NAME_SIZE];
	struct twheel_key key;
	uint64_t id;
	uint64_t position;
	uint64_t created;
	char consumer[NAME_SIZE];
	uint64_t delivered;
	unsigned int asked;
	uint64_t heard;
	uint64_t retry;
	unsigned int behind;
	uint64_t lag;
	uint64_t late;
	uint64_t applied, skipped, wrong, dropped, consumers, positions, resets;
};

/* A purgatory with its configuration and its connection. Strings live until the exit. */
struct bridge {
	const char *purgatory;
	const char *servers[MAX_SERVERS];
	int nr_servers;
	const char *ca, *certificate, *key;
	const char *credentials, *user, *password;
	const char *stream, *metrics;
	uint64_t max_age;	/* in ns */
	struct subject subjects[MAX_SUBJECTS];
	int nr_subjects;

	int fd;
	natsConnection *connection;
	jsCtx *js;
	natsSubscription *inbox;
	char inbox_name[NAME_SIZE];
	unsigned int connects;	/* set by threads of libnats */
};

/* config.c; exits if the configuration is wrong */
void read_config(struct bridge *bridge, const char *path);
bool parse_signal(const char *text, int length, struct twheel_signal_args *args);

/* connect.c */
void connect_bridge(struct bridge *bridge, bool wait);
const char *why(natsStatus status);

/* position.c; all exit if the purgatory cannot be used */
void find_positions(struct bridge *bridge);
void set_position(struct bridge *bridge, struct subject *subject, uint64_t position);
void check_position(struct bridge *bridge, struct subject *subject);

/* consumer.c */
uint64_t real_time(void);
void renew_consumers(struct bridge *bridge);
struct subject *take_signal(struct bridge *bridge, natsMsg *message, uint64_t *sequence,
			    uint64_t *time);
void ask(struct bridge *bridge, struct subject *subject);

/* apply.c */
int run_bridge(struct bridge *bridge);

/* metrics.c */
bool write_metrics(const struct bridge *bridge);

/* publish.c */
int publish(struct bridge *bridge, int argc, char **argv);
int setup(struct bridge *bridge, int argc, char **argv);

__attribute__((noreturn, format(printf, 2, 3)))
void die(int status, const char *format, ...);

/* Prints a line at most once a minute for each @said, which starts at 0. */
__attribute__((format(printf, 2, 3)))
void note(uint64_t *said, const char *format, ...);

#endif /* TWHEEL_BRIDGE_H */
