// SPDX-License-Identifier: GPL-2.0
/*
 * twheel-bridge: the commands. See bridge.h.
 */
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../twheelctl/units.h"
#include "bridge.h"

#define FOLDER	"/etc/twheel/bridge.d"

static const char usage[] =
"usage: twheel-bridge run [-c FILE] PURGATORY\n"
"       twheel-bridge setup [-c FILE] PURGATORY [OPTION]... [SUBJECT]...\n"
"       twheel-bridge publish [-c FILE] PURGATORY [--ids] SUBJECT\n"
"\n"
"run applies the signals of a NATS JetStream stream to a named purgatory. setup creates the\n"
"stream, or changes it, with --age TIME, --duplicates TIME and --replicas NUMBER. publish stores\n"
"each line of standard input as a signal; with --ids, a line starts with its message id.\n"
"\n"
"  -c FILE    read FILE instead of " FOLDER "/PURGATORY.conf\n"
"  --version  print the version\n"
"\n"
"Exit status: 0 success; 1 a server or the purgatory cannot be used, or signals were not\n"
"stored; 2 invalid arguments or configuration. See twheel-bridge(1).\n";

void die(int status, const char *format, ...)
{
	va_list args;

	fputs("twheel-bridge: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

void note(uint64_t *said, const char *format, ...)
{
	uint64_t now = now_ns();
	va_list args;

	if (*said && now - *said < 60 * NSEC_PER_SEC)
		return;
	*said = now;
	fputs("twheel-bridge: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	static struct bridge bridge;
	const char *command = argc > 1 ? argv[1] : "", *file = NULL;
	char path[PATH_MAX];

	setvbuf(stderr, NULL, _IOLBF, 0);
	if (!strcmp(command, "--help") || !strcmp(command, "-h"))
		return fputs(usage, stdout) < 0;
	if (!strcmp(command, "--version"))
		return puts("twheel-bridge " BRIDGE_VERSION) < 0;
	argv += 2;
	argc -= 2;
	if (argc >= 2 && !strcmp(argv[0], "-c")) {
		file = argv[1];
		argv += 2;
		argc -= 2;
	}
	if (argc < 1 || *argv[0] == '-' || strchr(argv[0], '/'))
		die(USAGE, "wrong arguments; try: twheel-bridge --help");
	bridge.purgatory = argv[0];
	snprintf(path, sizeof(path), FOLDER "/%s.conf", bridge.purgatory);
	read_config(&bridge, file ? file : path);
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(command, "run") && argc == 1)
		return run_bridge(&bridge);
	if (!strcmp(command, "setup"))
		return setup(&bridge, argc, argv);
	if (!strcmp(command, "publish"))
		return publish(&bridge, argc, argv);
	die(USAGE, "wrong arguments; try: twheel-bridge --help");
}
