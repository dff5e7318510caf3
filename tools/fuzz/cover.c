// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage of the module by KCOV.
 *
 * Only the module is instrumented (see Kbuild), so every PC belongs to the module. Reached
 * PCs are marked by their distance from the first one. A sequence is worth keeping if it
 * has a new transition from one PC to another. Without KCOV in the kernel, all sequences
 * are random.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kcov.h>

#include "fuzz.h"

#define AREA_PCS	16384UL
#define TEXT_SIZE	0x100000UL
#define STEPS_SIZE	0x40000UL

static struct {
	unsigned long nr_pcs;
	__u8 pcs[TEXT_SIZE];
	__u8 steps[STEPS_SIZE];
} *seen;

static unsigned long text;

/* Start address of the module's code; 0 if the module is not loaded or it is hidden. */
static unsigned long find_text(void)
{
	FILE *file = fopen("/sys/module/twheel/sections/.text", "r");
	unsigned long address = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lx", &address) != 1)
		address = 0;
	fclose(file);
	return address;
}

void cover_setup(void)
{
	text = find_text();
	seen = share_alloc(sizeof(*seen));
	if (!text || !seen || access("/sys/kernel/debug/kcov", W_OK))
		options.cover = false;
}

/* Called before privileges are dropped. The area belongs to the caller of cover_start(). */
void cover_open(struct cover *cover)
{
	void *area;

	cover->fd = -1;
	cover->area = NULL;
	if (!options.cover)
		return;
	cover->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (cover->fd < 0 || ioctl(cover->fd, KCOV_INIT_TRACE, AREA_PCS))
		return;
	area = mmap(NULL, AREA_PCS * sizeof(unsigned long), PROT_READ | PROT_WRITE,
		    MAP_SHARED, cover->fd, 0);
	if (area != MAP_FAILED)
		cover->area = area;
}

void cover_start(struct cover *cover)
{
	if (cover->area && ioctl(cover->fd, KCOV_ENABLE, KCOV_TRACE_PC))
		cover->area = NULL;
}

void cover_begin(struct cover *cover)
{
	if (cover->area)
		__atomic_store_n(&cover->area[0], 0, __ATOMIC_RELAXED);
}

/* Mark the PCs reached since cover_begin(). */
void cover_end(struct cover *cover)
{
	unsigned long i, nr, before = 0;

	if (!cover->area)
		return;
	nr = __atomic_load_n(&cover->area[0], __ATOMIC_RELAXED);
	if (nr >= AREA_PCS)
		nr = AREA_PCS - 1;
	for (i = 1; i <= nr; i++) {
		unsigned long pc = cover->area[i] - text;
		unsigned long step = (pc ^ before * 31) % STEPS_SIZE;

		if (pc >= TEXT_SIZE)
			continue;
		before = pc;
		if (!seen->steps[step] && !__atomic_exchange_n(&seen->steps[step], 1,
							       __ATOMIC_RELAXED))
			cover->news = true;
		if (!seen->pcs[pc] && !__atomic_exchange_n(&seen->pcs[pc], 1, __ATOMIC_RELAXED))
			__atomic_add_fetch(&seen->nr_pcs, 1, __ATOMIC_RELAXED);
	}
}

unsigned long nr_pcs(void)
{
	return seen ? seen->nr_pcs : 0;
}

/* Write a line for each reached PC, as an offset in .text. */
void write_pcs(const char *path)
{
	FILE *file = fopen(path, "w");
	unsigned long pc;

	if (!file)
		return;
	for (pc = 0; pc < TEXT_SIZE; pc++) {
		if (seen->pcs[pc])
			fprintf(file, "%lx\n", pc);
	}
	fclose(file);
}
