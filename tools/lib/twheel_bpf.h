/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of twheel for BPF programs, which need the module twheel_bpf, Linux 6.12 with BTF, and
 * a licence that is compatible with the GPL. Include it after bpf_helpers.h.
 */
#ifndef TWHEEL_BPF_H
#define TWHEEL_BPF_H

#include <linux/twheel.h>

/* The handle of the purgatory of a descriptor, or a negative error; in SEC("syscall"). */
long long twheel_bpf_handle(int fd) __ksym;

/* Signal a key; an amount of 0 is 1. Returns 0, or a negative error if the signal is lost. */
int twheel_bpf_signal(unsigned long long handle, const struct twheel_key *key,
		      unsigned long long amount, unsigned long long value) __ksym;

/* Whether a key is watched: 0, 1, or a negative error; not in programs that trace the kernel. */
int twheel_bpf_watched(unsigned long long handle, const struct twheel_key *key) __ksym;

#endif /* TWHEEL_BPF_H */
