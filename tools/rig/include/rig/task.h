/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks, contexts and CPUs.
 *
 * Every thread of the program is a task. A virtual CPU is a number of a task, which may
 * change whenever the task could be preempted; it selects the copy of a per-CPU variable and
 * the shard of a wheel. Several tasks may run on one virtual CPU at once, so per-CPU counters
 * are atomic here.
 *
 * Interrupts are separate threads. They run concurrently with the tasks of their CPU instead
 * of interrupting them: the rig does not detect code that fails to disable them.
 */
#ifndef _RIG_TASK_H
#define _RIG_TASK_H

#include <rig/bug.h>

#define TASK_RUNNING		0
#define TASK_INTERRUPTIBLE	1
#define TASK_UNINTERRUPTIBLE	2
#define TASK_KILLABLE		0x102
#define TASK_IDLE		0x402
#define TASK_COMM_LEN		16

struct mem_cgroup;
struct mm_struct;
struct module;
struct nsproxy;

struct task_struct {
	u32			state;		/* futex word of a sleeping task */
	pid_t			pid;
	int			refs;
	bool			is_kthread;
	unsigned int		flags;		/* PF_*, see uring.h */
	bool			should_stop;
	bool			sleeps;		/* in schedule() */
	u8			signals;	/* RIG_SIGNAL_*, see fs.h */
	int			result;
	int			(*fn)(void *data);
	void			*data;
	unsigned long		thread;		/* pthread_t */
	char			*stack;		/* bottom of THREAD_SIZE bytes */
	unsigned int		fail_nth;	/* number of allocations until one fails; 0: none */
	struct mm_struct	*mm;
	struct nsproxy		*nsproxy;	/* see time.h */
	char			comm[TASK_COMM_LEN];
};

enum rig_context { RIG_TASK, RIG_HARDIRQ, RIG_SOFTIRQ };

/* Per-thread state */
struct rig_self {
	struct task_struct	*task;
	u32			tid;		/* never 0: the owner word of locks */
	unsigned int		cpu;
	bool			bound;		/* stays on @cpu */
	bool			irqs_off;	/* by local_irq_disable(), which does not nest */
	int			atomic;		/* spinlocks held */
	int			non_block;	/* nesting of non_block_start() */
	int			nofault;	/* nesting of pagefault_disable() */
	enum rig_context	context;
	u64			random;
	s64			allocated;	/* objects allocated minus freed by this thread */
	struct mem_cgroup	*memcg;		/* charged for allocations, if not NULL */
	u32			rcu;		/* odd in a read-side section */
	u32			rcu_nesting;
	bool			worker;		/* a kthread worker */
	unsigned int		rescheds;	/* see rig_cond_resched_tasks_rcu_qs() */
};

extern __thread struct rig_self *rig_this;
struct rig_self *rig_adopt(const char *comm, enum rig_context context);

static inline struct rig_self *rig_self(void)
{
	return likely(rig_this) ? rig_this : rig_adopt("thread", RIG_TASK);
}

u64 rig_random(void);

/* Occasionally spins, yields, sleeps or changes the CPU: at locks, user copies, trace events. */
#ifdef RIG_JITTER
void rig_jitter(void);
bool rig_fault(void);
/* Spin before waiting, so that the condition may become true without a wakeup. */
void rig_linger(void);
#else
static inline void rig_jitter(void)
{
}

static inline bool rig_fault(void)
{
	return false;
}

static inline void rig_linger(void)
{
}
#endif

#define current				(rig_self()->task)
#define set_current_state(s)		smp_store_mb(current->state, s)
#define __set_current_state(s)		WRITE_ONCE(current->state, s)
void schedule(void);
long schedule_timeout(long jiffies);
long schedule_timeout_interruptible(long jiffies);
long schedule_timeout_idle(long jiffies);
void rig_sleep_until(u64 ns);
int wake_up_process(struct task_struct *task);
int rig_cond_resched(void);
/* Called by cond_resched(), if not NULL */
extern void (*rig_at_resched)(void);
#define cond_resched()			rig_cond_resched()
int rig_cond_resched_tasks_rcu_qs(void);
#define cond_resched_tasks_rcu_qs()	rig_cond_resched_tasks_rcu_qs()
bool need_resched(void);

struct task_struct *kthread_create(int (*fn)(void *data), void *data, const char *fmt, ...)
	__printf(3, 4);
bool kthread_should_stop(void);
int kthread_stop(struct task_struct *task);
#define kthread_func(task)		((task)->is_kthread ? (void *)(task)->fn : NULL)
#define sched_set_fifo_low(task)	((void)(task))

static inline struct task_struct *get_task_struct(struct task_struct *task)
{
	__atomic_add_fetch(&task->refs, 1, __ATOMIC_RELAXED);
	return task;
}

void put_task_struct(struct task_struct *task);

/* A callback may call another one as long as half of the stack is unused; see op_call.c. */
extern unsigned long rig_thread_size;
#define THREAD_SIZE			rig_thread_size
#define task_stack_page(task)		((void *)(task)->stack)

#define in_hardirq()			(rig_self()->context == RIG_HARDIRQ)
#define in_serving_softirq()		(rig_self()->context == RIG_SOFTIRQ)
#define in_interrupt()			(rig_self()->context != RIG_TASK)
#define in_atomic()			(rig_self()->atomic > 0)
#define preempt_count()			(rig_self()->atomic)
#define preempt_count_set(count)	((void)(rig_self()->atomic = (count)))
#define preempt_disable()		((void)rig_self()->atomic++)
#define preempt_enable()		((void)rig_self()->atomic--)
#define migrate_disable()		((void)0)	/* on PREEMPT_RT only */
#define migrate_enable()		((void)0)
#define local_irq_save(flags)		((void)((flags) = 0))
#define local_irq_restore(flags)	((void)(flags))
#define local_irq_disable()		((void)(rig_self()->irqs_off = true), rcu_read_lock())
#define local_irq_enable()		((void)(rig_self()->irqs_off = false), rcu_read_unlock())
/* Softirqs may run, but read-side sections of RCU are respected. */
#define local_bh_disable()		rcu_read_lock()
#define local_bh_enable()		rcu_read_unlock()
void rcu_read_lock(void);
void rcu_read_unlock(void);
/* A read-side section of RCU may be one with interrupts or softirqs off, see above. */
#define might_sleep()			WARN_ON(in_atomic() || in_interrupt() ||	\
						rig_self()->rcu_nesting || rig_self()->non_block)
#define non_block_start()		(rig_self()->non_block++)
#define non_block_end()			WARN_ON(rig_self()->non_block-- <= 0)
#define might_sleep_if(cond)		do { if (cond) might_sleep(); } while (0)
#define might_alloc(gfp)		((void)(gfp))

/* Signals, as far as the device checks them */
#define RIG_SIGNAL_PENDING		1
#define RIG_SIGNAL_FATAL		2
#define signal_pending(task)		(READ_ONCE((task)->signals) != 0)
#define fatal_signal_pending(task)	((READ_ONCE((task)->signals) & RIG_SIGNAL_FATAL) != 0)
void rig_signal(struct task_struct *task, u8 signals);

/* CPUs */
#define RIG_CPUS			16
extern unsigned int nr_cpu_ids;
#define raw_smp_processor_id()		(rig_self()->cpu)
#define smp_processor_id()		raw_smp_processor_id()
#define num_online_cpus()		nr_cpu_ids
#define num_present_cpus()		nr_cpu_ids
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (unsigned int)(cpu) < nr_cpu_ids; (cpu)++)
#define for_each_online_cpu(cpu)	for_each_possible_cpu(cpu)
#define for_each_present_cpu(cpu)	for_each_possible_cpu(cpu)
#define cpu_online(cpu)			((unsigned int)(cpu) < nr_cpu_ids)
/* No CPU comes or goes. */
#define cpus_read_lock()		((void)0)
#define cpus_read_unlock()		((void)0)
#define CPUHP_BP_PREPARE_DYN		1
enum cpuhp_state { CPUHP_OFFLINE };
#define cpuhp_setup_state_nocalls(state, name, startup, teardown)	((void)(startup), (state))
#define cpuhp_remove_state_nocalls(state)				((void)(state))
#define cpumask_first(mask)		0
#define cpumask_next(cpu, mask)		((cpu) + 1)

/* Per-CPU variables are in a section, of which each CPU has a copy. */
extern char __start_percpu_section[] __weak, __stop_percpu_section[] __weak;
extern char *rig_percpu[RIG_CPUS];
#define DEFINE_PER_CPU(type, name)					\
	__attribute__((section("percpu_section"))) __typeof__(type) name
#define DECLARE_PER_CPU(type, name)	extern __typeof__(type) name
#define per_cpu_ptr(p, cpu)		((typeof(p))rig_per_cpu((char *)(p), cpu))
#define this_cpu_ptr(p)			per_cpu_ptr(p, raw_smp_processor_id())
#define raw_cpu_ptr(p)			this_cpu_ptr(p)

/* Those that are allocated are an array. */
#define RIG_PERCPU_SIZE			256
#define alloc_percpu_gfp(type, gfp)	({						\
	static_assert(sizeof(type) <= RIG_PERCPU_SIZE);					\
	kzalloc(RIG_CPUS * RIG_PERCPU_SIZE, gfp); })
#define free_percpu(p)			kfree(p)

static inline void *rig_per_cpu(char *p, unsigned int cpu)
{
	if (p >= __start_percpu_section && p < __stop_percpu_section)
		return rig_percpu[cpu] + (p - __start_percpu_section);
	return p + cpu * RIG_PERCPU_SIZE;
}

#ifdef RIG_CLOCK
#define rig_this_cpu_add(variable, n)	((void)(*this_cpu_ptr(&(variable)) += (n)))
#else
#define rig_this_cpu_add(variable, n)					\
	((void)__atomic_fetch_add(this_cpu_ptr(&(variable)), n, __ATOMIC_RELAXED))
#endif
#define this_cpu_add(variable, n)	rig_this_cpu_add(variable, n)
#define this_cpu_sub(variable, n)	rig_this_cpu_add(variable, -(n))
#define this_cpu_inc(variable)		rig_this_cpu_add(variable, 1)
#define this_cpu_dec(variable)		rig_this_cpu_add(variable, -1)
#define this_cpu_read(variable)		READ_ONCE(*this_cpu_ptr(&(variable)))
#define this_cpu_write(variable, n)	WRITE_ONCE(*this_cpu_ptr(&(variable)), n)
#define raw_cpu_write(variable, n)	this_cpu_write(variable, n)

#define prefetch(p)			__builtin_prefetch(p)
#define prefetchw(p)			(rig_prefetches++, __builtin_prefetch(p, 1))
/* Prefetches for writing by this thread */
extern __thread unsigned long rig_prefetches;

#endif /* _RIG_TASK_H */
