/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A minimal test framework: cases, checks, and results as TAP.
 *
 *	TEST("the case")
 *	{
 *		CHECK(condition);
 *	}
 *
 *	TAP_MAIN
 */
#ifndef TWHEEL_TESTS_TAP_H
#define TWHEEL_TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct tap_case {
	const char *name;
	void (*run)(void);
};

static bool tap_failed;

/* The cases of TEST(), and a case without a name. */
static struct tap_case tap_tests[64] __attribute__((unused));

#define TAP_PASTE(a, b)		a##b
#define TAP_NAME(a, b)		TAP_PASTE(a, b)
#define TAP_ADD(test_name, function)					\
	static void function(void);					\
	__attribute__((constructor)) static void TAP_NAME(function, _add)(void)	\
	{								\
		struct tap_case *at = tap_tests;			\
									\
		while (at->name)					\
			at++;						\
		*at = (struct tap_case) { test_name, function };	\
	}								\
	static void function(void)

/* A case of TAP_MAIN. The order is that of the source. */
#define TEST(test_name)		TAP_ADD(test_name, TAP_NAME(tap_case_, __LINE__))

#define TAP_MAIN							\
	int main(void)							\
	{								\
		exit(tap_run(tap_tests));				\
	}

/* Marks the running case as failed unless @condition holds. The case continues. */
#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			printf("# %s:%d: %s\n", __FILE__, __LINE__,	\
			       #condition);				\
			tap_failed = true;				\
		}							\
	} while (0)

/* What @statement prints, until the next use. */
static char *tap_text __attribute__((unused));
#define PRINTED(statement)						\
	({								\
		FILE *tap_out = stdout;					\
		size_t tap_size;					\
									\
		free(tap_text);						\
		stdout = open_memstream(&tap_text, &tap_size);		\
		statement;						\
		fclose(stdout);						\
		stdout = tap_out;					\
		tap_text;						\
	})

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
