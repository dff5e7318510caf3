// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl: command line interface to /dev/twheel.
 *
 * This file has the table of commands; the other files implement them.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twheelctl.h"

/**
 * struct command_entry - a command of twheelctl
 * @name: name of the command
 * @summary: description for the list of commands; NULL for an alias of the entry above
 * @run: runs the command
 * @changes: it changes something, or takes events, and prints that
 * @environment: its purgatory is that of the environment by default. A command that creates or
 *	removes a purgatory must not take its name from there, and others print all purgatories
 */
struct command_entry {
	const char *name;
	const char *summary;
	enum outcome (*run)(struct command_line *line);
	bool changes;
	bool environment;
};

/* getopt_long() prints argv[0] in its error messages. */
#define PROGRAM	"twheelctl"

static enum outcome help_command(struct command_line *line);

static const struct command_entry commands[] = {
	{ "create", "create a named purgatory", create_command, true, false },
	{ "apply", "create the named purgatories of configuration files",
	  apply_command, true, false },
	{ "remove", "remove a named purgatory", remove_command, true, false },
	{ "list", "list the named purgatories; with -p NAME the pending operations",
	  list_command, false, true },
	{ "info", "describe an operation, or print the counts of a purgatory",
	  info_command, false, true },
	{ "top", "show a live view of a purgatory", top_command, false, true },
	{ "metrics", "print counts of purgatories and wheels for Prometheus",
	  metrics_command, false, false },
	{ "wheel", "show the wheels with the timers in their slots", wheel_command, false, false },
	{ "holders", "list everything that keeps the module loaded", holders_command, false, true },
	{ "add", "add an operation and wait until it ends", add_command, true, true },
	{ "signal", "signal a key", signal_command, true, true },
	{ "complete", "complete an operation, or all operations", complete_command, true, true },
	{ "cancel", "cancel an operation, or all that watch a key", cancel_command, true, true },
	{ "rearm", "move the deadline of an operation (alias: heartbeat)",
	  rearm_command, true, true },
	{ "heartbeat", NULL, rearm_command, true, true },
	{ "watch", "print the events of detached operations", watch_command, true, true },
	{ "drain", "refuse writers of a purgatory, and list the operations",
	  drain_command, true, true },
	{ "save", "print purgatories with their detached operations, for restore",
	  save_command, true, false },
	{ "restore", "add the operations that save has printed", restore_command, true, false },
	{ "help", "print this help, or the help of a command", help_command, false, false },
	{ }
};

static const char usage_bottom[] =
"\n"
"  -p, --purgatory NAME  use /dev/twheel-NAME; valid before and after the command;\n"
"                        the default is TWHEEL_PURGATORY in the environment\n"
"  --json                print JSON, one object per line\n"
"  --version             print the version\n"
"\n"
"A command can be shortened, as long as it is unique. See also 'twheelctl help COMMAND'\n"
"and twheelctl(1).\n"
"\n"
"Exit status: 0 success; 1 refused because of the state of a purgatory or an operation,\n"
"or the operation completed with an error; 2 invalid arguments; 3 no module, no\n"
"permission, no memory, or the output cannot be written; 4 the operation expired; 5 the\n"
"operation was cancelled.\n";

static void print_usage(void)
{
	puts("usage: twheelctl [-p NAME] COMMAND [OPTION]...\n");
	for (const struct command_entry *entry = commands; entry->name; entry++)
		if (entry->summary)
			printf("  %-9s  %s\n", entry->name, entry->summary);
	fputs(usage_bottom, stdout);
}

/* Return: a command by its name or a unique prefix; or NULL, which has been reported. */
static const struct command_entry *find_command(const char *name)
{
	const struct command_entry *found = NULL, *entry;
	const char *before = ": ";
	size_t len = strlen(name);
	int nr = 0;

	for (entry = commands; entry->name; entry++) {
		if (!strcmp(entry->name, name))
			return entry;
		if (!len || strncmp(entry->name, name, len))
			continue;
		found = entry;
		nr++;
	}
	if (nr == 1)
		return found;
	fprintf(stderr, "twheelctl: %s command '%s'", nr ? "ambiguous" : "unknown", name);
	for (entry = commands; nr && entry->name; entry++) {
		if (strncmp(entry->name, name, len))
			continue;
		fprintf(stderr, "%s%s", before, entry->name);
		before = ", ";
	}
	fputs("\n", stderr);
	try_help(NULL);
	return NULL;
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
			print_usage();
			return false;
		case 'v':
			puts("twheelctl " TWHEELCTL_VERSION);
			return false;
		default:
			line->outcome = try_help(NULL);
			return false;
		}
	}
	return true;
}

static enum outcome run_entry(const struct command_entry *entry, struct command_line *line,
			      char **argv)
{
	const char *environment = getenv("TWHEEL_PURGATORY");

	if (entry->changes) {
		/* A failed write is reported, together with the change. */
		signal(SIGPIPE, SIG_IGN);
		if (!output_writable())
			return OUTCOME_DEVICE;
	}
	line->command = entry->name;
	line->argv = argv;
	line->argv[0] = PROGRAM;
	line->environment = entry->environment && environment && *environment ? environment : NULL;
	return entry->run(line);
}

static const char help_help[] =
"usage: twheelctl help [COMMAND]\n"
"\n"
"Prints the list of commands, or the help of a command.\n";

static enum outcome help_command(struct command_line *line)
{
	const struct command_entry *entry;
	/* run_entry() overwrites argv[0]. */
	char help[] = { "--help" }, *argv[] = { help, help, NULL };

	if (!take_arguments(line, help_help, NULL, 0, 1))
		return line->outcome;
	if (!line->nr) {
		print_usage();
		return OUTCOME_OK;
	}
	entry = find_command(line->args[0]);
	if (!entry)
		return OUTCOME_USAGE;
	line->argc = 2;
	return run_entry(entry, line, argv);
}

static enum outcome run(int argc, char **argv)
{
	struct command_line line = { .argc = argc, .argv = argv };
	const struct command_entry *entry;

	line.argv[0] = PROGRAM;
	if (!take_main_options(&line))
		return line.outcome;
	if (optind == argc) {
		fputs("twheelctl: no command given\n", stderr);
		return try_help(NULL);
	}
	entry = find_command(argv[optind]);
	if (!entry)
		return OUTCOME_USAGE;
	line.argc = argc - optind;
	return run_entry(entry, &line, argv + optind);
}

int main(int argc, char **argv)
{
	enum outcome outcome;

	/* A write beyond the limit on the size of files fails, and is reported. */
	signal(SIGXFSZ, SIG_IGN);
	open_standard_files();
	outcome = run(argc, argv);
	return flush_output() ? outcome : OUTCOME_DEVICE;
}
