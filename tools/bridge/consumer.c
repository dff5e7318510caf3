// SPDX-License-Identifier: GPL-2.0
/*
 * The consumer of a subject: without a name, without acknowledgements, kept by one server, and
 * replaced whenever it may have lost a message.
 *
 * The bridge asks for signals ahead of their arrival and does not wait for the answer. While there
 * are none, the server sends a heartbeat twice a second. A silent consumer has died with its
 * server; a gap in the numbers of its messages is a loss on the way. In both cases a new consumer
 * starts after the position. Its messages have its name, so those of the old one are recognized.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../twheelctl/units.h"
#include "bridge.h"

#define AHEAD		1024			/* signals to ask for */
#define SILENCE		(2 * NSEC_PER_SEC)
#define RETRY		(NSEC_PER_SEC / 2)
#define MAX_BEHIND	20			/* times RETRY */

/* Tokens of "$JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERIES.SEQUENCE.NUMBER.TIME.PENDING". */
enum { CONSUMER = 1, SEQUENCE = 3, NUMBER, TIME, PENDING, NR_TOKENS };

uint64_t real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

void ask(struct bridge *bridge, struct subject *subject)
{
	char to[2 * NAME_SIZE + 64], reply[NAME_SIZE + 16], text[128];
	unsigned int nr = AHEAD - subject->asked;

	if (nr < AHEAD / 2)
		return;
	subject->asked += nr;
	snprintf(to, sizeof(to), "$JS.API.CONSUMER.MSG.NEXT.%s.%s", bridge->stream,
		 subject->consumer);
	snprintf(reply, sizeof(reply), "%s.%d", bridge->inbox_name,
		 (int)(subject - bridge->subjects));
	snprintf(text, sizeof(text), "{\"batch\":%u,\"expires\":%llu,\"idle_heartbeat\":%llu}", nr,
		 30 * NSEC_PER_SEC, NSEC_PER_SEC / 2);
	natsConnection_PublishRequestString(bridge->connection, to, reply, text);
}

/*
 * Compares the position with the stream. A stream that was created anew has another time of
 * creation. One that ends before the position may have a leader that is not up to date; if it stays
 * so, its server has lost the end of it. Return: whether a consumer can start at the position.
 */
static bool check_stream(struct bridge *bridge, struct subject *subject,
			 const jsStreamInfo *info)
{
	static uint64_t said;
	bool known = subject->id && subject->created == (uint64_t)info->Created;

	if (known && subject->position > info->State.LastSeq && subject->behind++ < MAX_BEHIND)
		return false;
	subject->behind = 0;
	if (!known || subject->position > info->State.LastSeq) {
		if (subject->id) {
			note(&said, "stream %s is another one, or has lost its end",
			     bridge->stream);
			subject->resets++;
		}
		subject->created = info->Created;
		set_position(bridge, subject, known ? info->State.LastSeq : 0);
	}
	if (subject->position && subject->position + 1 < info->State.FirstSeq) {
		subject->dropped += info->State.FirstSeq - subject->position - 1;
		set_position(bridge, subject, info->State.FirstSeq - 1);
	}
	return true;
}

static natsStatus add_consumer(struct bridge *bridge, struct subject *subject)
{
	jsConsumerConfig config;
	jsConsumerInfo *info = NULL;
	natsStatus status;

	jsConsumerConfig_Init(&config);
	config.AckPolicy = js_AckNone;
	config.FilterSubject = subject->name;
	config.InactiveThreshold = 10 * NSEC_PER_SEC;
	if (subject->position) {
		config.DeliverPolicy = js_DeliverByStartSequence;
		config.OptStartSeq = subject->position + 1;
	} else {
		config.DeliverPolicy = js_DeliverByStartTime;
		config.OptStartTime = real_time() - bridge->max_age;
	}
	status = js_AddConsumer(&info, bridge->js, bridge->stream, &config, NULL, NULL);
	if (status != NATS_OK)
		return status;
	snprintf(subject->consumer, sizeof(subject->consumer), "%s", info->Name);
	subject->lag = info->NumPending;
	subject->delivered = 0;
	subject->asked = 0;
	subject->heard = now_ns();
	subject->consumers++;
	jsConsumerInfo_Destroy(info);
	ask(bridge, subject);
	return NATS_OK;
}

/* Return: false if the servers have not answered, or refused. */
static bool renew(struct bridge *bridge, struct subject *subject)
{
	static uint64_t said;
	jsStreamInfo *info = NULL;
	natsStatus status;
	bool ready = true;

	subject->heard = 0;
	subject->consumer[0] = '\0';
	status = js_GetStreamInfo(&info, bridge->js, bridge->stream, NULL, NULL);
	if (status == NATS_OK)
		ready = check_stream(bridge, subject, info);
	jsStreamInfo_Destroy(info);
	if (status == NATS_OK && ready)
		status = add_consumer(bridge, subject);
	if (status != NATS_OK)
		note(&said, "no consumer for %s: %s", subject->name, why(status));
	subject->retry = now_ns() + RETRY;
	return status == NATS_OK;
}

void renew_consumers(struct bridge *bridge)
{
	static unsigned int seen;
	static uint64_t said;
	unsigned int connects = __atomic_load_n(&bridge->connects, __ATOMIC_RELAXED);

	if (natsConnection_Status(bridge->connection) != NATS_CONN_STATUS_CONNECTED) {
		note(&said, "no server can be reached");
		return;
	}
	/* A server forgets the requests of a lost connection. */
	for (int i = 0; i < bridge->nr_subjects && connects != seen; i++)
		bridge->subjects[i].heard = 0;
	seen = connects;
	for (int i = 0; i < bridge->nr_subjects; i++) {
		struct subject *subject = &bridge->subjects[i];

		/* Without an answer, let the caller go on before the next subject has its turn. */
		if (now_ns() - subject->heard > SILENCE && now_ns() >= subject->retry &&
		    !renew(bridge, subject))
			return;
	}
}

/* Takes a message without a signal, such as a heartbeat. */
static void take_status(struct bridge *bridge, natsMsg *message)
{
	const char *index = natsMsg_GetSubject(message) + strlen(bridge->inbox_name), *code = NULL;
	struct subject *subject;

	if (*index++ != '.' || atoi(index) < 0 || atoi(index) >= bridge->nr_subjects ||
	    natsMsgHeader_Get(message, "Status", &code) != NATS_OK)
		return;
	subject = &bridge->subjects[atoi(index)];
	if (!subject->heard)
		return;
	subject->heard = now_ns();
	if (!strcmp(code, "100"))
		return;
	subject->asked = 0;
	if (!strcmp(code, "408"))
		ask(bridge, subject);
	else
		subject->heard = 0;
}

/* Return: the subject of a signal that is the next one of its consumer; or NULL. */
struct subject *take_signal(struct bridge *bridge, natsMsg *message, uint64_t *sequence,
			    uint64_t *time)
{
	const char *reply = natsMsg_GetReply(message), *tokens[12];
	struct subject *subject = bridge->subjects;
	const char **token;
	uint64_t pending;
	int nr = 0;

	if (!reply || strncmp(reply, "$JS.ACK.", 8)) {
		take_status(bridge, message);
		return NULL;
	}
	for (const char *at = reply; at && nr < 12; at = strchr(at, '.'), at += !!at)
		tokens[nr++] = at;
	token = tokens + (nr < 11 ? 2 : 4);
	if (token + NR_TOKENS > tokens + nr)
		return NULL;
	while (strncmp(token[CONSUMER], subject->consumer, strlen(subject->consumer)) ||
	       token[CONSUMER][strlen(subject->consumer)] != '.')
		if (++subject == bridge->subjects + bridge->nr_subjects)
			return NULL;
	if (strtoull(token[NUMBER], NULL, 10) != subject->delivered + 1) {
		subject->heard = 0;
		subject->consumer[0] = '\0';
		return NULL;
	}
	subject->delivered++;
	subject->asked -= !!subject->asked;
	subject->heard = now_ns();
	pending = strtoull(token[PENDING], NULL, 10);
	/* Between two messages the stream has dropped some, unless as many were published. */
	if (subject->lag > pending + 1)
		subject->dropped += subject->lag - pending - 1;
	subject->lag = pending;
	*sequence = strtoull(token[SEQUENCE], NULL, 10);
	*time = strtoull(token[TIME], NULL, 10);
	return subject;
}
