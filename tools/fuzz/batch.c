// SPDX-License-Identifier: GPL-2.0
/*
 * Batches of the same calls. All commands of a batch share one array of keys in plain
 * memory; only the commands and the results may be in other places.
 */
#include <string.h>

#include "fuzz.h"

/* Build a command of a batch; its keys, if any, are at @keys. */
static void build_command(struct thread *t, const struct view *view, __u64 keys,
			  struct twheel_command *command)
{
	struct trial trial = { .in_batch = true, .plain = true };

	memset(command, 0, sizeof(*command));
	command->call = TWHEEL_CALL_ADD;
	if (one_in(t, 2)) {
		do
			command->call = random_below(&t->detail, ARRAY_SIZE(twheel_calls));
		while (!twheel_calls[command->call].batch);
	}
	trial.call = command->call;
	build_args(t, view, &trial, command->pad);
	if (command->call == TWHEEL_CALL_ADD && command->add.nr_keys)
		command->add.keys = keys;
	if (command->call == TWHEEL_CALL_WATCH)
		command->watch.keys = keys;
	if (is_odd(t) && one_in(t, 8))
		build_odd(t, command->call, command->pad, sizeof(command->pad));
	if (is_odd(t) && one_in(t, 16)) {
		command->call = draw_wide(t);
		command->reserved = one_in(t, 2);
	}
	if (command->call == TWHEEL_CALL_ADD)
		command->add.cookie = new_cookie(marks_of(&command->add));
}

/* Build a batch of calls made by build_call(). */
void build_batch(struct thread *t, const struct view *view, struct trial *trial, void *buf)
{
	static __thread struct twheel_command commands[TWHEEL_MAX_BATCH + 1];
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
		build_command(t, view, address(keys), &commands[i]);
	args->command_size = some_stride(t, args->nr, sizeof(commands[0]));
	args->commands = address(lay_out(t, trial, commands, args->nr, sizeof(commands[0]),
					 args->command_size));
	if (!one_in(t, 6)) {
		args->results = address(t->memory.results);
		args->result_size = sizeof(struct twheel_result);
		if (args->nr <= MAX_COMMANDS)
			args->result_size = some_stride(t, args->nr, args->result_size);
		/* The kernel must write zeroes after its part of a result. */
		memset(t->memory.results, 0xa5, args->nr * args->result_size);
	}
	if (is_odd(t) && one_in(t, 4))
		args->command_size = bad_stride(t, sizeof(commands[0]));
	if (is_odd(t) && args->results && one_in(t, 4))
		args->result_size = bad_stride(t, sizeof(struct twheel_result));
	if (trial->plain && place_of(t, trial) != PLACE_PLAIN) {
		trial->plain = false;
		args->results = address(t->memory.shaky);
		args->result_size = sizeof(struct twheel_result);
	}
}
