/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: cells, see cells.c. */
#ifndef _TWHEEL_DEV_CELLS_H
#define _TWHEEL_DEV_CELLS_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "args.h"

struct file;
struct twheel_cells;
struct twheel_user;
struct vm_area_struct;

atomic64_t *twheel_cell_find(const struct twheel_file *file, u32 number);
void twheel_cells_free(struct twheel_cells *cells, struct twheel_user *user);
int twheel_cells_mmap(struct file *file, struct vm_area_struct *vma);
int twheel_call_cells(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_exchange(struct twheel_ioctl *call, union twheel_call_args *args);

#endif /* _TWHEEL_DEV_CELLS_H */
