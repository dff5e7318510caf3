// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel needs for each pending operation, by its own account of slab caches,
 * vmalloc and per-CPU memory. Other processes show there too: a quiet machine is needed, and
 * many operations.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* How long RCU may take to free what an earlier session had */
#define QUIET_NS	(100 * NSEC_PER_MSEC)

/* Empty slabs that were kept would be taken into use and not be seen. */
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

/* In bytes; 0 if the kernel doesn't say */
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
	if (!error && contender->user_bytes)
		sample(contender, "user_bytes", pending, "bytes", contender->user_bytes);
	return error;
}
