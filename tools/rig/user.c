// SPDX-License-Identifier: GPL-2.0
/*
 * The system calls of user.h: descriptors, kernel entry and exit.
 *
 * A call holds a reference to its file, as fdget() does for shared descriptors, so that a
 * file may be closed during a call. Signals are handled on entry and exit: a signal with a
 * handler is consumed, a fatal one ends the thread.
 */
#define _GNU_SOURCE
#include <linux/twheel.h>
#include <rig/fs.h>
#include <rig/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#define RIG_USER_CALLS
#include "user.h"

#define FD_FAIL_NTH	0x200000	/* the calling thread's /proc/thread-self/fail-nth */
#define FD_TEXT		0x200001	/* the text last opened by the calling thread */
#define NR_THREADS	64
#define MEMORY_SIZE	(64UL << 20)
#define PAGE		4096UL

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_t thread;
	struct task_struct *task;
} threads[NR_THREADS];
static unsigned int nr_threads;

static __thread sigjmp_buf *death;
static __thread char text[8192];
static __thread size_t text_size, text_pos;

/* Kernel entry and exit */

static void take_signals(void)
{
	u8 signals = __atomic_fetch_and(&current->signals, (u8)~RIG_SIGNAL_PENDING,
					__ATOMIC_SEQ_CST);

	if (signals & RIG_SIGNAL_FATAL && death) {
		current->fail_nth = 0;
		siglongjmp(*death, 1);
	}
}

/* The kernel stack is empty. */
static noinline void call_begin(void)
{
	take_signals();
	current->stack = (char *)__builtin_frame_address(0) + 256 - rig_thread_size;
}

static long call_end(long ret)
{
	if (WARN_ON(in_atomic()))
		abort();	/* other threads would wait for that lock forever */
	take_signals();
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = ret == -ERESTARTSYS ? EINTR : -ret;
	return -1;
}

void user_enter(unsigned int uid, long long time_offset, unsigned long long seed,
		sigjmp_buf *death_of_thread)
{
	unsigned int i;

	rig_uid = uid;
	rig_set_time_ns(time_offset, time_offset / 2);
	death = death_of_thread;
	rig_self()->random = seed * 0x9e3779b97f4a7c15ULL | 1;
	current->fail_nth = 0;
	__atomic_store_n(&current->signals, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&threads_lock);
	for (i = 0; i < nr_threads && threads[i].task != current; i++)
		;
	if (i == nr_threads) {
		BUG_ON(i == NR_THREADS);
		nr_threads++;
		threads[i].thread = pthread_self();
		threads[i].task = current;
	}
	pthread_mutex_unlock(&threads_lock);
}

void user_signal(pthread_t thread, bool fatal)
{
	unsigned int i;

	pthread_mutex_lock(&threads_lock);
	for (i = 0; i < nr_threads; i++)
		if (threads[i].thread == thread)
			rig_signal(threads[i].task,
				   fatal ? RIG_SIGNAL_FATAL : RIG_SIGNAL_PENDING);
	pthread_mutex_unlock(&threads_lock);
}

/* Descriptors */

static bool is_ours(int fd)
{
	return fd >= RIG_FD_FIRST;
}

/* The descriptor takes over the reference. */
static int install(struct file *file)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		rig_close(file);
	else
		fd_install(fd, file);
	return fd;
}

static int uninstall(int fd)
{
	struct file *file = rig_fd_take(fd);

	if (!file)
		return -EBADF;
	rig_close(file);
	return 0;
}

void user_exit_files(void)
{
	int fd;

	while (user_unmap(NULL))
		;
	for (fd = RIG_FD_FIRST; fd < RIG_FD_FIRST + RIG_NR_FDS; fd++)
		uninstall(fd);
}

/* Text files; the whole text is generated on open. */

static ssize_t show_fdinfo(int fd)
{
	struct file *file = rig_fd_file(fd);
	ssize_t size;

	if (!file)
		return -ENOENT;
	size = rig_fdinfo(file, text, sizeof(text));
	rig_close(file);
	return size;
}

static ssize_t show(const char *path)
{
	char device[64], attribute[64];
	int fd;

	if (sscanf(path, "/proc/self/fdinfo/%d", &fd) == 1)
		return show_fdinfo(fd);
	if (sscanf(path, "/sys/class/twheel/%63[^/]/%63s", device, attribute) == 2)
		return rig_sysfs_read(device, attribute, text);
	if (sscanf(path, "/sys/kernel/debug/twheel/%63s", attribute) == 1)
		return rig_debugfs_read(attribute, text, sizeof(text));
	return -ENXIO;
}

static int open_text(const char *path)
{
	ssize_t size = show(path);

	if (size < 0)
		return size;
	text_size = size;
	text_pos = 0;
	return FD_TEXT;
}

static ssize_t read_text(void *buf, size_t size)
{
	size = min(size, text_size - text_pos);
	memcpy(buf, text + text_pos, size);
	text_pos += size;
	return size;
}

int user_open(const char *path, int flags, ...)
{
	struct file *file;
	long ret;

	if (!strcmp(path, "/proc/thread-self/fail-nth"))
		return FD_FAIL_NTH;
	if (strncmp(path, "/dev/twheel", 11) && strncmp(path, "/proc/self/fdinfo/", 18) &&
	    strncmp(path, "/sys/", 5))
		return open(path, flags, 0600);
	call_begin();
	if (strncmp(path, "/dev/", 5)) {
		ret = open_text(path);
	} else {
		file = rig_open(path, flags);
		ret = IS_ERR(file) ? PTR_ERR(file) : install(file);
	}
	return call_end(ret);
}

int user_close(int fd)
{
	if (!is_ours(fd))
		return close(fd);
	if (fd >= FD_FAIL_NTH)
		return 0;
	call_begin();
	return call_end(uninstall(fd));
}

static long file_ioctl(struct file *file, unsigned long request, void *arg)
{
	bool on;

	switch (request) {
	case FIONBIO:
		on = *(int *)arg;
		rig_file_flags(file, O_NONBLOCK, on ? O_NONBLOCK : 0);
		return 0;
	default:
		return rig_ioctl(file, request, arg);
	}
}

int user_ioctl(int fd, unsigned long request, ...)
{
	struct file *file;
	va_list args;
	void *arg;
	long ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!is_ours(fd))
		return ioctl(fd, request, arg);
	call_begin();
	file = rig_fd_file(fd);
	ret = file ? file_ioctl(file, request, arg) : -EBADF;
	if (file)
		rig_close(file);
	return call_end(ret);
}

static long file_fcntl(struct file *file, int command, long arg)
{
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return install(rig_file_get(file));
	case F_SETFL:
		rig_file_flags(file, O_NONBLOCK, arg & O_NONBLOCK);
		return 0;
	case F_GETFL:
		return file->f_flags;
	default:
		return -EINVAL;
	}
}

int user_fcntl(int fd, int command, ...)
{
	struct file *file;
	va_list args;
	long arg, ret;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	if (!is_ours(fd))
		return fcntl(fd, command, arg);
	call_begin();
	file = rig_fd_file(fd);
	ret = file ? file_fcntl(file, command, arg) : -EBADF;
	if (file)
		rig_close(file);
	return call_end(ret);
}

ssize_t user_read(int fd, void *buf, size_t size)
{
	struct file *file;
	ssize_t ret;

	if (!is_ours(fd))
		return read(fd, buf, size);
	if (fd == FD_TEXT)
		return read_text(buf, size);
	call_begin();
	file = rig_fd_file(fd);
	ret = file ? rig_read(file, buf, size) : -EBADF;
	if (file)
		rig_close(file);
	return call_end(ret);
}

static bool is_empty(const struct iovec *pieces, int nr)
{
	while (nr && !pieces[nr - 1].iov_len)
		nr--;
	return !nr;
}

ssize_t user_preadv2(int fd, const struct iovec *pieces, int nr, off_t pos, int flags)
{
	struct file *file;
	ssize_t ret;

	if (!is_ours(fd))
		return preadv2(fd, pieces, nr, pos, flags);
	call_begin();
	file = rig_fd_file(fd);
	ret = !file ? -EBADF : is_empty(pieces, nr) ? 0 : rig_readv(file, pieces, nr, flags);
	if (file)
		rig_close(file);
	return call_end(ret);
}

ssize_t user_readv(int fd, const struct iovec *pieces, int nr)
{
	if (!is_ours(fd))
		return readv(fd, pieces, nr);
	return user_preadv2(fd, pieces, nr, -1, 0);
}

ssize_t user_pread(int fd, void *buf, size_t size, off_t pos)
{
	if (!is_ours(fd))
		return pread(fd, buf, size, pos);
	if (fd == FD_FAIL_NTH)
		return scnprintf(buf, size, "%u", current->fail_nth);
	errno = ESPIPE;
	return -1;
}

ssize_t user_pwrite(int fd, const void *buf, size_t size, off_t pos)
{
	if (!is_ours(fd))
		return pwrite(fd, buf, size, pos);
	if (fd == FD_FAIL_NTH) {
		current->fail_nth = atoi(buf);
		return size;
	}
	errno = ESPIPE;
	return -1;
}

/* poll() */

#define POLL_FILES	8

int user_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	struct rig_polled polled[POLL_FILES];
	unsigned int nr_files = 0, nr_closed = 0, i;
	struct file *file;
	int ready;

	call_begin();
	if (WARN_ON(nr > POLL_FILES))
		return call_end(-EINVAL);
	for (i = 0; i < nr; i++) {
		fds[i].revents = 0;
		if (fds[i].fd < 0)
			continue;
		file = rig_fd_file(fds[i].fd);
		if (file) {
			polled[nr_files++] = (struct rig_polled){ file, fds[i].events };
		} else {
			fds[i].revents = POLLNVAL;
			nr_closed++;
		}
	}
	ready = rig_poll(polled, nr_files, nr_closed || !nr_files ? 0 : timeout_ms);
	for (i = 0, nr_files = 0; i < nr; i++) {
		if (fds[i].fd < 0 || fds[i].revents)
			continue;
		fds[i].revents = polled[nr_files].ready;
		rig_close(polled[nr_files++].file);
	}
	return call_end(ready < 0 ? ready : ready + nr_closed);
}

/*
 * Memory: mappings without access, which may get access later, are allocated from one area.
 * It is always mapped; a byte for each page holds the accesses allowed for the kernel.
 */

static char *memory;
static size_t memory_used;
static u8 memory_may[MEMORY_SIZE / PAGE];

void user_memory_init(void)
{
	memory = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	rig_user_pages(memory, MEMORY_SIZE, memory_may);
}

static bool is_memory(const void *at)
{
	return (char *)at >= memory && (char *)at < memory + MEMORY_SIZE;
}

static void memory_protect(char *at, size_t size, int prot)
{
	u8 may = (prot ? RIG_USER_READ : 0) | (prot & PROT_WRITE ? RIG_USER_WRITE : 0);
	size_t page;

	for (page = (at - memory) / PAGE; page * PAGE < at - memory + size; page++)
		WRITE_ONCE(memory_may[page], may);
}

/* Calls of other threads may be using the memory, as in the kernel. */
static void memory_zero(char *at, size_t size)
{
	__asm__ __volatile__("rep stosb" : "+D"(at), "+c"(size) : "a"(0) : "memory");
}

/* Mapped pages of files, each of which has a reference */
static struct {
	struct file *file;
	void *at;
} mappings[64];
static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;

static long file_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned int i = 0;
	int err = -ENODEV;

	pthread_mutex_lock(&mappings_lock);
	while (i < ARRAY_SIZE(mappings) && mappings[i].file)
		i++;
	if (i == ARRAY_SIZE(mappings))
		err = -ENOMEM;
	else if (file->f_op->mmap)
		err = file->f_op->mmap(file, vma);
	if (!err) {
		mappings[i].file = rig_file_get(file);
		mappings[i].at = vma->rig_at;
	}
	pthread_mutex_unlock(&mappings_lock);
	return err;
}

static void *map_file(size_t size, int prot, int flags, int fd, off_t pos)
{
	struct vm_area_struct vma = {
		.vm_pgoff	= pos / PAGE_SIZE,
		.vm_flags	= (prot & (VM_WRITE | VM_EXEC)) |
				  (flags & MAP_SHARED ? VM_MAYSHARE : 0),
		.rig_pages	= DIV_ROUND_UP(size, PAGE_SIZE),
	};
	struct file *file;
	long ret;

	call_begin();
	file = rig_fd_file(fd);
	ret = file ? file_mmap(file, &vma) : -EBADF;
	if (file)
		rig_close(file);
	return call_end(ret) ? MAP_FAILED : vma.rig_at;
}

bool user_unmap(void *at)
{
	struct file *file = NULL;
	unsigned int i;

	pthread_mutex_lock(&mappings_lock);
	for (i = 0; i < ARRAY_SIZE(mappings) && !file; i++) {
		if (mappings[i].file && (mappings[i].at == at || !at)) {
			file = mappings[i].file;
			mappings[i].file = NULL;
		}
	}
	pthread_mutex_unlock(&mappings_lock);
	if (file)
		rig_close(file);
	return file;
}

void *user_mmap(void *at, size_t size, int prot, int flags, int fd, off_t pos)
{
	if (is_ours(fd))
		return map_file(size, prot, flags, fd, pos);
	if (flags & MAP_FIXED && is_memory(at)) {
		memory_zero(at, size);
		memory_protect(at, size, prot);
		return at;
	}
	if (flags & MAP_SHARED || prot || at)
		return mmap(at, size, prot, flags, fd, pos);
	at = memory + memory_used;
	memory_used += roundup(size, PAGE);
	BUG_ON(memory_used > MEMORY_SIZE);
	return at;
}

int user_munmap(void *at, size_t size)
{
	return user_unmap(at) ? 0 : user_mprotect(at, size, PROT_NONE);
}

int user_mprotect(void *at, size_t size, int prot)
{
	if (!is_memory(at))
		return mprotect(at, size, prot);
	memory_protect(at, size, prot);
	return 0;
}

int user_madvise(void *at, size_t size, int advice)
{
	if (!is_memory(at))
		return madvise(at, size, advice);
	if (advice == MADV_DONTNEED)
		memory_zero(at, size);
	return 0;
}

/* Clocks */

int user_clock_gettime(clockid_t clock, struct timespec *now)
{
	u64 ns = clock == CLOCK_REALTIME ? ktime_get_real_ns() : ktime_get_ns();

	if (clock == CLOCK_MONOTONIC)
		ns += timespec64_to_ns(&current->nsproxy->time_ns->offsets.monotonic);
	if (clock == CLOCK_BOOTTIME)
		ns += timespec64_to_ns(&current->nsproxy->time_ns->offsets.boottime);
	now->tv_sec = ns / NSEC_PER_SEC;
	now->tv_nsec = ns % NSEC_PER_SEC;
	return 0;
}

int user_adjtimex(struct timex *step)
{
	s64 ns = step->time.tv_sec * NSEC_PER_SEC + step->time.tv_usec;
	struct timespec64 to = ns_to_timespec64((s64)ktime_get_real_ns() + ns);

	return do_settimeofday64(&to);
}

int user_clock_settime(clockid_t clock, const struct timespec *to)
{
	struct timespec64 time = { .tv_sec = to->tv_sec, .tv_nsec = to->tv_nsec };

	if (clock == CLOCK_REALTIME)
		return do_settimeofday64(&time);
	errno = EOPNOTSUPP;
	return -1;
}

bool user_remove_names(void)
{
	int fd = user_open("/dev/twheel-control", O_RDWR), err = 0;
	char node[64];

	/* The name follows "twheel-". */
	while (!err && rig_node_name(node, sizeof(node))) {
		struct twheel_remove_args args = { .flags = TWHEEL_REMOVE_FORCE };

		strscpy(args.name, node + 7, sizeof(args.name));
		err = user_ioctl(fd, TWHEEL_IOC_REMOVE, &args);
	}
	user_close(fd);
	return !err;
}
