// SPDX-License-Identifier: GPL-2.0
/*
 * The native fuzzer of the device: the steps and the rules of tools/fuzz on the rig, guided
 * by libFuzzer's coverage of the module.
 *
 * An input is a header and steps, each of which selects its thread. Threads of two or more users,
 * some in their own time namespaces, or all in a user namespace, run their steps concurrently on
 * shared files. At the end all files are closed and all names removed, and the next input uses the
 * same module: nothing may be left of this one.
 *
 * The options are those of libFuzzer. A file is an input to be replayed: its steps are printed. The
 * interleaving of threads is not controlled, so an input that failed by a race may have to be
 * replayed many times.
 */
#include <assert.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RIG_USER_CALLS
#include "user.h"
#include "fuzz.h"
#include "fuzz_state.h"

#define CPUS		3
#define MAX_INPUT	(sizeof(struct header) + NR_THREADS * MAX_STEPS * sizeof(struct step))
#define TICK_NS		MSEC
#define PATIENCE_MS	20000
#define TIME_OFFSET	(50 * (long long)SEC)	/* of a time namespace */
#define NO_THREAD		7
#define ROUNDS		"100"	/* of a replay */
#define MAX_SEEDS	16

/* The first bytes of an input. */
struct header {
	__u8 threads;		/* number of threads - 1; above, number of existing names */
	__u8 users;		/* bits of threads of the other user; above, in a time namespace */
	__u8 killed;		/* the thread to kill, if it exists */
	__u8 delay;		/* time until the kill, in 10 us */
	__u32 seed;		/* of the rig's jitter */
};

/* A decoded input. */
struct plan {
	struct header header;
	unsigned int names;	/* from the header */
	struct sequence sequences[NR_THREADS];
};

static_assert(NR_THREADS <= 4, "a bit for each in the header");

/* The stored inputs have failed in the past, most of them by races: they are replayed. */
static struct seed {
	size_t size;
	__u8 data[MAX_INPUT];
} seeds[MAX_SEEDS];
static unsigned int nr_seeds;

static unsigned long nr_inputs;

/* Inputs */

static unsigned int thread_of(const struct step *step)
{
	return step->slot / NR_SLOTS % NR_THREADS;
}

/* Steps of threads that do not exist or have too many steps are skipped. */
static void decode(struct plan *plan, const __u8 *data, size_t size)
{
	unsigned int threads;
	struct step step;

	memset(plan, 0, sizeof(*plan));
	plan->header.threads = 1;
	plan->header.killed = NO_THREAD;
	if (size < sizeof(plan->header))
		return;
	memcpy(&plan->header, data, sizeof(plan->header));
	plan->names = plan->header.threads / 16 % NR_NAMES;
	threads = plan->header.threads % NR_THREADS + 1;
	plan->header.threads = threads;
	data += sizeof(plan->header);
	size -= sizeof(plan->header);
	for (; size >= sizeof(step); data += sizeof(step), size -= sizeof(step)) {
		struct sequence *sequence;

		memcpy(&step, data, sizeof(step));
		sequence = &plan->sequences[thread_of(&step) % threads];
		step.kind %= NR_KINDS;
		if (sequence->nr < MAX_STEPS)
			sequence->steps[sequence->nr++] = step;
	}
}

static size_t encode(const struct plan *plan, __u8 *data, size_t space)
{
	size_t size = sizeof(plan->header);
	unsigned int i, at;

	if (space < size)
		return 0;
	memcpy(data, &plan->header, size);
	data[0] = plan->header.threads - 1 + plan->names * 16;
	for (at = 0; at < MAX_STEPS; at++) {
		for (i = 0; i < NR_THREADS; i++) {
			struct step step = plan->sequences[i].steps[at];

			if (at >= plan->sequences[i].nr || size + sizeof(step) > space)
				continue;
			step.slot = step.slot % NR_SLOTS + i * NR_SLOTS;
			memcpy(data + size, &step, sizeof(step));
			size += sizeof(step);
		}
	}
	return size;
}

/* In each second input, the threads of the other user have IDs of their own, that change. */
static unsigned int user_of(const struct header *header, unsigned int thread)
{
	if (!(header->users >> thread & 1))
		return 0;
	return header->seed & 4 ? USER + 1 + thread * 64 + (header->seed >> 8 & 63) : USER;
}

/* In each second one of these, the user namespace of USER, or of root. */
static enum fuzz_namespace namespace_of(const struct header *header)
{
	if ((header->seed & 12) != 12)
		return FUZZ_INITIAL;
	return header->seed & 16 ? FUZZ_OF_USER : FUZZ_OF_ROOT;
}

static long long offset_of(const struct header *header, unsigned int thread)
{
	if (!(header->users >> (4 + thread) & 1))
		return 0;
	return thread & 1 ? TIME_OFFSET : -TIME_OFFSET;
}

static void show_plan(const struct plan *plan)
{
	const struct header *header = &plan->header;
	unsigned int i;

	printf("%u named purgatories%s\n", plan->names,
	       namespace_of(header) ? ", in a user namespace" : "");
	for (i = 0; i < header->threads; i++) {
		printf("thread %u, user %u%s%s:\n", i, user_of(header, i),
		       offset_of(header, i) ? ", in a time namespace" : "",
		       header->killed == i ? ", killed" : "");
		tell_steps(plan->sequences[i].steps, plan->sequences[i].nr);
	}
}

/* Mutation of inputs: libFuzzer chooses the input, and the mutation keeps its structure. */

static void change_header(struct random *random, struct plan *plan)
{
	struct header *header = &plan->header;

	switch (random_below(random, 7)) {
	case 0:
		header->threads = 1 + random_below(random, NR_THREADS);
		break;
	case 1:
		header->users = random_below(random, 256);
		break;
	case 2:
		header->killed = random_below(random, 3) ? NO_THREAD :
				 random_below(random, NR_THREADS);
		header->delay = random_below(random, 256);
		break;
	case 3:
		plan->names = random_below(random, 4);
		break;
	default:
		header->seed = next_random(random);
	}
}

static struct step *some_step_of(struct random *random, struct plan *plan)
{
	struct sequence *sequence = &plan->sequences[random_below(random, plan->header.threads)];

	return &sequence->steps[random_below(random, sequence->nr)];
}

/* Few kinds of steps on one or two files: calls race with calls of the same kind. */
static void focus(struct random *random, struct plan *plan)
{
	unsigned int nr = 2 + random_below(random, 4), i, at;
	__u8 kinds[5];

	for (i = 0; i < nr; i++)
		kinds[i] = some_step_of(random, plan)->kind;
	for (i = 0; i < plan->header.threads; i++) {
		for (at = 0; at < plan->sequences[i].nr; at++) {
			struct step *step = &plan->sequences[i].steps[at];

			step->kind = kinds[random_below(random, nr)];
			if (random_below(random, 8))
				step->slot = random_below(random, 8) / 7;
		}
	}
}

static void new_plan(struct random *random, struct plan *plan)
{
	unsigned int i;

	memset(plan, 0, sizeof(*plan));
	/* At least two threads, and the first two belong to different users. */
	plan->header.threads = 2 + random_below(random, NR_THREADS - 1);
	plan->header.users = random_below(random, 64) << 2 | (1 + random_below(random, 2));
	plan->header.killed = NO_THREAD;
	plan->header.seed = next_random(random);
	plan->names = random_below(random, 4);
	for (i = 0; i < plan->header.threads; i++)
		new_sequence(random, &plan->sequences[i]);
	if (random_below(random, 2))
		focus(random, plan);
}

static void change_plan(struct random *random, struct plan *plan)
{
	struct header *header = &plan->header;
	struct sequence *sequence = &plan->sequences[random_below(random, header->threads)];

	if (!random_below(random, 6))
		change_header(random, plan);
	/* Threads with the same steps race more often. */
	if (header->threads > 1 && !random_below(random, 16))
		*sequence = plan->sequences[random_below(random, header->threads)];
	if (sequence->nr)
		change_sequence(random, sequence);
	else
		new_sequence(random, sequence);
}

size_t LLVMFuzzerCustomMutator(__u8 *data, size_t size, size_t space, unsigned int seed)
{
	static struct plan plan;
	struct random random = { .state = seed };
	unsigned int i;

	if (nr_seeds && !random_below(&random, 8)) {
		const struct seed *stored = &seeds[random_below(&random, nr_seeds)];

		if (stored->size <= space) {
			memcpy(data, stored->data, stored->size);
			return stored->size;
		}
	}
	decode(&plan, data, size);
	if (size <= sizeof(plan.header) || !random_below(&random, 8)) {
		new_plan(&random, &plan);
	} else {
		/* Sequences may be joined with sequences kept by libFuzzer. */
		for (i = 0; i < plan.header.threads; i++)
			if (plan.sequences[i].nr && !random_below(&random, 8))
				keep_sequence(&plan.sequences[i]);
		change_plan(&random, &plan);
	}
	return encode(&plan, data, space);
}

size_t LLVMFuzzerCustomCrossOver(const __u8 *one, size_t one_size, const __u8 *two,
				 size_t two_size, __u8 *out, size_t space, unsigned int seed)
{
	static struct plan plan, other;
	struct random random = { .state = seed };
	unsigned int i;

	decode(&plan, one, one_size);
	decode(&other, two, two_size);
	for (i = 0; i < other.header.threads; i++)
		if (random_below(&random, 2))
			plan.sequences[i] = other.sequences[i];
	if (plan.header.threads < other.header.threads)
		plan.header.threads = other.header.threads;
	return encode(&plan, out, space);
}

/* Threads */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int round;	/* current or last round */
	unsigned int left;	/* threads that have not finished the round */
	const struct plan *plan;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Parts of tools/fuzz that the rig does not use */
void cover_begin(struct cover *cover)
{
	(void)cover;
}

static bool is_done_here(unsigned int kind)
{
	return kind != KIND_EPOLL && kind != KIND_FORK && kind != KIND_SEND &&
	       kind != KIND_RECEIVE;
}

static void run_sequence(struct thread *t)
{
	sigjmp_buf death;
	unsigned int i;

	/* A killed thread may have taken events, and has left its arguments in memory. */
	if (sigsetjmp(death, 0)) {
		set_all_unsure();
		memset(t->memory.args, 0, 1 << _IOC_SIZEBITS);
		return;
	}
	user_enter(user_of(&pool.plan->header, t->index), offset_of(&pool.plan->header, t->index),
		   pool.plan->header.seed + t->index, &death);
	fuzz_state_namespace(namespace_of(&pool.plan->header));
	for (i = 0; i < t->now.nr; i++)
		if (is_done_here(t->now.steps[i].kind))
			run_step(t, &t->now.steps[i]);
}

static void *pool_main(void *arg)
{
	struct thread *t = arg;
	unsigned int round = 0;

	t->self = pthread_self();
	for (;;) {
		pthread_mutex_lock(&pool.lock);
		while (pool.round == round)
			pthread_cond_wait(&pool.changed, &pool.lock);
		round = pool.round;
		pthread_mutex_unlock(&pool.lock);
		if (t->index < pool.plan->header.threads)
			run_sequence(t);
		__atomic_store_n(&t->done, true, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(&pool.lock);
		pool.left--;
		pthread_cond_broadcast(&pool.changed);
		pthread_mutex_unlock(&pool.lock);
	}
	return NULL;
}

static void give_up(void)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++)
		if (!child->threads[i].done)
			failed(&child->threads[i], "thread %u does not finish", i);
	abort();
}

/* Blocking calls are interrupted after some time. */
static void disturb(const struct header *header)
{
	__u64 since = now_ns(), kill_at = since + header->delay * 10 * USEC;
	bool to_kill = header->killed < header->threads;
	unsigned int i;

	pthread_mutex_lock(&pool.lock);
	while (pool.left) {
		__u64 now = now_ns(), until = to_kill && now < kill_at ? kill_at - now : TICK_NS;
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		until = (until < TICK_NS ? until : TICK_NS) + ts.tv_nsec;
		ts.tv_sec += until / SEC;
		ts.tv_nsec = until % SEC;
		pthread_cond_timedwait(&pool.changed, &pool.lock, &ts);
		now = now_ns();
		if (to_kill && now >= kill_at) {
			user_signal(child->threads[header->killed].self, true);
			to_kill = false;
		}
		for (i = 0; i < NR_THREADS; i++)
			if (now > since + TICK_NS && !child->threads[i].done)
				user_signal(child->threads[i].self, false);
		/* Adds race with the destruction of their wheels. */
		if (header->seed & 4)
			rig_works_hurry();
		if (now > since + PATIENCE_MS * MSEC)
			give_up();
	}
	pthread_mutex_unlock(&pool.lock);
}

static const unsigned int users[] = { 0, USER };

static void make_names(const struct plan *plan)
{
	struct twheel_create_args args;
	unsigned int i;
	int fd;

	user_enter(plan->header.seed & 1 ? USER : 0, 0, 1, NULL);
	for (i = 0; i < plan->names; i++) {
		memset(&args, 0, sizeof(args));
		name_of(i, args.name);
		args.mode = 0666;
		args.uid = TWHEEL_CALLER;
		args.gid = TWHEEL_CALLER;
		fd = user_ioctl(child->control.fd, TWHEEL_IOC_CREATE, &args);
		if (fd < 0)
			failed(NULL, "creating %s: %s", args.name, strerror(errno));
		user_close(fd);
	}
}

static void start(const struct plan *plan)
{
	unsigned int i;

	user_enter(0, 0, 1, NULL);
	if (plan->header.seed & 2)
		fuzz_state_release();
	init_slots();
	make_names(plan);
	child->settling = false;
	for (i = 0; i < NR_THREADS; i++) {
		child->threads[i].now = plan->sequences[i];
		child->threads[i].step = NULL;
		child->threads[i].done = false;
	}
	pthread_mutex_lock(&pool.lock);
	pool.plan = plan;
	pool.left = NR_THREADS;
	pool.round++;
	pthread_cond_broadcast(&pool.changed);
	pthread_mutex_unlock(&pool.lock);
}

/* End of an input */

/* The module frees some objects with a delay. */
static void check_left(void)
{
	__u64 end = now_ns() + 5 * SEC;
	char text[160];

	for (;;) {
		rcu_barrier();
		if (!fuzz_state_left(text, sizeof(text)))
			return;
		if (now_ns() > end)
			break;
		usleep(200);
	}
	failed(NULL, "objects are left after closing all files: %s", text);
}

static void finish(const struct header *header)
{
	unsigned int i;

	child->settling = true;
	user_enter(0, 0, 1, NULL);
	for (i = 0; i < NR_SLOTS; i++)
		if (!(child->slots[i].gen & 1))
			settle(&child->threads[0], &child->slots[i]);
	user_exit_files();
	if (!user_remove_names())
		failed(NULL, "removing a name at the end: %s", strerror(errno));
	if (header->seed & 2)
		fuzz_state_hold(users, ARRAY_SIZE(users));
	check_left();
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static struct plan plan;

	decode(&plan, data, size);
	start(&plan);
	disturb(&plan.header);
	finish(&plan.header);
	nr_inputs++;
	if (!nr_failures() && !rig_warnings())
		return 0;
	show_plan(&plan);
	printf("fuzz: FAILURE: %lu wrong\n", nr_failures());
	fflush(stdout);
	abort();	/* libFuzzer saves the input. */
}

static void init(void)
{
	unsigned int i;

	user_memory_init();
	rig_start(CPUS, now_ns());
	/* Limits low enough to be reached by an input */
	rig_param_set("twheel", "max_pending", 40);
	rig_param_set("twheel", "max_shared_pending", 100);
	rig_param_set("twheel", "max_purgatories", 4);
	rig_param_set("twheel", "user_max_purgatories", 3);
	rig_param_set("twheel", "user_max_files", 12);
	rig_param_set("twheel", "user_max_ops", 150);
	child = calloc(1, sizeof(*child));
	if (!child || share_init() || corpus_init() || files_init() || rig_module_init("twheel"))
		exit(2);
	fuzz_state_hold(users, ARRAY_SIZE(users));
	for (i = 0; i < NR_THREADS; i++) {
		struct thread *t = &child->threads[i];

		t->index = i;
		t->fail_nth = user_open("/proc/thread-self/fail-nth", O_RDWR);
		if (memory_init(&t->memory) ||
		    pthread_create(&t->self, NULL, pool_main, t))
			exit(2);
	}
}

static size_t load(const char *path, __u8 *data)
{
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file) {
		perror(path);
		exit(2);
	}
	size = fread(data, 1, MAX_INPUT, file);
	fclose(file);
	return size;
}

static void load_seeds(void)
{
	glob_t found;

	if (glob(FUZZ_INPUTS "/*", 0, NULL, &found))
		return;
	for (; nr_seeds < found.gl_pathc && nr_seeds < MAX_SEEDS; nr_seeds++)
		seeds[nr_seeds].size = load(found.gl_pathv[nr_seeds], seeds[nr_seeds].data);
	globfree(&found);
}

/* Return: true if an argument is a file, an input to be replayed. Print its steps. */
static bool show_files(char **argv)
{
	static struct plan plan;
	__u8 data[MAX_INPUT];
	bool found = false;
	struct stat st;

	for (; *argv; argv++) {
		if (stat(*argv, &st) || !S_ISREG(st.st_mode))
			continue;
		decode(&plan, data, load(*argv, data));
		show_plan(&plan);
		found = true;
	}
	return found;
}

/* The sanitizers must exit at their first report, as libFuzzer expects. */
const char *__tsan_default_options(void)
{
	return "halt_on_error=1:report_signal_unsafe=0:second_deadlock_stack=1";
}

const char *__asan_default_options(void)
{
	return "detect_leaks=0:detect_stack_use_after_return=0";
}

/* Programs have no rings here; ring.c of the rig has some. */
void step_ring(struct thread *t)
{
	count_step(t->step->kind, false);
}

static void report(void)
{
	if (!nr_inputs)
		return;
	tell_counts();
	printf("fuzz: SUCCESS: %lu calls, %lu events, %lu inputs\n", nr_calls(), nr_events(),
	       nr_inputs);
}

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*run)(const __u8 *data, size_t size));

/* The options of the user come after these defaults, and override them. */
int main(int argc, char **argv)
{
	static char length[64];
	char *defaults[] = { argv[0], length, "-timeout=25", "-rss_limit_mb=0", "-detect_leaks=0",
			     "-len_control=0", "-handle_term=0", "-handle_int=0", "-verbosity=0",
			     "-print_funcs=0", "-max_total_time=60" };
	unsigned int nr = ARRAY_SIZE(defaults);
	char **list = calloc(nr + argc, sizeof(*list));

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(length, sizeof(length), "-max_len=%zu", MAX_INPUT);
	memcpy(list, defaults, sizeof(defaults));
	memcpy(list + nr, argv + 1, argc * sizeof(*list));
	if (show_files(argv + 1))
		list[nr - 1] = "-runs=" ROUNDS;
	else
		load_seeds();
	init();
	atexit(report);
	argc += nr - 1;
	return LLVMFuzzerRunDriver(&argc, &list, LLVMFuzzerTestOneInput);
}
