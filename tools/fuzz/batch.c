// SPDX-License-Identifier: GPL-2.0
/*
 * Batches: the same calls, as commands.  All keys of a batch are the same ones, in memory
 * that is there; it is the commands and the results that may be nowhere.
 */
#include <string.h>

#include "fuzz.h"

/* One command of a batch, whose calls may all have keys: the same, at @keys. */
static void build_command(struct thread *t, const struct view *view, __u64 keys,
			  struct twheel_command *command)
{
	struct trial trial = { .in_batch = true, .plain = true };

	memset(command, 0, sizeof(*command));
	command->call = one_in(t, 2) ? TWHEEL_CALL_ADD :
			1 + random_below(&t->detail, TWHEEL_CALL_CANCEL_KEY);
	trial.call = command->call;
	build_args(t, view, &trial, command->room);
	if (command->call == TWHEEL_CALL_ADD && command->add.nr_keys)
		command->add.keys = keys;
	if (command->call == TWHEEL_CALL_WATCH)
		command->watch.keys = keys;
	if (is_odd(t) && one_in(t, 8))
		build_odd(t, command->call, command->room, sizeof(command->room));
	if (is_odd(t) && one_in(t, 16)) {
		command->call = draw_wide(t);
		command->reserved = one_in(t, 2);
	}
	if (command->call == TWHEEL_CALL_ADD)
		command->add.cookie = new_cookie(marks_of(&command->add));
}

/* A batch of calls as build_call() makes them. */
void build_batch(struct thread *t, const struct view *view, struct trial *trial, void *room)
{
	static __thread struct twheel_command commands[TWHEEL_MAX_BATCH + 1];
	struct twheel_batch_args *args = room;
	struct twheel_watch_spec *keys = (void *)t->memory.out;
	unsigned int i, place;

	args->nr = one_in(t, 50) ? random_below(&t->detail, TWHEEL_MAX_BATCH + 2) :
		   1 + draw(t, MAX_COMMANDS);
	args->flags = draw(t, 2);
	for (i = 0; i < TWHEEL_MAX_KEYS; i++) {
		struct twheel_watch_spec spec = { .key = some_key(t) };

		keys[i] = spec;
	}
	for (i = 0; i < args->nr; i++)
		build_command(t, view, address(keys), &commands[i]);
	place = place_of(t, trial);
	args->commands = address(place_in(t, place, commands, args->nr * sizeof(commands[0])));
	if (!one_in(t, 6))
		args->results = address(t->memory.results);
	if (trial->plain && place_of(t, trial) != PLACE_PLAIN) {
		trial->plain = false;
		args->results = address(t->memory.shaky);
	}
}
