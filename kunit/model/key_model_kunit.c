// SPDX-License-Identifier: GPL-2.0
/*
 * Property test of layer 5, keys: watches come and go at random, under a few keys that
 * very many watch and under very many keys, while stripes get other buckets step by
 * step; held against an array that says who watches what, and since when.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../op/key_probe.h"
#include "../random.h"

#define SLOTS		3000
#define STEPS		60000

/* So few keys get every third watch, and so many the others. */
#define CROWDED		4
#define KEYS		4000

/* In a tide so many steps, watches mostly come; in the next they mostly go. */
#define TIDE		5000

struct slot {
	struct twheel_watch	watch;
	u64			number;
	u64			turn;		/* 0: it watches nothing */
};

static struct slot *slots;

/* Of each key, how many watch it; how many keys have any; watches so far. */
static unsigned int *nr_of;
static unsigned int nr_keys;
static u64 turns;

/* Looks at a stripe with keys here and there. */
static unsigned int nr_halfway;

static int by_turn(const void *a, const void *b)
{
	const struct slot *l = *(const struct slot **)a, *r = *(const struct slot **)b;

	return l->turn < r->turn ? -1 : 1;
}

static void look_at(struct kunit *test, u64 number)
{
	static const struct slot *found[SLOTS];
	static struct twheel_watch *watches[SLOTS];
	unsigned int i, nr = 0;

	for (i = 0; i < SLOTS; i++)
		if (slots[i].turn && slots[i].number == number)
			found[nr++] = &slots[i];
	KUNIT_ASSERT_EQ(test, nr, nr_of[number]);
	sort(found, nr, sizeof(*found), by_turn, NULL);
	for (i = 0; i < nr; i++)
		watches[i] = (struct twheel_watch *)&found[i]->watch;
	expect_ring(test, number, watches, nr);
}

static void look_at_all(struct kunit *test)
{
	unsigned int number, nr_wrong = 0;

	KUNIT_ASSERT_EQ(test, twheel_keys_count(&key_table), nr_keys);
	KUNIT_ASSERT_EQ(test, keys_found(&key_table), nr_keys);
	/* Who is the first, and in which order the few are that very many watch. */
	for (number = 0; number < KEYS; number++)
		nr_wrong += !key_first(number) != !nr_of[number];
	KUNIT_ASSERT_EQ(test, nr_wrong, 0);
	for (number = 0; number < CROWDED; number++)
		look_at(test, number);
}

static void slot_leave(struct slot *slot)
{
	key_unwatch(&slot->watch);
	slot->turn = 0;
	nr_keys -= !--nr_of[slot->number];
}

static void slot_come(struct slot *slot, struct rnd_state *random)
{
	slot->number = random_below(random, random_below(random, 3) ? KEYS : CROWDED);
	slot->turn = ++turns;
	key_watch(&slot->watch, slot->number);
	nr_keys += !nr_of[slot->number]++;
}

/* Let one that does not watch do so, or the other way round; which key. */
static u64 slot_step(struct rnd_state *random, unsigned int step)
{
	bool come = random_below(random, 8) ? step / TIDE % 2 == 0 : step / TIDE % 2;
	struct slot *slot;

	do {
		slot = &slots[random_below(random, SLOTS)];
		/* If all of them do already: whatever. */
		if (!nr_keys || random_below(random, 64) == 0)
			break;
	} while (!slot->turn != come);
	if (slot->turn)
		slot_leave(slot);
	else
		slot_come(slot, random);
	return slot->number;
}

/* Begin a move somewhere if it is wanted there, or for nothing; or do a step of one. */
static void move_step(struct kunit *test, struct rnd_state *random)
{
	u32 which = random_below(random, 1U << key_table.shift);
	struct twheel_stripe *stripe = &key_table.stripe[which];

	if (stripe->to.bucket)
		key_move_on(stripe);
	else if (stripe->nr > 4 * (stripe->now.mask + 1) || random_below(random, 4) == 0)
		KUNIT_ASSERT_EQ(test, twheel_stripe_alloc(&key_table, stripe, GFP_KERNEL), 0);
	nr_halfway += stripe->to.bucket && stripe->moved;
}

static void finish_moves(void)
{
	u32 i;

	for (i = 0; i < 1U << key_table.shift; i++)
		while (key_table.stripe[i].to.bucket)
			key_move_on(&key_table.stripe[i]);
}

static void it_does_as_an_array(struct kunit *test)
{
	struct rnd_state random;
	unsigned int step, most = 0;
	u64 number;

	random_start(test, &random);
	for (step = 0; step < STEPS; step++) {
		number = slot_step(&random, step);
		if (random_below(&random, 64) == 0)
			move_step(test, &random);
		most = max(most, nr_keys);
		/* To look costs as much as hundreds of steps. */
		if (step % 64 == 0)
			look_at(test, number);
		if (step % 1000 == 0)
			look_at_all(test);
		if (test->status == KUNIT_FAILURE)
			break;
	}
	kunit_info(test, "%u keys at most, %u looks at half moved stripes\n", most, nr_halfway);
	finish_moves();
	look_at_all(test);
	key_resize();
	expect_fitting(test, &key_table);
	for (step = 0; step < SLOTS; step++)
		if (slots[step].turn)
			slot_leave(&slots[step]);
	KUNIT_EXPECT_GT(test, most, 1000);
	KUNIT_EXPECT_GT(test, nr_halfway, 50);
}

static int key_model_init(struct kunit *test)
{
	slots = kvcalloc(SLOTS, sizeof(*slots), GFP_KERNEL);
	nr_of = kvcalloc(KEYS, sizeof(*nr_of), GFP_KERNEL);
	nr_keys = 0;
	nr_halfway = 0;
	turns = 0;
	return slots && nr_of ? key_suite_init(test) : -ENOMEM;
}

static void key_model_exit(struct kunit *test)
{
	key_suite_exit(test);
	kvfree(slots);
	kvfree(nr_of);
}

static struct kunit_case key_model_cases[] = {
	KUNIT_CASE_SLOW(it_does_as_an_array),
	{}
};

static struct kunit_suite key_model_suite = {
	.name		= "twheel_key_model",
	.init		= key_model_init,
	.exit		= key_model_exit,
	.test_cases	= key_model_cases,
};

kunit_test_suite(key_model_suite);
