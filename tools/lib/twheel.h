/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libtwheel: the calls of /dev/twheel as C functions.
 *
 * A program includes <twheel.h>, which brings the structures and constants of
 * <linux/twheel.h> along, and links with -ltwheel.  It is for services and
 * tools that park delayed operations; twheelctl is built on it.
 *
 * Unless said otherwise, a function returns 0, or -1 with the reason in errno;
 * what fails has changed nothing in the purgatory.  Each has a manual page;
 * Documentation/device.rst lists the errors of each call of the device.
 *
 * The library keeps no state and prints nothing.  Any function may run in any
 * thread at any time, also on a descriptor that other threads use; but one
 * struct twheel_batch is for one thread at a time.  None is called again after
 * EINTR: only twheel_read_events() waits and may return it, so that a signal
 * gets the caller's attention.
 *
 * When a structure of <linux/twheel.h> grows, the functions that take it get a
 * new symbol version; a program goes on with what it was built with.
 */
#ifndef TWHEEL_H
#define TWHEEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A purgatory of one's own; with "-NAME" behind it the named purgatory NAME. */
#define TWHEEL_DEVICE	"/dev/twheel"

/* The longest text that twheel_key_text() makes a key of, in bytes. */
#define TWHEEL_KEY_TEXT_MAX	16

/* Room for what twheel_key_format() writes: a UUID's digits and a zero. */
#define TWHEEL_KEY_FORMAT_SIZE	37

/*
 * Purgatories
 */

/**
 * twheel_open() - make a purgatory
 * @flags: 0 or O_NONBLOCK; the descriptor is close-on-exec in any case
 *
 * The purgatory lives until its last descriptor is closed, and whatever is
 * pending or unread in it goes with it.
 *
 * Return: a descriptor for the calls below, for poll() and for close(); or -1.
 */
int twheel_open(int flags);

/**
 * twheel_open_named() - open a purgatory that several programs share
 * @name: as it was created
 * @flags: as for twheel_open()
 *
 * When the last descriptor is closed, what this open file has added ends; what
 * was added detached, and the purgatory, stay.
 *
 * Return: a descriptor; or -1, with EINVAL if @name can't be a name and ENOENT
 * if there is no such purgatory.
 */
int twheel_open_named(const char *name, int flags);

/**
 * twheel_create() - make a named purgatory, owned by the caller
 * @name: 1 to 31 of letters, digits, '-', '_' and '.', the first a letter or a
 *	digit
 * @mode: permissions of its node, such as 0660
 *
 * As many operations may be pending in it as the module's parameters allow.
 *
 * Return: 0 or -1.
 */
int twheel_create(const char *name, unsigned int mode);

/**
 * twheel_create_with() - make a named purgatory with an owner and limits
 * @args: what to make; its @major and @minor are set
 *
 * Return: 0 or -1.
 */
int twheel_create_with(struct twheel_create_args *args);

/**
 * twheel_remove() - end a named purgatory
 * @name: as it was created
 * @flags: 0, or TWHEEL_REMOVE_FORCE if it may be in use
 * @cancelled: set to how many operations this cancelled, unless NULL
 *
 * Return: 0 or -1; EBUSY says that it is in use.
 */
int twheel_remove(const char *name, unsigned int flags,
		  unsigned int *cancelled);

/**
 * twheel_query() - read the state of the purgatory
 * @fd: the purgatory
 * @args: set as a whole
 *
 * Return: 0 or -1.
 */
int twheel_query(int fd, struct twheel_query_args *args);

/*
 * Operations. Whoever has the purgatory open may name any of them by its id.
 * EALREADY says that an operation has ended, ENOENT that its event has been read
 * too or that there was none.
 */

/**
 * twheel_add() - add an operation
 * @fd: the purgatory
 * @args: the operation; its @id is set
 *
 * Return: 0 or -1.
 */
int twheel_add(int fd, struct twheel_add_args *args);

/**
 * twheel_cancel() - end an operation as cancelled
 * @fd: the purgatory
 * @id: the operation
 *
 * Return: 0 or -1.
 */
int twheel_cancel(int fd, uint64_t id);

/**
 * twheel_complete() - complete one operation, whatever its condition says
 * @fd: the purgatory
 * @id: the operation
 * @value: carried to its event
 *
 * Return: 0 or -1.
 */
int twheel_complete(int fd, uint64_t id, uint64_t value);

/**
 * twheel_complete_error() - complete one operation with an error
 * @fd: the purgatory
 * @id: the operation
 * @error: carried to its event: a negative error number, such as -EIO
 *
 * Return: 0 or -1.
 */
int twheel_complete_error(int fd, uint64_t id, int error);

/**
 * twheel_complete_all() - complete all operations that wait
 * @fd: the purgatory
 * @value: carried to their events; 0 with an error
 * @error: carried to their events: 0 or a negative error number
 * @flags: 0 for those of this open file, TWHEEL_COMPLETE_OTHERS for all
 * @completed: set to how many this call completed, unless NULL
 *
 * Return: 0 or -1.
 */
int twheel_complete_all(int fd, uint64_t value, int error, unsigned int flags,
			unsigned int *completed);

/**
 * twheel_rearm() - give an operation another deadline
 * @fd: the purgatory
 * @id: the operation, not a periodic one
 * @deadline: in ns from now, or by its clock with TWHEEL_REARM_ABSTIME
 * @flags: 0 or TWHEEL_REARM_ABSTIME
 * @which: one of enum twheel_rearm
 *
 * Return: 1 if it has the new deadline, 0 if @which left it the old one; or -1.
 */
int twheel_rearm(int fd, uint64_t id, uint64_t deadline, unsigned int flags,
		 unsigned int which);

/**
 * twheel_rearm_with() - give an operation another deadline and another slack
 * @fd: the purgatory
 * @args: which one and what; its @moved is set
 *
 * Return: as twheel_rearm().
 */
int twheel_rearm_with(int fd, struct twheel_rearm_args *args);

/*
 * Keys that operations watch
 */

/**
 * twheel_watch() - let an operation watch more keys
 * @fd: the purgatory
 * @id: the operation, added with keys
 * @specs: the keys
 * @nr: how many
 *
 * Return: 0 or -1.
 */
int twheel_watch(int fd, uint64_t id, const struct twheel_watch_spec *specs,
		 unsigned int nr);

/**
 * twheel_unwatch() - let an operation watch a key no more
 * @fd: the purgatory
 * @id: the operation
 * @key: the key
 *
 * Return: 0 or -1; ESRCH says that it doesn't watch that key.
 */
int twheel_unwatch(int fd, uint64_t id, struct twheel_key key);

/**
 * twheel_signal() - signal a key once
 * @fd: the purgatory
 * @key: the key
 * @value: carried to the events of the operations that complete by it
 * @completed: set to how many those are, unless NULL
 *
 * It adds nothing to operations that wait for a sum: for that is
 * twheel_signal_with(). That nothing watches the key is no error.
 *
 * Return: 0 or -1.
 */
int twheel_signal(int fd, struct twheel_key key, uint64_t value,
		  unsigned int *completed);

/**
 * twheel_signal_with() - signal a key with an amount and a limit
 * @fd: the purgatory
 * @args: the signal; its @completed is set
 *
 * Return: 0 or -1.
 */
int twheel_signal_with(int fd, struct twheel_signal_args *args);

/**
 * twheel_cancel_key() - cancel all operations that watch a key
 * @fd: the purgatory
 * @key: the key
 * @cancelled: set to how many this call cancelled, unless NULL
 *
 * Return: 0 or -1.
 */
int twheel_cancel_key(int fd, struct twheel_key key, unsigned int *cancelled);

/*
 * Events and what waits
 */

/**
 * twheel_read_events() - take events
 * @fd: the purgatory
 * @events: where they go
 * @nr: the most to take, at least one
 *
 * Waits for the first event, unless the descriptor is O_NONBLOCK. Each event
 * reaches exactly one reader.
 *
 * Return: how many were taken; 0 if there will be none any more, as after
 * twheel_drain(); or -1, with EAGAIN if none is there and EINTR if a signal came
 * while it waited.
 */
ssize_t twheel_read_events(int fd, struct twheel_event *events, size_t nr);

/**
 * twheel_read_detached() - let a descriptor read the detached events
 * @fd: a named purgatory, with nothing of one's own pending or unread
 *
 * From then on, what is added through it is detached too.
 *
 * Return: 0 or -1.
 */
int twheel_read_detached(int fd);

/**
 * twheel_drain() - end what was added through an open file
 * @fd: the purgatory
 * @cancelled: set to how many operations this cancelled, unless NULL
 *
 * Nothing can be added any more; the events can be read.
 *
 * Return: 0 or -1.
 */
int twheel_drain(int fd, unsigned int *cancelled);

/**
 * twheel_info() - how far an operation has come
 * @fd: the purgatory
 * @id: the operation
 * @pending: set to what it is
 * @keys: set to the keys it watches, each with the signals that it still needs
 * @room: for how many keys; may be 0
 *
 * It watches @pending->nr_keys keys, though no more than @room are written.
 *
 * Return: 0 or -1.
 */
int twheel_info(int fd, uint64_t id, struct twheel_pending *pending,
		struct twheel_watch_spec *keys, unsigned int room);

/**
 * twheel_list() - which operations wait
 * @fd: the purgatory
 * @flags: 0 for those of this open file, TWHEEL_LIST_OTHERS for all
 * @cursor: 0 at first; set to where the next call goes on, or to
 *	TWHEEL_LIST_END behind the last
 * @entries: where they go
 * @room: the most to write, at least one
 *
 * What waits from before the first call until after the last is listed once.
 *
 * Return: how many were written, 0 not being the end; or -1.
 */
int twheel_list(int fd, unsigned int flags, uint64_t *cursor,
		struct twheel_pending *entries, unsigned int room);

/*
 * Batches: many calls in one system call
 *
 * A command that is put into a batch waits there until the batch is submitted:
 * by twheel_batch_submit(), or by the command that finds it full.  Commands are
 * carried out in order, and each has a result of its own.
 */
struct twheel_batch;

/**
 * typedef twheel_batch_fn - is told what came of a command
 * @context: as it was given
 * @index: how many commands were put in before it, since this was set
 * @command: as it was put in, @command->add.cookie for one
 * @result: an error and a value, which is the id of an add
 *
 * Called once for each command, in order, by the thread that submits. It must
 * not use the batch (EBUSY), but may do all else.
 */
typedef void twheel_batch_fn(void *context, uint64_t index,
			     const struct twheel_command *command,
			     const struct twheel_result *result);

/**
 * twheel_batch_new() - make a batch
 * @fd: the purgatory; it must stay open as long as the batch is used
 * @size: after how many commands it is full, 1 to TWHEEL_MAX_BATCH
 * @flags: 0; or TWHEEL_BATCH_STOP, and after a command that fails no further
 *	one is carried out until the batch has been submitted. These end with
 *	-ECANCELED.
 *
 * Return: the batch, or NULL.
 */
struct twheel_batch *twheel_batch_new(int fd, unsigned int size,
				      unsigned int flags);

/**
 * twheel_batch_on_result() - who is told of results
 * @batch: the batch
 * @fn: called for each command from now on, or NULL
 * @context: handed to @fn
 *
 * Return: 0; or -1 with EBUSY while commands are in the batch.
 */
int twheel_batch_on_result(struct twheel_batch *batch, twheel_batch_fn *fn,
			   void *context);

/**
 * twheel_batch_submit() - carry out the commands that are in a batch
 * @batch: the batch
 *
 * After a failure, what was not carried out is in the batch still.
 *
 * Return: how many commands have failed since this function returned so last,
 * those that were submitted by a full batch included; or -1.
 */
int twheel_batch_submit(struct twheel_batch *batch);

/**
 * twheel_batch_free() - end a batch
 * @batch: the batch, or NULL
 *
 * What has not been submitted is not carried out.
 */
void twheel_batch_free(struct twheel_batch *batch);

/*
 * The commands. Each takes what the function of its name takes, and copies it,
 * the keys too. Return: 0; or -1, and then it is not in the batch: the batch was
 * full and could not be submitted, ENOMEM, or EINVAL for too many keys.
 */
int twheel_batch_add(struct twheel_batch *batch,
		     const struct twheel_add_args *args);
int twheel_batch_cancel(struct twheel_batch *batch, uint64_t id);
int twheel_batch_complete(struct twheel_batch *batch, uint64_t id,
			  uint64_t value);
int twheel_batch_complete_error(struct twheel_batch *batch, uint64_t id,
				int error);
int twheel_batch_rearm(struct twheel_batch *batch, uint64_t id, uint64_t deadline,
		       unsigned int flags, unsigned int which);
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

/*
 * Making keys
 *
 * Two different texts, numbers or UUIDs never give one key, and no number gives
 * the key of a text.  A UUID can be any key: the nil UUID is that of the number
 * 0.  But one made by the rules (RFC 9562, any version) is never the key of a
 * number or of a text in ASCII.
 */

/**
 * twheel_key_text() - make a key of a short text
 * @text: 1 to TWHEEL_KEY_TEXT_MAX bytes
 * @key: set to these bytes, with zeros behind them
 *
 * A longer text is refused rather than hashed: two that collide would complete
 * each other's operations.
 *
 * Return: 0; or -1 with EINVAL for an empty text, ENAMETOOLONG for a long one.
 */
int twheel_key_text(const char *text, struct twheel_key *key);

/**
 * twheel_key_number() - make a key of a number
 * @number: any
 *
 * Return: the key, which is the number behind 64 bits of zero.
 */
struct twheel_key twheel_key_number(uint64_t number);

/**
 * twheel_key_uuid() - make a key of a UUID
 * @text: its 36 characters, digits in either case
 * @key: set to its 16 bytes, in the order of the digits
 *
 * Return: 0; or -1 with EINVAL.
 */
int twheel_key_uuid(const char *text, struct twheel_key *key);

/**
 * twheel_key_parse() - make a key of what somebody has typed
 * @text: "text:TEXT", "num:NUMBER" in decimal or "uuid:UUID". Without one of
 *	these words, what looks like a UUID is one, decimal digits are a number,
 *	and all else is a text.
 * @key: set to the key
 *
 * Return: 0; or -1 with EINVAL, ENAMETOOLONG for a text that is too long, ERANGE
 * for a number of more than 64 bits.
 */
int twheel_key_parse(const char *text, struct twheel_key *key);

/**
 * twheel_key_format() - show a key
 * @key: the key
 * @text: set to it as a text if that is one in printable ASCII, else as a number
 *	or as a UUID; with "text:" in front where it would be taken for another
 *
 * twheel_key_parse() makes the same key of it.
 *
 * Return: @text.
 */
char *twheel_key_format(struct twheel_key key,
			char text[TWHEEL_KEY_FORMAT_SIZE]);

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_H */
