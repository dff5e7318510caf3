// SPDX-License-Identifier: GPL-2.0
/*
 * twheel-bridge publish and setup: signals from standard input to a subject, and the stream.
 */
#include <stdio.h>
#include <string.h>

#include "bridge.h"

#define TRY		2000	/* ms until a signal is published again */
#define PATIENCE	(60 * NSEC_PER_SEC)

/* Return: whether it was a duplicate. A second try has the same message id, so it counts once. */
static bool store(const char *subject, const char *text, const char *id)
{
	jsPubOptions options;
	struct twheel_signal_args args;
	uint64_t start = now_ns();
	natsStatus status;
	jsPubAck *ack;
	bool duplicate;

	if (!*id || !parse_signal(text, strlen(text), &args))
		errx(USAGE, "wrong signal: %s", text);
	jsPubOptions_Init(&options);
	options.MaxWait = TRY;
	options.MsgId = id;
	for (;;) {
		status = js_Publish(&ack, bridge.js, subject, text, strlen(text), &options, NULL);
		if (status == NATS_OK)
			break;
		if (violation() || now_ns() - start > PATIENCE)
			errx(FAILED, "signal %s was not stored: %s", id, why(status));
		nats_Sleep(TRY / 10);
	}
	duplicate = ack->Duplicate;
	jsPubAck_Destroy(ack);
	return duplicate;
}

/* Without --ids, an id is a name of this process and the number of the line. */
int publish(const char *subject, bool ids)
{
	char *line = NULL, *text, *id, name[NAME_SIZE];
	unsigned long nr, duplicates = 0;
	size_t size = 0;
	natsInbox *own;

	connect_bridge(true);
	if (natsInbox_Create(&own) != NATS_OK)
		errx(FAILED, "no memory");
	for (nr = 0; getline(&line, &size, stdin) >= 0; nr++) {
		line[strcspn(line, "\n")] = '\0';
		text = line;
		snprintf(name, sizeof(name), "%s.%lu", own, nr);
		id = ids ? strsep(&text, " ") : name;
		duplicates += store(subject, text ?: "", id);
	}
	printf("%lu stored, %lu of them before\n", nr, duplicates);
	if (!feof(stdin))
		errx(FAILED, "cannot read standard input");
	return fflush(stdout) ? FAILED : 0;
}

int setup(void)
{
	static const char * const kinds[] = { "all", "host.*", "part.*" };
	jsStreamConfig config;
	natsStatus status;
	char *subjects[3];

	for (int i = 0; i < 3; i++)
		if (asprintf(&subjects[i], "twheel.%s.%s", bridge.purgatory, kinds[i]) < 0)
			errx(FAILED, "no memory");
	jsStreamConfig_Init(&config);
	config.Name = bridge.stream;
	config.Subjects = (const char **)subjects;
	config.SubjectsLen = 3;
	config.MaxAge = bridge.max_age;
	config.Duplicates = bridge.duplicates < bridge.max_age ? bridge.duplicates : bridge.max_age;
	config.Replicas = bridge.replicas;
	connect_bridge(true);
	status = js_UpdateStream(NULL, bridge.js, &config, NULL, NULL);
	if (status == NATS_NOT_FOUND)
		status = js_AddStream(NULL, bridge.js, &config, NULL, NULL);
	if (status != NATS_OK)
		errx(FAILED, "cannot set up stream %s: %s", bridge.stream, why(status));
	return 0;
}
