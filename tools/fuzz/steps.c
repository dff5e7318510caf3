// SPDX-License-Identifier: GPL-2.0
/*
 * Steps other than ioctls of the device: waiting, signals, forks, the realtime clock, and all
 * other system calls on its files.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

void step_poll(struct thread *t)
{
	struct view view = look_at(t);
	struct pollfd fds[2] = {
		{ .fd = view.fd, .events = POLLIN | POLLRDNORM | POLLPRI },
		{ .fd = child->slots[draw(t, NR_SLOTS)].fd, .events = POLLIN | POLLOUT },
	};
	int got = poll(fds, 2, draw(t, 3));
	/* In this order, see same_file(). */
	bool at_end = may_be_at_end(&view);
	bool same = same_file(&view);

	count_step(t->step->kind, got >= 0);
	if (got > 0 && same && view.type != FILE_CONTROL &&
	    (fds[0].revents & (POLLERR | POLLNVAL | POLLPRI) ||
	     (fds[0].revents & POLLHUP && !at_end)))
		failed(t, "poll returned %x", fds[0].revents);
}

void step_epoll(struct thread *t)
{
	static const int ops[] = { EPOLL_CTL_ADD, EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL };
	static const unsigned int extra[] = { 0, EPOLLET, EPOLLONESHOT, EPOLLEXCLUSIVE };
	struct view view = look_at(t);
	struct epoll_event event = { .events = EPOLLIN | extra[draw(t, 4)] };
	struct epoll_event events[4];

	if (draw(t, 2))
		epoll_ctl(t->epoll, ops[draw(t, 4)], view.fd, &event);
	count_step(t->step->kind, epoll_wait(t->epoll, events, 4, draw(t, 3)) >= 0);
}

void step_fcntl(struct thread *t)
{
	struct view view = look_at(t);
	int one = !one_in(t, 8), done;

	if (draw(t, 2))
		done = ioctl(view.fd, FIONBIO, &one);
	else
		done = fcntl(view.fd, F_SETFL, one_in(t, 8) ? 0 : O_NONBLOCK);
	count_step(t->step->kind, !done);
}

/* Steps of the child's child, which keeps all files open even if its parent is killed. */
static void run_forked(struct thread *t)
{
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(2);
	/* Descriptors and memory were not copied atomically. */
	child->is_fork = true;
	/* Not the pipe of the parent: this process may be killed when it has written to it. */
	if (pipe(t->memory.pipe))
		_exit(1);
	t->fail_nth = -1;
	t->cover.area = NULL;
	for (i = 0; i < 4; i++) {
		struct step step = *t->step;

		step.kind = one_in(t, 2) ? KIND_READ : TWHEEL_CALL_ADD;
		step.slot = random_below(&t->detail, NR_SLOTS);
		step.seed = next_random(&t->detail);
		run_step(t, &step);
	}
	_exit(0);
}

void step_fork(struct thread *t)
{
	pid_t pid;

	__atomic_store_n(&child->forked, true, __ATOMIC_SEQ_CST);
	pid = fork();
	count_step(t->step->kind, pid >= 0);
	if (pid < 0)
		return;
	if (!pid)
		run_forked(t);
	usleep(random_below(&t->detail, 3000));
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Move the realtime clock slightly, forward or backward. */
void step_clock(struct thread *t)
{
	struct timex step = {
		.modes = ADJ_SETOFFSET | ADJ_NANO,
		.time = { .tv_usec = random_below(&t->detail, 20 * MSEC) },
	};

	if (one_in(t, 2))
		step.time.tv_sec = -1;
	count_step(t->step->kind, adjtimex(&step) >= 0);
}

void step_misc(struct thread *t)
{
	struct view view = look_at(t);
	struct stat st;
	long got = -1;

	switch (draw(t, 7)) {
	case 0:
		got = lseek(view.fd, draw(t, 8), SEEK_SET);
		break;
	case 1:
		got = write(view.fd, t->memory.out, sizeof(struct twheel_event));
		break;
	case 2:
		got = pread(view.fd, t->memory.out, sizeof(struct twheel_event), draw(t, 8));
		break;
	case 3:
		got = fsync(view.fd);
		break;
	case 4:
		got = ftruncate(view.fd, 0);
		break;
	case 5:
		if (one_in(t, 2))
			got = splice(view.fd, NULL, t->memory.pipe[1], NULL, 4096,
				     SPLICE_F_NONBLOCK);
		else
			got = sendfile(t->memory.pipe[1], view.fd, NULL, 4096);
		break;
	default:
		fstat(view.fd, &st);
		return;
	}
	count_step(t->step->kind, got >= 0);
	if (got >= 0 && view.fd >= 0 && same_file(&view))
		failed(t, "a write, seek or splice of the device succeeded");
}

/* Most words are those of a program that raises; some are rubbish. */
static __u64 some_word(struct thread *t, __u64 word)
{
	__u64 more = random_below(&t->detail, 100);	/* units of 65.5 us */

	switch (draw(t, 8)) {
	case 0:
		return draw_wide(t);
	case 1:
		return word ^ 1ULL << random_below(&t->detail, 64);
	case 2:
	case 3:
		return word | TWHEEL_CELL_IDLE;
	case 4:
		return (word + TWHEEL_CELL_TIME + 1 + more) &
		       (TWHEEL_CELL_LIFE | TWHEEL_CELL_TIME);
	default:
		return word + more;
	}
}

/* Add an operation to the file of this step. A few of them have cells. */
static void add_some_op(struct thread *t)
{
	const struct step *step = t->step;
	struct step add = { .kind = TWHEEL_CALL_ADD, .slot = step->slot };
	__u64 bytes = next_random(&t->detail);

	memcpy(add.arg, &bytes, sizeof(add.arg));
	add.seed = next_random(&t->detail);
	run_step(t, &add);
	t->step = step;
}

/* An operation with a cell: by chance, nearly all exchanges would fail. */
static __u64 id_with_cell(struct thread *t, const struct view *view, __u32 *number)
{
	struct twheel_pending pending[32];
	unsigned int tries;

	for (tries = 0; tries < 16; tries++) {
		struct twheel_list_args list = {
			.entries = (uintptr_t)pending,
			.max_entries = ARRAY_SIZE(pending),
			.entry_size = sizeof(*pending),
		};

		ioctl(view->fd, TWHEEL_IOC_LIST, &list);
		while (list.nr--)
			if (pending[list.nr].flags & TWHEEL_PENDING_CELL) {
				*number = pending[list.nr].cell;
				return pending[list.nr].id;
			}
		add_some_op(t);
	}
	return some_id(t, view);
}

/* Change words of a file as programs do, while its calls and the kernel use them. */
void step_store(struct thread *t)
{
	struct view view = look_at(t);
	struct twheel_cells_args nr = { .nr = NR_CELLS };
	__u32 number = NR_CELLS;
	__u64 *cells, id;
	unsigned int n;

	ioctl(view.fd, TWHEEL_IOC_CELLS, &nr);
	cells = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, view.fd, 0);
	count_step(t->step->kind, cells != MAP_FAILED);
	if (cells == MAP_FAILED)
		return;
	id = id_with_cell(t, &view, &number);
	for (n = 1 + draw(t, 64); n; n--) {
		__u64 *cell = &cells[number < NR_CELLS && one_in(t, 2) ? number :
				     random_below(&t->detail, NR_CELLS)];
		__u64 word = __atomic_load_n(cell, __ATOMIC_RELAXED);
		__u64 next = some_word(t, word);
		struct twheel_exchange_args args = {
			.id = id, .from = word,
			.to = (next & ~TWHEEL_CELL_IDLE) - random_below(&t->detail, 4),
		};

		if (one_in(t, 3))
			count_step(TWHEEL_CALL_EXCHANGE,
				   !ioctl(view.fd, TWHEEL_IOC_EXCHANGE, &args));
		else
			__atomic_compare_exchange_n(cell, &word, next, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
	}
	munmap(cells, 4096);
}

static void read_path(struct thread *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	if (fd >= 0) {
		got = read(fd, t->memory.out, 4096);
		close(fd);
	}
	count_step(t->step->kind, got >= 0);
}

/* Read the text descriptions of a file or of a purgatory. */
void step_look(struct thread *t)
{
	static const char * const attributes[] = {
		"max_pending", "max_file_pending", "max_watches", "max_queue",
	};
	struct view view = look_at(t);
	char path[128];

	if (draw(t, 2)) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", view.fd);
	} else {
		unsigned int name = draw(t, NR_NAMES);

		snprintf(path, sizeof(path), "/sys/class/twheel/twheel-f%u/%s", name,
			 attributes[draw(t, ARRAY_SIZE(attributes))]);
	}
	read_path(t, path);
	if (one_in(t, 8))
		read_path(t, draw(t, 2) ? "/sys/kernel/debug/twheel/wheels" :
					   "/sys/kernel/debug/twheel/counts");
}
