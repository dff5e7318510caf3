/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the suites for the key table: a table that is resized only by the test, and
 * watches without operations.
 */
#ifndef _KUNIT_KEY_PROBE_H
#define _KUNIT_KEY_PROBE_H

#include <kunit/test.h>
#include <linux/twheel.h>

#include "../../twheel/op/key.h"

extern struct twheel_keys key_table;

/* Suite init and exit. No watch may be linked at exit. */
int key_suite_init(struct kunit *test);
void key_suite_exit(struct kunit *test);

/* Map a number to a key, by bits of both words. */
struct twheel_key key_number(u64 number);

/* Initialise the watch of a key, link it, or both. */
void key_watch_init(struct twheel_watch *watch, u64 number);
void key_watch_link(struct twheel_watch *watch);
void key_watch(struct twheel_watch *watch, u64 number);
void key_unwatch(struct twheel_watch *watch);

/* The first watch of a key, or NULL. */
struct twheel_watch *key_first(u64 number);

/* The number of the bucket of a key. */
u32 key_index(u64 number);

/* Count the keys by a walk over the table; wrong if a bucket is. */
u64 keys_found(struct twheel_keys *keys);

/* The largest number of keys in one bucket. */
unsigned int keys_max_per_bucket(struct twheel_keys *keys);

/*
 * Do one step of the moves to @size buckets, whatever size the table should have. Returns whether
 * there was anything to do.
 */
bool key_resize_step(struct kunit *test, u32 size);

/* Give a table the size that it should have. */
void keys_resize(struct twheel_keys *keys);

/* Expect a table to have enough buckets for its keys, and not far too many. */
void expect_bucket_sizes(struct kunit *test, struct twheel_keys *keys);

#endif /* _KUNIT_KEY_PROBE_H */
