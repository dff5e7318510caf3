// SPDX-License-Identifier: GPL-2.0
/* A program that traces the kernel must not ask whether a key is watched, which takes a lock. */
#include "handle.bpf.h"

SEC("tp_btf/sched_process_exit")
int watched(void *ctx)
{
	const struct twheel_key key = {};

	return twheel_bpf_watched(handle, &key);
}
