/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the suites ported from Kafka: operations with a predicate that returns a flag
 * set by the test, and racing threads. The operations use the purgatory of op_probe.h.
 */
#ifndef _KUNIT_WATCHER_H
#define _KUNIT_WATCHER_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/twheel.h>

#define WATCHER_KEYS	3

struct watcher {
	struct twheel_op	op;
	struct twheel_watch	watch[WATCHER_KEYS];
	bool			completable;	/* result, unless @predicate is set */
	bool			(*predicate)(struct watcher *watcher, u64 *value);
	void			(*on_ended)(struct watcher *watcher);
	struct twheel_op_result	result;
	unsigned int		evaluated;	/* evaluations of the predicate */
	unsigned int		ended;		/* number of callbacks */
	unsigned int		overlapped;	/* overlapping calls of predicate and callback */
	struct task_struct	*ended_by;	/* callback's thread, only for comparison */
	unsigned long		busy;
};

/* Freed at the end of the test. */
struct watcher *watcher_new(struct kunit *test);
void watcher_init(struct watcher *watcher);

/* Add a watcher of @nr keys from @first on. Returns the result of twheel_op_add(). */
int watcher_add(struct watcher *watcher, u64 delay, u64 first, u32 nr);

/* Add a watcher that never expires, and expect it to be pending. */
struct watcher *watcher_pending(struct kunit *test, u64 first, u32 nr);

/* twheel_check_and_complete() for a key, without limit. */
u32 watcher_check(u64 number);

void expect_pending(struct kunit *test, const struct watcher *watcher);
void expect_done(struct kunit *test, const struct watcher *watcher, enum twheel_reason reason,
		 u64 value);

/* A thread that calls a function once. */
struct racer {
	struct task_struct	*task;
	struct completion	returned;
	void			(*run)(struct racer *racer);
	struct watcher		*watcher;
	u32			completed;	/* result of @run */
};

void racer_start(struct kunit *test, struct racer *racer);

/* Wait until the function has returned. */
void racer_join(struct racer *racer);

#endif /* _KUNIT_WATCHER_H */
