// SPDX-License-Identifier: GPL-2.0
/*
 * Bounds of the work of one call, regardless of what others do meanwhile.
 *
 * A signal claims a chunk of operations with a lock held, each with the maximum number of keys:
 * it must not touch the buckets of all of these keys under that lock.
 *
 * A call that counts unread events collects the fresh ones in steps. Before each step, so many
 * operations end that a call that waited for a step without fresh events would not return.
 */
#include <stdio.h>

#include <linux/twheel.h>
#include <rig/fs.h>

#include "rig.h"

/* One chunk of a signal, see SIGNAL_OPS */
#define OPS	16
/* For each operation: two neighbours in each of two lists, and some of its keys */
#define MAX_PREFETCHES	(OPS * 12)

#define EVENTS	1000
/* Operations that end in each step, more than are collected in one */
#define MORE	20
/* Steps for the events before the call, with a wide margin */
#define MAX_STEPS	EVENTS

static struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
static struct file *file;
static unsigned int steps, failures;

static void expect(bool good, const char *message, unsigned long nr)
{
	if (good)
		return;
	printf("bounds: FAILURE: %s: %lu\n", message, nr);
	failures++;
}

static void add(u32 nr_keys)
{
	struct twheel_add_args args = {
		.condition = nr_keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
		.deadline = nr_keys ? TWHEEL_NEVER : 3600 * NSEC_PER_SEC,
		.nr_keys = nr_keys,
		.key_size = nr_keys ? sizeof(*specs) : 0,
		.keys = (uintptr_t)specs,
	};
	struct twheel_complete_args complete = { };
	long err = rig_ioctl(file, TWHEEL_IOC_ADD, &args);

	if (!err && !nr_keys) {
		complete.id = args.id;
		err = rig_ioctl(file, TWHEEL_IOC_COMPLETE, &complete);
	}
	expect(!err, "the add failed", -err);
}

static void check_signal(void)
{
	struct twheel_signal_args args = { .key = specs[0].key };
	unsigned long before;
	unsigned int i;

	for (i = 0; i < OPS; i++)
		add(TWHEEL_MAX_KEYS);
	before = rig_prefetches;
	expect(!rig_ioctl(file, TWHEEL_IOC_SIGNAL, &args) && args.completed == OPS,
	       "operations completed", args.completed);
	expect(rig_prefetches - before <= MAX_PREFETCHES, "prefetches in a chunk of a signal",
	       rig_prefetches - before);
}

static void end_more(void)
{
	unsigned int i;

	rig_at_resched = NULL;
	for (i = 0; i < MORE; i++)
		add(0);
	if (++steps <= MAX_STEPS)
		rig_at_resched = end_more;
}

static void check_query(void)
{
	struct twheel_query_args query = { };
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		add(0);
	rig_at_resched = end_more;
	expect(!rig_ioctl(file, TWHEEL_IOC_QUERY, &query), "the query failed", 0);
	rig_at_resched = NULL;
	expect(steps <= MAX_STEPS, "steps of a query", steps);
	expect(query.unread >= EVENTS + OPS, "unread events", query.unread);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_MAX_KEYS; i++)
		specs[i].key.v[0] = i;
	rig_start(1, 1);
	if (rig_module_init("twheel"))
		return 1;
	file = rig_open("/dev/twheel", O_RDWR);
	if (IS_ERR(file))
		return 1;
	check_signal();
	check_query();
	rig_close(file);
	rig_module_exit("twheel");
	if (rig_verdict() || failures)
		return 1;
	printf("bounds: SUCCESS: %u steps of a query\n", steps);
	return 0;
}
