// SPDX-License-Identifier: GPL-2.0
/*
 * twheel_bpf: functions for BPF programs (kfuncs), in a module above the devices, which do not
 * depend on it.
 *
 * A program names a purgatory by its handle, a random number. The loader of the program gets it
 * from twheel_bpf_handle(), in a program that it runs itself, for a descriptor of the purgatory,
 * and leaves it in a map. So the right to signal is that of the descriptor. Neither the permissions
 * of BPF nor the name of a purgatory confer it.
 *
 * Why not a reference counted pointer in the map: the verifier lets a program use such a pointer of
 * a module only while it has taken it out of the map (bpf_kptr_xchg()). A program that interrupts
 * it, or runs on another CPU, would find no purgatory and could not complete an operation.
 *
 * Contexts
 * ========
 *
 *	type of the program	handle	signal	watched		context
 *	-------------------	------	------	-------		-------
 *	syscall			  *	  *	   *		process, may sleep
 *	XDP, TC, cgroup			  *	   *		process, softirq; no lock of ours
 *	tracing, LSM, kprobe,		  *			any, also NMI and with locks of ours
 *	perf event						held
 *
 * Signalling takes locks, and the lock of an event queue in process context only. A program that
 * traces the kernel may be called with any of them held: by a probe in this module, by our
 * tracepoints, or by one of lock contention, memory or scheduling inside of our critical
 * sections; the attach point tells nothing about that. So a signal is queued without a lock, in
 * all programs, and a work item does the rest, see signal_queue.c. A program takes constant
 * time, however many operations watch the key.
 *
 * A program that is attached to a function of this call, and signals, runs on top of the call; the
 * kernel only refuses a program that is running already. A chain of 38 programs, the most of one
 * function, would overflow the stack. So a call needs half of the stack, and is notrace: no program
 * runs before the check.
 *
 * Whether a key is watched cannot be answered later, and needs the lock of its bucket. The
 * networking and cgroup hooks are never called inside of our critical sections. They may be
 * called with interrupts disabled, by netpoll or in a section of bpf_local_irq_save(), where the
 * lock must not be released; and on PREEMPT_RT without preemption, where it must not be taken:
 * then the answer is -EBUSY. The verifier refuses this function to the programs of the last row.
 *
 * Unloading
 * =========
 *
 * The kernel cannot unregister functions, and forgets them with the BTF of the module. The verifier
 * takes a reference to the module for a program that calls one of them, which is dropped when the
 * program is freed, after a grace period; and none before the init has returned. A purgatory with a
 * handle has a reference, too. So the module exits without programs and queues.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "../dev/open.h"
#include "../op/op.h"
#include "../op/purgatory.h"
#include "bpf.h"

static struct workqueue_struct *wq;

static void attached_end(struct twheel_attached *attached)
{
	twheel_signal_queue_destroy(container_of(attached, struct twheel_signal_queue, attached));
}

/* Called by a program, which has a reference to this module. */
static s64 handle_of(struct twheel_instance *instance)
{
	struct twheel_attached *attached = READ_ONCE(instance->attached);
	struct twheel_signal_queue *queue;

	if (!attached) {
		queue = twheel_signal_queue_create(instance->purgatory, wq);
		if (IS_ERR(queue))
			return PTR_ERR(queue);
		queue->attached.owner = THIS_MODULE;
		queue->attached.end = attached_end;
		attached = cmpxchg(&instance->attached, NULL, &queue->attached);
		if (!attached) {
			__module_get(THIS_MODULE);
			return queue->handle;
		}
		twheel_signal_queue_destroy(queue);
	}
	return container_of(attached, struct twheel_signal_queue, attached)->handle;
}

__bpf_kfunc_start_defs();

/**
 * twheel_bpf_handle - get the handle of a purgatory
 * @fd: a descriptor of it, open for writing and not restricted
 *
 * The handle is valid as long as the purgatory, also after the descriptor was closed: until the
 * file of a private one is closed, or a named one has been removed and all of its files are
 * closed.
 *
 * Context: programs of the type syscall.
 * Return:
 * * a positive number
 * * %-EBADF     - @fd is not open, or not for writing
 * * %-ENOTTY    - it is not that of a purgatory
 * * %-EPERM     - it is restricted
 * * %-ESHUTDOWN - the purgatory was removed
 * * %-ENOMEM
 */
__bpf_kfunc s64 twheel_bpf_handle(s32 fd)
{
	struct twheel_instance *instance;
	struct file *file = fget(fd);
	s64 handle;

	if (!file)
		return -EBADF;
	instance = twheel_file_instance(file);
	handle = IS_ERR(instance) ? PTR_ERR(instance) : handle_of(instance);
	fput(file);
	return handle;
}

/**
 * twheel_bpf_signal - signal a key
 * @handle: handle of the purgatory
 * @key: the key
 * @amount: amount for TWHEEL_COND_SUM; 0 means 1
 * @value: value for the operations that the signal completes
 *
 * A work item signals the key in the order of the calls, without a limit.
 *
 * Context: all types of programs above; any.
 * Return:
 * * %0       - the signal is queued
 * * %-ENOENT  - there is no purgatory with this handle
 * * %-ENOBUFS - the purgatory has too many queued signals; this one is lost
 * * %-EBUSY   - programs that signal are nested, and less than half of the stack is left; on the
 *   stack of an interrupt, this is the fifth one; the signal is lost
 */
__bpf_kfunc notrace int twheel_bpf_signal(u64 handle, const struct twheel_key *key, u64 amount,
					  u64 value)
{
	struct twheel_signal_queue *queue;
	int err = -ENOENT;
	unsigned int counted = !twheel_on_task_stack();

	if (twheel_stack_is_deep())
		return -EBUSY;
	this_cpu_add(twheel_nested, counted);
	rcu_read_lock();
	queue = twheel_signal_queue_find(handle);
	if (queue)
		err = twheel_signal_queue_add(queue, key, amount, value);
	rcu_read_unlock();
	this_cpu_sub(twheel_nested, counted);
	return err;
}

/**
 * twheel_bpf_watched - whether a key is watched
 * @handle: handle of the purgatory
 * @key: the key
 *
 * Signals that are queued may end the watch.
 *
 * Context: programs of the types syscall, XDP, TC and cgroup.
 * Return:
 * * %0       - no operation watches the key
 * * %1       - an operation does
 * * %-ENOENT - there is no purgatory with this handle
 * * %-EBUSY  - the program was called, or continues, with interrupts disabled; on PREEMPT_RT
 *   without preemption
 */
__bpf_kfunc int twheel_bpf_watched(u64 handle, const struct twheel_key *key)
{
	struct twheel_signal_queue *queue;
	int ret = -ENOENT;

	/* The lock of a bucket may not be taken and released. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) ? !preemptible() : irqs_disabled())
		return -EBUSY;
	rcu_read_lock();
	queue = twheel_signal_queue_find(handle);
	if (queue)
		ret = twheel_key_is_watched(queue->purgatory, key);
	rcu_read_unlock();
	return ret;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(syscall_ids)
BTF_ID_FLAGS(func, twheel_bpf_handle, KF_SLEEPABLE)
BTF_ID_FLAGS(func, twheel_bpf_signal, TWHEEL_KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, twheel_bpf_watched, TWHEEL_KF_TRUSTED_ARGS)
BTF_KFUNCS_END(syscall_ids)

BTF_KFUNCS_START(network_ids)
BTF_ID_FLAGS(func, twheel_bpf_signal, TWHEEL_KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, twheel_bpf_watched, TWHEEL_KF_TRUSTED_ARGS)
BTF_KFUNCS_END(network_ids)

BTF_KFUNCS_START(tracing_ids)
BTF_ID_FLAGS(func, twheel_bpf_signal, TWHEEL_KF_TRUSTED_ARGS)
BTF_KFUNCS_END(tracing_ids)

static const struct btf_kfunc_id_set syscall_set = { .owner = THIS_MODULE, .set = &syscall_ids };
static const struct btf_kfunc_id_set network_set = { .owner = THIS_MODULE, .set = &network_ids };
static const struct btf_kfunc_id_set tracing_set = { .owner = THIS_MODULE, .set = &tracing_ids };

/* A type stands for all that share its functions, such as those of tracepoints or of cgroups. */
static const struct {
	enum bpf_prog_type		type;
	const struct btf_kfunc_id_set	*set;
} program_sets[] = {
	{ BPF_PROG_TYPE_SYSCALL, &syscall_set },
	{ BPF_PROG_TYPE_XDP, &network_set },
	{ BPF_PROG_TYPE_SCHED_CLS, &network_set },
	{ BPF_PROG_TYPE_CGROUP_SKB, &network_set },
	{ BPF_PROG_TYPE_TRACING, &tracing_set },
	{ BPF_PROG_TYPE_KPROBE, &tracing_set },
};

static int __init twheel_bpf_init(void)
{
	unsigned int i;
	int err = 0;

#if defined(MODULE) && defined(CONFIG_DEBUG_INFO_BTF_MODULES)
	/* Built without pahole, or with headers that lack the BTF of the kernel. */
	if (!THIS_MODULE->btf_data_size) {
		pr_err("the module has no BTF\n");
		return -EOPNOTSUPP;
	}
#endif
	wq = alloc_workqueue("twheel_bpf", WQ_UNBOUND, 0);
	if (!wq)
		return -ENOMEM;
	for (i = 0; !err && i < ARRAY_SIZE(program_sets); i++)
		err = register_btf_kfunc_id_set(program_sets[i].type, program_sets[i].set);
	if (err)
		destroy_workqueue(wq);
	return err;
}

static void __exit twheel_bpf_exit(void)
{
	destroy_workqueue(wq);
}

module_init(twheel_bpf_init);
module_exit(twheel_bpf_exit);

MODULE_DESCRIPTION("Functions of twheel for BPF programs");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(TWHEEL_VERSION);
