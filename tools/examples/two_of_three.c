// SPDX-License-Identifier: GPL-2.0
/* A write that waits until two of three replicas have stored it, or for a minute. */
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
#include <twheel.h>

#define REPLICAS	3

/* The key of a replica for this write: the numbers of both. */
static struct twheel_key ack_key(uint32_t write, uint32_t replica)
{
	return twheel_key_number((uint64_t)write << 32 | replica);
}

static int add_write(int fd, uint32_t write)
{
	struct twheel_watch_spec replicas[REPLICAS] = { 0 };
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_QUORUM,
		.quorum = 2,
		.nr_keys = REPLICAS,
		.keys = (uintptr_t)replicas,
		.deadline = 60 * 1000000000ULL,
		.cookie = write,
	};

	for (int i = 0; i < REPLICAS; i++)
		replicas[i].key = ack_key(write, i);
	return twheel_add(fd, &args);
}

/* A replica is a process here, which has inherited the descriptor. The last one is down. */
static int start_replica(int fd, uint32_t write, uint32_t replica)
{
	pid_t pid = fork();

	if (!pid)
		_exit(replica == REPLICAS - 1 ? 0 :
		      twheel_signal(fd, ack_key(write, replica), replica, NULL) != 0);
	return pid < 0 ? -1 : 0;
}

int main(void)
{
	struct twheel_event event;
	int fd = twheel_open(0);
	uint32_t write = 17;

	if (fd < 0 || add_write(fd, write))
		goto failed;
	for (int i = 0; i < REPLICAS; i++) {
		if (start_replica(fd, write, i))
			goto failed;
	}
	if (twheel_read_events(fd, &event, 1) != 1)
		goto failed;
	while (wait(NULL) > 0)
		;
	printf("write %llu %s\n", event.cookie,
	       event.reason == TWHEEL_REASON_COMPLETED ? "is stored" : "failed");
	for (int i = 0; i < REPLICAS; i++)
		if (!(event.satisfied >> i & 1))
			printf("replica %d is late\n", i);
	return event.reason != TWHEEL_REASON_COMPLETED;
failed:
	perror("two_of_three");
	return 1;
}
