// SPDX-License-Identifier: GPL-2.0
/*
 * Let UML kernels up to 6.12 run programs on CPUs with a large vector state.
 *
 * Such a kernel stores the registers of a process in a buffer of fixed size. If the CPU has
 * a larger register state (AMX), PTRACE_SETREGSET with the short buffer fails with EFAULT,
 * and the first program dies. This library is preloaded into UML. It repeats the failed
 * call and takes the missing tail from the current registers of the process.  scripts/uml
 * uses it only after it has seen that failure.
 */

#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char whole[1 << 16] __attribute__((aligned(64)));

static long kernel_ptrace(long request, long pid, void *addr, void *data)
{
	return syscall(SYS_ptrace, request, pid, addr, data);
}

static long set_whole_regset(long pid, void *type, const struct iovec *part)
{
	struct iovec all = { whole, sizeof(whole) };

	if (kernel_ptrace(PTRACE_GETREGSET, pid, type, &all) < 0)
		return -1;
	if (part->iov_len > all.iov_len) {
		errno = EFAULT;
		return -1;
	}
	memcpy(whole, part->iov_base, part->iov_len);
	return kernel_ptrace(PTRACE_SETREGSET, pid, type, &all);
}

/* The C library returns the peeked word, the system call stores it. */
static long peek(long request, long pid, void *addr)
{
	long word;

	if (kernel_ptrace(request, pid, addr, &word) < 0)
		return -1;
	errno = 0;
	return word;
}

long ptrace(enum __ptrace_request request, ...)
{
	void *addr, *data;
	va_list args;
	long pid, ret;

	va_start(args, request);
	pid = va_arg(args, long);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);

	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA ||
	    request == PTRACE_PEEKUSER)
		return peek(request, pid, addr);

	ret = kernel_ptrace(request, pid, addr, data);
	if (ret < 0 && errno == EFAULT && request == PTRACE_SETREGSET &&
	    (long)addr == NT_X86_XSTATE)
		ret = set_whole_regset(pid, addr, data);
	return ret;
}
