/* SPDX-License-Identifier: GPL-2.0 */
/* Announce the kernel warnings that a case provokes. */
#ifndef _KUNIT_REPORT_H
#define _KUNIT_REPORT_H

#include <kunit/test.h>

/* Announce a warning by a shell pattern. scripts/verdict compares it with the log. */
static inline void expect_report(struct kunit *test, const char *pattern)
{
	kunit_info(test, "expected: %s\n", pattern);
}

#endif /* _KUNIT_REPORT_H */
