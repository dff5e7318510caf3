// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of twheel.hpp. On a machine they run on the fake device, which is linked to the
 * program; in a guest, where the program is linked without it, on the module.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <poll.h>

#include <twheel.hpp>

namespace {

using namespace std::chrono_literals;
using twheel::key;
using twheel::operation;
using twheel::purgatory;
using twheel::reader;

/* Fails the running case. */
#define CHECK(condition)							\
	do {									\
		if (!(condition))						\
			throw std::runtime_error(std::to_string(__LINE__) +	\
						 ": " #condition);		\
	} while (0)

struct test {
	const char *name;
	void (*run)();
};

std::vector<test> tests;

/* Defines a case. */
#define TEST(name)		TEST_EXPANDED(name, __LINE__)
#define TEST_EXPANDED(name, line)	TEST_ON_LINE(name, line)
#define TEST_ON_LINE(name, line)						\
	void test_##line();							\
	const bool added_##line = (tests.push_back({name, test_##line}), true);	\
	void test_##line()

template <class Function>
std::error_code error_of(Function function)
{
	try {
		function();
	} catch (const std::system_error &error) {
		return error.code();
	}
	return {};
}

/* Return: true if the text of the exception has @subject. */
template <class Function>
bool is_about(const std::string &subject, Function function)
{
	try {
		function();
	} catch (const std::system_error &error) {
		return std::string(error.what()).find(subject) != std::string::npos;
	}
	return false;
}

template <class Type>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Type> &&
			    std::is_nothrow_move_assignable_v<Type> &&
			    std::is_nothrow_destructible_v<Type> &&
			    !std::is_copy_constructible_v<Type> &&
			    !std::is_copy_assignable_v<Type>;

static_assert(moves_only<purgatory>);
static_assert(moves_only<twheel::queue>);
static_assert(moves_only<twheel::batch>);
static_assert(moves_only<twheel::cell>);
static_assert(std::is_nothrow_destructible_v<reader>);
static_assert(std::is_nothrow_move_constructible_v<operation>);

bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST("owners close their descriptor")
{
	int fd;
	{
		purgatory first;
		fd = first.fd();
		purgatory second(std::move(first));
		CHECK(first.fd() == -1 && second.fd() == fd && is_open(fd));

		purgatory third;
		int other = third.fd();
		third = std::move(second);
		CHECK(third.fd() == fd && !is_open(other));
		purgatory &self = third;
		third = std::move(self);
		CHECK(third.fd() == fd && is_open(fd));
	}
	CHECK(!is_open(fd));

	purgatory released;
	fd = released.release();
	CHECK(is_open(fd) && released.fd() == -1);
	purgatory adopted = purgatory::adopt(fd);
	adopted.close();
	adopted.close();
	CHECK(!is_open(fd));
}

TEST("errors are exceptions")
{
	purgatory p;

	CHECK(error_of([] { purgatory("no-such-name"); }) ==
	      std::errc::no_such_file_or_directory);
	CHECK(error_of([] { purgatory(std::string("a/b")); }) == std::errc::invalid_argument);
	CHECK(error_of([&] { p.add(operation().quorum(2, {key("a")})); }) ==
	      std::errc::invalid_argument);
	CHECK(error_of([&] { p.info(12345); }) == std::errc::no_such_file_or_directory);
	CHECK(error_of([&] { p.watch(0, {key("a")}); }) == std::errc::no_such_file_or_directory);
	CHECK(!p.complete(0) && !p.cancel(12345678) && !p.rearm(12345, 1s));
	p.close();
	CHECK(error_of([&] { p.add(operation()); }) == std::errc::bad_file_descriptor);
	CHECK(error_of([&] { p.query(); }) == std::errc::bad_file_descriptor);
	CHECK(error_of([&] { twheel::batch(p, 0); }) == std::errc::invalid_argument);
}

TEST("an exception has the subject of the call")
{
	purgatory p;
	const auto id = p.add(operation().any({key("a")}));

	CHECK(is_about("/dev/twheel-no-such", [] { purgatory("no-such"); }));
	CHECK(is_about("/dev/twheel-no-such", [] { purgatory::remove("no-such"); }));
	CHECK(is_about("'a-key-of-18-bytes.': 18 bytes", [] { key("a-key-of-18-bytes."); }));
	CHECK(is_about("condition 3, 1 keys, quorum 2",
		       [&] { p.add(operation().quorum(2, {key("a")})); }));
	CHECK(is_about("operation " + std::to_string(id) + ": key b",
		       [&] { p.unwatch(id, key("b")); }));
	CHECK(is_about("operation 12345", [&] { p.info(12345); }));
	p.restrict_to_own(TWHEEL_RIGHT_ADD);
	CHECK(is_about("key k", [&] { p.signal(key("k")); }));
}

TEST("keys are compared and printed")
{
	const key uuid = key::uuid("123e4567-e89b-12d3-a456-426614174000");

	CHECK(key("acks") == key(std::string("acks")) && key("acks") != key("ack"));
	CHECK(key(7) != key("7") && key::parse("7") == key(7));
	CHECK(key("acks").str() == "acks" && key(7).str() == "7");
	CHECK(key::parse(uuid.str()) == uuid);
	CHECK(key(1) < key(2) && !(key(2) < key(1)));
	CHECK(error_of([] { key("a text of 17 char"); }) == std::errc::filename_too_long);
	CHECK(error_of([] { key(std::string("a\0b", 3)); }) == std::errc::invalid_argument);
	CHECK(error_of([] { key::uuid("no"); }) == std::errc::invalid_argument);
	CHECK(key::hash("abc") == key::parse("hash:abc"));
	CHECK(is_about("17 bytes, key::hash() takes more than 16", [] { key("a text of 17 char"); }));
}

TEST("two of three keys complete")
{
	purgatory p;
	reader events(p);
	const auto id = p.add(operation().in(1h).cookie(9).quorum(
		2, {key("a"), {key("b"), 2}, key("c")}));

	CHECK(p.signal(key("a")) == 0);
	CHECK(p.signal(key("a")) == 0);
	CHECK(p.signal(key("b")) == 0);
	CHECK(p.signal(key("b"), 5) == 1);

	const twheel::event event = *events.begin();
	CHECK(event.id == id && event.cookie == 9 && event.value == 5);
	CHECK(event.reason == TWHEEL_REASON_COMPLETED);
	CHECK(event.satisfied == 3 && event.missing == 0);
	CHECK(twheel::unsatisfied(event, {key("a"), {key("b"), 2}, key("c")}) ==
	      std::vector<key>{key("c")});
}

TEST("an expired quorum has the key that answered")
{
	purgatory p;
	reader events(p);

	const std::vector<twheel::watch> keys = {key("a"), key("b"), key("c")};
	const auto id = p.add(operation().in(1h).quorum(2, keys));
	p.signal(key("b"));
	p.rearm(id, 0s);
	const twheel::event event = *events.begin();
	CHECK(twheel::satisfied(event, keys) == std::vector<key>{key("b")});
	CHECK((twheel::unsatisfied(event, keys) == std::vector<key>{key("a"), key("c")}));
	CHECK(event.reason == TWHEEL_REASON_EXPIRED && event.satisfied == 2 && event.missing == 1);
}

TEST("conditions are passed on")
{
	purgatory p;

	p.add(operation().any({key("a"), key("b")}).cookie(1));
	p.add(operation().all({key("a"), key("b")}).cookie(2));
	p.add(operation().sum(10, {key("a"), key("b")}).cookie(3));
	CHECK(p.signal(key("a"), 0, 4) == 1);
	CHECK(p.signal(key("b"), 0, 6) == 2);
	CHECK(p.query().completed == 3 && p.query().pending == 0);
	/* The last condition counts. */
	operation op = operation().quorum(2, {key("a"), key("b")}).any({key("c")});
	p.add(op);
	p.add(op);
	CHECK(p.signal(key("c"), 0, 1, 1) == 1);
	CHECK(p.signal(key("c")) == 1);
}

TEST("deadlines of chrono expire")
{
	purgatory p;
	reader events(p);
	const auto start = std::chrono::steady_clock::now();
	const auto wall = std::chrono::system_clock::now();

	p.add(operation().in(2ms).cookie(1));
	p.add(operation().at(start + 2ms).cookie(2));
	p.add(operation().at(wall + 2ms).cookie(3));
	p.add(operation().in(-1s).cookie(4));
	p.add(operation().in(1.5ms).on(CLOCK_BOOTTIME).cookie(5));

	unsigned int seen = 0;
	for (const twheel::event &event : events) {
		CHECK(event.reason == TWHEEL_REASON_EXPIRED && event.time >= event.deadline);
		seen += event.cookie;
		if (seen == 15)
			break;
	}
	CHECK(std::chrono::steady_clock::now() >= start + 2ms);
}

TEST("durations round up and end in never")
{
	using hours = std::chrono::hours;
	using ps = std::chrono::duration<long long, std::pico>;

	CHECK(twheel::detail::ns(1ns) == 1 && twheel::detail::ns(ps(1)) == 1);
	CHECK(twheel::detail::ns(ps(1001)) == 2 && twheel::detail::ns(0.5ns) == 1);
	CHECK(twheel::detail::ns(hours::max()) == TWHEEL_NEVER);
	CHECK(twheel::detail::ns(hours(24 * 365 * 293)) == TWHEEL_NEVER);
	CHECK(twheel::detail::ns(hours(24 * 365 * 292)) < TWHEEL_NEVER);
	CHECK(twheel::detail::ns(std::chrono::duration<double>(1e300)) == TWHEEL_NEVER);
	CHECK(twheel::detail::ns(std::chrono::duration<double>(NAN)) == 0);
	CHECK(twheel::detail::ns(hours::min()) == 0);
}

TEST("the loser of two ends learns it")
{
	purgatory p;
	const auto id = p.add(operation());

	CHECK(p.cancel(id) && !p.cancel(id) && !p.complete(id, 1));
	CHECK(!p.complete_error(id, -EIO));
	CHECK(!p.rearm(id, 1s));
	CHECK(p.complete_error(p.add(operation()), -EIO));

	reader events(p);
	auto at = events.begin();
	CHECK(at->reason == TWHEEL_REASON_CANCELLED);
	/* Its event has been read. */
	CHECK(!p.cancel(id) && !p.complete(id, 1) && !p.rearm(id, 1s));
	++at;
	CHECK(at->reason == TWHEEL_REASON_COMPLETED && at->error == -EIO);
}

TEST("a pending operation changes")
{
	purgatory p;
	std::vector<twheel_watch_spec> keys;
	const auto id = p.add(operation().in(1h).any({key("a")}));

	CHECK(p.rearm(id, 2h, TWHEEL_REARM_IF_LATER));
	CHECK(!p.rearm(id, 3h, TWHEEL_REARM_IF_EARLIER));
	p.watch(id, {key("b"), {key("c"), 3}});
	p.unwatch(id, key("a"));
	CHECK(error_of([&] { p.unwatch(id, key("a")); }) == std::errc::no_such_process);
	CHECK(p.info(id).nr_keys == 2);
	CHECK(p.info(id, &keys).id == id && keys.size() == 2);
	for (const twheel_watch_spec &spec : keys)
		CHECK(key(spec.key) == key("b") ? spec.need == 1 && spec.bit == 1 :
						  spec.need == 3 && spec.bit == 2);
	CHECK(p.signal(key("a")) == 0 && p.cancel_key(key("c")) == 1);
}

TEST("listings have all operations")
{
	purgatory p;

	CHECK(p.list().empty());
	for (unsigned int i = 0; i < 700; i++)
		p.add(operation().cookie(i));
	std::vector<bool> seen(700);
	for (const twheel_pending &pending : p.list())
		seen.at(pending.cookie) = true;
	CHECK(std::count(seen.begin(), seen.end(), true) == 700);
	CHECK(p.complete_all(3) == 700);
}

TEST("a reader keeps events after break")
{
	purgatory p(O_NONBLOCK);
	reader events(p, 4);
	unsigned int nr = 0;

	CHECK(events.begin() == events.end() && !events.ended());
	for (unsigned int i = 0; i < 10; i++)
		p.complete(p.add(operation().cookie(i)));
	while (nr < 5)
		for (const twheel::event &event : events) {
			CHECK(event.cookie == nr);
			nr++;
			break;
		}
	purgatory moved(std::move(p));
	for (const twheel::event &event : events)
		CHECK(event.cookie == nr++);
	CHECK(nr == 10 && !events.ended());
}

/*
 * Tokens are handed to waiters, of which every third gives up at the same time: each token is
 * in the event of an operation that the waiter could not cancel.
 */
TEST("no token of a waiter that gives up is lost")
{
	const std::uint64_t tokens = 900;
	purgatory p(O_NONBLOCK);
	std::vector<std::uint64_t> ids, taken;

	for (std::uint64_t i = 0; i < tokens; i++)
		ids.push_back(p.add(operation().any({key("token")})));
	for (std::uint64_t i = 0; i < tokens; i++) {
		CHECK(p.signal(key("token"), i, 1, 1) == 1);
		CHECK(i % 3 || !p.cancel(ids[i]));
	}
	for (int i = 0; i < 20; i++) {
		reader events(p);

		/* The loop is left in the middle of a chunk, and the reader destroyed. */
		for (const twheel::event &event : events) {
			taken.push_back(event.value);
			if (taken.size() % 100 == 0)
				break;
		}
		for (const twheel::event &event : events.rest())
			taken.push_back(event.value);
		CHECK(events.rest().empty());
	}
	std::sort(taken.begin(), taken.end());
	CHECK(taken.size() == tokens);
	for (std::uint64_t i = 0; i < tokens; i++)
		CHECK(taken[i] == i);
}

TEST("a reader ends after a drain")
{
	purgatory p;
	reader events(p);
	unsigned int nr = 0;

	p.add(operation());
	p.add(operation());
	CHECK(p.drain() == 2);
	for (const twheel::event &event : events) {
		CHECK(event.reason == TWHEEL_REASON_CANCELLED);
		nr++;
	}
	CHECK(nr == 2 && events.ended());
	CHECK(error_of([&] { p.add(operation()); }).value() == ESHUTDOWN);
}

TEST("a blocking reader gets the signal of a thread")
{
	purgatory p;
	reader events(p);

	p.add(operation().any({key(1)}));
	std::thread signaller([&] { p.signal(key(1), 8); });
	const auto value = events.begin()->value;
	signaller.join();
	CHECK(value == 8);
}

TEST("poll reports an event")
{
	purgatory p(O_NONBLOCK);
	twheel::event event;
	pollfd poll_fd = {p.fd(), POLLIN, 0};

	CHECK(poll(&poll_fd, 1, 0) == 0);
	CHECK(error_of([&] { p.read(&event, 1); }) ==
	      std::errc::resource_unavailable_try_again);
	p.add(operation().in(0s));
	CHECK(poll(&poll_fd, 1, -1) == 1 && p.read(&event, 1) == 1);
}

TEST("periods are reported")
{
	purgatory p;
	reader events(p);
	unsigned int nr = 0;

	p.add(operation().in(1ms).every(1ms, 3));
	for (const twheel::event &event : events) {
		/* Two periods may end in one tick. */
		nr += event.expirations;
		CHECK(event.reason == TWHEEL_REASON_EXPIRED);
		if (!(event.flags & TWHEEL_EVENT_MORE))
			break;
	}
	CHECK(nr == 3);
}

TEST("a batch reports each result")
{
	using values = std::vector<std::uint64_t>;
	purgatory p;
	twheel::batch batch(p, 4);
	values results;

	batch.on_result([&](std::uint64_t index, const twheel_command &,
			    const twheel_result &result) {
		CHECK(index == results.size() && result.error == (index == 7 ? -ENOENT : 0));
		results.push_back(result.value);
	});
	for (int i = 0; i < 6; i++)
		batch.add(operation().any({key(i)}));
	CHECK(batch.submit() == 0 && results.size() == 6);

	const values ids = results;
	twheel::batch moved(std::move(batch));
	moved.cancel(ids[0]).cancel(ids[0]).complete(ids[1], 3).complete_error(ids[2], -EIO);
	moved.rearm(ids[3], 1h).rearm(ids[5], 1h, TWHEEL_REARM_IF_LATER);
	moved.watch(ids[3], {{key("b"), 2}}).unwatch(ids[3], key(3));
	moved.signal(key("b")).signal(key("b"), 8).cancel_key(key(4));
	CHECK(moved.submit() == 1);
	CHECK((values(results.begin() + 10, results.end()) == values{1, 0, 0, 0, 0, 1, 1}));
	CHECK(p.query().pending == 1);

	twheel::event events[6];
	CHECK(p.read(events, 6) == 5);
	for (int i = 0; i < 5; i++)
		CHECK(events[i].id == ids[static_cast<std::size_t>(i)]);
	CHECK(events[0].reason == TWHEEL_REASON_CANCELLED && events[1].value == 3);
	CHECK(events[2].error == -EIO && events[3].value == 8);
	CHECK(events[4].reason == TWHEEL_REASON_CANCELLED);
}

TEST("a stopped batch skips the rest")
{
	purgatory p;
	twheel::batch batch(p, 8, TWHEEL_BATCH_STOP);
	std::vector<int> errors;

	batch.on_result([&](std::uint64_t, const twheel_command &, const twheel_result &result) {
		errors.push_back(result.error);
	});
	batch.add(operation()).cancel(999999).add(operation());
	CHECK(batch.submit() == 2);
	CHECK((errors == std::vector<int>{0, -ENOENT, -ECANCELED}));
}

TEST("an exception of a result leaves submit()")
{
	purgatory p;
	twheel::batch batch(p);
	unsigned int reported = 0;

	batch.on_result([&](std::uint64_t, const twheel_command &, const twheel_result &) {
		if (!reported++)
			throw std::out_of_range("first");
		throw std::length_error("second");
	});
	batch.add(operation()).add(operation()).add(operation());
	try {
		batch.submit();
		CHECK(!"submit() throws");
	} catch (const std::out_of_range &) {
	}
	CHECK(reported == 3 && p.query().pending == 3);
	/* The batch is empty and can be used. */
	batch.on_result(nullptr);
	batch.add(operation());
	CHECK(batch.submit() == 0);
	/* A result function cannot change while commands are in the batch. */
	batch.add(operation());
	CHECK(error_of([&] { batch.on_result(nullptr); }) ==
	      std::errc::device_or_resource_busy);
}

TEST("an unusable batch keeps its commands")
{
	purgatory p;
	twheel::batch batch(p);
	const int fd = p.release();

	batch.add(operation());
	close(fd);
	CHECK(error_of([&] { batch.submit(); }) == std::errc::bad_file_descriptor);
}

TEST("a named purgatory has a detached queue")
{
	const std::string name = "hpp-test";
	purgatory p = purgatory::create(name, 0600);

	CHECK(error_of([&] { purgatory::create(name, 0600); }) == std::errc::file_exists);
	CHECK(error_of([&] { purgatory(name + '\0'); }) == std::errc::invalid_argument);
	CHECK(error_of([&] { purgatory::create(name + '\0', 0600); }) ==
	      std::errc::invalid_argument);
	CHECK(error_of([&] { purgatory::remove(name + '\0', TWHEEL_REMOVE_FORCE); }) ==
	      std::errc::invalid_argument);
	CHECK(std::string(p.query().name) == name);
	purgatory(name).add(operation().any({key(1)}).flags(TWHEEL_ADD_DETACHED).cookie(6));
	{
		twheel::queue queue = p.events();
		reader events(queue);
		CHECK(p.signal(key(1)) == 1 && p.queues().at(0).unread == 1);
		CHECK(events.begin()->cookie == 6);
	}
	p.cancel(p.add(operation().detached().cookie(7)));
	{
		twheel::queue queue = p.events(0, TWHEEL_EVENTS_CONFIRM);
		twheel::event event;

		CHECK(queue.read(&event, 1) == 1 && event.cookie == 7);
		queue.confirm(event);
	}
	CHECK(error_of([&] { purgatory::remove(name); }) ==
	      std::errc::device_or_resource_busy);
	p.add(operation());
	CHECK(purgatory::remove(name, TWHEEL_REMOVE_FORCE) == 1);

	twheel_create_args args = {};
	std::strcpy(args.name, name.c_str());
	args.mode = 0600;
	args.uid = args.gid = TWHEEL_CALLER;
	args.max_pending = 1;
	purgatory limited = purgatory::create(args);
	limited.add(operation());
	CHECK(error_of([&] { limited.add(operation()); }) == std::errc::no_space_on_device);
	purgatory::remove(name, TWHEEL_REMOVE_FORCE);
}

TEST("a file can be opened for writing only")
{
	const std::string name = "hpp-test";
	purgatory owner = purgatory::create(name, 0600);
	purgatory writer(name, O_WRONLY | O_NONBLOCK);
	const auto bad = std::errc::bad_file_descriptor;
	const std::uint64_t id = owner.add(operation().in(1h));
	const std::uint64_t other = owner.add(operation());
	twheel::event event;

	owner.add(operation().any({key(1)}));
	CHECK(writer.rearm(id, 2h) && writer.complete(id) && writer.cancel(other));
	CHECK(writer.signal(key(1), 7) == 1);
	CHECK(writer.cancel(writer.add(operation().detached())));
	CHECK(error_of([&] { writer.add(operation()); }) == bad);
	CHECK(error_of([&] { writer.read(&event, 1); }) == bad);
	CHECK(error_of([&] { writer.query(); }) == bad);
	CHECK(error_of([&] { writer.queues(); }) == bad);
	CHECK(error_of([&] { writer.list(); }) == bad);
	CHECK(error_of([&] { writer.info(id); }) == bad);
	CHECK(error_of([&] { writer.events(); }) == bad);
	CHECK(error_of([] { purgatory p(O_WRONLY); }) == std::errc::invalid_argument);
	purgatory::remove(name, TWHEEL_REMOVE_FORCE);
}

TEST("a restricted file cannot signal")
{
	purgatory p;

	p.restrict_to_own(TWHEEL_RIGHT_ADD);
	CHECK(error_of([&] { p.signal(key(1)); }) == std::errc::operation_not_permitted);
}

std::optional<std::uint64_t> next_cell(const purgatory &purgatory, twheel::cells &cells)
{
	twheel::event event;

	CHECK(purgatory.read(&event, 1) == 1);
	return cells.ended(event);
}

TEST("cells are armed, touched and released")
{
	using clock = std::chrono::steady_clock;
	purgatory purgatory;
	std::optional<twheel::cells> cells;

	try {
		cells.emplace(purgatory, 10);
	} catch (const std::system_error &error) {
		CHECK(error.code().value() == EOPNOTSUPP);
		return;
	}
	twheel::cell_pool pool(*cells);
	twheel::cell idle(pool, 7), other(pool, 8);
	const auto now = clock::now();

	CHECK(!idle.touch(now + 1h) && !idle.cancel() && idle.remaining(now) == 0ns);
	idle.arm(now + 1h);
	CHECK(error_of([&] { idle.arm(now); }).value() == EBUSY);
	CHECK(idle.touch(now + 2h));
	CHECK(idle.remaining(now) >= 2h && idle.remaining(now) < 2h + 1ms);
	CHECK(idle.cancel() && !idle.cancel() && !idle.move(now));
	idle.arm(now + 2h);
	CHECK(idle.move(now + 20ms));
	CHECK(next_cell(purgatory, *cells) == 7);
	CHECK(clock::now() >= now + 20ms);
	CHECK(!idle.touch(now + 1h));
	idle.arm(clock::time_point::max());
	CHECK(idle.remaining(now) == twheel::cell::duration::max());
	/* A cell that is released after its end is not reported. */
	other.arm(now);
	pollfd ready = {purgatory.fd(), POLLIN, 0};
	CHECK(poll(&ready, 1, -1) == 1);
	purgatory.cancel(purgatory.add(operation()));
	twheel::cell moved(std::move(other));
	idle = std::move(moved);
	twheel::cell last(std::move(idle));
	last.release();
	for (const twheel::cell *none : {&idle, &last})
		CHECK(!none->touch(now + 1h) && !none->move(now) && !none->cancel() &&
		      none->remaining(now) == 0ns);
	CHECK(!next_cell(purgatory, *cells) && !next_cell(purgatory, *cells));
}

bool passes(void (*run)())
{
	try {
		run();
		return true;
	} catch (const std::exception &error) {
		std::printf("# %s\n", error.what());
		return false;
	}
}

} // namespace

int main()
{
	int nr = 0, failed = 0;

	for (const test &test : tests) {
		const bool good = passes(test.run);

		failed += !good;
		std::printf("%sok %d - %s\n", good ? "" : "not ", ++nr, test.name);
	}
	std::printf("1..%d\n", nr);
	std::printf("# %d passed, %d failed\n", nr - failed, failed);
	return failed != 0;
}
