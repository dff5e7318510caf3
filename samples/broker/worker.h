/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BROKER_WORKER_H
#define BROKER_WORKER_H

/* Serve until SIGTERM. Return: the exit status. */
int worker_main(void);

#endif /* BROKER_WORKER_H */
