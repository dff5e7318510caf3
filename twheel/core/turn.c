// SPDX-License-Identifier: GPL-2.0
/*
 * Reapers: threads that serve shards in turn.
 *
 * A shard that has work asks for a turn, and gets one after another until its work is done. A
 * turn is bounded: it moves a chunk of nodes, and runs a chunk of callbacks (reaper.c). Owners have
 * turns one after another, and the shards of an owner share its turns:
 *
 *	reaper				shares			shards
 *	------				------			------
 *	system wheels, per CPU		one			one per clock
 *	users' wheels, per CPU		one per owner		one per clock, per id of the owner
 *	a private wheel, per shard	one			one
 *
 * A reaper is a kthread worker, and a share is a work of it: the work gives a turn to one shard,
 * and queues itself behind other owners if there are more. So N other owners with work delay an
 * owner by at most N + 1 turns, however much work they have. The number of threads depends on the
 * machine and on the private wheels of modules only.
 *
 * A CPU gets its reapers before it first comes online: until then no timer is on its shards. They
 * stay when it goes offline, since no thread is bound to a CPU.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"
#include "turn.h"

/*
 * All groups of reapers. Users multiply neither groups nor reapers. Threads are created with CPU
 * hotplug locked, or by a callback of it; the mutex is taken within.
 */
static LIST_HEAD(groups);
static DEFINE_MUTEX(groups_lock);

static bool share_has_work(const struct twheel_share *share)
{
	return !list_empty(&share->shards) || !list_empty(&share->unchecked);
}

/* Queue an owner that has work, after adding a shard, if any. */
static void share_ask(struct twheel_share *share, struct twheel_shard *shard)
{
	lockdep_assert_held(&share->reaper->lock);
	if (shard && !shard->ended && list_empty(&shard->turn))
		list_add_tail(&shard->turn, &share->shards);
	if (share_has_work(share))
		kthread_queue_work(&share->reaper->worker, &share->work);
}

/* The watchers of an owner have changed: enter or leave the list of the reaper. */
static void share_update(struct twheel_share *share)
{
	lockdep_assert_held(&share->reaper->lock);
	if (list_empty(&share->watchers) && list_empty(&share->unchecked))
		list_del_init(&share->watching);
	else if (list_empty(&share->watching))
		list_add_tail(&share->watching, &share->reaper->watching);
}

/* A shard of CLOCK_REALTIME begins or ends to notice changes of this clock. Any context. */
void twheel_turn_watch(struct twheel_shard *shard, bool watch)
{
	struct twheel_share *share = shard->share;
	unsigned long flags;

	raw_spin_lock_irqsave(&share->reaper->lock, flags);
	if (!watch)
		list_del_init(&shard->watch);
	else if (!shard->ended)
		list_add_tail(&shard->watch, &share->watchers);
	share_update(share);
	raw_spin_unlock_irqrestore(&share->reaper->lock, flags);
}

/* CLOCK_REALTIME was set: each shard that notices it gets a turn. May sleep. */
void twheel_turns_check(struct work_struct *work)
{
	struct twheel_reapers *group;
	struct twheel_reaper *reaper;
	unsigned int i;

	mutex_lock(&groups_lock);
	list_for_each_entry(group, &groups, listed) {
		for (i = 0; i < group->nr; i++) {
			reaper = &group->reaper[i];
			raw_spin_lock_irq(&reaper->lock);
			list_splice_tail_init(&reaper->watching, &reaper->unchecked);
			if (!list_empty(&reaper->unchecked))
				kthread_queue_work(&reaper->worker, &reaper->check);
			raw_spin_unlock_irq(&reaper->lock);
			cond_resched();
		}
	}
	mutex_unlock(&groups_lock);
}

/* After a change of the clock, let the watchers of the next owner have turns, in O(1). */
static void reaper_check_next(struct twheel_reaper *reaper)
{
	struct twheel_share *share;

	lockdep_assert_held(&reaper->lock);
	share = list_first_entry_or_null(&reaper->unchecked, struct twheel_share, watching);
	if (!share)
		return;
	list_move_tail(&share->watching, &reaper->watching);
	list_splice_tail_init(&share->watchers, &share->unchecked);
	share_ask(share, NULL);
}

/* This waits for the turns of owners with work, and each of them checks another owner. */
static void reaper_check(struct kthread_work *work)
{
	struct twheel_reaper *reaper = container_of(work, struct twheel_reaper, check);

	raw_spin_lock_irq(&reaper->lock);
	reaper_check_next(reaper);
	if (!list_empty(&reaper->unchecked))
		kthread_queue_work(&reaper->worker, &reaper->check);
	raw_spin_unlock_irq(&reaper->lock);
}

/* A shard has work. Any context. */
void twheel_turn_ask(struct twheel_shard *shard)
{
	struct twheel_share *share = shard->share;
	unsigned long flags;

	raw_spin_lock_irqsave(&share->reaper->lock, flags);
	share_ask(share, shard);
	raw_spin_unlock_irqrestore(&share->reaper->lock, flags);
}

/* A shard may ask for turns until twheel_turn_end(). */
void twheel_turn_begin(struct twheel_shard *shard)
{
	struct twheel_share *share = shard->share;

	raw_spin_lock_irq(&share->reaper->lock);
	share->nr_shards++;
	raw_spin_unlock_irq(&share->reaper->lock);
}

/*
 * A shard gets no more turns. Wait for its present one, and for no other, since they may take long;
 * but if another shard of the owner has asked during that turn, the wait includes it, and the turns
 * before it. The memory of the shard, and with the last one that of its owner, may be freed when
 * the alarm has been cancelled. May sleep; not called by the reaper.
 */
void twheel_turn_end(struct twheel_shard *shard)
{
	struct twheel_share *share = shard->share;
	bool wait;

	raw_spin_lock_irq(&share->reaper->lock);
	WRITE_ONCE(shard->ended, true);
	list_del_init(&shard->turn);
	list_del_init(&shard->watch);
	share_update(share);
	wait = !--share->nr_shards || share->reaper->serving == shard;
	raw_spin_unlock_irq(&share->reaper->lock);
	if (wait && !WARN_ON_ONCE(twheel_reaper_is_current(share->reaper)))
		kthread_flush_work(&share->work);
}

/* The next shard of an owner, or NULL. One turn is enough for all its reasons. */
static struct twheel_shard *share_next(struct twheel_share *share)
{
	struct twheel_shard *shard;

	lockdep_assert_held(&share->reaper->lock);
	shard = list_first_entry_or_null(&share->unchecked, struct twheel_shard, watch);
	if (shard) {
		list_move_tail(&shard->watch, &share->watchers);
		trace_twheel_clock_set(shard->number);
	} else {
		shard = list_first_entry_or_null(&share->shards, struct twheel_shard, turn);
	}
	if (shard)
		list_del_init(&shard->turn);
	return shard;
}

/* Whether a shard goes on without queueing. A hint, without locks. */
static bool share_is_alone(const struct twheel_share *share)
{
	return !share_has_work(share) && list_empty(&share->reaper->worker.work_list);
}

/* A turn of an owner. */
static void share_turn(struct kthread_work *work)
{
	struct twheel_share *share = container_of(work, struct twheel_share, work);
	struct twheel_reaper *reaper = share->reaper;
	struct twheel_shard *shard;
	bool more;

	raw_spin_lock_irq(&reaper->lock);
	reaper_check_next(reaper);
	shard = share_next(share);
	reaper->serving = shard;
	raw_spin_unlock_irq(&reaper->lock);
	if (!shard)
		return;
	do {
		more = twheel_shard_serve(shard);
		/* A reaper with enough work never sleeps, and RCU tasks waits for each thread. */
		cond_resched_tasks_rcu_qs();
	} while (more && share_is_alone(share) && !READ_ONCE(shard->ended));
	raw_spin_lock_irq(&reaper->lock);
	reaper->serving = NULL;
	share_ask(share, more ? shard : NULL);
	raw_spin_unlock_irq(&reaper->lock);
}

void twheel_share_init(struct twheel_share *share, struct twheel_reaper *reaper)
{
	kthread_init_work(&share->work, share_turn);
	share->reaper = reaper;
	share->nr_shards = 0;
	INIT_LIST_HEAD(&share->shards);
	INIT_LIST_HEAD(&share->watchers);
	INIT_LIST_HEAD(&share->unchecked);
	INIT_LIST_HEAD(&share->watching);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_share_init);

/* The thread of a reaper. A callback is known by the function of its thread. */
int twheel_reaper(void *worker)
{
	return kthread_worker_fn(worker);
}

/* Create the thread of a reaper, unless it has one. */
static int reaper_start(struct twheel_reapers *reapers, unsigned int number)
{
	struct twheel_reaper *reaper = &reapers->reaper[number];
	struct task_struct *task;

	if (reaper->worker.task)
		return 0;
	task = kthread_create(twheel_reaper, &reaper->worker, "%s/%u", reapers->name, number);
	/* -EAGAIN, if there are too many threads, would be misunderstood. */
	if (IS_ERR(task))
		return PTR_ERR(task) == -EINTR ? -EINTR : -ENOMEM;
	WRITE_ONCE(reaper->worker.task, task);
	wake_up_process(task);
	return 0;
}

/*
 * Create reapers, with the threads NAME/0 and so on: reapers or ERR_PTR(). With @per_cpu only those
 * of the CPUs that are online have a thread yet. May sleep.
 */
struct twheel_reapers *twheel_reapers_create(const char *name, unsigned int nr, bool per_cpu)
{
	struct twheel_reapers *reapers;
	struct twheel_reaper *reaper;
	unsigned int i;
	int err = 0;

	reapers = kvzalloc(struct_size(reapers, reaper, nr), GFP_KERNEL);
	if (!reapers)
		return ERR_PTR(-ENOMEM);
	reapers->nr = nr;
	reapers->per_cpu = per_cpu;
	strscpy(reapers->name, name, sizeof(reapers->name));
	for (i = 0; i < nr; i++) {
		reaper = &reapers->reaper[i];
		raw_spin_lock_init(&reaper->lock);
		kthread_init_worker(&reaper->worker);
		kthread_init_work(&reaper->check, reaper_check);
		INIT_LIST_HEAD(&reaper->watching);
		INIT_LIST_HEAD(&reaper->unchecked);
		twheel_share_init(&reaper->share, reaper);
	}
	/* No CPU comes online between its look-up and the entry in the list. */
	if (per_cpu)
		cpus_read_lock();
	for (i = 0; i < nr && !per_cpu; i++)
		err = err ?: reaper_start(reapers, i);
	if (per_cpu)
		for_each_online_cpu(i)
			err = err ?: reaper_start(reapers, i % nr);
	mutex_lock(&groups_lock);
	list_add_tail(&reapers->listed, &groups);
	mutex_unlock(&groups_lock);
	if (per_cpu)
		cpus_read_unlock();
	if (!err)
		return reapers;
	twheel_reapers_destroy(reapers);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_reapers_create);

/* A CPU is about to come online. Without memory for its reapers it does not, as for workqueues. */
static int reapers_prepare_cpu(unsigned int cpu)
{
	struct twheel_reapers *group;
	int err = 0;

	mutex_lock(&groups_lock);
	list_for_each_entry(group, &groups, listed)
		if (group->per_cpu)
			err = err ?: reaper_start(group, cpu % group->nr);
	mutex_unlock(&groups_lock);
	return err;
}

static enum cpuhp_state prepare_state;

int __init twheel_reapers_init(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "twheel:prepare",
					      reapers_prepare_cpu, NULL);

	if (state < 0)
		return state;
	prepare_state = state;
	return 0;
}

void twheel_reapers_exit(void)
{
	cpuhp_remove_state_nocalls(prepare_state);
}

/* Stop the threads. No shard uses them any more. */
void twheel_reapers_destroy(struct twheel_reapers *reapers)
{
	struct task_struct *task;
	unsigned int i;

	if (IS_ERR_OR_NULL(reapers))
		return;
	mutex_lock(&groups_lock);
	list_del(&reapers->listed);
	mutex_unlock(&groups_lock);
	for (i = 0; i < reapers->nr; i++) {
		task = reapers->reaper[i].worker.task;
		if (!task)
			continue;
		kthread_flush_worker(&reapers->reaper[i].worker);
		kthread_stop(task);
	}
	kvfree(reapers);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_reapers_destroy);
