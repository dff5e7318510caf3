// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory per pending operation, as accounted in slab caches, vmalloc and per-CPU
 * memory. Other processes contribute as well, so the machine should be idle, and the
 * number of operations large.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* Time for RCU to free the objects of an earlier session. */
#define QUIET_NS	(100 * NSEC_PER_MSEC)

/* Otherwise, new objects could reuse empty slabs, and the total would not grow. */
static void shrink_slabs(void)
{
	static const char all[] = "/sys/kernel/slab";
	DIR *dir = opendir(all);
	struct dirent *entry;
	char path[512];
	int fd;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/shrink", all, entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (write(fd, "1", 1) < 0)
			perror(path);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* In bytes; 0 if not available. */
static uint64_t kernel_memory(void)
{
	static const char *const names[] = { "Slab:", "VmallocUsed:", "Percpu:" };
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	uint64_t bytes = 0;
	char name[64];

	if (!file)
		return 0;
	while (fscanf(file, "%63s %llu%*[^\n]", name, &kib) == 2)
		for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
			if (!strcmp(name, names[i]))
				bytes += kib * 1024;
	fclose(file);
	return bytes;
}

int memory(const struct contender *contender, unsigned int pending)
{
	struct session session;
	uint64_t before, after;
	int error;

	if (pending < LEAST_FOR_MEMORY)
		return 0;
	sleep_until(now_ns() + QUIET_NS);
	shrink_slabs();
	before = kernel_memory();
	error = session_open(&session, contender, pending);
	if (error)
		return error;
	error = session_create(&session);
	if (!error)
		error = session_add(&session, 0, pending);
	after = kernel_memory();
	session_close(&session);
	if (!error)
		sample(contender, "bytes", pending, "bytes",
		       ((double)after - (double)before) / pending);
	return error;
}
