/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the suites ported from Kafka: operations with a predicate. */
#ifndef _KUNIT_WATCHER_H
#define _KUNIT_WATCHER_H

#include "../op/op_probe.h"

/* Add an operation that watches @nr keys from @first on. */
static inline int watcher_add(struct kunit *test, struct probe *watcher, u64 delay, u64 first,
			      u32 nr)
{
	return probe_add_predicate(watcher, delay, probe_keys_new(test, first, nr));
}

static inline void expect_pending(struct kunit *test, const struct probe *watcher)
{
	KUNIT_EXPECT_EQ(test, watcher->ended, 0);
	KUNIT_EXPECT_EQ(test, watcher->overlaps, 0);
}

#endif /* _KUNIT_WATCHER_H */
