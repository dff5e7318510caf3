// SPDX-License-Identifier: GPL-2.0
/* Partitions: see partition.h. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "partition.h"
#include "waiting.h"

/* A place that changes by a single store: the other slot is written first. */
struct shared_place {
	struct place slots[2];
	unsigned int current;
};

struct replica {
	struct shared_place end;
	int64_t target;		/* end of the leader's log at the last fetch */
	bool in_sync;
	struct wait lease;
};

/* @lock protects all fields, and the writes to the log. */
struct partition {
	pthread_mutex_t lock;
	struct shared_place end;
	struct shared_place high;
	struct replica replicas[MAX_NODES];
};

static struct partition *partitions;
static struct log logs[MAX_PARTITIONS];

static void log_cut(struct log *log, struct place end)
{
	if (ftruncate(log->fd, end.position))
		warn("%s", log->path);
}

static bool log_write(struct log *log, struct place end, const uint8_t *data, size_t len)
{
	/* Writes to a file are not interrupted, so a short one is an error, too. */
	if (end.position + len > LOG_MAX)
		errno = EFBIG;
	else if (pwrite(log->fd, data, len, end.position) == (ssize_t)len)
		return true;
	warn("%s", log->path);
	/* The next batch may be shorter. */
	log_cut(log, end);
	return false;
}

/*
 * Open a log and find its end. A last batch that is longer than the file was not written
 * completely, and is cut. Anything else that is not valid is damage, and the program exits: the log
 * may be the only one that has the batches after it.
 */
static void log_open(struct log *log, const char *path, struct place *end)
{
	struct batch batch;
	size_t rest;
	off_t len;

	*end = (struct place){ };
	*log = (struct log){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) };
	if (log->fd < 0)
		err(1, "%s", path);
	snprintf(log->path, sizeof(log->path), "%s", path);
	/* The workers keep the lock until the last one has exited, also after a killed broker. */
	for (int tries = 0; flock(log->fd, LOCK_EX | LOCK_NB); tries++) {
		if (tries == 100)
			errx(1, "another broker uses %s", path);
		usleep(10000);
	}
	len = lseek(log->fd, 0, SEEK_END);
	log->data = mmap(NULL, LOG_MAX, PROT_READ, MAP_SHARED, log->fd, 0);
	if (log->data == MAP_FAILED || len > (off_t)LOG_MAX)
		errx(1, "%s cannot be mapped", path);
	rest = len - batches_valid(log->data, len, end);
	if (!rest)
		return;
	if (batch_check(log->data + end->position, rest, &batch) != BATCH_SHORT)
		errx(1, "%s: the batch at byte %" PRIu64 " is damaged; the log is kept", path,
		     end->position);
	warnx("%s: %zu bytes of an incomplete batch are cut", path, rest);
	log_cut(log, *end);
}

struct place log_find(struct log *log, struct place end, int64_t offset)
{
	struct place place = { }, next;

	if (offset >= end.offset)
		return end;
	if (log->found.offset <= offset)
		place = log->found;
	for (;; place = next) {
		struct batch batch = batch_header(log->data + place.position);

		next.offset = place.offset + batch.records;
		next.position = place.position + batch.size;
		if (next.offset > offset)
			return log->found = place;
	}
}

static struct place get_place(const struct shared_place *shared)
{
	return shared->slots[shared->current];
}

static void set_place(struct shared_place *shared, struct place place)
{
	unsigned int next = !shared->current;

	shared->slots[next] = place;
	__atomic_store_n(&shared->current, next, __ATOMIC_RELEASE);
}

static struct partition *lock(int number)
{
	struct partition *partition = &partitions[number];

	/* The last owner was killed: its batch may be incomplete. */
	if (pthread_mutex_lock(&partition->lock) == EOWNERDEAD) {
		if (is_replica(config.partitions[number]))
			log_cut(&logs[number], get_place(&partition->end));
		pthread_mutex_consistent(&partition->lock);
	}
	return partition;
}

void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "shared memory");
	return memory;
}

void shared_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(lock, &attributes);
}

struct log *partition_log(int number)
{
	return &logs[number];
}

struct state partition_state(int number)
{
	const struct topic *topic = config.partitions[number];
	struct partition *partition = lock(number);
	struct state state = {
		.end = get_place(&partition->end),
		.high = get_place(&partition->high),
	};

	for (int i = 0; i < topic->nr_replicas; i++) {
		state.in_sync[i] = !i || partition->replicas[i].in_sync;
		state.nr_in_sync += state.in_sync[i];
	}
	pthread_mutex_unlock(&partition->lock);
	return state;
}

static void advance_high(int number)
{
	struct partition *partition = &partitions[number];
	struct place old = get_place(&partition->high), high = get_place(&partition->end);

	for (int i = 0; i < MAX_NODES; i++) {
		const struct replica *replica = &partition->replicas[i];

		if (replica->in_sync && get_place(&replica->end).offset < high.offset)
			high = get_place(&replica->end);
	}
	/* A follower has the high watermark of its leader. */
	if (!leads(config.partitions[number]) || high.offset <= old.offset)
		return;
	set_place(&partition->high, high);
	wait_signal(WAIT_ACKS, number, high.offset - old.offset);
	wait_signal(WAIT_READ, number, high.position - old.position);
}

int64_t partition_append(int number, uint8_t *data, const struct batch *batch)
{
	struct partition *partition = lock(number);
	struct place end = get_place(&partition->end);
	int64_t base = end.offset;

	batch_set_base(data, base);
	if (end.offset <= INT64_MAX - batch->records &&
	    log_write(&logs[number], end, data, batch->size)) {
		end.offset += batch->records;
		end.position += batch->size;
		set_place(&partition->end, end);
		wait_signal(WAIT_COPY, number, batch->size);
		advance_high(number);
	} else {
		base = -1;
	}
	pthread_mutex_unlock(&partition->lock);
	return base;
}

bool partition_copy(int number, const uint8_t *data, size_t len, int64_t high)
{
	struct partition *partition = lock(number);
	struct place old = get_place(&partition->end), end = old;
	bool ok = batches_valid(data, len, &end) == len && log_write(&logs[number], old, data, len);

	if (ok) {
		set_place(&partition->end, end);
		/* Nothing reads this place, so its position may be that of the end. */
		end.offset = MIN(high, end.offset);
		set_place(&partition->high, end);
	}
	pthread_mutex_unlock(&partition->lock);
	return ok;
}

static void set_in_sync(int number, struct replica *replica, bool in_sync)
{
	int i = replica - partitions[number].replicas;

	if (replica->in_sync != in_sync)
		warnx("replica %d of %s is %sin sync", config.partitions[number]->replicas[i],
		      logs[number].path, in_sync ? "" : "not ");
	replica->in_sync = in_sync;
	advance_high(number);
}

static uint64_t lease_end(void)
{
	return now_ns() + config.max_lag_ms * NS_PER_MS;
}

bool partition_followed(int number, int node, struct place place)
{
	int i = topic_replica(config.partitions[number], node);
	struct partition *partition;
	struct replica *replica;
	bool in_sync;

	if (i < 0 || node == config.self->id)
		return false;
	partition = lock(number);
	replica = &partition->replicas[i];
	set_place(&replica->end, place);
	in_sync = replica->in_sync || place.offset >= get_place(&partition->high).offset;
	if (replica->in_sync ? place.offset >= replica->target : in_sync)
		wait_alarm(&replica->lease, lease_end());
	replica->target = get_place(&partition->end).offset;
	set_in_sync(number, replica, in_sync);
	pthread_mutex_unlock(&partition->lock);
	return true;
}

static void lease_ended(struct wait *wait, enum wait_end end)
{
	struct replica *replica = container_of(wait, struct replica, lease);
	int number = ((char *)replica - (char *)partitions) / sizeof(*partitions);
	struct partition *partition = lock(number);

	if (!wait_again(wait, end))
		set_in_sync(number, replica, false);
	pthread_mutex_unlock(&partition->lock);
}

void partitions_repair(void)
{
	for (int number = 0; number < config.nr_partitions; number++) {
		struct partition *partition = lock(number);

		advance_high(number);
		for (int i = 0; i < MAX_NODES; i++) {
			partition->replicas[i].lease.deadline = lease_end();
			if (partition->replicas[i].in_sync)
				wait_repair(&partition->replicas[i].lease);
		}
		pthread_mutex_unlock(&partition->lock);
		for (int kind = 0; kind < WAIT_LEASE; kind++)
			wait_signal(kind, number, UINT32_MAX);
	}
	waiting_submit();
}

void partitions_create(void)
{
	char path[sizeof(logs->path)];
	struct place end;

	partitions = shared_memory(sizeof(*partitions) * MAX_PARTITIONS);
	for (int i = 0; i < config.nr_partitions; i++) {
		const struct topic *topic = config.partitions[i];

		shared_lock(&partitions[i].lock);
		for (int node = 0; node < MAX_NODES; node++)
			partitions[i].replicas[node].lease = (struct wait){
				.fn = lease_ended, .key = { WAIT_LEASE, i },
			};
		if (!is_replica(topic))
			continue;
		snprintf(path, sizeof(path), "%s/%s-%d.log", config.self->data, topic->name,
			 i - topic->first);
		log_open(&logs[i], path, &end);
		/* Without followers, all records are replicated. */
		set_place(&partitions[i].end, end);
		set_place(&partitions[i].high, end);
	}
}
