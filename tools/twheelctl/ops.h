/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations of a script, by name.
 *
 * The parser enters each name as it meets it; the player fills in what became
 * of the operation. The position in the table is the operation's cookie.
 */
#ifndef TWHEELCTL_OPS_H
#define TWHEELCTL_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

/**
 * struct op - an operation of a script
 * @name: what the script calls it
 * @line: where the script adds it
 * @id: what the kernel calls it; 0 until it is added
 * @over: the event of its end has been read
 * @rounds: ended periods that no line has expected yet
 * @event: the last event about it
 */
struct op {
	char *name;
	unsigned int line;
	__u64 id;
	bool over;
	__u64 rounds;
	struct twheel_event event;
};

/* Operations are named by their position: @ops moves as the table grows. */
struct op_table {
	struct op *ops;
	size_t nr;
};

/* Return: the operation of that name, or NULL. */
struct op *find_op(const struct op_table *table, const char *name);

/* Enters a name that is not there yet. */
struct op *enter_op(struct op_table *table, const char *name, unsigned int line);

void free_ops(struct op_table *table);

#endif /* TWHEELCTL_OPS_H */
