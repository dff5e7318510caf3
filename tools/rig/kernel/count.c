// SPDX-License-Identifier: GPL-2.0
/*
 * Counts what the module does. In the build "count", gcc inserts a call before each access to
 * memory, as for KCSAN: -fsanitize=thread with these functions instead of the library. The clock
 * stands still, except that the program advances it, so the figures depend on neither time nor
 * machine.
 *
 * A line is cold if it is touched for the first time, or if rig_cache other lines have been fetched
 * since it was touched last. Independently of that, each virtual CPU has a cache without limit,
 * kept coherent as by MESI: a line moves if it is read after a write by another CPU, or written
 * while another CPU has a copy.
 *
 * The accesses of the rig itself are not counted, which is in place of the kernel's allocator,
 * hrtimers, workqueues and scheduler, nor are stacks and the state of a thread. A new object is
 * in no CPU's cache.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <rig/count.h>
#include <rig/time.h>

#include "../rig.h"

#define LINE		64
#define LINES_BITS	21
#define NESTING		8

struct line {
	uintptr_t nr;			/* address / LINE; 0 if the entry is free */
	u64 fetched;			/* @fetched when it was touched last */
	u32 copies;			/* mask of the CPUs with a copy */
	u8 holder[LINE / 8];		/* CPU + 1 that last held the lock in each word */
	u64 accesses, moved;		/* while a lock in this line was held */
	struct line *next_held;
};

struct rig_counts rig_counts;
static struct rig_self *counted;	/* the thread, or NULL for all */
static struct line lines[1UL << LINES_BITS];
static size_t nr_lines;
static struct line last_held, *first_held = &last_held;	/* list of the lines with locks */
u64 rig_cache = 4096;
static u64 fetched = 1UL << 32;
static u32 busy;

static __thread struct line *held[NESTING];
static __thread unsigned int nr_held;
static __thread uintptr_t stack, stack_size;

static void fail(const char *message)
{
	printf("FAILURE: %s\n", message);
	exit(1);
}

static void model_lock(void)
{
	while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void model_unlock(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static struct line *line_of(uintptr_t nr)
{
	size_t i = nr * 0x9e3779b97f4a7c15ULL >> (64 - LINES_BITS);

	while (lines[i].nr != nr) {
		if (!lines[i].nr) {
			if (++nr_lines == ARRAY_SIZE(lines))
				fail("too many cache lines");
			lines[i].nr = nr;
			break;
		}
		i = (i + 1) % ARRAY_SIZE(lines);
	}
	return &lines[i];
}

/* The stack, thread-local variables, the state of the thread. */
static bool is_private(uintptr_t at)
{
	struct rig_self *self = rig_this;
	pthread_attr_t attr;
	void *bottom;

	if (!stack_size) {
		pthread_getattr_np(pthread_self(), &attr);
		pthread_attr_getstack(&attr, &bottom, &stack_size);
		pthread_attr_destroy(&attr);
		stack = (uintptr_t)bottom;
	}
	return at - stack < stack_size || (uintptr_t)__builtin_thread_pointer() - at < PAGE_SIZE ||
	       at - (uintptr_t)self < sizeof(*self) ||
	       at - (uintptr_t)self->task < sizeof(*self->task);
}

static bool is_counted(void)
{
	return !counted || counted == rig_this;
}

static void touch_line(uintptr_t nr, u32 me, bool write)
{
	struct line *line = line_of(nr);
	bool cold = fetched - line->fetched > rig_cache, moved;
	unsigned int i;

	fetched += cold;
	line->fetched = fetched;
	moved = line->copies & ~me && (write || !(line->copies & me));
	line->copies = write ? me : line->copies | me;
	if (!is_counted())
		return;
	rig_counts.accesses++;
	rig_counts.cold += cold;
	rig_counts.moved += moved;
	for (i = 0; i < nr_held; i++) {
		held[i]->accesses++;
		held[i]->moved += moved;
	}
}

void rig_touch(const void *p, size_t size, bool write)
{
	uintptr_t at = (uintptr_t)p, nr;

	if (!rig_this || !size || is_private(at))
		return;
	model_lock();
	for (nr = at / LINE; nr <= (at + size - 1) / LINE; nr++)
		touch_line(nr, 1U << rig_this->cpu, write);
	model_unlock();
}

void rig_forget(const void *object, size_t size)
{
	uintptr_t nr;

	model_lock();
	for (nr = (uintptr_t)object / LINE; nr <= ((uintptr_t)object + size - 1) / LINE; nr++) {
		struct line *line = line_of(nr);

		line->copies = 0;
		memset(line->holder, 0, sizeof(line->holder));
	}
	model_unlock();
}

void rig_lock_begin(const void *lock)
{
	struct line *line;
	u8 *holder, me = rig_self()->cpu + 1;

	model_lock();
	line = line_of((uintptr_t)lock / LINE);
	if (!line->next_held) {
		line->next_held = first_held;
		first_held = line;
	}
	holder = &line->holder[(uintptr_t)lock / 8 % (LINE / 8)];
	rig_counts.locks += is_counted();
	rig_counts.handed_over += is_counted() && *holder && *holder != me;
	*holder = me;
	model_unlock();
	if (nr_held == NESTING)
		fail("too many locks are held");
	held[nr_held++] = line;
}

void rig_lock_end(const void *lock)
{
	unsigned int i = nr_held;

	while (i && held[i - 1]->nr != (uintptr_t)lock / LINE)
		i--;
	if (!i)
		fail("a lock is not held");
	for (; i < nr_held; i++)
		held[i - 1] = held[i];
	nr_held--;
}

/* Return: @accesses and @moved while a lock was held, of the lock with the most accesses. */
struct rig_counts rig_count_held(void)
{
	struct rig_counts most = { };
	struct line *line;

	for (line = first_held; line != &last_held; line = line->next_held)
		if (line->accesses > most.accesses) {
			most.accesses = line->accesses;
			most.moved = line->moved;
		}
	return most;
}

/* Start counting anew, in this thread or in all. The caches stay as they are. */
void rig_count_start(bool all)
{
	struct line *line;

	model_lock();
	for (line = first_held; line != &last_held; line = line->next_held) {
		line->accesses = 0;
		line->moved = 0;
	}
	rig_counts = (struct rig_counts) { };
	counted = all ? NULL : rig_this;
	model_unlock();
}

/* The functions that gcc calls */

void __tsan_init(void)
{
}

#define ACCESS(size)							\
void __tsan_read##size(void *p)						\
{									\
	rig_touch(p, size, false);					\
}									\
void __tsan_write##size(void *p)					\
{									\
	rig_touch(p, size, true);					\
}									\
void __tsan_unaligned_read##size(void *p)				\
{									\
	rig_touch(p, size, false);					\
}									\
void __tsan_unaligned_write##size(void *p)				\
{									\
	rig_touch(p, size, true);					\
}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *p, long size)
{
	rig_touch(p, size, false);
}

void __tsan_write_range(void *p, long size)
{
	rig_touch(p, size, true);
}

#define RMW(bits, type, name)						\
type __tsan_atomic##bits##_##name(volatile void *p, type value, int order)	\
{									\
	rig_touch((void *)p, bits / 8, true);				\
	return __atomic_##name((volatile type *)p, value, __ATOMIC_SEQ_CST);	\
}

#define ATOMIC(bits, type)						\
type __tsan_atomic##bits##_load(const volatile void *p, int order)	\
{									\
	rig_touch((void *)p, bits / 8, false);				\
	return __atomic_load_n((volatile type *)p, __ATOMIC_SEQ_CST);	\
}									\
void __tsan_atomic##bits##_store(volatile void *p, type value, int order)	\
{									\
	rig_touch((void *)p, bits / 8, true);				\
	__atomic_store_n((volatile type *)p, value, __ATOMIC_SEQ_CST);	\
}									\
type __tsan_atomic##bits##_exchange(volatile void *p, type value, int order)	\
{									\
	rig_touch((void *)p, bits / 8, true);				\
	return __atomic_exchange_n((volatile type *)p, value, __ATOMIC_SEQ_CST);	\
}									\
bool __tsan_atomic##bits##_compare_exchange_strong(volatile void *p, void *old, type new,	\
						   int order, int failed)	\
{									\
	rig_touch((void *)p, bits / 8, true);				\
	return __atomic_compare_exchange_n((volatile type *)p, (type *)old, new, false,	\
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
}									\
bool __tsan_atomic##bits##_compare_exchange_weak(volatile void *p, void *old, type new,	\
						 int order, int failed)	\
{									\
	return __tsan_atomic##bits##_compare_exchange_strong(p, old, new, order, failed);	\
}									\
RMW(bits, type, fetch_add)						\
RMW(bits, type, fetch_sub)						\
RMW(bits, type, fetch_and)						\
RMW(bits, type, fetch_or)						\
RMW(bits, type, fetch_xor)

ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned int)
ATOMIC(64, unsigned long)

void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
}
