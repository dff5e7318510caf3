/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the parts of the suite lateness. See late_op.c. */
#ifndef _TWHEEL_BENCH_LATE_OP_H
#define _TWHEEL_BENCH_LATE_OP_H

#include <linux/types.h>

struct twheel;

/**
 * struct late - record of lateness values
 * @ns: array of @size values in ns
 * @nr: number of recorded values
 * @size: capacity; further values are dropped
 */
struct late {
	u32	*ns;
	u32	nr;
	u32	size;
};

int late_alloc(struct late *late, u32 size);
void late_record(struct late *late, u64 ns);
void late_report(struct late *late, const char *variant, const char *of, const char *prefix,
		 u64 pending);
void late_free(struct late *late);

int late_wakeups_start(struct late *late);
int late_wakeups_stop(void);

#endif /* _TWHEEL_BENCH_LATE_OP_H */
