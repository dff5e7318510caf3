// SPDX-License-Identifier: GPL-2.0
/*
 * A job that is due in 50 ms, and due again each 50 ms until a worker has done it. The first
 * worker dies after it has read the event.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
#include <twheel.h>

#define MS	1000000ULL

/*
 * With a fixed delay, the next period starts when the event of the last one is queued; if that
 * event is not read within the period, when it is read.
 */
static int add_job(int fd, uint64_t job)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED | TWHEEL_ADD_FIXED_DELAY,
		.deadline = 50 * MS,
		.period = 50 * MS,
		.cookie = job,
	};

	return twheel_add(fd, &args);
}

/* Skips the last events of jobs that are done. */
static int read_job(int events, struct twheel_event *event)
{
	do {
		if (twheel_read_events(events, event, 1) != 1)
			return -1;
	} while (!(event->flags & TWHEEL_EVENT_MORE));
	return 0;
}

/* Another worker may have done the same job, so a failure is not an error. */
static void acknowledge(int fd, const struct twheel_event *event)
{
	if (twheel_complete(fd, event->id, 0))
		printf("job %llu was done by another worker, too\n", event->cookie);
}

static void worker(int fd, int events, int dies)
{
	struct twheel_event event;

	if (read_job(events, &event))
		_exit(1);
	if (dies)
		raise(SIGKILL);
	printf("job %llu is done\n", event.cookie);
	acknowledge(fd, &event);
	fflush(stdout);
	_exit(0);
}

/* Runs a worker to its end, and returns its wait status. */
static int run_worker(int fd, int events, int dies)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		worker(fd, events, dies);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	int fd = twheel_create("example-jobs", 0600);
	int events = fd < 0 ? -1 : twheel_events(fd, 0, 0);

	if (events < 0 || add_job(fd, 17)) {
		perror("at_least_once");
		return 1;
	}
	if (WIFSIGNALED(run_worker(fd, events, 1)))
		printf("the first worker has died\n");
	fflush(stdout);
	if (run_worker(fd, events, 0))
		return 1;
	return twheel_remove("example-jobs", TWHEEL_REMOVE_FORCE, NULL) != 0;
}
