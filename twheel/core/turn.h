/* SPDX-License-Identifier: GPL-2.0 */
/* Threads of reapers, and the turns of their shards. See turn.c. */
#ifndef _TWHEEL_CORE_TURN_H
#define _TWHEEL_CORE_TURN_H

#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct twheel_shard;
struct work_struct;

/**
 * struct twheel_share - an owner of shards, on one reaper
 * @work: queued while @shards or @unchecked have any; a turn
 * @reaper: the reaper
 * @nr_shards: number of its shards
 * @shards: its shards with work, next one first
 * @watchers: its shards with timers that a change of the clock cancels
 * @unchecked: those of @watchers that have not had a turn since a change
 * @watching: in @watching or @unchecked of the reaper, unless @watchers and @unchecked are empty
 *
 * Protected by the lock of the reaper.
 */
struct twheel_share {
	struct kthread_work	work;
	struct twheel_reaper	*reaper;
	unsigned int		nr_shards;
	struct list_head	shards;
	struct list_head	watchers;
	struct list_head	unchecked;
	struct list_head	watching;
};

/**
 * struct twheel_reaper - a thread that serves shards
 * @lock: protects the lists, and those of its owners; only that of @worker is taken within
 * @worker: its works are owners with shards that have work; without a thread until a CPU with
 *	shards of this reaper first comes online
 * @watching: owners with watchers
 * @unchecked: those whose watchers have to be checked after a change of the clock
 * @check: the work that does so
 * @serving: the shard whose turn it is, or NULL
 * @share: the owner of all shards that have no other
 */
struct twheel_reaper {
	raw_spinlock_t		lock;	/* of the turns */
	struct kthread_worker	worker;
	struct list_head	watching;
	struct list_head	unchecked;
	struct kthread_work	check;
	struct twheel_shard	*serving;
	struct twheel_share	share;
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

static inline bool twheel_reaper_is_current(const struct twheel_reaper *reaper)
{
	return READ_ONCE(reaper->worker.task) == current;
}

int __init twheel_reapers_init(void);
void twheel_reapers_exit(void);
struct twheel_reapers *twheel_reapers_create(const char *name, unsigned int nr, bool per_cpu);
void twheel_reapers_destroy(struct twheel_reapers *reapers);
void twheel_share_init(struct twheel_share *share, struct twheel_reaper *reaper);

void twheel_turn_ask(struct twheel_shard *shard);
void twheel_turn_watch(struct twheel_shard *shard, bool watch);
void twheel_turns_check(struct work_struct *work);
void twheel_turn_begin(struct twheel_shard *shard);
void twheel_turn_end(struct twheel_shard *shard);

int twheel_reaper(void *worker);

#endif /* _TWHEEL_CORE_TURN_H */
