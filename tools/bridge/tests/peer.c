// SPDX-License-Identifier: GPL-2.0
/*
 * A peer of the bridge for measurements: a subscriber that does nothing with its messages, a
 * publisher with a fixed rate, and the calls of a bridge without a server. A message has the text
 * of a signal whose value is the time of its publication, on CLOCK_MONOTONIC in ns.
 *
 *	peer core|ordered URL SUBJECT NUMBER	print the ns from the first to the last message of
 *						NUMBER, and the median and the 99th percentile of
 *						their ages in ns
 *	peer publish URL SUBJECT NUMBER RATE	RATE messages a second
 *	peer pairs PURGATORY KEY NUMBER		signal NUMBER keys, and KEY after each; print the ns
 */
#include <nats/nats.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <twheel.h>

static int64_t *ages, first, last;
static volatile long nr, wanted;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void must(natsStatus status)
{
	if (status == NATS_OK)
		return;
	nats_PrintLastErrorStack(stderr);
	exit(1);
}

static void take(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
		 void *closure)
{
	const char *sent = strrchr(natsMsg_GetData(message), ' ');

	(void)connection;
	(void)subscription;
	(void)closure;
	last = now();
	if (!nr)
		first = last;
	ages[nr++] = last - (sent ? strtoll(sent, NULL, 10) : 0);
	natsMsg_Destroy(message);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void subscribe(natsConnection *connection, jsCtx *js, const char *subject)
{
	natsSubscription *subscription;
	jsSubOptions options;

	must(jsSubOptions_Init(&options));
	options.Ordered = true;
	must(js ? js_Subscribe(&subscription, js, subject, take, NULL, NULL, &options, NULL) :
	     natsConnection_Subscribe(&subscription, connection, subject, take, NULL));
	must(natsSubscription_SetPendingLimits(subscription, -1, -1));
	must(natsConnection_Flush(connection));
	fputs("ready\n", stderr);
	while (nr < wanted)
		nats_Sleep(10);
	qsort(ages, nr, sizeof(*ages), compare);
	printf("%ld %ld %ld\n", last - first, ages[nr / 2], ages[nr * 99 / 100]);
}

static void publish(jsCtx *js, const char *subject, long rate)
{
	int64_t start = now(), due;
	char text[64];

	for (long i = 0; i < wanted; i++) {
		due = start + i * 1000000000LL / rate;
		if (due > now())
			nanosleep(&(struct timespec){ .tv_nsec = due - now() }, NULL);
		snprintf(text, sizeof(text), "num:%ld 1 %ld", i, now());
		must(js_PublishAsync(js, subject, text, strlen(text), NULL));
	}
	must(js_PublishAsyncComplete(js, NULL));
}

static void pairs(const char *purgatory, const char *position)
{
	struct twheel_batch *batch = twheel_batch_new(twheel_open_named(purgatory, 0), 128, 0);
	struct twheel_key key;

	if (!batch || twheel_key_parse(position, &key))
		exit(1);
	first = now();
	for (nr = 0; nr < wanted; nr++) {
		twheel_batch_signal(batch, twheel_key_number(nr), 0);
		twheel_batch_signal(batch, key, 0);
	}
	if (twheel_batch_submit(batch))
		exit(1);
	printf("%ld\n", now() - first);
}

int main(int argc, char **argv)
{
	natsConnection *connection;
	jsCtx *js;

	if (argc < 5)
		return 2;
	wanted = atol(argv[4]);
	if (!strcmp(argv[1], "pairs")) {
		pairs(argv[2], argv[3]);
		return 0;
	}
	ages = calloc(wanted + 1, sizeof(*ages));
	must(natsConnection_ConnectTo(&connection, argv[2]));
	must(natsConnection_JetStream(&js, connection, NULL));
	if (!strcmp(argv[1], "publish"))
		publish(js, argv[3], argc == 6 ? atol(argv[5]) : 1000);
	else
		subscribe(connection, strcmp(argv[1], "core") ? js : NULL, argv[3]);
	return 0;
}
