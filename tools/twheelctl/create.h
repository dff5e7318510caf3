/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Creation of named purgatories, by arguments.
 */
#ifndef TWHEELCTL_CREATE_H
#define TWHEELCTL_CREATE_H

#include <stdbool.h>

#include <twheel.h>

#include "twheelctl.h"

/* Parses the arguments of 'twheelctl create'. Return: as take_options(). */
bool take_create(struct command_line *line, struct twheel_create_args *args);

/*
 * Creates a named purgatory, unless @may_exist and it does, and reports it.
 * Return: the outcome of the command.
 */
enum outcome create_purgatory(struct command_line *line, struct twheel_create_args *args,
			      bool may_exist);

#endif /* TWHEELCTL_CREATE_H */
