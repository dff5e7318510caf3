// SPDX-License-Identifier: GPL-2.0
/*
 * Suite lateness, reference: lateness of a thread that only sleeps until an hrtimer
 * wakes it, 1,000 times per second. Also records and reports lateness values.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "late_op.h"

/* Interval between wake-ups. */
#define PERIOD_NS	NSEC_PER_MSEC

static struct task_struct *task;

int late_alloc(struct late *late, u32 size)
{
	*late = (struct late){ .ns = vmalloc(array_size(size, sizeof(*late->ns))), .size = size };
	return late->ns ? 0 : -ENOMEM;
}

void late_free(struct late *late)
{
	vfree(late->ns);
}

/* Callers must not run concurrently. */
void late_record(struct late *late, u64 ns)
{
	if (late->nr < late->size)
		late->ns[late->nr++] = min_t(u64, ns, U32_MAX);
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Report the recorded values, with a prefix of p50, p99 and max, and reset the record. */
void late_report(struct late *late, const char *variant, const char *of, const char *prefix,
		 u64 pending)
{
	static const char * const names[] = { "p50", "p99", "max" };
	u32 nr = late->nr, i;
	char figure[16];

	late->nr = 0;
	if (!nr)
		return;
	sort(late->ns, nr, sizeof(*late->ns), compare, NULL);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const u32 at[] = { nr / 2, div_u64(nr * 99ULL, 100), nr - 1 };

		snprintf(figure, sizeof(figure), "%s%s", prefix, names[i]);
		bench_sample(variant, of, figure, pending, "us", late->ns[at[i]]);
	}
}

/*
 * Wake up every millisecond. Periods that pass before the thread runs count as well,
 * since an operation due in one of them would be delayed, too.
 */
static int wakeups(void *data)
{
	u64 until = ktime_get_ns() + PERIOD_NS, now;
	struct late *late = data;
	ktime_t expires;

	while (!kthread_should_stop()) {
		expires = ns_to_ktime(until);
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule_hrtimeout(&expires, HRTIMER_MODE_ABS);
		__set_current_state(TASK_RUNNING);
		for (now = ktime_get_ns(); until <= now; until += PERIOD_NS)
			late_record(late, now - until);
	}
	return 0;
}

int late_wakeups_start(struct late *late)
{
	task = kthread_run(wakeups, late, "twheel_wakeup");
	return PTR_ERR_OR_ZERO(task);
}

int late_wakeups_stop(void)
{
	return kthread_stop(task);
}
