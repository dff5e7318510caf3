// SPDX-License-Identifier: GPL-2.0
/* A job that is due in 50 ms. The first worker dies after it has read the event. */
#include <csignal>
#include <exception>
#include <iostream>

#include <sys/wait.h>
#include <unistd.h>

#include <twheel.hpp>

using namespace std::chrono_literals;

namespace {

const char name[] = "example-jobs";

/* The descriptor is the worker's own: whatever ends it gives back the events that it keeps. */
void work(bool dies)
{
	const twheel::purgatory purgatory(name);
	const twheel::queue queue = purgatory.events(0, TWHEEL_EVENTS_CONFIRM);
	twheel::event event;

	queue.read(&event, 1);
	if (dies)
		raise(SIGKILL);
	std::cout << "job " << event.cookie << " is done"
		  << (event.flags & TWHEEL_EVENT_AGAIN ? ", perhaps again" : "") << std::endl;
	queue.confirm(event);
}

/* Runs a worker to its end, and returns its wait status. */
int run_worker(bool dies)
{
	const pid_t pid = fork();
	int status = -1;

	if (!pid) {
		work(dies);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

} // namespace

int main()
try {
	const twheel::purgatory purgatory = twheel::purgatory::create(name, 0600);

	purgatory.add(twheel::operation().in(50ms).cookie(17).detached());
	if (WIFSIGNALED(run_worker(true)))
		std::cout << "the first worker has died" << std::endl;
	if (run_worker(false))
		return 1;
	twheel::purgatory::remove(name, TWHEEL_REMOVE_FORCE);
	return 0;
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
