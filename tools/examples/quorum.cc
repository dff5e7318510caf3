// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for two of three keys, with a timeout, in an event loop of poll().
 *
 * Three replicas acknowledge a write, each by its own key.  The writes of this loop are parked
 * in one purgatory, whose descriptor stands for all of their timeouts.
 */
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <poll.h>

#include <twheel.hpp>

using namespace std::chrono_literals;

namespace {

/* Calls a function for each write, once it has ended. */
class writes {
public:
	using ended = std::function<void(const twheel::event &)>;

	int fd() const
	{
		return purgatory_.fd();
	}

	bool empty() const
	{
		return functions_.empty();
	}

	void wait(std::uint64_t write, std::chrono::nanoseconds timeout, ended function)
	{
		const auto id = purgatory_.add(twheel::operation().in(timeout).quorum(
			2, {ack(write, 1), ack(write, 2), ack(write, 3)}));

		functions_.emplace(id, std::move(function));
	}

	void acknowledge(std::uint64_t write, unsigned int replica)
	{
		purgatory_.signal(ack(write, replica), replica);
	}

	/* The descriptor is readable. */
	void dispatch()
	{
		for (const twheel::event &event : events_) {
			auto node = functions_.extract(event.id);

			/* An event that is dropped here could be an acknowledged write. */
			if (node.empty())
				throw std::logic_error("an event without a write");
			node.mapped()(event);
		}
	}

private:
	static twheel::key ack(std::uint64_t write, unsigned int replica)
	{
		return twheel::key(write * 4 + replica);
	}

	twheel::purgatory purgatory_{O_NONBLOCK};
	twheel::reader events_{purgatory_};
	std::map<std::uint64_t, ended> functions_;
};

} // namespace

int main()
try {
	writes writes;
	bool first = false, second = false;

	writes.wait(1, 5s, [&](const twheel::event &event) {
		first = event.reason == TWHEEL_REASON_COMPLETED && event.value == 3;
		std::cout << "write 1: acknowledged by two replicas\n";
	});
	writes.wait(2, 20ms, [&](const twheel::event &event) {
		second = event.reason == TWHEEL_REASON_EXPIRED;
		std::cout << "write 2: timeout\n";
	});
	writes.acknowledge(1, 1);
	writes.acknowledge(2, 1);
	writes.acknowledge(1, 3);

	while (!writes.empty()) {
		/* The other descriptors of the loop are further entries. */
		std::vector<pollfd> fds = {{writes.fd(), POLLIN, 0}};

		if (poll(fds.data(), fds.size(), -1) > 0 && fds[0].revents)
			writes.dispatch();
	}
	return !first || !second;
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
