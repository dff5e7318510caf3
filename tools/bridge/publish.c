// SPDX-License-Identifier: GPL-2.0
/*
 * twheel-bridge publish and setup: signals from standard input to a subject, and the stream.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../twheelctl/units.h"
#include "bridge.h"

#define IN_FLIGHT	4096
#define TRY		2000	/* ms until a signal is published again */
#define TRIES		30

/* Signals that were refused or not answered, for another try; protected by the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static natsMsg *refused[IN_FLIGHT];
static unsigned int nr_refused;
static unsigned long stored, duplicates;

/* Runs in the thread that reads the answers. To publish here would stall them. */
static void answered(jsCtx *js, natsMsg *message, jsPubAck *ack, jsPubAckErr *error, void *closure)
{
	(void)js;
	(void)closure;
	pthread_mutex_lock(&lock);
	if (error) {
		refused[nr_refused++] = message;
	} else {
		stored++;
		duplicates += ack->Duplicate;
		natsMsg_Destroy(message);
	}
	pthread_mutex_unlock(&lock);
}

/* A full window, or no connection: wait. */
static void send_signal(jsCtx *js, natsMsg *message)
{
	jsPubOptions options;

	jsPubOptions_Init(&options);
	options.MaxWait = TRY;
	for (int i = 0; i < TRIES * TRY / 100; i++)
		if (js_PublishMsgAsync(js, &message, &options) == NATS_OK)
			return;
	die(FAILED, "signals were not stored");
}

/* A second try has the same message id, so the stream stores the signal once. */
static bool send_refused(jsCtx *js)
{
	natsMsg *again[IN_FLIGHT];
	unsigned int nr;

	pthread_mutex_lock(&lock);
	nr = nr_refused;
	memcpy(again, refused, nr * sizeof(*again));
	nr_refused = 0;
	pthread_mutex_unlock(&lock);
	for (unsigned int i = 0; i < nr; i++)
		send_signal(js, again[i]);
	return nr;
}

static natsMsg *new_signal(const char *subject, const char *text, const char *id)
{
	struct twheel_signal_args args;
	natsMsg *message;

	if (!parse_signal(text, strlen(text), &args))
		die(USAGE, "wrong signal: %s", text);
	if (natsMsg_Create(&message, subject, NULL, text, strlen(text)) != NATS_OK ||
	    natsMsgHeader_Set(message, "Nats-Msg-Id", id) != NATS_OK)
		die(FAILED, "no memory");
	return message;
}

/* Without --ids, an id is a name of this process and the number of the line. */
int publish(struct bridge *bridge, int argc, char **argv)
{
	bool ids = argc == 3 && !strcmp(argv[1], "--ids");
	char *line = NULL, *text, id[NAME_SIZE];
	unsigned long sent = 0;
	natsInbox *own;
	jsOptions options;
	size_t size = 0;
	jsCtx *js;

	if (argc != 2 + ids)
		die(USAGE, "publish: expected one subject");
	connect_bridge(bridge, true);
	jsOptions_Init(&options);
	options.PublishAsync.MaxPending = IN_FLIGHT;
	options.PublishAsync.AckHandler = answered;
	options.PublishAsync.StallWait = 100;
	if (natsConnection_JetStream(&js, bridge->connection, &options) != NATS_OK ||
	    natsInbox_Create(&own) != NATS_OK)
		die(FAILED, "no memory");
	while (getline(&line, &size, stdin) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		text = line;
		snprintf(id, sizeof(id), "%s.%lu", own, sent);
		if (ids) {
			snprintf(id, sizeof(id), "%s", strsep(&text, " "));
			text = text ?: "";
		}
		send_signal(js, new_signal(argv[argc - 1], text, id));
		sent++;
		send_refused(js);
	}
	for (int i = 0; i < TRIES * TRY / 100; i++) {
		pthread_mutex_lock(&lock);
		if (stored == sent) {
			printf("%lu stored, %lu of them before\n", stored, duplicates);
			return fflush(stdout) ? FAILED : 0;
		}
		pthread_mutex_unlock(&lock);
		if (!send_refused(js))
			nats_Sleep(100);
	}
	die(FAILED, "%lu of %lu signals were not stored", sent - stored, sent);
}

int setup(struct bridge *bridge, int argc, char **argv)
{
	static const struct option options[] = {
		{ "age", required_argument, NULL, 'a' },
		{ "duplicates", required_argument, NULL, 'd' },
		{ "replicas", required_argument, NULL, 'r' },
		{ }
	};
	__u64 age = bridge->max_age, duplicates_age = 120 * NSEC_PER_SEC, replicas = 1;
	static const char * const kinds[] = { "all", "host.*", "part.*" };
	char *subjects[3];
	jsStreamConfig config;
	natsStatus status;
	bool ok = true;
	int code;

	while ((code = getopt_long(argc, argv, "", options, NULL)) != -1)
		ok &= code == 'a' ? parse_time(optarg, &age) :
		      code == 'd' ? parse_time(optarg, &duplicates_age) :
		      code == 'r' && parse_count(optarg, 5, &replicas);
	if (!ok)
		die(USAGE, "setup: wrong option");
	for (int i = 0; i < 3; i++)
		if (asprintf(&subjects[i], "twheel.%s.%s", bridge->purgatory, kinds[i]) < 0)
			die(FAILED, "no memory");
	jsStreamConfig_Init(&config);
	config.Name = bridge->stream;
	config.Subjects = (const char **)(argc > optind ? argv + optind : subjects);
	config.SubjectsLen = argc > optind ? argc - optind : 3;
	config.MaxAge = age;
	config.Duplicates = duplicates_age < age ? duplicates_age : age;
	config.Replicas = replicas;
	connect_bridge(bridge, true);
	status = js_UpdateStream(NULL, bridge->js, &config, NULL, NULL);
	if (status == NATS_NOT_FOUND)
		status = js_AddStream(NULL, bridge->js, &config, NULL, NULL);
	if (status != NATS_OK)
		die(FAILED, "cannot set up stream %s: %s", bridge->stream, why(status));
	return 0;
}
