// SPDX-License-Identifier: GPL-2.0
/*
 * Several threads on one purgatory: one adds and signals, four handle the events. The kernel
 * delivers each event to one thread, so the threads need no lock.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <twheel.h>
#include <unistd.h>

#define WORKERS	4
#define OPS	1000

static int purgatory;
static atomic_int seen[OPS];	/* events of each operation */
static atomic_int completed, expired;
static sem_t handled;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void handle(const struct twheel_event *event)
{
	seen[event->cookie]++;
	if (event->reason == TWHEEL_REASON_COMPLETED)
		completed++;
	else if (event->reason == TWHEEL_REASON_EXPIRED)
		expired++;
	sem_post(&handled);
}

/* Ends when read returns 0: the purgatory has been drained. */
static void *worker(void *unused)
{
	struct twheel_event events[8];
	ssize_t i, nr;

	(void)unused;
	while ((nr = twheel_read_events(purgatory, events, 8)) > 0)
		for (i = 0; i < nr; i++)
			handle(&events[i]);
	if (nr < 0)
		die("read");
	return NULL;
}

static void add(unsigned int i)
{
	struct twheel_watch_spec watch = { .key = twheel_key_number(i) };
	struct twheel_add_args op = {
		.deadline = 20000000,
		.condition = TWHEEL_COND_ANY,
		.keys = (uintptr_t)&watch,
		.nr_keys = 1,
		.cookie = i,
	};

	if (i % 2)
		op.deadline = TWHEEL_NEVER;
	if (twheel_add(purgatory, &op))
		die("add");
}

int main(void)
{
	pthread_t threads[WORKERS];
	int i, wrong = 0;

	purgatory = twheel_open(0);
	if (purgatory < 0)
		die(TWHEEL_DEVICE);
	sem_init(&handled, 0, 0);
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			die("pthread_create");

	for (i = 0; i < OPS; i++)
		add(i);
	/* The operations with an even number expire. */
	for (i = 1; i < OPS; i += 2)
		if (twheel_signal(purgatory, twheel_key_number(i), i, NULL))
			die("signal");
	for (i = 0; i < OPS; i++)
		while (sem_wait(&handled))
			;

	if (twheel_drain(purgatory, NULL))
		die("drain");
	for (i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	close(purgatory);

	for (i = 0; i < OPS; i++)
		wrong += seen[i] != 1;
	printf("%d completed, %d expired\n", completed, expired);
	return wrong || completed != OPS / 2 || expired != OPS / 2;
}
