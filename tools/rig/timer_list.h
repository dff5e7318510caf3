/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's timer_list, for comparison: see timer_list.c. */
#ifndef _RIG_TIMER_LIST_H
#define _RIG_TIMER_LIST_H

#include <rig/base.h>

/* Size of struct timer_list, asserted */
#define TIMER_LIST_SIZE		40

void timer_list_start(void);
void timer_list_init(void *timer, void (*fn)(void *timer));
/* Add or re-arm it, with @delay in ticks of HZ. */
void timer_list_mod(void *timer, unsigned long delay);
void timer_list_cancel(void *timer);
/* Let a time of @ticks pass, and run what has expired. */
void timer_list_advance(unsigned long ticks);

#endif /* _RIG_TIMER_LIST_H */
