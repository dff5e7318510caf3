// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the search of misspelled names.
 */
#include "../twheelctl/guess.h"
#include "tap.h"

static void distances(void)
{
	CHECK(distance("list", "list") == 0);
	CHECK(distance("", "list") == 4);
	CHECK(distance("lst", "list") == 1);
	CHECK(distance("liist", "list") == 1);
	CHECK(distance("lisp", "list") == 1);
	CHECK(distance("lits", "list") == 1);
	CHECK(distance("ilts", "list") == 2);
	CHECK(distance("add", "top") == 3);
	CHECK(distance("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a") > 2);
}

static void resemblance(void)
{
	CHECK(resembles("canecl", "cancel"));
	CHECK(resembles("ad", "add"));
	CHECK(!resembles("fly", "top"));
	CHECK(!resembles("lit", "add"));
	CHECK(!resembles("tip", "add"));
	CHECK(!resembles("ab", "add"));
	CHECK(!resembles("", "add"));
}

int main(void)
{
	static const struct tap_case cases[] = {
		{ "the number of typing errors", distances },
		{ "a word with few typing errors resembles a name", resemblance },
		{ }
	};

	return tap_run(cases);
}
