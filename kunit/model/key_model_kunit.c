// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for the key table: watches are added and removed at random,
 * under a few hot keys and under many other keys, while the table is resized step by step.
 * The result is compared with an array of the watches and their order. A walk goes on meanwhile,
 * and visits each key once that is watched from its begin to its end.
 */
#include <linux/bottom_half.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../op/key_probe.h"
#include "../random.h"

#define SLOTS		3000
#define STEPS		60000

/* Every third watch uses a hot key, the others use any key. */
#define HOT_KEYS	4
#define KEYS		4000

/* For TIDE steps, more watches are added than removed. Then it is the other way round. */
#define TIDE		5000

struct slot {
	struct twheel_watch	watch;
	u64			number;
	u64			serial;		/* 0 if it is not linked */
	unsigned int		visits;		/* of the current walk */
};

static struct slot *slots;

/* Watches of each key, number of keys with watches, and total number of added watches. */
static unsigned int *nr_of;
static unsigned int nr_keys;
static u64 last_serial;

/* The position of the current walk, the last watch added before it, and the number of walks */
static u32 walk;
static u64 walk_serial;
static unsigned int nr_walks;

/* The size to which the table is resized, and the number of steps */
static u32 next_size;
static unsigned int nr_steps;

static int cmp_serial(const void *a, const void *b)
{
	const struct slot *l = *(const struct slot **)a, *r = *(const struct slot **)b;

	return l->serial < r->serial ? -1 : 1;
}

/* Expect the watches of a key in the order in which they were added, and with the right flags. */
static void check_key(struct kunit *test, u64 number)
{
	struct twheel_watch *watch = key_first(number);
	static const struct slot *found[SLOTS];
	unsigned int i, nr = 0;

	for (i = 0; i < SLOTS; i++)
		if (slots[i].serial && slots[i].number == number)
			found[nr++] = &slots[i];
	KUNIT_ASSERT_EQ(test, nr, nr_of[number]);
	KUNIT_ASSERT_EQ(test, !watch, !nr);
	sort(found, nr, sizeof(*found), cmp_serial, NULL);
	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_PTR_EQ_MSG(test, watch, &found[i]->watch, "key %llu, watch %u of %u",
					number, i, nr);
		KUNIT_ASSERT_EQ(test, watch->key_prev->key_next != watch, !i);
		KUNIT_ASSERT_TRUE(test, twheel_watch_is_linked(watch));
		KUNIT_ASSERT_PTR_EQ(test, watch->key_prev, &found[i ? i - 1 : nr - 1]->watch);
		watch = watch->key_next;
	}
	if (nr && watch)
		KUNIT_ASSERT_FALSE_MSG(test, twheel_key_equal(&watch->key, &found[0]->watch.key),
				       "key %llu, behind all %u", number, nr);
}

static void check_all_keys(struct kunit *test)
{
	unsigned int number, nr_wrong = 0;

	KUNIT_ASSERT_EQ(test, twheel_keys_count(&key_table, true), nr_keys);
	KUNIT_ASSERT_EQ(test, keys_found(&key_table), nr_keys);
	/*
	 * A key has a first watch if and only if it is watched. Check the order for hot
	 * keys only.
	 */
	for (number = 0; number < KEYS; number++)
		nr_wrong += !key_first(number) != !nr_of[number];
	KUNIT_ASSERT_EQ(test, nr_wrong, 0);
	for (number = 0; number < HOT_KEYS; number++)
		check_key(test, number);
}

static void slot_remove(struct slot *slot)
{
	key_unwatch(&slot->watch);
	slot->serial = 0;
	nr_keys -= !--nr_of[slot->number];
}

static void slot_add(struct slot *slot, struct rnd_state *random)
{
	slot->number = random_below(random, random_below(random, 3) ? KEYS : HOT_KEYS);
	slot->serial = ++last_serial;
	slot->visits = 0;
	key_watch(&slot->watch, slot->number);
	nr_keys += !nr_of[slot->number]++;
}

/* Add or remove a watch. Returns its key. */
static u64 slot_step(struct rnd_state *random, unsigned int step)
{
	bool add = random_below(random, 8) ? step / TIDE % 2 == 0 : step / TIDE % 2;
	struct slot *slot;

	do {
		slot = &slots[random_below(random, SLOTS)];
		/* Use any watch if all are in this state already. */
		if (!nr_keys || random_below(random, 64) == 0)
			break;
	} while (!slot->serial != add);
	if (slot->serial)
		slot_remove(slot);
	else
		slot_add(slot, random);
	return slot->number;
}

/* Do a step of the current resize, or begin the next one, needed or not. */
static void resize_step(struct kunit *test, struct rnd_state *random)
{
	if (next_size && key_resize_step(test, next_size)) {
		nr_steps++;
		check_all_keys(test);
		return;
	}
	next_size = TWHEEL_KEY_MOST << random_below(random, 7);
}

/* Each watch was visited once if it was linked during the whole walk, and never twice. */
static void walk_end(struct kunit *test)
{
	unsigned int i, nr_wrong = 0;

	for (i = 0; i < SLOTS; i++) {
		if (slots[i].serial)
			nr_wrong += slots[i].serial <= walk_serial ? slots[i].visits != 1 :
								     slots[i].visits > 1;
		slots[i].visits = 0;
	}
	KUNIT_ASSERT_EQ(test, nr_wrong, 0);
	walk = 0;
	walk_serial = last_serial;
	nr_walks++;
}

/* Visit the watches of the next bucket of the walk. */
static void walk_step(struct kunit *test)
{
	struct twheel_watch *watch;
	struct twheel_key_at at;
	unsigned int i;

	at = twheel_key_lock(&key_table, walk);
	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		for (watch = at.bucket->slot[i]; watch; watch = watch->key_next)
			if (watch->hash >= at.hash && watch->hash <= at.last)
				container_of(watch, struct slot, watch)->visits++;
	twheel_key_unlock(&at);
	walk = at.last + 1;
	if (!walk)
		walk_end(test);
}

static void random_watches_match_array(struct kunit *test)
{
	struct rnd_state random;
	unsigned int step, max_keys = 0;
	u64 number;

	random_start(test, &random);
	for (step = 0; step < STEPS; step++) {
		number = slot_step(&random, step);
		if (random_below(&random, 64) == 0)
			resize_step(test, &random);
		walk_step(test);
		max_keys = max(max_keys, nr_keys);
		/* A check takes as long as hundreds of steps. */
		if (step % 64 == 0)
			check_key(test, number);
		if (test->status == KUNIT_FAILURE)
			break;
	}
	kunit_info(test, "at most %u keys, %u steps of resizes, %u walks\n", max_keys, nr_steps,
		   nr_walks);
	check_all_keys(test);
	while (key_table.table->next)
		resize_step(test, &random);
	keys_resize(&key_table);
	expect_bucket_sizes(test, &key_table);
	for (step = 0; step < SLOTS; step++)
		if (slots[step].serial)
			slot_remove(&slots[step]);
	KUNIT_EXPECT_GT(test, max_keys, 1000);
	KUNIT_EXPECT_GT(test, nr_steps, 300);
	KUNIT_EXPECT_GT(test, nr_walks, 20);
}

static int key_model_init(struct kunit *test)
{
	slots = kvcalloc(SLOTS, sizeof(*slots), GFP_KERNEL);
	nr_of = kvcalloc(KEYS, sizeof(*nr_of), GFP_KERNEL);
	nr_keys = 0;
	next_size = 0;
	nr_steps = 0;
	nr_walks = 0;
	last_serial = 0;
	walk_serial = 0;
	walk = 0;
	return slots && nr_of ? key_suite_init(test) : -ENOMEM;
}

static void key_model_exit(struct kunit *test)
{
	key_suite_exit(test);
	kvfree(slots);
	kvfree(nr_of);
}

static struct kunit_case key_model_cases[] = {
	KUNIT_CASE_SLOW(random_watches_match_array),
	{}
};

static struct kunit_suite key_model_suite = {
	.name		= "twheel_key_model",
	.init		= key_model_init,
	.exit		= key_model_exit,
	.test_cases	= key_model_cases,
};

kunit_test_suite(key_model_suite);
