/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of the documented errors. scripts/check-abi compares GIVES() with
 * Documentation/calls.toml.
 */
#ifndef _TWHEEL_GIVES_H
#define _TWHEEL_GIVES_H

#include "selftest.h"

/* @attempt evaluates to an errno, which must be the documented @error of @call. */
#define GIVES(call, error, attempt)					\
do {									\
	int __got = (attempt);						\
									\
	EXPECT_EQ(error, __got)					\
		TH_LOG("%s should fail with %s", #call, #error);		\
} while (0)

/* The errno of an attempt that returns -1 on failure. */
#define errno_of(attempt)						\
	((attempt) < 0 ? errno : 0)

#endif /* _TWHEEL_GIVES_H */
