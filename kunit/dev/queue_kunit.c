// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the event queues of the device, against a list in an array.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "../../twheel/dev/queue.h"
#include "../random.h"

#define OPS	200
#define READERS	4
#define MOST	TWHEEL_TAKE_MAX
#define STEPS	20000

struct reader {
	struct twheel_file_op	*file_ops[MOST];
	u32			nr;
};

static struct twheel_events *events;
static struct twheel_file_op *file_ops[OPS];
static struct twheel_file_op *list[OPS];
static struct reader readers[READERS];
static u32 nr_listed;
static struct rnd_state random;

static int queue_start(struct kunit *test)
{
	u32 i;

	events = kunit_kzalloc(test, sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, events);
	twheel_events_init(events);
	for (i = 0; i < OPS; i++) {
		file_ops[i] = kunit_kzalloc(test, sizeof(*file_ops[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, file_ops[i]);
	}
	memset(readers, 0, sizeof(readers));
	nr_listed = 0;
	random_start(test, &random);
	return 0;
}

static u32 unread(void)
{
	u32 nr;

	spin_lock(&events->lock);
	nr = twheel_events_unread(events);
	spin_unlock(&events->lock);
	return nr;
}

static void push(struct kunit *test, struct twheel_file_op *file_op)
{
	bool was_empty = !events->newest;

	KUNIT_EXPECT_EQ(test, twheel_event_push(events, file_op), was_empty);
	list[nr_listed++] = file_op;
}

/* Take up to @most events, which are the first ones of the list. */
static void take(struct kunit *test, struct reader *reader, u32 most)
{
	u32 i;

	reader->nr = twheel_events_take(events, reader->file_ops, most);
	KUNIT_ASSERT_EQ(test, reader->nr, min(most, nr_listed));
	for (i = 0; i < reader->nr; i++)
		KUNIT_ASSERT_PTR_EQ(test, reader->file_ops[i], list[i]);
	nr_listed -= reader->nr;
	memmove(list, list + reader->nr, nr_listed * sizeof(*list));
}

static void put_back(struct reader *reader)
{
	memmove(list + reader->nr, list, nr_listed * sizeof(*list));
	memcpy(list, reader->file_ops, reader->nr * sizeof(*list));
	nr_listed += reader->nr;
	twheel_events_put_back(events, reader->file_ops, reader->nr);
	reader->nr = 0;
}

/* Readers take events, and forget them or put them back, while further ones are pushed. */
static void events_come_in_the_order_of_a_list(struct kunit *test)
{
	u32 nr_idle = OPS, i, nr;
	struct reader *reader;

	for (i = 0; i < STEPS; i++) {
		reader = &readers[random_below(&random, READERS)];
		if (nr_idle && random_below(&random, 2)) {
			push(test, file_ops[--nr_idle]);
		} else if (!reader->nr) {
			take(test, reader, 1 + random_below(&random, MOST));
		} else if (random_below(&random, 2)) {
			put_back(reader);
		} else {
			for (nr = reader->nr; nr--; nr_idle++)
				file_ops[nr_idle] = reader->file_ops[nr];
			reader->nr = 0;
		}
		KUNIT_ASSERT_EQ(test, unread(), nr_listed);
		KUNIT_ASSERT_EQ(test, twheel_events_readable(events), !!nr_listed);
	}
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(events_come_in_the_order_of_a_list),
	{}
};

static struct kunit_suite queue_suite = {
	.name		= "twheel_events",
	.init		= queue_start,
	.test_cases	= queue_cases,
};

kunit_test_suite(queue_suite);
