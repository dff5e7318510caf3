// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions. See partition.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "partition.h"
#include "waiting.h"

/* A place that changes by a single store: the other slot is written first. */
struct shared_place {
	struct place slots[2];
	unsigned int current;
};

struct replica {
	struct place end;
	struct follower owner;
	bool in_sync;
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

/* A broker has the partitions of which it is a replica. */
static bool is_local(int number)
{
	return topic_replica(config.partitions[number], config.self->id) >= 0;
}

/* The last owner was killed: its batch and the state of a replica may be incomplete. */
static void repair(int number)
{
	struct partition *partition = &partitions[number];

	if (is_local(number))
		log_cut(&logs[number], get_place(&partition->end));
	for (int i = 0; i < MAX_NODES; i++)
		partition->replicas[i].in_sync = false;
	pthread_mutex_consistent(&partition->lock);
}

static struct partition *lock(int number)
{
	if (pthread_mutex_lock(&partitions[number].lock) == EOWNERDEAD)
		repair(number);
	return &partitions[number];
}

static void unlock(struct partition *partition)
{
	pthread_mutex_unlock(&partition->lock);
}

static const char *log_path(int number, char path[4096])
{
	const struct topic *topic = config.partitions[number];

	snprintf(path, 4096, "%s/%s-%d.log", config.self->data, topic->name,
		 number - topic->first);
	return path;
}

static bool open_logs(void)
{
	char path[4096];

	for (int i = 0; i < config.nr_partitions; i++) {
		if (is_local(i) && !log_open(&logs[i], log_path(i, path)))
			return false;
	}
	return true;
}

static bool recover_log(int number)
{
	struct place end = log_recover(&logs[number]);

	if (end.offset < 0)
		return false;
	/* Without followers, all records are replicated. */
	set_place(&partitions[number].end, end);
	set_place(&partitions[number].high, end);
	return true;
}

bool partitions_create(void)
{
	pthread_mutexattr_t attributes;

	partitions = mmap(NULL, sizeof(*partitions) * MAX_PARTITIONS, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (partitions == MAP_FAILED) {
		perror("broker: shared memory");
		return false;
	}
	if (!open_logs())
		return false;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < config.nr_partitions; i++) {
		pthread_mutex_init(&partitions[i].lock, &attributes);
		if (is_local(i) && !recover_log(i))
			return false;
	}
	return true;
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
		state.in_sync[i] = topic->replicas[i] == topic->leader ||
				   partition->replicas[i].in_sync;
		state.nr_in_sync += state.in_sync[i];
	}
	unlock(partition);
	return state;
}

static void signal_amount(enum wait_kind kind, int number, uint64_t amount)
{
	if (amount)
		waiting->signal((struct wait_key){ kind, number }, amount);
}

static void advance_high(int number, struct partition *partition)
{
	struct place old = get_place(&partition->high), high = get_place(&partition->end);

	for (int i = 0; i < MAX_NODES; i++) {
		const struct replica *replica = &partition->replicas[i];

		if (replica->in_sync && replica->end.offset < high.offset)
			high = replica->end;
	}
	/* A follower has the high watermark of its leader. */
	if (!leads(config.partitions[number]) || high.offset <= old.offset)
		return;
	set_place(&partition->high, high);
	signal_amount(WAIT_ACKS, number, high.offset - old.offset);
	signal_amount(WAIT_READ, number, high.position - old.position);
}

int64_t partition_append(int number, uint8_t *data, const struct batch *batch)
{
	struct partition *partition = lock(number);
	struct place end = get_place(&partition->end);
	int64_t base = end.offset;

	batch_set_base(data, base);
	if (end.offset > INT64_MAX - batch->records ||
	    !log_write(&logs[number], end, data, batch->size)) {
		unlock(partition);
		return -1;
	}
	end.offset += batch->records;
	end.position += batch->size;
	set_place(&partition->end, end);
	signal_amount(WAIT_COPY, number, batch->size);
	advance_high(number, partition);
	unlock(partition);
	return base;
}

/* Check that batches continue a log. Return: its new end, or an offset of -1. */
static struct place end_after(struct place end, const uint8_t *data, size_t len)
{
	struct batch batch;

	while (len) {
		if (batch_check(data, len, &batch) || batch.base != end.offset)
			return (struct place){ .offset = -1 };
		end.offset += batch.records;
		end.position += batch.size;
		data += batch.size;
		len -= batch.size;
	}
	return end;
}

bool partition_copy(int number, const uint8_t *data, size_t len, int64_t high)
{
	struct partition *partition = lock(number);
	struct place old = get_place(&partition->end), end = end_after(old, data, len);
	bool ok = end.offset >= 0 && log_write(&logs[number], old, data, len);

	if (ok) {
		set_place(&partition->end, end);
		/* Nothing reads this place, so its position may be that of the end. */
		end.offset = high < end.offset ? high : end.offset;
		set_place(&partition->high, end);
	}
	unlock(partition);
	return ok;
}

void partition_clear(int number)
{
	struct partition *partition = lock(number);

	if (log_cut(&logs[number], (struct place){ })) {
		set_place(&partition->end, (struct place){ });
		set_place(&partition->high, (struct place){ });
	}
	unlock(partition);
}

static void report(int number, int node, const char *change)
{
	const struct topic *topic = config.partitions[number];

	fprintf(stderr, "broker %d: replica %d of %s-%d %s\n", config.self->id, node,
		topic->name, number - topic->first, change);
}

bool partition_followed(int number, const struct follower *follower, struct place place)
{
	int i = topic_replica(config.partitions[number], follower->node);
	struct partition *partition;
	struct replica *replica;
	bool was, is;

	if (i < 0 || follower->node == config.self->id)
		return false;
	partition = lock(number);
	replica = &partition->replicas[i];
	was = replica->in_sync;
	replica->owner = *follower;
	replica->end = place;
	is = place.offset >= get_place(&partition->high).offset;
	replica->in_sync = is;
	advance_high(number, partition);
	unlock(partition);
	if (is != was)
		report(number, follower->node, is ? "is in sync" : "is behind");
	return true;
}

/* Return: true if the replica was in sync through this connection. */
static bool leave(struct replica *replica, pid_t worker, uint64_t connection)
{
	if (!replica->in_sync || replica->owner.worker != worker ||
	    (connection && replica->owner.connection != connection))
		return false;
	replica->in_sync = false;
	return true;
}

void partitions_left(pid_t worker, uint64_t connection)
{
	for (int number = 0; number < config.nr_partitions; number++) {
		struct partition *partition = lock(number);
		bool left[MAX_NODES];

		for (int i = 0; i < MAX_NODES; i++)
			left[i] = leave(&partition->replicas[i], worker, connection);
		advance_high(number, partition);
		unlock(partition);
		for (int i = 0; i < MAX_NODES; i++) {
			if (left[i])
				report(number, config.partitions[number]->replicas[i], "has left");
		}
	}
}

void partitions_wake(void)
{
	for (int number = 0; number < config.nr_partitions; number++) {
		for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
			signal_amount(kind, number, UINT32_MAX);
	}
	waiting->submit();
}
