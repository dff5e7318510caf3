// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's files and system calls, the thread that expires operations, and the purgatory of
 * TWHEEL_FAKE_PURGATORY. See fake.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

#define NODE		"/dev/twheel"
#define MAX_FILES	1024
#define PIPE_SIZE	1048576	/* 16384 events */
#define MAX_CELLS	1048576
#define DAY		86400000000000ULL

#define MAX_SHARED_PENDING	1048576

union fake_args {
	TWHEEL_ARGS
};

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fake_cond;
static struct fake_file *files[MAX_FILES];
static struct fake_purgatory *named;
static unsigned long wakes;

static int (*real_open)(const char *path, int flags, ...);
static int (*real_ioctl)(int fd, unsigned long request, ...);
static int (*real_close)(int fd);
static void *(*real_mmap)(void *at, size_t size, int prot, int flags, int fd, off_t offset);

/* Waits for the next deadline or fake_wake(). The caller holds the lock. */
static void wait_for_expiry(void)
{
	uint64_t ns = fake_next_expiry();
	unsigned long before = wakes;
	struct timespec ts;

	if (ns == TWHEEL_NEVER) {
		while (wakes == before)
			pthread_cond_wait(&fake_cond, &fake_lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ns += ts.tv_nsec;
	ts.tv_sec += ns / 1000000000;
	ts.tv_nsec = ns % 1000000000;
	while (wakes == before)
		if (pthread_cond_timedwait(&fake_cond, &fake_lock, &ts))
			return;
}

static void *expirer(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&fake_lock);
	for (;;) {
		fake_expire();
		wait_for_expiry();
	}
	return NULL;
}

void fake_wake(void)
{
	static pthread_t thread;

	if (!thread && pthread_create(&thread, NULL, expirer, NULL))
		abort();
	wakes++;
	pthread_cond_signal(&fake_cond);
}

static void lock_for_fork(void)
{
	pthread_mutex_lock(&fake_lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&fake_lock);
}

__attribute__((constructor)) static void fake_init(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fake_cond, &attr);
	/* A child has no thread that would unlock the lock. */
	pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
	real_open = dlsym(RTLD_NEXT, "open");
	real_ioctl = dlsym(RTLD_NEXT, "ioctl");
	real_close = dlsym(RTLD_NEXT, "close");
	real_mmap = dlsym(RTLD_NEXT, "mmap");
}

void fake_send(const struct fake_op *op, const struct twheel_event *event)
{
	if (write(op->file->other_end, event, sizeof(*event)) == sizeof(*event))
		return;
	perror("the fake's queue is full");
	abort();
}

static struct fake_purgatory *find_purgatory(const char *name)
{
	struct fake_purgatory *purgatory = named;

	while (purgatory && strcmp(purgatory->counts.name, name))
		purgatory = purgatory->next;
	if (!purgatory)
		errno = ENOENT;
	return purgatory;
}

/* A file of @purgatory, NULL for the control node. Return: its descriptor. */
static int new_file(struct fake_purgatory *purgatory, int flags)
{
	/* O_RDONLY, O_WRONLY and O_RDWR are 0, 1 and 2. */
	unsigned int mode = (flags & O_ACCMODE) + 1, own = mode == 2;
	struct fake_file *file;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	if (ends[own] >= MAX_FILES)
		abort();
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	fcntl(ends[own], F_SETFL, flags & O_NONBLOCK);
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
	file = calloc(1, sizeof(*file));
	file->purgatory = purgatory;
	file->mode = mode;
	file->other_end = ends[!own];
	file->cells_fd = -1;
	files[ends[own]] = file;
	if (purgatory)
		purgatory->counts.files++;
	return ends[own];
}

static void close_other_end(struct fake_file *file)
{
	if (file->other_end >= 0)
		real_close(file->other_end);
	file->other_end = -1;
}

/* After the last event read() returns 0. */
static void drain(struct fake_file *file, unsigned int *cancelled)
{
	*cancelled = file->drained ? 0 :
		     fake_end_all(file->purgatory, file, NULL, TWHEEL_REASON_CANCELLED, 0, 0);
	file->drained = true;
	close_other_end(file);
}

static int call_cells(struct fake_file *file, struct twheel_cells_args *args)
{
	const uint32_t page = sysconf(_SC_PAGESIZE) / sizeof(*file->cells);
	uint32_t nr = (args->nr + page - 1) / page * page;
	size_t size = nr * sizeof(*file->cells);

	if (file->cells ? nr > file->nr_cells : args->nr > MAX_CELLS)
		return fake_refuse(file->cells ? EBUSY : EINVAL);
	if (nr && !file->cells) {
		file->cells_fd = memfd_create("cells", MFD_CLOEXEC);
		if (file->cells_fd < 0 || ftruncate(file->cells_fd, size))
			abort();
		file->cells = real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
					file->cells_fd, 0);
		file->nr_cells = nr;
	}
	args->nr = file->nr_cells;
	args->monotonic_offset = 0;
	args->boottime_offset = 0;
	return 0;
}

/* The queue has one descriptor at a time. */
static int open_events(struct fake_file *file, const struct twheel_events_args *args)
{
	struct fake_purgatory *purgatory = file->purgatory;
	int fd;

	if (!purgatory->detached)
		return fake_refuse(EINVAL);
	/* The read end is the number of the file in the table. */
	for (fd = 0; files[fd] != purgatory->detached; fd++)
		;
	fcntl(fd, F_SETFL, args->flags & O_NONBLOCK);
	return fd;
}

static int create(const struct twheel_create_args *args)
{
	struct fake_purgatory *purgatory;

	if (args->max_pending > MAX_SHARED_PENDING)
		return fake_refuse(EINVAL);
	if (find_purgatory(args->name))
		return fake_refuse(EEXIST);
	purgatory = calloc(1, sizeof(*purgatory));
	memcpy(purgatory->counts.name, args->name, sizeof(args->name));
	purgatory->counts.max_pending = args->max_pending;
	purgatory->next = named;
	named = purgatory;
	purgatory->detached = files[new_file(purgatory, O_RDONLY)];
	purgatory->counts.files = 0;
	return new_file(purgatory, O_RDWR);
}

static int remove_purgatory(struct twheel_remove_args *args)
{
	struct fake_purgatory *purgatory = find_purgatory(args->name), **at = &named;
	unsigned int fd;

	if (!purgatory)
		return -1;
	if (purgatory->counts.files && !(args->flags & TWHEEL_REMOVE_FORCE))
		return fake_refuse(EBUSY);
	while (*at != purgatory)
		at = &(*at)->next;
	*at = purgatory->next;
	args->cancelled = fake_end_all(purgatory, NULL, NULL, TWHEEL_REASON_CANCELLED, 0, 0);
	for (fd = 0; fd < MAX_FILES; fd++) {
		if (!files[fd] || files[fd]->purgatory != purgatory)
			continue;
		files[fd]->drained = true;
		close_other_end(files[fd]);
	}
	return 0;
}

/* Return: NULL with errno if the node, a restricted file, or a batch cannot make the call. */
static const struct twheel_call_row *allowed(const struct fake_file *file, unsigned int call,
					     bool batch)
{
	const struct twheel_call_row *row = &twheel_calls[call];

	if (call >= sizeof(twheel_calls) / sizeof(*row) || !row->name ||
	    row->control == !!file->purgatory || (batch && !row->batch) ||
	    row->events != (file->purgatory && file == file->purgatory->detached))
		errno = ENOTTY;
	else if (row->mode & ~file->mode)
		errno = EBADF;
	else if (file->taken & row->right)
		errno = EPERM;
	else
		return row;
	return NULL;
}

/* Copy the structure of a call, with the size of the caller. */
static void copy_args(union fake_args *to, const void *from, unsigned int cmd)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, _IOC_SIZE(cmd) < sizeof(*to) ? _IOC_SIZE(cmd) : sizeof(*to));
}

static int run_batch(struct fake_file *file, struct twheel_batch_args *args)
{
	const char *at = (void *)(uintptr_t)args->commands;
	struct twheel_result *results = (void *)(uintptr_t)args->results;

	args->failed = 0;
	for (args->done = 0; args->done < args->nr; args->done++) {
		const struct twheel_command *command = (const void *)at;
		unsigned int call = _IOC_NR(command->cmd);
		const struct twheel_call_row *row = allowed(file, call, true);
		struct twheel_result result = { .error = 0 };
		union fake_args copy;

		copy_args(&copy, command + 1, command->cmd);
		if (!row || fake_call(file, call, &copy))
			result.error = -errno;
		else
			memcpy(&result.value, (char *)&copy + row->out, row->out_end - row->out);
		at += TWHEEL_COMMAND_SIZE(command->cmd);
		results[args->done] = result;
		args->failed += result.error != 0;
		if (result.error && args->flags & TWHEEL_BATCH_STOP) {
			args->done++;
			break;
		}
	}
	return 0;
}

static void query(const struct fake_purgatory *purgatory, struct twheel_query_args *args)
{
	int bytes = 0;

	*args = purgatory->counts;
	args->detached = fake_pending(purgatory->detached);
	if (purgatory->detached && purgatory->detached->other_end >= 0)
		real_ioctl(purgatory->detached->other_end, FIONREAD, &bytes);
	args->detached_unread = bytes / sizeof(struct twheel_event);
}

/* A named purgatory has queue 0 only. */
static int queue(const struct fake_purgatory *purgatory, struct twheel_queue_args *args)
{
	struct twheel_query_args counts;

	if (!purgatory->detached || args->queue)
		return fake_refuse(ENOENT);
	query(purgatory, &counts);
	args->pending = counts.detached;
	args->unread = counts.detached_unread;
	args->ops = args->pending + args->unread;
	return 0;
}

static int call_file(struct fake_file *file, unsigned int call, void *args)
{
	struct twheel_complete_all_args *all = args;
	struct twheel_drain_args *drained = args;

	switch (call) {
	case TWHEEL_CALL_BATCH:
		return run_batch(file, args);
	case TWHEEL_CALL_COMPLETE_ALL:
		all->completed = fake_end_all(file->purgatory,
					      all->flags & TWHEEL_COMPLETE_OTHERS ? NULL : file,
					      NULL, TWHEEL_REASON_COMPLETED, all->value,
					      all->error);
		return 0;
	case TWHEEL_CALL_DRAIN:
		drain(file, &drained->cancelled);
		return 0;
	case TWHEEL_CALL_EVENTS:
		return open_events(file, args);
	case TWHEEL_CALL_CELLS:
		return call_cells(file, args);
	case TWHEEL_CALL_CONFIRM:
		return 0;
	case TWHEEL_CALL_RESTRICT:
		file->taken |= ~((struct twheel_restrict_args *)args)->rights;
		return 0;
	case TWHEEL_CALL_CREATE:
		return create(args);
	case TWHEEL_CALL_REMOVE:
		return remove_purgatory(args);
	case TWHEEL_CALL_QUERY:
		query(file->purgatory, args);
		return 0;
	case TWHEEL_CALL_QUEUE:
		return queue(file->purgatory, args);
	default:
		return fake_call(file, call, args);
	}
}

static struct fake_file *file_of(int fd)
{
	return fd >= 0 && fd < MAX_FILES ? files[fd] : NULL;
}

int ioctl(int fd, unsigned long request, ...)
{
	union fake_args copy;
	struct fake_file *file;
	int status = -1;
	va_list ap;
	void *args;

	va_start(ap, request);
	args = va_arg(ap, void *);
	va_end(ap);
	pthread_mutex_lock(&fake_lock);
	/* Calls that are not of the device, such as FIONBIO, are for the pipe. */
	file = _IOC_TYPE(request) == TWHEEL_IOC_MAGIC ? file_of(fd) : NULL;
	if (!file) {
		pthread_mutex_unlock(&fake_lock);
		return real_ioctl(fd, request, args);
	}
	if (allowed(file, _IOC_NR(request), false)) {
		copy_args(&copy, args, request);
		status = call_file(file, _IOC_NR(request), &copy);
		memcpy(args, &copy, _IOC_SIZE(request));
	}
	pthread_mutex_unlock(&fake_lock);
	return status;
}

/* The cells of a file, which a child of fork() has to map itself. */
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	struct fake_file *file = NULL;
	void *cells;

	/* A constructor of another library may need memory first. */
	if (!real_mmap)
		real_mmap = dlsym(RTLD_NEXT, "mmap");
	if (fd >= 0) {
		pthread_mutex_lock(&fake_lock);
		file = file_of(fd);
		fd = file ? file->cells_fd : fd;
		pthread_mutex_unlock(&fake_lock);
	}
	cells = real_mmap(at, size, prot, flags, fd, offset);
	if (file && cells != MAP_FAILED)
		madvise(cells, size, MADV_DONTFORK);
	return cells;
}

static int open_node(const char *name, int flags)
{
	struct fake_purgatory *purgatory;

	if (!strcmp(name, "-control"))
		return new_file(NULL, flags);
	purgatory = name[0] ? find_purgatory(name + 1) : calloc(1, sizeof(*purgatory));
	return purgatory ? new_file(purgatory, flags) : -1;
}

/* Return: the id of a detached operation with up to three keys. */
static uint64_t add_detached(struct fake_file *file, struct twheel_add_args args, const char *keys)
{
	struct twheel_watch_spec specs[3] = { };

	for (; keys[args.nr_keys]; args.nr_keys++)
		memcpy(&specs[args.nr_keys].key, &keys[args.nr_keys], 1);
	args.keys = (uintptr_t)specs;
	args.key_size = args.nr_keys ? sizeof(*specs) : 0;
	args.flags |= TWHEEL_ADD_DETACHED;
	if (fake_call(file, TWHEEL_CALL_ADD, &args))
		abort();
	return args.id;
}

static void add_ended(struct fake_file *file)
{
	struct twheel_add_args never = { .deadline = TWHEEL_NEVER };
	struct twheel_complete_args failed = { .error = -EIO }, completed = { .value = 7 };

	completed.id = add_detached(file, never, "");
	fake_call(file, TWHEEL_CALL_COMPLETE, &completed);
	failed.id = add_detached(file, never, "");
	fake_call(file, TWHEEL_CALL_COMPLETE, &failed);
	add_detached(file, (struct twheel_add_args){ .cookie = 1ULL << 63 }, "");
	fake_expire();
	add_detached(file, never, "");
	fake_end_all(file->purgatory, NULL, NULL, TWHEEL_REASON_CANCELLED, 0, 0);
}

static void add_pending(struct fake_file *file)
{
	add_detached(file, (struct twheel_add_args){
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
	}, "k");
	add_detached(file, (struct twheel_add_args){
		.deadline = 24 * DAY, .condition = TWHEEL_COND_QUORUM, .quorum = 2,
	}, "abc");
	add_detached(file, (struct twheel_add_args){
		.deadline = DAY, .period = DAY, .runs = 3, .clock = CLOCK_BOOTTIME,
	}, "");
}

/*
 * Called at the first open of a node: before main(), the descriptors could get the numbers of
 * missing standard files.
 */
static void create_at_first_open(void)
{
	struct twheel_create_args args = { };
	const char *name = getenv("TWHEEL_FAKE_PURGATORY");
	int fd;

	if (!name)
		return;
	snprintf(args.name, sizeof(args.name), "%s", name);
	pthread_mutex_lock(&fake_lock);
	fd = create(&args);
	if (fd < 0)
		abort();
	add_ended(files[fd]);
	add_pending(files[fd]);
	pthread_mutex_unlock(&fake_lock);
	close(fd);
}

static int open_path(const char *path, int flags, unsigned int mode)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int fd;

	if (strncmp(path, NODE, strlen(NODE)))
		return real_open(path, flags, mode);
	pthread_once(&once, create_at_first_open);
	pthread_mutex_lock(&fake_lock);
	fd = open_node(path + strlen(NODE), flags);
	pthread_mutex_unlock(&fake_lock);
	return fd;
}

int open(const char *path, int flags, ...)
{
	unsigned int mode;
	va_list ap;

	va_start(ap, flags);
	mode = va_arg(ap, unsigned int);
	va_end(ap);
	return open_path(path, flags, mode);
}

/* open() with two arguments, in programs that are built with _FORTIFY_SOURCE */
int __open_2(const char *path, int flags)
{
	return open_path(path, flags, 0);
}

/* The queue of the detached events lives as long as its purgatory. */
int close(int fd)
{
	struct fake_file *file;

	pthread_mutex_lock(&fake_lock);
	file = file_of(fd);
	if (file && file->purgatory && file == file->purgatory->detached) {
		pthread_mutex_unlock(&fake_lock);
		return 0;
	}
	if (file) {
		if (file->purgatory) {
			fake_forget(file);
			file->purgatory->counts.files--;
		}
		close_other_end(file);
		if (file->cells) {
			munmap(file->cells, file->nr_cells * sizeof(*file->cells));
			real_close(file->cells_fd);
		}
		files[fd] = NULL;
		free(file);
	}
	pthread_mutex_unlock(&fake_lock);
	return real_close(fd);
}
