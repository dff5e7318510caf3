/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: counting of periods, see periodic.c. */
#ifndef _TWHEEL_DEV_PERIODIC_H
#define _TWHEEL_DEV_PERIODIC_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/twheel.h>
#include <linux/types.h>

/**
 * struct twheel_file_periodic - the timer of a periodic operation, which follows in memory
 * @timer: the timer
 * @wheel: wheel of the timer; immutable
 * @expirations: expired periods that no delivered event has reported
 * @reported: those in the event that a reader has; 0 if it is the last one
 * @next: next deadline
 * @last: latest deadline that expired
 * @time: time at which the expiry of @last was noticed
 * @period: immutable
 * @runs: remaining periods, 0 for no limit
 * @fixed_delay: immutable
 * @paused: the timer is stopped because the event has not been read
 * @finished: the last expiration has been counted
 * @ended: the operation has ended
 * @queued: there is an event to read
 * @reading: a reader is delivering the event, or holds it
 * @part: for the timer of the operation, which has no deadline, by CLOCK_REALTIME
 *
 * The other fields are protected by the lock of the operation's event queue.
 */
struct twheel_file_periodic {
	struct twheel_wall_timer timer;
	struct twheel		*wheel;
	u64			expirations;
	u64			reported;
	u64			next;
	u64			last;
	u64			time;
	u64			period;
	u64			runs;
	bool			fixed_delay;
	bool			paused;
	bool			finished;
	bool			ended;
	bool			queued;
	bool			reading;
	struct twheel_wall_part	part;
};

/* @part precedes the operation, as it precedes a timer: with some space on 32-bit machines. */
static_assert(sizeof(struct twheel_file_periodic) - offsetof(struct twheel_file_periodic, part) ==
	      offsetof(struct twheel_wall_timer, timer));

void twheel_file_periodic_init(struct twheel_file_periodic *periodic, struct twheel *wheel,
			       void (*function)(struct twheel_timer *timer),
			       const struct twheel_add_args *args, u64 deadline);
void twheel_file_periodic_start(struct twheel_file_periodic *periodic);
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic);
void twheel_file_periodic_expired(struct twheel_file_periodic *periodic);
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic);
void twheel_file_periodic_fill(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event);

#endif /* _TWHEEL_DEV_PERIODIC_H */
