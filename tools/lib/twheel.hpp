/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libtwheel for C++17: owners of descriptors and batches, deadlines from <chrono>, keys as
 * values, and events as a range.
 *
 * The header has no code of its own in the library: link with -ltwheel. The functions of
 * <twheel.h> can be used with the same descriptors.
 *
 * A call that fails throws std::system_error with the errno of the function of <twheel.h>; its
 * text has the subject of the call, such as a node, a key or an operation. Two results are not
 * failures: cancel(), complete() and rearm() return false for an operation that has ended, and a
 * reader stops at the end of a non-blocking queue. No destructor and no move throws.
 *
 * Objects that own something can be moved and not copied.  const members of a purgatory may
 * run in several threads at once; close(), moves and destruction need exclusive access, as
 * does everything in a batch or a reader.
 */
#ifndef TWHEEL_HPP
#define TWHEEL_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <twheel_cells.h>

namespace twheel {

namespace detail {

/* The node of a named purgatory. */
struct node {
	const std::string &name;
};

/* A C function would ignore the part of a name after a NUL. It refuses an empty name. */
inline const char *c_name(const std::string &name)
{
	return name.find('\0') == name.npos ? name.c_str() : "";
}

/* The subject of a call, in the text of an exception. */
inline std::string text(const std::string &text)
{
	return text;
}

inline std::string text(const node &node)
{
	return TWHEEL_DEVICE "-" + node.name;
}

inline std::string text(std::uint64_t id)
{
	return "operation " + std::to_string(id);
}

inline std::string text(const ::twheel_key &key)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];

	return std::string("key ") + twheel_key_format(key, text);
}

inline std::string text(const ::twheel_add_args &args)
{
	return "operation with condition " + std::to_string(args.condition) + ", " +
	       std::to_string(args.nr_keys) + " keys, quorum " + std::to_string(args.quorum) +
	       ", threshold " + std::to_string(args.threshold);
}

template <class... About>
[[noreturn]] void fail(const char *call, const About &...about)
{
	const int error = errno;
	std::string what = call;

	((what += ": " + text(about)), ...);
	throw std::system_error(error, std::generic_category(), what);
}

/* The status of a function of <twheel.h>, which is not negative. */
template <class Status, class... About>
Status check(Status status, const char *call, const About &...about)
{
	if (status < 0)
		fail(call, about...);
	return status;
}

/* Return: false if the operation of the call had ended before. */
inline bool was_pending(int status, const char *call, std::uint64_t id)
{
	if (status < 0 && errno != ENOENT)
		fail(call, id);
	return status >= 0;
}

/* Rounds up, so that no operation expires early. A duration of 292 years or more is never. */
template <class Rep, class Period>
std::uint64_t ns(std::chrono::duration<Rep, Period> time)
{
	using namespace std::chrono;
	using seconds_fp = duration<long double>;

	if (!(time > time.zero()))
		return 0;
	if (seconds_fp(time) >= seconds_fp(nanoseconds::max()))
		return TWHEEL_NEVER;
	return static_cast<std::uint64_t>(ceil<nanoseconds>(time).count());
}

} // namespace detail

/* The end of an operation, or of a period. */
using event = ::twheel_event;

/**
 * class key - a key of 128 bits
 *
 * A number, or a text of 1 to TWHEEL_KEY_TEXT_MAX bytes; or a UUID, a text of any length, or
 * user input, by uuid(), hash() and parse().
 */
class key {
public:
	/* A template, since 0 is a null pointer, too. */
	template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
	explicit key(Integer number)
		: raw_(twheel_key_number(static_cast<std::uint64_t>(number)))
	{
	}

	explicit key(const std::string &text) : raw_()
	{
		convert(twheel_key_text, text, "twheel_key_text");
	}

	explicit key(const char *text) : key(std::string(text))
	{
	}

	key(const ::twheel_key &raw) noexcept : raw_(raw)
	{
	}

	static key uuid(const std::string &text)
	{
		key key(0);

		key.convert(twheel_key_uuid, text, "twheel_key_uuid");
		return key;
	}

	/* 128 bits of the SHA-256 of @data, which may have any length. */
	static key hash(std::string_view data) noexcept
	{
		return twheel_key_hash(data.data(), data.size());
	}

	static key parse(const std::string &text)
	{
		key key(0);

		key.convert(twheel_key_parse, text, "twheel_key_parse");
		return key;
	}

	operator ::twheel_key() const noexcept
	{
		return raw_;
	}

	std::string str() const
	{
		char text[TWHEEL_KEY_FORMAT_SIZE];

		return twheel_key_format(raw_, text);
	}

	friend bool operator==(const key &a, const key &b) noexcept
	{
		return a.pair() == b.pair();
	}

	friend bool operator!=(const key &a, const key &b) noexcept
	{
		return a.pair() != b.pair();
	}

	friend bool operator<(const key &a, const key &b) noexcept
	{
		return a.pair() < b.pair();
	}

private:
	std::pair<std::uint64_t, std::uint64_t> pair() const noexcept
	{
		return {raw_.v[0], raw_.v[1]};
	}

	/* A C function would ignore the part of @text after a NUL. */
	void convert(int (*function)(const char *, ::twheel_key *), const std::string &text,
		     const char *call)
	{
		if (text.find('\0') != text.npos)
			errno = EINVAL;
		else if (!function(text.c_str(), &raw_))
			return;
		detail::fail(call, "'" + text + "'",
			     std::to_string(text.size()) + " bytes" +
			     (errno == ENAMETOOLONG ? ", key::hash() takes more than 16" : ""));
	}

	::twheel_key raw_;
};

/**
 * struct watch - a key to watch, and the number of signals that satisfy it
 */
struct watch {
	watch(const twheel::key &watched, std::uint32_t signals = 1) : key(watched), need(signals)
	{
	}

	twheel::key key;
	std::uint32_t need;
};

namespace detail {

inline std::vector<::twheel_watch_spec> specs(const std::vector<watch> &keys)
{
	std::vector<::twheel_watch_spec> specs;

	specs.reserve(keys.size());
	for (const watch &watch : keys)
		specs.push_back({watch.key, watch.need, 0});
	return specs;
}

} // namespace detail

/**
 * class operation - an operation to add
 *
 * Without in() or at() it has no deadline; without any(), all(), quorum() or sum() no
 * signal completes it. An operation can be added any number of times.
 */
class operation {
public:
	operation() noexcept : args_()
	{
		args_.clock = CLOCK_MONOTONIC;
		args_.deadline = TWHEEL_NEVER;
	}

	/* Expires after @time, on CLOCK_MONOTONIC or the clock of on(). */
	template <class Rep, class Period>
	operation &in(std::chrono::duration<Rep, Period> time)
	{
		args_.flags &= ~TWHEEL_ADD_ABSTIME;
		args_.deadline = detail::ns(time);
		return *this;
	}

	/* Expires at @time on CLOCK_MONOTONIC. */
	template <class Duration>
	operation &at(std::chrono::time_point<std::chrono::steady_clock, Duration> time)
	{
		return at(CLOCK_MONOTONIC, detail::ns(time.time_since_epoch()));
	}

	/* Expires at @time on CLOCK_REALTIME, and follows the clock if it is set. */
	template <class Duration>
	operation &at(std::chrono::time_point<std::chrono::system_clock, Duration> time)
	{
		return at(CLOCK_REALTIME, detail::ns(time.time_since_epoch()));
	}

	/* @clock: CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME */
	operation &on(::clockid_t clock) noexcept
	{
		args_.clock = static_cast<std::uint32_t>(clock);
		return *this;
	}

	operation &any(const std::vector<watch> &keys)
	{
		return condition(TWHEEL_COND_ANY, keys);
	}

	operation &all(const std::vector<watch> &keys)
	{
		return condition(TWHEEL_COND_ALL, keys);
	}

	/* @number of @keys. */
	operation &quorum(std::uint32_t number, const std::vector<watch> &keys)
	{
		condition(TWHEEL_COND_QUORUM, keys);
		args_.quorum = number;
		return *this;
	}

	/* The amounts that are signalled under all @keys reach @threshold. */
	operation &sum(std::uint64_t threshold, const std::vector<watch> &keys)
	{
		condition(TWHEEL_COND_SUM, keys);
		args_.threshold = threshold;
		return *this;
	}

	template <class Rep, class Period>
	operation &slack(std::chrono::duration<Rep, Period> time)
	{
		args_.slack = detail::ns(time);
		return *this;
	}

	/* @runs: number of periods after which the operation expires; 0 for no limit. */
	template <class Rep, class Period>
	operation &every(std::chrono::duration<Rep, Period> period, std::uint64_t runs = 0)
	{
		args_.period = detail::ns(period);
		args_.runs = runs;
		return *this;
	}

	operation &cookie(std::uint64_t cookie) noexcept
	{
		args_.cookie = cookie;
		return *this;
	}

	/* The operation outlives its file; @queue is the queue of its events. */
	operation &detached(std::uint32_t queue = 0) noexcept
	{
		args_.flags |= TWHEEL_ADD_DETACHED;
		args_.queue = queue;
		return *this;
	}

	/* @flags: TWHEEL_ADD_CANCEL_ON_SET, TWHEEL_ADD_FIXED_DELAY */
	operation &flags(std::uint32_t flags) noexcept
	{
		args_.flags |= flags;
		return *this;
	}

	/* Arguments for twheel_add(). They refer to the keys in this object. */
	::twheel_add_args args() const noexcept
	{
		::twheel_add_args args = args_;

		args.keys = reinterpret_cast<std::uintptr_t>(keys_.data());
		args.nr_keys = static_cast<std::uint32_t>(keys_.size());
		return args;
	}

private:
	operation &at(::clockid_t clock, std::uint64_t deadline) noexcept
	{
		args_.flags |= TWHEEL_ADD_ABSTIME;
		args_.clock = static_cast<std::uint32_t>(clock);
		args_.deadline = deadline;
		return *this;
	}

	operation &condition(::twheel_condition condition, const std::vector<watch> &keys)
	{
		keys_ = detail::specs(keys);
		args_.condition = condition;
		args_.quorum = 0;
		args_.threshold = 0;
		return *this;
	}

	::twheel_add_args args_;
	std::vector<::twheel_watch_spec> keys_;
};

namespace detail {

inline std::vector<key> keys_of(const event &end, const std::vector<watch> &keys, bool satisfied)
{
	std::vector<key> found;

	/* A period has no bits. */
	for (std::size_t bit = 0; bit < keys.size() && !(end.flags & TWHEEL_EVENT_MORE); bit++)
		if (static_cast<bool>(end.satisfied >> bit & 1) == satisfied)
			found.push_back(keys[bit].key);
	return found;
}

} // namespace detail

/*
 * The keys that were satisfied, or not, when an operation ended. @end: its event. @keys: those of
 * its add, in the same order, as any(), all() or quorum() got them. The event has only bits, so the
 * program keeps the keys, for example in the object that it finds by the ID or the cookie.
 */
inline std::vector<key> satisfied(const event &end, const std::vector<watch> &keys)
{
	return detail::keys_of(end, keys, true);
}

inline std::vector<key> unsatisfied(const event &end, const std::vector<watch> &keys)
{
	return detail::keys_of(end, keys, false);
}

/**
 * class queue - owner of a descriptor that delivers events
 *
 * A purgatory, or the queue of the detached events of a named purgatory.
 */
class queue {
public:
	/* Takes over @fd, for example one that was received over a socket. */
	explicit queue(int fd) noexcept : fd_(fd)
	{
	}

	queue(queue &&other) noexcept : fd_(other.release())
	{
	}

	queue &operator=(queue &&other) noexcept
	{
		if (this != &other) {
			close();
			fd_ = other.release();
		}
		return *this;
	}

	~queue()
	{
		close();
	}

	/* For poll(), epoll and the functions of <twheel.h>; -1 after close(). */
	int fd() const noexcept
	{
		return fd_;
	}

	int release() noexcept
	{
		return std::exchange(fd_, -1);
	}

	void close() noexcept
	{
		if (fd_ >= 0)
			::close(release());
	}

	/*
	 * Return: the number of events; 0 after the last event. Throws EAGAIN if no event is
	 * queued on a non-blocking descriptor, and EINTR if a signal handler ran.
	 */
	std::size_t read(event *events, std::size_t nr) const
	{
		return static_cast<std::size_t>(
			detail::check(twheel_read_events(fd_, events, nr), "twheel_read_events"));
	}

	/* Confirms an event of the latest read of a queue with TWHEEL_EVENTS_CONFIRM. */
	void confirm(const event &read) const
	{
		detail::check(twheel_confirm(fd_, read.id), "twheel_confirm");
	}

private:
	int fd_;
};

/**
 * class purgatory - owner of an open purgatory
 *
 * The members without comments are the functions of <twheel.h> with these names.
 */
class purgatory : public queue {
public:
	/* Creates and opens a private purgatory. @flags: 0 or O_NONBLOCK */
	explicit purgatory(int flags = 0)
		: queue(detail::check(twheel_open(flags), "twheel_open", TWHEEL_DEVICE))
	{
	}

	/*
	 * Opens a named purgatory. @flags: as for twheel_open_named(); with O_WRONLY, the
	 * permission to write is enough.
	 */
	explicit purgatory(const std::string &name, int flags = 0)
		: queue(detail::check(twheel_open_named(detail::c_name(name), flags),
				      "twheel_open_named", detail::node{name}))
	{
	}

	/* Takes over @fd. */
	static purgatory adopt(int fd) noexcept
	{
		return purgatory(adopted(), fd);
	}

	static purgatory create(const std::string &name, unsigned int mode)
	{
		return adopt(detail::check(twheel_create(detail::c_name(name), mode),
					   "twheel_create", detail::node{name}));
	}

	static purgatory create(::twheel_create_args &args)
	{
		return adopt(detail::check(twheel_create_with(&args), "twheel_create_with",
					   std::string(args.name)));
	}

	/* Return: the number of cancelled operations. */
	static unsigned int remove(const std::string &name, unsigned int flags = 0)
	{
		unsigned int cancelled = 0;

		detail::check(twheel_remove(detail::c_name(name), flags, &cancelled),
			      "twheel_remove", detail::node{name});
		return cancelled;
	}

	/* A queue of detached events. @flags: O_NONBLOCK, TWHEEL_EVENTS_CONFIRM */
	queue events(std::uint32_t number = 0, int flags = 0) const
	{
		return queue(detail::check(twheel_events(fd(), number, flags), "twheel_events"));
	}

	/* @rights: TWHEEL_RIGHT_*: the remaining rights to its own operations */
	void restrict_to_own(std::uint32_t rights) const
	{
		detail::check(twheel_restrict(fd(), rights), "twheel_restrict");
	}

	::twheel_query_args query() const
	{
		::twheel_query_args state;

		detail::check(twheel_query(fd(), &state), "twheel_query");
		return state;
	}

	/* The queues of detached events, in the order of their numbers. */
	std::vector<::twheel_queue_args> queues() const
	{
		std::vector<::twheel_queue_args> found;
		::twheel_queue_args state{};

		for (; twheel_queue(fd(), &state) == 0; state.queue++)
			found.push_back(state);
		if (errno != ENOENT)
			detail::check(-1, "twheel_queue");
		return found;
	}

	/* Return: the ID. */
	std::uint64_t add(const operation &operation) const
	{
		::twheel_add_args args = operation.args();

		detail::check(twheel_add(fd(), &args), "twheel_add", args);
		return args.id;
	}

	/* Return: true if this call ended the operation, false if it had ended before. */
	bool cancel(std::uint64_t id) const
	{
		return detail::was_pending(twheel_cancel(fd(), id), "twheel_cancel", id);
	}

	/* Return: as cancel(). */
	bool complete(std::uint64_t id, std::uint64_t value = 0) const
	{
		return detail::was_pending(twheel_complete(fd(), id, value), "twheel_complete",
					   id);
	}

	/* @error: a negative error number. Return: as cancel(). */
	bool complete_error(std::uint64_t id, int error) const
	{
		return detail::was_pending(twheel_complete_error(fd(), id, error),
					   "twheel_complete_error", id);
	}

	/* Return: the number of completed operations. */
	unsigned int complete_all(std::uint64_t value = 0, int error = 0,
				  unsigned int flags = 0) const
	{
		unsigned int completed = 0;

		detail::check(twheel_complete_all(fd(), value, error, flags, &completed),
			      "twheel_complete_all");
		return completed;
	}

	/* Return: false if the operation had ended before, or if @mode prevented the move. */
	template <class Rep, class Period>
	bool rearm(std::uint64_t id, std::chrono::duration<Rep, Period> time,
		   enum ::twheel_rearm mode = TWHEEL_REARM_ALWAYS) const
	{
		const int moved = ::twheel_rearm(fd(), id, detail::ns(time), mode);

		return detail::was_pending(moved, "twheel_rearm", id) && moved;
	}

	void watch(std::uint64_t id, const std::vector<twheel::watch> &keys) const
	{
		const std::vector<::twheel_watch_spec> specs = detail::specs(keys);

		detail::check(twheel_watch(fd(), id, specs.data(),
					   static_cast<unsigned int>(specs.size())),
			      "twheel_watch", id);
	}

	void unwatch(std::uint64_t id, const key &key) const
	{
		detail::check(twheel_unwatch(fd(), id, key), "twheel_unwatch", id, key);
	}

	/* Return: the number of completed operations. */
	unsigned int signal(const key &key, std::uint64_t value = 0, std::uint64_t amount = 1,
			    std::uint32_t limit = 0) const
	{
		::twheel_signal_args args = {};

		args.key = key;
		args.value = value;
		args.amount = amount;
		args.limit = limit;
		detail::check(twheel_signal_with(fd(), &args), "twheel_signal_with", key);
		return args.completed;
	}

	/* Return: the number of cancelled operations. */
	unsigned int cancel_key(const key &key) const
	{
		unsigned int cancelled = 0;

		detail::check(twheel_cancel_key(fd(), key, &cancelled), "twheel_cancel_key", key);
		return cancelled;
	}

	/* Return: the number of cancelled operations. */
	unsigned int drain() const
	{
		unsigned int cancelled = 0;

		detail::check(twheel_drain(fd(), &cancelled), "twheel_drain");
		return cancelled;
	}

	/* @keys: set to the watched keys, unless NULL */
	::twheel_pending info(std::uint64_t id,
			      std::vector<::twheel_watch_spec> *keys = nullptr) const
	{
		::twheel_pending pending;

		if (keys)
			keys->resize(TWHEEL_MAX_KEYS);
		detail::check(twheel_info(fd(), id, &pending, keys ? keys->data() : nullptr,
					  keys ? TWHEEL_MAX_KEYS : 0),
			      "twheel_info", id);
		if (keys && pending.nr_keys < keys->size())
			keys->resize(pending.nr_keys);
		return pending;
	}

	/* @flags: 0 or TWHEEL_LIST_OTHERS */
	std::vector<::twheel_pending> list(unsigned int flags = 0) const
	{
		const unsigned int chunk = 256;
		std::vector<::twheel_pending> entries;
		std::uint64_t cursor = 0;

		while (cursor != TWHEEL_LIST_END) {
			const std::size_t old = entries.size();

			entries.resize(old + chunk);
			entries.resize(old + static_cast<std::size_t>(detail::check(
				twheel_list(fd(), flags, &cursor, &entries[old], chunk),
				"twheel_list")));
		}
		return entries;
	}

private:
	struct adopted {
	};

	purgatory(adopted, int fd) noexcept : queue(fd)
	{
	}
};

/**
 * class reader - the events of a queue as a range
 *
 *	twheel::reader events(purgatory);
 *	for (const twheel::event &event : events)
 *
 * The loop ends after the last event (see ended()), or when no event is queued and the
 * descriptor is non-blocking; then a further loop continues. A loop that was left by break
 * or by an exception continues with the next event.
 *
 * A reader takes several events from the queue at once. The events that it has not delivered
 * are lost when it is destroyed, so a reader lives as long as its queue, or its owner asks it
 * for the rest(). If a queue with TWHEEL_EVENTS_CONFIRM is closed then, and not read again, they
 * are delivered to another reader. The queue may be moved.
 */
class reader {
public:
	class iterator {
	public:
		using iterator_category = std::input_iterator_tag;
		using value_type = event;
		using difference_type = std::ptrdiff_t;
		using pointer = const event *;
		using reference = const event &;

		reference operator*() const noexcept
		{
			return reader_->current_;
		}

		pointer operator->() const noexcept
		{
			return &reader_->current_;
		}

		iterator &operator++()
		{
			if (!reader_->next())
				reader_ = nullptr;
			return *this;
		}

		void operator++(int)
		{
			++*this;
		}

		friend bool operator==(const iterator &a, const iterator &b) noexcept
		{
			return a.reader_ == b.reader_;
		}

		friend bool operator!=(const iterator &a, const iterator &b) noexcept
		{
			return a.reader_ != b.reader_;
		}

	private:
		friend class reader;

		explicit iterator(reader *reader) noexcept : reader_(reader)
		{
		}

		reader *reader_;
	};

	/* @capacity: maximum number of events of one system call, at least one */
	explicit reader(const queue &queue, std::size_t capacity = 64)
		: fd_(queue.fd()), events_(capacity ? capacity : 1), current_()
	{
	}

	reader(const reader &) = delete;
	reader &operator=(const reader &) = delete;

	iterator begin()
	{
		return iterator(next() ? this : nullptr);
	}

	iterator end() noexcept
	{
		return iterator(nullptr);
	}

	/* Return: the events that were taken from the queue and not delivered. They are yours. */
	std::vector<event> rest()
	{
		const auto first = events_.begin() + static_cast<std::ptrdiff_t>(at_);
		const auto last = events_.begin() + static_cast<std::ptrdiff_t>(nr_);
		std::vector<event> rest(first, last);

		at_ = nr_;
		return rest;
	}

	/* Return: true after the last event, as after drain(). */
	bool ended() const noexcept
	{
		return ended_;
	}

private:
	/* Takes the next event. Return: false if there is none. */
	bool next()
	{
		if (at_ == nr_ && !fill())
			return false;
		current_ = events_[at_++];
		return true;
	}

	bool fill()
	{
		const ssize_t nr = twheel_read_events(fd_, events_.data(), events_.size());

		if (nr < 0 && errno != EAGAIN)
			detail::fail("twheel_read_events");
		at_ = 0;
		nr_ = nr > 0 ? static_cast<std::size_t>(nr) : 0;
		ended_ = nr == 0;
		return nr > 0;
	}

	int fd_;
	std::vector<event> events_;
	std::size_t at_ = 0;
	std::size_t nr_ = 0;
	event current_;
	bool ended_ = false;
};

/**
 * class batch - owner of a batch: many calls in one system call
 *
 * The purgatory must stay open as long as the batch is used; it may be moved. Commands that
 * have not been submitted are not executed when the batch is destroyed.
 */
class batch {
public:
	using function = std::function<void(std::uint64_t index, const ::twheel_command &command,
					    const ::twheel_result &result)>;

	/* @flags: 0 or TWHEEL_BATCH_STOP */
	explicit batch(const purgatory &purgatory, unsigned int size = 128,
		       unsigned int flags = 0)
		: batch_(twheel_batch_new(purgatory.fd(), size, flags)),
		  results_(std::make_unique<results>())
	{
		if (!batch_)
			detail::fail("twheel_batch_new");
		twheel_batch_on_result(batch_.get(), on_result, results_.get());
	}

	/*
	 * Sets the function that reports the result of each further command, while no command
	 * is in the batch. It must not use the batch. If it throws, it is still called for
	 * the other results, and the call that submitted the commands throws the first
	 * exception.
	 */
	void on_result(function report)
	{
		/* Restarts the index at 0. */
		check(twheel_batch_on_result(batch_.get(), on_result, results_.get()));
		results_->report = std::move(report);
	}

	/* The calls of a purgatory. A command that does not fit submits the full batch. */
	batch &add(const operation &operation)
	{
		const ::twheel_add_args args = operation.args();

		return check(twheel_batch_add(batch_.get(), &args));
	}

	batch &cancel(std::uint64_t id)
	{
		return check(twheel_batch_cancel(batch_.get(), id));
	}

	batch &complete(std::uint64_t id, std::uint64_t value = 0)
	{
		return check(twheel_batch_complete(batch_.get(), id, value));
	}

	batch &complete_error(std::uint64_t id, int error)
	{
		return check(twheel_batch_complete_error(batch_.get(), id, error));
	}

	template <class Rep, class Period>
	batch &rearm(std::uint64_t id, std::chrono::duration<Rep, Period> time,
		     enum ::twheel_rearm mode = TWHEEL_REARM_ALWAYS)
	{
		return check(twheel_batch_rearm(batch_.get(), id, detail::ns(time), mode));
	}

	batch &watch(std::uint64_t id, const std::vector<twheel::watch> &keys)
	{
		const std::vector<::twheel_watch_spec> specs = detail::specs(keys);

		return check(twheel_batch_watch(batch_.get(), id, specs.data(),
						static_cast<unsigned int>(specs.size())));
	}

	batch &unwatch(std::uint64_t id, const key &key)
	{
		return check(twheel_batch_unwatch(batch_.get(), id, key));
	}

	batch &signal(const key &key, std::uint64_t value = 0, std::uint64_t amount = 1,
		      std::uint32_t limit = 0)
	{
		::twheel_signal_args args = {};

		args.key = key;
		args.value = value;
		args.amount = amount;
		args.limit = limit;
		return check(twheel_batch_signal_with(batch_.get(), &args));
	}

	batch &cancel_key(const key &key)
	{
		return check(twheel_batch_cancel_key(batch_.get(), key));
	}

	/*
	 * Return: the number of commands that failed since this function last returned. After
	 * an exception of the kernel's, the commands that were not executed are still in the
	 * batch.
	 */
	unsigned int submit()
	{
		const int failed = twheel_batch_submit(batch_.get());

		check(failed);
		return static_cast<unsigned int>(failed);
	}

private:
	struct results {
		function report;
		std::exception_ptr exception;
	};

	struct free_batch {
		void operator()(::twheel_batch *batch) const noexcept
		{
			twheel_batch_free(batch);
		}
	};

	/* An exception must not pass through the functions of the library, which are C. */
	static void on_result(void *context, std::uint64_t index,
			      const ::twheel_command *command, const ::twheel_result *result)
	{
		results *to = static_cast<results *>(context);

		try {
			if (to->report)
				to->report(index, *command, *result);
		} catch (...) {
			if (!to->exception)
				to->exception = std::current_exception();
		}
	}

	batch &check(int status)
	{
		const int error = errno;

		if (results_->exception)
			std::rethrow_exception(std::exchange(results_->exception, nullptr));
		errno = error;
		detail::check(status, "twheel_batch");
		return *this;
	}

	std::unique_ptr<::twheel_batch, free_batch> batch_;
	std::unique_ptr<results> results_;
};

/**
 * class cells - owner of the mapped cells of a purgatory: timeouts and heartbeats without calls
 *
 * See twheel_cell_arm(3). The purgatory must stay open as long as they are used; it may be moved.
 */
class cells {
public:
	cells(const purgatory &purgatory, std::uint32_t nr) : map_()
	{
		detail::check(twheel_cell_map_init(&map_, purgatory.fd(), nr),
			      "twheel_cell_map_init");
	}

	cells(const cells &) = delete;
	cells &operator=(const cells &) = delete;

	~cells()
	{
		twheel_cell_map_free(&map_);
	}

	/*
	 * Return: the cookie of the cell that was armed when its operation ended, if it is still
	 * acquired. Pass each event of the purgatory.
	 */
	std::optional<std::uint64_t> ended(const event &end) noexcept
	{
		std::uint64_t cookie;

		return twheel_cell_event(&map_, &end, &cookie) ? std::optional(cookie) :
								 std::nullopt;
	}

private:
	friend class cell_pool;

	::twheel_cell_map map_;
};

/**
 * class cell_pool - cells with one timeout, on CLOCK_MONOTONIC
 *
 * Its cells are acquired and released by one thread at a time. They and the pool must be destroyed
 * before the cells of the purgatory.
 */
class cell_pool {
public:
	explicit cell_pool(cells &cells) : pool_()
	{
		twheel_cell_pool_init(&pool_, &cells.map_, CLOCK_MONOTONIC);
	}

	cell_pool(const cell_pool &) = delete;
	cell_pool &operator=(const cell_pool &) = delete;

private:
	friend class cell;

	::twheel_cell_pool pool_;
};

/**
 * class cell - owner of an acquired cell, and the handle of its latest life
 *
 * touch(), move(), cancel() and remaining() may run in several threads at once. They return false,
 * or zero, if the life has ended or was cancelled, and after release() and moves.
 */
class cell {
public:
	using time_point = std::chrono::steady_clock::time_point;
	using duration = std::chrono::nanoseconds;

	cell(cell_pool &pool, std::uint64_t cookie)
		: pool_(&pool.pool_),
		  number_(detail::check(twheel_cell_acquire(pool_, cookie), "twheel_cell_acquire"))
	{
	}

	cell(cell &&other) noexcept
		: pool_(std::exchange(other.pool_, nullptr)), number_(other.number_),
		  handle_(std::exchange(other.handle_, 0))
	{
	}

	cell &operator=(cell &&other) noexcept
	{
		if (this != &other) {
			release();
			pool_ = std::exchange(other.pool_, nullptr);
			number_ = other.number_;
			handle_ = std::exchange(other.handle_, 0);
		}
		return *this;
	}

	~cell()
	{
		release();
	}

	/* Gives the cell back to the pool. Its event is not reported any more. */
	void release() noexcept
	{
		if (pool_)
			twheel_cell_release(std::exchange(pool_, nullptr), number_);
		handle_ = 0;
	}

	void arm(time_point deadline)
	{
		const std::uint64_t handle = twheel_cell_arm(pool_, number_, ns(deadline));

		if (!handle)
			detail::fail("twheel_cell_arm");
		handle_ = handle;
	}

	bool touch(time_point deadline) const noexcept
	{
		return handle_ && !twheel_cell_touch(pool_, handle_, ns(deadline));
	}

	/* Also to an earlier deadline, by a call. */
	bool move(time_point deadline) const
	{
		return handle_ &&
		       detail::was_pending(twheel_cell_move(pool_, handle_, ns(deadline)),
					   "twheel_cell_move", handle_);
	}

	bool cancel() const noexcept
	{
		return handle_ && !twheel_cell_cancel(pool_, handle_);
	}

	duration remaining(time_point now) const noexcept
	{
		const std::uint64_t left =
			handle_ ? twheel_cell_remaining(pool_, handle_, ns(now)) : 0;

		return left == TWHEEL_NEVER ? duration::max() :
					      duration(static_cast<duration::rep>(left));
	}

private:
	static std::uint64_t ns(time_point time) noexcept
	{
		return detail::ns(time.time_since_epoch());
	}

	::twheel_cell_pool *pool_;
	int number_;
	std::uint64_t handle_ = 0;
};

} // namespace twheel

#endif /* TWHEEL_HPP */
