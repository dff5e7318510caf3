/* SPDX-License-Identifier: GPL-2.0 */
/* Trace events of timers and operations. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM twheel

#if !defined(_TRACE_TWHEEL_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TWHEEL_H

#include <linux/tracepoint.h>
#include <linux/twheel.h>

/* Maximum length of the name of a key (a UUID), including the terminating NUL. */
#define TWHEEL_KEY_NAME	37

void twheel_key_name(char *name, const struct twheel_key *key);

struct twheel_bucket;
struct twheel_shard;
struct twheel_wheel;

/* In all events, shard is the number of a shard in its wheel. */

DECLARE_EVENT_CLASS(twheel_timer,
	TP_PROTO(const struct twheel_timer *timer, const struct twheel_shard *shard),
	TP_ARGS(timer, shard),
	TP_STRUCT__entry(
		__field(const void *, timer)
		__field(u64, expires)
		__field(unsigned int, shard)
	),
	TP_fast_assign(
		__entry->timer = timer;
		__entry->expires = timer->node.expires;
		__entry->shard = shard->number;
	),
	TP_printk("timer=%p expires=%llu shard=%u",
		  __entry->timer, __entry->expires, __entry->shard)
);

/*
 * A timer was added or re-armed; expires is its deadline in ns, or with slack that of its tick. It
 * is in the bucket of this level and slot: on level -1 it is due or never expires.
 */
TRACE_EVENT(twheel_timer_add,
	TP_PROTO(const struct twheel_timer *timer, struct twheel_shard *shard),
	TP_ARGS(timer, shard),
	TP_STRUCT__entry(
		__field(const void *, timer)
		__field(u64, expires)
		__field(u64, tick)
		__field(unsigned int, shard)
		__field(int, level)
		__field(int, slot)
	),
	TP_fast_assign(
		struct place place;

		place_of_timer(&place, shard, timer);
		__entry->timer = timer;
		__entry->expires = timer->node.expires;
		__entry->tick = place.tick;
		__entry->shard = shard->number;
		__entry->level = place.level;
		__entry->slot = place.slot;
	),
	TP_printk("timer=%p expires=%llu tick=%llu level=%d slot=%d shard=%u",
		  __entry->timer, __entry->expires, __entry->tick, __entry->level,
		  __entry->slot, __entry->shard)
);

/* A pending timer was re-armed to a later deadline, and stays in its bucket until that expires. */
DEFINE_EVENT(twheel_timer, twheel_timer_stay,
	TP_PROTO(const struct twheel_timer *timer, const struct twheel_shard *shard),
	TP_ARGS(timer, shard)
);

/*
 * The bucket (level, slot) expired before the deadline of the timer, which moved to to_level,
 * to_slot; to_level -1 means that it is due. now is the tick at which the bucket expired.
 */
TRACE_EVENT(twheel_timer_cascade,
	TP_PROTO(struct twheel_wheel *wheel, const struct twheel_bucket *bucket,
		 const struct twheel_node *node),
	TP_ARGS(wheel, bucket, node),
	TP_STRUCT__entry(
		__field(const void *, timer)
		__field(u64, tick)
		__field(u64, now)
		__field(int, level)
		__field(int, slot)
		__field(int, to_level)
		__field(int, to_slot)
	),
	TP_fast_assign(
		struct place place;

		place_of_bucket(&place, wheel, bucket);
		__entry->timer = container_of(node, struct twheel_timer, node);
		__entry->now = wheel->now;
		__entry->level = place.level;
		__entry->slot = place.slot;
		place_of(&place, wheel, node->expires);
		__entry->tick = place.tick;
		__entry->to_level = place.level;
		__entry->to_slot = place.slot;
	),
	TP_printk("timer=%p tick=%llu level=%d slot=%d to_level=%d to_slot=%d now=%llu",
		  __entry->timer, __entry->tick, __entry->level, __entry->slot,
		  __entry->to_level, __entry->to_slot, __entry->now)
);

/* A pending timer was cancelled. */
DEFINE_EVENT(twheel_timer, twheel_timer_cancel,
	TP_PROTO(const struct twheel_timer *timer, const struct twheel_shard *shard),
	TP_ARGS(timer, shard)
);

/* The callback of a timer is about to be called. */
DEFINE_EVENT(twheel_timer, twheel_timer_fire,
	TP_PROTO(const struct twheel_timer *timer, const struct twheel_shard *shard),
	TP_ARGS(timer, shard)
);

/*
 * A callback ran across a tick of the kernel. ns is at least slow_ns (a module parameter), and
 * includes the callbacks before it in the same chunk, unless slow_ns is 0.
 */
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

/* A callback of a timer or of an operation has returned; ns is its duration. */
TRACE_EVENT(twheel_callback,
	TP_PROTO(unsigned long fn, u64 ns),
	TP_ARGS(fn, ns),
	TP_STRUCT__entry(
		__field(unsigned long, fn)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->fn = fn;
		__entry->ns = ns;
	),
	TP_printk("function=%ps ns=%llu", (void *)__entry->fn, __entry->ns)
);

/* A reaper has woken up; tick is the current tick of its wheel, 0 for CLOCK_REALTIME. */
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

/* A shard has noticed that CLOCK_REALTIME was set. */
TRACE_EVENT(twheel_clock_set,
	TP_PROTO(unsigned int shard),
	TP_ARGS(shard),
	TP_STRUCT__entry(
		__field(unsigned int, shard)
	),
	TP_fast_assign(
		__entry->shard = shard;
	),
	TP_printk("shard=%u", __entry->shard)
);

/* An operation was added; clock is an enum twheel_clock. */
TRACE_EVENT(twheel_op_add,
	TP_PROTO(const struct twheel_op *op, unsigned int clock),
	TP_ARGS(op, clock),
	TP_STRUCT__entry(
		__field(const void *, op)
		__field(u64, deadline)
		__field(u64, missing)
		__field(u8, clock)
		__field(u8, condition)
		__field(u8, nr_watches)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->deadline = op->deadline;
		__entry->missing = op->nr_watches ? op->missing : 0;
		__entry->clock = clock;
		__entry->condition = op->condition;
		__entry->nr_watches = op->nr_watches;
	),
	TP_printk("op=%p deadline=%llu clock=%u condition=%u missing=%llu watches=%u",
		  __entry->op, __entry->deadline, __entry->clock, __entry->condition,
		  __entry->missing, __entry->nr_watches)
);

/* An operation has ended; reason is an enum twheel_reason, and time the time of its clock. */
TRACE_EVENT(twheel_op_end,
	TP_PROTO(const struct twheel_op *op),
	TP_ARGS(op),
	TP_STRUCT__entry(
		__field(const void *, op)
		__field(u64, deadline)
		__field(u64, time)
		__field(u64, value)
		__field(int, error)
		__field(u8, reason)
	),
	TP_fast_assign(
		struct twheel_op_result result;

		twheel_op_get_result(op, &result);
		__entry->op = op;
		__entry->deadline = result.deadline;
		__entry->time = result.time;
		__entry->value = result.value;
		__entry->error = result.error;
		__entry->reason = result.reason;
	),
	TP_printk("op=%p reason=%u value=%llu error=%d deadline=%llu time=%llu",
		  __entry->op, __entry->reason, __entry->value, __entry->error,
		  __entry->deadline, __entry->time)
);

/* The callback of an operation has returned. */
TRACE_EVENT(twheel_op_done,
	TP_PROTO(const struct twheel_op *op),
	TP_ARGS(op),
	TP_STRUCT__entry(
		__field(const void *, op)
	),
	TP_fast_assign(
		__entry->op = op;
	),
	TP_printk("op=%p", __entry->op)
);

/* The predicate of an operation has returned. */
TRACE_EVENT(twheel_op_try_complete,
	TP_PROTO(const struct twheel_op *op, bool held),
	TP_ARGS(op, held),
	TP_STRUCT__entry(
		__field(const void *, op)
		__field(bool, held)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->held = held;
	),
	TP_printk("op=%p held=%d", __entry->op, __entry->held)
);

/* The deadline of a pending operation was changed. */
TRACE_EVENT(twheel_op_rearm,
	TP_PROTO(const struct twheel_op *op, u64 slack_ns),
	TP_ARGS(op, slack_ns),
	TP_STRUCT__entry(
		__field(const void *, op)
		__field(u64, deadline)
		__field(u64, slack_ns)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->deadline = op->deadline;
		__entry->slack_ns = slack_ns;
	),
	TP_printk("op=%p deadline=%llu slack_ns=%llu",
		  __entry->op, __entry->deadline, __entry->slack_ns)
);

/*
 * The set of keys of a pending operation changed; more is the number of added keys, or -1 for a
 * removal.
 */
TRACE_EVENT(twheel_op_watch,
	TP_PROTO(const struct twheel_op *op, int more),
	TP_ARGS(op, more),
	TP_STRUCT__entry(
		__field(const void *, op)
		__field(int, more)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->more = more;
	),
	TP_printk("op=%p more=%d", __entry->op, __entry->more)
);

/* A signal has reached a pending operation; missing is what remains of its condition. */
TRACE_EVENT(twheel_op_signal,
	TP_PROTO(const struct twheel_op *op, const struct twheel_key *key),
	TP_ARGS(op, key),
	TP_STRUCT__entry(
		__field(const void *, op)
		__array(char, key, TWHEEL_KEY_NAME)
		__field(u64, missing)
	),
	TP_fast_assign(
		__entry->op = op;
		twheel_key_name(__entry->key, key);
		__entry->missing = op->missing;
	),
	TP_printk("op=%p key=%s missing=%llu", __entry->op, __entry->key, __entry->missing)
);

/*
 * The watchers of a key, if any, were signalled (action=0), had their predicates run (1) or
 * were cancelled (2); ended is the number of operations that this ended.
 */
TRACE_EVENT(twheel_signal_key,
	TP_PROTO(const struct twheel_key *key, unsigned int action, u32 ended),
	TP_ARGS(key, action, ended),
	TP_STRUCT__entry(
		__array(char, key, TWHEEL_KEY_NAME)
		__field(unsigned int, action)
		__field(u32, ended)
	),
	TP_fast_assign(
		twheel_key_name(__entry->key, key);
		__entry->action = action;
		__entry->ended = ended;
	),
	TP_printk("key=%s action=%u ended=%u",
		  __entry->key, __entry->action, __entry->ended)
);

#endif /* _TRACE_TWHEEL_H */

#include <trace/define_trace.h>
