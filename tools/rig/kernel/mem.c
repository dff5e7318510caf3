// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations, and RCU, for xarray and the look-up of operations.
 *
 * An object has a header with its size and a marker. Freed objects are poisoned, for builds
 * without AddressSanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <linux/xarray.h>
#include <rig/count.h>
#include <rig/mem.h>
#include <rig/time.h>

#include "../rig.h"

#define ALIGN_OBJECT	64UL
#define LIVES		0x4c495645u
#define DEAD		0x44454144u
#define POISON		0x6b

struct header {
	struct rcu_head	rcu;
	size_t		size;
	u32		mark;
} __aligned(ALIGN_OBJECT);

/* An access before an object is an error, and hits the header. */
#ifdef __SANITIZE_ADDRESS__
#define hide(header)	__asan_poison_memory_region(header, sizeof(*(header)))
#define show(header)	__asan_unpoison_memory_region(header, sizeof(*(header)))
#else
#define hide(header)	((void)(header))
#define show(header)	((void)(header))
#endif

unsigned int rig_fail_every;
void (*rig_at_alloc)(void);
struct mem_cgroup rig_memcg;

/* As with the kernel's fail-nth, a task selects one of its next allocations to fail. */
bool rig_should_fail(void)
{
	struct task_struct *task = current;
	unsigned int every;

	if (unlikely(task->fail_nth) && !--task->fail_nth)
		return true;
	/* Allocations of the first thread, which sets up the load, do not fail. */
	every = READ_ONCE(rig_fail_every);
	return unlikely(every) && task->pid != 1 && !(rig_random() % every);
}

void *rig_alloc(size_t size, gfp_t gfp)
{
	struct rig_self *self = rig_self();
	struct header *header;
	void (*fn)(void);

	if (gfpflags_allow_blocking(gfp))
		might_sleep();
	fn = READ_ONCE(rig_at_alloc);
	if (unlikely(fn) && current->pid != 1 && gfpflags_allow_blocking(gfp))
		fn();
	if (self->memcg && !(gfp & __GFP_ACCOUNT))
		rig_warn(__FILE__, __LINE__, "allocated for a memory cgroup, and not charged");
	if (gfp & __GFP_ACCOUNT && gfpflags_allow_blocking(gfp) &&
	    !(gfp & (__GFP_RETRY_MAYFAIL | __GFP_NORETRY)))
		rig_warn(__FILE__, __LINE__, "may invoke the OOM killer of a memory cgroup");
	if (rig_should_fail() || size > 1UL << 32)
		return NULL;
	if (posix_memalign((void **)&header, ALIGN_OBJECT, sizeof(*header) + size))
		return NULL;
	header->size = size;
	header->mark = LIVES;
	hide(header);
	rig_forget(header + 1, size);
	WRITE_ONCE(self->allocated, self->allocated + 1);
	memset(header + 1, gfp & __GFP_ZERO ? 0 : POISON, size);
	return header + 1;
}

void kfree(const void *object)
{
	struct rig_self *self = rig_self();
	struct header *header;

	if (!object)
		return;
	header = (struct header *)object - 1;
	show(header);
	if (header->mark != LIVES) {
		rig_warn(__FILE__, __LINE__, header->mark == DEAD ? "freed twice" : "bad free");
		abort();
	}
	header->mark = DEAD;
	memset(header + 1, POISON, header->size);
	WRITE_ONCE(self->allocated, self->allocated - 1);
	free(header);
}

/* The object may be of vmalloc(): vfree() sleeps, except in an interrupt. */
void kvfree(const void *object)
{
	if (object && !in_interrupt())
		might_sleep();
	kfree(object);
}

char *kstrdup(const char *text, gfp_t gfp)
{
	size_t size = strlen(text) + 1;
	char *copy = rig_alloc(size, gfp);

	return copy ? memcpy(copy, text, size) : NULL;
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     unsigned int flags, void (*ctor)(void *object))
{
	struct kmem_cache *cache;

	WARN_ON(align > ALIGN_OBJECT || ctor);
	cache = kzalloc(sizeof(*cache), GFP_KERNEL);
	if (cache) {
		cache->size = size;
		cache->typesafe = flags & SLAB_TYPESAFE_BY_RCU;
	}
	return cache;
}

/* An object in the cache of recycled ones is not allocated. */
static void *recycle(struct kmem_cache *cache, void *object)
{
	struct rig_self *self = rig_self();
	void *old = __atomic_exchange_n(&cache->recycled, object, __ATOMIC_ACQ_REL);

	WRITE_ONCE(self->allocated, self->allocated + !!old - !!object);
	return old;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	if (!cache)
		return;
	rcu_barrier();
	kfree(recycle(cache, NULL));
	kfree(cache);
}

/* A type-safe object keeps its content, which readers may still access. */
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	void *object = rig_alloc(cache->size, gfp | cache->gfp), *old;

	old = object && cache->typesafe ? recycle(cache, NULL) : NULL;
	if (!old)
		return object;
	kfree(object);
	return old;
}

static void header_free_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct header, rcu) + 1);
}

static void free_rcu(void *object)
{
	struct header *header = (struct header *)object - 1;

	show(header);
	call_rcu(&header->rcu, header_free_rcu);
}

/* Half of the type-safe objects are used again at once, the others after a grace period. */
void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	if (cache->typesafe && rig_random() & 1)
		object = recycle(cache, object);
	if (cache->typesafe && object)
		free_rcu(object);
	else
		kfree(object);
}

/* The kernel may write to the member at once: it must not be a part of what readers access. */
void rig_kfree_rcu(struct rcu_head *head, size_t offset)
{
	memset(head, POISON, sizeof(*head));
	free_rcu((void *)head - offset);
}

/* The nodes of xarray; freed after a grace period, or immediately if never visible. */
static struct kmem_cache node_cache = { .size = sizeof(struct xa_node), .gfp = __GFP_ZERO };
struct kmem_cache *radix_tree_node_cachep = &node_cache;

void radix_tree_node_rcu_free(struct rcu_head *head)
{
	kfree(container_of(head, struct xa_node, rcu_head));
}

/*
 * RCU: a thread counts its entries to and exits from read-side sections, so that its counter
 * is odd inside. A grace period ends when each thread that was inside has left its section.
 */

static pthread_mutex_t rcu_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcu_head *rcu_queue;
static u32 rcu_queued, rcu_done;	/* futex words */

void rcu_read_lock(void)
{
	struct rig_self *self = rig_self();

	if (!self->rcu_nesting++)
		__atomic_store_n(&self->rcu, self->rcu + 1, __ATOMIC_SEQ_CST);
}

void rcu_read_unlock(void)
{
	struct rig_self *self = rig_self();

	if (!--self->rcu_nesting)
		__atomic_store_n(&self->rcu, self->rcu + 1, __ATOMIC_RELEASE);
}

void call_rcu(struct rcu_head *head, void (*fn)(struct rcu_head *head))
{
	pthread_mutex_lock(&rcu_lock);
	head->func = fn;
	head->next = rcu_queue;
	rcu_queue = head;
	__atomic_fetch_add(&rcu_queued, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&rcu_lock);
	rig_futex_wake(&rcu_queued);
}

struct readers {
	unsigned int nr;
	struct { u32 tid, rcu; } reader[4096];
};

static void readers_note(struct rig_self *self, void *data)
{
	struct readers *readers = data;
	u32 rcu = __atomic_load_n(&self->rcu, __ATOMIC_SEQ_CST);

	if (rcu & 1 && readers->nr < ARRAY_SIZE(readers->reader)) {
		readers->reader[readers->nr].tid = self->tid;
		readers->reader[readers->nr++].rcu = rcu;
	}
}

/* Wait until all recorded readers have left their section. */
static void readers_wait(struct readers *readers)
{
	static struct readers now;
	unsigned int i, j, left;

	while (readers->nr) {
		now.nr = 0;
		rig_each_thread(readers_note, &now);
		for (i = left = 0; i < readers->nr; i++)
			for (j = 0; j < now.nr; j++)
				if (!memcmp(&readers->reader[i], &now.reader[j],
					    sizeof(now.reader[j])))
					readers->reader[left++] = readers->reader[i];
		readers->nr = left;
		cpu_relax();
	}
}

static void *rcu_main(void *unused)
{
	static struct readers readers;
	struct rcu_head *head, *next;
	u32 queued;

	rig_adopt("rcu", RIG_SOFTIRQ);
	for (;;) {
		pthread_mutex_lock(&rcu_lock);
		queued = __atomic_load_n(&rcu_queued, __ATOMIC_ACQUIRE);
		head = rcu_queue;
		rcu_queue = NULL;
		pthread_mutex_unlock(&rcu_lock);
		if (!head) {
			__atomic_store_n(&rcu_done, queued, __ATOMIC_RELEASE);
			rig_futex_wake(&rcu_done);
			rig_futex_wait(&rcu_queued, queued, -1);
			continue;
		}
		readers.nr = 0;
		rig_each_thread(readers_note, &readers);
		readers_wait(&readers);
		for (; head; head = next) {
			next = head->next;
			head->func(head);
		}
	}
	return NULL;
}

/* Wait until all callbacks queued before have run. */
void rcu_barrier(void)
{
	u32 queued = __atomic_load_n(&rcu_queued, __ATOMIC_ACQUIRE), ran;

	while ((s32)((ran = __atomic_load_n(&rcu_done, __ATOMIC_ACQUIRE)) - queued) < 0)
		rig_futex_wait(&rcu_done, ran, NSEC_PER_MSEC);
}

struct grace {
	struct rcu_head	rcu;
	u32		passed;
};

static void grace_passed(struct rcu_head *rcu)
{
	struct grace *grace = container_of(rcu, struct grace, rcu);

	__atomic_store_n(&grace->passed, 1, __ATOMIC_RELEASE);
}

void synchronize_rcu(void)
{
	struct grace grace = {};

	might_sleep();
	WARN_ON(rcu_read_lock_held());
	call_rcu(&grace.rcu, grace_passed);
	while (!__atomic_load_n(&grace.passed, __ATOMIC_ACQUIRE))
		rig_futex_wait(&grace.passed, 0, NSEC_PER_MSEC);
}

void rig_rcu_start(void)
{
	rig_thread(rcu_main, NULL);
}
