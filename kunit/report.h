/* SPDX-License-Identifier: GPL-2.0 */
/* For cases in which the kernel is to complain, and says so beforehand. */
#ifndef _KUNIT_REPORT_H
#define _KUNIT_REPORT_H

#include <kunit/test.h>

/* Announce a report, by a pattern of the shell's; see scripts/verdict. */
static inline void expect_report(struct kunit *test, const char *pattern)
{
	kunit_info(test, "expected: %s\n", pattern);
}

#endif /* _KUNIT_REPORT_H */
