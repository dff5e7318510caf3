/* SPDX-License-Identifier: GPL-2.0 */
/* Threads of reapers, and the turns of their shards. See turn.c. */
#ifndef _TWHEEL_CORE_TURN_H
#define _TWHEEL_CORE_TURN_H

#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct twheel_shard;
struct work_struct;

/**
 * struct twheel_share - an owner of shards, on one reaper
 * @shards: its shards with work, next one first
 * @watchers: its shards with timers that a change of the clock cancels
 * @unchecked: those of @watchers that have not had a turn since a change
 * @entry: in @shares of the reaper, unless @shards and @unchecked are empty
 * @watching: in @watching or @unchecked of the reaper, unless @watchers and @unchecked are empty
 *
 * Protected by the lock of the reaper.
 */
struct twheel_share {
	struct list_head	shards;
	struct list_head	watchers;
	struct list_head	unchecked;
	struct list_head	entry;
	struct list_head	watching;
};

/**
 * struct twheel_reaper - a thread that serves shards
 * @lock: protects the fields up to @share; innermost
 * @shares: owners with work, next one first
 * @watching: owners with watchers
 * @unchecked: those whose watchers have to be checked after a change of the clock
 * @check: there were such owners; also read without the lock
 * @serving: the shard whose turn it is, or NULL
 * @share: the owner of all shards that have no other
 * @served: woken when a turn has ended
 * @task: the thread; NULL until a CPU with shards of this reaper first comes online
 */
struct twheel_reaper {
	raw_spinlock_t		lock;	/* of the turns */
	struct list_head	shares;
	struct list_head	watching;
	struct list_head	unchecked;
	bool			check;
	struct twheel_shard	*serving;
	struct twheel_share	share;
	wait_queue_head_t	served;
	struct task_struct	*task;
};

/**
 * struct twheel_reapers - reapers for a group of wheels
 * @listed: entry in the list of all groups
 * @nr: number of reapers
 * @per_cpu: they follow the CPUs that come online
 * @name: of the threads
 * @reaper: the reapers
 */
struct twheel_reapers {
	struct list_head	listed;
	unsigned int		nr;
	bool			per_cpu;
	char			name[TASK_COMM_LEN];
	struct twheel_reaper	reaper[];
};

int __init twheel_reapers_init(void);
void twheel_reapers_exit(void);
struct twheel_reapers *twheel_reapers_create(const char *name, unsigned int nr, bool per_cpu);
void twheel_reapers_destroy(struct twheel_reapers *reapers);
void twheel_share_init(struct twheel_share *share);

void twheel_turn_ask(struct twheel_shard *shard);
void twheel_turn_watch(struct twheel_shard *shard, bool watch);
void twheel_turns_check(struct work_struct *work);
void twheel_turn_end(struct twheel_shard *shard);

int twheel_reaper(void *data);

#endif /* _TWHEEL_CORE_TURN_H */
