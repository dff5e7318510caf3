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

#include "config.h"
#include "group.h"
#include "partition.h"
#include "replicator.h"
#include "waiting.h"
#include "worker.h"

/*
 * A child is replaced after this time, so that one that cannot start does not use all CPUs. A
 * replicator connects to its leader again in this way.
 */
#define RESTART_PAUSE_NS	(100 * NS_PER_MS)

/* The workers, then a replicator for each node that leads partitions of this one. */
struct child {
	pid_t pid;		/* 0 during the pause */
	const struct node *leader;	/* of a replicator */
	struct wait pause;
	int how;		/* the last one has ended */
};

static struct child children[MAX_WORKERS + MAX_NODES];
static int status;
static bool stopping;

static const char usage[] =
	"usage: broker --config FILE [--node ID]\n"
	"\n"
	"Serve clients of Kafka until SIGTERM or SIGINT.\n"
	"\n"
	"  --config FILE  brokers and topics, in JSON; the same file for all brokers\n"
	"  --node ID      the broker to run; default: the first one\n"
	"  --help\n";

static void stop_with_error(void)
{
	stopping = true;
	status = 1;
}

static int child_main(const struct child *child)
{
	char name[16];
	sigset_t none;

	if (!child->leader) {
		snprintf(name, sizeof(name), "broker/%d", (int)(child - children));
		prctl(PR_SET_NAME, name);
		return worker_main();
	}
	prctl(PR_SET_NAME, "broker/copy");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return replicator_main(child->leader);
}

static void start(struct child *child)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		/* A killed broker leaves no process. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(getppid() == parent ? child_main(child) : 1);
	}
	child->pid = pid > 0 ? pid : 0;
	if (pid < 0) {
		perror("broker: fork");
		stop_with_error();
	}
}

static void pause_ended(struct wait *wait, enum wait_end end)
{
	start(container_of(wait, struct child, pause));
}

static void start_all(void)
{
	for (int i = 0; i < config.workers + config.nr_nodes && !stopping; i++) {
		struct child *child = &children[i];

		child->pause.fn = pause_ended;
		if (i >= config.workers)
			child->leader = &config.nodes[i - config.workers];
		if (!child->leader || replicator_follows(child->leader))
			start(child);
	}
}

static void stop_all(void)
{
	for (int i = 0; i < MAX_WORKERS + MAX_NODES; i++) {
		if (children[i].pid)
			kill(children[i].pid, SIGTERM);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
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
		stop_with_error();
	} else if (how && !child->how) {
		fprintf(stderr, "broker %d: cannot copy from broker %d\n", config.self->id,
			child->leader->id);
	}
	child->how = how;
	child->pid = 0;
	wait_alarm(&child->pause, (struct wait_key){ WAIT_RESTART, child - children },
		   now_ns() + RESTART_PAUSE_NS);
}

static void reap(void)
{
	pid_t pid;
	int how;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
		for (int i = 0; i < MAX_WORKERS + MAX_NODES; i++) {
			if (children[i].pid == pid)
				child_ended(&children[i], how);
		}
	}
}

/* The main process waits for signals and alarms. */
static void serve(int signals, int waits)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = waits, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	while (!stopping) {
		waiting_submit();
		poll(fds, 2, -1);
		if (read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGCHLD)
				reap();
			else
				stopping = true;
		}
		if (!waiting_events())
			stop_with_error();
	}
}

/* Return: path of the configuration, or NULL. */
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
		if (option == 'h') {
			fputs(usage, stdout);
			exit(fflush(stdout) != 0);
		}
		if (option == 'c')
			path = optarg;
		else if (option == 'n')
			*node = optarg;
		else
			return NULL;
	}
	return optind == argc ? path : NULL;
}

/* Create the data folder. The workers keep its lock until the last one has exited. */
static bool lock_data(void)
{
	int fd;

	if (mkdir(config.self->data, 0777) && errno != EEXIST) {
		perror(config.self->data);
		return false;
	}
	fd = open(config.self->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return true;
	fprintf(stderr, "broker: %s: %s\n", config.self->data,
		errno == EWOULDBLOCK ? "another broker uses this folder" : strerror(errno));
	return false;
}

int main(int argc, char **argv)
{
	const char *path, *node = NULL;
	int signals, waits;
	sigset_t mask;

	path = parse(argc, argv, &node);
	if (!path) {
		fputs(usage, stderr);
		return 2;
	}
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
	start_all();
	serve(signals, waits);
	stop_all();
	waiting_remove();
	fprintf(stderr, "broker %d: stopped\n", config.self->id);
	return status;
}
