// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait in a named purgatory. See waiting.h.
 *
 * A wait is an operation with the condition SUM. Its cookie is the address of the wait. The
 * keys are short texts, for twheelctl: "acks:12" is the key of produces to partition 12.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <twheel.h>

#include "waiting.h"

#define MAX_BATCH	256
#define MAX_EVENTS	256

static int fd = -1;
static struct twheel_batch *batch;

/* Waits whose add failed. */
static TAILQ_HEAD(, wait) refused = TAILQ_HEAD_INITIALIZER(refused);

static struct twheel_key key_of(struct wait_key key)
{
	static const char * const kinds[] = { "acks", "read", "copy", "sync" };
	struct twheel_key result;
	char text[TWHEEL_KEY_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%s:%d", kinds[key.kind], key.partition);
	twheel_key_text(text, &result);
	return result;
}

static void report_error(const char *text)
{
	fprintf(stderr, "broker: %s %s: %s\n", text, config.purgatory, strerror(errno));
}

static void close_purgatory(void)
{
	twheel_batch_free(batch);
	batch = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
}

/* A purgatory remains if its broker was killed. */
static bool purgatory_create(void)
{
	int created = twheel_create(config.purgatory, 0600);

	if (created < 0 && errno == EEXIST)
		return true;
	if (created < 0) {
		report_error("the purgatory");
		return false;
	}
	close(created);
	return true;
}

/* Another broker may use the purgatory by mistake: EBUSY. */
static void purgatory_remove(void)
{
	close_purgatory();
	if (twheel_remove(config.purgatory, 0, NULL))
		report_error("the purgatory");
}

/* An end of a wait may come too late: EALREADY. */
static void command_done(void *context, uint64_t index, const struct twheel_command *command,
			 const struct twheel_result *result)
{
	static int last_error;
	struct wait *wait;

	if (command->call != TWHEEL_CALL_ADD)
		return;
	wait = (struct wait *)(uintptr_t)command->add.cookie;
	if (!result->error) {
		wait->id = result->value;
		return;
	}
	if (result->error != last_error)
		fprintf(stderr, "broker: add of an operation: %s\n", strerror(-result->error));
	last_error = result->error;
	TAILQ_INSERT_TAIL(&refused, wait, ended);
}

static int purgatory_open(void)
{
	/* A new worker has inherited the state of the main process. */
	close_purgatory();
	TAILQ_INIT(&refused);
	fd = twheel_open_named(config.purgatory, O_NONBLOCK);
	if (fd >= 0)
		batch = twheel_batch_new(fd, MAX_BATCH, 0);
	if (!batch) {
		report_error("the purgatory");
		return -1;
	}
	twheel_batch_on_result(batch, command_done, NULL);
	return fd;
}

static void purgatory_add(struct wait *wait, const struct wait_key *keys, int nr,
			  uint64_t threshold, uint64_t deadline)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS] = { };
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_MONOTONIC,
		.condition = nr ? TWHEEL_COND_SUM : TWHEEL_COND_NONE,
		.nr_keys = nr,
		.keys = (uintptr_t)specs,
		.threshold = threshold,
		.deadline = deadline,
		.cookie = (uintptr_t)wait,
	};

	for (int i = 0; i < nr; i++)
		specs[i].key = key_of(keys[i]);
	if (twheel_batch_add(batch, &args))
		TAILQ_INSERT_TAIL(&refused, wait, ended);
}

static void purgatory_rearm(struct wait *wait, uint64_t deadline)
{
	if (wait->id)
		twheel_batch_rearm(batch, wait->id, deadline, TWHEEL_REARM_ABSTIME);
}

static void purgatory_complete(struct wait *wait)
{
	if (wait->id)
		twheel_batch_complete(batch, wait->id, 0);
}

static void purgatory_signal(struct wait_key key, uint64_t amount)
{
	struct twheel_signal_args args = { .key = key_of(key), .amount = amount };

	twheel_batch_signal_with(batch, &args);
}

static void purgatory_submit(void)
{
	struct wait *wait;

	if (twheel_batch_submit(batch) < 0)
		perror("broker: batch");
	while ((wait = TAILQ_FIRST(&refused))) {
		TAILQ_REMOVE(&refused, wait, ended);
		wait->fn(wait, WAIT_REFUSED);
	}
}

static void purgatory_stop(void)
{
	if (twheel_complete_all(fd, 0, -ESHUTDOWN, 0, NULL))
		perror("broker: end of all operations");
}

static void report(const struct twheel_event *event)
{
	struct wait *wait = (struct wait *)(uintptr_t)event->cookie;

	wait->id = 0;
	if (event->reason == TWHEEL_REASON_EXPIRED)
		wait->fn(wait, WAIT_EXPIRED);
	else if (event->reason == TWHEEL_REASON_CANCELLED || event->error == -ESHUTDOWN)
		wait->fn(wait, WAIT_STOPPED);
	else
		wait->fn(wait, WAIT_COMPLETED);
}

static bool purgatory_events(void)
{
	struct twheel_event events[MAX_EVENTS];
	ssize_t nr = twheel_read_events(fd, events, MAX_EVENTS);

	for (ssize_t i = 0; i < nr; i++)
		report(&events[i]);
	if (nr > 0 || (nr < 0 && (errno == EAGAIN || errno == EINTR)))
		return true;
	fputs("broker: the purgatory has been removed\n", stderr);
	return false;
}

const struct waiting waiting_twheel = {
	.is_shared = true,
	.create = purgatory_create,
	.remove = purgatory_remove,
	.open = purgatory_open,
	.add = purgatory_add,
	.rearm = purgatory_rearm,
	.complete = purgatory_complete,
	.signal = purgatory_signal,
	.submit = purgatory_submit,
	.stop = purgatory_stop,
	.events = purgatory_events,
};
