// SPDX-License-Identifier: GPL-2.0
/*
 * A module outside of the tree of twheel: a purgatory, and an operation that a signal of its key
 * completes. Loading the module adds and completes the operation, and prints the result.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/twheel.h>

struct answer {
	struct twheel_op	op;
	struct twheel_watch	watch;
};

static struct twheel_purgatory *purgatory;

/* The callback of the end: in the call of twheel_signal(), or in a thread at the deadline. */
static void answer_ended(struct twheel_op *op)
{
	struct twheel_op_result result;

	twheel_op_get_result(op, &result);
	if (result.reason == TWHEEL_REASON_COMPLETED)
		pr_info("the answer is %llu\n", result.value);
	else
		pr_info("no answer\n");
}

static void answer_release(struct twheel_op *op)
{
	kfree(container_of(op, struct answer, op));
}

static const struct twheel_op_ops answer_ops = {
	.ended		= answer_ended,
	.release	= answer_release,
};

static int answer_wait(const struct twheel_key *key)
{
	struct answer *answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	const struct twheel_watch_spec spec = { .key = *key };
	struct twheel_op_args args = {
		.deadline	= twheel_deadline(60ULL * NSEC_PER_SEC),
		.condition	= TWHEEL_COND_ANY,
		.nr_keys	= 1,
		.specs		= &spec,
		.flags		= TWHEEL_OP_MAY_SLEEP,
	};
	int err;

	if (!answer)
		return -ENOMEM;
	args.watches = &answer->watch;
	twheel_op_init(&answer->op, &answer_ops);
	err = twheel_op_add(purgatory, &answer->op, &args);
	/* The purgatory has references of its own until the end. */
	twheel_op_put(&answer->op);
	return err;
}

static int __init my_module_init(void)
{
	const struct twheel_purgatory_config config = {
		.name		= "my_module",
		.max_pending	= 1000,
	};
	const struct twheel_key key = { .v = { 0, 17 } };
	int err;

	purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(purgatory))
		return PTR_ERR(purgatory);
	err = answer_wait(&key);
	if (err < 0) {
		twheel_purgatory_destroy(purgatory);
		return err;
	}
	twheel_signal(purgatory, &key, 1, 42);
	return 0;
}

static void __exit my_module_exit(void)
{
	twheel_purgatory_destroy(purgatory);
}

module_init(my_module_init);
module_exit(my_module_exit);

MODULE_DESCRIPTION("a module that uses twheel");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
