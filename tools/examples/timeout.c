// SPDX-License-Identifier: GPL-2.0
/* Three requests with a timeout. Two of them are answered, one of these too late. */
#include <stdio.h>
#include <errno.h>
#include <twheel.h>

#define SECOND	1000000000ULL

/* Adds the timeout of a request, and returns its id, or 0. */
static uint64_t add_timeout(int fd, uint64_t request, uint64_t timeout)
{
	struct twheel_add_args args = { .deadline = timeout, .cookie = request };

	return twheel_add(fd, &args) ? 0 : args.id;
}

/* An answer has arrived. ENOENT: the request has timed out before. */
static int answered(int fd, uint64_t id, uint64_t answer)
{
	if (!twheel_complete(fd, id, answer))
		return 0;
	if (errno != ENOENT)
		return -1;
	printf("answer %llu is too late\n", (unsigned long long)answer);
	return 0;
}

/* Reads one event, which decides about the request, and prints it. */
static int finish_one(int fd)
{
	struct twheel_event event;

	if (twheel_read_events(fd, &event, 1) != 1)
		return -1;
	if (event.reason == TWHEEL_REASON_COMPLETED)
		printf("request %llu: answer %llu\n", event.cookie, event.value);
	else
		printf("request %llu: timeout\n", event.cookie);
	return 0;
}

int main(void)
{
	int fd = twheel_open(0);
	uint64_t quick, late;

	if (fd < 0)
		goto failed;
	quick = add_timeout(fd, 1, 60 * SECOND);
	late = add_timeout(fd, 2, SECOND / 20);
	if (!quick || !late || !add_timeout(fd, 3, SECOND / 10))
		goto failed;
	if (answered(fd, quick, 111) || finish_one(fd) || finish_one(fd))
		goto failed;
	if (answered(fd, late, 222) || finish_one(fd))
		goto failed;
	return 0;
failed:
	perror("timeout");
	return 1;
}
