/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: the system's wheel. See system.c; twheel_system() is in linux/twheel.h. */
#ifndef _TWHEEL_SYSTEM_H
#define _TWHEEL_SYSTEM_H

#include <linux/init.h>
#include <linux/twheel.h>
#include <linux/types.h>

int __init twheel_system_check(void);
void twheel_system_config(struct twheel_config *config, enum twheel_clock clock);
u64 twheel_system_tick_ns(void);
void twheel_system_exit(void);

#endif /* _TWHEEL_SYSTEM_H */
