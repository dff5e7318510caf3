// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that nothing is left of an input: no memory, no timer, no operation, file or name
 * that is charged to a user. A file is held for each user, since a user without files is
 * freed, with its accounting errors; but not for all inputs, since a premature free of a user
 * is not detected then. The levels of the system's wheels persist, and are counted; the
 * wheels of users are destroyed some seconds after their last operation, or immediately on
 * request.
 */
#include <rig/fs.h>

#include "core/twheel.h"
#include "dev/file.h"
#include "fuzz_state.h"
#include "rig.h"

#define MAX_USERS	4

static struct user_namespace of_user = { .parent = &init_user_ns };
static struct user_namespace of_root = { .parent = &init_user_ns };
static struct file *held[MAX_USERS];
static unsigned int nr_held;
static s64 allocated;

static s64 nr_levels(void)
{
	unsigned int clock, shard;
	s64 levels = 0;

	for (clock = 0; clock <= TWHEEL_CLOCK_REALTIME; clock++) {
		struct twheel *wheel = twheel_system_clock(clock);

		for (shard = 0; shard < wheel->nr_shards; shard++) {
			struct twheel_shard *at = twheel_shard(wheel, shard);
			unsigned long flags;

			spin_lock_irqsave(&at->lock, flags);
			if (!twheel_shard_is_wall(at))
				levels += at->queue.wheel.nr_levels;
			spin_unlock_irqrestore(&at->lock, flags);
		}
	}
	return levels;
}

static u64 nr_timers(void)
{
	struct twheel_stats stats;
	unsigned int clock;
	u64 timers = 0;

	for (clock = 0; clock <= TWHEEL_CLOCK_REALTIME; clock++) {
		twheel_get_stats(twheel_system_clock(clock), &stats);
		timers += stats.pending;
	}
	return timers;
}

static struct twheel_user *held_user(unsigned int i)
{
	return ((struct twheel_file *)held[i]->private_data)->user;
}

void fuzz_state_hold(const unsigned int *uids, unsigned int nr)
{
	for (nr_held = 0; nr_held < nr; nr_held++) {
		rig_uid = uids[nr_held];
		held[nr_held] = rig_open("/dev/twheel", O_RDWR);
		BUG_ON(IS_ERR(held[nr_held]));
	}
	rig_uid = 0;
	of_user.owner = KUIDT_INIT(uids[nr - 1]);
	if (!allocated)
		allocated = -nr_levels() + rig_allocated();
}

void fuzz_state_release(void)
{
	while (nr_held)
		rig_close(held[--nr_held]);
}

void fuzz_state_namespace(enum fuzz_namespace kind)
{
	rig_user_ns = kind == FUZZ_OF_USER ? &of_user : kind == FUZZ_OF_ROOT ? &of_root : NULL;
}

bool fuzz_state_left(char *text, size_t size)
{
	unsigned int i;
	s64 more;

	rig_works_hurry();
	more = -nr_levels() - allocated + rig_allocated();
	if (more) {
		scnprintf(text, size, "%lld allocations", more);
		return true;
	}
	if (nr_timers()) {
		scnprintf(text, size, "%llu timers", nr_timers());
		return true;
	}
	for (i = 0; i < nr_held; i++) {
		struct twheel_user *user = held_user(i);
		int files = atomic_read(&user->nr[TWHEEL_USER_FILES]) - 1;
		int ops = atomic_read(&user->nr[TWHEEL_USER_OPS]);
		int names = atomic_read(&user->nr[TWHEEL_USER_NAMES]);

		if (!files && !ops && !names && refcount_read(&user->ref) == 1)
			continue;
		scnprintf(text, size, "%d files, %d operations, %d names of user %u, %u references",
			  files, ops, names, user->key.uid.val, refcount_read(&user->ref) - 1);
		return true;
	}
	return false;
}
