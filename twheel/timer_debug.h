/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: what debugobjects is told of timers. See timer_debug.c. */
#ifndef _TWHEEL_TIMER_DEBUG_H
#define _TWHEEL_TIMER_DEBUG_H

#include <linux/twheel.h>

#ifdef CONFIG_DEBUG_OBJECTS
void twheel_debug_init(struct twheel_timer *timer);
void twheel_debug_activate(struct twheel_timer *timer);
void twheel_debug_deactivate(struct twheel_timer *timer);
void twheel_debug_assert_init(struct twheel_timer *timer);
#else
static inline void twheel_debug_init(struct twheel_timer *timer) { }
static inline void twheel_debug_activate(struct twheel_timer *timer) { }
static inline void twheel_debug_deactivate(struct twheel_timer *timer) { }
static inline void twheel_debug_assert_init(struct twheel_timer *timer) { }
#endif

#endif /* _TWHEEL_TIMER_DEBUG_H */
