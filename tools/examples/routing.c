// SPDX-License-Identifier: GPL-2.0
/* A service whose workers have a queue of events each, which outlives them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <twheel.h>
#include <unistd.h>

#define NAME	"example-routing"
#define HOUR	(3600 * 1000000000ULL)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_purgatory(void)
{
	int fd = twheel_open_named(NAME, 0);

	if (fd < 0)
		die(NAME);
	return fd;
}

/* The number of the worker is the number of its queue. */
static void wait_for(int fd, uint32_t worker, uint64_t order)
{
	struct twheel_watch_spec key = { .key = twheel_key_number(order) };
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.queue = worker,
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.keys = (uintptr_t)&key,
		.deadline = HOUR,
		.cookie = order,
	};

	if (twheel_add(fd, &args))
		die("add");
}

/* Handles the events in the queue of a worker. A worker would wait for more of them. */
static void handle_events(int fd, uint32_t worker, const char *reader)
{
	int events = twheel_events(fd, worker, O_NONBLOCK);
	struct twheel_event event;

	if (events < 0)
		die("events");
	while (twheel_read_events(events, &event, 1) == 1)
		printf("%s: order %llu of worker %u %s\n", reader, event.cookie, worker,
		       event.reason == TWHEEL_REASON_COMPLETED ? "is paid" : "has ended");
	close(events);
}

/* Worker 0 adds order 10, worker 1 the orders 11 to 13. Both crash before they are paid. */
static void first_run(uint32_t worker)
{
	int fd = open_purgatory();

	if (!worker)
		wait_for(fd, worker, 10);
	for (uint64_t order = 11; worker && order <= 13; order++)
		wait_for(fd, worker, order);
	abort();
}

static void second_run(uint32_t worker)
{
	handle_events(open_purgatory(), worker, "restarted");
}

static void run(void (*worker)(uint32_t worker), uint32_t number)
{
	pid_t pid = fork();

	if (!pid) {
		worker(number);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("worker");
}

/* Worker 1 will not come back. First the events, then the list, see restart.c. */
static void take_over(int fd, uint32_t worker)
{
	struct twheel_pending pending[16];
	uint64_t cursor = 0;

	handle_events(fd, worker, "supervisor");
	while (cursor != TWHEEL_LIST_END) {
		int nr = twheel_list(fd, TWHEEL_LIST_OTHERS, &cursor, pending, 16);

		if (nr < 0)
			die("list");
		for (int i = 0; i < nr; i++) {
			if (!(pending[i].flags & TWHEEL_PENDING_DETACHED) ||
			    pending[i].queue != worker)
				continue;
			printf("supervisor: order %llu of worker %u is pending\n",
			       pending[i].cookie, worker);
		}
	}
}

static void pay(int fd, uint64_t order)
{
	if (twheel_signal(fd, twheel_key_number(order), 0, NULL))
		die("signal");
}

int main(void)
{
	int fd = twheel_create(NAME, 0600);

	if (fd < 0)
		die(NAME);
	run(first_run, 0);
	run(first_run, 1);
	pay(fd, 10);
	pay(fd, 11);
	run(second_run, 0);
	run(second_run, 1);
	pay(fd, 12);
	take_over(fd, 1);
	pay(fd, 13);
	handle_events(fd, 1, "supervisor");
	close(fd);
	return twheel_remove(NAME, 0, NULL) != 0;
}
