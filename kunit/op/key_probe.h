/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of keys share: a table whose buckets change only when the test says
 * so, and watches that nobody walks over.
 */
#ifndef _KUNIT_KEY_PROBE_H
#define _KUNIT_KEY_PROBE_H

#include <kunit/test.h>
#include <linux/twheel.h>

#include "../../twheel/op/key.h"

extern struct twheel_keys key_table;

/* How often the table has asked for other buckets. */
extern unsigned int key_nr_asked;

/* Init and exit of a suite: at exit nothing may be linked. */
int key_suite_init(struct kunit *test);
void key_suite_exit(struct kunit *test);

/* One key for each number. */
struct twheel_key key_number(u64 number);

void key_watch(struct twheel_watch *watch, u64 number);
void key_watch_key(struct twheel_watch *watch, struct twheel_key key);
void key_unwatch(struct twheel_watch *watch);

/* The watch that stands for a key; NULL for none. */
struct twheel_watch *key_first(u64 number);

/* In which stripe a key is. */
struct twheel_stripe *key_stripe(u64 number);

/* Those who watch a key are these, in this order, and marked as they should be. */
void expect_ring(struct kunit *test, u64 number, struct twheel_watch *const *watches,
		 unsigned int nr);

/* How many keys there are in all buckets of a table, by looking. */
u64 keys_found(struct twheel_keys *keys);

/* The largest number of keys in one bucket. */
unsigned int keys_crowding(struct twheel_keys *keys);

/* A step of a move; whether there are more. */
bool key_move_on(struct twheel_stripe *stripe);

/* Do what the table has asked for, or would. */
void key_resize(void);

/* Each stripe has buckets enough for its keys, and not by far too many. */
void expect_fitting(struct kunit *test, struct twheel_keys *keys);

#endif /* _KUNIT_KEY_PROBE_H */
