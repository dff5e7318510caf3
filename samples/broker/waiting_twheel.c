// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait in a named purgatory: see waiting.h.
 *
 * A wait is an operation with the condition SUM, and an alarm a detached one. The cookie is the
 * address of the wait, which is the same in all processes for that of an alarm. The keys are short
 * texts, for twheelctl: "acks:12" is the key of produces to partition 12.
 */
#include <err.h>
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

/* Waits that were added or refused. */
static TAILQ_HEAD(, wait) added = TAILQ_HEAD_INITIALIZER(added);

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

	waiting_open(true);
	twheel_query(fd, &query);
	/* Own files are the purgatory and the queue. Alarms may be those of another broker. */
	errno = EBUSY;
	if ((query.files > 2 && query.detached + query.detached_unread) ||
	    twheel_complete_all(fd, 0, 0, TWHEEL_COMPLETE_OTHERS, NULL))
		return false;
	while (twheel_read_events(events_fd, events, MAX_EVENTS) > 0)
		;
	close_purgatory();
	return true;
}

/* A purgatory remains if its broker was killed. */
void waiting_create(void)
{
	int created = twheel_create(config.purgatory, 0600);

	if (created < 0 && (errno != EEXIST || !clear_alarms()))
		err(1, "the purgatory %s", config.purgatory);
	close(created);
}

/* Another broker may use the purgatory by mistake: EBUSY. */
void waiting_remove(void)
{
	if (!clear_alarms() || twheel_remove(config.purgatory, 0, NULL))
		warn("the purgatory %s", config.purgatory);
}

static void add_done(struct wait *wait, enum wait_end end)
{
	wait->end = end;
	TAILQ_INSERT_TAIL(&added, wait, queue);
}

/* An end of a wait may come too late: ENOENT. */
static void command_done(void *context, uint64_t index, const struct twheel_command *command,
			 const struct twheel_result *result)
{
	static int last_error;
	const struct twheel_add_args *args = (const void *)(command + 1);
	struct wait *wait;

	if (_IOC_NR(command->cmd) != _IOC_NR(TWHEEL_IOC_ADD))
		return;
	wait = (struct wait *)(uintptr_t)args->cookie;
	if (result->error) {
		if (result->error != last_error)
			warnx("add of an operation: %s", strerror(-result->error));
		last_error = result->error;
		add_done(wait, WAIT_REFUSED);
		return;
	}
	/* An alarm may have ended in the main process. */
	if (wait->id == WAIT_ADDING)
		wait->id = result->value;
	if (!wait->deadline)
		add_done(wait, WAIT_ADDED);
}

int waiting_open(bool is_main)
{
	/* A new worker has inherited the state of the main process. */
	close_purgatory();
	TAILQ_INIT(&added);
	fd = twheel_open_named(config.purgatory, O_NONBLOCK);
	events_fd = is_main && fd >= 0 ? twheel_events(fd, 0, O_NONBLOCK) : fd;
	if (events_fd >= 0)
		batch = twheel_batch_new(fd, MAX_BATCH, 0);
	if (!batch)
		err(1, "the purgatory %s", config.purgatory);
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
		.condition = TWHEEL_COND_SUM,
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
		add_done(wait, WAIT_REFUSED);
}

void wait_alarm(struct wait *wait, uint64_t deadline)
{
	wait->deadline = deadline;
	if (!wait->id)
		wait_add(wait, &wait->key, 1, 1, deadline);
	else if (wait->id != WAIT_ADDING)
		twheel_batch_rearm(batch, wait->id, deadline, TWHEEL_REARM_ABSTIME);
}

void wait_repair(struct wait *wait)
{
	if (wait->id == WAIT_ADDING)
		wait->id = 0;
	wait_alarm(wait, wait->deadline);
}

void wait_complete(struct wait *wait)
{
	if (!wait->id || wait->id == WAIT_ADDING)
		return;
	twheel_batch_complete(batch, wait->id, 0);
	if (wait->deadline)
		wait->id = 0;
}

void wait_signal(enum wait_kind kind, int number, uint64_t amount)
{
	struct twheel_signal_args args = {
		.key = key_of((struct wait_key){ kind, number }), .amount = amount,
	};

	if (amount)
		twheel_batch_signal_with(batch, &args);
}

void waiting_submit(void)
{
	struct wait *wait;

	for (;;) {
		if (twheel_batch_submit(batch) < 0)
			warn("batch");
		if (TAILQ_EMPTY(&added))
			return;
		/* The functions may queue signals, and ends of waits. */
		while ((wait = TAILQ_FIRST(&added))) {
			TAILQ_REMOVE(&added, wait, queue);
			if (wait->end == WAIT_REFUSED)
				wait->id = 0;
			wait->fn(wait, wait->end);
		}
	}
}

void waiting_stop(void)
{
	if (twheel_complete_all(fd, 0, -ESHUTDOWN, 0, NULL))
		warn("end of all operations");
}

bool waiting_events(void)
{
	struct twheel_event events[MAX_EVENTS];
	ssize_t nr;
	int error;

	/* A full batch has been submitted: its adds are reported before their ends. */
	if (!TAILQ_EMPTY(&added))
		waiting_submit();
	nr = twheel_read_events(events_fd, events, MAX_EVENTS);
	error = errno;
	for (ssize_t i = 0; i < nr; i++) {
		const struct twheel_event *event = &events[i];
		struct wait *wait = (struct wait *)(uintptr_t)event->cookie;

		/* The alarm of a member that has left; its memory may have another one. */
		if (wait->id != event->id && wait->id != WAIT_ADDING)
			continue;
		wait->id = 0;
		wait->fn(wait, event->reason == TWHEEL_REASON_EXPIRED ? WAIT_EXPIRED :
									 WAIT_COMPLETED);
	}
	if (nr > 0 || (nr < 0 && (error == EAGAIN || error == EINTR)))
		return true;
	warnx("the purgatory has been removed");
	return false;
}
