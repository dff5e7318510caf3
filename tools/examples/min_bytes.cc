// SPDX-License-Identifier: GPL-2.0
/* A reader of a log waits until the log has 1000 bytes, or for a minute. */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <thread>

#include <twheel.hpp>

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

class log {
public:
	/* First the data, then the signal: a reader that misses the signal sees the data. */
	void append(std::uint64_t bytes)
	{
		end_ += bytes;
		purgatory_.signal(key_, 0, bytes);
	}

	/* Returns false at the deadline. One thread may wait. */
	bool wait(std::uint64_t bytes, steady_clock::time_point deadline)
	{
		for (std::uint64_t end; (end = end_) < bytes;) {
			twheel::event event;
			const auto id = purgatory_.add(
				twheel::operation().at(deadline).sum(bytes - end, {key_}));

			/* Signals before the add are lost. */
			if (end_ != end)
				purgatory_.complete(id);
			purgatory_.read(&event, 1);
			if (event.reason != TWHEEL_REASON_COMPLETED)
				return false;
		}
		return true;
	}

private:
	const twheel::key key_{"log"};
	std::atomic<std::uint64_t> end_{0};
	twheel::purgatory purgatory_;
};

} // namespace

int main()
try {
	log log;
	std::thread writer([&log] {
		for (int i = 0; i < 5; i++)
			log.append(300);
	});
	const bool enough = log.wait(1000, steady_clock::now() + 1min);

	writer.join();
	std::cout << "at least 1000 bytes: " << (enough ? "yes" : "no") << '\n';
	return 0;
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
