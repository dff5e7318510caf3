// SPDX-License-Identifier: GPL-2.0
/*
 * Debugobjects for timers: finds timers that are initialised or freed while they are pending, or
 * used without initialisation.
 *
 * A timer is active while it is pending, under the lock of its shard. After a report the timer
 * is repaired as far as possible, so that the kernel can continue.
 */
#include <linux/debugobjects.h>
#include <linux/export.h>

#include "timer.h"

static void *timer_hint(void *addr)
{
	struct twheel_timer *timer = addr;

	return timer->fn;
}

/*
 * Cancel a timer that is initialised or freed while it is pending. A corrupted one cannot be
 * cancelled; it is deactivated, so that it is not repaired again and again.
 */
static bool take_out(struct twheel_timer *timer, enum debug_obj_state state)
{
	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	if (twheel_timer_cancel(timer) < 0)
		debug_object_deactivate(timer, &twheel_timer_descr);
	return true;
}

static bool fixup_init(void *addr, enum debug_obj_state state)
{
	bool repaired = take_out(addr, state);

	if (repaired)
		debug_object_init(addr, &twheel_timer_descr);
	return repaired;
}

static bool fixup_free(void *addr, enum debug_obj_state state)
{
	bool repaired = take_out(addr, state);

	if (repaired)
		debug_object_free(addr, &twheel_timer_descr);
	return repaired;
}

const struct debug_obj_descr twheel_timer_descr = {
	.name		= "twheel_timer",
	.debug_hint	= timer_hint,
	.fixup_init	= fixup_init,
	.fixup_free	= fixup_free,
};

void twheel_timer_init_onstack(struct twheel_timer *timer, struct twheel *wheel,
			       void (*fn)(struct twheel_timer *timer))
{
	debug_object_init_on_stack(timer, &twheel_timer_descr);
	twheel_timer_setup(timer, wheel, fn, 0);
}
EXPORT_SYMBOL_GPL(twheel_timer_init_onstack);

void twheel_timer_destroy_onstack(struct twheel_timer *timer)
{
	debug_object_free(timer, &twheel_timer_descr);
}
EXPORT_SYMBOL_GPL(twheel_timer_destroy_onstack);
