// SPDX-License-Identifier: GPL-2.0
/* A service that is restarted while its operations are pending and one event is unread. */
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
#include <twheel.h>

#define NAME	"example-restart"
#define MS	1000000ULL

static int add(int fd, uint64_t cookie, uint64_t deadline)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.deadline = deadline,
		.cookie = cookie,
	};

	return twheel_add(fd, &args);
}

/* The first run of the service. Its second operation ends after its exit. */
static int first_run(void)
{
	int fd = twheel_open_named(NAME, 0);

	return fd < 0 || add(fd, 1, 3600000 * MS) || add(fd, 2, 100 * MS);
}

/* Identifies the pending operations by their cookies. */
static int find_pending(int fd)
{
	struct twheel_pending pending[16];
	uint64_t cursor = 0;
	int nr;

	do {
		nr = twheel_list(fd, TWHEEL_LIST_OTHERS, &cursor, pending, 16);
		for (int i = 0; i < nr; i++)
			printf("operation %llu is pending\n", pending[i].cookie);
	} while (nr >= 0 && cursor != TWHEEL_LIST_END);
	return nr < 0;
}

/* First the events, then the list: an operation that ends in between has an unread event. */
static int second_run(void)
{
	int fd = twheel_open_named(NAME, 0), events;
	struct twheel_event event;

	if (fd < 0)
		return 1;
	events = twheel_events(fd, 0, 0);
	if (events < 0 || twheel_read_events(events, &event, 1) != 1)
		return 1;
	printf("operation %llu has expired\n", event.cookie);
	return find_pending(fd);
}

static int run(int (*service)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		status = service();
		fflush(stdout);
		_exit(status);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	int fd = twheel_create(NAME, 0600), failed;

	if (fd < 0) {
		perror(NAME);
		return 1;
	}
	failed = run(first_run) || run(second_run);
	return twheel_remove(NAME, TWHEEL_REMOVE_FORCE, NULL) || failed;
}
