// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's timer_list, to count its cache lines like those of the module: kernel/time/timer.c
 * unchanged, without NO_HZ, which adds a base and no accesses to timers.
 */
#include <rig/task.h>
#include <rig/work.h>

#include "timer_list.h"

/* The rig and the C library have functions of these names. */
#define timer_delete			kernel_timer_delete
#define msleep				kernel_msleep
#define schedule_timeout		kernel_schedule_timeout
#define schedule_timeout_interruptible	kernel_schedule_timeout_interruptible
#define schedule_timeout_idle		kernel_schedule_timeout_idle

/* What it needs of other headers, mostly for functions that are not called */
#undef jiffies
#undef lockdep_init_map
#undef lock_map_acquire
#undef lock_map_release
static unsigned long jiffies = 1000;
#define INITIAL_JIFFIES			1000
#define time_before_eq(a, b)		time_after_eq(b, a)
#define time_is_after_jiffies(a)	time_before(jiffies, a)
#define jiffies_to_msecs(j)		((j) * (MSEC_PER_SEC / HZ))
#define raw_spin_lock_init(lock)	spin_lock_init(lock)
#define raw_spin_lock(lock)		spin_lock(lock)
#define raw_spin_unlock(lock)		spin_unlock(lock)
#define raw_spin_lock_irq(lock)		spin_lock_irq(lock)
#define raw_spin_unlock_irq(lock)	spin_unlock_irq(lock)
#define raw_spin_lock_irqsave(lock, flags)	spin_lock_irqsave(lock, flags)
#define raw_spin_unlock_irqrestore(lock, flags)	spin_unlock_irqrestore(lock, flags)
#define lockdep_assert_preemption_enabled()	((void)0)
#define lockdep_init_map(...)		((void)0)
#define lock_map_acquire(map)		((void)0)
#define lock_map_release(map)		((void)0)
#define trace_timer_init(...)		((void)0)
#define trace_timer_start(...)		((void)0)
#define trace_timer_cancel(...)		((void)0)
#define trace_timer_expire_entry(...)	((void)0)
#define trace_timer_expire_exit(...)	((void)0)
#define trace_timer_base_idle(...)	((void)0)
#define tmigr_handle_remote()		((void)0)
#define tmigr_requires_handle_remote()	false
#define tick_nohz_full_cpu(cpu)		false
#define wake_up_nohz_cpu(cpu)		((void)0)
#define hrtimer_run_queues()		((void)0)
#define account_process_tick(...)	((void)0)
#define rcu_sched_clock_irq(user)	((void)0)
#define sched_tick()			((void)0)
#define run_posix_cpu_timers()		((void)0)
#define posix_cputimers_init_work()	((void)0)
#define raise_softirq(nr)		((void)0)
#define open_softirq(nr, fn)		((void)(fn))
#define MAX_SCHEDULE_TIMEOUT		LONG_MAX
#define KERN_ERR
#define printk				rig_printk
#define dump_stack()			((void)0)
#define ktime_add_us(time, us)		((time) + (us))
#define schedule_hrtimeout_range(...)	0
#define __visible
#define __sched
#define __latent_entropy
#define ____cacheline_aligned		__aligned(64)
#define __cacheline_aligned_in_smp	__aligned(64)

#include <timer_list/timer_types.h>
#include <timer_list/timer.h>
#include <timer_list/timer.c>

static_assert(sizeof(struct timer_list) == TIMER_LIST_SIZE);

void timer_list_start(void)
{
	init_timers();
}

void timer_list_init(void *timer, void (*fn)(void *timer))
{
	timer_setup((struct timer_list *)timer, (void (*)(struct timer_list *))fn, 0);
}

void timer_list_mod(void *timer, unsigned long delay)
{
	mod_timer(timer, jiffies + delay);
}

void timer_list_cancel(void *timer)
{
	timer_delete(timer);
}

void timer_list_advance(unsigned long ticks)
{
	jiffies += ticks;
	run_timer_softirq();
}
