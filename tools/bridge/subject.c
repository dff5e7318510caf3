// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of a subject: it takes the signals of a consumer, and applies them.
 *
 * The consumer has no name and no acknowledgements, and one server keeps it. The bridge asks for
 * signals ahead of their arrival. While there are none, the server sends a heartbeat twice a
 * second. A silent consumer has died with its server; a gap in the numbers of its messages is a
 * loss on the way. In both cases a new consumer starts after the position.
 *
 * A signal and the step of the position are adjacent commands of a batch. SIGKILL stops a batch
 * between two commands, so at most one signal is applied and not stepped over.
 */
#include <stdio.h>
#include <string.h>

#include "bridge.h"

#define MAX_SIGNAL	1024	/* bytes of a message */
#define AHEAD		1024	/* signals to ask for */
#define NR_SIGNALS	64	/* in a batch */
#define SILENCE		2000	/* ms */
#define RETRY		500	/* ms */
#define MAX_BEHIND	20	/* times RETRY */

bool parse_signal(const char *text, size_t length, struct twheel_signal_args *args)
{
	char key[MAX_SIGNAL + 1], amount[24] = "0", value[24] = "0", limit[24] = "0", more[2];
	int nr = sscanf(text, "%1024s %23s %23s %23s %1s", key, amount, value, limit, more);
	__u64 number;

	memset(args, 0, sizeof(*args));
	if (length > MAX_SIGNAL || strlen(text) != length || nr < 1 || nr > 4 ||
	    twheel_key_parse(key, &args->key) || !parse_count(limit, UINT32_MAX, &number) ||
	    !parse_count(amount, UINT64_MAX, &args->amount) ||
	    !parse_count(value, UINT64_MAX, &args->value))
		return false;
	args->limit = number;
	return true;
}

static bool is_position(const struct twheel_key *key)
{
	for (int i = 0; i < bridge.nr_subjects; i++)
		if (!memcmp(key, &bridge.subjects[i].key, sizeof(*key)))
			return true;
	return false;
}

/* A signal that cannot be applied is stepped over. */
static void put_signal(struct subject *subject, struct twheel_batch *batch, natsMsg *message,
		       const jsMsgMetaData *data)
{
	static __thread uint64_t said;
	const struct twheel_signal_args step = {
		.key = subject->key,
		.amount = data->Sequence.Stream - subject->position,
	};
	int64_t age = nats_NowInNanoSeconds() - data->Timestamp;
	struct twheel_signal_args args;

	if (!parse_signal(natsMsg_GetData(message), natsMsg_GetDataLength(message), &args) ||
	    is_position(&args.key)) {
		subject->wrong++;
		note(&said, "signal %llu of %s is wrong",
		     (unsigned long long)data->Sequence.Stream, subject->name);
	} else if (age > (int64_t)bridge.max_age) {
		subject->skipped++;
	} else {
		twheel_batch_signal_with(batch, &args);
		subject->batched++;
		subject->late = age > 0 ? age : 0;
	}
	twheel_batch_signal_with(batch, &step);
	subject->position = data->Sequence.Stream;
	/* Between two messages the stream has dropped some, unless as many were published. */
	if (subject->lag > data->NumPending + 1)
		subject->dropped += subject->lag - data->NumPending - 1;
	subject->lag = data->NumPending;
}

/* Return: false if the consumer has lost a message, or its server ends it. */
static bool take(struct subject *subject, struct twheel_batch *batch, natsMsg *message)
{
	jsMsgMetaData *data;
	const char *code;
	bool next;

	if (natsMsg_GetMetaData(&data, message) != NATS_OK) {
		if (natsMsgHeader_Get(message, "Status", &code) != NATS_OK)
			return false;
		/* The server has forgotten the requests. */
		if (!strcmp(code, "408"))
			subject->asked = 0;
		return !strcmp(code, "100") || !strcmp(code, "408");
	}
	next = data->Sequence.Consumer == ++subject->delivered;
	if (next)
		put_signal(subject, batch, message, data);
	subject->asked -= !!subject->asked;
	jsMsgMetaData_Destroy(data);
	return next;
}

static void ask(struct subject *subject)
{
	char next[2 * NAME_SIZE + 32], text[128];
	unsigned int nr = AHEAD - subject->asked;

	if (nr < AHEAD / 2)
		return;
	subject->asked += nr;
	snprintf(next, sizeof(next), "$JS.API.CONSUMER.MSG.NEXT.%s.%s", bridge.stream,
		 subject->consumer);
	snprintf(text, sizeof(text), "{\"batch\":%u,\"expires\":%llu,\"idle_heartbeat\":%llu}", nr,
		 30 * NSEC_PER_SEC, NSEC_PER_SEC / 2);
	natsConnection_PublishRequestString(bridge.connection, next,
					    natsSubscription_GetSubject(subject->inbox), text);
}

/* Waits for signals and applies them. Return: false if the subject needs a new consumer. */
static bool apply(struct subject *subject, struct twheel_batch *batch)
{
	natsMsg *message;
	bool good = true;

	ask(subject);
	/* After SIGCONT the time is over, but messages may wait to be read by the library. */
	if (natsSubscription_NextMsg(&message, subject->inbox, SILENCE / 2) != NATS_OK &&
	    natsSubscription_NextMsg(&message, subject->inbox, SILENCE / 2) != NATS_OK)
		return false;
	for (int nr = 1; ; nr++) {
		good = take(subject, batch, message);
		natsMsg_Destroy(message);
		if (!good || nr == NR_SIGNALS ||
		    natsSubscription_NextMsg(&message, subject->inbox, 0) != NATS_OK)
			break;
	}
	pthread_mutex_lock(&bridge.batch);
	if (twheel_batch_submit(batch))
		errx(FAILED, "cannot signal %s", bridge.purgatory);
	check_position(subject);
	pthread_mutex_unlock(&bridge.batch);
	subject->applied += subject->batched;
	subject->batched = 0;
	return good;
}

/*
 * Compares the position with the stream. A stream that was created anew has another time of
 * creation. One that ends before the position may have a leader that is not up to date; if it stays
 * so, its server has lost the end of it. Return: whether a consumer can start at the position.
 */
static bool check_stream(struct subject *subject, const jsStreamInfo *stream)
{
	static __thread uint64_t said;
	bool known = subject->created == (uint64_t)stream->Created;
	bool short_of = subject->position > stream->State.LastSeq;

	if (known && short_of && subject->behind++ < MAX_BEHIND)
		return false;
	subject->behind = 0;
	if (!known || short_of) {
		if (subject->id) {
			note(&said, "stream %s is another one, or has lost its end", bridge.stream);
			subject->resets++;
		}
		subject->created = stream->Created;
		set_position(subject, known ? stream->State.LastSeq : 0);
	}
	if (subject->position && subject->position + 1 < stream->State.FirstSeq) {
		subject->dropped += stream->State.FirstSeq - subject->position - 1;
		set_position(subject, stream->State.FirstSeq - 1);
	}
	return true;
}

/* Return: NULL, or the reason why there is no consumer. */
static const char *add_consumer(struct subject *subject)
{
	jsConsumerConfig config;
	jsConsumerInfo *info;
	jsStreamInfo *stream;
	char inbox[NAME_SIZE + 8];
	natsStatus status = js_GetStreamInfo(&stream, bridge.js, bridge.stream, NULL, NULL);
	bool ready;

	if (status != NATS_OK)
		return why(status);
	ready = check_stream(subject, stream);
	jsStreamInfo_Destroy(stream);
	if (!ready)
		return "the stream ends before the position";
	jsConsumerConfig_Init(&config);
	config.AckPolicy = js_AckNone;
	config.FilterSubject = subject->name;
	config.InactiveThreshold = 10 * NSEC_PER_SEC;
	if (subject->position) {
		config.DeliverPolicy = js_DeliverByStartSequence;
		config.OptStartSeq = subject->position + 1;
	} else {
		config.DeliverPolicy = js_DeliverByStartTime;
		config.OptStartTime = nats_NowInNanoSeconds() - bridge.max_age;
	}
	status = js_AddConsumer(&info, bridge.js, bridge.stream, &config, NULL, NULL);
	if (status != NATS_OK)
		return why(status);
	snprintf(subject->consumer, sizeof(subject->consumer), "%s", info->Name);
	snprintf(inbox, sizeof(inbox), "_INBOX.%s", info->Name);
	subject->delivered = 0;
	subject->asked = 0;
	subject->lag = info->NumPending;
	subject->consumers++;
	subject->connected = 1;
	jsConsumerInfo_Destroy(info);
	status = natsConnection_SubscribeSync(&subject->inbox, bridge.connection, inbox);
	return status == NATS_OK ? NULL : why(status);
}

void *run_subject(void *argument)
{
	struct subject *subject = argument;
	struct twheel_batch *batch = twheel_batch_new(bridge.fd, 2 * NR_SIGNALS, TWHEEL_BATCH_STOP);
	const char *error;
	uint64_t said = 0;

	while (!natsConnection_IsClosed(bridge.connection)) {
		error = add_consumer(subject);
		if (error)
			note(&said, "no consumer for %s: %s", subject->name, error);
		else
			while (apply(subject, batch))
				;
		subject->connected = 0;
		natsSubscription_Destroy(subject->inbox);
		subject->inbox = NULL;
		nats_Sleep(RETRY);
	}
	natsConnection_GetLastError(bridge.connection, &error);
	errx(FAILED, "the connection is closed: %s", error ?: "no reason");
}
