/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: what the files about timers share; the calls are in linux/twheel.h. */
#ifndef _TWHEEL_TIMER_H
#define _TWHEEL_TIMER_H

#include <linux/twheel.h>
#include <linux/types.h>

#include "reaper.h"

struct twheel_shard *twheel_local_shard(struct twheel *wheel);
bool twheel_timer_usable(struct twheel_timer *timer);
struct twheel_shard *twheel_timer_lock(struct twheel_timer *timer, unsigned long *flags)
	__acquires(timer);
void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
			void (*fn)(struct twheel_timer *timer), unsigned int flags);
bool twheel_timer_detach(struct twheel_shard *shard, struct twheel_timer *timer);
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked);
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer));
bool twheel_runs_functions(const struct twheel *wheel);
void twheel_timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline,
			 s64 offset);

#endif /* _TWHEEL_TIMER_H */
