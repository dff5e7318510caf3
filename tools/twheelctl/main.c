// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl: drives /dev/twheel from the command line.
 *
 * This file picks the command: run.c (a script of operations) or purgatory.c
 * (a workload).
 */
#include <stdio.h>
#include <string.h>

#include "twheelctl.h"

static const char usage[] =
"usage: twheelctl COMMAND [OPTION]...\n"
"\n"
"  run FILE|-      play a script of operations against one purgatory\n"
"  purgatory       run a workload of requests and check every ending\n"
"  help            print this\n"
"  --version       print the version\n"
"\n"
"'twheelctl COMMAND --help' tells more.\n"
"\n"
"Exit status: 0 all well; 1 something that was expected did not hold;\n"
"2 wrong arguments or a wrong line; 3 trouble with the device.\n";

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	/* Whoever reads our output through a pipe gets each line as it comes. */
	setvbuf(stdout, NULL, _IOLBF, 0);

	if (!strcmp(command, "run"))
		return run_command(argc - 1, argv + 1);
	if (!strcmp(command, "purgatory"))
		return purgatory_command(argc - 1, argv + 1);
	if (!strcmp(command, "help") || !strcmp(command, "--help") ||
	    !strcmp(command, "-h")) {
		fputs(usage, stdout);
		return OUTCOME_OK;
	}
	if (!strcmp(command, "--version")) {
		puts("twheelctl " TWHEELCTL_VERSION);
		return OUTCOME_OK;
	}

	if (*command)
		fprintf(stderr, "twheelctl: unknown command '%s'\n\n", command);
	fputs(usage, stderr);
	return OUTCOME_USAGE;
}
