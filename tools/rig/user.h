/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls for sources that are programs elsewhere: included before anything else, it
 * lets them call the rig where they would call the kernel, and changes nothing in them.
 *
 * Descriptors of the rig are numbers that the system never gives out; with others, and for
 * files that the rig does not have, the system is called. fork() and epoll fail with ENOSYS:
 * the threads of the rig would not be copied, and its wait queues wake tasks only.
 */
#ifndef _RIG_USER_H
#define _RIG_USER_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
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
int user_epoll_create1(int flags);
int user_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int user_epoll_wait(int epoll, struct epoll_event *events, int nr, int timeout_ms);
void *user_mmap(void *at, size_t size, int prot, int flags, int fd, off_t pos);
int user_mprotect(void *at, size_t size, int prot);
int user_madvise(void *at, size_t size, int advice);
int user_clock_gettime(clockid_t clock, struct timespec *now);
int user_adjtimex(struct timex *step);
int user_pthread_kill(pthread_t thread, int signal);
pid_t user_fork(void);

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
#define epoll_create1	user_epoll_create1
#define epoll_ctl	user_epoll_ctl
#define epoll_wait	user_epoll_wait
#define mmap		user_mmap
#define mprotect	user_mprotect
#define madvise		user_madvise
#define clock_gettime	user_clock_gettime
#define adjtimex	user_adjtimex
#define pthread_kill	user_pthread_kill
#define fork		user_fork
#endif

/* Memory between the pages that mmap() was asked for comes from here; before threads exist. */
void user_memory_init(void);

/*
 * The calling thread makes system calls as user @uid from now on, in a time namespace whose
 * CLOCK_MONOTONIC is ahead by @time_offset in ns, and whose CLOCK_BOOTTIME is ahead by half
 * of that. Where a fatal signal meets it, in a call or before one, it goes to @death instead
 * of returning.
 */
void user_enter(unsigned int uid, long long time_offset, unsigned long long seed,
		sigjmp_buf *death);

/* Send the thread a signal, or SIGKILL. */
void user_signal(pthread_t thread, bool fatal);

/* Close all descriptors of the rig, as the end of a process does. */
void user_exit_files(void);

/* The name of a named purgatory that exists, or false if there is none. */
bool user_find_name(char *name, size_t size);

/* Of the rig; see rig.h and module.h */
void rig_start(unsigned int cpus, unsigned long long seed);
void rig_param_set(const char *module, const char *name, unsigned long value);
int rig_module_init(const char *name);
void rig_module_exit(const char *name);
unsigned int rig_warnings(void);
long long rig_allocated(void);
void rcu_barrier(void);
void rig_works_hurry(void);

#endif /* _RIG_USER_H */
