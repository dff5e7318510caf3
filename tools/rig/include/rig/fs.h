/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files, devices, user memory, credentials: for the character devices.
 *
 * The functions named rig_* are the system calls. They follow the rules of the VFS: a file
 * is released once, when its last reference is dropped, and no call uses it then.
 */
#ifndef _RIG_FS_H
#define _RIG_FS_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <linux/ioctl.h>
#include <linux/kref.h>
#include <linux/xarray.h>
#include <rig/mem.h>
#include <rig/module.h>
#include <rig/seq.h>
#include <rig/wait.h>

/* Credentials: users are numbers; one capability represents all. */
typedef struct { uid_t val; } kuid_t;
typedef struct { gid_t val; } kgid_t;
struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
	unsigned int refs;
};

#define KUIDT_INIT(value)	((kuid_t) { value })
#define KGIDT_INIT(value)	((kgid_t) { value })
#define __kuid_val(uid)		((uid).val)
#define uid_valid(uid)		((uid).val != (uid_t)-1)
#define gid_valid(gid)		((gid).val != (gid_t)-1)
#define uid_eq(a, b)		((a).val == (b).val)
#define GLOBAL_ROOT_UID		KUIDT_INIT(0)
#define INVALID_UID		KUIDT_INIT(-1)
#define make_kuid(ns, uid)	((void)(ns), KUIDT_INIT(uid))
#define make_kgid(ns, gid)	((void)(ns), KGIDT_INIT(gid))
#define from_kuid(ns, uid)	((void)(ns), (uid).val)
#define from_kuid_munged(ns, uid) from_kuid(ns, uid)
extern struct user_namespace	init_user_ns;
#define CAP_CHOWN		0
#define CAP_SYS_ADMIN		21
#define CAP_SYS_RESOURCE	24

/* The user of the calling thread, its namespace unless it is the initial one, and its privilege */
extern __thread uid_t rig_uid;
extern __thread struct user_namespace *rig_user_ns;
#define current_user_ns()	(rig_user_ns ?: &init_user_ns)
#define current_fsuid()		KUIDT_INIT(rig_uid)
#define current_fsgid()		KGIDT_INIT(rig_uid)
#define in_group_p(gid)		((gid).val == rig_uid)
#define capable(cap)		((void)(cap), !rig_uid)
#define file_ns_capable(file, ns, cap)	((void)(ns), capable(cap))

static inline struct user_namespace *get_user_ns(struct user_namespace *ns)
{
	__atomic_add_fetch(&ns->refs, 1, __ATOMIC_RELAXED);
	return ns;
}

static inline void put_user_ns(struct user_namespace *ns)
{
	__atomic_sub_fetch(&ns->refs, 1, __ATOMIC_ACQ_REL);
}

/*
 * User memory is the memory of the program. For each page of @size bytes from @start a byte has the
 * allowed accesses.
 */
#define RIG_USER_READ	1
#define RIG_USER_WRITE	2
void rig_user_pages(void *start, size_t size, const u8 *may);
/* A copy with page faults disabled fails at random. */
static inline void pagefault_disable(void)
{
	rig_self()->nofault++;
}

static inline void pagefault_enable(void)
{
	rig_self()->nofault--;
}

unsigned long copy_to_user(void __user *to, const void *from, unsigned long size);
unsigned long copy_from_user(void *to, const void __user *from, unsigned long size);
unsigned long clear_user(void __user *to, unsigned long size);
int copy_struct_from_user(void *to, size_t ksize, const void __user *from, size_t usize);
#define u64_to_user_ptr(x)	((void __user *)(uintptr_t)(x))
#define put_user(x, to) ({						\
	typeof(*(to)) _value = (x);					\
	copy_to_user(to, &_value, sizeof(_value)) ? -EFAULT : 0; })

/* Files */
#define FMODE_READ	1u
#define FMODE_WRITE	2u
#define FMODE_NOWAIT	0x8000000u

struct cdev;
struct file;

struct inode {
	struct cdev	*i_cdev;
	dev_t		i_rdev;
};

#define iminor(inode)	MINOR((inode)->i_rdev)
#define file_inode(file) ((file)->f_inode)

#define IOCB_NOWAIT	8	/* RWF_NOWAIT, which needs _GNU_SOURCE */

struct kiocb {
	struct file	*ki_filp;
	loff_t		ki_pos;
	int		ki_flags;	/* IOCB_NOWAIT or 0 */
};

/* There is no io_uring. */
static inline bool is_sync_kiocb(const struct kiocb *iocb)
{
	return true;
}

/* The user memory of a read; iov_iter_revert() may take back @rig_done bytes. */
struct iov_iter {
	const struct iovec	*iov;		/* next piece */
	unsigned long		nr_segs;	/* number of remaining pieces, including @iov */
	size_t			iov_offset;	/* in the next piece */
	size_t			count;		/* remaining bytes */
	size_t			rig_done;
};

static inline size_t iov_iter_count(const struct iov_iter *iter)
{
	return iter->count;
}

static inline void iov_iter_truncate(struct iov_iter *iter, u64 count)
{
	iter->count = min_t(u64, iter->count, count);
}

size_t copy_to_iter(const void *from, size_t size, struct iov_iter *iter);
void iov_iter_advance(struct iov_iter *iter, size_t size);
void iov_iter_revert(struct iov_iter *iter, size_t size);

struct io_uring_cmd;
struct poll_table_struct;
/* A mapping of a single page: a program uses the memory of the kernel. */
struct vm_area_struct {
	unsigned long vm_pgoff, vm_flags, rig_pages;
	void *rig_at;
};

#define VM_WRITE	0x02UL
#define VM_EXEC		0x04UL
#define VM_MAYWRITE	0x20UL
#define VM_MAYEXEC	0x40UL
#define VM_MAYSHARE	0x80UL
#define VM_DONTCOPY	0
#define VM_DONTEXPAND	0
#define VM_DONTDUMP	0
#define vma_pages(vma)	((vma)->rig_pages)

static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}

static inline int vm_map_pages(struct vm_area_struct *vma, struct page **pages, unsigned long nr)
{
	if (vma->rig_pages != 1)
		return -ENOMEM;
	vma->rig_at = page_address(pages[0]);
	return 0;
}

struct file_operations {
	int (*rig_show)(struct seq_file *file, void *unused);	/* first: see seq.h */
	struct module *owner;
	int (*open)(struct inode *inode, struct file *file);
	int (*release)(struct inode *inode, struct file *file);
	ssize_t (*read)(struct file *file, char __user *buf, size_t size, loff_t *pos);
	ssize_t (*read_iter)(struct kiocb *iocb, struct iov_iter *to);
	__poll_t (*poll)(struct file *file, struct poll_table_struct *wait);
	int (*mmap)(struct file *file, struct vm_area_struct *vma);
	long (*unlocked_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	long (*compat_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	int (*uring_cmd)(struct io_uring_cmd *cmd, unsigned int issue_flags);
	void (*show_fdinfo)(struct seq_file *seq, struct file *file);
};

struct file {
	const struct file_operations	*f_op;
	fmode_t				f_mode;
	unsigned int			f_flags;
	void				*private_data;
	struct inode			*f_inode;
	loff_t				f_pos;
	refcount_t			f_ref;
};

static inline int stream_open(struct inode *inode, struct file *file)
{
	return 0;
}

long compat_ptr_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* Return: a file or an ERR_PTR(). @name is "/dev/twheel" or "/dev/twheel-NAME". */
struct file *rig_open(const char *name, int flags);
struct file *rig_file_get(struct file *file);
void rig_close(struct file *file);
#define fput(file)	rig_close(file)
long rig_ioctl(struct file *file, unsigned int cmd, void *arg);
ssize_t rig_read(struct file *file, void *buf, size_t size);
ssize_t rig_readv(struct file *file, const struct iovec *pieces, int nr, int flags);

/* Files without a node */
struct file *anon_inode_getfile(const char *name, const struct file_operations *fops,
				void *data, int flags);

/*
 * Descriptors: one table for all threads. Its numbers are so large that the system does not
 * use them. rig_fd_file() takes a reference; rig_fd_take() removes the file from the table
 * and passes on its reference.
 */
#define RIG_FD_FIRST	0x100000
#define RIG_NR_FDS	512
int get_unused_fd_flags(unsigned int flags);
void fd_install(unsigned int fd, struct file *file);
void put_unused_fd(unsigned int fd);
struct file *rig_fd_file(int fd);
struct file *rig_fd_take(int fd);

/* A file of a call of poll(), the events to wait for, and those that are ready. */
struct rig_polled {
	struct file *file;
	int events, ready;
};

int rig_poll(struct rig_polled *polled, unsigned int nr, int timeout_ms);
void rig_file_flags(struct file *file, unsigned int mask, unsigned int flags);
ssize_t rig_fdinfo(struct file *file, char *buf, size_t size);
bool rig_node_name(char *name, size_t size);
ssize_t rig_sysfs_read(const char *device, const char *attribute, char *page);

/* poll */
typedef struct poll_table_struct {
	void (*_qproc)(struct file *file, wait_queue_head_t *queue,
		       struct poll_table_struct *table);
} poll_table;

static inline void poll_wait(struct file *file, wait_queue_head_t *queue, poll_table *table)
{
	if (table && table->_qproc)
		table->_qproc(file, queue, table);
}

/* Devices */
#define MINORBITS	20
#define MINORMASK	((1U << MINORBITS) - 1)
#undef major
#undef minor
#undef makedev
#define MAJOR(dev)	((unsigned int)((dev) >> MINORBITS))
#define MINOR(dev)	((unsigned int)((dev) & MINORMASK))
#define MKDEV(ma, mi)	((dev_t)(ma) << MINORBITS | (mi))

struct device;
struct attribute {
	const char *name;
};

struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *buf);
};

struct attribute_group {
	struct attribute **attrs;
};

#define ATTRIBUTE_GROUPS(name)						\
static const struct attribute_group *name##_groups[] = {		\
	&(const struct attribute_group){ .attrs = name##_attrs }, NULL	\
}

#define DEVICE_ATTR_RO(field)						\
struct device_attribute dev_attr_##field = {				\
	.attr = { .name = #field }, .show = field##_show }
int sysfs_emit(char *buf, const char *fmt, ...) __printf(2, 3);

struct class {
	const char *name;
	char *(*devnode)(const struct device *dev, umode_t *mode);
};

struct device_type {
	const char *name;
	const struct attribute_group **groups;
	char *(*devnode)(const struct device *dev, umode_t *mode, kuid_t *uid, kgid_t *gid);
	void (*release)(struct device *dev);
};

struct device {
	struct kref		kref;
	const struct class	*class;
	const struct device_type *type;
	dev_t			devt;
	char			name[64];	/* of the node */
	struct list_head	rig_entry;
	struct inode		rig_inode;
};

struct kobject {
};

struct cdev {
	struct kobject			kobj;
	const struct file_operations	*ops;
	struct module			*owner;
};

struct class *class_create(const char *name);
#define class_destroy(class)	kfree(class)
int alloc_chrdev_region(dev_t *dev, unsigned int first, unsigned int count, const char *name);
void unregister_chrdev_region(dev_t dev, unsigned int count);
void device_initialize(struct device *dev);
int dev_set_name(struct device *dev, const char *fmt, ...) __printf(2, 3);
struct device *get_device(struct device *dev);
void put_device(struct device *dev);
struct device *rig_device_create(const struct class *class, dev_t devt, const char *name);
#define device_create(class, parent, devt, data, fmt, name)	rig_device_create(class, devt, name)
void device_destroy(const struct class *class, dev_t devt);
#define cdev_alloc()		kzalloc(sizeof(struct cdev), GFP_KERNEL)
#define cdev_del(cdev)		kobject_put(&(cdev)->kobj)
#define kobject_put(object)	kfree(container_of(object, struct cdev, kobj))
int cdev_add(struct cdev *cdev, dev_t devt, unsigned int count);
void cdev_init(struct cdev *cdev, const struct file_operations *fops);
int cdev_device_add(struct cdev *cdev, struct device *dev);
void cdev_device_del(struct cdev *cdev, struct device *dev);

#endif /* _RIG_FS_H */
