// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the arguments of a call in progress, and arrays in the memory of its caller.
 *
 * An array is passed with the size of its entries, which may differ from the kernel's: in a longer
 * entry the unknown bytes must be zero, a shorter one than in the first version is refused.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "args.h"
#include "user.h"

/*
 * Copy an array entry to user space and pad it with zeroes. @known is the size of its first
 * version, which is the current one; @size is the entry size of the caller. Returns -EINVAL if
 * @size is too small, -E2BIG if it exceeds a page, or -EFAULT.
 */
int twheel_entry_write(u64 array, u32 index, u32 size, const void *from, size_t known)
{
	void __user *to = u64_to_user_ptr(array) + (size_t)index * size;

	if (size < known)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (copy_to_user(to, from, known) || clear_user(to + known, size - known))
		return -EFAULT;
	return 0;
}

/* The array of the call for TWHEEL_MAX_KEYS keys, or NULL if it cannot be allocated. */
struct twheel_watch_spec *twheel_call_keys(struct twheel_ioctl *call)
{
	if (!call->many)
		call->many = kmalloc_array(TWHEEL_MAX_KEYS, sizeof(*call->many),
					   TWHEEL_GFP_USER);
	return call->many;
}

/* twheel_call_specs(), if there are keys. */
const struct twheel_watch_spec *__twheel_call_specs(struct twheel_ioctl *call, u64 keys,
						    u32 nr_keys, u32 key_size)
{
	struct twheel_watch_spec *specs = call->few;
	const size_t size = sizeof(*specs);
	u32 i, bits = 0;
	int err = 0;

	if (nr_keys > TWHEEL_MAX_KEYS || key_size < size)
		return ERR_PTR(-EINVAL);
	if (key_size > PAGE_SIZE)
		return ERR_PTR(-E2BIG);
	if (nr_keys > ARRAY_SIZE(call->few))
		specs = twheel_call_keys(call);
	if (!specs)
		return ERR_PTR(-ENOMEM);
	/* The usual case is a copy of a constant size. */
	if (nr_keys == 1 && key_size == size) {
		err = copy_from_user(specs, u64_to_user_ptr(keys), size) ? -EFAULT : 0;
	} else if (key_size == size) {
		err = copy_from_user(specs, u64_to_user_ptr(keys), nr_keys * size) ? -EFAULT : 0;
	} else {
		for (i = 0; i < nr_keys && !err; i++)
			err = copy_struct_from_user(&specs[i], size,
						    u64_to_user_ptr(keys) + (size_t)i * key_size,
						    key_size);
	}
	if (err)
		return ERR_PTR(err);
	for (i = 0; i < nr_keys; i++)
		bits |= specs[i].bit;
	return bits ? ERR_PTR(-EINVAL) : specs;
}
