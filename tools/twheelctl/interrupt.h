/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Orderly exit on SIGINT and SIGTERM, for programs that run until interrupted.
 */
#ifndef TWHEELCTL_INTERRUPT_H
#define TWHEELCTL_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>
#include <time.h>

/*
 * Blocks SIGINT and SIGTERM, also in threads that are created afterwards: once one is pending,
 * wait_or_interrupt() does not block.
 */
void catch_interrupts(void);

/* Return: true if SIGINT or SIGTERM is pending. */
bool interrupted(void);

/* ppoll() for up to two descriptors, which also returns if a signal is pending. */
int wait_or_interrupt(struct pollfd *fds, nfds_t nr, const struct timespec *timeout);

#endif /* TWHEELCTL_INTERRUPT_H */
