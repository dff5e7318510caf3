// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that the fuzzer passes to the kernel.
 *
 * Each thread has its own memory, between inaccessible pages: with any corrupted value in a
 * call, the kernel overwrites nothing that the fuzzer needs, and does not read the commands of
 * an earlier batch again. Other threads unmap, protect and remap the shaky page while the
 * kernel may be using it.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define PAGE		4096UL
#define ARGS_SIZE	(8 * PAGE)	/* larger than the maximum size in an ioctl number */
#define IN_SIZE		(34 * PAGE)	/* larger than the commands of the largest batch */
#define OUT_SIZE	(24 * PAGE)
#define RESULTS_SIZE	(8 * PAGE)

/* @size bytes between two inaccessible pages. */
static char *guarded(size_t size)
{
	char *map = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map + PAGE, size, PROT_READ | PROT_WRITE))
		return NULL;
	return map + PAGE;
}

int memory_init(struct memory *memory)
{
	memory->args = guarded(ARGS_SIZE);
	memory->in = guarded(IN_SIZE);
	memory->out = guarded(OUT_SIZE);
	memory->out_size = OUT_SIZE;
	memory->results = guarded(RESULTS_SIZE);
	memory->shaky = guarded(PAGE);
	memory->read_only = guarded(PAGE);
	if (!memory->args || !memory->in || !memory->out || !memory->results ||
	    !memory->shaky || !memory->read_only)
		return -1;
	memory->in += IN_SIZE;
	return pipe(memory->pipe);
}

/* Change a shaky page, possibly of another thread. */
void shake(struct memory *memory, unsigned int how)
{
	char *page = memory->shaky;

	switch (how % 5) {
	case 0:
		/* Not munmap(): a mapping of another thread could take its place. */
		mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 1:
		mprotect(page, PAGE, PROT_READ);
		break;
	case 2:
		mprotect(page, PAGE, PROT_NONE);
		break;
	case 3:
		madvise(page, PAGE, MADV_DONTNEED);
		break;
	default:
		mmap(page, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

static void empty_pipe(struct memory *memory, size_t left)
{
	char rest[512];

	while (left) {
		size_t size = left < sizeof(rest) ? left : sizeof(rest);
		ssize_t got = read(memory->pipe[0], rest, size);

		if (got > 0)
			left -= got;
	}
}

/* Copy through a pipe, which fails without a crash if @to is not mapped. */
bool try_store(struct memory *memory, void *to, const void *from, size_t size)
{
	ssize_t put = write(memory->pipe[1], from, size), got;

	if (put <= 0)
		return false;
	do {
		got = read(memory->pipe[0], to, put);
	} while (got < 0 && errno == EINTR);
	empty_pipe(memory, put - (got > 0 ? got : 0));
	return got == (ssize_t)size;
}

/* The same if @from may not be mapped. */
bool try_load(struct memory *memory, void *to, const void *from, size_t size)
{
	ssize_t put = write(memory->pipe[1], from, size), got;

	if (put <= 0)
		return false;
	if (put < (ssize_t)size) {
		empty_pipe(memory, put);
		return false;
	}
	do {
		got = read(memory->pipe[0], to, size);
	} while (got < 0 && errno == EINTR);
	return got == (ssize_t)size;
}

static void *nowhere(unsigned int place)
{
	switch (place) {
	case PLACE_UNMAPPED:
		return (void *)0x10000UL;
	case PLACE_KERNEL:
		return (void *)0xffff888000001000UL;
	default:
		return NULL;
	}
}

/*
 * Store @size bytes as input of the kernel: at the end of plain memory, or at another @place.
 */
void *place_in(struct thread *t, unsigned int place, const void *from, size_t size)
{
	struct memory *memory = &t->memory;
	char *to;

	switch (place) {
	case PLACE_PLAIN:
		return memcpy(memory->in - size, from, size);
	case PLACE_CLIFF:
		to = memory->in - size / 2;
		memcpy(to, from, size / 2);
		return to;
	case PLACE_READ_ONLY:
		if (size > PAGE || mprotect(memory->read_only, PAGE, PROT_READ | PROT_WRITE))
			return NULL;
		memcpy(memory->read_only, from, size);
		mprotect(memory->read_only, PAGE, PROT_READ);
		return memory->read_only;
	case PLACE_SHAKY:
		/* A call must not use arguments of an earlier one, such as commands of a batch. */
		if (size >= PAGE || !try_store(memory, memory->shaky, from, size))
			return nowhere(PLACE_UNMAPPED);
		return memory->shaky;
	default:
		return nowhere(place);
	}
}

/* Memory for @size bytes of output, or more: its end is not accessible. */
void *place_out(struct thread *t, unsigned int place, size_t size)
{
	struct memory *memory = &t->memory;

	switch (place) {
	case PLACE_PLAIN:
		return memory->out;
	case PLACE_CLIFF:
		return memory->out + memory->out_size - (size < memory->out_size ? size / 2 : 0);
	case PLACE_READ_ONLY:
		mprotect(memory->read_only, PAGE, PROT_READ);
		return memory->read_only;
	case PLACE_SHAKY:
		return memory->shaky;
	default:
		return nowhere(place);
	}
}
