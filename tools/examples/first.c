// SPDX-License-Identifier: GPL-2.0
/* Parks a write until two replicas have acknowledged it, or for 5 seconds. */
#include <stdio.h>
#include <twheel.h>

int main(void)
{
	struct twheel_watch_spec acks = { .need = 2 };
	struct twheel_add_args write = {
		.deadline = 5000000000ULL,
		.keys = (uintptr_t)&acks,
		.nr_keys = 1,
		.condition = TWHEEL_COND_ANY,
	};
	struct twheel_event event;
	int fd = twheel_open(0);

	twheel_key_text("acks", &acks.key);
	if (fd < 0 || twheel_add(fd, &write) ||
	    twheel_signal(fd, acks.key, 1, NULL) ||
	    twheel_signal(fd, acks.key, 2, NULL) ||
	    twheel_read_events(fd, &event, 1) != 1) {
		perror(TWHEEL_DEVICE);
		return 1;
	}

	printf("%s with value %llu\n",
	       event.reason == TWHEEL_REASON_COMPLETED ? "completed" : "expired",
	       event.value);
	return event.reason != TWHEEL_REASON_COMPLETED;
}
