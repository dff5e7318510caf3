// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for two of three keys, with a timeout, in an event loop of poll().
 *
 * Three replicas acknowledge a write, each by its own key. The writes of this loop are parked
 * in one purgatory, whose descriptor stands for all of their timeouts.
 */
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>

#include <twheel.hpp>

using namespace std::chrono_literals;

namespace {

using keys = std::vector<twheel::watch>;

/* Calls a function for each write, once it has ended, with the keys of its replicas. */
class writes {
public:
	using ended = std::function<void(const twheel::event &, const keys &)>;

	int fd() const
	{
		return purgatory_.fd();
	}

	bool empty() const
	{
		return pending_.empty();
	}

	void wait(std::uint64_t write, std::chrono::nanoseconds timeout, ended function)
	{
		const keys acks = {ack(write, 1), ack(write, 2), ack(write, 3)};
		const auto id = purgatory_.add(twheel::operation().in(timeout).quorum(2, acks));

		pending_.emplace(id, pending{acks, std::move(function)});
	}

	void acknowledge(std::uint64_t write, unsigned int replica)
	{
		purgatory_.signal(ack(write, replica), replica);
	}

	/* The descriptor is readable. */
	void dispatch()
	{
		for (const twheel::event &event : events_) {
			auto node = pending_.extract(event.id);

			/* An event that is dropped here could be an acknowledged write. */
			if (node.empty())
				throw std::logic_error("an event without a write");
			node.mapped().function(event, node.mapped().acks);
		}
	}

private:
	struct pending {
		keys acks;
		ended function;
	};

	static twheel::key ack(std::uint64_t write, unsigned int replica)
	{
		return twheel::key(std::to_string(write) + "/" + std::to_string(replica));
	}

	twheel::purgatory purgatory_{O_NONBLOCK};
	twheel::reader events_{purgatory_};
	std::map<std::uint64_t, pending> pending_;
};

} // namespace

int main()
try {
	writes writes;
	bool first = false, second = false;

	writes.wait(1, 5s, [&](const twheel::event &event, const keys &) {
		first = event.reason == TWHEEL_REASON_COMPLETED && event.value == 3;
		std::cout << "write 1: acknowledged by two replicas\n";
	});
	writes.wait(2, 20ms, [&](const twheel::event &event, const keys &acks) {
		second = event.reason == TWHEEL_REASON_EXPIRED;
		std::cout << "write 2: timeout, late:";
		for (const twheel::key &late : twheel::unsatisfied(event, acks))
			std::cout << ' ' << late.str();
		std::cout << '\n';
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
