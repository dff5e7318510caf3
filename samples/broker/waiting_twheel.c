// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait in a named purgatory: see waiting.h.
 *
 * A wait is an operation with the condition SUM, and an alarm a detached one. The cookie is the
 * address of the wait, which is the same in all processes for that of an alarm. The keys are short
 * texts, for twheelctl: "acks:12" is the key of produces to partition 12.
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

static int fd = -1, events_fd = -1;
static struct twheel_batch *batch;

/* Waits whose add failed. */
static TAILQ_HEAD(, wait) refused = TAILQ_HEAD_INITIALIZER(refused);

static struct twheel_key key_of(struct wait_key key)
{
	static const char * const kinds[] = {
		"acks", "read", "copy", "lease", "join", "assign", "session",
	};
	struct twheel_key result;
	char text[TWHEEL_KEY_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%s:%d", kinds[key.kind], key.number);
	twheel_key_text(text, &result);
	return result;
}

static struct wait *wait_of(uint64_t cookie)
{
	return (struct wait *)(uintptr_t)cookie;
}

static bool fails(void)
{
	fprintf(stderr, "broker: the purgatory %s: %s\n", config.purgatory, strerror(errno));
	return false;
}

static void close_purgatory(void)
{
	twheel_batch_free(batch);
	batch = NULL;
	if (events_fd != fd)
		close(events_fd);
	close(fd);
	fd = -1;
	events_fd = -1;
}

/* End the alarms of a broker that was killed, or that stops. */
static bool clear_alarms(void)
{
	struct twheel_query_args query = { };
	struct twheel_event events[MAX_EVENTS];

	if (waiting_open(true) < 0)
		return false;
	twheel_query(fd, &query);
	/* Own files are the purgatory and the queue. Alarms may be those of another broker. */
	errno = EBUSY;
	if ((query.files > 2 && query.detached + query.detached_unread) ||
	    twheel_complete_all(fd, 0, 0, TWHEEL_COMPLETE_OTHERS, NULL))
		return fails();
	while (twheel_read_events(events_fd, events, MAX_EVENTS) > 0)
		;
	close_purgatory();
	return true;
}

/* A purgatory remains if its broker was killed. */
bool waiting_create(void)
{
	int created = twheel_create(config.purgatory, 0600);

	if (created >= 0)
		return !close(created);
	return errno == EEXIST ? clear_alarms() : fails();
}

/* Another broker may use the purgatory by mistake: EBUSY. */
void waiting_remove(void)
{
	close_purgatory();
	if (clear_alarms() && twheel_remove(config.purgatory, 0, NULL))
		fails();
}

/* An end of a wait may come too late: EALREADY. */
static void command_done(void *context, uint64_t index, const struct twheel_command *command,
			 const struct twheel_result *result)
{
	static int last_error;
	struct wait *wait = wait_of(command->add.cookie);

	if (command->call != TWHEEL_CALL_ADD)
		return;
	if (result->error) {
		if (result->error != last_error)
			fprintf(stderr, "broker: add of an operation: %s\n",
				strerror(-result->error));
		last_error = result->error;
		TAILQ_INSERT_TAIL(&refused, wait, ended);
	} else if (wait->id == WAIT_ADDING) {
		/* Else it is an alarm that has ended in the main process. */
		wait->id = result->value;
	}
}

int waiting_open(bool is_main)
{
	/* A new worker has inherited the state of the main process. */
	close_purgatory();
	TAILQ_INIT(&refused);
	fd = twheel_open_named(config.purgatory, O_NONBLOCK);
	events_fd = is_main && fd >= 0 ? twheel_events(fd, 0, O_NONBLOCK) : fd;
	if (events_fd >= 0)
		batch = twheel_batch_new(fd, MAX_BATCH, 0);
	if (!batch) {
		fails();
		return -1;
	}
	twheel_batch_on_result(batch, command_done, NULL);
	return events_fd;
}

void wait_add(struct wait *wait, const struct wait_key *keys, int nr, uint64_t threshold,
	      uint64_t deadline)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS] = { };
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME | (wait->deadline ? TWHEEL_ADD_DETACHED : 0),
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
	wait->id = WAIT_ADDING;
	if (twheel_batch_add(batch, &args))
		TAILQ_INSERT_TAIL(&refused, wait, ended);
}

void wait_alarm(struct wait *wait, struct wait_key key, uint64_t deadline)
{
	wait->key = key;
	wait->deadline = deadline;
	if (!wait->id)
		wait_add(wait, &key, 1, 1, deadline);
	else if (wait->id != WAIT_ADDING)
		twheel_batch_rearm(batch, wait->id, deadline, TWHEEL_REARM_ABSTIME);
}

void wait_repair(struct wait *wait)
{
	if (wait->id == WAIT_ADDING)
		wait->id = 0;
	wait_alarm(wait, wait->key, wait->deadline);
}

void wait_complete(struct wait *wait)
{
	if (!wait->id || wait->id == WAIT_ADDING)
		return;
	twheel_batch_complete(batch, wait->id, 0);
	if (wait->deadline)
		wait->id = 0;
}

void wait_signal(struct wait_key key, uint64_t amount)
{
	struct twheel_signal_args args = { .key = key_of(key), .amount = amount };

	twheel_batch_signal_with(batch, &args);
}

void waiting_submit(void)
{
	struct wait *wait;
	bool again;

	do {
		if (twheel_batch_submit(batch) < 0)
			perror("broker: batch");
		/* The end of an alarm may queue signals. */
		again = !TAILQ_EMPTY(&refused);
		while ((wait = TAILQ_FIRST(&refused))) {
			TAILQ_REMOVE(&refused, wait, ended);
			wait->id = 0;
			wait->fn(wait, WAIT_REFUSED);
		}
	} while (again);
}

void waiting_stop(void)
{
	if (twheel_complete_all(fd, 0, -ESHUTDOWN, 0, NULL))
		perror("broker: end of all operations");
}

bool waiting_events(void)
{
	struct twheel_event events[MAX_EVENTS];
	ssize_t nr = twheel_read_events(events_fd, events, MAX_EVENTS);
	int error = errno;

	for (ssize_t i = 0; i < nr; i++) {
		const struct twheel_event *event = &events[i];
		struct wait *wait = wait_of(event->cookie);
		enum wait_end end = WAIT_COMPLETED;

		/* The alarm of a member that has left; its memory may have another one. */
		if (wait->id != event->id && wait->id != WAIT_ADDING)
			continue;
		if (event->reason == TWHEEL_REASON_CANCELLED || event->error == -ESHUTDOWN)
			end = WAIT_STOPPED;
		else if (event->reason == TWHEEL_REASON_EXPIRED)
			end = WAIT_EXPIRED;
		wait->id = 0;
		wait->fn(wait, end);
	}
	if (nr > 0 || (nr < 0 && (error == EAGAIN || error == EINTR)))
		return true;
	fputs("broker: the purgatory has been removed\n", stderr);
	return false;
}
