// SPDX-License-Identifier: GPL-2.0
/*
 * Batches of the same calls. All commands of a batch share one array of keys in plain
 * memory; only the commands and the results may be in other places.
 */
#include <string.h>

#include "fuzz.h"

/* The longest command. */
#define MAX_COMMAND	(TWHEEL_COMMAND_SIZE(TWHEEL_IOC_ADD) + 32)

/* The size of the structure of a command, usually that of the call. */
static size_t odd_size(struct thread *t, unsigned int call, size_t size, char *args)
{
	size_t longer;

	if (!is_odd(t) || !one_in(t, 8))
		return size;
	if (one_in(t, 2))
		return random_below(&t->detail, row_of(call)->min_size);
	size = _IOC_SIZE(row_of(call)->request);
	longer = size + 1 + random_below(&t->detail, 24);
	args[size + random_below(&t->detail, longer - size)] = one_in(t, 2);
	return longer;
}

/* Build a command of a batch; its keys, if any, are at @keys. Return: its size. */
static size_t build_command(struct thread *t, const struct view *view, __u64 keys,
			    struct twheel_command *command)
{
	struct trial trial = { .call = TWHEEL_CALL_ADD, .in_batch = true, .plain = true };
	struct twheel_watch_args *watch = (void *)(command + 1);
	struct twheel_add_args *add = (void *)(command + 1);
	unsigned int call;
	size_t size;

	memset(command, 0, MAX_COMMAND);
	if (one_in(t, 2)) {
		do
			trial.call = random_below(&t->detail, ARRAY_SIZE(twheel_calls));
		while (!twheel_calls[trial.call].batch);
	}
	call = trial.call;
	size = _IOC_SIZE(row_of(call)->request);
	build_args(t, view, &trial, command + 1);
	if (call == TWHEEL_CALL_ADD && add->nr_keys)
		add->keys = keys;
	if (call == TWHEEL_CALL_WATCH)
		watch->keys = keys;
	if (is_odd(t) && one_in(t, 8))
		build_odd(t, call, command + 1, size);
	if (call == TWHEEL_CALL_ADD) {
		add->cookie = new_cookie(marks_of(add));
		size = size_of_add(t, add);
	}
	size = odd_size(t, call, size, (char *)(command + 1));
	command->cmd = _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_MAGIC, call, size);
	/* The next command has to be found. */
	if (is_odd(t) && one_in(t, 16)) {
		command->cmd = (draw_wide(t) & ~IOCSIZE_MASK) | size << _IOC_SIZESHIFT;
		command->reserved = one_in(t, 2);
	}
	return TWHEEL_COMMAND_SIZE(command->cmd);
}

/* Build a batch of calls made by build_call(). */
void build_batch(struct thread *t, const struct view *view, struct trial *trial, void *buf)
{
	static __thread char commands[(TWHEEL_MAX_BATCH + 1) * MAX_COMMAND];
	struct twheel_batch_args *args = buf;
	struct twheel_watch_spec *keys = (void *)t->memory.out;
	unsigned int i;

	args->nr = one_in(t, 50) ? random_below(&t->detail, TWHEEL_MAX_BATCH + 2) :
		   1 + draw(t, MAX_COMMANDS);
	args->flags = draw(t, 2);
	for (i = 0; i < TWHEEL_MAX_KEYS; i++) {
		struct twheel_watch_spec spec = { .key = some_key(t) };

		keys[i] = spec;
		make_distinct(keys, i);
	}
	for (i = 0; i < args->nr; i++)
		args->size += build_command(t, view, address(keys),
					    (void *)(commands + args->size));
	args->commands = address(lay_out(t, trial, commands, 1, args->size, args->size));
	if (!one_in(t, 6)) {
		args->results = address(t->memory.results);
		args->result_size = sizeof(struct twheel_result);
		if (args->nr <= MAX_COMMANDS)
			args->result_size = some_stride(t, args->nr, args->result_size);
		/* The kernel must write zeroes after its part of a result. */
		memset(t->memory.results, 0xa5, args->nr * args->result_size);
	}
	if (is_odd(t) && args->size && one_in(t, 4))
		args->size = random_below(&t->detail, args->size);
	if (is_odd(t) && args->results && one_in(t, 4))
		args->result_size = bad_stride(t, sizeof(struct twheel_result));
	if (trial->plain && place_of(t, trial) != PLACE_PLAIN) {
		trial->plain = false;
		args->results = address(t->memory.shaky);
		args->result_size = sizeof(struct twheel_result);
	}
}
