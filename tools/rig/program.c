// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

void program_start(unsigned int cpus, u64 seed)
{
	/* Failures are seen at once. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	rig_start(cpus, seed);
	expect(!rig_module_init("twheel"), "the module is not loaded");
}

int program_end(void)
{
	rig_module_exit("twheel");
	return rig_verdict();
}

unsigned long program_option(char **argv, const char *name, unsigned long value)
{
	size_t length = strlen(name);

	for (; *argv; argv++)
		if (!strncmp(*argv, name, length) && (*argv)[length] == '=')
			value = strtoul(*argv + length + 1, NULL, 0);
	return value;
}

void program_fail(const char *fmt, ...)
{
	va_list args;

	printf("FAILURE: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static void nothing(struct twheel_op *op)
{
}

const struct twheel_op_ops program_ops = { .ended = nothing, .release = nothing };

struct twheel_purgatory *program_purgatory(unsigned int max_pending)
{
	const struct twheel_purgatory_config config = {
		.name = "program", .max_pending = max_pending,
	};
	struct twheel_purgatory *purgatory = twheel_purgatory_create(&config);

	expect(!IS_ERR(purgatory), "twheel_purgatory_create");
	return purgatory;
}

int program_op_add(struct twheel_purgatory *purgatory, struct program_op *op, u64 deadline,
		   struct twheel_key key, unsigned int flags)
{
	const struct twheel_watch_spec spec = { .key = key };
	const struct twheel_op_args args = {
		.deadline = deadline, .condition = TWHEEL_COND_ANY, .flags = flags,
		.nr_keys = 1, .specs = &spec, .watches = &op->watch,
	};

	twheel_op_init(&op->op, &program_ops);
	return twheel_op_add(purgatory, &op->op, &args);
}

struct file *program_open(const char *name)
{
	struct file *file = rig_open(name, O_RDWR | O_NONBLOCK);

	expect(!IS_ERR(file), "cannot open %s", name);
	return file;
}

struct twheel_add_args program_add_args(u64 delay, const struct twheel_watch_spec *specs, u32 nr)
{
	return (struct twheel_add_args) {
		.deadline = delay, .nr_keys = nr,
		.keys = nr ? (uintptr_t)specs : 0,
		.key_size = nr ? sizeof(*specs) : 0,
		.condition = nr ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
	};
}

int program_create_name(struct file *control, const char *name)
{
	struct twheel_create_args args = {
		.mode = 0600, .uid = TWHEEL_CALLER, .gid = TWHEEL_CALLER
	};
	int fd;

	strscpy(args.name, name, sizeof(args.name));
	fd = rig_ioctl(control, TWHEEL_IOC_CREATE, &args);
	if (fd < 0)
		return fd;
	rig_close(rig_fd_take(fd));
	return 0;
}

int program_remove_name(struct file *control, const char *name)
{
	struct twheel_remove_args args = { };

	strscpy(args.name, name, sizeof(args.name));
	return rig_ioctl(control, TWHEEL_IOC_REMOVE, &args);
}
