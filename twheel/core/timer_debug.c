// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4: what debugobjects is told of timers, so that it finds those which are
 * initialised or freed while they are pending, or used without having been
 * initialised.
 *
 * A timer is active while it is pending, under the lock of its shard.  What is
 * found is reported by debugobjects and mended here, as well as it can be: the
 * kernel had better go on.
 */
#include <linux/debugobjects.h>
#include <linux/export.h>

#include "timer.h"

static const struct debug_obj_descr timer_descr;

static void *timer_hint(void *addr)
{
	struct twheel_timer *timer = addr;

	return timer->fn;
}

/*
 * A timer that has been overwritten can't be taken out any more. It is not
 * active for debugobjects then, lest this be mended again and again.
 */
static void take_out(struct twheel_timer *timer)
{
	if (twheel_timer_cancel(timer) < 0)
		debug_object_deactivate(timer, &timer_descr);
}

/* Initialised while it is pending: take it out first. */
static bool fixup_init(void *addr, enum debug_obj_state state)
{
	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	take_out(addr);
	debug_object_init(addr, &timer_descr);
	return true;
}

/* Freed while it is pending: take it out before its memory goes. */
static bool fixup_free(void *addr, enum debug_obj_state state)
{
	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	take_out(addr);
	debug_object_free(addr, &timer_descr);
	return true;
}

static const struct debug_obj_descr timer_descr = {
	.name		= "twheel_timer",
	.debug_hint	= timer_hint,
	.fixup_init	= fixup_init,
	.fixup_free	= fixup_free,
};

/* A timer is about to be initialised; it may be pending by mistake. */
void twheel_debug_init(struct twheel_timer *timer)
{
	debug_object_init(timer, &timer_descr);
}

/* A timer begins to wait. */
void twheel_debug_activate(struct twheel_timer *timer)
{
	debug_object_activate(timer, &timer_descr);
}

/* A timer has ceased to wait. */
void twheel_debug_deactivate(struct twheel_timer *timer)
{
	debug_object_deactivate(timer, &timer_descr);
}

/* A timer is about to be used. */
void twheel_debug_assert_init(struct twheel_timer *timer)
{
	debug_object_assert_init(timer, &timer_descr);
}

/**
 * twheel_timer_init_onstack - twheel_timer_init_flags() for a timer on the stack
 * @timer: the timer
 * @wheel: where it will wait
 * @fn: its function
 * @flags: its flags
 *
 * Whoever calls this calls twheel_timer_destroy_onstack() before returning.
 */
void twheel_timer_init_onstack(struct twheel_timer *timer, struct twheel *wheel,
			       void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	debug_object_init_on_stack(timer, &timer_descr);
	twheel_timer_setup(timer, wheel, fn, flags);
}
EXPORT_SYMBOL_GPL(twheel_timer_init_onstack);

/**
 * twheel_timer_destroy_onstack - the end of a timer on the stack
 * @timer: the timer, neither pending nor running
 */
void twheel_timer_destroy_onstack(struct twheel_timer *timer)
{
	debug_object_free(timer, &timer_descr);
}
EXPORT_SYMBOL_GPL(twheel_timer_destroy_onstack);
