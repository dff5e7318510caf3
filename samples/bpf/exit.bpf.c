// SPDX-License-Identifier: GPL-2.0
/* The exit of a process completes the operations that wait for it: the key is its number. */
#include "handle.bpf.h"

SEC("tp_btf/sched_process_exit")
int process_exit(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct twheel_key key = { .v = { 0, id >> 32 } };

	/* The first thread stands for the process. */
	if ((__u32)id == id >> 32)
		twheel_bpf_signal(handle, &key, 0, 0);
	return 0;
}
