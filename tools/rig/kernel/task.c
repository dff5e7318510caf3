// SPDX-License-Identifier: GPL-2.0
/*
 * Threads as tasks: creation, sleep and wakeup, virtual CPUs, jitter.
 *
 * A task sleeps on the futex word that holds its state, so a wakeup between
 * set_current_state() and schedule() is not lost, as in the kernel.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rig/count.h>
#include <rig/mem.h>
#include <rig/time.h>

#include "../rig.h"

#define THREAD_STACK	BIT(20)

__thread struct rig_self *rig_this;
unsigned int nr_cpu_ids = 1;
unsigned long rig_thread_size = 16384;
char *rig_percpu[RIG_CPUS];
__thread unsigned long rig_prefetches;
void (*rig_at_resched)(void);

static u64 seed;
static u32 last_tid;

/* Existing threads, and the counts of threads that have exited. */
struct thread {
	struct rig_self self;
	struct task_struct task;
	struct list_head entry;
};

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(threads);
static s64 allocated_by_ended;
static unsigned int kthreads;

void rig_futex_wait(u32 *word, u32 value, s64 ns)
{
	struct timespec timeout = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns < 0 ? NULL : &timeout, NULL, 0);
}

void rig_futex_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static u64 mix(u64 x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static struct rig_self *enter(struct task_struct *task, struct rig_self *self,
			      enum rig_context context)
{
	char *here = __builtin_frame_address(0);

	self->task = task;
	self->tid = __atomic_add_fetch(&last_tid, 1, __ATOMIC_RELAXED);
#ifndef RIG_CLOCK	/* where it depends on no race */
	self->cpu = self->tid % nr_cpu_ids;
#endif
	self->context = context;
	self->random = mix(seed + self->tid) | 1;
	task->pid = self->tid;
	task->nsproxy = &init_nsproxy;
	/* The stack used so far does not count. */
	task->stack = here + 256 - rig_thread_size;
	rig_this = self;
	return self;
}

static void remember(struct list_head *entry)
{
	pthread_mutex_lock(&threads_lock);
	list_add_tail(entry, &threads);
	pthread_mutex_unlock(&threads_lock);
}

unsigned int rig_kthreads(void)
{
	return __atomic_load_n(&kthreads, __ATOMIC_RELAXED);
}

/* A thread not created by kthread_create() becomes a task, permanently. */
struct rig_self *rig_adopt(const char *comm, enum rig_context context)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		abort();
	thread->task.refs = 1;
	snprintf(thread->task.comm, sizeof(thread->task.comm), "%s", comm);
	enter(&thread->task, &thread->self, context);
	remember(&thread->entry);
	return rig_this;
}

/* An adopted thread exits. */
void rig_leave(void)
{
	struct thread *thread = container_of(rig_this, struct thread, self);

	pthread_mutex_lock(&threads_lock);
	allocated_by_ended += thread->self.allocated;
	list_del(&thread->entry);
	pthread_mutex_unlock(&threads_lock);
	rig_this = NULL;
	put_task_struct(&thread->task);
}

void rig_each_thread(void (*fn)(struct rig_self *self, void *data), void *data)
{
	struct thread *thread;

	pthread_mutex_lock(&threads_lock);
	list_for_each_entry(thread, &threads, entry)
		fn(&thread->self, data);
	pthread_mutex_unlock(&threads_lock);
}

s64 rig_allocated(void)
{
	struct thread *thread;
	s64 sum;

	pthread_mutex_lock(&threads_lock);
	sum = allocated_by_ended;
	list_for_each_entry(thread, &threads, entry)
		sum += READ_ONCE(thread->self.allocated);
	pthread_mutex_unlock(&threads_lock);
	return sum;
}

/* Random numbers, and the jitter derived from them */

u64 rig_random(void)
{
	struct rig_self *self = rig_self();

	self->random ^= self->random << 13;
	self->random ^= self->random >> 7;
	self->random ^= self->random << 17;
	return self->random * 0x2545f4914f6cdd1dULL;
}

u32 get_random_u32(void)
{
	return rig_random() >> 32;
}

u64 get_random_u64(void)
{
	return rig_random();
}

void get_random_bytes(void *bytes, size_t nr)
{
	char *to = bytes;
	u64 random = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (i % sizeof(random) == 0)
			random = rig_random();
		to[i] = random >> i % sizeof(random) * 8;
	}
}

#ifdef RIG_JITTER
/* Of 32,768 calls, about 2,000 spin briefly, 32 yield, and 1 sleeps. */
void rig_jitter(void)
{
	struct rig_self *self = rig_self();
	u64 rng = rig_random() >> 20;
	unsigned int spin;

	if (rng & 15)
		return;
	rng >>= 4;
	if (!(rng & 2047))
		usleep(rng >> 12 & 127);
	else if (!(rng & 63))
		sched_yield();
	else
		for (spin = rng >> 12 & 127; spin; spin--)
			barrier();
	/* A task without locks may be preempted, and continue on another CPU. */
	if (!self->bound && !self->atomic && self->context == RIG_TASK && !(rng >> 20 & 7))
		self->cpu = (rng >> 24) % nr_cpu_ids;
}

/* A page of the user may have to be read in: of 64 copies, 1 sleeps. */
bool rig_fault(void)
{
	u64 rng = rig_random() >> 20;

	rig_jitter();
	if (rng & 63)
		return false;
	if (!rig_self()->nofault)
		usleep(rng >> 6 & 127);
	return rig_self()->nofault;
}

void rig_linger(void)
{
	unsigned int spin;

	for (spin = rig_random() >> 20 & 16383; spin; spin--)
		barrier();
}
#endif

void rig_relax(void)
{
	static __thread unsigned int spins;

	__builtin_ia32_pause();
	if (!(++spins & 31))
		sched_yield();
}

/* Sleep */

static bool interrupts(u32 state, struct task_struct *task)
{
	return (state == TASK_INTERRUPTIBLE && signal_pending(task)) ||
	       (state == TASK_KILLABLE && fatal_signal_pending(task));
}

void schedule(void)
{
	struct task_struct *task = current;
	u32 state;

	might_sleep();
	while ((state = smp_load_acquire(&task->state)) != TASK_RUNNING) {
		if (interrupts(state, task)) {
			__set_current_state(TASK_RUNNING);
			return;
		}
		rig_self()->rescheds = 0;
		WRITE_ONCE(task->sleeps, true);
		rig_futex_wait(&task->state, state, -1);
		WRITE_ONCE(task->sleeps, false);
	}
}

void rig_sleep_until(u64 until)
{
	struct task_struct *task = current;
	u32 state;
	u64 now;

	might_sleep();
	while ((state = smp_load_acquire(&task->state)) != TASK_RUNNING) {
		now = ktime_get_ns();
		if (now >= until || interrupts(state, task))
			break;
		rig_futex_wait(&task->state, state, until - now);
	}
	__set_current_state(TASK_RUNNING);
}

long schedule_timeout(long timeout)
{
	u64 until = ktime_get_ns() + (u64)timeout * TICK_NSEC, now;

	rig_sleep_until(until);
	now = ktime_get_ns();
	return now < until ? (until - now) / TICK_NSEC : 0;
}

long schedule_timeout_interruptible(long timeout)
{
	set_current_state(TASK_INTERRUPTIBLE);
	return schedule_timeout(timeout);
}

long schedule_timeout_idle(long timeout)
{
	set_current_state(TASK_IDLE);
	return schedule_timeout(timeout);
}

/* An unrelated wakeup does not end the sleep. */
static void sleep_ns(u64 ns)
{
	u64 until = ktime_get_ns() + ns;

	do {
		set_current_state(TASK_UNINTERRUPTIBLE);
		rig_sleep_until(until);
	} while (ktime_get_ns() < until);
}

void msleep(unsigned int ms)
{
	sleep_ns((u64)ms * NSEC_PER_MSEC);
}

void usleep_range(unsigned long min, unsigned long max)
{
	sleep_ns((min + rig_random() % (max - min + 1)) * NSEC_PER_USEC);
}

void udelay(unsigned long us)
{
	u64 end = ktime_get_ns() + us * NSEC_PER_USEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

int wake_up_process(struct task_struct *task)
{
	if (__atomic_exchange_n(&task->state, TASK_RUNNING, __ATOMIC_SEQ_CST) == TASK_RUNNING)
		return 0;
	rig_futex_wake(&task->state);
	return 1;
}

/* A signal ends an interruptible sleep; a fatal one also ends a killable sleep. */
void rig_signal(struct task_struct *task, u8 signals)
{
	u32 state = TASK_INTERRUPTIBLE, killable = TASK_KILLABLE;

	__atomic_fetch_or(&task->signals, signals, __ATOMIC_SEQ_CST);
	/* A task that has already checked its signals must not sleep. */
	if (__atomic_compare_exchange_n(&task->state, &state, TASK_RUNNING, false,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED) ||
	    (signals & RIG_SIGNAL_FATAL &&
	     __atomic_compare_exchange_n(&task->state, &killable, TASK_RUNNING, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)))
		rig_futex_wake(&task->state);
}

/* Number of calls of cond_resched() after which a worker should have reported to RCU tasks */
#define RESCHEDS_MAX	1000

int rig_cond_resched(void)
{
	struct rig_self *self = rig_self();

	might_sleep();
	WARN_ON(self->worker && ++self->rescheds == RESCHEDS_MAX);
	rig_jitter();
	if (rig_at_resched)
		rig_at_resched();
	return 0;
}

/*
 * A grace period of RCU tasks waits for each thread, until it sleeps or calls this. cond_resched()
 * is not enough: being preempted is no quiescent state.
 */
int rig_cond_resched_tasks_rcu_qs(void)
{
	rig_self()->rescheds = 0;
	return rig_cond_resched();
}

bool need_resched(void)
{
#ifdef RIG_CLOCK
	return false;
#else
	return !(rig_random() & 63);
#endif
}

/* Kernel threads */

unsigned long rig_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	if (pthread_create(&thread, &attr, fn, arg))
		abort();
	pthread_attr_destroy(&attr);
	return thread;
}

void put_task_struct(struct task_struct *task)
{
	if (!__atomic_sub_fetch(&task->refs, 1, __ATOMIC_ACQ_REL))
		free(container_of(task, struct thread, task));
}

static void *kthread_main(void *arg)
{
	struct thread *thread = arg;
	struct task_struct *task = &thread->task;

	enter(task, &thread->self, RIG_TASK);
	remember(&thread->entry);
	schedule();
	if (!READ_ONCE(task->should_stop))
		task->result = task->fn(task->data);
	WARN_ON(in_atomic());
	/* The exit of a task allocates, and the memory cgroup may have been freed. */
	WARN_ON(rig_self()->memcg);
	/* A thread that exits on its own may be gone when kthread_stop() is called. */
	WARN_ON(!READ_ONCE(task->should_stop));
	__atomic_fetch_sub(&kthreads, 1, __ATOMIC_RELAXED);
	rig_leave();
	return NULL;
}

struct task_struct *kthread_create(int (*fn)(void *data), void *data, const char *fmt, ...)
{
	struct thread *thread;
	struct task_struct *task;
	va_list args;

	might_sleep();
	thread = rig_should_fail() ? NULL : calloc(1, sizeof(*thread));
	if (!thread)
		return ERR_PTR(-ENOMEM);
	task = &thread->task;
	va_start(args, fmt);
	vsnprintf(task->comm, sizeof(task->comm), fmt, args);
	va_end(args);
	task->fn = fn;
	task->data = data;
	task->is_kthread = true;
	task->refs = 2;
	task->state = TASK_UNINTERRUPTIBLE;
	__atomic_fetch_add(&kthreads, 1, __ATOMIC_RELAXED);
	task->thread = rig_thread(kthread_main, thread);
	return task;
}

bool kthread_should_stop(void)
{
	return READ_ONCE(current->should_stop);
}

int kthread_stop(struct task_struct *task)
{
	int result;

	might_sleep();
	WRITE_ONCE(task->should_stop, true);
	wake_up_process(task);
	pthread_join(task->thread, NULL);
	result = task->result;
	put_task_struct(task);
	return result;
}

static void count_asleep(struct rig_self *self, void *nr)
{
	struct task_struct *task = self->task;

	*(unsigned int *)nr += task->is_kthread && READ_ONCE(task->sleeps) &&
			       READ_ONCE(task->state) != TASK_RUNNING;
}

/* Wait until all other threads have run as far as they can, except that work items may be held. */
void rig_quiet(void)
{
	unsigned int quiet = 0, asleep;

	/* Twice, since one of them may have woken another one that was checked before. */
	while (quiet < 2) {
		rcu_barrier();
		asleep = 0;
		rig_each_thread(count_asleep, &asleep);
		quiet++;
		if (asleep != rig_kthreads() || rig_hrtimers_busy() || rig_works_busy()) {
			quiet = 0;
			sched_yield();
		}
	}
}

/* Let the work items run that are held, and wait for them, too. */
void rig_settle(void)
{
	rig_quiet();
	if (rig_works_hold(false)) {
		rig_quiet();
		rig_works_hold(true);
	}
}

/* Start and end */

void rig_bind(unsigned int cpu)
{
	cpu_set_t set;

	rig_self()->cpu = cpu % nr_cpu_ids;
	rig_self()->bound = true;
	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

void rig_start(unsigned int cpus, u64 first_seed)
{
	size_t size = __stop_percpu_section - __start_percpu_section;
	unsigned int cpu;

	nr_cpu_ids = clamp(cpus, 1U, (unsigned int)RIG_CPUS);
	seed = first_seed;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		rig_percpu[cpu] = aligned_alloc(64, roundup(size + 1, 64));
		memcpy(rig_percpu[cpu], __start_percpu_section, size);
	}
	rig_adopt("main", RIG_TASK);
	rig_time_start();
	rig_rcu_start();
}
