/* SPDX-License-Identifier: GPL-2.0 */
/* Test cases of Kafka's DelayedOperationTest in kafka_delayed_operation_lock.c. */
#ifndef _KUNIT_KAFKA_DELAYED_OPERATION_H
#define _KUNIT_KAFKA_DELAYED_OPERATION_H

#include <kunit/test.h>
#include <linux/time64.h>

/* Timeout for operations that do not expire during a test. */
#define LONG_NS		(100 * NSEC_PER_SEC)

void lock_in_try_complete_else_watch(struct kunit *test);
void try_complete_with_multiple_threads(struct kunit *test);
void delayed_operation_lock(struct kunit *test);

#endif /* _KUNIT_KAFKA_DELAYED_OPERATION_H */
