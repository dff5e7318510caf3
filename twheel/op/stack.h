/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations: the depth of the stack, for calls that their consumers can nest.
 *
 * Such a call needs half of the stack of the task. Softirqs, interrupts and NMIs have stacks of
 * their own, of unknown bounds. They do not migrate, so calls on these stacks are counted
 * per CPU. On PREEMPT_RT softirqs run on the stack of a task.
 */
#ifndef _TWHEEL_OP_STACK_H
#define _TWHEEL_OP_STACK_H

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/types.h>

/* Maximum number of nested calls on another stack than that of the task. */
#define TWHEEL_NESTED_MAX	4

DECLARE_PER_CPU(unsigned int, twheel_nested);

/* Return: the free part of the stack of the task; at least THREAD_SIZE on another stack. */
static inline unsigned long twheel_stack_left(void)
{
	return (unsigned long)__builtin_frame_address(0) -
	       (unsigned long)task_stack_page(current);
}

static inline bool twheel_on_task_stack(void)
{
	return twheel_stack_left() < THREAD_SIZE;
}

static inline bool twheel_stack_is_deep(void)
{
	if (unlikely(!twheel_on_task_stack()))
		return this_cpu_read(twheel_nested) >= TWHEEL_NESTED_MAX;
	return twheel_stack_left() < THREAD_SIZE / 2;
}

/* Before a call that may nest. Return: @counted for twheel_stack_leave(). */
static inline bool twheel_stack_enter(void)
{
	bool counted = !twheel_on_task_stack();

	if (counted)
		this_cpu_inc(twheel_nested);
	return counted;
}

static inline void twheel_stack_leave(bool counted)
{
	if (counted)
		this_cpu_dec(twheel_nested);
}

#endif /* _TWHEEL_OP_STACK_H */
