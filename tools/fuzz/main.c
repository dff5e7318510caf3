// SPDX-License-Identifier: GPL-2.0
/*
 * twheel_fuzz: makes valid, nearly valid and invalid calls of the device, from several
 * processes, threads and users at once, guided by the coverage of the module.
 *
 *   twheel_fuzz [seconds=60] [seed=n] [total=n] [pcs=file]
 *
 * Run it as root, in a virtual machine: it sets the realtime clock, and injects failures into
 * the kernel.  seed= repeats the random decisions of each thread, but not their timing; total=
 * is the number of PCs in the module, and pcs= names an output file for the reached PCs, as
 * offsets in its .text.
 *
 * The progress is printed every ten seconds. The last line starts with "twheel_fuzz:
 * SUCCESS:" or "twheel_fuzz: FAILURE:"; the failures are printed before it, each with its
 * preceding steps. Leaks are found by the kernel's log and rmmod.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

struct options options = { .seconds = 60, .cover = true };

static __u64 some_seed(void)
{
	__u64 seed = now_ns();
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, &seed, sizeof(seed)) < 0)
			seed = now_ns();
		close(fd);
	}
	return seed % 1000000000;
}

static void take_options(int argc, char **argv)
{
	int i;

	options.seed = some_seed();
	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "pcs=", 4))
			options.pcs = argv[i] + 4;
		else if (sscanf(argv[i], "seconds=%u", &options.seconds) != 1 &&
			 sscanf(argv[i], "seed=%llu", &options.seed) != 1 &&
			 sscanf(argv[i], "total=%lu", &options.total) != 1)
			break;
	}
	if (i == argc && options.seconds)
		return;
	fprintf(stderr, "usage: twheel_fuzz [seconds=] [seed=] [total=] [pcs=FILE]\n");
	exit(2);
}

/* For renumber() in files.c. */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int set_up(void)
{
	int fd;

	raise_fd_limit();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (share_init() || corpus_init() || files_init())
		return -1;
	/* Unprivileged children open both nodes, too. */
	chmod("/dev/twheel", 0666);
	chmod("/dev/twheel-control", 0666);
	fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror("/dev/twheel");
		return -1;
	}
	close(fd);
	cover_setup();
	hold_users();
	return 0;
}

static void progress(__u64 since)
{
	printf("twheel_fuzz: %llu s: %lu calls, %lu events, %lu PCs, %lu kept, %lu wrong\n",
	       (now_ns() - since) / SEC, nr_calls(), nr_events(), nr_pcs(), nr_kept(),
	       nr_failures());
	fflush(stdout);
}

/* Wait for the workers, and for processes left behind by their children. */
static void wait_for_all(__u64 since)
{
	__u64 next = since + 10 * SEC, worst = since + (options.seconds + 400) * SEC;
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return;
		if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3)
			failed(NULL, "cannot kill a process");
		if (pid > 0)
			continue;
		usleep(100000);
		if (now_ns() > next) {
			progress(since);
			next += 10 * SEC;
		}
		if (now_ns() > worst) {
			failed(NULL, "processes are left that do not exit");
			return;
		}
	}
}

static void close_mailboxes(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		close(mailbox(i)[0]);
		close(mailbox(i)[1]);
	}
}

static int verdict(void)
{
	unsigned long wrong = nr_failures();

	tell_counts();
	if (options.pcs && options.cover)
		write_pcs(options.pcs);
	if (wrong)
		printf("twheel_fuzz: FAILURE: %lu wrong; ", wrong);
	else
		printf("twheel_fuzz: SUCCESS: ");
	printf("%lu calls, %lu events, %lu of %lu PCs, %lu sequences kept, seed=%llu\n",
	       nr_calls(), nr_events(), nr_pcs(), options.total, nr_kept(), options.seed);
	return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	unsigned int i;
	__u64 since;

	take_options(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (set_up())
		return 2;
	printf("twheel_fuzz: seed=%llu, %u workers, %u s, %s\n", options.seed, NR_WORKERS,
	       options.seconds, options.cover ? "guided by KCOV" : "without KCOV");
	fflush(stdout);
	since = now_ns();
	for (i = 0; i < NR_WORKERS; i++) {
		if (!fork())
			run_worker(i);
	}
	wait_for_all(since);
	close_mailboxes();
	if (!end_names())
		failed(NULL, "named purgatories are left");
	check_quotas();
	return verdict();
}
