// SPDX-License-Identifier: GPL-2.0
/* Partitions: see partition.h. */
#include <errno.h>
#include <stdio.h>
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

/* Not a topic of clients. */
static struct topic offsets = {
	.name = "@offsets", .first = OFFSETS, .nr_partitions = 1, .nr_replicas = 1,
};

static struct partition *partitions;
static struct log logs[MAX_PARTITIONS + 1];

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

	if (memory != MAP_FAILED)
		return memory;
	perror("broker: shared memory");
	return NULL;
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

static void signal_amount(enum wait_kind kind, int number, uint64_t amount)
{
	if (amount)
		wait_signal((struct wait_key){ kind, number }, amount);
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
	signal_amount(WAIT_ACKS, number, high.offset - old.offset);
	signal_amount(WAIT_READ, number, high.position - old.position);
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
		signal_amount(WAIT_COPY, number, batch->size);
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
	const struct topic *topic = config.partitions[number];

	if (replica->in_sync != in_sync)
		fprintf(stderr, "broker %d: replica %d of %s-%d is %sin sync\n", config.self->id,
			topic->replicas[replica - partitions[number].replicas], topic->name,
			number - topic->first, in_sync ? "" : "not ");
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
		wait_alarm(&replica->lease, (struct wait_key){ WAIT_LEASE, number }, lease_end());
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
			signal_amount(kind, number, UINT32_MAX);
	}
	waiting_submit();
}

bool partition_open(int number)
{
	const struct topic *topic = config.partitions[number];
	char path[sizeof(logs->path)];
	struct place end;

	if (logs[number].fd > 0)
		close(logs[number].fd);
	snprintf(path, sizeof(path), "%s/%s-%d.log", config.self->data, topic->name,
		 number - topic->first);
	if (!log_open(&logs[number], path, &end))
		return false;
	/* Without followers, all records are replicated. */
	set_place(&partitions[number].end, end);
	set_place(&partitions[number].high, end);
	return true;
}

bool partitions_create(void)
{
	partitions = shared_memory(sizeof(*partitions) * (MAX_PARTITIONS + 1));
	if (!partitions)
		return false;
	offsets.replicas[0] = config.self->id;
	config.partitions[OFFSETS] = &offsets;
	for (int i = 0; i <= MAX_PARTITIONS; i++) {
		shared_lock(&partitions[i].lock);
		for (int node = 0; node < MAX_NODES; node++)
			partitions[i].replicas[node].lease.fn = lease_ended;
		if (config.partitions[i] && is_replica(config.partitions[i]) && !partition_open(i))
			return false;
	}
	return true;
}
