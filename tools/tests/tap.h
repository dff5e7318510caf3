/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The least that a test program needs: cases, checks, and results as TAP.
 */
#ifndef TWHEEL_TESTS_TAP_H
#define TWHEEL_TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>

struct tap_case {
	const char *name;
	void (*run)(void);
};

static bool tap_failed;

/* Fails the case that is running, which goes on, unless @condition holds. */
#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			printf("# %s:%d: %s\n", __FILE__, __LINE__,	\
			       #condition);				\
			tap_failed = true;				\
		}							\
	} while (0)

/* @cases ends with a case without a name. Return: the exit status. */
static inline int tap_run(const struct tap_case *cases)
{
	int nr = 0, nr_failed = 0;

	for (; cases[nr].name; nr++) {
		tap_failed = false;
		cases[nr].run();
		printf("%sok %d - %s\n", tap_failed ? "not " : "", nr + 1,
		       cases[nr].name);
		nr_failed += tap_failed;
	}
	printf("1..%d\n", nr);
	return nr_failed != 0;
}

#endif /* TWHEEL_TESTS_TAP_H */
