/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libtwheel: the calls of /dev/twheel as C functions.
 *
 * <twheel.h> includes the structures and constants of <linux/twheel.h>. Link with
 * -ltwheel. The library is for services and tools that park delayed operations;
 * twheelctl is built on it.
 *
 * Unless stated otherwise, @fd is a descriptor of a purgatory, @id an operation, @key a key and
 * @batch a batch, and a function returns 0 on success, and -1 with errno set on failure. A failed
 * call has not changed the purgatory, except after EINTR, see below, and EFAULT of an output. Each
 * function has a manual page; Documentation/device-calls.rst lists the errors of each call.
 *
 * The library sets the sizes of structures and array entries, such as key_size. A
 * structure can be reused as it is.
 *
 * The library keeps no state and prints nothing. All functions are thread-safe, also
 * on a shared descriptor, but a struct twheel_batch must be used by one thread at a time.
 *
 * No call is restarted after EINTR. twheel_read_events() fails with EINTR when a signal
 * handler without SA_RESTART ran; signal() sets that flag, and sigaction() need not. A call
 * that ends or signals many operations fails with EINTR only if a signal kills the process;
 * its counts are the operations ended so far.
 *
 * When a structure of <linux/twheel.h> grows, the functions that take it get a new
 * symbol version, and existing programs keep using the old version.
 */
#ifndef TWHEEL_H
#define TWHEEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each open creates a private purgatory. */
#define TWHEEL_DEVICE	"/dev/twheel"

/* Creates and removes the named purgatories, /dev/twheel-NAME. */
#define TWHEEL_CONTROL	"/dev/twheel-control"

/* Maximum length of a text for twheel_key_text(), in bytes. */
#define TWHEEL_KEY_TEXT_MAX	16

/* Size of the text of twheel_key_format(), including the terminating NUL. */
#define TWHEEL_KEY_FORMAT_SIZE	37

/*
 * Purgatories
 */

/**
 * twheel_open() - create and open a private purgatory
 * @flags: 0 or O_NONBLOCK; the descriptor is always close-on-exec
 *
 * Return: a descriptor for the functions below, for poll() and for close(); or -1.
 */
int twheel_open(int flags);

/**
 * twheel_open_named() - open a named purgatory
 * @name: name of the purgatory
 * @flags: 0, O_NONBLOCK, O_WRONLY or both
 *
 * Return: a descriptor; or -1, with EINVAL if @name or @flags are invalid and ENOENT if
 * the purgatory does not exist.
 */
int twheel_open_named(const char *name, int flags);

/**
 * twheel_create() - create a named purgatory, owned by the caller
 * @name: 1 to 31 letters, digits, '-', '_' and '.', starting with a letter or a digit
 * @mode: permissions of its node, such as 0660
 *
 * The module parameters limit the number of pending operations.
 *
 * Return: a descriptor of the purgatory, as from twheel_open_named() but independent of
 * @mode; or -1.
 */
int twheel_create(const char *name, unsigned int mode);

/**
 * twheel_create_with() - create a named purgatory with an owner and limits
 * @args: properties of the purgatory; @major and @minor are set
 *
 * Return: as twheel_create().
 */
int twheel_create_with(struct twheel_create_args *args);

/**
 * twheel_remove() - remove a named purgatory
 * @name: name of the purgatory
 * @flags: 0, or TWHEEL_REMOVE_FORCE to remove it even if it is in use
 * @cancelled: set to the number of cancelled operations, unless NULL
 *
 * Return: 0; or -1, with EBUSY if the purgatory is in use.
 */
int twheel_remove(const char *name, unsigned int flags,
		  unsigned int *cancelled);

/**
 * twheel_restrict() - confine an open file to its own operations
 * @rights: TWHEEL_RIGHT_*, the remaining rights, or 0
 */
int twheel_restrict(int fd, unsigned int rights);

/**
 * twheel_query() - read the state of a purgatory
 * @args: set to the state
 */
int twheel_query(int fd, struct twheel_query_args *args);

/**
 * twheel_queue() - read the state of a queue of detached events
 * @fd: a named purgatory
 * @args: @queue is its number, the other fields are 0; set to the state of this queue, or of the
 *	next one if there is none of this number
 *
 * Return: 0; or -1, with ENOENT after the last queue.
 */
int twheel_queue(int fd, struct twheel_queue_args *args);

/*
 * Operations. Unless it is restricted, any file of a purgatory can access any of its
 * operations by ID. ENOENT: the operation has ended, or never existed; or the file is restricted,
 * and it belongs to another file.
 */

/**
 * twheel_add() - add an operation
 * @args: the operation; its @id is set
 */
int twheel_add(int fd, struct twheel_add_args *args);

/**
 * twheel_add_cmd() - ioctl number of an add, for a command of a batch or of io_uring
 * @args: the operation
 *
 * Return: TWHEEL_IOC_ADD with the size of a structure that ends before the last fields that are 0.
 */
unsigned int twheel_add_cmd(const struct twheel_add_args *args);

/* Cancel an operation. */
int twheel_cancel(int fd, uint64_t id);

/**
 * twheel_complete() - complete an operation, regardless of its condition
 * @value: value in its event
 */
int twheel_complete(int fd, uint64_t id, uint64_t value);

/**
 * twheel_complete_error() - complete an operation with an error
 * @error: error in its event, a negative error number such as -EIO
 */
int twheel_complete_error(int fd, uint64_t id, int error);

/**
 * twheel_complete_all() - complete all pending operations
 * @value: value in their events; 0 with an error
 * @error: error in their events, 0 or a negative error number
 * @flags: 0 for the operations of this open file, TWHEEL_COMPLETE_OTHERS for all
 * @completed: set to the number of completed operations, unless NULL
 */
int twheel_complete_all(int fd, uint64_t value, int error, unsigned int flags,
			unsigned int *completed);

/**
 * twheel_rearm() - move the deadline of an operation
 * @id: the operation; not a periodic one
 * @deadline: in ns from now; with TWHEEL_REARM_ABSTIME, a time of the operation's clock
 * @flags: TWHEEL_REARM_*, 0 for a relative deadline without a condition
 *
 * Return: 1 if the deadline was moved, 0 if the condition prevented it; or -1.
 */
int twheel_rearm(int fd, uint64_t id, uint64_t deadline, unsigned int flags);

/**
 * twheel_rearm_with() - move the deadline of an operation, with a slack
 * @args: the operation and its new deadline; @moved is set
 *
 * Return: as twheel_rearm().
 */
int twheel_rearm_with(int fd, struct twheel_rearm_args *args);

/*
 * Keys that operations watch
 */

/**
 * twheel_watch() - watch more keys
 * @id: the operation, which was added with a condition
 * @specs: the keys
 * @nr: number of keys, at least one
 */
int twheel_watch(int fd, uint64_t id, const struct twheel_watch_spec *specs,
		 unsigned int nr);

/**
 * twheel_unwatch() - stop watching a key
 *
 * Return: 0 or -1; ESRCH if it does not watch that key.
 */
int twheel_unwatch(int fd, uint64_t id, struct twheel_key key);

/**
 * twheel_signal() - signal a key once, with an amount of 1
 * @value: value in the events of the operations that the signal completes
 * @completed: set to the number of these operations, unless NULL
 *
 * It is not an error if no operation watches the key.
 */
int twheel_signal(int fd, struct twheel_key key, uint64_t value,
		  unsigned int *completed);

/**
 * twheel_signal_with() - signal a key with an amount and a limit
 * @args: the signal; its @completed is set. An @amount of 0 means 1, and a @limit
 *	of 0 means no limit.
 */
int twheel_signal_with(int fd, struct twheel_signal_args *args);

/**
 * twheel_cancel_key() - cancel all operations that watch a key
 * @cancelled: set to the number of cancelled operations, unless NULL
 */
int twheel_cancel_key(int fd, struct twheel_key key, unsigned int *cancelled);

/*
 * Cells
 */

/* Unlike uint64_t also aligned in 32-bit programs, as fast accesses need it. */
typedef uint64_t __attribute__((aligned(8))) twheel_cell_t;

/**
 * twheel_cells() - allocate and map the cells of an open file
 * @args: @nr is the number of cells, and set to that of those mapped, which is not smaller;
 *	@monotonic_offset and @boottime_offset are set
 *
 * Return: the first cell, until munmap(), or NULL.
 */
twheel_cell_t *twheel_cells(int fd, struct twheel_cells_args *args);

/**
 * twheel_exchange() - change the word of a cell, also to an earlier deadline
 * @id: its operation
 * @from: the expected word
 * @to: the new word
 *
 * Return: 0 or -1, with EAGAIN if the cell has another word than @from.
 */
int twheel_exchange(int fd, uint64_t id, uint64_t from, uint64_t to);

/*
 * Events and pending operations
 */

/**
 * twheel_read_events() - read events
 * @fd: the purgatory, or a descriptor from twheel_events()
 * @events: filled with the events
 * @nr: number of entries in @events, at least one
 *
 * Waits for the first event, unless the descriptor is O_NONBLOCK. Each event is
 * delivered to exactly one reader.
 *
 * Return: the number of events; 0 after the last event, as after twheel_drain(); or -1,
 * with EAGAIN if no event is queued and EINTR if a signal handler without SA_RESTART ran.
 */
ssize_t twheel_read_events(int fd, struct twheel_event *events, size_t nr);

/**
 * twheel_events() - open a queue of detached events of a named purgatory
 * @queue: number of the queue, below TWHEEL_MAX_QUEUES
 * @flags: O_NONBLOCK, TWHEEL_EVENTS_CONFIRM; the descriptor is always close-on-exec
 *
 * Return: a descriptor for twheel_read_events(), poll() and close(); or -1.
 */
int twheel_events(int fd, __u32 queue, int flags);

/**
 * twheel_confirm() - confirm an event before the next read
 * @fd: a descriptor from twheel_events() with TWHEEL_EVENTS_CONFIRM
 * @id: operation of an event of its latest read
 */
int twheel_confirm(int fd, uint64_t id);

/**
 * twheel_drain() - cancel all operations of an open file
 * @cancelled: set to the number of cancelled operations, unless NULL
 *
 * Further adds fail; the events can be read.
 */
int twheel_drain(int fd, unsigned int *cancelled);

/**
 * twheel_info() - describe a pending operation
 * @pending: set to its description
 * @keys: filled with its keys, the signals that each key still needs, and its bit in
 *	@satisfied of the event
 * @max_keys: number of entries in @keys; may be 0
 *
 * The operation watches @pending->nr_keys keys, of which at most @max_keys are written.
 */
int twheel_info(int fd, uint64_t id, struct twheel_pending *pending,
		struct twheel_watch_spec *keys, unsigned int max_keys);

/**
 * twheel_list() - list pending operations
 * @flags: 0 for the operations of this open file, TWHEEL_LIST_OTHERS for all
 * @cursor: 0 for the first call; each call sets it for the next call, the last call
 *	sets it to TWHEEL_LIST_END
 * @entries: filled with the operations
 * @max_entries: number of entries in @entries, at least one
 *
 * Return: the number of entries written, which may be 0 before the end; or -1.
 */
int twheel_list(int fd, unsigned int flags, uint64_t *cursor,
		struct twheel_pending *entries, unsigned int max_entries);

/*
 * Batches: many calls in one system call
 *
 * A command stays in a batch until the batch is submitted, by twheel_batch_submit() or
 * when a command is added to a full batch. Commands are executed in order, and each has
 * a result.
 */
struct twheel_batch;

/**
 * typedef twheel_batch_fn - reports the result of a command
 * @context: from twheel_batch_on_result()
 * @index: index of the command, counted from the call of twheel_batch_on_result()
 * @command: the command; for an add, @command->add.cookie identifies it
 * @result: an error and a value, which is the ID for an add
 *
 * Called once for each command, in order, by the thread that submits the batch.
 * The function must not use the batch (EBUSY).
 */
typedef void twheel_batch_fn(void *context, uint64_t index,
			     const struct twheel_command *command,
			     const struct twheel_result *result);

/**
 * twheel_batch_new() - create a batch
 * @fd: the purgatory; it must stay open as long as the batch is used
 * @size: capacity of the batch in commands, 1 to TWHEEL_MAX_BATCH
 * @flags: 0 or TWHEEL_BATCH_STOP. With the latter, the commands after a failed one
 *	are not executed and end with -ECANCELED, up to the next twheel_batch_submit().
 *
 * Return: the batch, or NULL.
 */
struct twheel_batch *twheel_batch_new(int fd, unsigned int size,
				      unsigned int flags);

/**
 * twheel_batch_on_result() - set the function that reports results
 * @fn: function called for each result, or NULL
 * @context: passed to @fn
 *
 * Return: 0; or -1 with EBUSY while commands are in the batch.
 */
int twheel_batch_on_result(struct twheel_batch *batch, twheel_batch_fn *fn,
			   void *context);

/**
 * twheel_batch_submit() - execute the commands in a batch
 *
 * After a failure, the commands that were not executed are still in the batch.
 *
 * Return: the number of commands that failed since this function last succeeded,
 * including commands of automatically submitted full batches; or -1.
 */
int twheel_batch_submit(struct twheel_batch *batch);

/**
 * twheel_batch_free() - free a batch
 * @batch: the batch, or NULL
 *
 * Commands that have not been submitted are not executed.
 */
void twheel_batch_free(struct twheel_batch *batch);

/*
 * The commands. Each has the parameters of the function without "batch_" in its name,
 * and copies them, including the keys. Return: 0; or -1 if the command was not added to
 * the batch: the full batch could not be submitted, ENOMEM, or EINVAL for too many keys.
 */
int twheel_batch_add(struct twheel_batch *batch,
		     const struct twheel_add_args *args);
int twheel_batch_cancel(struct twheel_batch *batch, uint64_t id);
int twheel_batch_complete(struct twheel_batch *batch, uint64_t id,
			  uint64_t value);
int twheel_batch_complete_error(struct twheel_batch *batch, uint64_t id,
				int error);
int twheel_batch_rearm(struct twheel_batch *batch, uint64_t id, uint64_t deadline,
		       unsigned int flags);
int twheel_batch_rearm_with(struct twheel_batch *batch,
			    const struct twheel_rearm_args *args);
int twheel_batch_watch(struct twheel_batch *batch, uint64_t id,
		       const struct twheel_watch_spec *specs, unsigned int nr);
int twheel_batch_unwatch(struct twheel_batch *batch, uint64_t id,
			 struct twheel_key key);
int twheel_batch_signal(struct twheel_batch *batch, struct twheel_key key,
			uint64_t value);
int twheel_batch_signal_with(struct twheel_batch *batch,
			     const struct twheel_signal_args *args);
int twheel_batch_cancel_key(struct twheel_batch *batch, struct twheel_key key);

/**
 * twheel_execute() - execute commands in one system call
 * @commands: the commands, with the sizes and addresses of their arrays
 * @size: their size in bytes; that of a command is TWHEEL_COMMAND_SIZE(cmd)
 * @results: filled with the results of the executed commands
 * @nr: number of commands, 1 to TWHEEL_MAX_BATCH
 * @flags: 0 or TWHEEL_BATCH_STOP
 *
 * A batch without copies, for programs and bindings that have arrays of their own.
 *
 * Return: the number of executed commands, which are the first ones: at least one, and fewer than
 * @nr after a failure with TWHEEL_BATCH_STOP, or before an error that the next call has; or -1.
 */
int twheel_execute(int fd, const struct twheel_command *commands, unsigned int size,
		   struct twheel_result *results, unsigned int nr, unsigned int flags);

/* Conversion of keys, see twheel_key_text(3) for those that are distinct. */

/**
 * twheel_key_text() - convert a short text to a key
 * @text: 1 to TWHEEL_KEY_TEXT_MAX bytes; for longer ones see twheel_key_hash()
 * @key: set to these bytes, padded with zeroes
 *
 * Return: 0; or -1 with EINVAL for an empty text, ENAMETOOLONG for a long one.
 */
int twheel_key_text(const char *text, struct twheel_key *key);

/**
 * twheel_key_number() - convert a number to a key
 * @number: any number
 *
 * Return: the key: 64 zero bits and the number.
 */
struct twheel_key twheel_key_number(uint64_t number);

/**
 * twheel_key_uuid() - convert a UUID to a key
 * @text: the UUID, 36 characters in upper or lower case
 * @key: set to its 16 bytes, in the order of the digits
 *
 * Return: 0; or -1 with EINVAL.
 */
int twheel_key_uuid(const char *text, struct twheel_key *key);

/**
 * twheel_key_hash() - convert data of any length to a key
 * @data: the data, such as a long text
 * @size: its size in bytes; may be 0
 *
 * Return: the key: the first 16 bytes of the SHA-256 of @data, on every machine and in
 * every version.
 */
struct twheel_key twheel_key_hash(const void *data, size_t size);

/**
 * twheel_key_parse() - convert user input to a key
 * @text: "text:TEXT", "num:NUMBER" in decimal, "uuid:UUID", or "hash:TEXT" for
 *	twheel_key_hash() of a text of any length. Without a prefix, input in the form of a
 *	UUID is a UUID, decimal digits are a number, and anything else is a text.
 * @key: set to the key
 *
 * Return: 0; or -1 with EINVAL, ENAMETOOLONG for a text that is too long, ERANGE
 * for a number of more than 64 bits.
 */
int twheel_key_parse(const char *text, struct twheel_key *key);

/**
 * twheel_key_format() - format a key
 * @text: set to the text if the key is a printable ASCII text, else to a number or a
 *	UUID; an ambiguous text has the prefix "text:"
 *
 * twheel_key_parse() converts the text to the same key.
 *
 * Return: @text.
 */
char *twheel_key_format(struct twheel_key key,
			char text[TWHEEL_KEY_FORMAT_SIZE]);

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_H */
