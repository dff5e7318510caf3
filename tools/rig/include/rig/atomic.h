/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared memory accesses: each with exactly the ordering guaranteed by the kernel's memory
 * model. The sanitizers understand these builtins.
 *
 * A read-modify-write operation that returns a value is fully ordered; one without a return
 * value is relaxed. READ_ONCE() and WRITE_ONCE() are relaxed.
 */
#ifndef _RIG_ATOMIC_H
#define _RIG_ATOMIC_H

#include <rig/base.h>

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (typeof(x))(v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, (typeof(*(p)))(v), __ATOMIC_RELEASE)
#define smp_store_mb(x, v)	do { WRITE_ONCE(x, v); smp_mb(); } while (0)

/* An intended race: neither ordered nor atomic, and not reported. */
#if defined(__SANITIZE_THREAD__) && !defined(RIG_COUNT)
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#define data_race(expr) ({						\
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);			\
	__auto_type _value = (expr);					\
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);			\
	_value; })
#else
#define data_race(expr)	(expr)
#endif

/* ThreadSanitizer ignores fences; code that relies on them needs acquire and release, too. */
#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb__after_atomic()	smp_mb()

#define cmpxchg(p, old, new) ({						\
	typeof(*(p)) _old = (old);					\
	__atomic_compare_exchange_n(p, &_old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);\
	_old; })
#define try_cmpxchg(p, old, new) ({					\
	__atomic_compare_exchange_n(p, old, new, false,			\
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); })
#define xchg(p, new)	__atomic_exchange_n(p, new, __ATOMIC_SEQ_CST)

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
typedef struct { long counter; } atomic_long_t;
#define ATOMIC_INIT(i)		{ (i) }

#define RIG_ATOMIC(prefix, counter_t, value)						\
static inline value prefix##_read(const counter_t *v)					\
{											\
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);				\
}											\
static inline value prefix##_read_acquire(const counter_t *v)				\
{											\
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);				\
}											\
static inline void prefix##_set(counter_t *v, value i)					\
{											\
	__atomic_store_n(&v->counter, i, __ATOMIC_RELAXED);				\
}											\
static inline void prefix##_set_release(counter_t *v, value i)				\
{											\
	__atomic_store_n(&v->counter, i, __ATOMIC_RELEASE);				\
}											\
static inline value prefix##_rig_add(counter_t *v, value i, int order)			\
{											\
	return __atomic_add_fetch(&v->counter, i, order);				\
}											\
static inline void prefix##_add(value i, counter_t *v)					\
{											\
	prefix##_rig_add(v, i, __ATOMIC_RELAXED);					\
}											\
static inline void prefix##_sub(value i, counter_t *v)					\
{											\
	prefix##_rig_add(v, -i, __ATOMIC_RELAXED);					\
}											\
static inline void prefix##_inc(counter_t *v)						\
{											\
	prefix##_rig_add(v, 1, __ATOMIC_RELAXED);					\
}											\
static inline void prefix##_dec(counter_t *v)						\
{											\
	prefix##_rig_add(v, -1, __ATOMIC_RELAXED);					\
}											\
static inline value prefix##_add_return(value i, counter_t *v)				\
{											\
	return prefix##_rig_add(v, i, __ATOMIC_SEQ_CST);				\
}											\
static inline value prefix##_sub_return(value i, counter_t *v)				\
{											\
	return prefix##_rig_add(v, -i, __ATOMIC_SEQ_CST);				\
}											\
static inline value prefix##_inc_return(counter_t *v)					\
{											\
	return prefix##_rig_add(v, 1, __ATOMIC_SEQ_CST);				\
}											\
static inline value prefix##_dec_return(counter_t *v)					\
{											\
	return prefix##_rig_add(v, -1, __ATOMIC_SEQ_CST);				\
}											\
static inline value prefix##_dec_return_release(counter_t *v)				\
{											\
	return prefix##_rig_add(v, -1, __ATOMIC_RELEASE);				\
}											\
static inline value prefix##_fetch_add(value i, counter_t *v)				\
{											\
	return prefix##_rig_add(v, i, __ATOMIC_SEQ_CST) - i;				\
}											\
static inline bool prefix##_dec_and_test(counter_t *v)					\
{											\
	return !prefix##_rig_add(v, -1, __ATOMIC_SEQ_CST);				\
}											\
static inline value prefix##_xchg(counter_t *v, value new)				\
{											\
	return xchg(&v->counter, new);							\
}											\
static inline bool prefix##_try_cmpxchg(counter_t *v, value *old, value new)		\
{											\
	return try_cmpxchg(&v->counter, old, new);					\
}											\
static inline value prefix##_cmpxchg(counter_t *v, value old, value new)		\
{											\
	return cmpxchg(&v->counter, old, new);						\
}											\
static inline bool prefix##_add_unless(counter_t *v, value a, value unless)		\
{											\
	value old = prefix##_read(v);							\
											\
	do {										\
		if (old == unless)							\
			return false;							\
	} while (!prefix##_try_cmpxchg(v, &old, old + a));				\
	return true;									\
}											\
static inline bool prefix##_inc_unless_negative(counter_t *v)				\
{											\
	value old = prefix##_read(v);							\
											\
	do {										\
		if (old < 0)								\
			return false;							\
	} while (!prefix##_try_cmpxchg(v, &old, old + 1));				\
	return true;									\
}

RIG_ATOMIC(atomic, atomic_t, int)
RIG_ATOMIC(atomic64, atomic64_t, s64)
RIG_ATOMIC(atomic_long, atomic_long_t, long)

/* Bits, atomic unless the name starts with two underscores */
#define BITS_TO_LONGS(nr)		DIV_ROUND_UP(nr, BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]
#define BIT_MASK(nr)			(1UL << ((nr) % BITS_PER_LONG))
#define BIT_WORD(nr)			((nr) / BITS_PER_LONG)

static inline unsigned long rig_bit_or(unsigned long nr, volatile unsigned long *p, int order)
{
	return __atomic_fetch_or(p + BIT_WORD(nr), BIT_MASK(nr), order) & BIT_MASK(nr);
}

static inline unsigned long rig_bit_clear(unsigned long nr, volatile unsigned long *p, int order)
{
	return __atomic_fetch_and(p + BIT_WORD(nr), ~BIT_MASK(nr), order) & BIT_MASK(nr);
}

#define clear_bit_unlock(nr, p)		((void)rig_bit_clear(nr, p, __ATOMIC_RELEASE))
#define test_and_set_bit(nr, p)		(!!rig_bit_or(nr, p, __ATOMIC_SEQ_CST))
#define test_and_set_bit_lock(nr, p)	(!!rig_bit_or(nr, p, __ATOMIC_ACQUIRE))

static inline bool test_bit(unsigned long nr, const volatile unsigned long *p)
{
	return __atomic_load_n(p + BIT_WORD(nr), __ATOMIC_RELAXED) & BIT_MASK(nr);
}

static inline void __set_bit(unsigned long nr, volatile unsigned long *p)
{
	p[BIT_WORD(nr)] |= BIT_MASK(nr);
}

static inline void __clear_bit(unsigned long nr, volatile unsigned long *p)
{
	p[BIT_WORD(nr)] &= ~BIT_MASK(nr);
}

static inline bool __test_and_set_bit(unsigned long nr, volatile unsigned long *p)
{
	bool was = p[BIT_WORD(nr)] & BIT_MASK(nr);

	__set_bit(nr, p);
	return was;
}

static inline bool __test_and_clear_bit(unsigned long nr, volatile unsigned long *p)
{
	bool was = p[BIT_WORD(nr)] & BIT_MASK(nr);

	__clear_bit(nr, p);
	return was;
}

static inline unsigned long find_next_bit(const unsigned long *p, unsigned long size,
					  unsigned long from)
{
	while (from < size && !test_bit(from, p))
		from++;
	return from < size ? from : size;
}

#define find_first_bit(p, size)		find_next_bit(p, size, 0)
#define for_each_set_bit(bit, p, size)					\
	for ((bit) = find_first_bit(p, size); (bit) < (size);		\
	     (bit) = find_next_bit(p, size, (bit) + 1))

static inline unsigned int bitmap_weight(const unsigned long *p, unsigned int bits)
{
	unsigned int bit, weight = 0;

	for_each_set_bit(bit, p, bits)
		weight++;
	return weight;
}

static inline bool bitmap_empty(const unsigned long *p, unsigned int bits)
{
	return find_first_bit(p, bits) == bits;
}

static inline void bitmap_fill(unsigned long *p, unsigned int bits)
{
	memset(p, 0xff, BITS_TO_LONGS(bits) * sizeof(*p));
}

static inline void bitmap_clear(unsigned long *p, unsigned int start, unsigned int bits)
{
	while (bits--)
		__clear_bit(start++, p);
}

#define cpu_relax()	rig_relax()
void rig_relax(void);

#endif /* _RIG_ATOMIC_H */
