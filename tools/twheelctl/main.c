// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl: command line interface to /dev/twheel.
 *
 * This file has the table of commands; the other files implement them.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "output.h"

/**
 * struct command_entry - a command of twheelctl
 * @name: name of the command
 * @summary: description for the list of commands; NULL for an alias of the entry above
 * @run: runs the command
 */
struct command_entry {
	const char *name;
	const char *summary;
	enum outcome (*run)(struct command_line *line);
};

static const struct command_entry commands[] = {
	{ "create", "create a named purgatory", create_command },
	{ "remove", "remove a named purgatory", remove_command },
	{ "list", "list the named purgatories; with -p NAME the pending operations",
	  list_command },
	{ "info", "describe an operation, or print the counts of a purgatory", info_command },
	{ "top", "show a live view of a purgatory", top_command },
	{ "add", "add an operation and wait until it ends", add_command },
	{ "signal", "signal a key", signal_command },
	{ "complete", "complete an operation, or all operations", complete_command },
	{ "cancel", "cancel an operation, or all that watch a key", cancel_command },
	{ "rearm", "move the deadline of an operation (alias: heartbeat)", rearm_command },
	{ "heartbeat", NULL, rearm_command },
	{ "watch", "print the events of detached operations", watch_command },
	{ }
};

static const char usage_top[] =
"usage: twheelctl [-p NAME] COMMAND [OPTION]...\n"
"\n";

static const char usage_bottom[] =
"  help [COMMAND]  print this help, or the help of a command\n"
"\n"
"  -p, --purgatory NAME  use /dev/twheel-NAME; valid before and after the command;\n"
"                        the default is TWHEEL_PURGATORY in the environment\n"
"  --json                print JSON, one object per line\n"
"  --version             print the version\n"
"\n"
"See also 'twheelctl COMMAND --help' and twheelctl(1).\n"
"\n"
"Exit status: 0 success; 1 refused, see the help of the command, or the operation\n"
"completed with an error; 2 invalid arguments; 3 device failure, or the output\n"
"cannot be written; 4 the operation expired; 5 the operation was cancelled.\n";

static void print_usage(FILE *to)
{
	fputs(usage_top, to);
	for (const struct command_entry *entry = commands; entry->name; entry++)
		if (entry->summary)
			fprintf(to, "  %-14s  %s\n", entry->name, entry->summary);
	fputs(usage_bottom, to);
}

static const struct command_entry *find_command(const char *name)
{
	const struct command_entry *entry = commands;

	while (entry->name && strcmp(entry->name, name))
		entry++;
	return entry->name ? entry : NULL;
}

/* Parses the options before the command: the common options and --version. */
static bool take_main_options(struct command_line *line)
{
	static const struct option options[] = {
		{ "purgatory", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ }
	};
	int code;

	while ((code = getopt_long(line->argc, line->argv, "+p:h", options, NULL)) != -1) {
		switch (code) {
		case 'p':
			if (!take_purgatory(line, optarg))
				return false;
			break;
		case 'j':
			line->json = true;
			break;
		case 'h':
			print_usage(stdout);
			return false;
		case 'v':
			puts("twheelctl " TWHEELCTL_VERSION);
			return false;
		default:
			print_usage(stderr);
			line->outcome = OUTCOME_USAGE;
			return false;
		}
	}
	return true;
}

static enum outcome run_entry(const struct command_entry *entry, struct command_line *line,
			      char **argv)
{
	line->command = entry->name;
	line->argv = argv;
	/* getopt_long() prints argv[0] in its error messages. */
	line->argv[0] = "twheelctl";
	return entry->run(line);
}

static enum outcome unknown_command(const char *name)
{
	fprintf(stderr, "twheelctl: unknown command '%s'\n\n", name);
	print_usage(stderr);
	return OUTCOME_USAGE;
}

static enum outcome print_help(struct command_line *line, const char *name)
{
	const struct command_entry *entry = name ? find_command(name) : NULL;
	/* run_entry() overwrites argv[0]. */
	char help[] = { "--help" }, *argv[] = { help, help, NULL };

	if (entry) {
		line->argc = 2;
		return run_entry(entry, line, argv);
	}
	if (name)
		return unknown_command(name);
	print_usage(stdout);
	return OUTCOME_OK;
}

static enum outcome run(int argc, char **argv)
{
	struct command_line line = { .argc = argc, .argv = argv };
	const char *from_environment = getenv("TWHEEL_PURGATORY");
	const struct command_entry *entry;

	if (from_environment && *from_environment &&
	    !take_purgatory(&line, from_environment))
		return line.outcome;
	if (!take_main_options(&line))
		return line.outcome;
	if (optind == argc) {
		print_usage(stderr);
		return OUTCOME_USAGE;
	}
	if (!strcmp(argv[optind], "help"))
		return print_help(&line, argv[optind + 1]);

	entry = find_command(argv[optind]);
	if (!entry)
		return unknown_command(argv[optind]);
	line.argc = argc - optind;
	return run_entry(entry, &line, argv + optind);
}

int main(int argc, char **argv)
{
	open_standard_files();
	return end_output(run(argc, argv));
}
