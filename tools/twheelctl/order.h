/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arguments of 'twheelctl add'.
 */
#ifndef TWHEELCTL_ORDER_H
#define TWHEELCTL_ORDER_H

#include <twheel.h>

#include "keys.h"
#include "twheelctl.h"

/**
 * struct order - an operation to add
 * @args: arguments of the system call
 * @keys: keys that @args points to
 */
struct order {
	struct twheel_add_args args;
	struct watch_list keys;
};

/* Parses the arguments of 'twheelctl add'. Return: as take_options(). */
bool take_order(struct command_line *line, struct order *order);

/* For option_spec.take: the name of a clock, to a struct number. */
bool take_clock(const char *text, void *to);

/* Return: the name of a clock ID or an enum twheel_condition. */
const char *condition_name(__u32 condition);

#endif /* TWHEELCTL_ORDER_H */
