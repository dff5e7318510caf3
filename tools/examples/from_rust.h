/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For bindgen, which does not evaluate _IOWR():
 *
 *	bindgen from_rust.h -o twheel.rs -- -I/usr/include
 */
#include <linux/twheel.h>

enum {
	IOC_ADD = TWHEEL_IOC_ADD,
	IOC_SIGNAL = TWHEEL_IOC_SIGNAL,
};
