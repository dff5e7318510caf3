// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of io_uring, see rig/uring.h.
 *
 * A request is freed when its completion is flushed and, if a worker has issued it, the worker
 * has dropped its reference. The reference to the file goes with it.
 */
#include <pthread.h>

#include <linux/llist.h>
#include <rig/uring.h>
#include <rig/wait.h>

#include "../rig.h"

struct request {
	struct io_uring_cmd	cmd;
	struct io_uring_sqe	sqe[2];
	struct rig_ring		*ring;
	struct list_head	cancelable;
	struct llist_node	work;
	struct list_head	done;
	refcount_t		refs;
	int			res;
};

struct rig_ring {
	struct mutex		lock;	/* of the lists but @work */
	struct list_head	cancelable;
	struct list_head	done;
	struct llist_head	work;
	u32			requests;	/* and workers */
	void			(*complete)(u64 user_data, int res);
};

static void ring_get(struct rig_ring *ring)
{
	__atomic_add_fetch(&ring->requests, 1, __ATOMIC_RELAXED);
}

static void ring_put(struct rig_ring *ring)
{
	__atomic_sub_fetch(&ring->requests, 1, __ATOMIC_RELEASE);
}

static void request_put(struct request *req)
{
	struct rig_ring *ring = req->ring;

	if (!refcount_dec_and_test(&req->refs))
		return;
	rig_close(req->cmd.file);
	kfree(req);
	ring_put(ring);
}

static void lock(struct rig_ring *ring, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED)
		mutex_lock(&ring->lock);
}

static void unlock(struct rig_ring *ring, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED)
		mutex_unlock(&ring->lock);
}

void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct request *req = container_of(cmd, struct request, cmd);

	if (cmd->flags & IORING_URING_CMD_CANCELABLE)
		return;
	cmd->flags |= IORING_URING_CMD_CANCELABLE;
	lock(req->ring, issue_flags);
	list_add(&req->cancelable, &req->ring->cancelable);
	unlock(req->ring, issue_flags);
	rig_jitter();
}

void io_uring_cmd_complete_in_task(struct io_uring_cmd *cmd,
				   void (*fn)(struct io_uring_cmd *cmd, unsigned int flags))
{
	struct request *req = container_of(cmd, struct request, cmd);

	cmd->task_work_cb = fn;
	llist_add(&req->work, &req->ring->work);
	rig_jitter();
}

/* Only with the lock of the ring held: a driver completes in task work. */
void io_uring_cmd_done(struct io_uring_cmd *cmd, ssize_t res, u64 res2, unsigned int issue_flags)
{
	struct request *req = container_of(cmd, struct request, cmd);

	WARN_ON(issue_flags & IO_URING_F_UNLOCKED || !rig_holds_mutex(&req->ring->lock));
	if (cmd->flags & IORING_URING_CMD_CANCELABLE) {
		cmd->flags &= ~IORING_URING_CMD_CANCELABLE;
		list_del_init(&req->cancelable);
	}
	req->res = res;
	list_add_tail(&req->done, &req->ring->done);
}

/* Post the completions, and drop the references of their requests. */
static void flush(struct rig_ring *ring)
{
	struct request *req, *next;

	list_for_each_entry_safe(req, next, &ring->done, done) {
		list_del(&req->done);
		ring->complete(req->sqe->user_data, req->res);
		request_put(req);
	}
}

struct rig_ring *rig_ring_new(void (*complete)(u64 user_data, int res))
{
	struct rig_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL);

	mutex_init(&ring->lock);
	INIT_LIST_HEAD(&ring->cancelable);
	INIT_LIST_HEAD(&ring->done);
	ring->complete = complete;
	return ring;
}

static void issue(struct request *req, unsigned int issue_flags)
{
	int res = req->cmd.file->f_op->uring_cmd(&req->cmd, issue_flags);

	if (res == -EIOCBQUEUED)
		return;
	lock(req->ring, issue_flags);
	io_uring_cmd_done(&req->cmd, res, 0, 0);
	flush(req->ring);
	unlock(req->ring, issue_flags);
}

static void *worker(void *arg)
{
	struct request *req = arg;
	struct rig_ring *ring = req->ring;

	issue(req, IO_URING_F_UNLOCKED);
	request_put(req);
	ring_put(ring);
	return NULL;
}

void rig_ring_submit(struct rig_ring *ring, struct file *file, const struct io_uring_sqe *sqe,
		     bool by_worker)
{
	struct request *req = kzalloc(sizeof(*req), GFP_KERNEL);
	pthread_t thread;

	req->cmd.file = rig_file_get(file);
	req->cmd.sqe = req->sqe;
	req->cmd.cmd_op = sqe->cmd_op;
	req->sqe[0] = *sqe;
	req->ring = ring;
	INIT_LIST_HEAD(&req->cancelable);
	refcount_set(&req->refs, by_worker ? 2 : 1);
	ring_get(ring);
	if (by_worker) {
		ring_get(ring);
		BUG_ON(pthread_create(&thread, NULL, worker, req));
		pthread_detach(thread);
		return;
	}
	mutex_lock(&ring->lock);
	issue(req, IO_URING_F_NONBLOCK | IO_URING_F_COMPLETE_DEFER);
	mutex_unlock(&ring->lock);
}

void rig_ring_work(struct rig_ring *ring)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&ring->work));
	struct request *req;

	mutex_lock(&ring->lock);
	while (list) {
		req = llist_entry(list, struct request, work);
		list = list->next;
		req->cmd.task_work_cb(&req->cmd, IO_URING_F_COMPLETE_DEFER);
	}
	flush(ring);
	mutex_unlock(&ring->lock);
}

void rig_ring_work_fallback(struct rig_ring *ring)
{
	current->flags |= PF_KTHREAD;
	rig_ring_work(ring);
	current->flags &= ~PF_KTHREAD;
}

/* As io_ring_exit_work(): cancel again until nothing is left. */
void rig_ring_exit(struct rig_ring *ring)
{
	struct request *req, *next;

	while (smp_load_acquire(&ring->requests)) {
		mutex_lock(&ring->lock);
		list_for_each_entry_safe(req, next, &ring->cancelable, cancelable)
			if (req->cmd.flags & IORING_URING_CMD_CANCELABLE)
				req->cmd.file->f_op->uring_cmd(&req->cmd, IO_URING_F_CANCEL |
								IO_URING_F_COMPLETE_DEFER);
		flush(ring);
		mutex_unlock(&ring->lock);
		rig_ring_work_fallback(ring);
		cond_resched();
	}
	kfree(ring);
}
