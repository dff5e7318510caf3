/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clocks and kernel timers. CLOCK_MONOTONIC is the clock of the machine; CLOCK_REALTIME has
 * an offset from it that do_settimeofday64() changes, in this program only.
 */
#ifndef _RIG_TIME_H
#define _RIG_TIME_H

#include <linux/list.h>
#include <rig/lock.h>
#include <rig/seqlock.h>

#define HZ		250
#define TICK_NSEC	(NSEC_PER_SEC / HZ)
extern unsigned long rig_jiffies;
#define jiffies		READ_ONCE(rig_jiffies)
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define msecs_to_jiffies(ms)	DIV_ROUND_UP((unsigned long)(ms) * HZ, MSEC_PER_SEC)

#define KTIME_MAX	S64_MAX
#define ktime_to_ns(t)	((s64)(t))
#define ns_to_ktime(ns)	((ktime_t)(ns))

#ifdef RIG_CLOCK
/* The clock stands still, except that the program advances it. */
extern u64 rig_clock;
void rig_clock_advance(u64 ns);
#define rig_clock_ns(clock)	((void)(clock), __atomic_load_n(&rig_clock, __ATOMIC_RELAXED))
#else
static inline u64 rig_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * (u64)NSEC_PER_SEC + now.tv_nsec;
}
#endif

/* As with a seqcount, readers wait while the clock is set. */
extern seqcount_t rig_wall_seq;
extern s64 rig_wall_offset;

/* Number of times that the clock was set. */
extern u32 rig_wall_changes;

struct system_time_snapshot {
	ktime_t real;
	u32 clock_was_set_seq;
};

void ktime_get_snapshot(struct system_time_snapshot *snapshot);

/* Called at the end of ktime_get_snapshot(). */
extern void (*rig_at_snapshot)(void);

static inline u64 ktime_get_ns(void)
{
	return rig_clock_ns(CLOCK_MONOTONIC);
}

static inline u64 ktime_get_coarse_ns(void)
{
	return rig_clock_ns(CLOCK_MONOTONIC_COARSE);
}

#define RIG_REAL_NS(monotonic_ns) ({					\
	unsigned int _seq;						\
	u64 _now;							\
	do {								\
		_seq = read_seqcount_begin(&rig_wall_seq);		\
		_now = (monotonic_ns) + READ_ONCE(rig_wall_offset);	\
	} while (read_seqcount_retry(&rig_wall_seq, _seq));		\
	_now; })

static inline u64 ktime_get_real_ns(void)
{
	return RIG_REAL_NS(ktime_get_ns());
}

static inline u64 ktime_get_coarse_real_ns(void)
{
	return RIG_REAL_NS(ktime_get_coarse_ns());
}

#define ktime_get()			((ktime_t)ktime_get_ns())
#define ktime_get_mono_fast_ns()	ktime_get_ns()
#define ktime_get_boottime_ns()		ktime_get_ns()
#define ktime_get_coarse_boottime()	((ktime_t)ktime_get_coarse_ns())

enum tk_offsets { TK_OFFS_REAL, TK_OFFS_BOOT, TK_OFFS_TAI };

static inline ktime_t ktime_mono_to_any(ktime_t t, enum tk_offsets offset)
{
	return offset == TK_OFFS_REAL ? (ktime_t)RIG_REAL_NS((u64)t) : t;
}

struct timespec64 {
	time64_t tv_sec;
	long tv_nsec;
};

struct timespec64 ns_to_timespec64(s64 ns);
int do_settimeofday64(const struct timespec64 *to);

static inline s64 timespec64_to_ns(const struct timespec64 *ts)
{
	return (s64)ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
}

/* Time namespaces: each thread that has called rig_set_time_ns() has its own. */
struct timens_offsets {
	struct timespec64 monotonic;
	struct timespec64 boottime;
};

struct time_namespace {
	struct timens_offsets offsets;
};

struct nsproxy {
	struct time_namespace *time_ns;
};

extern struct nsproxy init_nsproxy;
extern struct time_namespace init_time_ns;
void rig_set_time_ns(s64 monotonic, s64 boottime);

void msleep(unsigned int ms);
void usleep_range(unsigned long min, unsigned long max);
void udelay(unsigned long us);

/* High-resolution timers, in the interrupt thread or the softirq thread of a virtual CPU */
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_ABS, HRTIMER_MODE_ABS_SOFT = 4, HRTIMER_MODE_ABS_HARD = 8 };
struct rig_hrtimer_base;

struct hrtimer {
	struct list_head	entry;		/* in its base; protected by the lock of the base */
	ktime_t			expires;
	clockid_t		clock;
	struct rig_hrtimer_base	*base;		/* NULL during migration */
	enum hrtimer_restart	(*function)(struct hrtimer *timer);
};

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode);
static inline ktime_t hrtimer_get_expires(const struct hrtimer *timer)
{
	return timer->expires;
}

bool hrtimer_is_queued(struct hrtimer *timer);
/* Number of calls of hrtimer_start() by the thread */
extern __thread unsigned long rig_alarms;
void hrtimer_start(struct hrtimer *timer, ktime_t expires, enum hrtimer_mode mode);
int hrtimer_try_to_cancel(struct hrtimer *timer);
int hrtimer_cancel(struct hrtimer *timer);

#endif /* _RIG_TIME_H */
