// SPDX-License-Identifier: GPL-2.0
/*
 * The slow paths of locks, and sleeping locks.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rig/wait.h>

/* Iterations before a waiter calls sched_yield(): the owner may not be running. */
#define SPINS	200

void rig_spin_slow(spinlock_t *lock)
{
	u32 nobody = 0, self = rig_self()->tid;
	unsigned int spins = 0;

	while (READ_ONCE(lock->owner) ||
	       !__atomic_compare_exchange_n(&lock->owner, &nobody, self, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (READ_ONCE(lock->owner) == self) {
			rig_warn(__FILE__, __LINE__, "a spinlock is taken twice");
			abort();
		}
		nobody = 0;
		__builtin_ia32_pause();
		if (++spins > SPINS)
			sched_yield();
	}
}

void rig_not_held(const char *file, int line, const char *lock)
{
	char text[128];

	scnprintf(text, sizeof(text), "not held: %s", lock);
	rig_warn(file, line, text);
}

void mutex_init(struct mutex *mutex)
{
	pthread_mutex_init(&mutex->mutex, NULL);
	mutex->owner = 0;
}

void mutex_lock(struct mutex *mutex)
{
	might_sleep();
	if (rig_holds_mutex(mutex)) {
		rig_warn(__FILE__, __LINE__, "a mutex is taken twice");
		abort();
	}
	rig_lock_begin(mutex);
	rig_touch(mutex, 1, true);
	pthread_mutex_lock(&mutex->mutex);
	WRITE_ONCE(mutex->owner, rig_self()->tid);
}

bool mutex_trylock(struct mutex *mutex)
{
	if (pthread_mutex_trylock(&mutex->mutex))
		return false;
	rig_lock_begin(mutex);
	rig_touch(mutex, 1, true);
	WRITE_ONCE(mutex->owner, rig_self()->tid);
	return true;
}

void mutex_unlock(struct mutex *mutex)
{
	if (!rig_holds_mutex(mutex))
		rig_not_held(__FILE__, __LINE__, "mutex_unlock");
	WRITE_ONCE(mutex->owner, 0);
	rig_lock_end(mutex);
	pthread_mutex_unlock(&mutex->mutex);
}

/* A waiting writer blocks new readers, as in the kernel. */
void init_rwsem(struct rw_semaphore *sem)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&sem->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

bool down_read_trylock(struct rw_semaphore *sem)
{
	return !pthread_rwlock_tryrdlock(&sem->lock);
}

void up_read(struct rw_semaphore *sem)
{
	pthread_rwlock_unlock(&sem->lock);
}

void down_write(struct rw_semaphore *sem)
{
	might_sleep();
	rig_touch(sem, 1, true);
	pthread_rwlock_wrlock(&sem->lock);
}

void up_write(struct rw_semaphore *sem)
{
	pthread_rwlock_unlock(&sem->lock);
}
