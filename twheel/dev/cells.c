// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: cells, words of 64 bits that programs map.
 *
 * A cell is the deadline of an operation, its life, and the arbiter of its end. The states and the
 * transitions, of which Documentation/cells-protocol.rst has the orders and the races:
 *
 *	from		to		by
 *	----		--		--
 *	not in use	armed		add, before the timer is added		op/op_cell.c
 *	armed		later		program
 *	armed		idle		program
 *	idle		armed, later	program
 *	armed, idle	armed, earlier	TWHEEL_IOC_EXCHANGE, then the timer	op/op_cell.c
 *	armed		ended		reaper, if its time has passed		core/cell.c
 *	idle		time = NEVER	reaper, which parks the timer		core/cell.c
 *	armed		ended		signal, complete: a bit			op/op_cell.c
 *	any		ended		cancel, drain, close			op/op_cell.c
 *
 * The pages belong to a file. They are allocated by TWHEEL_IOC_CELLS, charged to the memory cgroup
 * and the user of the caller, and freed when the file is released and its operations
 * have ended. A mapping keeps the file, and so munmap() or the end of the process comes before
 * that; close() alone ends nothing. A child of fork() has no mapping, and may map the cells itself.
 *
 * The kernel uses a cell only for the pending operations of its file, and those of its calls. So it
 * needs neither the mapping nor a task, and what a program stores concerns its own operations only.
 */
#include <linux/cpufeature.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kconfig.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../compat.h"
#include "file.h"
#include "time.h"
#include "user.h"

/* A cell of a file, or NULL. */
atomic64_t *twheel_cell_find(const struct twheel_file *file, u32 number)
{
	/* Pairs with the release in file_add_cells(). */
	const struct twheel_cells *cells = smp_load_acquire(&file->cells);
	u32 page = number / TWHEEL_CELLS_PER_PAGE;

	if (!cells || page >= cells->nr)
		return NULL;
	page = array_index_nospec(page, cells->nr);
	return (atomic64_t *)page_address(cells->page[page]) + number % TWHEEL_CELLS_PER_PAGE;
}

void twheel_cells_free(struct twheel_cells *cells)
{
	if (!cells)
		return;
	twheel_user_uncharge(cells->user, TWHEEL_USER_CELLS, cells->nr);
	twheel_user_put(cells->user);
	while (cells->nr)
		__free_page(cells->page[--cells->nr]);
	kvfree(cells);
}

/* Cells without pages, of the user of the caller; or an ERR_PTR(). */
static struct twheel_cells *cells_alloc(u32 nr_pages)
{
	struct twheel_cells *cells = kvzalloc(struct_size(cells, page, nr_pages), TWHEEL_GFP_USER);
	struct twheel_user *user;

	if (!cells)
		return ERR_PTR(-ENOMEM);
	user = twheel_user_get();
	if (IS_ERR(user)) {
		kvfree(cells);
		return ERR_CAST(user);
	}
	cells->user = user;
	return cells;
}

/* Add a page. */
static int cells_grow(struct twheel_cells *cells)
{
	int err = fatal_signal_pending(current) ? -EINTR :
		  twheel_user_charge(cells->user, TWHEEL_USER_CELLS);

	if (err)
		return err;
	cells->page[cells->nr] = alloc_page(TWHEEL_GFP_USER | __GFP_ZERO);
	if (!cells->page[cells->nr]) {
		twheel_user_uncharge(cells->user, TWHEEL_USER_CELLS, 1);
		return -ENOMEM;
	}
	cells->nr++;
	return 0;
}

/*
 * Whether each atomic access to a cell, which the kernel makes with a lock held and interrupts off,
 * takes a bounded number of steps while other CPUs store to the word. A loop of load-exclusive and
 * store-exclusive, or of compare-and-exchange, does not: the threads of a program could keep it
 * running. arm64 has FUTEX_MAX_LOOPS for the same reason.
 *
 * x86-64 and the LSE atomics of arm64 have an instruction for each access. Of the others, arm,
 * powerpc and arm64 without LSE loop in all of them, riscv in cmpxchg(), and s390 and 32-bit x86 in
 * xchg(). A new machine has to have 64-bit accesses for its 32-bit programs, too, and caches that
 * show all mappings of a page alike.
 */
static bool cells_are_bounded(void)
{
#ifdef CONFIG_ARM64
	return cpus_have_cap(ARM64_HAS_LSE_ATOMICS);
#else
	return IS_ENABLED(CONFIG_X86_64);
#endif
}

/* Allocate the cells of a file. */
static int file_add_cells(struct twheel_file *file, u32 nr)
{
	u32 nr_pages = DIV_ROUND_UP(nr, TWHEEL_CELLS_PER_PAGE);
	struct twheel_cells *cells;
	int err = 0;

	if (!cells_are_bounded())
		return -EOPNOTSUPP;
	if (nr > file->instance->max_file_pending)
		return -EINVAL;
	if (!twheel_file_may(file, TWHEEL_RIGHTS_CELLS))
		return -EPERM;
	cells = cells_alloc(nr_pages);
	if (IS_ERR(cells))
		return PTR_ERR(cells);
	while (!err && cells->nr < nr_pages)
		err = cells_grow(cells);
	spin_lock(&file->own.lock);
	/* A file with cells keeps these rights, see twheel_call_restrict(). */
	if (!err && !twheel_file_may(file, TWHEEL_RIGHTS_CELLS)) {
		err = -EPERM;
	} else if (!err && !file->cells) {
		/* Pairs with the acquire of those that use them without the lock. */
		smp_store_release(&file->cells, cells);
		cells = NULL;
	}
	spin_unlock(&file->own.lock);
	/* There was an error, or another thread was faster. */
	twheel_cells_free(cells);
	return err;
}

int twheel_call_cells(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_cells_args *c = &args->cells;
	const struct twheel_cells *cells;
	int err;

	if (c->flags)
		return -EINVAL;
	if (c->nr && !READ_ONCE(call->file->cells)) {
		err = file_add_cells(call->file, c->nr);
		if (err)
			return err;
	}
	/* Pairs with the release in file_add_cells(). */
	cells = smp_load_acquire(&call->file->cells);
	if (cells && c->nr > cells->nr * TWHEEL_CELLS_PER_PAGE)
		return -EBUSY;
	c->nr = cells ? cells->nr * TWHEEL_CELLS_PER_PAGE : 0;
	c->monotonic_offset = twheel_time_offset(CLOCK_MONOTONIC, 0);
	c->boottime_offset = twheel_time_offset(CLOCK_BOOTTIME, 0);
	return 0;
}

int twheel_cells_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct twheel_file *tf = file->private_data;
	/* Pairs with the release in file_add_cells(). */
	struct twheel_cells *cells = smp_load_acquire(&tf->cells);

	/* A private mapping would hide the stores. */
	if (!cells || vma->vm_pgoff || vma_pages(vma) > cells->nr ||
	    !(vma->vm_flags & VM_MAYSHARE) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	twheel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	return vm_map_pages(vma, cells->page, cells->nr);
}

/* Whether a program that finds @from may want the armed word @to. */
static bool word_follows(u64 from, u64 to)
{
	if (from & TWHEEL_CELL_IDLE)
		from = (from + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE;
	return !((from ^ to) & ~TWHEEL_CELL_TIME) && !(to & TWHEEL_CELL_ENDED);
}

int twheel_call_exchange(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_exchange_args *exchange = &args->exchange;
	struct twheel_file_op *file_op;
	int err = -EOPNOTSUPP;

	if (exchange->flags || exchange->reserved || !word_follows(exchange->from, exchange->to))
		return -EINVAL;
	file_op = twheel_call_op(call, exchange->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	/* This file keeps its own cells only. */
	if (file_op->flags & TWHEEL_ADD_CELL)
		err = twheel_file_op_file(file_op) != call->file ? -EPERM :
		      twheel_op_exchange_cell(&file_op->op, exchange->from, exchange->to);
	twheel_file_op_put(file_op);
	return err;
}
