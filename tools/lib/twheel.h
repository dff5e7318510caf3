/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libtwheel: the calls of /dev/twheel as C functions.
 *
 * A program includes <twheel.h>, which brings the structures and constants
 * of <linux/twheel.h> along, and links with -ltwheel.  It is for services and
 * tools that park delayed operations; twheelctl is built on it.
 *
 * Every function does one system call and keeps no state, so any of them may
 * run in any thread at any time.  What fails returns -1 and leaves the reason
 * in errno, and changes nothing in the purgatory.  Documentation/device.rst
 * lists the errors of each call.
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

#define TWHEEL_DEVICE	"/dev/twheel"

/* The longest text that twheel_key_text() makes a key of, in bytes. */
#define TWHEEL_KEY_TEXT_MAX	16

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
 * Return: 0 or -1; EALREADY says that it has ended otherwise, ENOENT that its
 * event has been read too.
 */
int twheel_cancel(int fd, uint64_t id);

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
 * twheel_signal() - signal a key once
 * @fd: the purgatory
 * @key: the key
 * @value: carried to the events of the operations that complete by it
 * @completed: set to how many those are, unless NULL
 *
 * Return: 0 or -1. That nothing watches the key is no error.
 */
int twheel_signal(int fd, struct twheel_key key, uint64_t value,
		  unsigned int *completed);

/**
 * twheel_complete() - complete one operation, whatever its condition says
 * @fd: the purgatory
 * @id: the operation
 * @value: carried to its event
 *
 * Return: 0 or -1, with errors as twheel_cancel().
 */
int twheel_complete(int fd, uint64_t id, uint64_t value);

/**
 * twheel_query() - read the state of the purgatory
 * @fd: the purgatory
 * @args: set as a whole
 *
 * Return: 0 or -1.
 */
int twheel_query(int fd, struct twheel_query_args *args);

/**
 * twheel_read_events() - take events
 * @fd: the purgatory
 * @events: where they go
 * @nr: the most to take, at least one
 *
 * Waits for the first event, unless the descriptor is O_NONBLOCK. Each event
 * reaches exactly one reader.
 *
 * Return: how many were taken; or -1, with EAGAIN if none is there.
 */
ssize_t twheel_read_events(int fd, struct twheel_event *events, size_t nr);

/**
 * twheel_key_text() - make a key of a short text
 * @text: 1 to TWHEEL_KEY_TEXT_MAX bytes
 * @key: set to these bytes, with zeros behind them
 *
 * Different texts give different keys. That is why a longer text is refused
 * rather than hashed: two that collide would complete each other's operations.
 *
 * Return: 0; or -1 with EINVAL for an empty text, ENAMETOOLONG for a long one.
 */
int twheel_key_text(const char *text, struct twheel_key *key);

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_H */
