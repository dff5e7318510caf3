// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of a subject: it takes the signals of a consumer, and applies them.
 *
 * The consumer has no name and no acknowledgements, and one server keeps it. The server sends
 * signals ahead, until the bridge has not answered its last request for flow control. While there
 * are none, it sends a heartbeat twice a second. A silent consumer has died with its server; a gap
 * in the numbers of its messages is a loss on the way. In both cases a new consumer starts after
 * the position.
 *
 * A signal and the step of the position are adjacent commands of a batch. SIGKILL stops a batch
 * between two commands, so at most one signal is applied and not stepped over.
 */
#include <stdio.h>
#include <string.h>

#include "bridge.h"

#define MAX_SIGNAL	1024	/* bytes of a message */
#define NR_SIGNALS	64	/* in a batch */
#define SILENCE		2000	/* ms */
#define RETRY		500	/* ms */
#define MAX_BEHIND	20	/* times RETRY */

bool parse_signal(const char *text, size_t length, struct twheel_signal_args *args)
{
	char key[MAX_SIGNAL + 1], amount[MAX_SIGNAL + 1] = "0", value[MAX_SIGNAL + 1] = "0",
	     limit[MAX_SIGNAL + 1] = "0", more[2];
	int nr = sscanf(text, "%1024s %1024s %1024s %1024s %1s", key, amount, value, limit, more);
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
	subject->lag = data->NumPending;
}

/*
 * A heartbeat, or a request for flow control. Return: false if the server ends the consumer, or
 * has nothing to send although there was more: the stream has dropped it, and Debian 12's server
 * does not correct the number.
 */
static bool take_status(const struct subject *subject, natsMsg *message)
{
	const char *code, *request = natsMsg_GetReply(message);

	if (natsMsgHeader_Get(message, "Status", &code) != NATS_OK || strcmp(code, "100"))
		return false;
	/* A heartbeat has a request that was not answered. */
	if (request || natsMsgHeader_Get(message, "Nats-Consumer-Stalled", &request) == NATS_OK)
		natsConnection_PublishString(bridge.connection, request, "");
	return request || !subject->lag;
}

/* Return: false if the subject needs a new consumer. */
static bool take(struct subject *subject, struct twheel_batch *batch, natsMsg *message)
{
	jsMsgMetaData *data;
	bool next;

	if (natsMsg_GetMetaData(&data, message) != NATS_OK)
		return take_status(subject, message);
	next = data->Sequence.Consumer == ++subject->delivered;
	if (next)
		put_signal(subject, batch, message, data);
	jsMsgMetaData_Destroy(data);
	return next;
}

/* Waits for signals and applies them. Return: false if the subject needs a new consumer. */
static bool apply(struct subject *subject, struct twheel_batch *batch)
{
	natsMsg *message;
	bool good = true;

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

/* Subscribes to an inbox of a consumer. */
static natsStatus subscribe(struct subject *subject)
{
	natsInbox *inbox;
	natsStatus status = natsInbox_Create(&inbox);

	if (status != NATS_OK)
		return status;
	status = natsConnection_SubscribeSync(&subject->inbox, bridge.connection, inbox);
	natsInbox_Destroy(inbox);
	return status;
}

/* Return: NULL, or the reason why there is no consumer. */
static const char *add_consumer(struct subject *subject)
{
	jsConsumerConfig config;
	jsConsumerInfo *info;
	jsStreamInfo *stream;
	natsStatus status = js_GetStreamInfo(&stream, bridge.js, bridge.stream, NULL, NULL);
	bool ready;

	if (status != NATS_OK)
		return why(status);
	pthread_mutex_lock(&bridge.batch);
	ready = check_stream(subject, stream);
	pthread_mutex_unlock(&bridge.batch);
	jsStreamInfo_Destroy(stream);
	if (!ready)
		return "the stream ends before the position";
	status = subscribe(subject);
	if (status != NATS_OK)
		return why(status);
	jsConsumerConfig_Init(&config);
	config.AckPolicy = js_AckNone;
	config.DeliverSubject = natsSubscription_GetSubject(subject->inbox);
	config.FilterSubject = subject->name;
	config.FlowControl = true;
	config.Heartbeat = NSEC_PER_SEC / 2;
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
	subject->delivered = 0;
	subject->lag = info->NumPending;
	subject->consumers++;
	subject->connected = 1;
	jsConsumerInfo_Destroy(info);
	return NULL;
}

void *run_subject(void *argument)
{
	struct subject *subject = argument;
	struct twheel_batch *batch = twheel_batch_new(bridge.fd, 2 * NR_SIGNALS, TWHEEL_BATCH_STOP);
	const char *error;
	uint64_t said = 0;

	if (!batch)
		errx(FAILED, "no memory");
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
	pthread_mutex_lock(&bridge.batch);
	errx(FAILED, "the connection is closed: %s", error ?: "no reason");
}
