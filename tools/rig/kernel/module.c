// SPDX-License-Identifier: GPL-2.0
/*
 * Messages, warnings, text files, module parameters, and the verdict of a run.
 */
#include <linux/list.h>
#include <pthread.h>
#include <rig/mem.h>
#include <rig/seq.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../rig.h"

/* Maximum number of printed warnings; all are counted. */
#define WARNINGS_SHOWN	20

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
void __sanitizer_print_stack_trace(void);
#else
static void __sanitizer_print_stack_trace(void)
{
}
#endif

static unsigned int warnings;
static unsigned int nr_files;
int rig_module_refs;
bool rig_stop_at_warning;

int rig_printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	fflush(stdout);
	return 0;
}

bool rig_warn(const char *file, int line, const char *condition)
{
	struct rig_self *self = rig_self();

	if (__atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED) < WARNINGS_SHOWN) {
		rig_printk("WARNING: %s:%d: %s (%s, cpu %u, context %d, %d locks held)\n",
			   file, line, condition, self->task->comm, self->cpu,
			   self->context, self->atomic);
		__sanitizer_print_stack_trace();
	}
	if (rig_stop_at_warning)
		_exit(1);
	return true;
}

unsigned int rig_warnings(void)
{
	return __atomic_load_n(&warnings, __ATOMIC_RELAXED);
}

/* Report objects that a module has left behind on exit. */
static s64 left_behind(const char *name, s64 nr)
{
	if (nr)
		rig_printk("%lld %s\n", nr, name);
	return nr;
}

int rig_verdict(void)
{
	s64 left = 0;

	rcu_barrier();
	left += !!left_behind("allocations have not been freed", rig_allocated());
	left += !!left_behind("kthreads have not been stopped", rig_kthreads());
	left += !!left_behind("work items are still queued", rig_works_pending());
	left += !!left_behind("hrtimers are still armed", rig_hrtimers_armed());
	left += !!left_behind("files are still in debugfs", nr_files);
	left += !!left_behind("references to modules are held", rig_module_refs);
	left += !!left_behind("warnings", rig_warnings());
	return left != 0;
}

/* Strings */

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return min_t(int, len, size ? size - 1 : 0);
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size);

	if (!size)
		return -E2BIG;
	memcpy(to, from, min(len, size - 1));
	to[min(len, size - 1)] = 0;
	return len < size ? (ssize_t)len : -E2BIG;
}

void *memchr_inv(const void *from, int c, size_t size)
{
	const unsigned char *p = from;

	for (; size; size--, p++)
		if (*p != (unsigned char)c)
			return (void *)p;
	return NULL;
}

/* Text files */

struct dentry {
	char name[64];
	struct dentry *parent;
	int (*show)(struct seq_file *file, void *unused);
	struct list_head entry;
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(files);

/* If the text does not fit, the file is full, as in the kernel: the reader retries. */
void seq_printf(struct seq_file *file, const char *fmt, ...)
{
	size_t room = file->size - file->count;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(file->buf + file->count, room, fmt, args);
	va_end(args);
	file->count += min_t(size_t, len, room);
}

void seq_puts(struct seq_file *file, const char *text)
{
	seq_printf(file, "%s", text);
}

void seq_putc(struct seq_file *file, char c)
{
	seq_printf(file, "%c", c);
}

static struct dentry *dentry_create(const char *name, struct dentry *parent,
				    int (*show)(struct seq_file *file, void *unused))
{
	struct dentry *dentry = calloc(1, sizeof(*dentry));

	if (!dentry)
		abort();
	strscpy(dentry->name, name, sizeof(dentry->name));
	dentry->parent = parent;
	dentry->show = show;
	pthread_mutex_lock(&files_lock);
	list_add(&dentry->entry, &files);
	nr_files++;
	pthread_mutex_unlock(&files_lock);
	return dentry;
}

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent)
{
	return dentry_create(name, parent, NULL);
}

/* The first member of the operations of such a file is its show function; see fs.h. */
struct dentry *debugfs_create_file(const char *name, umode_t mode, struct dentry *parent,
				   void *data, const struct file_operations *fops)
{
	int (* const *show)(struct seq_file *file, void *unused) = (const void *)fops;

	return dentry_create(name, parent, *show);
}

static void dentry_free(struct dentry *dentry)
{
	list_del(&dentry->entry);
	nr_files--;
	free(dentry);
}

/* Removes the files of a directory, too. Directories have no subdirectories. */
void debugfs_remove(struct dentry *dentry)
{
	struct dentry *child, *next;

	if (!dentry)
		return;
	pthread_mutex_lock(&files_lock);
	list_for_each_entry_safe(child, next, &files, entry)
		if (child->parent == dentry)
			dentry_free(child);
	dentry_free(dentry);
	pthread_mutex_unlock(&files_lock);
}

static struct dentry *dentry_find(const char *name)
{
	struct dentry *dentry;

	list_for_each_entry(dentry, &files, entry)
		if (dentry->show && !strcmp(dentry->name, name))
			return dentry;
	return NULL;
}

ssize_t rig_debugfs_read(const char *name, char *buf, size_t size)
{
	struct seq_file file = { .buf = buf, .size = size };
	struct dentry *dentry;
	ssize_t ret = -ENOENT;

	pthread_mutex_lock(&files_lock);
	dentry = dentry_find(name);
	if (dentry)
		ret = dentry->show(&file, NULL) ?: (ssize_t)file.count;
	pthread_mutex_unlock(&files_lock);
	return ret;
}

/* Modules */

static struct rig_module *modules;
static struct rig_param *params;

void rig_module_register(struct rig_module *module)
{
	module->next = modules;
	modules = module;
}

void rig_param_register(struct rig_param *param)
{
	param->next = params;
	params = param;
}

static struct rig_module *module_find(const char *name)
{
	struct rig_module *module;

	for (module = modules; module; module = module->next)
		if (!strcmp(module->name, name))
			return module;
	fprintf(stderr, "no module %s\n", name);
	exit(2);
}

static struct rig_param *param_find(const char *module, const char *name)
{
	struct rig_param *param;

	for (param = params; param; param = param->next)
		if (!strcmp(param->module, module) && !strcmp(param->name, name))
			break;
	return param;
}

/* Parameters are unsigned, and little endian. Return: false if there is no such parameter. */
bool rig_param_get(const char *module, const char *name, unsigned long *value)
{
	struct rig_param *param = param_find(module, name);

	if (!param)
		return false;
	*value = 0;
	memcpy(value, param->value, param->size);
	return true;
}

void rig_param_set(const char *module, const char *name, unsigned long value)
{
	struct rig_param *param = param_find(module, name);

	if (!param) {
		fprintf(stderr, "%s has no parameter %s\n", module, name);
		exit(2);
	}
	memcpy(param->value, &value, param->size);
}

int rig_module_init(const char *name)
{
	return module_find(name)->init();
}

void rig_module_exit(const char *name)
{
	struct rig_module *module = module_find(name);

	if (module->exit)
		module->exit();
}
