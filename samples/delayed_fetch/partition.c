// SPDX-License-Identifier: GPL-2.0
/* Partitions, and the leaders that append to them and notify the pending fetches. */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "fetch.h"

struct partition partition[MAX_PARTITIONS];

/*
 * Held for reading while bytes are appended and signalled, and for writing while the
 * available bytes are counted and a fetch for the missing ones is added. So each byte is
 * either counted or signalled, never both.
 */
DECLARE_RWSEM(append_sem);

static bool stopping;

struct twheel_key partition_key(unsigned int p)
{
	return (struct twheel_key){ .v = { p } };
}

u64 partition_end(unsigned int p)
{
	return READ_ONCE(partition[p].end);
}

static void append(struct partition *self, u64 bytes)
{
	struct batch *batch = &self->batch[self->nr];
	struct twheel_key key = partition_key(self->number);

	batch->end = self->end + bytes;

	down_read(&append_sem);
	batch->from = ktime_get_ns();
	WRITE_ONCE(self->end, batch->end);
	self->completed[BY_SUM] +=
		twheel_signal_some(purgatory[BY_SUM], &key, bytes, batch->end,
				   0, TWHEEL_MAY_SLEEP);
	up_read(&append_sem);
	batch->notified[BY_SUM] = ktime_get_ns();

	/* A predicate checks state and needs neither the lock nor the amount. */
	self->completed[BY_PREDICATE] +=
		twheel_check_and_complete(purgatory[BY_PREDICATE], &key, 0, TWHEEL_MAY_SLEEP);
	batch->notified[BY_PREDICATE] = ktime_get_ns();
	self->nr++;
}

static void leader_work(struct work_struct *work)
{
	struct partition *self = container_of(work, struct partition, leader);

	while (self->nr < batches && !READ_ONCE(stopping)) {
		append(self, 1 + below(&self->rng, 1000));
		usleep_range(100, 1000);
	}
}

int partitions_alloc(u32 seed)
{
	struct partition *part;

	for (part = partition; part < partition + partitions; part++) {
		part->number = part - partition;
		prandom_seed_state(&part->rng, seed + part->number);
		INIT_WORK(&part->leader, leader_work);
		part->batch = kvcalloc(batches, sizeof(*part->batch), GFP_KERNEL);
		if (!part->batch)
			return -ENOMEM;
	}
	return 0;
}

/* Also called after a partial allocation. */
void partitions_free(void)
{
	unsigned int p;

	for (p = 0; p < partitions; p++)
		kvfree(partition[p].batch);
}

void leaders_start(void)
{
	unsigned int p;

	for (p = 0; p < partitions; p++)
		queue_work(workqueue, &partition[p].leader);
}

void leaders_stop(void)
{
	unsigned int p;

	WRITE_ONCE(stopping, true);
	for (p = 0; p < partitions; p++)
		flush_work(&partition[p].leader);
}
