// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the numbered queues of a named purgatory's detached operations.
 *
 * An add names the queue of its event, and TWHEEL_IOC_EVENTS opens one. A queue exists while
 * it has a descriptor, or an operation whose final event has not been read; these are its users.
 * The first user creates it, and the last one removes it from the table. Its memory stays until
 * the last of its operations is freed, since the callback of an operation whose event has been
 * read may still be about to wake readers.
 *
 * The lock of the table protects the number of users. It is taken in process context, with no
 * other spinlock held.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "queue.h"

static void detached_free(struct kref *ref)
{
	kfree(container_of(ref, struct twheel_detached, ref));
}

/* Drop a reference to the memory of a queue. */
void twheel_detached_free(struct twheel_detached *detached)
{
	kref_put(&detached->ref, detached_free);
}

static struct twheel_detached *detached_alloc(u32 number)
{
	struct twheel_detached *detached = kzalloc(sizeof(*detached), TWHEEL_GFP_USER);

	if (!detached)
		return NULL;
	twheel_events_init(&detached->events);
	kref_init(&detached->ref);
	detached->number = number;
	detached->users = 1;
	return detached;
}

/* Another user of an existing queue, or NULL. */
static struct twheel_detached *detached_find(struct twheel_instance *instance, u32 number)
{
	struct twheel_detached *detached;

	xa_lock(&instance->queues);
	detached = xa_load(&instance->queues, number);
	if (detached)
		detached->users++;
	xa_unlock(&instance->queues);
	return detached;
}

/* Add a queue to the table, unless another task has done so: then this is a user of that one. */
static struct twheel_detached *detached_create(struct twheel_instance *instance, u32 number)
{
	struct twheel_detached *detached = detached_alloc(number), *other;

	if (!detached)
		return ERR_PTR(-ENOMEM);
	xa_lock(&instance->queues);
	other = __xa_cmpxchg(&instance->queues, number, NULL, detached, TWHEEL_GFP_USER);
	if (other && !xa_is_err(other))
		other->users++;
	xa_unlock(&instance->queues);
	if (!other)
		return detached;
	kfree(detached);
	return xa_is_err(other) ? ERR_PTR(xa_err(other)) : other;
}

/* Whether a purgatory can have a queue of this number. */
bool twheel_detached_valid(const struct twheel_instance *instance, u32 number)
{
	return instance->name && number < TWHEEL_MAX_QUEUES;
}

/* Become a user of a queue, see above: it, or ERR_PTR(-ENOMEM). */
struct twheel_detached *twheel_detached_get(struct twheel_instance *instance, u32 number)
{
	return detached_find(instance, number) ?: detached_create(instance, number);
}

/* @nr users leave a queue. May sleep. */
void twheel_detached_put(struct twheel_instance *instance, struct twheel_detached *detached, u32 nr)
{
	bool unused;

	xa_lock(&instance->queues);
	detached->users -= nr;
	unused = !detached->users;
	if (unused)
		__xa_erase(&instance->queues, detached->number);
	xa_unlock(&instance->queues);
	if (!unused)
		return;
	twheel_events_close(&detached->events);
	twheel_detached_free(detached);
}

/* The first queue from *@number on, with a reference to its memory, or NULL. */
struct twheel_detached *twheel_detached_next(struct twheel_instance *instance,
					     unsigned long *number)
{
	struct twheel_detached *detached;

	xa_lock(&instance->queues);
	detached = xa_find(&instance->queues, number, ULONG_MAX, XA_PRESENT);
	if (detached)
		kref_get(&detached->ref);
	xa_unlock(&instance->queues);
	return detached;
}

/* Call a function for each queue, until it returns false. Queues may be removed meanwhile. */
void twheel_detached_visit(struct twheel_instance *instance,
			   bool (*visit)(struct twheel_events *events, void *data), void *data)
{
	struct twheel_detached *detached;
	unsigned long number = 0;
	bool more = true;

	while (more && (detached = twheel_detached_next(instance, &number))) {
		more = visit(&detached->events, data);
		twheel_detached_free(detached);
		number++;
		cond_resched();
	}
}
