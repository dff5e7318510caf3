// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: connections that time out when they are idle.
 *
 * Each connection has a plain timer, with a callback that the reaper calls. A keepalive
 * moves the deadline. A request stops the timer, and its end starts it again. The calls do
 * not sleep, and their cost does not depend on the number of connections.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. One
 * connection is idle, and another one is used until the idle one has timed out. The load
 * fails if the idle connection does not time out, or if one times out early or twice.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>

#define IDLE_NS		(100 * NSEC_PER_MSEC)

struct connection {
	struct twheel_timer	timer;
	u64			deadline;
	unsigned int		timeouts;	/* calls of the callback */
	u64			timed_out_at;
	struct completion	timed_out;
};

static unsigned int uses, timeouts, wrong;

static void connection_timeout(struct twheel_timer *timer)
{
	struct connection *c = container_of(timer, struct connection, timer);

	c->timed_out_at = ktime_get_ns();
	c->timeouts++;
	complete(&c->timed_out);
}

static struct connection *connection_open(struct twheel *wheel)
{
	struct connection *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	init_completion(&c->timed_out);
	c->deadline = twheel_deadline(IDLE_NS);
	twheel_timer_init(&c->timer, wheel, connection_timeout);
	/* The system wheel has no limit and is never stopped, so this cannot fail. */
	twheel_timer_add(&c->timer, c->deadline);
	return c;
}

/* Returns false if the connection has timed out. */
static bool connection_keepalive(struct connection *c)
{
	u64 deadline = twheel_deadline(IDLE_NS);

	if (twheel_timer_rearm(&c->timer, deadline, TWHEEL_REARM_IF_PENDING) != 1)
		return false;
	c->deadline = deadline;
	return true;
}

/* Likewise. The connection cannot time out while it handles the request. */
static bool connection_request(struct connection *c)
{
	if (twheel_timer_cancel(&c->timer))
		return false;
	/* Handle the request here. */
	c->deadline = twheel_deadline(IDLE_NS);
	return !twheel_timer_add(&c->timer, c->deadline);
}

/* After the shutdown, the callback is not running, and the timer cannot be added again. */
static void connection_free(struct connection *c)
{
	if (!c)
		return;
	twheel_timer_shutdown_sync(&c->timer);
	timeouts += c->timeouts;
	wrong += c->timeouts > 1 || (c->timeouts && c->timed_out_at < c->deadline);
	kfree(c);
}

static int use_until_timeout(struct connection *used, struct connection *idle)
{
	unsigned int i;

	for (i = 0; i < 30 * HZ; i++) {
		if (wait_for_completion_timeout(&idle->timed_out, 1))
			return 0;
		if (connection_request(used) && connection_keepalive(used))
			uses++;
	}
	return -ETIME;
}

static int __init idle_timeout_init(void)
{
	struct twheel *wheel = twheel_system();
	struct connection *used, *idle;
	int err = -ENOMEM;

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	used = connection_open(wheel);
	idle = connection_open(wheel);
	if (used && idle)
		err = use_until_timeout(used, idle);
	connection_free(used);
	connection_free(idle);
	/* If this thread gets no CPU for too long, both connections time out. */
	pr_info("used %u times, %u timeouts, %u incorrect\n", uses, timeouts, wrong);
	return err ?: wrong ? -EIO : 0;
}

static void __exit idle_timeout_exit(void)
{
}

module_init(idle_timeout_init);
module_exit(idle_timeout_exit);

MODULE_DESCRIPTION("twheel sample: connections with an idle timeout");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
