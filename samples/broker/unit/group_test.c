// SPDX-License-Identifier: GPL-2.0
/*
 * Consumer groups: what their members are answered, without sockets.
 */
#include <signal.h>
#include <sys/wait.h>

#include "../group.c"
#include "requests.h"

#define HOUR_MS		1800000

enum { JOIN = 11, HEARTBEAT, LEAVE, SYNC };

static struct client {
	struct request *request;	/* that waits */
	char id[64];
	int generation;
	int error;
	bool leads;
	int members;
	char assignment[64];
} first, second;

static const struct client unknown;

static struct group *group;
/* Of a join. No test waits for times of an hour. */
static int session_ms, rebalance_ms;

static void start(void)
{
	kit_start();
	first = unknown;
	second = unknown;
	config.initial_delay_ms = 0;
	session_ms = HOUR_MS;
	rebalance_ms = HOUR_MS;
	group = shared->groups;
}

static struct member *member_of(const struct client *client)
{
	return find_member(group, text_of(client->id));
}

static void copy_text(char *to, struct text from)
{
	int len = from.len > 0 ? from.len : 0;

	memcpy(to, len ? from.data : "", len);
	to[len] = 0;
}

/* An array of texts, each with one byte; its entries follow. */
static void put_pair(const char *name, char byte)
{
	put_text(&frame, name);
	put_i32(&frame, 1);
	put_i8(&frame, byte);
}

static void start_join(struct client *client)
{
	start_frame(JOIN, 4);
	put_text(&frame, "group");
	put_i32(&frame, session_ms);
	put_i32(&frame, rebalance_ms);
	put_text(&frame, client->id);
	put_text(&frame, "consumer");
	put_i32(&frame, 1);
	put_pair("a", 'A');
	client->request = begin();
}

static bool waits(struct client *client)
{
	return request_missing(client->request) > 0;
}

static void end_join(struct client *client)
{
	char leader[64];

	CHECK(!waits(client) && reply(client->request));
	client->request = NULL;
	get_i32(&body);
	client->error = get_i16(&body);
	client->generation = get_i32(&body);
	get_text(&body);
	copy_text(leader, get_text(&body));
	copy_text(client->id, get_text(&body));
	client->members = get_i32(&body);
	client->leads = leader[0] && !strcmp(leader, client->id);
	for (int i = 0; i < client->members; i++) {
		CHECK(get_text(&body).len > 0);
		CHECK(get_bytes(&body).len == 1);
	}
	CHECK(is_at_end(&body));
}

/* Join without the others. Return: the error. */
static int join_at_once(struct client *client)
{
	start_join(client);
	end_join(client);
	return client->error;
}

static void join_and_wait(struct client *client)
{
	start_join(client);
	CHECK(waits(client));
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

static void put_member(const struct client *client)
{
	put_text(&frame, "group");
	put_i32(&frame, client->generation);
	put_text(&frame, client->id);
}

/* SyncGroup; a leader assigns "x" to itself and "y" to another member. */
static void start_sync(struct client *client, struct client *other)
{
	start_frame(SYNC, 2);
	put_member(client);
	put_i32(&frame, client->leads ? 1 + !!other : 0);
	if (client->leads)
		put_pair(client->id, 'x');
	if (client->leads && other)
		put_pair(other->id, 'y');
	client->request = begin();
}

static void end_sync(struct client *client)
{
	CHECK(!waits(client) && reply(client->request));
	client->request = NULL;
	get_i32(&body);
	client->error = get_i16(&body);
	copy_text(client->assignment, get_bytes(&body));
	CHECK(is_at_end(&body));
}

static void sync_at_once(struct client *client, struct client *other)
{
	start_sync(client, other);
	end_sync(client);
	CHECK(!client->error);
}

static int beat(const struct client *client)
{
	start_frame(HEARTBEAT, 2);
	put_member(client);
	CHECK(reply(begin()) && !get_i32(&body));
	return get_i16(&body);
}

static int quit(const struct client *client)
{
	start_frame(LEAVE, 2);
	put_text(&frame, "group");
	put_text(&frame, client->id);
	CHECK(reply(begin()) && !get_i32(&body));
	return get_i16(&body);
}

static void read_alarms(void)
{
	waiting_submit();
	waiting_events();
}

/* The alarm of a session ends; @early: before the session. */
static void end_session(struct client *client, bool early)
{
	struct member *member = member_of(client);
	uint64_t deadline = member->session.deadline;

	wait_alarm(&member->session, now_ns());
	if (early)
		member->session.deadline = deadline;
	read_alarms();
}

static void woken(struct wait *wait, enum wait_end end)
{
	container_of(wait, struct request, wait)->missing = 0;
}

/* As in a worker, the request of a client waits until it is woken. */
static void park(struct client *client)
{
	CHECK(waits(client));
	client->request->wait.fn = woken;
	request_wait(client->request, 1);
}

static bool is_woken(const struct client *client)
{
	read_alarms();
	return !client->request->missing;
}

/* The request of a client that waits is answered at once. Return: the error. */
static int end_parked(struct client *client, void (*end)(struct client *client))
{
	bool at_once = is_woken(client);

	CHECK(at_once);
	if (!at_once)
		wait_complete(&client->request->wait);
	read_alarms();
	end(client);
	return client->error;
}

static void end_rebalance(void)
{
	group->deadline = now_ns();
}

/* The connection of a client whose request waits is closed. */
static void disconnect(struct client *client)
{
	reply(client->request);
}

/* A worker that is killed. Return: its process ID. */
static pid_t killed(void (*function)(void))
{
	pid_t pid = fork();
	int how;

	if (!pid) {
		waiting_open(false);
		function();
		raise(SIGKILL);
	}
	CHECK(waitpid(pid, &how, 0) == pid && WIFSIGNALED(how));
	return pid;
}

/* A stable group of one member. */
static void form(void)
{
	join_at_once(&first);
	CHECK(!first.error && first.leads && first.members == 1);
	sync_at_once(&first, NULL);
	CHECK(!strcmp(first.assignment, "x"));
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
	CHECK(waits(&second));
	sync_at_once(&first, &second);
	end_sync(&second);
	CHECK(!strcmp(first.assignment, "x") && !strcmp(second.assignment, "y"));
}

static void end_of_a_session_starts_a_rebalance(void)
{
	start();
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

static void member_that_does_not_rejoin_is_removed_although_no_request_waits(void)
{
	start();
	form_two();
	CHECK(!quit(&second));
	member_of(&first)->due = now_ns();
	CHECK(beat(&first) == REBALANCE_IN_PROGRESS);
	read_alarms();
	CHECK(beat(&first) == UNKNOWN_MEMBER_ID && group->state == EMPTY);
}

static void group_of_which_no_member_rejoins_is_empty(void)
{
	start();
	form_two();
	join_and_wait(&first);
	disconnect(&first);
	end_rebalance();
	CHECK(!quit(&second));
	CHECK(beat(&first) == UNKNOWN_MEMBER_ID && group->state == EMPTY);
}

static void assignment_that_is_too_large_ends_the_wait_of_the_leader(void)
{
	static char large[GROUP_DATA_MAX + 1];
	struct text bytes = { large, sizeof(large) };

	start();
	form_two();
	rejoin_both(&first, &second);
	start_frame(SYNC, 2);
	put_member(&first);
	put_i32(&frame, 1);
	put_text(&frame, second.id);
	wire_bytes(&frame, &bytes);
	first.request = begin();
	end_sync(&first);
	CHECK(first.error == MESSAGE_TOO_LARGE && !member_of(&first)->waits_in);
}

static void closed_connection_of_a_known_member_keeps_its_place(void)
{
	start();
	form_two();
	join_and_wait(&first);
	disconnect(&first);
	rejoin_both(&second, &first);
	CHECK(first.members == 2);
}

static void join_ends_a_sync_that_waits_and_has_the_same_generation(void)
{
	struct client again;

	start();
	form_two();
	rejoin_both(&first, &second);
	start_sync(&second, NULL);
	park(&second);
	again = second;
	CHECK(!join_at_once(&again) && again.generation == first.generation);
	CHECK(end_parked(&second, end_sync) == REBALANCE_IN_PROGRESS);
	start_sync(&again, NULL);
	sync_at_once(&first, &again);
	end_sync(&again);
	CHECK(!again.error && !strcmp(again.assignment, "y"));
}

static void sync_of_another_connection_does_not_end_a_join_that_waits(void)
{
	struct client again;

	start();
	form_two();
	again = first;
	start_join(&first);
	park(&first);
	start_sync(&again, NULL);
	end_sync(&again);
	CHECK(again.error == REBALANCE_IN_PROGRESS && waits(&first));
	start_join(&second);
	CHECK(!end_parked(&first, end_join));
	end_join(&second);
	CHECK(!second.error && first.members == 2);
}

static void request_that_waits_ends_with_its_member(void)
{
	start();
	form_two();
	start_join(&first);
	park(&first);
	CHECK(!quit(&first) && end_parked(&first, end_join) == UNKNOWN_MEMBER_ID);
	first = unknown;
	rejoin_both(&first, &second);
	start_sync(&second, NULL);
	park(&second);
	CHECK(!quit(&second) && end_parked(&second, end_sync) == UNKNOWN_MEMBER_ID);
}

static void rejoin_first(void)
{
	start_join(&first);
}

static void join_is_answered_although_its_client_has_gone_on_at_a_killed_worker(void)
{
	struct client again;

	start();
	form_two();
	again = first;
	start_join(&again);
	park(&again);
	groups_repair(killed(rejoin_first));
	CHECK(end_parked(&again, end_join) == REBALANCE_IN_PROGRESS);
	rejoin_both(&first, &second);
	CHECK(first.members == 2);
}

static void wrong_members_are_refused(void)
{
	struct client other = { .id = "member-0-1" };

	start();
	CHECK(beat(&other) == UNKNOWN_MEMBER_ID && quit(&other) == UNKNOWN_MEMBER_ID);
	form();
	other.generation = first.generation;
	CHECK(beat(&other) == UNKNOWN_MEMBER_ID);
	copy_text(other.id, text_of("member-2000000000-1"));
	CHECK(beat(&other) == UNKNOWN_MEMBER_ID);
	other = first;
	other.generation++;
	CHECK(beat(&other) == ILLEGAL_GENERATION);
	copy_text(other.id, text_of("member-0-1"));
	CHECK(join_at_once(&other) == UNKNOWN_MEMBER_ID);
	other = unknown;
	session_ms = 0;
	CHECK(join_at_once(&other) == INVALID_SESSION_TIMEOUT);
	session_ms = HOUR_MS + 1;
	CHECK(join_at_once(&other) == INVALID_SESSION_TIMEOUT);
}

static void overwrite_with_the_lock(void)
{
	group_lock();
	memset(group->next, 1, 100);
}

static void process_killed_with_the_lock_leaves_groups_without_members(void)
{
	pid_t pid;

	start();
	form();
	start_join(&second);
	park(&second);
	pid = killed(overwrite_with_the_lock);
	CHECK(beat(&first) == UNKNOWN_MEMBER_ID);
	groups_repair(pid);
	CHECK(end_parked(&second, end_join) == UNKNOWN_MEMBER_ID);
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(end_of_a_session_starts_a_rebalance),
		CASE(member_that_does_not_rejoin_is_removed_although_no_request_waits),
		CASE(group_of_which_no_member_rejoins_is_empty),
		CASE(assignment_that_is_too_large_ends_the_wait_of_the_leader),
		CASE(closed_connection_of_a_known_member_keeps_its_place),
		CASE(join_ends_a_sync_that_waits_and_has_the_same_generation),
		CASE(sync_of_another_connection_does_not_end_a_join_that_waits),
		CASE(request_that_waits_ends_with_its_member),
		CASE(join_is_answered_although_its_client_has_gone_on_at_a_killed_worker),
		CASE(wrong_members_are_refused),
		CASE(process_killed_with_the_lock_leaves_groups_without_members),
		{ }
	};

	return run(cases);
}
