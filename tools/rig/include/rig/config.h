/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel configuration that the rig represents. */
#ifndef _RIG_CONFIG_H
#define _RIG_CONFIG_H

#define CONFIG_64BIT 1
#define CONFIG_MODULES 1
#define CONFIG_SMP 1
#define CONFIG_TIME_NS 1
#define CONFIG_X86_64 1
#ifdef RIG_JITTER
/* A corrupted list is reported at the next change to it. */
#define CONFIG_LIST_HARDENED 1
#define CONFIG_DEBUG_LIST 1
#endif

/* clang does not define these macros. */
#ifdef __clang__
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#elif __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#define RIG_STRING(x)		#x
#define RIG_NAME(x)		RIG_STRING(x)
#define KBUILD_MODNAME		RIG_NAME(RIG_MODULE)

#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 12, 0)

#endif /* _RIG_CONFIG_H */
