// SPDX-License-Identifier: GPL-2.0
/*
 * The partitions, and their leaders, who append and tell the fetches that wait.
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "fetch.h"

struct partition partition[MAX_PARTITIONS];

/*
 * Held for reading while bytes are appended and signalled, and for writing while
 * it is counted how many are there and a fetch for the rest is parked: so each
 * byte is either there or signalled, and none is both.
 */
DECLARE_RWSEM(append_sem);

static bool over;

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
	batch->told[BY_SUM] = ktime_get_ns();

	/* Who looks for itself needs no lock, and no number. */
	self->completed[BY_PREDICATE] +=
		twheel_check_and_complete(purgatory[BY_PREDICATE], &key, 0, TWHEEL_MAY_SLEEP);
	batch->told[BY_PREDICATE] = ktime_get_ns();
	self->nr++;
}

static void lead(struct work_struct *work)
{
	struct partition *self = container_of(work, struct partition, leader);

	while (self->nr < batches && !READ_ONCE(over)) {
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
		INIT_WORK(&part->leader, lead);
		part->batch = kvcalloc(batches, sizeof(*part->batch), GFP_KERNEL);
		if (!part->batch)
			return -ENOMEM;
	}
	return 0;
}

/* Also when not all could be allocated. */
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

	WRITE_ONCE(over, true);
	for (p = 0; p < partitions; p++)
		flush_work(&partition[p].leader);
}
