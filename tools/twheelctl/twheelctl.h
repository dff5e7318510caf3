/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the commands of twheelctl. main.c dispatches to the commands,
 * options.c parses their options, failure.c reports failures.
 */
#ifndef TWHEELCTL_H
#define TWHEELCTL_H

#include <stdbool.h>

#include "outcome.h"

/**
 * struct command_line - arguments of a command
 * @command: name of the command
 * @argc: number of entries in @argv
 * @argv: arguments, as for main()
 * @help: help text; set by the command before take_options()
 * @purgatory: name of the purgatory, or NULL
 * @environment: default of @purgatory, or NULL; checked by take_options() if it is used
 * @json: print JSON, one object per line
 * @nr: number of non-option arguments; set by take_options()
 * @args: the non-option arguments; set by take_options()
 * @outcome: exit status if take_options() returns false
 */
struct command_line {
	const char *command;
	int argc;
	char **argv;
	const char *help;
	const char *purgatory;
	const char *environment;
	bool json;
	int nr;
	char **args;
	enum outcome outcome;
};

enum outcome add_command(struct command_line *line);
enum outcome apply_command(struct command_line *line);
enum outcome cancel_command(struct command_line *line);
enum outcome complete_command(struct command_line *line);
enum outcome create_command(struct command_line *line);
enum outcome drain_command(struct command_line *line);
enum outcome holders_command(struct command_line *line);
enum outcome info_command(struct command_line *line);
enum outcome list_command(struct command_line *line);
enum outcome metrics_command(struct command_line *line);
enum outcome wheel_command(struct command_line *line);
enum outcome rearm_command(struct command_line *line);
enum outcome remove_command(struct command_line *line);
enum outcome restore_command(struct command_line *line);
enum outcome save_command(struct command_line *line);
enum outcome signal_command(struct command_line *line);
enum outcome top_command(struct command_line *line);
enum outcome watch_command(struct command_line *line);

#endif /* TWHEELCTL_H */
