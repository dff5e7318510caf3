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

static void is_prepared(unsigned int cmd_op, const void *args, unsigned int flags)
{
	CHECK(entry->opcode == IORING_OP_URING_CMD);
	CHECK(entry->fd == 3);
	CHECK(entry->cmd_op == cmd_op);
	CHECK(area().args == (uintptr_t)args);
	CHECK(area().flags == flags && !area().reserved);
	CHECK(!entry->addr && !entry->len && !entry->uring_cmd_flags && !entry->flags);
	CHECK(!entry->user_data);
	memset(entry, 0xa5, sizeof(entry));
}

TEST("each call is prepared")
{
	memset(entry, 0xa5, sizeof(entry));

#define PREPARES(name, NAME)							\
	do {									\
		struct twheel_##name##_args args;				\
										\
		twheel_uring_prep_##name(entry, 3, &args);			\
		is_prepared(TWHEEL_IOC_##NAME, &args, 0);			\
	} while (0)
	PREPARES(add, ADD);
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
	is_prepared(TWHEEL_IOC_SIGNAL, NULL, TWHEEL_URING_INLINE);
}

TEST("a read is prepared")
{
	memset(entry, 0xa5, sizeof(entry));
	twheel_uring_prep_read(entry, 3, 7);
	CHECK(entry->opcode == 49);
	CHECK(entry->flags == IOSQE_BUFFER_SELECT);
	CHECK(entry->fd == 3 && entry->buf_group == 7);
	CHECK(!entry->addr && !entry->len && !entry->off && !entry->user_data);
}

TAP_MAIN
