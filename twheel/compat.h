/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the supported kernels. Test for a symbol rather than for a version where
 * possible.
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/device.h>
#include <linux/hrtimer.h>
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

/* ktime_get_snapshot() takes a clock since 7.3. */
static inline void twheel_clock_snapshot(struct system_time_snapshot *snapshot)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
	ktime_get_snapshot_id(CLOCK_REALTIME, snapshot);
#else
	ktime_get_snapshot(snapshot);
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

/* A workqueue is per CPU by default. 7.3 warns without WQ_PERCPU, which was added in 6.18. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define TWHEEL_WQ_PERCPU WQ_PERCPU
#else
#define TWHEEL_WQ_PERCPU 0
#endif

/*
 * Commands of io_uring: the exit of a ring cancels them since 6.7; their header exists since 6.8.
 * On older kernels, a ring with an operation that has no deadline would never be freed.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define TWHEEL_HAS_URING
#endif

/* Whether the ring of a command polls for completions. Up to 6.12, io_uring refuses this itself. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define twheel_uring_polls(cmd) (cmd_to_io_kiocb(cmd)->ctx->flags & IORING_SETUP_IOPOLL)
#else
#define twheel_uring_polls(cmd) false
#endif

/* io_uring_cmd_done() has no second result since 6.18. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define twheel_uring_done(cmd, res, issue_flags) io_uring_cmd_done(cmd, res, issue_flags)
#else
#define twheel_uring_done(cmd, res, issue_flags) io_uring_cmd_done(cmd, res, 0, issue_flags)
#endif

/*
 * Whether a task must not complete a command when its ring exits, although it holds the lock of the
 * ring. Before 7.3, lockdep complains about a kernel thread while the submitter is alive.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#define twheel_uring_defers(task) false
#else
#define twheel_uring_defers(task) (IS_ENABLED(CONFIG_PROVE_LOCKING) && (task)->flags & PF_KTHREAD)
#endif

/* Define @name as task work that calls @fn. Its arguments are others since 6.19. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define TWHEEL_URING_TASK_WORK(name, fn)						\
	static void name(struct io_tw_req req, io_tw_token_t token)			\
	{										\
		fn(io_uring_cmd_from_tw(req), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);	\
	}
#else
#define TWHEEL_URING_TASK_WORK(name, fn)						\
	static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)		\
	{										\
		fn(cmd, issue_flags);							\
	}
#endif

/*
 * Functions for BPF programs: sets of them are marked as such since 6.8. Their pointers are not
 * NULL if a flag says so, and since 7.0 always.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define TWHEEL_HAS_BPF
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define TWHEEL_KF_TRUSTED_ARGS 0
#else
#define TWHEEL_KF_TRUSTED_ARGS KF_TRUSTED_ARGS
#endif

#endif /* _TWHEEL_COMPAT_H */
