// SPDX-License-Identifier: GPL-2.0
/* A service whose workers have a queue of events each, which outlives them. */
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <twheel.hpp>

using namespace std::chrono_literals;

namespace {

const char name[] = "example-routing";

/* The number of the worker is the number of its queue. */
void wait_for(const twheel::purgatory &purgatory, std::uint32_t worker, std::uint64_t order)
{
	const twheel::key key(order);

	purgatory.add(twheel::operation().in(1h).any({key}).cookie(order).detached(worker));
}

/* Handles the events in the queue of a worker. A worker would wait for more of them. */
void handle_events(const twheel::purgatory &purgatory, std::uint32_t worker,
		   const std::string &handler)
{
	const twheel::queue queue = purgatory.events(worker, O_NONBLOCK);
	twheel::reader events(queue);

	for (const twheel::event &event : events)
		std::cout << handler << ": order " << event.cookie << " of worker " << worker
			  << (event.reason == TWHEEL_REASON_COMPLETED ? " is paid" : " has ended")
			  << std::endl;
}

/* Worker 0 adds order 10, worker 1 the orders 11 to 13. Both crash before they are paid. */
void first_run(std::uint32_t worker)
{
	const twheel::purgatory purgatory(name);

	if (!worker)
		wait_for(purgatory, worker, 10);
	for (std::uint64_t order = 11; worker && order <= 13; order++)
		wait_for(purgatory, worker, order);
	std::abort();
}

void second_run(std::uint32_t worker)
{
	handle_events(twheel::purgatory(name), worker, "restarted");
}

void run(void (*work)(std::uint32_t), std::uint32_t worker)
{
	const pid_t pid = fork();

	if (!pid) {
		work(worker);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, nullptr, 0) != pid)
		throw std::runtime_error("no worker");
}

/* Worker 1 will not come back. First the events, then the list, see restart.c. */
void take_over(const twheel::purgatory &purgatory, std::uint32_t worker)
{
	handle_events(purgatory, worker, "supervisor");
	for (const twheel_pending &pending : purgatory.list(TWHEEL_LIST_OTHERS))
		if (pending.flags & TWHEEL_PENDING_DETACHED && pending.queue == worker)
			std::cout << "supervisor: order " << pending.cookie << " of worker "
				  << worker << " is pending" << std::endl;
}

void pay(const twheel::purgatory &purgatory, std::uint64_t order)
{
	purgatory.signal(twheel::key(order));
}

} // namespace

int main()
try {
	{
		const twheel::purgatory purgatory = twheel::purgatory::create(name, 0600);

		run(first_run, 0);
		run(first_run, 1);
		pay(purgatory, 10);
		pay(purgatory, 11);
		run(second_run, 0);
		run(second_run, 1);
		pay(purgatory, 12);
		take_over(purgatory, 1);
		pay(purgatory, 13);
		handle_events(purgatory, 1, "supervisor");
	}
	twheel::purgatory::remove(name);
	return 0;
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
