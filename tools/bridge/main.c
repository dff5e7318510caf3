// SPDX-License-Identifier: GPL-2.0
/*
 * twheel-bridge: the commands. See bridge.h.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "bridge.h"

#define FOLDER	"/etc/twheel/bridge.d"

struct bridge bridge = {
	.max_age = 600 * NSEC_PER_SEC,
	.duplicates = 120 * NSEC_PER_SEC,
	.replicas = 1,
	.batch = PTHREAD_MUTEX_INITIALIZER,
};

static const char usage[] =
"usage: twheel-bridge run [-c FILE] PURGATORY\n"
"       twheel-bridge setup [-c FILE] PURGATORY\n"
"       twheel-bridge publish [-c FILE] [--ids] PURGATORY SUBJECT\n"
"\n"
"run applies the signals of a NATS JetStream stream to a named purgatory. setup creates the\n"
"stream, or changes it. publish stores each line of standard input as a signal; with --ids,\n"
"a line starts with its message id. FILE is by default " FOLDER "/PURGATORY.conf.\n"
"\n"
"Exit status: 0 success; 1 a server or the purgatory cannot be used, or signals were not\n"
"stored; 2 invalid arguments or configuration. See twheel-bridge(1).\n";

void note(uint64_t *said, const char *format, ...)
{
	uint64_t now = now_ns();
	va_list args;

	if (*said && now - *said < 60 * NSEC_PER_SEC)
		return;
	*said = now;
	va_start(args, format);
	vwarnx(format, args);
	va_end(args);
}

static int run(void)
{
	pthread_t thread;
	uint64_t said = 0;
	sigset_t ends;

	if (!bridge.nr_subjects)
		errx(USAGE, "the configuration has no subject");
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	bridge.fd = twheel_open_named(bridge.purgatory, 0);
	if (bridge.fd < 0)
		err(FAILED, "cannot open purgatory %s", bridge.purgatory);
	/* A second bridge would apply each signal once more. */
	if (flock(bridge.fd, LOCK_EX | LOCK_NB))
		errx(FAILED, "purgatory %s has another bridge", bridge.purgatory);
	find_positions();
	connect_bridge(false);
	for (int i = 0; i < bridge.nr_subjects; i++)
		if (pthread_create(&thread, NULL, run_subject, &bridge.subjects[i]))
			errx(FAILED, "cannot create a thread");
	do {
		if (!write_metrics())
			note(&said, "cannot write %s: %s", bridge.metrics, strerror(errno));
	} while (sigtimedwait(&ends, NULL, &(struct timespec){ .tv_sec = 1 }) < 0);
	pthread_mutex_lock(&bridge.batch);
	write_metrics();
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' },
		{ "ids", no_argument, NULL, 'i' }, { }
	};
	char path[PATH_MAX], *file = NULL;
	bool ids = false, publishes;
	int code;

	while ((code = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		if (code == 'h')
			return fputs(usage, stdout) < 0;
		if (code == 'V')
			return puts("twheel-bridge " BRIDGE_VERSION) < 0;
		if (code == '?')
			return USAGE;
		if (code == 'c')
			file = optarg;
		ids |= code == 'i';
	}
	argc -= optind;
	argv += optind;
	publishes = argc == 3 && !strcmp(argv[0], "publish");
	if ((argc != 2 && !publishes) || strchr(argv[1], '/') || ids > publishes)
		errx(USAGE, "wrong arguments; try: twheel-bridge --help");
	bridge.purgatory = argv[1];
	snprintf(path, sizeof(path), FOLDER "/%s.conf", bridge.purgatory);
	read_config(file ?: path);
	signal(SIGPIPE, SIG_IGN);
	if (publishes)
		return publish(argv[2], ids);
	if (!strcmp(argv[0], "setup"))
		return setup();
	if (!strcmp(argv[0], "run"))
		return run();
	errx(USAGE, "wrong arguments; try: twheel-bridge --help");
}
