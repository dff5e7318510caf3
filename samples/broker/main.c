// SPDX-License-Identifier: GPL-2.0
/*
 * broker: serves clients of Kafka. The requests that wait are operations of a purgatory.
 *
 * The main process starts the workers and the replicators, and replaces those that are killed.
 * It waits for signals, and for alarms: these must not end with a worker.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "request.h"

/* The workers, then a replicator for each node that leads partitions of this one. */
static struct child {
	pid_t pid;
	const struct node *leader;	/* of a replicator */
	bool restarts;
	int how;			/* the last one has ended */
} children[MAX_WORKERS + MAX_NODES];

#define for_each_child(child) \
	for (struct child *child = children; child < children + MAX_WORKERS + MAX_NODES; child++)

static int signals;
/* After an error, the broker stops. */
static int status;

static void start(struct child *child)
{
	char name[16] = "broker/copy";
	pid_t parent = getpid();
	sigset_t none;

	child->pid = fork();
	if (child->pid < 0) {
		warn("fork");
		status = 1;
	}
	if (child->pid)
		return;
	/* A killed broker leaves no process. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(1);
	if (!child->leader)
		snprintf(name, sizeof(name), "broker/%d", (int)(child - children));
	prctl(PR_SET_NAME, name);
	/* One that cannot start does not use all CPUs. A replicator connects again in this way. */
	if (child->restarts)
		usleep(100000);
	if (!child->leader)
		exit(worker_main(signals));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	exit(replicator_main(child->leader));
}

static void child_ended(struct child *child, int how)
{
	if (WIFSIGNALED(how)) {
		warnx("%s %d was killed by signal %d", child->leader ? "replicator" : "worker",
		      child->pid, WTERMSIG(how));
		/* It may have held a lock and lost its signals. Its own operations are gone. */
		partitions_repair();
		groups_repair(child->pid);
	} else if (!child->leader) {
		status = 1;
	} else if (how && !child->how) {
		warnx("cannot copy from broker %d", child->leader->id);
	}
	child->how = how;
	child->pid = 0;
	child->restarts = true;
	if (!status)
		start(child);
}

static void serve(int waits)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = waits, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	bool stopping = false;
	pid_t pid;
	int how;

	for (int i = 0; i < config.workers + config.nr_nodes && !status; i++) {
		if (i >= config.workers)
			children[i].leader = &config.nodes[i - config.workers];
		if (i < config.workers || replicator_follows(children[i].leader))
			start(&children[i]);
	}
	while (!stopping && !status) {
		waiting_submit();
		poll(fds, 2, -1);
		if (read(signals, &info, sizeof(info)) == sizeof(info))
			stopping = info.ssi_signo != SIGCHLD;
		while (!stopping && !status && (pid = waitpid(-1, &how, WNOHANG)) > 0) {
			for_each_child(child) {
				if (child->pid == pid)
					child_ended(child, how);
			}
		}
		if (!waiting_events())
			status = 1;
	}
	for_each_child(child) {
		if (child->pid > 0)
			kill(child->pid, SIGTERM);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	static char name[32];
	int waits;
	sigset_t mask;

	if (argc < 2 || argc > 3 || argv[1][0] == '-') {
		fputs("usage: broker FILE [ID]\n", stderr);
		return 2;
	}
	/* A signal while the broker starts stops it cleanly. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	config_load(argv[1], argv[2]);
	/* The prefix of warn() and err(). */
	snprintf(name, sizeof(name), "broker %d", config.self->id);
	program_invocation_short_name = name;
	mkdir(config.self->data, 0777);
	partitions_create();
	groups_create();
	waiting_create();
	/* The reader of the messages may end first. */
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0)
		err(1, "signalfd");
	waits = waiting_open(true);
	warnx("listening on %s:%d with %d workers", config.self->host, config.self->port,
	      config.workers);
	serve(waits);
	waiting_remove();
	warnx("stopped");
	return status;
}
