/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A minimal test framework: cases, checks, and results as TAP.
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

/* Marks the running case as failed unless @condition holds. The case continues. */
#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			printf("# %s:%d: %s\n", __FILE__, __LINE__,	\
			       #condition);				\
			tap_failed = true;				\
		}							\
	} while (0)

/* @cases is terminated by a case without a name. Return: the exit status. */
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
