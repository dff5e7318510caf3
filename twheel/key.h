/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: the keys that something watches. See key.c. */
#ifndef _TWHEEL_KEY_H
#define _TWHEEL_KEY_H

#include <linux/list.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>

/**
 * struct twheel_watched_key - a key, for as long as something watches it
 * @hash: in the table of its purgatory
 * @key: immutable
 * @lock: protects the rest; taken outside of the lock of an operation
 * @users: watches that are or will be in @watches, and signals under way
 * @watches: in the order in which they came
 * @rcu: for who found it just before it went
 */
struct twheel_watched_key {
	struct rhash_head	hash;
	struct twheel_key	key;
	spinlock_t		lock;	/* outside of an op's */
	u32			users;
	struct list_head	watches;
	struct rcu_head		rcu;
};

/**
 * struct twheel_keys - the watched keys of a purgatory
 * @table: all of them; a key without users is in it no more
 */
struct twheel_keys {
	struct rhashtable	table;
};

int twheel_keys_init(struct twheel_keys *keys);
void twheel_keys_destroy(struct twheel_keys *keys);
u64 twheel_keys_count(struct twheel_keys *keys);

struct twheel_watched_key *twheel_key_get(struct twheel_keys *keys,
					  const struct twheel_key *key, gfp_t gfp);
struct twheel_watched_key *twheel_key_find(struct twheel_keys *keys,
					   const struct twheel_key *key);
void twheel_key_put(struct twheel_keys *keys, struct twheel_watched_key *key);

void twheel_key_link(struct twheel_watched_key *key, struct twheel_watch *watch);
void twheel_key_unlink(struct twheel_keys *keys, struct twheel_watch *watch);
void twheel_key_detach(struct twheel_watched_key *key, struct twheel_watch *watch);

#endif /* _TWHEEL_KEY_H */
