/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ^C as a wish to end in good order: what runs on and on asks for it.
 */
#ifndef TWHEELCTL_INTERRUPT_H
#define TWHEELCTL_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>
#include <time.h>

/* From now on SIGINT and SIGTERM end nothing but wait_or_interrupt(), once and for all. */
void catch_interrupts(void);

/* Return: one of them has come. */
bool interrupted(void);

/* As ppoll() for up to two descriptors; it returns for a signal as well. */
int wait_or_interrupt(struct pollfd *fds, nfds_t nr, const struct timespec *timeout);

#endif /* TWHEELCTL_INTERRUPT_H */
