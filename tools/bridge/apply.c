// SPDX-License-Identifier: GPL-2.0
/*
 * The loop of the bridge: take signals, apply them, check the consumers.
 *
 * A signal and the step of the position are adjacent commands of a batch. SIGKILL stops a batch
 * between two commands, so at most one signal is applied and not stepped over. SIGTERM is noticed
 * between two batches.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "../twheelctl/units.h"
#include "bridge.h"

#define NR_SIGNALS	64		/* in a batch */
#define WAIT		100		/* ms */
#define METRICS_PERIOD	NSEC_PER_SEC

static struct {
	struct twheel_command head;
	struct twheel_signal_args signal;
} commands[2 * NR_SIGNALS];
static unsigned int nr_commands;
static uint32_t touched;	/* a bit for each subject of the batch */
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void put(const struct twheel_signal_args *args)
{
	commands[nr_commands].head.cmd = TWHEEL_IOC_SIGNAL;
	commands[nr_commands++].signal = *args;
}

static bool is_position(const struct bridge *bridge, const struct twheel_key *key)
{
	for (int i = 0; i < bridge->nr_subjects; i++)
		if (!memcmp(key, &bridge->subjects[i].key, sizeof(*key)))
			return true;
	return false;
}

/* A signal that cannot be applied is stepped over. */
static void put_signal(struct bridge *bridge, struct subject *subject, natsMsg *message,
		       uint64_t sequence, uint64_t sent)
{
	uint64_t now = real_time(), age = now > sent ? now - sent : 0;
	static uint64_t said;
	struct twheel_signal_args args;

	if (!parse_signal(natsMsg_GetData(message), natsMsg_GetDataLength(message), &args) ||
	    is_position(bridge, &args.key)) {
		subject->wrong++;
		note(&said, "signal %llu of %s is wrong", (unsigned long long)sequence,
		     subject->name);
	} else if (age > bridge->max_age) {
		subject->skipped++;
	} else {
		put(&args);
		subject->applied++;
		subject->late = age;
	}
	args = (struct twheel_signal_args) {
		.key = subject->key,
		.amount = sequence - subject->position,
	};
	put(&args);
	subject->position = sequence;
	touched |= 1U << (subject - bridge->subjects);
}

static void apply(struct bridge *bridge)
{
	static struct twheel_result results[2 * NR_SIGNALS];
	unsigned int at = 0;

	while (at < nr_commands) {
		unsigned int nr = nr_commands - at;
		int done = twheel_execute(bridge->fd, &commands[at].head,
					  nr * sizeof(commands[0]), results, nr,
					  TWHEEL_BATCH_STOP);

		if (done > 0 && results[done - 1].error)
			errno = -results[done - 1].error;
		if (done < 0 || results[done - 1].error)
			die(FAILED, "cannot signal %s: %s", bridge->purgatory, strerror(errno));
		at += done;
	}
	nr_commands = 0;
	for (int i = 0; i < bridge->nr_subjects; i++)
		if (touched & 1U << i)
			check_position(bridge, &bridge->subjects[i]);
	touched = 0;
}

/* Takes the next message into the batch. Return: false if there is none within @wait ms. */
static bool take(struct bridge *bridge, int wait)
{
	struct subject *subject;
	uint64_t sequence, sent;
	natsMsg *message;

	if (natsSubscription_NextMsg(&message, bridge->inbox, wait) != NATS_OK)
		return false;
	subject = take_signal(bridge, message, &sequence, &sent);
	if (subject) {
		put_signal(bridge, subject, message, sequence, sent);
		ask(bridge, subject);
	}
	natsMsg_Destroy(message);
	return true;
}

/* More than one bridge would apply each signal more than once. */
static void open_purgatory(struct bridge *bridge)
{
	bridge->fd = twheel_open_named(bridge->purgatory, O_RDWR | O_NONBLOCK);
	if (bridge->fd < 0)
		die(FAILED, "cannot open purgatory %s: %s", bridge->purgatory, strerror(errno));
	if (flock(bridge->fd, LOCK_EX | LOCK_NB))
		die(FAILED, "purgatory %s has another bridge", bridge->purgatory);
	find_positions(bridge);
}

static void open_inbox(struct bridge *bridge)
{
	char all[NAME_SIZE + 2];
	natsInbox *inbox;
	natsStatus status = natsInbox_Create(&inbox);

	if (status == NATS_OK) {
		snprintf(bridge->inbox_name, NAME_SIZE, "%s", inbox);
		snprintf(all, sizeof(all), "%s.*", inbox);
		natsInbox_Destroy(inbox);
		status = natsConnection_SubscribeSync(&bridge->inbox, bridge->connection, all);
	}
	if (status == NATS_OK)
		status = natsSubscription_SetPendingLimits(bridge->inbox, -1, -1);
	if (status != NATS_OK)
		die(FAILED, "cannot subscribe: %s", why(status));
}

int run_bridge(struct bridge *bridge)
{
	const struct sigaction action = { .sa_handler = stop };
	uint64_t written = 0, said = 0;

	if (!bridge->nr_subjects)
		die(USAGE, "the configuration has no subject");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	open_purgatory(bridge);
	connect_bridge(bridge, false);
	open_inbox(bridge);
	while (!stopped) {
		int nr = 1, wait = WAIT;

		renew_consumers(bridge);
		while (nr++ <= NR_SIGNALS && take(bridge, wait))
			wait = 0;
		apply(bridge);
		if (now_ns() - written < METRICS_PERIOD)
			continue;
		written = now_ns();
		if (!write_metrics(bridge))
			note(&said, "cannot write the metrics: %s", strerror(errno));
	}
	write_metrics(bridge);
	return 0;
}
