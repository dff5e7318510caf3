/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Warnings and messages, and reference counters, which warn on misuse. A warning does not
 * stop the program; it makes the run fail.
 */
#ifndef _RIG_BUG_H
#define _RIG_BUG_H

#include <rig/atomic.h>

bool rig_warn(const char *file, int line, const char *condition);
unsigned int rig_warnings(void);
extern bool rig_stop_at_warning;
int rig_printk(const char *fmt, ...) __printf(1, 2);

#define WARN_ON(condition) ({						\
	bool _warn = !!(condition);					\
	if (unlikely(_warn))						\
		rig_warn(__FILE__, __LINE__, #condition);		\
	unlikely(_warn); })
#define WARN_ON_ONCE(condition)	WARN_ON(condition)
#define WARN(condition, ...)	WARN_ON(condition)
#define WARN_ONCE(condition, ...) WARN_ON(condition)
#define CHECK_DATA_CORRUPTION(condition, ...) WARN_ON(condition)
#define BUG()			do { WARN_ON(true); __builtin_trap(); } while (0)
#define BUG_ON(condition)	do { if (WARN_ON(condition)) __builtin_trap(); } while (0)

#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif
#define pr_err(fmt, ...)	rig_printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)	rig_printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...)	rig_printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_cont(fmt, ...)	rig_printk(fmt, ##__VA_ARGS__)
#define pr_warn_once(fmt, ...)	pr_warn(fmt, ##__VA_ARGS__)

typedef struct { atomic_t refs; } refcount_t;
#define REFCOUNT_INIT(n)	{ ATOMIC_INIT(n) }

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline unsigned int refcount_read(const refcount_t *r)
{
	return atomic_read(&r->refs);
}

static inline void refcount_inc(refcount_t *r)
{
	WARN_ON(atomic_rig_add(&r->refs, 1, __ATOMIC_RELAXED) <= 1);
}

static inline void refcount_add(int n, refcount_t *r)
{
	WARN_ON(atomic_rig_add(&r->refs, n, __ATOMIC_RELAXED) <= n);
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	int refs = atomic_read(&r->refs);

	do {
		if (!refs)
			return false;
	} while (!__atomic_compare_exchange_n(&r->refs.counter, &refs, refs + 1, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* Each put is a release; only the last one acquires. */
static inline bool refcount_sub_and_test(int n, refcount_t *r)
{
	int left = atomic_rig_add(&r->refs, -n, __ATOMIC_RELEASE);

	WARN_ON(left < 0);
	return !left && !atomic_read_acquire(&r->refs);
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return refcount_sub_and_test(1, r);
}

static inline bool refcount_dec_not_one(refcount_t *r)
{
	int refs = atomic_read(&r->refs);

	do {
		if (refs == 1)
			return false;
		WARN_ON(refs <= 0);
	} while (!__atomic_compare_exchange_n(&r->refs.counter, &refs, refs - 1, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return true;
}

#endif /* _RIG_BUG_H */
