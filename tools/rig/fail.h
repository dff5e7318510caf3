/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the parts of the program fail, see fail.c. */
#ifndef _RIG_FAIL_H
#define _RIG_FAIL_H

#include <linux/types.h>

/* Greater than the number of allocations of any call */
#define MOST	1000

/* A call named @name, which returns 0 or an error */
#define CALL(name, value)						\
static int do_##name(void)						\
{									\
	return value;							\
}

/* Make a call with its @nth allocation failing. Return: false if it made fewer. */
bool fail_nth(unsigned int nth, int (*call)(void), int *err);

/* RCU and work items may free memory later: wait for that. Return: number of objects. */
s64 allocated_at_rest(void);

/* Return: true if at most @most objects are left after some time. */
bool settles_at(s64 most);

/* Print the result of a test that made @nth allocations fail; @wrong is NULL if it passed. */
void verdict(const char *name, const char *wrong, unsigned int nth);

/* fail_levels.c */
void test_levels(void);

#endif /* _RIG_FAIL_H */
