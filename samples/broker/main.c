// SPDX-License-Identifier: GPL-2.0
/*
 * broker: serves clients of Kafka. The requests that wait are operations of a purgatory.
 *
 * The main process starts the workers and the replicators, and replaces those that are killed.
 * It waits for signals, and for alarms: these must not end with a worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group.h"
#include "process.h"

/*
 * The successor of a child pauses first, so that one that cannot start does not use all CPUs. A
 * replicator connects to its leader again in this way.
 */
#define RESTART_PAUSE_US	100000

/* The workers, then a replicator for each node that leads partitions of this one. */
static struct child {
	pid_t pid;
	const struct node *leader;	/* of a replicator */
	bool restarts;
	int how;			/* the last one has ended */
} children[MAX_WORKERS + MAX_NODES];

#define for_each_child(child) \
	for (struct child *child = children; child < children + MAX_WORKERS + MAX_NODES; child++)

/* After an error, the broker stops. */
static int status;

static void start(struct child *child)
{
	char name[16] = "broker/copy";
	pid_t parent = getpid();
	sigset_t none;

	child->pid = fork();
	if (child->pid < 0) {
		perror("broker: fork");
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
	if (child->restarts)
		usleep(RESTART_PAUSE_US);
	if (!child->leader)
		exit(worker_main());
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	exit(replicator_main(child->leader));
}

static void child_ended(struct child *child, int how)
{
	if (WIFSIGNALED(how)) {
		fprintf(stderr, "broker %d: %s %d was killed by signal %d\n", config.self->id,
			child->leader ? "replicator" : "worker", child->pid, WTERMSIG(how));
		/* It may have held a lock and lost its signals. Its own operations are gone. */
		partitions_repair();
		groups_repair(child->pid);
	} else if (!child->leader) {
		status = 1;
	} else if (how && !child->how) {
		fprintf(stderr, "broker %d: cannot copy from broker %d\n", config.self->id,
			child->leader->id);
	}
	child->how = how;
	child->pid = 0;
	child->restarts = true;
	if (!status)
		start(child);
}

/* Start the children, and wait for signals and alarms. */
static void serve(int signals, int waits)
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

/* Read the options. Return: path of the configuration, or NULL. */
static const char *parse(int argc, char **argv, const char **node)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "node", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *path = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'c')
			path = optarg;
		else if (option == 'n')
			*node = optarg;
		else
			break;
	}
	if (path && option < 0 && optind == argc)
		return path;
	fputs("usage: broker --config FILE [--node ID]\n"
	      "\n"
	      "Serve clients of Kafka until SIGTERM or SIGINT.\n"
	      "\n"
	      "  --config FILE  brokers and topics, in JSON; the same file for all brokers\n"
	      "  --node ID      the broker to run; default: the first one\n"
	      "  --help\n", option == 'h' ? stdout : stderr);
	exit(option == 'h' ? fflush(stdout) != 0 : 2);
}

/* Create the data folder. The workers keep its lock until the last one has exited. */
static bool lock_data(void)
{
	int fd = -1;

	if (!mkdir(config.self->data, 0777) || errno == EEXIST)
		fd = open(config.self->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return true;
	fprintf(stderr, "broker: %s: %s\n", config.self->data,
		errno == EWOULDBLOCK ? "another broker uses this folder" : strerror(errno));
	return false;
}

int main(int argc, char **argv)
{
	const char *node = NULL, *path = parse(argc, argv, &node);
	int signals, waits;
	sigset_t mask;

	if (!config_load(path, node) || !lock_data() || !partitions_create() ||
	    !groups_create() || !waiting_create())
		return 1;
	/* The reader of the messages may end first. */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	waits = waiting_open(true);
	if (signals < 0 || waits < 0)
		return 1;
	fprintf(stderr, "broker %d: listening on %s:%d with %d workers\n", config.self->id,
		config.self->host, config.self->port, config.workers);
	serve(signals, waits);
	waiting_remove();
	fprintf(stderr, "broker %d: stopped\n", config.self->id);
	return status;
}
