/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the suite lateness_op share. See late_op.c. */
#ifndef _TWHEEL_BENCH_LATE_OP_H
#define _TWHEEL_BENCH_LATE_OP_H

#include <linux/types.h>

/**
 * struct late - by how much something was late, each time
 * @ns: room for @room of them, each in ns
 * @nr: how many there are
 * @room: more than these are not kept
 */
struct late {
	u32	*ns;
	u32	nr;
	u32	room;
};

int late_alloc(struct late *late, u32 room);
void late_note(struct late *late, u64 ns);
void late_report(struct late *late, const char *of, u64 pending);
void late_free(struct late *late);

int late_wakeups_start(struct late *late);
int late_wakeups_stop(void);

#endif /* _TWHEEL_BENCH_LATE_OP_H */
