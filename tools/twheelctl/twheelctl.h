/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of the commands of twheelctl. main.c dispatches to them, options.c
 * parses their options, trouble.c reports failures.
 */
#ifndef TWHEELCTL_H
#define TWHEELCTL_H

#include <stdbool.h>

#define TWHEELCTL_VERSION	"0.1"

/* How twheelctl exits; 'twheelctl help' documents it. */
enum outcome {
	OUTCOME_OK		= 0,
	OUTCOME_FAILED		= 1,	/* an expectation failed */
	OUTCOME_USAGE		= 2,	/* wrong arguments or a wrong line */
	OUTCOME_DEVICE		= 3,	/* failure of the device, or no memory */
	OUTCOME_EXPIRED		= 4,	/* the operation expired */
	OUTCOME_CANCELLED	= 5,	/* it was cancelled */
};

/**
 * struct command_line - arguments of a command
 * @command: its name
 * @argc: number of entries in @argv
 * @argv: its arguments, as for main()
 * @help: its help; a command sets this before take_options()
 * @purgatory: the named purgatory to work on, or NULL
 * @json: print JSON, one object a line
 * @nr: number of arguments that are not options; set by take_options()
 * @args: these arguments
 * @outcome: exit status if take_options() returns false
 */
struct command_line {
	const char *command;
	int argc;
	char **argv;
	const char *help;
	const char *purgatory;
	bool json;
	int nr;
	char **args;
	enum outcome outcome;
};

enum outcome add_command(struct command_line *line);
enum outcome cancel_command(struct command_line *line);
enum outcome complete_command(struct command_line *line);
enum outcome create_command(struct command_line *line);
enum outcome info_command(struct command_line *line);
enum outcome list_command(struct command_line *line);
enum outcome purgatory_command(struct command_line *line);
enum outcome rearm_command(struct command_line *line);
enum outcome remove_command(struct command_line *line);
enum outcome run_command(struct command_line *line);
enum outcome signal_command(struct command_line *line);
enum outcome top_command(struct command_line *line);
enum outcome watch_command(struct command_line *line);

/* These end the program when there is no memory. */
void *must_realloc(void *memory, unsigned long nr, unsigned long size);
char *must_strdup(const char *text);

#endif /* TWHEELCTL_H */
