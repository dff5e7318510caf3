// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait, and alarms, where clients cannot bring about the moment: without messages,
 * connections and other processes, except for those that are killed.
 */
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../group.c"
#include "../partition.c"
#include "kit.h"

#define HOUR_MS		1800000
#define ACKS_ALL	(-1)
#define BATCH_SIZE	(HEADER_SIZE + 20)

#define BOTH		2	/* the partition with a follower */
#define FOLLOWER	2	/* its node */

static void ended(struct wait *wait, enum wait_end end)
{
}

/* Submit the queued commands, and handle the events of this process and of the main process. */
static void run_events(void)
{
	struct wait last = { .fn = ended };
	struct wait_key key = { WAIT_READ, MAX_PARTITIONS };
	int alarms = events_fd;

	/* Operations expire in the order of their adds. */
	wait_add(&last, &key, 1, 1, now_ns());
	waiting_submit();
	do {
		struct pollfd events = { .fd = fd, .events = POLLIN };

		if (poll(&events, 1, 10000) != 1)
			abort();
		waiting_events();
		events_fd = fd;
		waiting_events();
		events_fd = alarms;
	} while (last.id);
	waiting_events();
	waiting_submit();
}

static struct request *new_request(const struct api *api)
{
	struct request *request = memory(calloc(1, sizeof(*request)));

	request->api = api;
	request->version = 1;
	request->wait.fn = ended;
	request->timeout_ms = HOUR_MS;
	return request;
}

/* Return: the error; the request is still readable. */
static enum error_code answer_to(struct request *request)
{
	group_lock();
	if (request->api->answer)
		request->api->answer(request);
	group_unlock();
	return request->nr_parts && !request->api->in_group ? request->parts[0].error :
							      request->error;
}

static enum error_code end(struct request *request)
{
	enum error_code error = answer_to(request);

	request_free(request);
	return error;
}

static bool waits(struct request *request)
{
	return request_missing(request) > 0;
}

/* As in a worker. */
static void park(struct request *request)
{
	request_wait(request, request_missing(request));
	run_events();
	CHECK(request->wait.id);
}

static bool is_woken(struct request *request)
{
	run_events();
	return !request->wait.id;
}

/* A child process executes a function and is killed. Return: its process ID. */
static pid_t killed(void (*function)(void))
{
	pid_t pid = fork();
	int how;

	if (!pid) {
		function();
		raise(SIGKILL);
	}
	CHECK(waitpid(pid, &how, 0) == pid && WIFSIGNALED(how));
	return pid;
}

/* Partitions. */

static struct request *produce(const char *topic, int acks, int timeout_ms, int records)
{
	static uint8_t data[BATCH_SIZE];
	struct wire wire = { .data = data, .capacity = BATCH_SIZE, .writes = true };
	struct text batch = { (char *)data, BATCH_SIZE };
	struct request *request = new_request(&api_produce);

	memset(data, 0, sizeof(data));
	data[16] = 2;
	wire_patch(&wire, 8, BATCH_SIZE - 12);
	wire_patch(&wire, 23, records - 1);
	wire_patch(&wire, 57, records);
	wire_patch(&wire, 17, crc32c(data + 21, BATCH_SIZE - 21));
	request->version = 3;
	request->acks = acks;
	request->timeout_ms = timeout_ms;
	request_add(request, text_of(topic), 0)->records = batch;
	request_start(request);
	return request;
}

static struct request *fetch(int replica, const char *topic, int64_t offset)
{
	struct request *request = new_request(&api_fetch);

	request->replica = replica;
	request->min_bytes = 1;
	request_add(request, text_of(topic), 0)->offset = offset;
	request_start(request);
	return request;
}

static bool state_is(int number, int64_t end, int64_t high, int in_sync)
{
	struct state state = partition_state(number);

	return state.end.offset == end && state.high.offset == high &&
	       state.nr_in_sync == in_sync;
}

TEST("a produce waits for its followers if it wants all of them, and has a timeout")
{
	struct request *request;

	kit_start();
	CHECK(end(produce("both", ACKS_ALL, HOUR_MS, 1)) == NOT_ENOUGH_REPLICAS);
	end(fetch(FOLLOWER, "both", 0));
	request = produce("both", 0, HOUR_MS, 1);
	CHECK(request->silent && !request->failed && !waits(request) && !end(request));
	request = produce("both", 1, HOUR_MS, 1);
	CHECK(!waits(request) && !end(request));
	request = produce("both", ACKS_ALL, 0, 1);
	CHECK(!waits(request) && end(request) == REQUEST_TIMED_OUT);
	CHECK(state_is(BOTH, 3, 0, 2));
	request = produce("both", ACKS_ALL, HOUR_MS, 1);
	park(request);
	end(fetch(FOLLOWER, "both", 3));
	CHECK(!is_woken(request));
	end(fetch(FOLLOWER, "both", 4));
	CHECK(is_woken(request) && !waits(request) && !end(request));
}

TEST("a fetch with an error does not wait")
{
	static const struct {
		int replica;
		const char *topic;
		int64_t offset;
		enum error_code error;
	} wrong[] = {
		{ -1, "alone", 1, OFFSET_OUT_OF_RANGE }, { -1, "alone", -1, OFFSET_OUT_OF_RANGE },
		{ -1, "unknown", 0, UNKNOWN_TOPIC_OR_PARTITION }, { -1, "other", 0, NOT_LEADER },
		{ 3, "both", 0, REPLICA_NOT_AVAILABLE }, { },
	};

	kit_start();
	for (int i = 0; wrong[i].topic; i++) {
		struct request *request = fetch(wrong[i].replica, wrong[i].topic, wrong[i].offset);

		CHECK(!waits(request) && end(request) == wrong[i].error);
	}
}

TEST("a fetch that names a partition twice waits for it once")
{
	struct request *request;

	kit_start();
	request = fetch(-1, "alone", 0);
	request_add(request, text_of("alone"), 0);
	park(request);
	end(produce("alone", 1, HOUR_MS, 1));
	CHECK(is_woken(request));
	end(request);
}

TEST("a replica without progress does not renew its lease")
{
	kit_start();
	end(fetch(FOLLOWER, "both", 0));
	run_events();
	end(produce("both", 1, HOUR_MS, 4));
	end(fetch(FOLLOWER, "both", 0));
	config.max_lag_ms = 0;
	end(fetch(FOLLOWER, "both", 0));
	run_events();
	CHECK(state_is(BOTH, 4, 0, 2));
	/* All that the log had at the previous fetch is enough. */
	end(produce("both", 1, HOUR_MS, 4));
	end(fetch(FOLLOWER, "both", 4));
	run_events();
	CHECK(state_is(BOTH, 8, 8, 1));
}

TEST("a batch that is not written completely leaves nothing in the log")
{
	struct rlimit all, some;
	enum error_code error;

	kit_start();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &all);
	some = (struct rlimit){ BATCH_SIZE / 2, all.rlim_max };
	setrlimit(RLIMIT_FSIZE, &some);
	error = end(produce("alone", 1, HOUR_MS, 1));
	setrlimit(RLIMIT_FSIZE, &all);
	CHECK(error == STORAGE_ERROR && !lseek(partition_log(0)->fd, 0, SEEK_END));
}

static void leave_unfinished(void)
{
	set_place(&lock(0)->end, (struct place){ 3, 300 });
}

TEST("a killed process leaves no change of a partition behind")
{
	struct request *request;

	kit_start();
	request = fetch(-1, "alone", 0);
	request->min_bytes = 1000000;
	park(request);
	killed(leave_unfinished);
	partitions_repair();
	CHECK(state_is(0, 3, 3, 1));
	/* The signals of the killed process may be lost, so the request is evaluated again. */
	CHECK(is_woken(request));
	request_free(request);
}

/* Groups. */

static struct client {
	struct request *request;	/* that waits */
	char id[64];
	int generation;
	enum error_code error;
	bool leads;
	int members;
	char assignment;
} first, second;

static struct group *group;

static void start_group(void)
{
	kit_start();
	first = (struct client){ };
	second = (struct client){ };
	group = shared->groups;
}

static struct member *member_of(const struct client *client)
{
	return find_member(group, text_of(client->id));
}

static struct request *request_of(const struct client *client, const struct api *api)
{
	struct request *request = new_request(api);

	request->group_name = text_of("group");
	request->session_ms = HOUR_MS;
	request->generation = client->generation;
	request->member_id = text_of(client->id);
	return request;
}

static void start_join(struct client *client)
{
	static const char protocols[] = "\0\1a\0\0\0\1A";

	client->request = request_of(client, &api_join_group);
	client->request->list = (struct text){ protocols, sizeof(protocols) - 1 };
	request_start(client->request);
}

static void end_join(struct client *client)
{
	struct request *request = client->request;

	CHECK(!waits(request));
	client->error = answer_to(request);
	client->generation = request->generation;
	client->members = request->nr_parts;
	client->leads = request->leader.len && text_equals(request->leader, request->member_id);
	snprintf(client->id, sizeof(client->id), "%.*s", request->member_id.len,
		 request->member_id.data);
	request_free(request);
}

/* Join without the others. Return: the error. */
static enum error_code join_at_once(struct client *client)
{
	start_join(client);
	end_join(client);
	return client->error;
}

static void join_and_wait(struct client *client)
{
	start_join(client);
	CHECK(waits(client->request));
}

/* Two members rejoin, so that the group waits for assignments. */
static void rejoin_both(struct client *one, struct client *other)
{
	join_and_wait(one);
	start_join(other);
	end_join(one);
	end_join(other);
	CHECK(!one->error && !other->error);
}

/* SyncGroup; a leader assigns "x" to itself and "y" to another member. */
static void start_sync(struct client *client, struct client *other)
{
	struct text id = text_of(client->id), x = text_of("x"), y = text_of("y");
	struct wire list = { .writes = true };

	client->request = request_of(client, &api_sync_group);
	if (client->leads)
		wire_pair(&list, &id, &x);
	id = text_of(other ? other->id : "");
	if (client->leads && other)
		wire_pair(&list, &id, &y);
	client->request->list = (struct text){ (char *)list.data, list.size };
	request_start(client->request);
	wire_free(&list);
}

static void end_sync(struct client *client)
{
	CHECK(!waits(client->request));
	client->error = answer_to(client->request);
	client->assignment = client->request->list.len == 1 ? *client->request->list.data : 0;
	request_free(client->request);
}

static void sync_at_once(struct client *client, struct client *other)
{
	start_sync(client, other);
	end_sync(client);
	CHECK(!client->error);
}

/* Return: the error of another request of a member. */
static enum error_code call(const struct client *client, const struct api *api)
{
	struct request *request = request_of(client, api);

	request_start(request);
	return end(request);
}

static enum error_code beat(const struct client *client)
{
	return call(client, &api_heartbeat);
}

static enum error_code quit(const struct client *client)
{
	return call(client, &api_leave_group);
}

/* The alarm of a session ends; @early: before the session. */
static void end_session(struct client *client, bool early)
{
	struct member *member = member_of(client);
	uint64_t deadline = member->session.deadline;

	wait_alarm(&member->session, now_ns());
	if (early)
		member->session.deadline = deadline;
	run_events();
}

/* A request that waited is answered at once. Return: the error. */
static enum error_code end_parked(struct client *client, void (*end)(struct client *client))
{
	CHECK(is_woken(client->request));
	end(client);
	return client->error;
}

/* A stable group of one member. */
static void form(void)
{
	start_group();
	join_at_once(&first);
	CHECK(!first.error && first.leads && first.members == 1);
	sync_at_once(&first, NULL);
	CHECK(first.assignment == 'x');
}

/* A second member joins it. */
static void form_two(void)
{
	form();
	join_and_wait(&second);
	CHECK(beat(&first) == REBALANCE_IN_PROGRESS);
	start_join(&first);
	end_join(&second);
	end_join(&first);
	CHECK(first.leads && first.members == 2 && !second.leads && !second.members);
	CHECK(first.generation == second.generation);
	start_sync(&second, NULL);
	CHECK(waits(second.request));
	sync_at_once(&first, &second);
	end_sync(&second);
	CHECK(first.assignment == 'x' && second.assignment == 'y');
	/* Their sessions are added. */
	run_events();
}

TEST("the end of a session starts a rebalance, and an early end does not")
{
	form_two();
	end_session(&second, true);
	/* Its event has been read when a heartbeat moves the deadline. */
	session_ended(&member_of(&second)->session, WAIT_EXPIRED);
	CHECK(!beat(&first) && !beat(&second));
	end_session(&second, false);
	CHECK(beat(&first) == REBALANCE_IN_PROGRESS && beat(&second) == UNKNOWN_MEMBER_ID);
	join_at_once(&first);
	CHECK(first.leads && first.members == 1);
}

TEST("a member that does not rejoin is removed although no request waits")
{
	form_two();
	CHECK(!quit(&second));
	member_of(&first)->due = now_ns();
	CHECK(beat(&first) == REBALANCE_IN_PROGRESS);
	run_events();
	CHECK(beat(&first) == UNKNOWN_MEMBER_ID && group->state == EMPTY);
}

TEST("a group of which no member rejoins is empty")
{
	form_two();
	join_and_wait(&first);
	end(first.request);
	group->deadline = now_ns();
	CHECK(!quit(&second));
	CHECK(beat(&first) == UNKNOWN_MEMBER_ID && group->state == EMPTY);
}

TEST("a closed connection of a known member keeps its place")
{
	form_two();
	join_and_wait(&first);
	end(first.request);
	rejoin_both(&second, &first);
	CHECK(first.members == 2);
}

TEST("a join ends a sync that waits and has the same generation")
{
	struct client again;

	form_two();
	rejoin_both(&first, &second);
	start_sync(&second, NULL);
	park(second.request);
	again = second;
	CHECK(!join_at_once(&again) && again.generation == first.generation);
	CHECK(end_parked(&second, end_sync) == REBALANCE_IN_PROGRESS);
	start_sync(&again, NULL);
	sync_at_once(&first, &again);
	end_sync(&again);
	CHECK(!again.error && again.assignment == 'y');
}

TEST("a sync of another connection does not end a join that waits")
{
	struct client again;

	form_two();
	again = first;
	start_join(&first);
	park(first.request);
	start_sync(&again, NULL);
	end_sync(&again);
	CHECK(again.error == REBALANCE_IN_PROGRESS && waits(first.request));
	start_join(&second);
	CHECK(!end_parked(&first, end_join));
	end_join(&second);
	CHECK(!second.error && first.members == 2);
}

TEST("a request that waits ends with its member")
{
	form_two();
	start_join(&first);
	park(first.request);
	CHECK(!quit(&first) && end_parked(&first, end_join) == REBALANCE_IN_PROGRESS);
	first = (struct client){ };
	rejoin_both(&first, &second);
	start_sync(&second, NULL);
	park(second.request);
	CHECK(!quit(&second) && end_parked(&second, end_sync) == REBALANCE_IN_PROGRESS);
}

static void rejoin_first(void)
{
	start_join(&first);
}

TEST("a join is answered although its client has gone on at a killed worker")
{
	struct client again;

	form_two();
	again = first;
	start_join(&again);
	park(again.request);
	groups_repair(killed(rejoin_first));
	CHECK(end_parked(&again, end_join) == REBALANCE_IN_PROGRESS);
	rejoin_both(&first, &second);
	CHECK(first.members == 2);
}

static void overwrite_with_the_lock(void)
{
	group_lock();
	memset(group->offsets, 1, 100);
}

TEST("a process that is killed with the lock leaves groups without members")
{
	pid_t pid;

	form();
	start_join(&second);
	park(second.request);
	pid = killed(overwrite_with_the_lock);
	CHECK(beat(&first) == UNKNOWN_MEMBER_ID);
	groups_repair(pid);
	CHECK(end_parked(&second, end_join) == REBALANCE_IN_PROGRESS);
}

TAP_MAIN
