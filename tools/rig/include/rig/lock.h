/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spinlocks, mutexes, read-write semaphores.
 *
 * The word of a spinlock is the ID of its owner, so that lockdep_assert_held() checks the
 * owner and an unlock by another thread is detected.
 */
#ifndef _RIG_LOCK_H
#define _RIG_LOCK_H

#include <pthread.h>
#include <rig/count.h>
#include <rig/task.h>

/* Of four bytes, as in the kernel. */
typedef struct spinlock {
	u32 owner;
} spinlock_t;
typedef spinlock_t raw_spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }
#define DEFINE_RAW_SPINLOCK(name)	DEFINE_SPINLOCK(name)
#define raw_spin_lock_init		spin_lock_init
#define raw_spin_lock_irq		spin_lock_irq
#define raw_spin_unlock_irq		spin_unlock_irq
#define raw_spin_lock_irqsave		spin_lock_irqsave
#define raw_spin_unlock_irqrestore	spin_unlock_irqrestore
#define DEFINE_SPINLOCK(name)		spinlock_t name = __SPIN_LOCK_UNLOCKED(name)
#define spin_lock_init(lock)		((void)(*(lock) = (spinlock_t)__SPIN_LOCK_UNLOCKED()))

void rig_spin_slow(spinlock_t *lock);
void rig_not_held(const char *file, int line, const char *lock);

static __always_inline void spin_lock(spinlock_t *lock)
{
	struct rig_self *self = rig_self();
	u32 nobody = 0;

	rig_jitter();
	RIG_LOCK_BEGIN(lock);
	if (!__atomic_compare_exchange_n(&lock->owner, &nobody, self->tid, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		rig_spin_slow(lock);
	self->atomic++;
}

static __always_inline bool spin_trylock(spinlock_t *lock)
{
	struct rig_self *self = rig_self();
	u32 nobody = 0;

	RIG_LOCK_BEGIN(lock);
	if (!__atomic_compare_exchange_n(&lock->owner, &nobody, self->tid, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		RIG_LOCK_END(lock);
		return false;
	}
	self->atomic++;
	return true;
}

static __always_inline void spin_unlock(spinlock_t *lock)
{
	struct rig_self *self = rig_self();

	if (unlikely(READ_ONCE(lock->owner) != self->tid))
		rig_not_held(__FILE__, __LINE__, "spin_unlock");
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELEASE);
	RIG_LOCK_END(lock);
	self->atomic--;
	rig_jitter();
}

/* A lock shared with a softirq must not be taken in a hard interrupt. */
#define spin_lock_bh(lock)								\
	do { WARN_ON(in_hardirq()); local_bh_disable(); spin_lock(lock); } while (0)
#define spin_unlock_bh(lock)		do { spin_unlock(lock); local_bh_enable(); } while (0)
#define spin_trylock_bh(lock) ({							\
	bool _taken;									\
	local_bh_disable();								\
	_taken = spin_trylock(lock);							\
	if (!_taken)									\
		local_bh_enable();							\
	_taken; })
/* The unlock enables interrupts, whatever they were before. */
#define spin_lock_irq(lock)							\
do {										\
	lockdep_assert_irqs_enabled();						\
	spin_lock(lock);							\
} while (0)
#define spin_unlock_irq(lock)		spin_unlock(lock)
#define spin_lock_irqsave(lock, flags)	do { (flags) = 0; spin_lock(lock); } while (0)
#define spin_unlock_irqrestore(lock, flags) do { (void)(flags); spin_unlock(lock); } while (0)
#define spin_lock_nested(lock, subclass)	spin_lock(lock)
#define spin_lock_bh_nested(lock, subclass)	spin_lock_bh(lock)
#define spin_lock_irqsave_nested(lock, flags, subclass) spin_lock_irqsave(lock, flags)

struct mutex {
	pthread_mutex_t mutex;
	u32 owner;
};

#define DEFINE_MUTEX(name)	struct mutex name = { .mutex = PTHREAD_MUTEX_INITIALIZER }
void mutex_init(struct mutex *mutex);
void mutex_lock(struct mutex *mutex);
#define mutex_lock_killable(mutex)							\
	(fatal_signal_pending(current) ? -EINTR : (mutex_lock(mutex), 0))
bool mutex_trylock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);

struct rw_semaphore {
	pthread_rwlock_t lock;
};

void init_rwsem(struct rw_semaphore *sem);
bool down_read_trylock(struct rw_semaphore *sem);
void up_read(struct rw_semaphore *sem);
void down_write(struct rw_semaphore *sem);
void up_write(struct rw_semaphore *sem);

/* For kref.h: the last reference is dropped with the lock held. */
static inline bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *mutex)
{
	if (refcount_dec_not_one(r))
		return false;
	mutex_lock(mutex);
	if (refcount_dec_and_test(r))
		return true;
	mutex_unlock(mutex);
	return false;
}

static inline bool refcount_dec_and_lock(refcount_t *r, spinlock_t *lock)
{
	if (refcount_dec_not_one(r))
		return false;
	spin_lock(lock);
	if (refcount_dec_and_test(r))
		return true;
	spin_unlock(lock);
	return false;
}

static inline bool rig_holds_spinlock(const spinlock_t *lock)
{
	return READ_ONCE(lock->owner) == rig_self()->tid;
}

static inline bool rig_holds_mutex(const struct mutex *mutex)
{
	return READ_ONCE(mutex->owner) == rig_self()->tid;
}

#define lockdep_is_held(lock)						\
	__builtin_choose_expr(__same_type(*(lock), struct mutex),	\
			      rig_holds_mutex((const void *)(lock)),	\
			      rig_holds_spinlock((const void *)(lock)))
#define lockdep_assert_held(lock) do {					\
	if (unlikely(!lockdep_is_held(lock)))				\
		rig_not_held(__FILE__, __LINE__, #lock);		\
} while (0)
#define lockdep_assert_irqs_enabled()	((void)WARN_ON(rig_self()->irqs_off))
struct lock_class_key { };

/* Maps are for lockdep, which the rig does not have. */
struct lockdep_map { };
#define lockdep_init_map(map, name, key, subclass) ((void)(map), (void)(name), (void)(key))
#define lock_map_acquire(map)		((void)(map))
#define lock_map_acquire_read(map)	((void)(map))
#define lock_map_release(map)		((void)(map))
#define lock_is_held(map)		((void)(map), -1)
#define lockdep_depth(task)		0

#endif /* _RIG_LOCK_H */
