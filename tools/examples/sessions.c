// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions that end when their client is silent. Workers handle the ends, and are killed while they
 * do: no end is lost.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <twheel.h>
#include <unistd.h>

#define NAME		"example-sessions"
#define MS		1000000ULL
#define SESSIONS	2000
#define WORKERS		4
#define KILLS		20

/* Stands for a database: how often the end of each session was written. */
static unsigned int *ends;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A session belongs to the purgatory, not to the process that begins it. */
static uint64_t begin(int fd, uint64_t client, uint64_t timeout)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.deadline = timeout,
		.cookie = client,
	};

	if (twheel_add(fd, &args))
		die("add");
	return args.id;
}

/* Writes ends of sessions, in a process of its own, until it is killed. */
static pid_t start_worker(void)
{
	struct twheel_event events[16];
	pid_t pid = fork();
	int fd, queue;
	ssize_t nr;

	if (pid)
		return pid;
	fd = twheel_open_named(NAME, 0);
	queue = twheel_events(fd, 0, TWHEEL_EVENTS_CONFIRM);
	/* A read confirms the events of the one before. */
	while ((nr = twheel_read_events(queue, events, 16)) > 0) {
		for (ssize_t i = 0; i < nr; i++) {
			usleep(50);
			/* With TWHEEL_EVENT_AGAIN it may have been written before. */
			__atomic_fetch_add(&ends[events[i].cookie], 1, __ATOMIC_RELAXED);
		}
	}
	_exit(1);
}

static int is_handled(int fd)
{
	struct twheel_query_args query;

	if (twheel_query(fd, &query))
		die("query");
	return !query.pending && !query.detached_unread && !query.unconfirmed;
}

int main(void)
{
	unsigned int lost = 0, twice = 0;
	uint64_t ids[SESSIONS];
	pid_t workers[WORKERS];
	int fd = twheel_create(NAME, 0600), i;

	ends = mmap(NULL, SESSIONS * sizeof(*ends), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || ends == MAP_FAILED)
		die(NAME);
	for (i = 0; i < WORKERS; i++)
		workers[i] = start_worker();
	for (i = 0; i < SESSIONS; i++)
		ids[i] = begin(fd, i, 20 * MS);
	for (i = 0; i < KILLS; i++) {
		usleep(2000);
		/* Every fourth client is alive: a heartbeat moves its deadline. */
		for (int n = 0; n < SESSIONS; n += 4)
			twheel_rearm(fd, ids[n], 20 * MS, 0);
		kill(workers[i % WORKERS], SIGKILL);
		waitpid(workers[i % WORKERS], NULL, 0);
		workers[i % WORKERS] = start_worker();
	}
	while (!is_handled(fd))
		usleep(1000);
	for (i = 0; i < WORKERS; i++) {
		kill(workers[i], SIGKILL);
		waitpid(workers[i], NULL, 0);
	}
	for (i = 0; i < SESSIONS; i++) {
		lost += !ends[i];
		twice += ends[i] > 1;
	}
	printf("%u workers were killed, %u ends of sessions are lost, %s were written twice\n",
	       KILLS, lost, twice <= 16 * KILLS ? "few" : "too many");
	return twheel_remove(NAME, TWHEEL_REMOVE_FORCE, NULL) != 0;
}
