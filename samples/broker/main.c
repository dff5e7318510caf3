// SPDX-License-Identifier: GPL-2.0
/*
 * broker: serves clients of Kafka. The requests that wait are operations of a purgatory.
 *
 * The main process starts the workers and the replicators, and replaces those that are killed.
 * It waits for signals, and for the end of the leases of replicas: these must not end with a
 * worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
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
#include "partition.h"
#include "replicator.h"
#include "waiting.h"
#include "worker.h"

/* A worker is replaced after this time, so that one that cannot start does not use all CPUs. */
#define RESTART_PAUSE_NS	(100 * NS_PER_MS)

/* @leader is NULL for a worker; @pid is 0 until a killed child is replaced. */
struct child {
	pid_t pid;
	int number;
	const struct node *leader;
	struct wait pause;
};

static struct child children[MAX_WORKERS + MAX_NODES];
static int nr_children;
static char purgatory[64];
static int status;
static bool stopping;

static void print_usage(FILE *to)
{
	fputs("usage: broker --config FILE [--node ID] [--waiting twheel|heap] [--workers N]\n"
	      "\n"
	      "Serve clients of Kafka until SIGTERM or SIGINT.\n"
	      "\n"
	      "  --config FILE   brokers and topics, in JSON; the same file for all brokers\n"
	      "  --node ID       the broker to run; default: the first one\n"
	      "  --waiting twheel|heap\n"
	      "                  where requests wait: in a purgatory of all workers (default), or\n"
	      "                  in a heap of the only worker\n"
	      "  --workers N     number of processes, instead of that in the file\n"
	      "  --help\n", to);
}

static void stop_with_error(void)
{
	stopping = true;
	status = 1;
}

static void start(struct child *child)
{
	pid_t parent = getpid();
	sigset_t none;
	char name[16];

	child->pid = fork();
	if (child->pid < 0) {
		perror("broker: fork");
		child->pid = 0;
		stop_with_error();
	}
	if (child->pid || stopping)
		return;
	/* A killed broker leaves no process. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (!child->leader) {
		snprintf(name, sizeof(name), "broker/%d", child->number);
		prctl(PR_SET_NAME, name);
		exit(worker_main(purgatory));
	}
	prctl(PR_SET_NAME, "broker/copy");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	exit(replicator_main(child->leader, purgatory));
}

static void pause_ended(struct wait *wait, enum wait_end end)
{
	(void)end;
	start((struct child *)((char *)wait - offsetof(struct child, pause)));
}

static void add_child(int number, const struct node *leader)
{
	children[nr_children] = (struct child){
		.number = number,
		.leader = leader,
		.pause = { .fn = pause_ended },
	};
	start(&children[nr_children++]);
}

static bool follows_any(const struct node *leader)
{
	for (int i = 0; i < config.nr_topics; i++) {
		const struct topic *topic = &config.topics[i];

		if (topic->leader == leader->id && !leads(topic) &&
		    topic_replica(topic, config.self->id) >= 0)
			return true;
	}
	return false;
}

static void start_all(void)
{
	for (int i = 0; i < config.workers && !stopping; i++)
		add_child(i, NULL);
	for (int i = 0; i < config.nr_nodes && !stopping; i++) {
		if (follows_any(&config.nodes[i]))
			add_child(i, &config.nodes[i]);
	}
}

static void stop_all(void)
{
	for (int i = 0; i < nr_children; i++) {
		if (children[i].pid)
			kill(children[i].pid, SIGTERM);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

/* A killed child may have held a lock and lost its signals. Its own operations are gone. */
static void child_ended(struct child *child, int how)
{
	if (WIFSIGNALED(how)) {
		fprintf(stderr, "broker %d: %s %d (pid %d) was killed by signal %d\n",
			config.self->id, child->leader ? "replicator" : "worker", child->number,
			child->pid, WTERMSIG(how));
		partitions_repair();
		waiting->add(&child->pause, NULL, 0, 0, now_ns() + RESTART_PAUSE_NS);
	} else {
		stop_with_error();
	}
	child->pid = 0;
}

static void reap(void)
{
	pid_t pid;
	int how;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
		for (int i = 0; i < nr_children; i++) {
			if (children[i].pid == pid)
				child_ended(&children[i], how);
		}
	}
}

/* The main process waits for signals, for the leases of replicas and for pauses. */
static void serve(int signals, int waits)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = waits, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	while (!stopping) {
		waiting->submit();
		poll(fds, 2, waiting->ready() ? 0 : -1);
		if (read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGCHLD)
				reap();
			else
				stopping = true;
		}
		if (!waiting->events())
			stop_with_error();
	}
}

static bool number(const char *text, int *value)
{
	char *end;

	errno = 0;
	*value = strtol(text, &end, 10);
	return !errno && end != text && !*end && *value > 0;
}

/* Return: path of the configuration, or NULL. */
static const char *parse(int argc, char **argv, int *node, int *workers)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "node", required_argument, NULL, 'n' },
		{ "waiting", required_argument, NULL, 'p' },
		{ "workers", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *path = NULL;
	bool ok = true;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'h') {
			print_usage(stdout);
			exit(fflush(stdout) != 0);
		}
		if (option == 'c')
			path = optarg;
		else if (option == 'p' && !strcmp(optarg, "heap"))
			waiting = &waiting_heap;
		else if (option == 'n')
			ok &= number(optarg, node);
		else if (option == 'w')
			ok &= number(optarg, workers);
		else if (option != 'p' || strcmp(optarg, "twheel"))
			ok = false;
	}
	return ok && optind == argc ? path : NULL;
}

static bool configure(const char *path, int node, int workers)
{
	if (!config_load(path, node))
		return false;
	if (workers)
		config.workers = workers;
	if (config.workers < 1 || config.workers > MAX_WORKERS) {
		fprintf(stderr, "broker: the number of workers is not in the range of 1 to %d\n",
			MAX_WORKERS);
		return false;
	}
	if (waiting == &waiting_heap && config.workers > 1) {
		fprintf(stderr, "broker: a heap is for one worker only\n");
		return false;
	}
	snprintf(purgatory, sizeof(purgatory), "%s-%d", config.purgatory, config.self->id);
	return true;
}

/* Create the data folder.  The workers keep its lock until the last one has exited. */
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
	int node = 0, workers = 0, signals, waits;
	const char *path;
	sigset_t mask;

	waiting = &waiting_twheel;
	path = parse(argc, argv, &node, &workers);
	if (!path) {
		print_usage(stderr);
		return 2;
	}
	if (!configure(path, node, workers) || !lock_data() || !partitions_create())
		return 1;
	if (!waiting->create(purgatory))
		return 1;
	/* The reader of the messages may end first. */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	waits = waiting->open(purgatory);
	if (signals < 0 || waits < 0)
		return 1;
	if (waiting->is_shared)
		partitions_watch();
	fprintf(stderr, "broker %d: listening on %s:%d with %d workers\n", config.self->id,
		config.self->host, config.self->port, config.workers);
	start_all();
	serve(signals, waits);
	stop_all();
	waiting->remove(purgatory);
	fprintf(stderr, "broker %d: stopped\n", config.self->id);
	config_free();
	return status;
}
