/* SPDX-License-Identifier: GPL-2.0 */
/* What the module does, in numbers that depend on neither time nor machine: see kernel/count.c. */
#ifndef _RIG_COUNT_H
#define _RIG_COUNT_H

#include <rig/base.h>

/**
 * struct rig_counts - counters of one thread or of all
 * @accesses: loads and stores
 * @cold: lines fetched because the cache did not have them
 * @moved: lines fetched from the cache of another CPU, or invalidated there
 * @locks: locks taken; a wake-up takes that of its wait queue
 * @handed_over: locks that another CPU was the last to hold
 */
struct rig_counts {
	u64 accesses;
	u64 cold;
	u64 moved;
	u64 locks;
	u64 handed_over;
};

#ifdef RIG_CLOCK
extern struct rig_counts rig_counts;
extern u64 rig_cache;		/* size of the cache in lines */
/* @accesses and @moved while a lock was held: of the lock with the most accesses */
struct rig_counts rig_count_held(void);
void rig_count_start(bool all);

void rig_touch(const void *p, size_t size, bool write);
void rig_forget(const void *object, size_t size);
void rig_lock_begin(const void *lock);
void rig_lock_end(const void *lock);
#else
static inline void rig_touch(const void *p, size_t size, bool write)
{
}

static inline void rig_forget(const void *object, size_t size)
{
}

static inline void rig_lock_begin(const void *lock)
{
}

static inline void rig_lock_end(const void *lock)
{
}
#endif

/* The locks of the module, not those of the rig */
#ifdef RIG_COUNT
#define RIG_LOCK_BEGIN(lock)	rig_lock_begin(lock)
#define RIG_LOCK_END(lock)	rig_lock_end(lock)
#else
#define RIG_LOCK_BEGIN(lock)	((void)0)
#define RIG_LOCK_END(lock)	((void)0)
#endif

#ifdef RIG_COUNT
/* The compiler instruments assignments, but not these functions. */
#define memset(to, c, size) ({						\
	void *_to = (to);						\
	size_t _size = (size);						\
									\
	rig_touch(_to, _size, true);					\
	__builtin_memset(_to, c, _size); })
#define memcpy(to, from, size) ({					\
	void *_to = (to);						\
	const void *_from = (from);					\
	size_t _size = (size);						\
									\
	rig_touch(_from, _size, false);					\
	rig_touch(_to, _size, true);					\
	__builtin_memcpy(_to, _from, _size); })
#endif

#endif /* _RIG_COUNT_H */
