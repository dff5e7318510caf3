// SPDX-License-Identifier: GPL-2.0
/*
 * Cells: the deadline of a timer is a word that programs change without a call.
 *
 * The reaper looks at the word when it comes to the timer anyway, with the shard locked: in a
 * cascade, and when the timer is due. Then it queues the timer for the time of the word, parks it
 * on the list of timers that never expire, or expires it. Documentation/cells-protocol.rst has the
 * protocol. An operation ends by an exchange of the word, for which op/ has the other cases.
 *
 * A program may change the word at any time, and to anything. A look tries a few times, and then
 * queues the timer for the next tick.
 */
#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>

#include "../compat.h"
#include "cell.h"
#include "shard.h"
#include "twheel.h"

/*
 * Let the cascades of a wheel look for cells, from now on. Before a timer with one is added. With
 * few slots a timer is in many cascades: then only due timers are looked at.
 */
void twheel_cells_begin(struct twheel *wheel)
{
	unsigned int i = wheel->nr_shards;

	/* Shards of CLOCK_REALTIME have no queue, and the add refuses their wheel. */
	if (wheel->clock == TWHEEL_CLOCK_REALTIME || wheel->slots < 2 * TWHEEL_CELL_FLOOR)
		return;
	/* Pairs with the release for shard 0, which is the last one. */
	if (smp_load_acquire(&twheel_shard(wheel, 0)->queue.wheel.cells))
		return;
	while (i--)
		/* The lock of the shard that gets such a timer orders this and its cascades. */
		smp_store_release(&twheel_shard(wheel, i)->queue.wheel.cells, true);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_cells_begin);

/*
 * Look at a word. Return: the time in ns for which the timer has to be queued, or TWHEEL_NEVER to
 * park it. With @end, the word of a time that has passed is exchanged, and 0 is returned.
 */
static u64 cell_look(struct twheel_queue *queue, struct twheel_cell_part *part, bool end)
{
	const struct twheel_wheel *wheel = &queue->wheel;
	unsigned int tries;
	u64 word, expires;

	queue->nr_looks++;
	for (tries = TWHEEL_CELL_TRIES; tries; tries--) {
		word = atomic64_read(part->word);
		expires = twheel_cell_time(word);
		if (word & TWHEEL_CELL_IDLE) {
			if (expires == TWHEEL_NEVER ||
			    twheel_cell_exchange(part, word, word | TWHEEL_CELL_TIME))
				return TWHEEL_NEVER;
			continue;
		}
		/* A program has written it: a time that has passed. */
		if (word & TWHEEL_CELL_ENDED)
			expires = 0;
		if (!end || expires > wheel->now * wheel->tick_ns)
			return expires;
		if (twheel_cell_exchange(part, word, word | TWHEEL_CELL_ENDED)) {
			part->last = word & ~TWHEEL_CELL_ENDED;
			return 0;
		}
	}
	return (wheel->now + 1) * wheel->tick_ns;
}

/*
 * Look at the timer of a node that was taken off a bucket, if it has a cell. It does not become
 * earlier: programs only raise, a call re-arms the timer itself, and the floor has to hold. Return:
 * false if it was parked.
 */
noinline bool twheel_cell_cascade(struct twheel_queue *queue, struct twheel_node *node)
{
	struct twheel_timer *timer = container_of(node, struct twheel_timer, node);

	if (!(READ_ONCE(timer->shard_flags) & TWHEEL_TIMER_CELL))
		return true;
	node->expires = max(node->expires, cell_look(queue, twheel_timer_cell(timer), false));
	if (node->expires != TWHEEL_NEVER)
		return true;
	twheel_queue_add(queue, node, TWHEEL_TICK_NEVER);
	return false;
}

/*
 * Look at a due timer that was taken off the batch. The second look in a row after less than
 * TWHEEL_CELL_FLOOR ticks delays the timer: otherwise a store would buy a look for each tick.
 * Return: true if the timer has expired; otherwise it is pending.
 */
noinline bool twheel_cell_expire(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_cell_part *part = twheel_timer_cell(timer);
	struct twheel_queue *queue = &shard->queue;
	u64 now = queue->wheel.now, expires = cell_look(queue, part, true);
	u64 tick = twheel_shard_tick(shard, expires);
	bool soon;

	lockdep_assert_held(&shard->lock);
	if (!expires) {
		/* A program has raised the deadline, perhaps after the batch was due. */
		shard->expired = 0;
		return true;
	}
	soon = tick - now < TWHEEL_CELL_FLOOR;
	if (soon && part->looked) {
		tick = now + TWHEEL_CELL_FLOOR;
		expires = twheel_shard_time(shard, tick);
	}
	part->looked = soon;
	timer->node.expires = expires;
	twheel_queue_add(queue, &timer->node, tick);
	return false;
}
