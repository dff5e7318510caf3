/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: all the wheels that there are. See registry.c. */
#ifndef _TWHEEL_REGISTRY_H
#define _TWHEEL_REGISTRY_H

#include <linux/init.h>

struct dentry;
struct twheel;

void __init twheel_registry_init(void);
void twheel_registry_exit(void);
struct dentry *twheel_registry_debugfs(void);

int twheel_registry_add(struct twheel *wheel);
void twheel_registry_remove(struct twheel *wheel);

#endif /* _TWHEEL_REGISTRY_H */
