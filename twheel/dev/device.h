/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: set-up, see device.c. */
#ifndef _TWHEEL_DEV_DEVICE_H
#define _TWHEEL_DEV_DEVICE_H

#include <linux/init.h>

int __init twheel_device_init(void);
void twheel_device_exit(void);

#endif /* _TWHEEL_DEV_DEVICE_H */
