// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: keys of texts and data of any length: the first half of SHA-256. See twheel.h.
 *
 * FIPS 180-4 has the names that are used here: a message schedule w, and eight working
 * variables a to h.
 */
#include <string.h>

#include "twheel.h"

#define BLOCK		64
#define LENGTH_BYTES	8	/* at the end of the last block */

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

static void add_block(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];
	int i;

	for (i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | block[1] << 16 | block[2] << 8 | block[3];
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);

	memcpy(v, state, sizeof(v));
/* Instead of a move of all variables in each round. */
#define V(letter)	v[((letter) - 'a' - i) & 7]
	for (i = 0; i < 64; i++) {
		uint32_t a = V('a'), e = V('e');
		uint32_t t1 = V('h') + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			      ((e & V('f')) ^ (~e & V('g'))) + round_constants[i] + w[i];

		V('d') += t1;
		V('h') = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			 ((a & V('b')) ^ (a & V('c')) ^ (V('b') & V('c')));
	}
#undef V
	for (i = 0; i < 8; i++)
		state[i] += v[i];
}

struct twheel_key twheel_key_hash(const void *data, size_t size)
{
	uint32_t state[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};
	unsigned char last[2 * BLOCK] = { 0 }, bytes[sizeof(struct twheel_key)];
	size_t rest = size % BLOCK, i;
	size_t end = rest + 1 + LENGTH_BYTES > BLOCK ? 2 * BLOCK : BLOCK;
	const unsigned char *at = data;
	uint64_t bits = (uint64_t)size * 8;
	struct twheel_key key;

	for (i = size / BLOCK; i; i--, at += BLOCK)
		add_block(state, at);
	if (rest)
		memcpy(last, at, rest);
	last[rest] = 0x80;
	for (i = 1; i <= LENGTH_BYTES; i++, bits >>= 8)
		last[end - i] = bits;
	for (i = 0; i < end; i += BLOCK)
		add_block(state, last + i);

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = state[i / 4] >> (24 - i % 4 * 8);
	memcpy(&key, bytes, sizeof(key));
	return key;
}
