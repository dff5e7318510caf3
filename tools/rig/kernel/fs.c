// SPDX-License-Identifier: GPL-2.0
/*
 * System calls on files of character devices, devices and their nodes, user memory.
 *
 * One lock protects the nodes and the references taken by a lookup. A node keeps its device
 * until the last file is closed, as cdev_add() and the VFS do.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rig/count.h>
#include <rig/fs.h>
#include <rig/time.h>

#include "../rig.h"

struct user_namespace init_user_ns;
__thread uid_t rig_uid;
__thread struct user_namespace *rig_user_ns;

/* User memory */

/* Only sanitizers have memory below this address, in a position-independent program. */
#define USER_LOWEST	BIT(45)

static char *pages_start;
static size_t pages_size;
static const u8 *pages_may;

void rig_user_pages(void *start, size_t size, const u8 *may)
{
	pages_start = start;
	pages_size = size;
	pages_may = may;
}

/* Bytes from @start, an address in the pages, up to the first page without @access. */
static size_t reachable_pages(const char *start, size_t size, u8 access)
{
	size_t at = start - pages_start, end = at;

	while (end < at + size && end < pages_size && READ_ONCE(pages_may[end / 4096]) & access)
		end = roundup(end + 1, 4096);
	return min(end - at, size);
}

/* Accessible bytes of a user buffer. */
static size_t reachable(const void __user *user, size_t size, u8 access)
{
	const char *start = user;

	if ((uintptr_t)start < USER_LOWEST || (uintptr_t)start >> 47)
		return 0;
	size = min(size, BIT(47) - (uintptr_t)start);
	if (start >= pages_start && start < pages_start + pages_size)
		return reachable_pages(start, size, access);
	return size;
}

/*
 * A program may change its memory during a call, which is not a race of the module.
 * Therefore the sanitizers only check the kernel's side of a copy.
 */
static void user_move(void *to, const void *from, size_t size)
{
	__asm__ __volatile__("rep movsb" : "+D"(to), "+S"(from), "+c"(size) :: "memory");
}

static void user_copy(char *to, const char *from, size_t size, bool to_user)
{
	char bounce[256];

	if (!pages_size) {
		memcpy(to, from, size);
		return;
	}
	/* Simulate page faults, more often for large buffers. */
	if (!(rig_random() >> 32 & (size < 64 ? 511 : 31)))
		usleep_range(1, 200);
	while (size) {
		size_t part = min(size, sizeof(bounce));

		if (to_user) {
			memcpy(bounce, from, part);
			user_move(to, bounce, part);
		} else {
			user_move(bounce, from, part);
			memcpy(to, bounce, part);
		}
		to += part;
		from += part;
		size -= part;
	}
}

unsigned long copy_to_user(void __user *to, const void *from, unsigned long size)
{
	size_t copied = reachable(to, size, RIG_USER_WRITE);

	might_sleep();
	rig_touch(from, size, false);
	if (rig_fault())
		return size;
	user_copy(to, from, copied, true);
	/* As on arm64: the last steps of a loop that copies 64 bytes at a time are not counted. */
	if (copied < size)
		copied -= min(copied, 64UL);
	return size - copied;
}

/* The part that could not be read is zeroed. */
unsigned long copy_from_user(void *to, const void __user *from, unsigned long size)
{
	size_t copied = reachable(from, size, RIG_USER_READ);

	might_sleep();
	rig_touch(to, size, true);
	rig_fault();
	user_copy(to, from, copied, false);
	memset(to + copied, 0, size - copied);
	return size - copied;
}

unsigned long clear_user(void __user *to, unsigned long size)
{
	size_t cleared = reachable(to, size, RIG_USER_WRITE);

	might_sleep();
	if (rig_fault())
		return size;
	memset(to, 0, cleared);
	return size - cleared;
}

/* Iterators over user memory */

void iov_iter_advance(struct iov_iter *iter, size_t size)
{
	size = min(size, iter->count);
	iter->count -= size;
	iter->rig_done += size;
	size += iter->iov_offset;
	/* As in the kernel, the iterator advances beyond a used piece. */
	for (; iter->nr_segs && size >= iter->iov->iov_len; iter->iov++, iter->nr_segs--)
		size -= iter->iov->iov_len;
	iter->iov_offset = size;
}

void iov_iter_revert(struct iov_iter *iter, size_t size)
{
	if (WARN_ON(size > iter->rig_done))
		return;
	iter->count += size;
	iter->rig_done -= size;
	while (size > iter->iov_offset) {
		size -= iter->iov_offset;
		iter->iov--;
		iter->nr_segs++;
		iter->iov_offset = iter->iov->iov_len;
	}
	iter->iov_offset -= size;
}

/* Return: bytes copied; fewer than @size at the end of the iterator or after a fault. */
size_t copy_to_iter(const void *from, size_t size, struct iov_iter *iter)
{
	size_t done = 0, part, left;

	size = min(size, iter->count);
	while (done < size) {
		part = min(size - done, iter->iov->iov_len - iter->iov_offset);
		left = copy_to_user(iter->iov->iov_base + iter->iov_offset, from + done, part);
		iov_iter_advance(iter, part - left);
		done += part - left;
		if (left)
			break;
	}
	return done;
}

int copy_struct_from_user(void *to, size_t ksize, const void __user *from, size_t usize)
{
	size_t size = min(ksize, usize), i;

	if (usize > ksize) {
		if (reachable(from, usize, RIG_USER_READ) < usize)
			return -EFAULT;
		for (i = ksize; i < usize; i++)
			if (((const char *)from)[i])
				return -E2BIG;
	}
	memset(to + size, 0, ksize - size);
	return copy_from_user(to, from, size) ? -EFAULT : 0;
}

/* Nodes */

static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(nodes);

struct class *class_create(const char *name)
{
	struct class *class = kzalloc(sizeof(*class), GFP_KERNEL);

	if (!class)
		return ERR_PTR(-ENOMEM);
	class->name = name;
	return class;
}

int alloc_chrdev_region(dev_t *dev, unsigned int first, unsigned int count, const char *name)
{
	if (rig_should_fail())
		return -ENOMEM;
	*dev = MKDEV(240, first);
	return 0;
}

void unregister_chrdev_region(dev_t dev, unsigned int count)
{
}

void device_initialize(struct device *dev)
{
	kref_init(&dev->kref);
}

int dev_set_name(struct device *dev, const char *fmt, ...)
{
	va_list args;

	if (rig_should_fail())
		return -ENOMEM;
	va_start(args, fmt);
	vsnprintf(dev->name, sizeof(dev->name), fmt, args);
	va_end(args);
	return 0;
}

struct device *get_device(struct device *dev)
{
	kref_get(&dev->kref);
	return dev;
}

static void device_release(struct kref *kref)
{
	struct device *dev = container_of(kref, struct device, kref);

	if (dev->type)
		dev->type->release(dev);
	else
		kfree(dev);
}

void put_device(struct device *dev)
{
	kref_put(&dev->kref, device_release);
}

void cdev_init(struct cdev *cdev, const struct file_operations *fops)
{
	memset(cdev, 0, sizeof(*cdev));
	cdev->ops = fops;
}

/* The devices exist already. */
int cdev_add(struct cdev *cdev, dev_t devt, unsigned int count)
{
	struct device *dev;

	if (rig_should_fail())
		return -ENOMEM;
	list_for_each_entry(dev, &nodes, rig_entry)
		if (dev->devt - devt < count)
			dev->rig_inode.i_cdev = cdev;
	return 0;
}

/* As the kernel, open the device before the last step that may fail. */
int cdev_device_add(struct cdev *cdev, struct device *dev)
{
	bool fails = rig_should_fail();
	umode_t mode = 0;
	kuid_t uid;
	kgid_t gid;

	if (dev->type && dev->type->devnode)
		dev->type->devnode(dev, &mode, &uid, &gid);
	get_device(dev);	/* held by the node and by each open inode */
	dev->rig_inode = (struct inode) { .i_cdev = cdev, .i_rdev = dev->devt };
	pthread_mutex_lock(&nodes_lock);
	list_add(&dev->rig_entry, &nodes);
	pthread_mutex_unlock(&nodes_lock);
	rig_jitter();
	if (!fails)
		return 0;
	cdev_device_del(cdev, dev);
	return -ENOMEM;
}

/* Without the pointers, devnode() names the node to remove. */
void cdev_device_del(struct cdev *cdev, struct device *dev)
{
	if (dev->type && dev->type->devnode)
		kfree(dev->type->devnode(dev, NULL, NULL, NULL));
	else if (!dev->type)
		kfree(dev->class->devnode(dev, NULL));
	pthread_mutex_lock(&nodes_lock);
	list_del(&dev->rig_entry);
	pthread_mutex_unlock(&nodes_lock);
	put_device(dev);
}

struct device *rig_device_create(const struct class *class, dev_t devt, const char *name)
{
	struct device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	umode_t mode = 0;
	char *node;
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	device_initialize(dev);
	dev->class = class;
	dev->devt = devt;
	node = class->devnode(dev, &mode);
	strscpy(dev->name, node ?: name, sizeof(dev->name));
	kfree(node);
	err = cdev_device_add(NULL, dev);
	put_device(dev);
	return err ? ERR_PTR(err) : dev;
}

void device_destroy(const struct class *class, dev_t devt)
{
	struct device *dev, *next;

	list_for_each_entry_safe(dev, next, &nodes, rig_entry)
		if (dev->devt == devt)
			cdev_device_del(NULL, dev);
}

/* The name of the latest node of a purgatory. Return: false if there is none. */
bool rig_node_name(char *name, size_t size)
{
	struct device *dev;
	bool found;

	pthread_mutex_lock(&nodes_lock);
	dev = list_first_entry(&nodes, struct device, rig_entry);
	strscpy(name, dev->name, size);
	found = dev->type;
	pthread_mutex_unlock(&nodes_lock);
	return found;
}

static struct device_attribute *attribute_find(struct device *dev, const char *name)
{
	struct attribute **attr;

	for (attr = dev->type->groups[0]->attrs; *attr; attr++)
		if (!strcmp((*attr)->name, name))
			return container_of(*attr, struct device_attribute, attr);
	return NULL;
}

/* As in sysfs, the device cannot be deleted while one of its attributes is read. */
ssize_t rig_sysfs_read(const char *device, const char *attribute, char *page)
{
	struct device_attribute *attr;
	ssize_t ret = -ENOENT;
	struct device *dev;

	pthread_mutex_lock(&nodes_lock);
	list_for_each_entry(dev, &nodes, rig_entry) {
		if (!dev->type || strcmp(dev->name, device))
			continue;
		attr = attribute_find(dev, attribute);
		if (attr)
			ret = attr->show(dev, attr, page);
		break;
	}
	pthread_mutex_unlock(&nodes_lock);
	return ret;
}

int sysfs_emit(char *buf, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(buf, 4096, fmt, args);
	va_end(args);
	return len;
}

/* Files */

/* Find the device of a node and take a reference to it. */
static struct device *node_get(const char *name)
{
	struct device *dev, *found = NULL;

	pthread_mutex_lock(&nodes_lock);
	list_for_each_entry(dev, &nodes, rig_entry)
		if (!strcmp(dev->name, name))
			found = get_device(dev);
	pthread_mutex_unlock(&nodes_lock);
	return found;
}

/* As in the kernel, files are allocated from the kernel's memory, and are counted. */
static struct file *file_alloc(struct inode *inode, const struct file_operations *fops, int flags)
{
	struct file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return NULL;
	refcount_set(&file->f_ref, 1);
	file->f_op = fops;
	file->f_flags = flags;
	file->f_mode = (flags & O_ACCMODE) == O_RDONLY ? FMODE_READ :
		       (flags & O_ACCMODE) == O_WRONLY ? FMODE_WRITE : FMODE_READ | FMODE_WRITE;
	file->f_inode = inode;
	__module_get(fops->owner);
	return file;
}

static void file_free(struct file *file)
{
	if (!file)
		return;
	module_put(file->f_op->owner);
	kfree(file);
}

struct file *anon_inode_getfile(const char *name, const struct file_operations *fops,
				void *data, int flags)
{
	static struct inode anon;
	struct file *file = file_alloc(&anon, fops, flags & (O_ACCMODE | O_NONBLOCK));

	if (!file)
		return ERR_PTR(-ENOMEM);
	file->private_data = data;
	return file;
}

/* Descriptors */

static pthread_mutex_t fds_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *fds[RIG_NR_FDS];
static bool fds_used[RIG_NR_FDS];

/*
 * A number is reused as late as possible, so that a thread that is about to use a closed
 * descriptor does not access another file.
 */
int get_unused_fd_flags(unsigned int flags)
{
	unsigned int tries = 0, index;
	static unsigned int next;

	if (rig_should_fail())
		return -ENOMEM;
	pthread_mutex_lock(&fds_lock);
	do {
		index = next++ % RIG_NR_FDS;
	} while (fds_used[index] && ++tries < RIG_NR_FDS);
	fds_used[index] = true;
	pthread_mutex_unlock(&fds_lock);
	return tries < RIG_NR_FDS ? (int)(RIG_FD_FIRST + index) : -EMFILE;
}

/* The descriptor takes over the caller's reference. */
void fd_install(unsigned int fd, struct file *file)
{
	pthread_mutex_lock(&fds_lock);
	WARN_ON(!fds_used[fd - RIG_FD_FIRST] || fds[fd - RIG_FD_FIRST]);
	fds[fd - RIG_FD_FIRST] = file;
	pthread_mutex_unlock(&fds_lock);
}

void put_unused_fd(unsigned int fd)
{
	pthread_mutex_lock(&fds_lock);
	WARN_ON(!fds_used[fd - RIG_FD_FIRST] || fds[fd - RIG_FD_FIRST]);
	fds_used[fd - RIG_FD_FIRST] = false;
	pthread_mutex_unlock(&fds_lock);
}

struct file *rig_fd_file(int fd)
{
	unsigned int index = fd - RIG_FD_FIRST;
	struct file *file = NULL;

	if (index >= RIG_NR_FDS)
		return NULL;
	pthread_mutex_lock(&fds_lock);
	if (fds[index])
		file = rig_file_get(fds[index]);
	pthread_mutex_unlock(&fds_lock);
	return file;
}

/* A number without a file belongs to a descriptor that is still being opened. */
struct file *rig_fd_take(int fd)
{
	unsigned int index = fd - RIG_FD_FIRST;
	struct file *file;

	if (index >= RIG_NR_FDS)
		return NULL;
	pthread_mutex_lock(&fds_lock);
	file = fds[index];
	if (file) {
		fds[index] = NULL;
		fds_used[index] = false;
	}
	pthread_mutex_unlock(&fds_lock);
	return file;
}

struct file *rig_open(const char *name, int flags)
{
	const struct file_operations *fops;
	struct device *dev;
	struct file *file;
	int err;

	if (strncmp(name, "/dev/", 5))
		return ERR_PTR(-ENOENT);
	dev = node_get(name + 5);
	if (!dev)
		return ERR_PTR(-ENOENT);
	fops = dev->rig_inode.i_cdev->ops;
	file = file_alloc(&dev->rig_inode, fops, flags);
	err = file ? fops->open(&dev->rig_inode, file) : -ENOMEM;
	if (!err)
		return file;
	put_device(dev);
	file_free(file);
	return ERR_PTR(err);
}

struct file *rig_file_get(struct file *file)
{
	refcount_inc(&file->f_ref);
	return file;
}

/* Drop a reference; the last one releases the file. */
void rig_close(struct file *file)
{
	if (!refcount_dec_and_test(&file->f_ref))
		return;
	if (file->f_op->release)
		file->f_op->release(file->f_inode, file);
	if (file->f_inode->i_cdev)
		put_device(container_of(file->f_inode, struct device, rig_inode));
	file_free(file);
}

long compat_ptr_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return file->f_op->unlocked_ioctl(file, cmd, arg);
}

long rig_ioctl(struct file *file, unsigned int cmd, void *arg)
{
	if (!file->f_op->unlocked_ioctl)
		return -ENOTTY;
	return file->f_op->unlocked_ioctl(file, cmd, (unsigned long)arg);
}

/* As do_readv(): the addresses of the pieces are checked first, but not their pages. */
ssize_t rig_readv(struct file *file, const struct iovec *pieces, int nr, int flags)
{
	struct iov_iter iter = { .iov = pieces, .nr_segs = nr };
	struct kiocb iocb = { .ki_filp = file, .ki_flags = flags };
	int i;

	if (!(file->f_mode & FMODE_READ))
		return -EBADF;
	if (!file->f_op->read_iter)
		return -EINVAL;
	if (flags & ~IOCB_NOWAIT || (flags && !(file->f_mode & FMODE_NOWAIT)))
		return -EOPNOTSUPP;
	for (i = 0; i < nr; i++) {
		if ((uintptr_t)pieces[i].iov_base >> 47 || pieces[i].iov_len >> 47)
			return -EFAULT;
		iter.count += pieces[i].iov_len;
	}
	iter.count = min_t(size_t, iter.count, INT_MAX & ~4095);
	return file->f_op->read_iter(&iocb, &iter);
}

ssize_t rig_read(struct file *file, void *buf, size_t size)
{
	struct iovec piece = { buf, size };

	return rig_readv(file, &piece, 1, 0);
}

/*
 * The flags are read without a lock by every driver, and written under a lock of the VFS that
 * drivers never take: this race belongs to the VFS, and is hidden from ThreadSanitizer.
 */
void rig_file_flags(struct file *file, unsigned int mask, unsigned int flags)
{
	__asm__ __volatile__("lock andl %1, %0" : "+m"(file->f_flags) : "r"(~mask | flags));
	__asm__ __volatile__("lock orl %1, %0" : "+m"(file->f_flags) : "r"(flags));
}

ssize_t rig_fdinfo(struct file *file, char *buf, size_t size)
{
	struct seq_file seq = { .buf = buf, .size = size };

	if (file->f_op->show_fdinfo)
		file->f_op->show_fdinfo(&seq, file);
	return seq.count;
}

/* poll */

#define POLL_QUEUES	16

struct poller {
	poll_table table;
	unsigned int nr;
	wait_queue_head_t *queue[POLL_QUEUES];
	struct wait_queue_entry entry[POLL_QUEUES];
};

/* As in the kernel, it stays in the wait queues until the end of the call, also if it is woken. */
static void poller_queue(struct file *file, wait_queue_head_t *queue, poll_table *table)
{
	struct poller *poller = container_of(table, struct poller, table);
	struct wait_queue_entry *entry = &poller->entry[poller->nr];

	if (WARN_ON(poller->nr == POLL_QUEUES))
		return;
	poller->queue[poller->nr++] = queue;
	*entry = (struct wait_queue_entry) {
		.task = current, .func = default_wake_function,
	};
	INIT_LIST_HEAD(&entry->entry);
	rig_wait_prepare(queue, entry, TASK_INTERRUPTIBLE);
}

/* Return: number of files that are ready. */
static int poll_once(struct rig_polled *polled, unsigned int nr, poll_table *table)
{
	struct rig_polled *p;
	int nr_ready = 0;

	for (p = polled; p < polled + nr; p++) {
		p->ready = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
		if (p->file->f_op->poll)
			p->ready = p->file->f_op->poll(p->file, table);
		p->ready &= p->events | EPOLLHUP | EPOLLERR;
		nr_ready += !!p->ready;
	}
	return nr_ready;
}

/* With a timeout of 0, only polls, without queueing the task. */
int rig_poll(struct rig_polled *polled, unsigned int nr, int timeout_ms)
{
	u64 until = ktime_get_ns() + (u64)max(timeout_ms, 0) * NSEC_PER_MSEC;
	struct poller poller = { .table = { ._qproc = timeout_ms ? poller_queue : NULL } };
	int ready, i;

	for (;;) {
		poller.nr = 0;
		ready = poll_once(polled, nr, &poller.table);
		/* A wakeup by one file while the next was queued is lost: check all again. */
		if (!ready && timeout_ms && nr > 1)
			ready = poll_once(polled, nr, NULL);
		if (!ready && timeout_ms && !signal_pending(current)) {
			if (timeout_ms < 0)
				schedule();
			else
				rig_sleep_until(until);
		}
		for (i = 0; i < (int)poller.nr; i++)
			rig_wait_finish(poller.queue[i], &poller.entry[i]);
		if (ready || !timeout_ms)
			return ready;
		if (signal_pending(current))
			return -EINTR;
		if (timeout_ms > 0 && ktime_get_ns() >= until)
			timeout_ms = 0;
	}
}
