/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the supported kernels. Test for a symbol rather than for a version where
 * possible.
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/device.h>
#include <linux/hrtimer.h>
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

/* The devnode() callback takes a const device since 6.2. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define TWHEEL_DEVNODE_CONST const
#else
#define TWHEEL_DEVNODE_CONST
#endif

/* MODULE_IMPORT_NS() takes a string since 6.13. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define TWHEEL_IMPORT_NS(namespace) MODULE_IMPORT_NS(#namespace)
#else
#define TWHEEL_IMPORT_NS(namespace) MODULE_IMPORT_NS(namespace)
#endif

#endif /* _TWHEEL_COMPAT_H */
