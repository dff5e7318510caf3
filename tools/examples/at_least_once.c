// SPDX-License-Identifier: GPL-2.0
/* A job that is due in 50 ms. The first worker dies after it has read the event. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
#include <twheel.h>

#define MS	1000000ULL

static int add_job(int fd, uint64_t job)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.deadline = 50 * MS,
		.cookie = job,
	};

	return twheel_add(fd, &args);
}

/* The descriptor is the worker's own: whatever ends it gives back the events that it keeps. */
static void worker(int fd, int dies)
{
	int events = twheel_events(fd, 0, TWHEEL_EVENTS_CONFIRM);
	struct twheel_event event;

	if (events < 0 || twheel_read_events(events, &event, 1) != 1)
		_exit(1);
	if (dies)
		raise(SIGKILL);
	printf("job %llu is done%s\n", event.cookie,
	       event.flags & TWHEEL_EVENT_AGAIN ? ", perhaps again" : "");
	fflush(stdout);
	_exit(twheel_confirm(events, event.id) != 0);
}

/* Runs a worker to its end, and returns its wait status. */
static int run_worker(int fd, int dies)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		worker(fd, dies);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	int fd = twheel_create("example-jobs", 0600);

	if (fd < 0 || add_job(fd, 17)) {
		perror("at_least_once");
		return 1;
	}
	if (WIFSIGNALED(run_worker(fd, 1)))
		printf("the first worker has died\n");
	fflush(stdout);
	if (run_worker(fd, 0))
		return 1;
	return twheel_remove("example-jobs", TWHEEL_REMOVE_FORCE, NULL) != 0;
}
