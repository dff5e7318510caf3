/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A worker: one process with one epoll loop, for sockets and for the requests that wait.
 */
#ifndef BROKER_WORKER_H
#define BROKER_WORKER_H

#include <stdint.h>

struct request;

/* Serve until SIGTERM. Return: the exit status. */
int worker_main(void);
/* Add a request that waits. */
void worker_wait(struct request *request, uint64_t missing);

#endif /* BROKER_WORKER_H */
