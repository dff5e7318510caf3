/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the supported kernels. Test for a symbol rather than for a version where
 * possible.
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "twheel needs Linux 6.1 or newer"
#endif

/* KUnit suites test the layers separately. */
#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/visibility.h>
#else
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
#endif

/* Variables may be left out of the zeroing of the stack since 6.9, and in later stable kernels. */
#ifndef __uninitialized
#define __uninitialized
#endif

/* hrtimer_setup() was added in 6.13, and hrtimer_init() removed in 6.15. */
static inline void twheel_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*fn)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fn, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
#endif
}

/* ktime_get_snapshot() takes a clock since 7.3, and its time has another name. */
static inline void twheel_clock_snapshot(struct system_time_snapshot *snapshot)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
	ktime_get_snapshot_id(CLOCK_REALTIME, snapshot);
#else
	ktime_get_snapshot(snapshot);
#endif
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#define TWHEEL_SNAPSHOT_TIME systime
#else
#define TWHEEL_SNAPSHOT_TIME real
#endif

/* class_create() takes no module since 6.4. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define TWHEEL_CLASS_CREATE(name) class_create(name)
#else
#define TWHEEL_CLASS_CREATE(name) class_create(THIS_MODULE, name)
#endif

/* The devnode() callback takes a const device since 6.2. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define TWHEEL_DEVNODE_CONST const
#else
#define TWHEEL_DEVNODE_CONST
#endif

/* The flags of a mapping are not changed directly since 6.3. */
static inline void twheel_vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				       unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* MODULE_IMPORT_NS() takes a string since 6.13. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define TWHEEL_IMPORT_NS(namespace) MODULE_IMPORT_NS(#namespace)
#else
#define TWHEEL_IMPORT_NS(namespace) MODULE_IMPORT_NS(namespace)
#endif

/* A workqueue is per CPU by default. 7.3 warns without WQ_PERCPU, which was added in 6.18. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define TWHEEL_WQ_PERCPU WQ_PERCPU
#else
#define TWHEEL_WQ_PERCPU 0
#endif

/* Commands of io_uring: their header and struct io_uring_cmd have this form since 6.8. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define TWHEEL_HAS_URING
#endif

/* io_uring_cmd_done() takes a single result since 6.18. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define TWHEEL_URING_DONE(cmd, ret, flags) io_uring_cmd_done(cmd, ret, flags)
#else
#define TWHEEL_URING_DONE(cmd, ret, flags) io_uring_cmd_done(cmd, ret, 0, flags)
#endif

/* Pointers in calls of BPF programs are not NULL if a flag says so, and since 7.0 always. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define TWHEEL_KF_TRUSTED_ARGS 0
#else
#define TWHEEL_KF_TRUSTED_ARGS KF_TRUSTED_ARGS
#endif

#endif /* _TWHEEL_COMPAT_H */
