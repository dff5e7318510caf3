// SPDX-License-Identifier: GPL-2.0
/* Readers, and their fetches in both styles. */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "fetch.h"

struct reader reader[MAX_READERS];
atomic_t fetches_allocated;

/* Number of bytes available to a fetch. */
u64 fetch_bytes(const struct fetch *fetch)
{
	u64 bytes = 0;
	unsigned int p;

	for_each_set_bit(p, &fetch->partitions, partitions)
		bytes += partition_end(p) - fetch->start[p];
	/* Reading a real log takes time, during which it may grow. */
	udelay(look_us);
	return bytes;
}

static void answer(struct reader *self)
{
	if (atomic_dec_and_test(&self->unanswered))
		complete(&self->answered);
}

static bool fetch_try_complete(struct twheel_op *op, u64 *value)
{
	struct fetch *fetch = container_of(op, struct fetch, op);

	*value = fetch_bytes(fetch);
	return *value >= fetch->min;
}

static void fetch_ended(struct twheel_op *op)
{
	struct fetch *fetch = container_of(op, struct fetch, op);

	fetch->ended_at = ktime_get_ns();
	fetch->bytes = fetch_bytes(fetch);
	twheel_op_get_result(op, &fetch->result);
	atomic_inc(&fetch->nr_ended);
	answer(fetch->reader);
}

static void fetch_release(struct twheel_op *op)
{
	kfree(container_of(op, struct fetch, op));
	atomic_dec(&fetches_allocated);
}

static const struct twheel_op_ops sum_ops = {
	.ended		= fetch_ended,
	.release	= fetch_release,
};

static const struct twheel_op_ops predicate_ops = {
	.try_complete	= fetch_try_complete,
	.ended		= fetch_ended,
	.release	= fetch_release,
};

static void fetch_add(struct fetch *fetch, enum twheel_condition condition, u64 threshold)
{
	struct twheel_watch_spec specs[MAX_PARTITIONS] = {};
	struct twheel_op_args args = {
		.deadline	= fetch->deadline,
		.condition	= condition,
		.threshold	= threshold,
		.specs		= specs,
		.watches	= fetch->watch,
	};
	unsigned int p;

	for_each_set_bit(p, &fetch->partitions, partitions)
		specs[args.nr_keys++].key = partition_key(p);
	fetch->added = true;
	fetch->add_from = ktime_get_ns();
	fetch->add_ret = twheel_op_add(purgatory[fetch->style], &fetch->op, &args);
	fetch->add_to = ktime_get_ns();
	if (fetch->add_ret < 0)
		answer(fetch->reader);
}

/* Count the available bytes, and let twheel count the missing ones. */
static void fetch_by_sum(struct fetch *fetch)
{
	down_write(&append_sem);
	fetch->bytes = fetch_bytes(fetch);
	if (fetch->bytes < fetch->min)
		fetch_add(fetch, TWHEEL_COND_SUM, fetch->min - fetch->bytes);
	up_write(&append_sem);
	if (!fetch->added)
		answer(fetch->reader);
}

/* twheel evaluates the predicate in twheel_op_add() and at each notification. */
static void fetch_by_predicate(struct fetch *fetch)
{
	fetch_add(fetch, TWHEEL_COND_PREDICATE, 0);
}

static struct fetch *fetch_alloc(struct reader *self, enum style style)
{
	struct fetch *fetch = kzalloc(sizeof(*fetch), GFP_KERNEL);

	if (!fetch)
		return NULL;
	twheel_op_init(&fetch->op, style == BY_SUM ? &sum_ops : &predicate_ops);
	atomic_inc(&fetches_allocated);
	fetch->reader = self;
	fetch->style = style;
	memcpy(fetch->start, self->offset, sizeof(fetch->start));
	self->fetch[self->nr++] = fetch;
	return fetch;
}

/* A random set of partitions, a random deadline, and in half of the requests a minimum of 1. */
static int alloc_fetches(struct reader *self)
{
	unsigned long mask = 1 + below(&self->rng, BIT(partitions) - 1);
	u64 min = below(&self->rng, 2) ? 1 : 1 + below(&self->rng, 5000);
	u64 deadline = twheel_deadline(below(&self->rng, 15 * NSEC_PER_MSEC));
	struct fetch *fetch;
	enum style style;

	for (style = 0; style < STYLES; style++) {
		fetch = fetch_alloc(self, style);
		if (!fetch)
			return -ENOMEM;
		fetch->partitions = mask;
		fetch->min = min;
		fetch->deadline = deadline;
	}
	return 0;
}

/* Issue the same request in both styles and wait for both answers. */
static int fetch_once(struct reader *self)
{
	struct fetch *by_sum, *by_predicate;
	unsigned int p;
	int err;

	err = alloc_fetches(self);
	if (err)
		return err;
	by_predicate = self->fetch[self->nr - 1];
	by_sum = self->fetch[self->nr - 2];

	atomic_set(&self->unanswered, STYLES);
	reinit_completion(&self->answered);
	fetch_by_sum(by_sum);
	fetch_by_predicate(by_predicate);
	/* The timeout only limits a failing run, which check.c reports. */
	if (!wait_for_completion_timeout(&self->answered, 30 * HZ))
		return -ETIME;

	/* Skip the bytes that are available now. */
	for_each_set_bit(p, &by_sum->partitions, partitions)
		self->offset[p] = partition_end(p);
	if (by_sum->add_ret < 0)
		return by_sum->add_ret;
	return min(by_predicate->add_ret, 0);
}

static void reader_work(struct work_struct *work)
{
	struct reader *self = container_of(work, struct reader, work);
	unsigned int n;

	for (n = 0; n < fetches && !self->err; n++)
		self->err = fetch_once(self);
}

int readers_alloc(u32 seed)
{
	struct reader *self;

	for (self = reader; self < reader + readers; self++) {
		prandom_seed_state(&self->rng, seed + MAX_PARTITIONS + (self - reader));
		init_completion(&self->answered);
		INIT_WORK(&self->work, reader_work);
		self->fetch = kcalloc(fetches * STYLES, sizeof(*self->fetch), GFP_KERNEL);
		if (!self->fetch)
			return -ENOMEM;
	}
	return 0;
}

/* Also called after a partial allocation. Drops the references to the fetches. */
void readers_free(void)
{
	struct reader *self;

	for (self = reader; self < reader + readers; self++) {
		while (self->nr)
			twheel_op_put(&self->fetch[--self->nr]->op);
		kfree(self->fetch);
	}
}

/* Start all readers and wait for them. */
int readers_run(void)
{
	unsigned int r;
	int err = 0;

	for (r = 0; r < readers; r++)
		queue_work(workqueue, &reader[r].work);
	for (r = 0; r < readers; r++) {
		flush_work(&reader[r].work);
		err = err ?: reader[r].err;
	}
	return err;
}
