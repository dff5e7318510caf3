/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations: counted to find leaks at the end; poisoned when freed; failing on request.
 * There is one memory cgroup. While it is the active one of a thread, an allocation that is
 * not charged is reported.
 */
#ifndef _RIG_MEM_H
#define _RIG_MEM_H

#include <linux/list.h>
#include <rig/task.h>

#define ___GFP_DIRECT_RECLAIM	0x01u
#define __GFP_DIRECT_RECLAIM	___GFP_DIRECT_RECLAIM
#define __GFP_NOWARN		0x02u
#define __GFP_RETRY_MAYFAIL	0x04u
#define __GFP_ACCOUNT		0x08u
#define __GFP_ZERO		0x10u
#define __GFP_NORETRY		0x20u
#define __GFP_BITS_SHIFT	8
#define GFP_KERNEL		__GFP_DIRECT_RECLAIM
#define GFP_ATOMIC		0x40u
#define GFP_NOWAIT		0x80u
#define gfpflags_allow_blocking(gfp)	(!!((gfp) & __GFP_DIRECT_RECLAIM))

void *rig_alloc(size_t size, gfp_t gfp);
void kfree(const void *object);
s64 rig_allocated(void);

/* One out of @rig_fail_every allocations fails, for all threads; 0: none. */
extern unsigned int rig_fail_every;
bool rig_should_fail(void);

/* Called by allocations that may sleep, of other threads than the first, which sets up the load. */
extern void (*rig_at_alloc)(void);

static inline void *rig_alloc_array(size_t n, size_t size, gfp_t gfp)
{
	size_t bytes;

	return check_mul_overflow(n, size, &bytes) ? NULL : rig_alloc(bytes, gfp);
}

#define kmalloc(size, gfp)		rig_alloc(size, gfp)
#define kzalloc(size, gfp)		rig_alloc(size, (gfp) | __GFP_ZERO)
#define kmalloc_array(n, size, gfp)	rig_alloc_array(n, size, gfp)
#define kcalloc(n, size, gfp)		rig_alloc_array(n, size, (gfp) | __GFP_ZERO)
#define kvzalloc(size, gfp)		kzalloc(size, gfp)
#define kvcalloc(n, size, gfp)		kcalloc(n, size, gfp)
void kvfree(const void *object);
char *kstrdup(const char *text, gfp_t gfp);

/* A page is its memory. */
struct page;
#define alloc_page(gfp)			((struct page *)rig_alloc(PAGE_SIZE, gfp))
#define __free_page(page)		kfree(page)
#define page_address(page)		((void *)(page))

struct kmem_cache {
	size_t size;
	gfp_t gfp;		/* for each object */
	bool typesafe;
	void *recycled;		/* an object that was freed, or NULL */
};

#define SLAB_ACCOUNT		0
#define SLAB_TYPESAFE_BY_RCU	1u
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     unsigned int flags, void (*ctor)(void *object));
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp);
#define kmem_cache_alloc_lru(cache, lru, gfp) kmem_cache_alloc(cache, gfp)
void kmem_cache_free(struct kmem_cache *cache, void *object);

struct mem_cgroup {
	int unused;
};

extern struct mem_cgroup rig_memcg;

static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = rig_self()->memcg;

	rig_self()->memcg = memcg;
	return old;
}

/* A reference counts as an allocated object. */
static inline struct mem_cgroup *get_mem_cgroup_from_mm(struct mm_struct *mm)
{
	struct rig_self *self = rig_self();

	WRITE_ONCE(self->allocated, self->allocated + 1);
	return &rig_memcg;
}

static inline void mem_cgroup_put(struct mem_cgroup *memcg)
{
	struct rig_self *self = rig_self();

	WRITE_ONCE(self->allocated, self->allocated - !!memcg);
}

u32 get_random_u32(void);
u64 get_random_u64(void);
void get_random_bytes(void *bytes, size_t nr);

struct rnd_state {
	u64 state;
};

/* The same seed gives the same sequence, as in the kernel. */
static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	state->state = seed * 0x9e3779b97f4a7c15ULL | 1;
}

static inline u32 prandom_u32_state(struct rnd_state *state)
{
	u64 x = state->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	state->state = x;
	return (x * 0x2545f4914f6cdd1dULL) >> 32;
}

/* Read-side sections are per thread; callbacks run in a separate thread. */
void rcu_read_lock(void);
void rcu_read_unlock(void);
void call_rcu(struct rcu_head *head, void (*fn)(struct rcu_head *head));
void rcu_barrier(void);
void synchronize_rcu(void);
void rig_kfree_rcu(struct rcu_head *head, size_t offset);
#define kfree_rcu(object, member)	rig_kfree_rcu(&(object)->member, \
						      (void *)&(object)->member - (void *)(object))
#define kvfree_rcu(object, member)	kfree_rcu(object, member)
#define rcu_read_lock_held()		(rig_self()->rcu_nesting)
#define rcu_read_lock_any_held()	rcu_read_lock_held()
#define RCU_LOCKDEP_WARN(condition, text) WARN_ON_ONCE(condition)
#define RCU_INIT_POINTER(p, v)		WRITE_ONCE(p, v)
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define rcu_dereference_raw(p)		__atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define rcu_dereference(p)		rcu_dereference_raw(p)
#define rcu_dereference_check(p, c)	rcu_dereference_raw(p)
#define rcu_dereference_protected(p, c)	({ WARN_ON(!(c)); READ_ONCE(p); })

static inline void hlist_add_head_rcu(struct hlist_node *n, struct hlist_head *head)
{
	struct hlist_node *first = head->first;

	n->next = first;
	n->pprev = &head->first;
	rcu_assign_pointer(head->first, n);
	if (first)
		first->pprev = &n->next;
}

/* A reader at the entry finds the next one. */
static inline void hlist_del_init_rcu(struct hlist_node *n)
{
	rcu_assign_pointer(*n->pprev, n->next);
	if (n->next)
		n->next->pprev = n->pprev;
	n->pprev = NULL;
}

#define hlist_for_each_entry_rcu(pos, head, member)					\
	for (pos = hlist_entry_safe(rcu_dereference((head)->first), typeof(*(pos)), member); pos; \
	     pos = hlist_entry_safe(rcu_dereference((pos)->member.next), typeof(*(pos)), member))

#endif /* _RIG_MEM_H */
