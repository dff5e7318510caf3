// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the library's keys: texts, numbers and UUIDs are distinct, and a formatted
 * key parses to the same key.
 */
#include <errno.h>
#include <string.h>
#include <twheel.h>

#include "tap.h"

#define UUID	"123e4567-e89b-42d3-a456-426614174000"

static bool same(struct twheel_key a, struct twheel_key b)
{
	return !memcmp(&a, &b, sizeof(a));
}

/* Return: 0 or the error number; checks that @key is unchanged on an error. */
static int parse(const char *text, struct twheel_key *key)
{
	const struct twheel_key before = *key;

	if (!twheel_key_parse(text, key))
		return 0;
	CHECK(same(*key, before));
	return errno;
}

static struct twheel_key key_of(const char *text)
{
	struct twheel_key key = { .v = { 0, 0 } };

	CHECK(!parse(text, &key));
	return key;
}

static int error_of(const char *text)
{
	struct twheel_key key = { .v = { 5, 6 } };

	return parse(text, &key);
}

TEST("each kind is recognised")
{
	struct twheel_key text, uuid;

	CHECK(!twheel_key_text("orders", &text));
	CHECK(!twheel_key_uuid(UUID, &uuid));
	CHECK(same(key_of("orders"), text));
	CHECK(same(key_of("text:orders"), text));
	CHECK(same(key_of("42"), twheel_key_number(42)));
	CHECK(same(key_of("num:42"), twheel_key_number(42)));
	CHECK(same(key_of(UUID), uuid));
	CHECK(same(key_of("uuid:123E4567-E89B-42D3-A456-426614174000"), uuid));
	CHECK(!memcmp(&uuid, "\x12\x3e\x45\x67\xe8\x9b\x42\xd3\xa4\x56\x42\x66\x14\x17\x40\x00",
		      16));
}

static void check_hash(const char *text, const char *uuid)
{
	char shown[TWHEEL_KEY_FORMAT_SIZE], input[256];
	struct twheel_key key = twheel_key_hash(text, strlen(text));

	if (strcmp(twheel_key_format(key, shown), uuid))
		printf("# the key of '%s' is %s\n", text, shown);
	CHECK(!strcmp(shown, uuid));
	snprintf(input, sizeof(input), "hash:%s", text);
	if (*text)
		CHECK(same(key_of(input), key));
}

TEST("hashes are those of SHA-256")
{
#define VECTOR(text, uuid)	check_hash(text, uuid)
#include "key_vectors.inc"
	CHECK(same(twheel_key_hash(NULL, 0), twheel_key_hash("", 0)));
	CHECK(!same(twheel_key_hash("a\0b", 3), twheel_key_hash("a", 1)));
	CHECK(error_of("hash:") == EINVAL);
}

TEST("kinds are distinct")
{
	CHECK(!same(key_of("text:42"), key_of("num:42")));
	CHECK(!same(key_of("text:0"), key_of("num:0")));
	CHECK(!same(key_of("a"), key_of("num:97")));
	CHECK(!same(key_of("text:text:a"), key_of("text:a")));
	CHECK(!same(key_of("hash:a"), key_of("text:a")));
}

TEST("different inputs give different keys")
{
	CHECK(!same(key_of("ab"), key_of("abc")));
	CHECK(!same(key_of("0123456789abcde"), key_of("0123456789abcdef")));
	CHECK(!same(key_of("num:18446744073709551615"), key_of("num:18446744073709551614")));
	CHECK(!same(key_of("num:4294967296"), key_of("num:0")));
	CHECK(!same(key_of(UUID), key_of("123e4567-e89b-42d3-a456-426614174001")));
}

TEST("invalid keys are refused")
{
	CHECK(error_of("") == EINVAL);
	CHECK(error_of("text:") == EINVAL);
	CHECK(error_of("0123456789abcdefg") == ENAMETOOLONG);
	CHECK(error_of("num:") == EINVAL);
	CHECK(error_of("num:-1") == EINVAL);
	CHECK(error_of("num:0x10") == EINVAL);
	CHECK(error_of("num:18446744073709551616") == ERANGE);
	CHECK(error_of("99999999999999999999") == ERANGE);
	CHECK(error_of("uuid:" UUID "0") == EINVAL);
	CHECK(error_of("uuid:123e4567-e89b-42d3-a456-42661417400") == EINVAL);
	CHECK(error_of("uuid:123e4567+e89b-42d3-a456-426614174000") == EINVAL);
	CHECK(error_of("uuid:123e4567-e89b-42d3-a456-42661417400g") == EINVAL);
	CHECK(error_of("uuid:") == EINVAL);
}

/* @text is formatted as @shown, which parses to the same key. */
static void check_shown(const char *text, const char *shown)
{
	char buffer[TWHEEL_KEY_FORMAT_SIZE + 1];
	struct twheel_key key = key_of(text);

	buffer[TWHEEL_KEY_FORMAT_SIZE] = '!';
	CHECK(twheel_key_format(key, buffer) == buffer);
	if (strcmp(buffer, shown))
		printf("# %s is formatted as %s\n", text, buffer);
	CHECK(!strcmp(buffer, shown));
	CHECK(buffer[TWHEEL_KEY_FORMAT_SIZE] == '!');
	CHECK(same(key_of(buffer), key));
}

TEST("a formatted key parses to the same key")
{
	check_shown("orders", "orders");
	check_shown("two words", "two words");
	check_shown("0123456789abcdef", "0123456789abcdef");
	check_shown("text:17", "text:17");
	check_shown("text:9999999999999999", "text:9999999999999999");
	check_shown("text:num:5", "text:num:5");
	check_shown("text:hash:5", "text:hash:5");
	check_shown("text:text:0123456789a", "text:text:0123456789a");
	check_shown("0", "0");
	check_shown("18446744073709551615", "18446744073709551615");
	check_shown(UUID, UUID);
	check_shown("uuid:FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
		    "ffffffff-ffff-ffff-ffff-ffffffffffff");
	/* Neither printable nor a number. */
	check_shown("\xc3\xa4", "c3a40000-0000-0000-0000-000000000000");
	check_shown("a\n", "610a0000-0000-0000-0000-000000000000");
}

TAP_MAIN
