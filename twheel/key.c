// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, keys: which watches there are under a key.
 *
 * A key exists only while something uses it: each watch does, from before it
 * is linked until it is unlinked, and so does a signal while it walks the
 * watches.  The last user takes the key out of the table, with the lock of
 * the key held.  Who finds a key in the table at that moment waits for its
 * lock, sees that it has no users any more, and looks again; by then it is
 * gone.  RCU keeps the memory until nobody can be on the way to the lock.
 *
 * Adding a watch has two steps, so that an operation can have all its keys
 * or none: getting the key may fail for want of memory, linking can't fail.
 *
 * All in process and softirq context.  Order of locks: a key's, then an
 * operation's or the table's own.
 */
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "key.h"

static const struct rhashtable_params key_params = {
	.key_len		= sizeof(struct twheel_key),
	.key_offset		= offsetof(struct twheel_watched_key, key),
	.head_offset		= offsetof(struct twheel_watched_key, hash),
	.automatic_shrinking	= true,
};

/**
 * twheel_keys_init - an empty table
 * @keys: the table
 *
 * Context: process; may sleep.
 * Return: 0, or -ENOMEM.
 */
int twheel_keys_init(struct twheel_keys *keys)
{
	return rhashtable_init(&keys->table, &key_params);
}

/**
 * twheel_keys_destroy - free the table
 * @keys: the table, in which no key is left
 *
 * Context: process; may sleep.
 */
void twheel_keys_destroy(struct twheel_keys *keys)
{
	WARN_ON_ONCE(twheel_keys_count(keys));
	rhashtable_destroy(&keys->table);
}

/**
 * twheel_keys_count - how many keys there are
 * @keys: the table
 *
 * Return: the number; exact when nothing is under way.
 */
u64 twheel_keys_count(struct twheel_keys *keys)
{
	return atomic_read(&keys->table.nelems);
}

/* Become a user of a key that was found, unless it is on its way out. */
static bool key_use(struct twheel_watched_key *key)
{
	bool alive;

	spin_lock_bh(&key->lock);
	alive = key->users;
	if (alive)
		key->users++;
	spin_unlock_bh(&key->lock);
	return alive;
}

/* Give up one use, with the key's lock held; true if it was the last. */
static bool key_unuse(struct twheel_keys *keys, struct twheel_watched_key *key)
{
	lockdep_assert_held(&key->lock);
	if (--key->users)
		return false;
	WARN_ON_ONCE(!list_empty(&key->watches));
	rhashtable_remove_fast(&keys->table, &key->hash, key_params);
	return true;
}

/**
 * twheel_key_find - use a key if it is watched
 * @keys: the table
 * @key: which
 *
 * Return: the key, to be given back with twheel_key_put(), or NULL.
 */
struct twheel_watched_key *twheel_key_find(struct twheel_keys *keys,
					   const struct twheel_key *key)
{
	struct twheel_watched_key *found;

	rcu_read_lock();
	do {
		found = rhashtable_lookup_fast(&keys->table, key, key_params);
	} while (found && !key_use(found));
	rcu_read_unlock();
	return found;
}

static struct twheel_watched_key *key_alloc(const struct twheel_key *key, gfp_t gfp)
{
	struct twheel_watched_key *new = kmalloc(sizeof(*new), gfp);

	if (!new)
		return NULL;
	new->key = *key;
	new->users = 1;
	spin_lock_init(&new->lock);
	INIT_LIST_HEAD(&new->watches);
	return new;
}

/**
 * twheel_key_get - use a key, which is made if there is none
 * @keys: the table
 * @key: which
 * @gfp: how to allocate
 *
 * Return: the key, to be given back with twheel_key_put() or, if it was
 * linked, twheel_key_unlink(); or an ERR_PTR() of -ENOMEM.
 */
struct twheel_watched_key *twheel_key_get(struct twheel_keys *keys,
					  const struct twheel_key *key, gfp_t gfp)
{
	struct twheel_watched_key *found, *new;

	found = twheel_key_find(keys, key);
	if (found)
		return found;
	new = key_alloc(key, gfp);
	if (!new)
		return ERR_PTR(-ENOMEM);

	rcu_read_lock();
	do {
		found = rhashtable_lookup_get_insert_fast(&keys->table, &new->hash,
							  key_params);
	} while (!IS_ERR_OR_NULL(found) && !key_use(found));
	rcu_read_unlock();

	if (!found)
		return new;
	kfree(new);
	return IS_ERR(found) ? ERR_PTR(-ENOMEM) : found;
}

/**
 * twheel_key_put - give a key back
 * @keys: the table
 * @key: from twheel_key_get() or twheel_key_find()
 */
void twheel_key_put(struct twheel_keys *keys, struct twheel_watched_key *key)
{
	bool last;

	spin_lock_bh(&key->lock);
	last = key_unuse(keys, key);
	spin_unlock_bh(&key->lock);
	if (last)
		kfree_rcu(key, rcu);
}

/**
 * twheel_key_link - put a watch behind the others of its key
 * @key: the key, with its lock held
 * @watch: whose use of the key it is from now on
 */
void twheel_key_link(struct twheel_watched_key *key, struct twheel_watch *watch)
{
	lockdep_assert_held(&key->lock);
	list_add_tail(&watch->entry, &key->watches);
}

/**
 * twheel_key_unlink - end a watch, and its use of the key
 * @keys: the table
 * @watch: linked, or never to be linked any more
 */
void twheel_key_unlink(struct twheel_keys *keys, struct twheel_watch *watch)
{
	struct twheel_watched_key *key = watch->key;
	bool last;

	spin_lock_bh(&key->lock);
	list_del_init(&watch->entry);
	last = key_unuse(keys, key);
	spin_unlock_bh(&key->lock);
	if (last)
		kfree_rcu(key, rcu);
}

/**
 * twheel_key_detach - end a watch, and its use of the key, which has another user
 * @key: the key, with its lock held
 * @watch: linked
 */
void twheel_key_detach(struct twheel_watched_key *key, struct twheel_watch *watch)
{
	lockdep_assert_held(&key->lock);
	list_del_init(&watch->entry);
	key->users--;
	WARN_ON_ONCE(!key->users);
}
