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
 * So N other owners with work delay an owner by at most N + 1 turns, however much work they have.
 * The number of threads depends on the machine and on the private wheels of modules only. A CPU
 * gets its reapers before it first comes online: until then no timer is on its shards. They stay
 * when it goes offline, since no thread is bound to a CPU.
 *
 * A shard asks with its lock held. The thread sets its state before it looks for a shard, so a
 * shard that asks then is not left waiting:
 *
 *	asking CPU			reaper
 *	----------			------
 *	lock				state = TASK_IDLE (full barrier)
 *	add the shard			lock
 *	unlock				no shard is there
 *	wake_up_process()		unlock
 *					schedule()
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
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "shard.h"
#include "turn.h"

/*
 * All groups of reapers. Users multiply neither groups nor reapers. Threads are created with CPU
 * hotplug locked, or by a callback of it; the mutex is taken within.
 */
static LIST_HEAD(groups);
static DEFINE_MUTEX(groups_lock);

void twheel_share_init(struct twheel_share *share)
{
	INIT_LIST_HEAD(&share->shards);
	INIT_LIST_HEAD(&share->watchers);
	INIT_LIST_HEAD(&share->unchecked);
	INIT_LIST_HEAD(&share->entry);
	INIT_LIST_HEAD(&share->watching);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_share_init);

/* The shards of an owner have changed: enter or leave the lists of the reaper. */
static void share_update(struct twheel_reaper *reaper, struct twheel_share *share)
{
	lockdep_assert_held(&reaper->lock);
	if (list_empty(&share->shards) && list_empty(&share->unchecked))
		list_del_init(&share->entry);
	else if (list_empty(&share->entry))
		list_add_tail(&share->entry, &reaper->shares);
	if (list_empty(&share->watchers) && list_empty(&share->unchecked))
		list_del_init(&share->watching);
	else if (list_empty(&share->watching))
		list_add_tail(&share->watching, &reaper->watching);
}

static void turn_queue(struct twheel_shard *shard)
{
	if (shard->ended || !list_empty(&shard->turn))
		return;
	list_add_tail(&shard->turn, &shard->share->shards);
	share_update(shard->reaper, shard->share);
}

/* A shard of CLOCK_REALTIME begins or ends to notice changes of this clock. Any context. */
void twheel_turn_watch(struct twheel_shard *shard, bool watch)
{
	struct twheel_reaper *reaper = shard->reaper;
	unsigned long flags;

	raw_spin_lock_irqsave(&reaper->lock, flags);
	if (!watch)
		list_del_init(&shard->watch);
	else if (!shard->ended)
		list_add_tail(&shard->watch, &shard->share->watchers);
	share_update(reaper, shard->share);
	raw_spin_unlock_irqrestore(&reaper->lock, flags);
}

/* CLOCK_REALTIME was set: each shard that notices it gets a turn. May sleep. */
void twheel_turns_check(struct work_struct *work)
{
	struct twheel_reapers *group;
	struct twheel_reaper *reaper;
	unsigned int i;
	bool check;

	mutex_lock(&groups_lock);
	list_for_each_entry(group, &groups, listed) {
		for (i = 0; i < group->nr; i++) {
			reaper = &group->reaper[i];
			raw_spin_lock_irq(&reaper->lock);
			list_splice_tail_init(&reaper->watching, &reaper->unchecked);
			check = !list_empty(&reaper->unchecked);
			WRITE_ONCE(reaper->check, check);
			raw_spin_unlock_irq(&reaper->lock);
			if (check)
				wake_up_process(reaper->task);
			cond_resched();
		}
	}
	mutex_unlock(&groups_lock);
}

/* A shard has work. Any context. */
void twheel_turn_ask(struct twheel_shard *shard)
{
	struct twheel_reaper *reaper = shard->reaper;
	unsigned long flags;

	raw_spin_lock_irqsave(&reaper->lock, flags);
	turn_queue(shard);
	raw_spin_unlock_irqrestore(&reaper->lock, flags);
	wake_up_process(reaper->task);
}

/* Whether another shard may have a turn. Without the lock: the reaper looks again later. */
static bool reaper_awaited(const struct twheel_reaper *reaper)
{
	return !list_empty(&reaper->shares) || READ_ONCE(reaper->check);
}

/*
 * A shard gets no more turns; wait for the present one. Its memory, and that of its owner, may
 * be freed when the alarm has been cancelled. May sleep.
 */
void twheel_turn_end(struct twheel_shard *shard)
{
	struct twheel_reaper *reaper = shard->reaper;

	raw_spin_lock_irq(&reaper->lock);
	WRITE_ONCE(shard->ended, true);
	list_del_init(&shard->turn);
	list_del_init(&shard->watch);
	share_update(reaper, shard->share);
	raw_spin_unlock_irq(&reaper->lock);
	/* Pairs with the release in reaper_served(). */
	wait_event(reaper->served, smp_load_acquire(&reaper->serving) != shard);
}

/* The next shard of an owner with work. */
static struct twheel_shard *share_next(struct twheel_share *share)
{
	struct twheel_shard *shard;

	shard = list_first_entry_or_null(&share->unchecked, struct twheel_shard, watch);
	if (shard)
		list_move_tail(&shard->watch, &share->watchers);
	else
		shard = list_first_entry(&share->shards, struct twheel_shard, turn);
	/* One turn is enough for both. */
	list_del_init(&shard->turn);
	share_update(shard->reaper, share);
	return shard;
}

/* The shard whose turn it is, or NULL. */
static struct twheel_shard *reaper_next(struct twheel_reaper *reaper)
{
	struct twheel_shard *shard = NULL;
	struct twheel_share *share;

	raw_spin_lock_irq(&reaper->lock);
	/* After a change of the clock, let the watchers of one owner have turns. */
	share = list_first_entry_or_null(&reaper->unchecked, struct twheel_share, watching);
	if (share) {
		list_move_tail(&share->watching, &reaper->watching);
		list_splice_tail_init(&share->watchers, &share->unchecked);
		share_update(reaper, share);
	}
	WRITE_ONCE(reaper->check, !list_empty(&reaper->unchecked));
	if (!list_empty(&reaper->shares)) {
		share = list_first_entry(&reaper->shares, struct twheel_share, entry);
		list_move_tail(&share->entry, &reaper->shares);
		shard = share_next(share);
		WRITE_ONCE(reaper->serving, shard);
	}
	raw_spin_unlock_irq(&reaper->lock);
	return shard;
}

/* The turn of a shard has ended. It is not used any more if it is not queued. */
static void reaper_served(struct twheel_reaper *reaper, struct twheel_shard *shard, bool more)
{
	raw_spin_lock_irq(&reaper->lock);
	if (more)
		turn_queue(shard);
	/* Pairs with the acquire in twheel_turn_end(). */
	smp_store_release(&reaper->serving, NULL);
	raw_spin_unlock_irq(&reaper->lock);
	/* A full barrier; pairs with that of wait_event(). */
	if (wq_has_sleeper(&reaper->served))
		wake_up_all(&reaper->served);
}

/* Sleep until a shard asks. Returns NULL if the thread has to stop. */
static struct twheel_shard *reaper_wait(struct twheel_reaper *reaper)
{
	struct twheel_shard *shard;

	for (;;) {
		set_current_state(TASK_IDLE);
		shard = reaper_next(reaper);
		if (shard || kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return shard;
}

/* The thread of a reaper. A shard that is alone goes on without queueing. */
int twheel_reaper(void *data)
{
	struct twheel_reaper *reaper = data;
	struct twheel_shard *shard;
	bool more;

	while ((shard = reaper_wait(reaper))) {
		do {
			more = twheel_shard_serve(shard);
			cond_resched();
			/* Hints; reaper_served() and reaper_next() look with the lock. */
		} while (more && !reaper_awaited(reaper) && !READ_ONCE(shard->ended));
		reaper_served(reaper, shard, more);
	}
	return 0;
}

/* Create the thread of a reaper, unless it has one. */
static int reaper_start(struct twheel_reapers *reapers, unsigned int number)
{
	struct twheel_reaper *reaper = &reapers->reaper[number];
	struct task_struct *task;

	if (reaper->task)
		return 0;
	task = kthread_create(twheel_reaper, reaper, "%s/%u", reapers->name, number);
	/* -EAGAIN, if there are too many threads, would be misunderstood. */
	if (IS_ERR(task))
		return PTR_ERR(task) == -EINTR ? -EINTR : -ENOMEM;
	WRITE_ONCE(reaper->task, task);
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
		INIT_LIST_HEAD(&reaper->shares);
		INIT_LIST_HEAD(&reaper->watching);
		INIT_LIST_HEAD(&reaper->unchecked);
		twheel_share_init(&reaper->share);
		init_waitqueue_head(&reaper->served);
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
	unsigned int i;

	if (IS_ERR_OR_NULL(reapers))
		return;
	mutex_lock(&groups_lock);
	list_del(&reapers->listed);
	mutex_unlock(&groups_lock);
	for (i = 0; i < reapers->nr; i++)
		if (reapers->reaper[i].task)
			kthread_stop(reapers->reaper[i].task);
	kvfree(reapers);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_reapers_destroy);
