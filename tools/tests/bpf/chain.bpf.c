// SPDX-License-Identifier: GPL-2.0
/*
 * As many programs as a function can have, which run on top of each other: each of them signals,
 * and is attached to a function of that call. The first signal comes from the add of an operation
 * with the key FIRST, or from a packet, in a softirq. A level takes 560 bytes of the stack, since a
 * program that may call another one at its end gets no stack of its own.
 */
#include "handle.bpf.h"

#define FIRST	4243
#define BUSY	16

unsigned int next, depth, deepest, refused, packet_deepest, packet_refused;

struct twheel_watch {
	struct twheel_key	key;
} __attribute__((preserve_access_index));

struct twheel_op {
	struct twheel_watch	*watches;
} __attribute__((preserve_access_index));

static __always_inline int signal(void)
{
	const struct twheel_key key = { .v = { 0, 1 } };

	return twheel_bpf_signal(handle, &key, 0, 0);
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, int);
} none SEC(".maps");

static __always_inline int chain(void *ctx, unsigned int at)
{
	char stack[400];

	if (next != at)
		return 0;
	next++;
	stack[0] = 0;
	/* The compiler would drop the rest. */
	asm volatile ("" : : "r"(stack) : "memory");
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (signal() == -BUSY)
		refused++;
	depth--;
	bpf_tail_call(ctx, &none, 0);
	return 0;
}

SEC("tp_btf/twheel_op_add")
int on_op_add(unsigned long long *ctx)
{
	const struct twheel_op *op = (void *)ctx[0];

	/* The verifier wants to know whether there is one. */
	if (!op || op->watches->key.v[0] || op->watches->key.v[1] != FIRST)
		return 0;
	next = 1;
	signal();
	return 0;
}

SEC("xdp")
int on_packet(struct xdp_md *ctx)
{
	unsigned int was_deepest = deepest, was_refused = refused;

	next = 1;
	deepest = 0;
	refused = 0;
	signal();
	packet_deepest = deepest;
	packet_refused = refused;
	deepest = was_deepest;
	refused = was_refused;
	return XDP_PASS;
}

#define LEVEL(at)	SEC("fentry/twheel_signal_queue_add") int level_##at(void *ctx) \
			{ return chain(ctx, at); }

LEVEL(1) LEVEL(2) LEVEL(3) LEVEL(4) LEVEL(5) LEVEL(6) LEVEL(7) LEVEL(8) LEVEL(9) LEVEL(10)
LEVEL(11) LEVEL(12) LEVEL(13) LEVEL(14) LEVEL(15) LEVEL(16) LEVEL(17) LEVEL(18) LEVEL(19)
LEVEL(20) LEVEL(21) LEVEL(22) LEVEL(23) LEVEL(24) LEVEL(25) LEVEL(26) LEVEL(27) LEVEL(28)
LEVEL(29) LEVEL(30) LEVEL(31) LEVEL(32) LEVEL(33) LEVEL(34) LEVEL(35) LEVEL(36)
