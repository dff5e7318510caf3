// SPDX-License-Identifier: GPL-2.0
/*
 * CLOCK_REALTIME, the tick, and hrtimers.
 *
 * Each virtual CPU has one thread for its hard interrupts and one for its softirqs. An
 * hrtimer belongs to the CPU on which it was last started. Its function runs without the
 * lock of the base; hrtimer_cancel() waits while @running is set.
 */
#include <rig/count.h>
#include <rig/mem.h>
#include <rig/work.h>
#include <stdio.h>

#include "../rig.h"

seqcount_t rig_wall_seq;
s64 rig_wall_offset = 1700000000LL * NSEC_PER_SEC;
unsigned long rig_jiffies = 1000;
__thread unsigned long rig_alarms;
#ifdef RIG_CLOCK
u64 rig_clock = 1000 * NSEC_PER_SEC;
#endif

struct timespec64 ns_to_timespec64(s64 ns)
{
	struct timespec64 ts = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };

	if (ts.tv_nsec < 0) {
		ts.tv_nsec += NSEC_PER_SEC;
		ts.tv_sec--;
	}
	return ts;
}

/* hrtimers */

struct rig_hrtimer_base {
	spinlock_t		lock;		/* protects the base */
	struct list_head	timers;		/* unsorted: the list is short */
	struct hrtimer		*running;
	u32			changes;	/* futex word of the thread */
	u32			seen;		/* the value of @changes that it has served */
	bool			sleeps;
} __aligned(64);

/* Two bases for each CPU: of its hard interrupts and of its softirqs */
static struct rig_hrtimer_base bases[2 * RIG_CPUS];
#define for_each_base(base)	for ((base) = bases; (base) < bases + 2 * nr_cpu_ids; (base)++)

static bool is_soft(const struct rig_hrtimer_base *base)
{
	return (base - bases) % 2;
}

static struct rig_hrtimer_base *base_here(bool soft)
{
	/* Timers of softirqs migrate, as the kernel migrates those of an idle CPU. */
	unsigned int cpu = soft ? (rig_random() >> 32) % nr_cpu_ids : raw_smp_processor_id();

	return &bases[2 * cpu + soft];
}

static s64 hrtimer_mono_at(const struct hrtimer *timer, s64 wall_offset)
{
	if (timer->expires == KTIME_MAX)
		return KTIME_MAX;
	return timer->clock == CLOCK_REALTIME ? timer->expires - wall_offset : timer->expires;
}

static s64 hrtimer_mono(const struct hrtimer *timer)
{
	return hrtimer_mono_at(timer, READ_ONCE(rig_wall_offset));
}

static void base_kick(struct rig_hrtimer_base *base)
{
	__atomic_fetch_add(&base->changes, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&base->sleeps, __ATOMIC_SEQ_CST))
		rig_futex_wake(&base->changes);
}

static unsigned long jiffies_now(void)
{
	return 1000 + ktime_get_ns() / TICK_NSEC;
}

#ifdef RIG_CLOCK
/* Let interrupts and reapers run until nothing is due. */
void rig_clock_advance(u64 ns)
{
	struct rig_hrtimer_base *base;

	__atomic_add_fetch(&rig_clock, ns, __ATOMIC_SEQ_CST);
	WRITE_ONCE(rig_jiffies, jiffies_now());
	for_each_base(base)
		base_kick(base);
	rig_quiet();
}
#endif

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode)
{
	*timer = (struct hrtimer) {
		.clock = clock, .base = base_here(mode == HRTIMER_MODE_ABS_SOFT),
	};
	INIT_LIST_HEAD(&timer->entry);
}

/* The base does not change while its lock is held. */
static struct rig_hrtimer_base *base_lock(struct hrtimer *timer)
{
	struct rig_hrtimer_base *base;

	for (;;) {
		base = smp_load_acquire(&timer->base);
		if (base) {
			spin_lock(&base->lock);
			if (base == READ_ONCE(timer->base))
				return base;
			spin_unlock(&base->lock);
		}
		cpu_relax();
	}
}

/* Switch to the current CPU, unless the function is running. */
static struct rig_hrtimer_base *base_switch(struct hrtimer *timer, struct rig_hrtimer_base *base)
{
	struct rig_hrtimer_base *here = base_here(is_soft(base));

	if (base == here || base->running == timer)
		return base;
	WRITE_ONCE(timer->base, NULL);
	spin_unlock(&base->lock);
	spin_lock(&here->lock);
	smp_store_release(&timer->base, here);
	return here;
}

void hrtimer_start(struct hrtimer *timer, ktime_t expires, enum hrtimer_mode mode)
{
	struct rig_hrtimer_base *base = base_lock(timer);
	struct hrtimer *other;
	bool first = true;

	rig_alarms++;
	list_del_init(&timer->entry);
	base = base_switch(timer, base);
	timer->expires = expires;
	list_for_each_entry(other, &base->timers, entry)
		if (hrtimer_mono(other) <= hrtimer_mono(timer))
			first = false;
	list_add_tail(&timer->entry, &base->timers);
	spin_unlock(&base->lock);
	if (first)
		base_kick(base);
}

bool hrtimer_is_queued(struct hrtimer *timer)
{
	struct rig_hrtimer_base *base = base_lock(timer);
	bool queued = !list_empty(&timer->entry);

	spin_unlock(&base->lock);
	return queued;
}

/* Return: 1 if it was pending, 0 if not, -1 if its function is running. */
int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	struct rig_hrtimer_base *base = base_lock(timer);
	int ret = -1;

	if (base->running != timer) {
		ret = !list_empty(&timer->entry);
		list_del_init(&timer->entry);
	}
	spin_unlock(&base->lock);
	return ret;
}

int hrtimer_cancel(struct hrtimer *timer)
{
	int ret;

	while ((ret = hrtimer_try_to_cancel(timer)) < 0)
		cpu_relax();
	return ret;
}

unsigned int rig_hrtimers_armed(void)
{
	struct rig_hrtimer_base *base;
	struct hrtimer *timer;
	unsigned int nr = 0;

	for_each_base(base) {
		spin_lock(&base->lock);
		list_for_each_entry(timer, &base->timers, entry)
			nr++;
		spin_unlock(&base->lock);
	}
	return nr;
}

/* Whether timers may be due. */
bool rig_hrtimers_busy(void)
{
	struct rig_hrtimer_base *base;

	for_each_base(base)
		if (__atomic_load_n(&base->seen, __ATOMIC_SEQ_CST) !=
		    __atomic_load_n(&base->changes, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

static struct hrtimer *base_first(struct rig_hrtimer_base *base, s64 wall_offset)
{
	struct hrtimer *timer, *first = NULL;

	list_for_each_entry(timer, &base->timers, entry)
		if (!first || hrtimer_mono_at(timer, wall_offset) <
			      hrtimer_mono_at(first, wall_offset))
			first = timer;
	return first;
}

/*
 * An interrupt: run all timers that are due. Return: the time to sleep in ns. As in the
 * kernel, the clocks are read once at the start, so a timer that restarts itself uses the
 * CLOCK_REALTIME of that time.
 */
static s64 base_run(struct rig_hrtimer_base *base)
{
	s64 now = ktime_get_ns(), wall_offset = READ_ONCE(rig_wall_offset), left = NSEC_PER_SEC;
	struct hrtimer *timer;

	spin_lock(&base->lock);
	while ((timer = base_first(base, wall_offset))) {
		if (hrtimer_mono_at(timer, wall_offset) > now) {
			left = hrtimer_mono(timer) - (s64)ktime_get_ns();
			break;
		}
		list_del_init(&timer->entry);
		base->running = timer;
		spin_unlock(&base->lock);

		WARN_ON(timer->function(timer) != HRTIMER_NORESTART);
		WARN_ON(in_atomic());

		spin_lock(&base->lock);
		base->running = NULL;
	}
	spin_unlock(&base->lock);
	return clamp_t(s64, left, 0, NSEC_PER_SEC);
}

static void *base_main(void *arg)
{
	struct rig_hrtimer_base *base = arg;
	u32 changes;
	s64 sleep;

	if (is_soft(base))
		rig_adopt("softirq", RIG_SOFTIRQ);
	else
		rig_adopt("hardirq", RIG_HARDIRQ);
	rig_self()->cpu = (base - bases) / 2;
	for (;;) {
		__atomic_store_n(&base->sleeps, true, __ATOMIC_SEQ_CST);
		changes = __atomic_load_n(&base->changes, __ATOMIC_SEQ_CST);
		sleep = base_run(base);
		__atomic_store_n(&base->seen, changes, __ATOMIC_SEQ_CST);
		if (sleep)
			rig_futex_wait(&base->changes, changes, sleep);
		__atomic_store_n(&base->sleeps, false, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* The tick counts jiffies and runs the irq_work items. */

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t irq_work_lock = PTHREAD_MUTEX_INITIALIZER;
static struct irq_work *irq_works, *irq_work_running;
static u32 irq_work_changes;

bool irq_work_queue(struct irq_work *work)
{
	bool was_pending;

	pthread_mutex_lock(&irq_work_lock);
	was_pending = work->pending;
	if (!was_pending) {
		work->pending = true;
		work->next = irq_works;
		irq_works = work;
	}
	pthread_mutex_unlock(&irq_work_lock);
	__atomic_fetch_add(&irq_work_changes, 1, __ATOMIC_SEQ_CST);
	rig_futex_wake(&irq_work_changes);
	return !was_pending;
}

void irq_work_sync(struct irq_work *work)
{
	bool busy;

	might_sleep();
	do {
		pthread_mutex_lock(&irq_work_lock);
		busy = work->pending || irq_work_running == work;
		pthread_mutex_unlock(&irq_work_lock);
		if (busy)
			cpu_relax();
	} while (busy);
}

static struct irq_work *irq_work_next(void)
{
	struct irq_work *work;

	pthread_mutex_lock(&irq_work_lock);
	work = irq_works;
	if (work) {
		irq_works = work->next;
		work->pending = false;
	}
	irq_work_running = work;
	pthread_mutex_unlock(&irq_work_lock);
	return work;
}

static void *tick_main(void *unused)
{
	struct irq_work *work;
	u32 changes;

	rig_adopt("tick", RIG_HARDIRQ);
	for (;;) {
		changes = __atomic_load_n(&irq_work_changes, __ATOMIC_ACQUIRE);
		WRITE_ONCE(rig_jiffies, jiffies_now());
		while ((work = irq_work_next())) {
			/* The write section that queued it has interrupts off. */
			pthread_mutex_lock(&clock_lock);
			pthread_mutex_unlock(&clock_lock);
			work->func(work);
		}
		rig_futex_wait(&irq_work_changes, changes, TICK_NSEC);
	}
	return NULL;
}

/* CLOCK_REALTIME: clock_lock is as the write section of a seqcount. */

static struct notifier_block *clock_notifiers;
u32 rig_wall_changes;
void (*rig_at_snapshot)(void);

void ktime_get_snapshot(struct system_time_snapshot *snapshot)
{
	unsigned int seq;
	void (*fn)(void);

	fn = READ_ONCE(rig_at_snapshot);
	do {
		seq = read_seqcount_begin(&rig_wall_seq);
		snapshot->clock_was_set_seq = READ_ONCE(rig_wall_changes);
		snapshot->real = ns_to_ktime(ktime_get_ns() + READ_ONCE(rig_wall_offset));
	} while (read_seqcount_retry(&rig_wall_seq, seq));
	if (unlikely(fn))
		fn();
}

int pvclock_gtod_register_notifier(struct notifier_block *nb)
{
	pthread_mutex_lock(&clock_lock);
	nb->next = clock_notifiers;
	clock_notifiers = nb;
	nb->notifier_call(nb, true, NULL);
	pthread_mutex_unlock(&clock_lock);
	return 0;
}

int pvclock_gtod_unregister_notifier(struct notifier_block *nb)
{
	struct notifier_block **p;

	pthread_mutex_lock(&clock_lock);
	for (p = &clock_notifiers; *p; p = &(*p)->next) {
		if (*p == nb) {
			*p = nb->next;
			break;
		}
	}
	pthread_mutex_unlock(&clock_lock);
	return 0;
}

/* Time namespaces */

struct time_namespace init_time_ns;
struct nsproxy init_nsproxy = { .time_ns = &init_time_ns };

void rig_set_time_ns(s64 monotonic, s64 boottime)
{
	static __thread struct time_namespace ns;
	static __thread struct nsproxy proxy;

	ns.offsets.monotonic = ns_to_timespec64(monotonic);
	ns.offsets.boottime = ns_to_timespec64(boottime);
	proxy.time_ns = &ns;
	current->nsproxy = &proxy;
}

int do_settimeofday64(const struct timespec64 *to)
{
	s64 ns = to->tv_sec * NSEC_PER_SEC + to->tv_nsec;
	struct rig_hrtimer_base *base;
	struct notifier_block *nb;

	pthread_mutex_lock(&clock_lock);
	write_seqcount_begin(&rig_wall_seq);
	for (nb = clock_notifiers; nb; nb = nb->next)
		nb->notifier_call(nb, true, NULL);
	WRITE_ONCE(rig_wall_offset, ns - (s64)ktime_get_ns());
	WRITE_ONCE(rig_wall_changes, rig_wall_changes + 1);
	write_seqcount_end(&rig_wall_seq);
	pthread_mutex_unlock(&clock_lock);
	for_each_base(base)
		base_kick(base);
	return 0;
}

void rig_time_start(void)
{
	struct rig_hrtimer_base *base;

	WRITE_ONCE(rig_jiffies, 1000 + ktime_get_ns() / TICK_NSEC);
	for_each_base(base) {
		spin_lock_init(&base->lock);
		INIT_LIST_HEAD(&base->timers);
		rig_thread(base_main, base);
	}
	rig_thread(tick_main, NULL);
}
