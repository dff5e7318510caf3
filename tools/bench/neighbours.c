// SPDX-License-Identifier: GPL-2.0
/*
 * Lateness of the operations of one user beside a large number of operations of another
 * user that are due at the same instant, on one CPU.
 *
 * The neighbour adds an operation of 50 ms every millisecond, from 50 ms before that
 * instant until all operations of the other user have expired. If that user has none, it
 * does so for half a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <twheel.h>
#include <unistd.h>

#include "bench.h"

/* Real user IDs. Each user has its own wheels. */
#define OTHER_USER	1001
#define MEASURED_USER	1002

#define DISTANCE	(50 * NSEC_PER_MSEC)
#define LEAST		450
#define MOST		65536
#define TOO_FAR		(300 * NSEC_PER_SEC)

static const struct contender neighbour = { .name = "twheel", .case_name = "50ms" };

struct round {
	int others;		/* file descriptors */
	int neighbour;
	unsigned int nr;	/* operations of the neighbour */
	uint64_t due;
};

/* Set the file-system user ID only, to keep the capabilities. */
static int set_uid(uid_t uid)
{
	syscall(SYS_setfsuid, uid);
	return (uid_t)syscall(SYS_setfsuid, uid) == uid ? 0 : -EPERM;
}

static int add_others(struct round *round, unsigned int pending)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME, .clock = CLOCK_MONOTONIC, .deadline = round->due,
	};
	struct twheel_batch *batch;
	int error = set_uid(OTHER_USER);

	if (error)
		return error;
	batch = twheel_batch_new(round->others, LARGE_BATCH, TWHEEL_BATCH_STOP);
	while (batch && pending-- && !error)
		error = twheel_batch_add(batch, &args);
	if (!batch || error || twheel_batch_submit(batch))
		error = -ENOSPC;
	twheel_batch_free(batch);
	return error;
}

static int add_measured(struct round *round)
{
	struct twheel_add_args args = { .deadline = DISTANCE };
	struct twheel_query_args others = { .pending = 1 };
	uint64_t next = round->due - DISTANCE;
	int error = set_uid(MEASURED_USER);

	sleep_until(next);
	while (!error && round->nr < MOST && (others.pending || round->nr < LEAST)) {
		if (twheel_add(round->neighbour, &args))
			return -errno;
		round->nr++;
		next += NSEC_PER_MSEC;
		sleep_until(next);
		if (twheel_query(round->others, &others))
			return -errno;
	}
	return error;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Read the events of the neighbour and sort their lateness. */
static int read_lateness(struct round *round, uint64_t *late)
{
	struct twheel_event event;
	unsigned int nr = 0;

	while (nr < round->nr) {
		if (twheel_read_events(round->neighbour, &event, 1) < 0)
			return -errno;
		if (event.time < event.deadline)
			failure("an operation expired early");
		late[nr++] = event.time - event.deadline;
	}
	qsort(late, nr, sizeof(*late), compare);
	return 0;
}

/* Run a round on open descriptors. Returns -EAGAIN if the adds took longer than @lead. */
static int run_round(struct round *round, unsigned int pending, uint64_t lead, uint64_t *late)
{
	int error;

	round->due = now_ns() + lead;
	error = add_others(round, pending);
	if (!error && now_ns() + DISTANCE > round->due)
		error = -EAGAIN;
	if (!error)
		error = add_measured(round);
	if (!error)
		error = read_lateness(round, late);
	return set_uid(0) ?: error;
}

static int open_round(struct round *round)
{
	memset(round, 0, sizeof(*round));
	round->others = twheel_open(O_NONBLOCK);
	round->neighbour = -1;
	if (round->others < 0)
		return -errno;
	round->neighbour = twheel_open(0);
	return round->neighbour < 0 ? -errno : 0;
}

static int repeat(unsigned int pending, uint64_t *late)
{
	static uint64_t lead = 2 * DISTANCE;
	struct round round;
	int error;

	do {
		error = open_round(&round);
		if (!error)
			error = run_round(&round, pending, lead, late);
		if (error == -EAGAIN)
			lead *= 2;
		if (round.others >= 0)
			close(round.others);
		if (round.neighbour >= 0)
			close(round.neighbour);
	} while (error == -EAGAIN && lead < TOO_FAR);
	if (error)
		return error;
	sample(&neighbour, "p50", pending, "us", late[round.nr / 2] / 1000.0);
	sample(&neighbour, "p99", pending, "us", late[round.nr * 99 / 100] / 1000.0);
	return 0;
}

void run_neighbours(const struct options *options)
{
	uint64_t *late = calloc(MOST, sizeof(*late));
	int error = late ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < options->repetitions && !error; i++) {
		error = repeat(0, late);
		if (!error)
			error = repeat(options->pending, late);
	}
	free(late);
	if (error)
		failure("neighbours: %s", strerror(-error));
}
