/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that we build on lives here, and is
 * looked for by name rather than by version wherever that can be done.
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "twheel needs Linux 6.1 or newer"
#endif

/* Our layers are tested one by one; without KUnit they are private. */
#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/visibility.h>
#else
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
#endif

/* hrtimer_setup() came with 6.13, and hrtimer_init() went with 6.15. */
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

/* Callbacks for the nodes of devices take a const device since 6.2. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define TWHEEL_DEVNODE_CONST const
#else
#define TWHEEL_DEVNODE_CONST
#endif

#endif /* _TWHEEL_COMPAT_H */
