// SPDX-License-Identifier: GPL-2.0
/*
 * A worker: runs one child after another, and kills half of them at a random time.
 *
 * A child that does not exit hangs in a call that no signal interrupts. The worker prints
 * the stacks of its threads and kills it; if that fails too, the run ends.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define PATIENCE	(150 * SEC)

/* Return: true if it exited before @end, with its @status. */
static bool wait_until(pid_t pid, int *status, __u64 end)
{
	struct pollfd ended = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	__u64 now = now_ns();
	bool done;

	if (ended.fd < 0)
		return false;
	done = now < end && poll(&ended, 1, (end - now) / MSEC) == 1;
	close(ended.fd);
	return done && waitpid(pid, status, WNOHANG) == pid;
}

static void tell_where(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "cd /proc/%d/task && head -n 30 */syscall */stack */wchan 2>&1", pid);
	fflush(stdout);
	if (system(command))
		printf("no stacks of process %d\n", pid);
}

static void judge_end(pid_t pid, int status, bool killed)
{
	if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		failed(NULL, "process %d ended with status %x", pid, status);
}

static void follow(pid_t pid, struct random *random)
{
	bool kills = random_below(random, 2);
	int status;

	if (kills) {
		usleep(random_below(random, CHILD_LIFE_MS * 1000));
		kill(pid, SIGKILL);
	}
	if (!wait_until(pid, &status, now_ns() + PATIENCE)) {
		failed(NULL, "process %d does not end", pid);
		tell_where(pid);
		kill(pid, SIGKILL);
		kills = true;
		if (!wait_until(pid, &status, now_ns() + PATIENCE))
			_exit(3);
	}
	judge_end(pid, status, kills);
}

/*
 * The children of half of the workers are in a separate time namespace. The kernel refuses
 * the offsets on a machine that has just booted.
 */
static void make_time_ns(unsigned int worker)
{
	static const char * const offsets[] = {
		"monotonic 500000 0\nboottime 1000000 0\n",
		"monotonic -2 0\nboottime -1 0\n",
	};
	const char *text = offsets[worker / 2 % ARRAY_SIZE(offsets)];
	int fd;

	if (!(worker & 1) || unshare(CLONE_NEWTIME))
		return;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		printf("twheel_fuzz: no time namespace: %s\n", strerror(errno));
	close(fd);
}

void run_worker(unsigned int worker)
{
	__u64 end = now_ns() + options.seconds * SEC;
	struct random random = { .state = options.seed ^ ~(__u64)worker };
	unsigned int nr;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	make_time_ns(worker);
	for (nr = 0; now_ns() < end; nr++) {
		pid_t pid = fork();

		if (!pid)
			run_child(worker, nr);
		if (pid > 0) {
			follow(pid, &random);
			child_ended(worker);
		}
	}
	_exit(0);
}
