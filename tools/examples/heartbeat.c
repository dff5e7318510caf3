// SPDX-License-Identifier: GPL-2.0
/* Sessions that end when their client has been silent for too long. */
#include <stdio.h>
#include <twheel.h>

#define MS	1000000ULL

struct session {
	uint64_t id;
	uint64_t timeout;
};

static int begin(int fd, struct session *session, uint64_t client, uint64_t timeout)
{
	struct twheel_add_args args = { .deadline = timeout, .cookie = client };

	if (twheel_add(fd, &args))
		return -1;
	*session = (struct session){ .id = args.id, .timeout = timeout };
	return 0;
}

/* Moves the deadline. Fails with ENOENT if the session has ended. */
static int heartbeat(int fd, const struct session *session)
{
	return twheel_rearm(fd, session->id, session->timeout, 0);
}

static int end_one(int fd)
{
	struct twheel_event event;

	if (twheel_read_events(fd, &event, 1) != 1)
		return -1;
	printf("client %llu %s\n", event.cookie,
	       event.reason == TWHEEL_REASON_EXPIRED ? "is silent" : "has logged out");
	return 0;
}

int main(void)
{
	struct session alive, silent;
	int fd = twheel_open(0);

	if (fd < 0 || begin(fd, &alive, 1, 60000 * MS) || begin(fd, &silent, 2, 100 * MS))
		goto failed;
	for (int i = 0; i < 1000; i++) {
		if (heartbeat(fd, &alive) < 0)
			goto failed;
	}
	if (end_one(fd) || twheel_cancel(fd, alive.id) || end_one(fd))
		goto failed;
	return 0;
failed:
	perror("heartbeat");
	return 1;
}
