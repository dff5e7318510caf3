/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of layer 5 share about predicates: operations whose condition
 * is a word that the test sets, and threads to race for them. They wait in the
 * purgatory of op_probe.h.
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
	bool			completable;	/* the condition, unless there is @holds */
	bool			(*holds)(struct watcher *watcher, u64 *value);
	void			(*then)(struct watcher *watcher);
	struct twheel_op_result	result;
	unsigned int		evaluated;	/* how often the condition was */
	unsigned int		ended;		/* how often it was told */
	unsigned int		overlapped;	/* how often beside another of these */
	struct task_struct	*ender;		/* who told it: to be compared only */
	unsigned long		busy;
};

/* For as long as the test runs, as anything that it asks for here. */
struct watcher *watcher_new(struct kunit *test);
void watcher_init(struct watcher *watcher);

/* Add it under keys @first and following: as twheel_op_add(). */
int watcher_add(struct watcher *watcher, u64 delay, u64 first, u32 nr);

/* Add one that has to wait, for any time. */
struct watcher *watcher_waiting(struct kunit *test, u64 first, u32 nr);

/* twheel_check_and_complete() under a key, for any number. */
u32 watcher_check(u64 number);

void expect_waits(struct kunit *test, const struct watcher *watcher);
void expect_done(struct kunit *test, const struct watcher *watcher, enum twheel_reason reason,
		 u64 value);

/* A thread that runs a function once. */
struct racer {
	struct task_struct	*task;
	struct completion	returned;
	void			(*run)(struct racer *racer);
	struct watcher		*watcher;
	u32			completed;	/* for @run to say */
};

void racer_start(struct kunit *test, struct racer *racer);

/* Waits for it to return. */
void racer_join(struct racer *racer);

#endif /* _KUNIT_WATCHER_H */
