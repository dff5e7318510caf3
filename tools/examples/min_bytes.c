// SPDX-License-Identifier: GPL-2.0
/* A reader of a log waits until the log has 1000 bytes, or for a minute. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <twheel.h>

static atomic_ullong log_end;
static struct twheel_key log_key;
static int fd;

/* First the data, then the signal: a reader that misses the signal sees the data. */
static void append(uint64_t bytes)
{
	struct twheel_signal_args args = { .key = log_key, .amount = bytes };

	atomic_fetch_add(&log_end, bytes);
	if (twheel_signal_with(fd, &args))
		perror("twheel_signal_with");
}

static void *writer(void *unused)
{
	for (int i = 0; i < 5; i++)
		append(300);
	return unused;
}

/* Waits for @missing more bytes; returns early if the log is not at @end any more. */
static int wait_from(uint64_t end, uint64_t missing, uint64_t deadline)
{
	struct twheel_watch_spec key = { .key = log_key };
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_MONOTONIC,
		.condition = TWHEEL_COND_SUM,
		.nr_keys = 1,
		.keys = (uintptr_t)&key,
		.threshold = missing,
		.deadline = deadline,
	};
	struct twheel_event event;

	if (twheel_add(fd, &args))
		return -1;
	/* Signals before the add are lost. ENOENT: the operation has ended anyway. */
	if (atomic_load(&log_end) != end && twheel_complete(fd, args.id, 0) && errno != ENOENT)
		return -1;
	if (twheel_read_events(fd, &event, 1) != 1)
		return -1;
	errno = ETIMEDOUT;
	return event.reason == TWHEEL_REASON_COMPLETED ? 0 : -1;
}

static int wait_for(uint64_t bytes)
{
	struct timespec now;
	uint64_t end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while ((end = atomic_load(&log_end)) < bytes) {
		if (wait_from(end, bytes - end, (now.tv_sec + 60) * 1000000000ULL))
			return -1;
	}
	return 0;
}

int main(void)
{
	pthread_t thread;

	fd = twheel_open(0);
	if (fd < 0 || twheel_key_text("log", &log_key) ||
	    pthread_create(&thread, NULL, writer, NULL) || wait_for(1000)) {
		perror("min_bytes");
		return 1;
	}
	printf("at least 1000 bytes: %s\n", atomic_load(&log_end) >= 1000 ? "yes" : "no");
	pthread_join(thread, NULL);
	return 0;
}
