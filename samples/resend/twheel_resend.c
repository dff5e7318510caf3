// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: messages that are sent again until they are answered.
 *
 * Sending a message sleeps. Each message is therefore work that a workqueue runs at the
 * deadline, and that adds itself again with twice the timeout. The answer of the peer
 * cancels the work without waiting for it. A message without an answer is given up.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. The link
 * loses some messages. Some messages are freed while they are being sent. The load fails
 * with -EIO unless each other message was answered or given up, and none was sent early.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/workqueue.h>

#define MESSAGES	32
#define MAX_SENT	4
#define TIMEOUT_NS	(5 * NSEC_PER_MSEC)	/* doubled after each transmission */
#define LOSSES(n)	((n) % (MAX_SENT + 1))	/* MAX_SENT: no answer */
#define ABANDONED(n)	((n) % 8 == 3)

struct message {
	struct twheel_work	send;
	struct work_struct	answer;		/* from the peer */
	unsigned int		losses;
	unsigned int		sent;
	u64			deadline;
	bool			answered, failed, early;
	struct completion	done;		/* answered or given up */
};

static struct twheel *wheel;
static struct message *message[MESSAGES];
static unsigned int sent, answers, wrong;

/* Transmit a message, which sleeps. The peer answers unless the message is lost. */
static void message_transmit(struct message *m)
{
	usleep_range(50, 100);
	if (++m->sent > m->losses)
		queue_work(system_wq, &m->answer);
}

static void message_send(struct work_struct *work)
{
	struct message *m = container_of(to_twheel_work(work), struct message, send);

	if (READ_ONCE(m->answered))
		return;
	m->early |= ktime_get_ns() < m->deadline;
	if (m->sent < MAX_SENT) {
		message_transmit(m);
		m->deadline = twheel_deadline(TIMEOUT_NS << (m->sent - 1));
		/* Fails during message_free(). */
		if (!twheel_work_add(&m->send, m->deadline))
			return;
	}
	m->failed = true;
	complete(&m->done);
}

/* Running work may add itself again, but it finds @answered set in its next run. */
static void message_answered(struct work_struct *work)
{
	struct message *m = container_of(work, struct message, answer);

	WRITE_ONCE(m->answered, true);
	twheel_work_cancel(&m->send);
	complete(&m->done);
}

static int message_open(unsigned int n)
{
	struct message *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	message[n] = m;
	init_completion(&m->done);
	INIT_WORK(&m->answer, message_answered);
	m->losses = LOSSES(n);
	m->deadline = twheel_deadline(0);
	twheel_work_init(&m->send, wheel, system_unbound_wq, message_send);
	return twheel_work_add(&m->send, m->deadline);
}

static bool message_valid(const struct message *m, unsigned int n)
{
	if (m->early || ABANDONED(n))
		return !m->early;
	return m->answered ? m->sent > m->losses : m->failed && m->sent == MAX_SENT;
}

/* The calls end the work, even if it is just being queued or adds itself again. */
static void message_free(unsigned int n)
{
	struct message *m = message[n];

	twheel_work_cancel_sync(&m->send);
	cancel_work_sync(&m->answer);
	sent += m->sent;
	answers += m->answered;
	wrong += !message_valid(m, n);
	kfree(m);
}

static int __init resend_init(void)
{
	unsigned int n;
	int err = 0;

	wheel = twheel_system();
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	for (n = 0; n < MESSAGES && !err; n++)
		err = message_open(n);
	for (n = 0; n < MESSAGES && message[n]; n++) {
		/* The timeout only limits a failing run, which message_valid() detects. */
		if (!err && !ABANDONED(n))
			wait_for_completion_timeout(&message[n]->done, 30 * HZ);
		message_free(n);
	}
	pr_info("%u transmissions, %u answers, %u incorrect\n", sent, answers, wrong);
	return err ?: wrong ? -EIO : 0;
}

static void __exit resend_exit(void)
{
}

module_init(resend_init);
module_exit(resend_exit);

MODULE_DESCRIPTION("twheel sample: messages that are sent until they are answered");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
