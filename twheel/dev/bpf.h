/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: functions for BPF programs, see bpf.c. */
#ifndef _TWHEEL_DEV_BPF_H
#define _TWHEEL_DEV_BPF_H

#include <linux/types.h>

struct twheel_key;

#ifdef CONFIG_DEBUG_INFO_BTF_MODULES
int twheel_bpf_init(void);

/* Called by BPF programs only. */
s64 twheel_bpf_handle(s32 fd);
int twheel_bpf_signal(u64 handle, const struct twheel_key *key, u64 amount, u64 value);
int twheel_bpf_watched(u64 handle, const struct twheel_key *key);
#else
static inline int twheel_bpf_init(void)
{
	return 0;
}
#endif

#endif /* _TWHEEL_DEV_BPF_H */
