/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The native rig: the module's sources, unchanged, as a multi-threaded program.
 *
 *	include/rig/	replacements for the kernel's headers, by topic; the file `headers`
 *			maps each #include of the module to one of them or to a header of the
 *			kernel's source
 *	kernel/		the functions behind them
 *	*.c		programs: torture, benchmark, allocation failures, fuzzer
 *	broken/		patches that break the module on purpose, to be detected by them
 *
 * Documentation/testing.rst describes the limits of the rig.
 */
#ifndef _RIG_H
#define _RIG_H

#include <rig/module.h>
#include <rig/task.h>

/* Start the interrupt threads of @cpus virtual CPUs; called first, once. */
void rig_start(unsigned int cpus, u64 seed);

/* Bind the calling thread to a virtual CPU, and to a real one if enough exist. */
void rig_bind(unsigned int cpu);

/* Print the number of warnings and of leaks. Return: nonzero if there are any. */
int rig_verdict(void);

/*
 * For programs that count: wait until all other threads have run as far as they can. Work items
 * may be held, so that they only run in rig_settle(). rig_works_hold() returns whether they were.
 */
void rig_settle(void);
bool rig_works_hold(bool hold);

/* Used only by kernel/ */
void rig_time_start(void);
unsigned int rig_kthreads(void);
unsigned int rig_works_pending(void);
bool rig_works_busy(void);
void rig_quiet(void);
void rig_works_hurry(void);
unsigned int rig_hrtimers_armed(void);
bool rig_hrtimers_busy(void);
void rig_rcu_start(void);
unsigned long rig_thread(void *(*fn)(void *arg), void *arg);
void rig_futex_wait(u32 *word, u32 value, s64 ns);
void rig_futex_wake(u32 *word);
void rig_leave(void);
void rig_each_thread(void (*fn)(struct rig_self *self, void *data), void *data);

#endif /* _RIG_H */
