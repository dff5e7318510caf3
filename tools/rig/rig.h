/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The native rig: the module's sources, unchanged, as a multi-threaded program.
 *
 *	include/rig/	stand-ins for the kernel's headers, by concept; the file `headers`
 *			says which of them, or which header of the kernel's own source,
 *			a #include of the module gets
 *	kernel/		the functions behind them
 *	*.c		programs: torture, benchmark, allocation failures, fuzzer
 *	broken/		patches that break the module on purpose, to be found by them
 *
 * Documentation/testing.rst says what the rig can and cannot show.
 */
#ifndef _RIG_H
#define _RIG_H

#include <rig/module.h>
#include <rig/task.h>

/* Start the interrupt threads of so many virtual CPUs; before all else, once. */
void rig_start(unsigned int cpus, u64 seed);

/* Bind the calling thread to a virtual CPU, and to a real one if there are that many. */
void rig_bind(unsigned int cpu);

/* Print the number of warnings and of leaks: nonzero if there are any. */
int rig_verdict(void);

/* Used by kernel/ only */
void rig_time_start(void);
unsigned int rig_kthreads(void);
unsigned int rig_works_pending(void);
void rig_works_hurry(void);
unsigned int rig_hrtimers_armed(void);
void rig_rcu_start(void);
unsigned long rig_thread(void *(*fn)(void *arg), void *arg);
void rig_futex_wait(u32 *word, u32 value, s64 ns);
void rig_futex_wake(u32 *word);
void rig_leave(void);
void rig_each_thread(void (*fn)(struct rig_self *self, void *data), void *data);

#endif /* _RIG_H */
