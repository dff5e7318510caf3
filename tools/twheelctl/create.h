/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Creation of named purgatories, by arguments.
 */
#ifndef TWHEELCTL_CREATE_H
#define TWHEELCTL_CREATE_H

#include <stdbool.h>

#include <twheel.h>

#include "twheelctl.h"

/**
 * take_create() - parse the arguments of 'twheelctl create'
 * @line: the arguments
 * @args: set to the properties of the purgatory
 *
 * Return: as take_options().
 */
bool take_create(struct command_line *line, struct twheel_create_args *args);

/**
 * create_purgatory() - create a named purgatory and report it
 * @line: the command
 * @args: the properties, from take_create()
 * @may_exist: do nothing if a purgatory of that name exists
 *
 * Return: the outcome of the command.
 */
enum outcome create_purgatory(struct command_line *line, struct twheel_create_args *args,
			      bool may_exist);

#endif /* TWHEELCTL_CREATE_H */
