// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of twheel_uring.h: the entries that it prepares.
 */
#include <string.h>
#include <twheel_uring.h>

#include "tap.h"

/* An entry of 128 bytes with rests of an earlier one. */
static struct io_uring_sqe entry[2];

static struct twheel_uring_args area(void)
{
	struct twheel_uring_args area;

	memcpy(&area, (char *)entry + 48, sizeof(area));
	return area;
}

static void is_prepared(unsigned int cmd_op, const void *args, const void *event)
{
	CHECK(entry->opcode == IORING_OP_URING_CMD);
	CHECK(entry->fd == 3);
	CHECK(entry->cmd_op == cmd_op);
	CHECK(area().args == (uintptr_t)args);
	CHECK(area().event == (uintptr_t)event);
	CHECK(!entry->addr && !entry->len && !entry->uring_cmd_flags && !entry->flags);
	CHECK(!entry->user_data);
	memset(entry, 0xa5, sizeof(entry));
}

TEST("each call is prepared")
{
	struct twheel_add_args add = { .flags = 0 };
	struct twheel_event event;

	memset(entry, 0xa5, sizeof(entry));
	twheel_uring_prep_add(entry, 3, &add, &event);
	is_prepared(TWHEEL_IOC_ADD, &add, &event);
	twheel_uring_prep_add(entry, 3, &add, NULL);
	is_prepared(TWHEEL_IOC_ADD, &add, NULL);

#define PREPARES(name, NAME)							\
	do {									\
		struct twheel_##name##_args args;				\
										\
		twheel_uring_prep_##name(entry, 3, &args);			\
		is_prepared(TWHEEL_IOC_##NAME, &args, NULL);			\
	} while (0)
	PREPARES(cancel, CANCEL);
	PREPARES(complete, COMPLETE);
	PREPARES(rearm, REARM);
	PREPARES(watch, WATCH);
	PREPARES(unwatch, UNWATCH);
	PREPARES(signal, SIGNAL);
	PREPARES(cancel_key, CANCEL_KEY);
	PREPARES(batch, BATCH);
}

TEST("a structure is embedded in an entry")
{
	struct twheel_signal_args args = { .amount = 5, .limit = 6 };

	memset(entry, 0xa5, sizeof(entry));
	twheel_uring_prep_signal(entry, 3, &args);
	twheel_uring_embed(entry);
	CHECK(!memcmp(entry + 1, &args, sizeof(args)));
	is_prepared(TWHEEL_IOC_SIGNAL, NULL, NULL);
}

/* All structures but that of an add fit. */
TEST("the structures fit into an entry")
{
	CHECK(sizeof(struct twheel_signal_args) <= sizeof(struct io_uring_sqe));
	CHECK(sizeof(struct twheel_batch_args) <= sizeof(struct io_uring_sqe));
	CHECK(sizeof(struct twheel_complete_args) <= sizeof(struct io_uring_sqe));
	CHECK(sizeof(struct twheel_unwatch_args) <= sizeof(struct io_uring_sqe));
	CHECK(sizeof(struct twheel_cancel_key_args) <= sizeof(struct io_uring_sqe));
}

TAP_MAIN
