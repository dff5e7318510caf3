/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of the operations of a script.
 *
 * The parser enters the names, the player the events. The index in the table is the
 * cookie of the operation.
 */
#ifndef TWHEEL_PLAY_OPS_H
#define TWHEEL_PLAY_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

/**
 * struct op - an operation of a script
 * @name: name in the script
 * @line: number of the line that adds it
 * @id: ID assigned by the kernel; 0 before the add
 * @over: its last event has been read
 * @rounds: ended periods not yet consumed by "expect NAME round"
 * @event: its most recent event
 */
struct op {
	char *name;
	unsigned int line;
	__u64 id;
	bool over;
	__u64 rounds;
	struct twheel_event event;
};

/* Refer to operations by index: @ops is reallocated as the table grows. */
struct op_table {
	struct op *ops;
	size_t nr;
};

/* Return: the operation of that name, or NULL. */
struct op *find_op(const struct op_table *table, const char *name);

/* Adds an operation. The name must not be in the table. */
struct op *enter_op(struct op_table *table, const char *name, unsigned int line);

void free_ops(struct op_table *table);

#endif /* TWHEEL_PLAY_OPS_H */
