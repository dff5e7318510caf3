/* SPDX-License-Identifier: GPL-2.0 */
/* What can be traced of twheel's timers. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM twheel

#if !defined(_TRACE_TWHEEL_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TWHEEL_H

#include <linux/tracepoint.h>
#include <linux/twheel.h>

/* In all of them, shard is the number of a shard in its wheel. */

DECLARE_EVENT_CLASS(twheel_timer,
	TP_PROTO(const struct twheel_timer *timer, unsigned int shard),
	TP_ARGS(timer, shard),
	TP_STRUCT__entry(
		__field(const void *, timer)
		__field(u64, expires)
		__field(unsigned int, shard)
	),
	TP_fast_assign(
		__entry->timer = timer;
		__entry->expires = timer->node.expires;
		__entry->shard = shard;
	),
	TP_printk("timer=%p expires=%llu shard=%u",
		  __entry->timer, __entry->expires, __entry->shard)
);

/* A timer begins to wait, or is moved; expires is its tick. */
DEFINE_EVENT(twheel_timer, twheel_timer_add,
	TP_PROTO(const struct twheel_timer *timer, unsigned int shard),
	TP_ARGS(timer, shard)
);

/* A timer that waited is cancelled. */
DEFINE_EVENT(twheel_timer, twheel_timer_cancel,
	TP_PROTO(const struct twheel_timer *timer, unsigned int shard),
	TP_ARGS(timer, shard)
);

/* A timer's function is about to be called. */
DEFINE_EVENT(twheel_timer, twheel_timer_fire,
	TP_PROTO(const struct twheel_timer *timer, unsigned int shard),
	TP_ARGS(timer, shard)
);

/* A function took longer than the module's parameter slow_ns. */
TRACE_EVENT(twheel_timer_slow,
	TP_PROTO(const void *timer, const void *fn, u64 ns),
	TP_ARGS(timer, fn, ns),
	TP_STRUCT__entry(
		__field(const void *, timer)
		__field(const void *, fn)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->timer = timer;
		__entry->fn = fn;
		__entry->ns = ns;
	),
	TP_printk("timer=%p function=%ps ns=%llu",
		  __entry->timer, __entry->fn, __entry->ns)
);

/* A reaper has woken up; tick is where its wheel stands. */
TRACE_EVENT(twheel_reaper_wake,
	TP_PROTO(unsigned int shard, u64 tick, u64 pending),
	TP_ARGS(shard, tick, pending),
	TP_STRUCT__entry(
		__field(unsigned int, shard)
		__field(u64, tick)
		__field(u64, pending)
	),
	TP_fast_assign(
		__entry->shard = shard;
		__entry->tick = tick;
		__entry->pending = pending;
	),
	TP_printk("shard=%u tick=%llu pending=%llu",
		  __entry->shard, __entry->tick, __entry->pending)
);

/* A shard has noticed that the wall clock was set; by so much. */
TRACE_EVENT(twheel_clock_set,
	TP_PROTO(unsigned int shard, s64 ns),
	TP_ARGS(shard, ns),
	TP_STRUCT__entry(
		__field(unsigned int, shard)
		__field(s64, ns)
	),
	TP_fast_assign(
		__entry->shard = shard;
		__entry->ns = ns;
	),
	TP_printk("shard=%u ns=%lld", __entry->shard, __entry->ns)
);

#endif /* _TRACE_TWHEEL_H */

#include <trace/define_trace.h>
