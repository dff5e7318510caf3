/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the programs of the rig that use the module directly. */
#ifndef _RIG_PROGRAM_H
#define _RIG_PROGRAM_H

#include <linux/twheel.h>
#include <rig/fs.h>
#include <rig/time.h>

#include "rig.h"

/* Start the rig, and load the module. */
void program_start(unsigned int cpus, u64 seed);

/* Unload it. Return: the exit status of the program. */
int program_end(void);

/* Return: the number in an argument NAME=VALUE, or @value if there is none. */
unsigned long program_option(char **argv, const char *name, unsigned long value);

/* Report a failure, and exit. */
__noreturn void program_fail(const char *fmt, ...) __printf(1, 2);

#define expect(good, ...)						\
do {									\
	if (!(good))							\
		program_fail(__VA_ARGS__);				\
} while (0)

/* An operation that watches one key. Nothing happens at its end. */
struct program_op {
	struct twheel_op	op;
	struct twheel_watch	watch;
};

extern const struct twheel_op_ops program_ops;

struct twheel_purgatory *program_purgatory(unsigned int max_pending);
int program_op_add(struct twheel_purgatory *purgatory, struct program_op *op, u64 deadline,
		   struct twheel_key key, unsigned int flags);

/* The device; nonblocking */
struct file *program_open(const char *name);

/* Arguments of an add that one signal of any of its keys completes. */
struct twheel_add_args program_add_args(u64 delay, const struct twheel_watch_spec *specs, u32 nr);

/* Return: an error, or 0. @control is a file of the control node. */
int program_create_name(struct file *control, const char *name);
int program_remove_name(struct file *control, const char *name);

#endif /* _RIG_PROGRAM_H */
