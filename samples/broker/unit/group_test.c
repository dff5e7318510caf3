// SPDX-License-Identifier: GPL-2.0
/*
 * Consumer groups: what their members are answered, without sockets.
 */
#include <signal.h>
#include <sys/wait.h>

#include "../group.c"
#include "kit.h"

#define HOUR_MS		1800000

#define JOIN		11
#define HEARTBEAT	12
#define LEAVE		13
#define SYNC		14
#define COMMIT		8
#define OFFSET_FETCH	9

struct client {
	struct request *request;	/* that waits */
	char id[64];
	const char *instance;
	int generation;
	int error;
	bool leads;
	int members;
	char assignment[64];
};

static struct wire frame = WRITER, response = WRITER, body;
static int protocols;	/* of a join: "a" and "b" with 3, "b" with 2 */

static void start_frame(int key, int version)
{
	frame.size = 0;
	put_i16(&frame, key);
	put_i16(&frame, version);
	put_i32(&frame, 42);
	put_text(&frame, "test");
}

/* The message must stay until the answer: it is freed by the next case. */
static uint8_t *messages[2 * MAX_MEMBERS];
static int nr_messages;

static struct request *begin(void)
{
	uint8_t *message = malloc(frame.size);

	messages[nr_messages++] = message;
	memcpy(message, frame.data, frame.size);
	return request_begin(message, frame.size);
}

static void answer(struct request *request)
{
	response.size = 0;
	CHECK(request_answer(request, &response));
	body = (struct wire){ .data = response.data, .size = response.size };
	get_i32(&body);
	CHECK(get_i32(&body) == 42);
	get_i32(&body);
}

static void copy(char *to, struct text text)
{
	snprintf(to, 64, "%.*s", text.len < 0 ? 0 : text.len, text.data);
}

/* JoinGroup, with times of an hour: no test waits for them. */
static void start_join(struct client *client)
{
	start_frame(JOIN, 5);
	put_text(&frame, "group");
	put_i32(&frame, HOUR_MS);
	put_i32(&frame, HOUR_MS);
	put_text(&frame, client->id);
	put_text(&frame, client->instance);
	put_text(&frame, "consumer");
	put_i32(&frame, protocols == 3 ? 2 : 1);
	if (protocols & 1) {
		put_text(&frame, "a");
		put_i32(&frame, 1);
		put_i8(&frame, 'A');
	}
	if (protocols & 2) {
		put_text(&frame, "b");
		put_i32(&frame, 1);
		put_i8(&frame, 'B');
	}
	client->request = begin();
}

static bool waits(struct client *client)
{
	return request_missing(client->request) > 0;
}

static void end_join(struct client *client)
{
	char leader[64];
	int i;

	answer(client->request);
	client->request = NULL;
	client->error = get_i16(&body);
	client->generation = get_i32(&body);
	get_text(&body);
	copy(leader, get_text(&body));
	copy(client->id, get_text(&body));
	client->members = get_i32(&body);
	client->leads = leader[0] && !strcmp(leader, client->id);
	for (i = 0; i < client->members; i++) {
		CHECK(get_text(&body).len > 0);
		get_text(&body);
		CHECK(get_bytes(&body).len == 1);
	}
	CHECK(is_at_end(&body));
}

static void put_member(struct client *client)
{
	put_text(&frame, "group");
	put_i32(&frame, client->generation);
	put_text(&frame, client->id);
	put_text(&frame, client->instance);
}

/* SyncGroup; a leader assigns "x" to itself and "y" to another member. */
static void start_sync(struct client *client, struct client *other)
{
	start_frame(SYNC, 3);
	put_member(client);
	put_i32(&frame, client->leads ? 1 + !!other : 0);
	if (client->leads) {
		put_text(&frame, client->id);
		put_i32(&frame, 1);
		put_i8(&frame, 'x');
	}
	if (client->leads && other) {
		put_text(&frame, other->id);
		put_i32(&frame, 1);
		put_i8(&frame, 'y');
	}
	client->request = begin();
}

static void end_sync(struct client *client)
{
	answer(client->request);
	client->request = NULL;
	client->error = get_i16(&body);
	copy(client->assignment, get_bytes(&body));
	CHECK(is_at_end(&body));
}

static int heartbeat(struct client *client)
{
	start_frame(HEARTBEAT, 3);
	put_member(client);
	answer(begin());
	return get_i16(&body);
}

static int leave(struct client *client)
{
	start_frame(LEAVE, 3);
	put_text(&frame, "group");
	put_i32(&frame, 1);
	put_text(&frame, client->id);
	put_text(&frame, client->instance);
	answer(begin());
	CHECK(!get_i16(&body) && get_i32(&body) == 1);
	get_text(&body);
	get_text(&body);
	return get_i16(&body);
}

static int commit(struct client *client, const char *topic, int64_t offset, const char *note)
{
	int error;

	start_frame(COMMIT, 7);
	put_member(client);
	put_i32(&frame, 1);
	put_text(&frame, topic);
	put_i32(&frame, 1);
	put_i32(&frame, 0);
	put_i64(&frame, offset);
	put_i32(&frame, -1);
	put_text(&frame, note);
	answer(begin());
	CHECK(get_i32(&body) == 1);
	get_text(&body);
	CHECK(get_i32(&body) == 1 && !get_i32(&body));
	error = get_i16(&body);
	CHECK(is_at_end(&body));
	return error;
}

/* Return: the offset of the first of all partitions with offsets. */
static int64_t fetched(const char *topic)
{
	int64_t offset = -2;

	start_frame(OFFSET_FETCH, 5);
	put_text(&frame, "group");
	put_i32(&frame, topic ? 1 : -1);
	if (topic) {
		put_text(&frame, topic);
		put_i32(&frame, 1);
		put_i32(&frame, 0);
	}
	answer(begin());
	if (get_i32(&body) == 1) {
		get_text(&body);
		CHECK(get_i32(&body) == 1 && !get_i32(&body));
		offset = get_i64(&body);
		get_i32(&body);
		get_text(&body);
		CHECK(!get_i16(&body));
	}
	CHECK(!get_i16(&body) && is_at_end(&body));
	return offset;
}

static void read_alarms(void)
{
	waiting_submit();
	waiting_events();
}

/* The alarm of a session ends; @early: before the session. */
static void end_session(struct client *client, bool early)
{
	struct member *member = find_member(&shared->groups[0], text_of(client->id));
	uint64_t deadline = member->session.deadline;

	wait_alarm(&member->session, (struct wait_key){ WAIT_SESSION, 0 }, now_ns());
	if (early)
		member->session.deadline = deadline;
	read_alarms();
}

static void end_rebalance(void)
{
	shared->groups[0].deadline = now_ns();
}

static void start(void)
{
	while (nr_messages)
		free(messages[--nr_messages]);
	kit_start();
	config.initial_delay_ms = 0;
	protocols = 3;
}

static void form(struct client *client)
{
	start_join(client);
	CHECK(!waits(client));
	end_join(client);
	CHECK(!client->error && client->leads && client->members == 1);
	start_sync(client, NULL);
	CHECK(!waits(client));
	end_sync(client);
	CHECK(!client->error && !strcmp(client->assignment, "x"));
}

/* A second member joins a stable group. */
static void form_two(struct client *first, struct client *second)
{
	form(first);
	start_join(second);
	CHECK(waits(second) && heartbeat(first) == REBALANCE_IN_PROGRESS);
	start_join(first);
	CHECK(!waits(first) && !waits(second));
	end_join(second);
	end_join(first);
	CHECK(first->leads && first->members == 2 && !second->leads && !second->members);
	CHECK(first->generation == second->generation);
	start_sync(second, NULL);
	CHECK(waits(second));
	start_sync(first, second);
	CHECK(!waits(first) && !waits(second));
	end_sync(second);
	end_sync(first);
	CHECK(!strcmp(first->assignment, "x") && !strcmp(second->assignment, "y"));
}

static void members_join_and_get_their_assignments(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	CHECK(!heartbeat(&first) && !heartbeat(&second));
}

static void first_rebalance_lasts_for_the_initial_delay(void)
{
	struct client first = { }, second = { }, third = { };
	uint64_t deadline;

	start();
	config.initial_delay_ms = HOUR_MS / 2;
	start_join(&first);
	CHECK(waits(&first));
	deadline = first.request->deadline;
	/* Another member extends it, up to the rebalance timeout. */
	start_join(&second);
	CHECK(waits(&first) && waits(&second) && first.request->deadline > deadline);
	config.initial_delay_ms = 2 * HOUR_MS;
	start_join(&third);
	CHECK(waits(&first) && first.request->deadline == shared->groups[0].limit);
	end_rebalance();
	CHECK(!waits(&first) && !waits(&second));
	end_join(&first);
	end_join(&second);
	end_join(&third);
	CHECK(first.generation == second.generation && third.generation == first.generation);
	CHECK(first.members + second.members + third.members == 3);
}

static void member_that_does_not_rejoin_is_removed_at_the_rebalance_timeout(void)
{
	struct client first = { }, second = { };

	start();
	form(&first);
	start_join(&second);
	CHECK(waits(&second) && heartbeat(&first) == REBALANCE_IN_PROGRESS);
	CHECK(find_member(&shared->groups[0], text_of(first.id))->due ==
	      shared->groups[0].deadline);
	end_rebalance();
	CHECK(!waits(&second));
	end_join(&second);
	CHECK(second.leads && second.members == 1);
	CHECK(heartbeat(&first) == UNKNOWN_MEMBER_ID);
}

static void end_of_a_session_starts_a_rebalance(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	end_session(&second, true);
	/* Its event has been read when a heartbeat moves the deadline. */
	session_ended(&find_member(&shared->groups[0], text_of(second.id))->session, WAIT_EXPIRED);
	CHECK(!heartbeat(&first) && !heartbeat(&second));
	end_session(&second, false);
	CHECK(heartbeat(&first) == REBALANCE_IN_PROGRESS);
	CHECK(heartbeat(&second) == UNKNOWN_MEMBER_ID);
	start_join(&first);
	CHECK(!waits(&first));
	end_join(&first);
	CHECK(first.leads && first.members == 1);
}

static void session_does_not_end_while_a_request_waits(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	start_join(&first);
	CHECK(waits(&first));
	end_session(&first, false);
	CHECK(waits(&first));
	end_session(&second, false);
	CHECK(!waits(&first));
	end_join(&first);
	CHECK(!first.error && first.members == 1);
}

static void member_that_leaves_starts_a_rebalance_at_once(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	CHECK(!leave(&second) && heartbeat(&first) == REBALANCE_IN_PROGRESS);
	CHECK(leave(&second) == UNKNOWN_MEMBER_ID);
	start_join(&first);
	CHECK(!waits(&first));
	end_join(&first);
	CHECK(first.members == 1);
}

static void rebalance_ends_when_the_last_missing_member_leaves(void)
{
	struct client first = { }, second = { };

	start();
	form(&first);
	start_join(&second);
	CHECK(waits(&second) && !leave(&first) && !waits(&second));
	end_join(&second);
	CHECK(second.leads && second.members == 1);
}

static void member_that_does_not_rejoin_is_removed_although_no_request_waits(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	CHECK(!leave(&second));
	find_member(&shared->groups[0], text_of(first.id))->due = now_ns();
	CHECK(heartbeat(&first) == REBALANCE_IN_PROGRESS);
	read_alarms();
	CHECK(heartbeat(&first) == UNKNOWN_MEMBER_ID && shared->groups[0].state == EMPTY);
}

static void group_of_which_no_member_rejoins_is_empty(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	start_join(&first);
	CHECK(waits(&first));
	request_closed(first.request);
	request_free(first.request);
	end_rebalance();
	CHECK(!leave(&second));
	CHECK(heartbeat(&first) == UNKNOWN_MEMBER_ID && shared->groups[0].state == EMPTY);
}

static void sync_is_answered_with_an_error_by_another_rebalance(void)
{
	struct client first = { }, second = { }, third = { };

	start();
	form_two(&first, &second);
	start_join(&first);
	start_join(&second);
	CHECK(!waits(&first) && !waits(&second));
	end_join(&first);
	end_join(&second);
	start_sync(&second, NULL);
	CHECK(waits(&second));
	start_join(&third);
	CHECK(!waits(&second));
	end_sync(&second);
	CHECK(second.error == REBALANCE_IN_PROGRESS);
	request_closed(third.request);
	request_free(third.request);
}

static void member_that_does_not_sync_is_removed_although_it_sends_heartbeats(void)
{
	struct client first = { }, second = { };
	struct member *member;

	start();
	form_two(&first, &second);
	start_join(&first);
	start_join(&second);
	CHECK(!waits(&first) && !waits(&second));
	end_join(&first);
	end_join(&second);
	start_sync(&first, &second);
	end_sync(&first);
	member = find_member(&shared->groups[0], text_of(second.id));
	CHECK(!heartbeat(&second) && member->session.deadline <= member->due);
	member->due = now_ns();
	CHECK(!heartbeat(&second));
	read_alarms();
	CHECK(heartbeat(&second) == UNKNOWN_MEMBER_ID);
	CHECK(heartbeat(&first) == REBALANCE_IN_PROGRESS);
}

static void closed_connection_of_a_new_member_leaves_nothing(void)
{
	struct client first = { }, second = { };

	start();
	form(&first);
	start_join(&second);
	CHECK(waits(&second));
	request_closed(second.request);
	request_free(second.request);
	start_join(&first);
	CHECK(!waits(&first));
	end_join(&first);
	CHECK(first.members == 1);
}

static void closed_connection_of_a_known_member_keeps_its_place(void)
{
	struct client first = { }, second = { };

	start();
	form_two(&first, &second);
	start_join(&first);
	CHECK(waits(&first));
	request_closed(first.request);
	request_free(first.request);
	start_join(&second);
	CHECK(waits(&second));
	start_join(&first);
	CHECK(!waits(&first) && !waits(&second));
	end_join(&first);
	end_join(&second);
	CHECK(!first.error && !second.error && first.members == 2);
}

static void repeated_join_of_another_connection_ends_the_first_one(void)
{
	struct client first = { }, second = { }, again;

	start();
	form_two(&first, &second);
	start_join(&first);
	again = first;
	start_join(&again);
	CHECK(waits(&again) && !waits(&first));
	/* The first connection is closed late. */
	request_closed(first.request);
	request_free(first.request);
	CHECK(waits(&again));
	start_join(&second);
	CHECK(!waits(&again));
	end_join(&again);
	end_join(&second);
	CHECK(!again.error && !second.error);
}

static void static_member_that_restarts_has_its_assignment_without_a_rebalance(void)
{
	struct client first = { .instance = "one" }, second = { .instance = "two" }, restarted;

	start();
	form_two(&first, &second);
	for (int i = 0; i < 2; i++) {
		struct client *old = i ? &first : &second;

		restarted = (struct client){ .instance = old->instance };
		start_join(&restarted);
		CHECK(!waits(&restarted));
		end_join(&restarted);
		CHECK(!restarted.error && restarted.generation == old->generation &&
		      !restarted.leads && !restarted.members);
		start_sync(&restarted, NULL);
		CHECK(!waits(&restarted));
		end_sync(&restarted);
		CHECK(!strcmp(restarted.assignment, old->assignment));
		CHECK(heartbeat(old) == FENCED_INSTANCE_ID && !heartbeat(&restarted));
	}
}

static void static_member_keeps_its_place_at_the_rebalance_timeout(void)
{
	struct client first = { }, second = { .instance = "two" };

	start();
	form_two(&first, &second);
	start_join(&first);
	CHECK(waits(&first));
	end_rebalance();
	CHECK(!waits(&first));
	end_join(&first);
	CHECK(first.members == 2 && heartbeat(&second) == ILLEGAL_GENERATION);
	start_sync(&first, &second);
	end_sync(&first);
	/* It has an assignment when it is back. */
	second = (struct client){ .instance = "two" };
	start_join(&second);
	CHECK(waits(&second));
	start_join(&first);
	CHECK(!waits(&second));
	end_join(&first);
	end_join(&second);
	CHECK(!second.error && second.generation == first.generation);
}

static void static_member_is_removed_by_its_name(void)
{
	struct client first = { .instance = "one" }, admin = { .instance = "one" };

	start();
	form(&first);
	CHECK(!leave(&admin));
	CHECK(heartbeat(&first) == UNKNOWN_MEMBER_ID);
}

static void wrong_members_are_refused(void)
{
	struct client first = { }, other = { .id = "member-0-1" };

	start();
	CHECK(heartbeat(&other) == UNKNOWN_MEMBER_ID);
	form(&first);
	other.generation = first.generation;
	CHECK(heartbeat(&other) == UNKNOWN_MEMBER_ID);
	copy(other.id, text_of("member-2000000000-1"));
	CHECK(heartbeat(&other) == UNKNOWN_MEMBER_ID);
	other = first;
	other.generation++;
	CHECK(heartbeat(&other) == ILLEGAL_GENERATION);
	copy(other.id, text_of("member-0-1"));
	start_join(&other);
	end_join(&other);
	CHECK(other.error == UNKNOWN_MEMBER_ID);
	config.min_session_ms = HOUR_MS + 1;
	other = (struct client){ };
	start_join(&other);
	end_join(&other);
	CHECK(other.error == INVALID_SESSION_TIMEOUT);
}

static void protocol_is_one_that_all_members_have(void)
{
	struct client first = { }, second = { };

	start();
	protocols = 1;
	form(&first);
	protocols = 2;
	start_join(&second);
	end_join(&second);
	CHECK(second.error == INCONSISTENT_GROUP_PROTOCOL);
	protocols = 3;
	start_join(&first);
	CHECK(!waits(&first));
	end_join(&first);
	protocols = 2;
	second = (struct client){ };
	start_join(&second);
	CHECK(waits(&second));
	protocols = 3;
	start_join(&first);
	CHECK(!waits(&first) && !strcmp(shared->groups[0].protocol, "b"));
	end_join(&first);
	end_join(&second);
}

static void groups_and_members_are_limited(void)
{
	struct client client;
	int error = 0, nr = 0;

	start();
	protocols = 1;
	config.initial_delay_ms = HOUR_MS;
	while (nr <= MAX_MEMBERS && !error) {
		client = (struct client){ };
		start_join(&client);
		error = client.request->error;
		request_free(client.request);
		nr++;
	}
	CHECK(error == GROUP_MAX_SIZE_REACHED && nr == MAX_MEMBERS + 1);
}

static void offsets_are_fetched_as_committed(void)
{
	struct client first = { }, simple = { .generation = -1 };
	char large[OFFSET_TEXT_MAX + 2];

	start();
	CHECK(fetched("alone") == -1 && fetched(NULL) == -2);
	CHECK(!commit(&simple, "alone", 3, NULL) && fetched("alone") == 3);
	form(&first);
	CHECK(commit(&simple, "alone", 4, NULL) == UNKNOWN_MEMBER_ID);
	CHECK(!commit(&first, "alone", 5, "note") && fetched("alone") == 5 && fetched(NULL) == 5);
	/* The broker is the coordinator of a group, but not the leader of this partition. */
	CHECK(!commit(&first, "other", 6, ""));
	CHECK(commit(&first, "nothing", 1, NULL) == UNKNOWN_TOPIC_OR_PARTITION);
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = 0;
	CHECK(commit(&first, "alone", 9, large) == OFFSET_METADATA_TOO_LARGE);
	first.generation++;
	CHECK(commit(&first, "alone", 9, NULL) == ILLEGAL_GENERATION);
	CHECK(fetched("alone") == 5 && fetched("other") == 6);
}

static void restarted_broker_has_its_offsets(void)
{
	struct client simple = { .generation = -1 };

	start();
	CHECK(!commit(&simple, "alone", 3, NULL) && !commit(&simple, "alone", 7, "note"));
	CHECK(partitions_create() && groups_create());
	CHECK(fetched("alone") == 7);
}

static void process_killed_with_the_lock_leaves_groups_without_members(void)
{
	struct client first = { };
	pid_t pid;
	int how;

	start();
	form(&first);
	CHECK(!commit(&first, "alone", 7, NULL));
	pid = fork();
	if (!pid) {
		group_lock();
		memset(shared->groups[0].offsets, 1, 100);
		raise(SIGKILL);
	}
	CHECK(waitpid(pid, &how, 0) == pid && WIFSIGNALED(how));
	CHECK(heartbeat(&first) == UNKNOWN_MEMBER_ID && fetched("alone") == 7);
}

static void requests_of_a_killed_worker_do_not_count(void)
{
	struct client first = { }, second = { };
	pid_t pid;
	int how;

	start();
	form(&first);
	pid = fork();
	if (!pid) {
		start_join(&second);
		raise(SIGKILL);
	}
	CHECK(waitpid(pid, &how, 0) == pid && WIFSIGNALED(how));
	CHECK(heartbeat(&first) == REBALANCE_IN_PROGRESS);
	groups_repair(pid);
	start_join(&first);
	CHECK(!waits(&first));
	end_join(&first);
	CHECK(first.members == 1);
}

int main(void)
{
	static const struct tap_case cases[] = {
#define CASE(name) { #name, name }
		CASE(members_join_and_get_their_assignments),
		CASE(first_rebalance_lasts_for_the_initial_delay),
		CASE(member_that_does_not_rejoin_is_removed_at_the_rebalance_timeout),
		CASE(end_of_a_session_starts_a_rebalance),
		CASE(session_does_not_end_while_a_request_waits),
		CASE(member_that_leaves_starts_a_rebalance_at_once),
		CASE(rebalance_ends_when_the_last_missing_member_leaves),
		CASE(member_that_does_not_rejoin_is_removed_although_no_request_waits),
		CASE(group_of_which_no_member_rejoins_is_empty),
		CASE(sync_is_answered_with_an_error_by_another_rebalance),
		CASE(member_that_does_not_sync_is_removed_although_it_sends_heartbeats),
		CASE(closed_connection_of_a_new_member_leaves_nothing),
		CASE(closed_connection_of_a_known_member_keeps_its_place),
		CASE(repeated_join_of_another_connection_ends_the_first_one),
		CASE(static_member_that_restarts_has_its_assignment_without_a_rebalance),
		CASE(static_member_keeps_its_place_at_the_rebalance_timeout),
		CASE(static_member_is_removed_by_its_name),
		CASE(wrong_members_are_refused),
		CASE(protocol_is_one_that_all_members_have),
		CASE(groups_and_members_are_limited),
		CASE(offsets_are_fetched_as_committed),
		CASE(restarted_broker_has_its_offsets),
		CASE(process_killed_with_the_lock_leaves_groups_without_members),
		CASE(requests_of_a_killed_worker_do_not_count),
		{ }
	};
	int status = tap_run(cases);

	start();
	kit_remove();
	return status;
}
