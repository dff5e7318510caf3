/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of the errors that the documents list: scripts/check-abi holds what
 * stands in GIVES() and NOT_HERE() against them.
 */
#ifndef _TWHEEL_GIVES_H
#define _TWHEEL_GIVES_H

#include "selftest.h"

/* A call of the documents gives an error when @attempt is made, which tells it. */
#define GIVES(call, error, attempt)					\
do {									\
	int __told = (attempt);						\
									\
	EXPECT_EQ(error, __told)					\
		TH_LOG("%s should give %s", #call, #error);		\
} while (0)

/* A call gives an error that can't be had at will; @why says what keeps it. */
#define NOT_HERE(call, error, why)					\
	((void)(#call #error why))

/* The errno of an attempt that answers with -1 and errno. */
#define errno_of(attempt)						\
	((attempt) < 0 ? errno : 0)

#endif /* _TWHEEL_GIVES_H */
