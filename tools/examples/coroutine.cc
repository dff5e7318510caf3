// SPDX-License-Identifier: GPL-2.0
/*
 * Coroutines of C++20 that wait for operations: each is resumed by the event of its own.
 */
#include <coroutine>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include <twheel.hpp>

using namespace std::chrono_literals;

namespace {

/* co_await parked(...) adds the operation, and returns its event. The cookie finds the waiter. */
class parked {
public:
	parked(const twheel::purgatory &purgatory, const twheel::operation &operation)
		: purgatory_(purgatory), operation_(operation)
	{
	}

	static void end(const twheel::event &event)
	{
		auto *self = reinterpret_cast<parked *>(event.cookie);

		self->event_ = event;
		self->waiter_.resume();
	}

	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> waiter)
	{
		waiter_ = waiter;
		operation_.cookie(reinterpret_cast<std::uintptr_t>(this));
		purgatory_.add(operation_);
	}

	twheel::event await_resume() const noexcept
	{
		return event_;
	}

private:
	const twheel::purgatory &purgatory_;
	twheel::operation operation_;
	std::coroutine_handle<> waiter_;
	twheel::event event_{};
};

/* A coroutine that runs until it waits, and frees itself at its end. */
struct task {
	struct promise_type {
		task get_return_object() noexcept { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() noexcept {}
		void unhandled_exception() noexcept { std::terminate(); }
	};
};

task order(const twheel::purgatory &purgatory, std::string name, std::chrono::nanoseconds timeout,
	   int &open)
{
	const auto operation = twheel::operation().in(timeout).any({twheel::key(name)});
	const auto event = co_await parked(purgatory, operation);

	std::cout << name << ": "
		  << (event.reason == TWHEEL_REASON_COMPLETED ? "paid" : "timeout") << '\n';
	open--;
}

} // namespace

int main()
try {
	twheel::purgatory purgatory;
	int open = 2;

	order(purgatory, "order-1", 1min, open);
	order(purgatory, "order-2", 20ms, open);
	purgatory.signal(twheel::key("order-1"));
	while (open) {
		twheel::event event;

		if (purgatory.read(&event, 1) == 1)
			parked::end(event);
	}
	return 0;
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
