/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the parts of the suite purgatory. See purgatory.c. */
#ifndef _TWHEEL_BENCH_PURGATORY_H
#define _TWHEEL_BENCH_PURGATORY_H

#include <linux/types.h>

struct bench_config;

/* Number of keys of the case few_keys. */
#define FEW_KEYS	16

u32 purgatory_block(const struct bench_config *config);
u32 purgatory_sample(const struct bench_config *config);
void purgatory_report(const char *variant, const char *figure, u64 ns, u64 nr);
int purgatory_shared(const struct bench_config *config, const char *variant, u32 nr_keys);

#endif /* _TWHEEL_BENCH_PURGATORY_H */
