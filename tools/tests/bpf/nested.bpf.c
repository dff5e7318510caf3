// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that signal a key whenever the module is in one of its critical sections: in its own
 * tracepoints, some of which fire with the locks of buckets and shards held, in its functions, in
 * allocations, and where a CPU waits for a lock.
 */
#include "handle.bpf.h"

unsigned long long queued;

/* The operation with this key waits for a signal from within its own add. */
#define KEY	4242

struct twheel_watch {
	struct twheel_key	key;
} __attribute__((preserve_access_index));

struct twheel_op {
	struct twheel_watch	*watches;
} __attribute__((preserve_access_index));

static int signal(void)
{
	const struct twheel_key key = { .v = { 0, 1 } };

	if (!twheel_bpf_signal(handle, &key, 0, 0))
		__sync_fetch_and_add(&queued, 1);
	return 0;
}

/* twheel_op_add(op, clock): the bucket of its key and its shard are locked. */
SEC("tp_btf/twheel_op_add")
int on_op_add(unsigned long long *ctx)
{
	const struct twheel_op *op = (void *)ctx[0];
	const struct twheel_key key = { .v = { 0, KEY } };

	/* The verifier wants to know whether there is one. */
	if (!op || op->watches->key.v[0] || op->watches->key.v[1] != KEY)
		return signal();
	twheel_bpf_signal(handle, &key, 0, 3);
	return 0;
}

#define ON(section, name)	SEC(section) int name(void *ctx) { return signal(); }

ON("tp_btf/twheel_timer_add", on_timer_add)
ON("tp_btf/twheel_op_end", on_op_end)
ON("tp_btf/kmalloc", on_kmalloc)
ON("tp_btf/contention_begin", on_contention)
ON("fentry/twheel_queue_add", on_queue_add)
ON("kprobe/twheel_op_timer_fn", on_expire)
ON("kprobe/twheel_signal_queue_add", on_signal)
