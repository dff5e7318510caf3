// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: conversion of texts, numbers and UUIDs to keys and back. See twheel.h.
 *
 * A key has 16 bytes. A text starts at byte 0, which is never zero; a number has eight
 * leading zero bytes; a UUID uses all bytes. According to RFC 9562, byte 8 of a UUID is
 * 0x80 or more, which is not ASCII, and byte 6 is not zero.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "twheel.h"

#define UUID_BYTES	16
#define UUID_TEXT	36

static int refuse(int error)
{
	errno = error;
	return -1;
}

int twheel_key_text(const char *text, struct twheel_key *key)
{
	size_t len = strlen(text);

	if (!len || len > TWHEEL_KEY_TEXT_MAX)
		return refuse(len ? ENAMETOOLONG : EINVAL);
	memset(key, 0, sizeof(*key));
	memcpy(key, text, len);
	return 0;
}

struct twheel_key twheel_key_number(uint64_t number)
{
	struct twheel_key key = { .v = { 0, number } };

	return key;
}

/* Unlike isxdigit(), this does not depend on the locale. */
static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (at - digits) % 16 : -1;
}

/* Return: true if @text is a UUID; @bytes is set to its bytes then. */
static bool read_uuid(const char *text, unsigned char *bytes)
{
	int at, nr = 0;

	for (at = 0; at < UUID_TEXT; at++) {
		int digit = hex_digit(text[at]);

		if (at == 8 || at == 13 || at == 18 || at == 23) {
			if (text[at] != '-')
				return false;
			continue;
		}
		if (digit < 0)
			return false;
		bytes[nr / 2] = nr % 2 ? bytes[nr / 2] | digit : digit << 4;
		nr++;
	}
	return !text[at];
}

int twheel_key_uuid(const char *text, struct twheel_key *key)
{
	unsigned char bytes[UUID_BYTES];

	if (!read_uuid(text, bytes))
		return refuse(EINVAL);
	memcpy(key, bytes, sizeof(bytes));
	return 0;
}

static bool all_digits(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static int parse_number(const char *text, struct twheel_key *key)
{
	__u64 number = 0;

	if (!all_digits(text))
		return refuse(EINVAL);
	for (; *text; text++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *text - '0', &number))
			return refuse(ERANGE);
	}
	*key = twheel_key_number(number);
	return 0;
}

static int parse_hash(const char *text, struct twheel_key *key)
{
	if (!*text)
		return refuse(EINVAL);
	*key = twheel_key_hash(text, strlen(text));
	return 0;
}

/* The kinds of keys and their prefixes. */
enum kind { KIND_TEXT, KIND_NUMBER, KIND_UUID, KIND_HASH, KIND_NO_PREFIX };

static const char prefixes[][6] = { "text:", "num:", "uuid:", "hash:" };

static enum kind kind_by_prefix(const char *text)
{
	enum kind kind = KIND_TEXT;

	while (kind < KIND_NO_PREFIX && strncmp(text, prefixes[kind], strlen(prefixes[kind])))
		kind++;
	return kind;
}

static enum kind kind_by_form(const char *text)
{
	unsigned char bytes[UUID_BYTES];

	if (read_uuid(text, bytes))
		return KIND_UUID;
	return all_digits(text) ? KIND_NUMBER : KIND_TEXT;
}

int twheel_key_parse(const char *text, struct twheel_key *key)
{
	enum kind kind = kind_by_prefix(text);

	if (kind == KIND_NO_PREFIX)
		kind = kind_by_form(text);
	else
		text += strlen(prefixes[kind]);

	switch (kind) {
	case KIND_NUMBER:
		return parse_number(text, key);
	case KIND_UUID:
		return twheel_key_uuid(text, key);
	case KIND_HASH:
		return parse_hash(text, key);
	default:
		return twheel_key_text(text, key);
	}
}

/* Return: length of the text if @bytes is a printable, zero-padded text; otherwise 0. */
static int text_length(const unsigned char *bytes)
{
	int len = 0, i;

	while (len < UUID_BYTES && bytes[len] >= ' ' && bytes[len] <= '~')
		len++;
	for (i = len; i < UUID_BYTES; i++)
		if (bytes[i])
			return 0;
	return len;
}

static void format_text(const unsigned char *bytes, int len, char *text)
{
	char plain[TWHEEL_KEY_TEXT_MAX + 1];

	memcpy(plain, bytes, len);
	plain[len] = '\0';
	snprintf(text, TWHEEL_KEY_FORMAT_SIZE, "%s%s",
		 kind_by_prefix(plain) == KIND_NO_PREFIX && kind_by_form(plain) == KIND_TEXT ?
		 "" : prefixes[KIND_TEXT], plain);
}

char *twheel_key_format(struct twheel_key key, char text[TWHEEL_KEY_FORMAT_SIZE])
{
	unsigned char b[UUID_BYTES];
	int len;

	memcpy(b, &key, sizeof(b));
	len = text_length(b);
	if (len)
		format_text(b, len, text);
	else if (!key.v[0])
		snprintf(text, TWHEEL_KEY_FORMAT_SIZE, "%llu", (unsigned long long)key.v[1]);
	else
		snprintf(text, TWHEEL_KEY_FORMAT_SIZE,
			 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
			 b[12], b[13], b[14], b[15]);
	return text;
}
