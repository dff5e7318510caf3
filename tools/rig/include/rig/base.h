/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types, compiler attributes, numbers: the part of the kernel's headers without further
 * dependencies.
 */
#ifndef _RIG_BASE_H
#define _RIG_BASE_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* As in the kernel, 64-bit types are long long on every architecture. */
typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16;
typedef unsigned int u32, __u32;
typedef unsigned long long u64, __u64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32;
typedef long long s64, __s64;
typedef u16 __le16, __be16;
typedef u32 __le32, __be32, __wsum;
typedef u64 __le64, __be64;
typedef unsigned int __poll_t;
typedef unsigned int gfp_t;
typedef unsigned int fmode_t;
typedef unsigned short umode_t;
typedef s64 ktime_t;
typedef s64 time64_t;

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

#define PAGE_SIZE	4096UL

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define __aligned(x)	__attribute__((aligned(x)))
#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#define __maybe_unused	__attribute__((unused))
#define __must_check	__attribute__((warn_unused_result))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define __cold		__attribute__((cold))
#define __weak		__attribute__((weak))
#define __noreturn	__attribute__((noreturn))
#undef __attribute_const__
#define __attribute_const__ __attribute__((const))
#define noinline	__attribute__((noinline))
#define fallthrough	__attribute__((fallthrough))
#define __init
#define __exit
#define __read_mostly
#define __user
#define __iomem
#define __force
#define __rcu
#define __bitwise
#define __percpu
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define __acquire(x)	((void)0)
#define __release(x)	((void)0)
#define barrier()	__asm__ __volatile__("" ::: "memory")
#define OPTIMIZER_HIDE_VAR(variable)	__asm__("" : "+r" (variable))

/* There is only one text section. */
#define EXPORT_SYMBOL(symbol)
/* CONFIG_DEBUG_OBJECTS is off. */
struct debug_obj_descr { };
#define debug_object_init(addr, descr)			((void)(addr))
#define debug_object_activate(addr, descr)		((void)(addr))
#define debug_object_deactivate(addr, descr)		((void)(addr))
#define debug_object_assert_init(addr, descr)		((void)(addr))

/* CONFIG_DEBUG_OBJECTS is off. */
struct debug_obj_descr;
#define debug_object_init(addr, descr)			((void)(addr))
#define debug_object_activate(addr, descr)		((void)(addr))
#define debug_object_deactivate(addr, descr)		((void)(addr))
#define debug_object_assert_init(addr, descr)		((void)(addr))
#define EXPORT_SYMBOL_GPL(symbol)
#define EXPORT_PER_CPU_SYMBOL_GPL(symbol)

#define SMP_CACHE_BYTES	64
#define ____cacheline_aligned		__aligned(64)
#define ____cacheline_aligned_in_smp	__aligned(64)

#define __same_type(a, b)	__builtin_types_compatible_p(typeof(a), typeof(b))
#undef static_assert
#define static_assert(expr, ...)	_Static_assert(expr, #expr)
#define BUILD_BUG_ON(condition)		_Static_assert(!(condition), #condition)
#define offsetofend(type, member)	(offsetof(type, member) + sizeof(((type *)0)->member))
#define DECLARE_FLEX_ARRAY(type, name)	struct { struct { } __empty_##name; type name[]; }
#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))

#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		(~0ULL)
#define S64_MAX		((s64)(U64_MAX >> 1))
#define BITS_PER_LONG	64
#define BITS_PER_BYTE	8
#define BIT(nr)		(1UL << (nr))
#define BIT_ULL(nr)	(1ULL << (nr))
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))

/* Each argument is evaluated once, as in the kernel. */
#define min(a, b)	({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b)	({ typeof(a) _a = (a); typeof(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(type, a, b)	({ type _a = (a); type _b = (b); _a < _b ? _a : _b; })
#define max_t(type, a, b)	({ type _a = (a); type _b = (b); _a > _b ? _a : _b; })
#define min3(a, b, c)	({ typeof(a) _m = min(a, b); typeof(c) _c = (c); _m < _c ? _m : _c; })
#define clamp(v, lo, hi)	({ typeof(v) _v = (v), _l = (lo), _h = (hi);		\
				   _v < _l ? _l : _v > _h ? _h : _v; })
#define clamp_t(type, v, lo, hi) clamp((type)(v), (type)(lo), (type)(hi))
#define swap(a, b)	do { typeof(a) _t = (a); (a) = (b); (b) = _t; } while (0)
#define roundup(x, y)	((((x) + (y) - 1) / (y)) * (y))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)
#define struct_size(p, member, n)	(sizeof(*(p)) + sizeof(*(p)->member) * (size_t)(n))
#define array_index_nospec(index, size)	(index)

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rem)
{
	*rem = a % b;
	return a / b;
}

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

static inline unsigned long __fls(unsigned long x)
{
	return BITS_PER_LONG - 1 - __builtin_clzl(x);
}

static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline int fls_long(unsigned long x)
{
	return fls64(x);
}

#define __ffs(x)		__builtin_ctzl(x)
#define __ffs64(x)		__builtin_ctzll(x)
#define hweight_long(x)		((unsigned int)__builtin_popcountl(x))

static inline u32 rol32(u32 word, unsigned int shift)
{
	return (word << (shift & 31)) | (word >> (-shift & 31));
}

static inline u64 rol64(u64 word, unsigned int shift)
{
	return (word << (shift & 63)) | (word >> (-shift & 63));
}

/* Little endian, as the machines that run the rig */
#define RIG_LOAD(type, p)	({ type _v; memcpy(&_v, p, sizeof(_v)); _v; })
#define get_unaligned_le16(p)	RIG_LOAD(u16, p)
#define get_unaligned_le32(p)	RIG_LOAD(u32, p)
#define get_unaligned_le64(p)	RIG_LOAD(u64, p)
#define le16_to_cpup(p)		RIG_LOAD(u16, p)
#define le32_to_cpup(p)		RIG_LOAD(u32, p)
#define le64_to_cpup(p)		RIG_LOAD(u64, p)
#define le32_to_cpu(x)		(x)
#define le64_to_cpu(x)		(x)
#define IS_ALIGNED(x, a)	(((x) & ((typeof(x))(a) - 1)) == 0)

#define NSEC_PER_SEC	1000000000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_USEC	1000L
#define MSEC_PER_SEC	1000L

#undef isascii
#define isascii(c)	(((unsigned char)(c)) <= 0x7f)

ssize_t strscpy(char *to, const char *from, size_t size);
void *memchr_inv(const void *from, int c, size_t size);
int scnprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
int snprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);

#include <linux/const.h>
#include <linux/kconfig.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/poison.h>
#include <linux/log2.h>

#endif /* _RIG_BASE_H */
