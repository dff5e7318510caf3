/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls for sources that are separate programs otherwise: included first, this header
 * redirects their calls from the kernel to the rig, without changing them.
 *
 * Descriptors of the rig are numbers that are not used by the system; for other descriptors,
 * and for files unknown to the rig, the system is called. fork() and epoll must not be used: the
 * threads of the rig would not be copied, and its wait queues only wake tasks.
 */
#ifndef _RIG_USER_H
#define _RIG_USER_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int user_open(const char *path, int flags, ...);
int user_close(int fd);
int user_ioctl(int fd, unsigned long request, ...);
int user_fcntl(int fd, int command, ...);
ssize_t user_read(int fd, void *buf, size_t size);
ssize_t user_readv(int fd, const struct iovec *pieces, int nr);
ssize_t user_preadv2(int fd, const struct iovec *pieces, int nr, off_t pos, int flags);
ssize_t user_pread(int fd, void *buf, size_t size, off_t pos);
ssize_t user_pwrite(int fd, const void *buf, size_t size, off_t pos);
int user_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);
void *user_mmap(void *at, size_t size, int prot, int flags, int fd, off_t pos);
int user_munmap(void *at, size_t size);
int user_mprotect(void *at, size_t size, int prot);
int user_madvise(void *at, size_t size, int advice);
int user_clock_gettime(clockid_t clock, struct timespec *now);
int user_adjtimex(struct timex *step);
int user_clock_settime(clockid_t clock, const struct timespec *to);

#ifndef RIG_USER_CALLS
#define open		user_open
#define close		user_close
#define ioctl		user_ioctl
#define fcntl		user_fcntl
#define read		user_read
#define readv		user_readv
#define preadv2		user_preadv2
#define pread		user_pread
#define pwrite		user_pwrite
#define poll(...)	user_poll(__VA_ARGS__)
#define mmap		user_mmap
#define munmap		user_munmap
#define mprotect	user_mprotect
#define madvise		user_madvise
#define clock_gettime	user_clock_gettime
#define adjtimex	user_adjtimex
#endif

/* Reserve the area for mmap(); called before threads exist. */
void user_memory_init(void);

/*
 * The calling thread makes system calls as user @uid from now on, in a time namespace with a
 * CLOCK_MONOTONIC ahead by @time_offset in ns, and a CLOCK_BOOTTIME ahead by half of that. On
 * a fatal signal, during or before a call, it jumps to @death instead of returning.
 */
void user_enter(unsigned int uid, long long time_offset, unsigned long long seed,
		sigjmp_buf *death);

/* Send a signal, or SIGKILL, to the thread. */
void user_signal(pthread_t thread, bool fatal);

/* Remove the mapping of a file of the rig at an address, or any. Return: false if there is none. */
bool user_unmap(void *at);

/* Close all descriptors of the rig and remove all mappings, as on exit of a process. */
void user_exit_files(void);

/* Remove all named purgatories. Return: false if one cannot be removed. */
bool user_remove_names(void);

/* Declared in rig.h and module.h */
void rig_start(unsigned int cpus, unsigned long long seed);
void rig_bind(unsigned int cpu);
void rig_param_set(const char *module, const char *name, unsigned long value);
bool rig_param_get(const char *module, const char *name, unsigned long *value);
int rig_module_init(const char *name);
void rig_module_exit(const char *name);
int rig_verdict(void);
extern int rig_module_refs;
unsigned int rig_warnings(void);
long long rig_allocated(void);
void rcu_barrier(void);
void rig_works_hurry(void);

#endif /* _RIG_USER_H */
