/* SPDX-License-Identifier: GPL-2.0 */
/* For unit tests of requests: the message of one, and the answer to it. */
#ifndef BROKER_UNIT_REQUESTS_H
#define BROKER_UNIT_REQUESTS_H

#include "kit.h"

#define MAX_MESSAGES	5000

static struct wire frame = WRITER, response = WRITER, body;

/* A message must stay until its answer. */
static uint8_t *messages[MAX_MESSAGES];
static int nr_messages;

static void start_frame(int key, int version)
{
	frame.size = 0;
	put_i16(&frame, key);
	put_i16(&frame, version);
	put_i32(&frame, 42);
	put_text(&frame, "test");
}

static struct request *begin(void)
{
	uint8_t *message = malloc(frame.size);

	messages[nr_messages++] = memcpy(message, frame.data, frame.size);
	return request_begin(message, frame.size);
}

/* Answer, and position the reader after the correlation ID. */
static bool reply(struct request *request)
{
	bool ok;

	response.size = 0;
	ok = request_answer(request, &response);
	body = (struct wire){ .data = response.data, .size = response.size };
	if (ok && response.size) {
		CHECK(get_i32(&body) == (int32_t)response.size - 4);
		CHECK(get_i32(&body) == 42);
	}
	return ok;
}

static int run(const struct tap_case *cases)
{
	int status = kit_run(cases);

	while (nr_messages)
		free(messages[--nr_messages]);
	wire_free(&frame);
	wire_free(&response);
	return status;
}

#endif /* BROKER_UNIT_REQUESTS_H */
