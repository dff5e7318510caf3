/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: all the purgatories that there are. See purgatories.c. */
#ifndef _TWHEEL_PURGATORIES_H
#define _TWHEEL_PURGATORIES_H

#include <linux/init.h>

struct twheel_purgatory;

void __init twheel_purgatories_init(void);
void twheel_purgatories_exit(void);

void twheel_purgatories_add(struct twheel_purgatory *purgatory);
void twheel_purgatories_remove(struct twheel_purgatory *purgatory);

#endif /* _TWHEEL_PURGATORIES_H */
