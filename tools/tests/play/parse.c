// SPDX-License-Identifier: GPL-2.0
/*
 * The parser of scripts. See parse.h.
 *
 * The parser reads a line word by word without backtracking: each parse_*() consumes
 * words from the front of the line. The message about a wrong word prints the word
 * and the expected ones.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "outcome.h"
#include "parse.h"
#include "units.h"

#define BLANKS		" \t\r\n"
#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
			"0123456789-_.:/"

/* The largest integer of the JSON library. */
#define VALUE_MAX	INT64_MAX

/**
 * struct parser - a line that is being parsed
 * @file: the name of the script
 * @line: the number of the line
 * @ops: the operations added so far
 * @word: the next word; NULL at the end of the line
 * @rest: the rest of the line after @word
 */
struct parser {
	const char *file;
	unsigned int line;
	struct op_table *ops;
	char *word;
	char *rest;
};

static void next_word(struct parser *p)
{
	p->word = strtok_r(NULL, BLANKS, &p->rest);
	if (p->word && *p->word == '#')
		p->word = NULL;
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->word && !strcmp(p->word, word);
}

static bool accept(struct parser *p, const char *word)
{
	if (!at_word(p, word))
		return false;
	next_word(p);
	return true;
}

/* Always returns false, for the return statement of a parse_*(). */
static bool wrong_word(const struct parser *p, const char *expected)
{
	fprintf(stderr, "%s:%u: expected %s, ", p->file, p->line, expected);
	if (p->word)
		fprintf(stderr, "got '%s'\n", p->word);
	else
		fputs("got the end of the line\n", stderr);
	return false;
}

static bool parse_end(struct parser *p, const char *expected)
{
	return !p->word || wrong_word(p, expected);
}

static bool parse_time_word(struct parser *p, __u64 *ns)
{
	if (!p->word || !parse_time(p->word, ns))
		return wrong_word(p, TIME_EXPECTED);
	next_word(p);
	return true;
}

static bool parse_count_word(struct parser *p, __u64 max, __u64 *count)
{
	char expected[64];

	if (!p->word || !parse_count(p->word, max, count)) {
		snprintf(expected, sizeof(expected), "a whole number up to %llu",
			 max);
		return wrong_word(p, expected);
	}
	next_word(p);
	return true;
}

/* [value V] */
static bool parse_value(struct parser *p, struct command *c)
{
	if (!accept(p, "value"))
		return true;
	c->has_value = true;
	return parse_count_word(p, VALUE_MAX, &c->value);
}

/* NAME of an operation added by an earlier line */
static bool parse_op(struct parser *p, struct command *c)
{
	struct op *op = p->word ? find_op(p->ops, p->word) : NULL;

	if (!op)
		return wrong_word(p, "the NAME of an operation added before");
	c->op = op - p->ops->ops;
	next_word(p);
	return true;
}

/* NAME of a new operation */
static bool parse_new_op(struct parser *p, struct command *c)
{
	const struct op *op;

	if (!p->word || p->word[strspn(p->word, NAME_CHARS)])
		return wrong_word(p, "a NAME of letters, digits and -_.:/");
	/* Keywords of 'expect'. */
	if (at_word(p, "nothing") || at_word(p, "pending"))
		return wrong_word(p, "another NAME, not a keyword of 'expect'");

	op = find_op(p->ops, p->word);
	if (op) {
		fprintf(stderr, "%s:%u: expected a new NAME, line %u adds '%s'\n",
			p->file, p->line, op->line, p->word);
		return false;
	}

	c->op = NO_OP;
	if (!c->error)
		c->op = enter_op(p->ops, p->word, p->line) - p->ops->ops;
	next_word(p);
	return true;
}

static bool parse_key_word(struct parser *p, struct twheel_key *key)
{
	if (!p->word || !parse_key(p->word, key))
		return wrong_word(p, KEY_EXPECTED);
	next_word(p);
	return true;
}

/* KEY[*NEED]... up to the end of the line */
static bool parse_keys(struct parser *p, struct command *c)
{
	do {
		struct twheel_watch_spec spec;
		const char *expected = p->word ? parse_watch_spec(p->word, &spec) :
						 KEY_EXPECTED;

		if (expected)
			return wrong_word(p, expected);
		/* The keys of a sum have no need. An explicit one is left to the device. */
		if (c->condition == TWHEEL_COND_SUM && spec.need == 1)
			spec.need = 0;
		add_watch(&c->watch, &spec);
		next_word(p);
	} while (p->word);
	return true;
}

/* in TIME | at TIME | never */
static bool parse_deadline(struct parser *p, struct command *c)
{
	if (accept(p, "never")) {
		c->when = WHEN_NEVER;
		return true;
	}
	if (accept(p, "in"))
		c->when = WHEN_IN;
	else if (accept(p, "at"))
		c->when = WHEN_AT;
	else
		return wrong_word(p, "'in TIME', 'at TIME' or 'never'");
	return parse_time_word(p, &c->time);
}

/* [every TIME [runs N]] */
static bool parse_period(struct parser *p, struct command *c)
{
	if (!accept(p, "every"))
		return true;
	if (!parse_time_word(p, &c->period))
		return false;
	return !accept(p, "runs") || parse_count_word(p, UINT64_MAX, &c->runs);
}

/* sum N */
static bool parse_threshold(struct parser *p, struct command *c)
{
	c->condition = TWHEEL_COND_SUM;
	next_word(p);
	return parse_count_word(p, UINT64_MAX, &c->threshold);
}

#define CONDITIONS	"'any of', 'all of', 'K of', 'sum N of' or the end of the line"

/* [any of|all of|K of|sum N of KEY...] */
static bool parse_condition(struct parser *p, struct command *c)
{
	__u64 quorum = 0;

	if (!p->word)
		return true;
	if (at_word(p, "sum")) {
		if (!parse_threshold(p, c))
			return false;
	} else {
		if (at_word(p, "any"))
			c->condition = TWHEEL_COND_ANY;
		else if (at_word(p, "all"))
			c->condition = TWHEEL_COND_ALL;
		else if (parse_count(p->word, UINT32_MAX, &quorum))
			c->condition = TWHEEL_COND_QUORUM;
		else
			return wrong_word(p, CONDITIONS);
		c->quorum = quorum;
		next_word(p);
	}

	if (!accept(p, "of"))
		return wrong_word(p, "'of' and keys");
	return parse_keys(p, c);
}

static bool parse_add(struct parser *p, struct command *c)
{
	c->verb = VERB_ADD;
	return parse_new_op(p, c) && parse_deadline(p, c) &&
	       parse_period(p, c) && parse_condition(p, c);
}

static bool parse_watch(struct parser *p, struct command *c)
{
	c->verb = VERB_WATCH;
	return parse_op(p, c) && parse_keys(p, c);
}

static bool parse_unwatch(struct parser *p, struct command *c)
{
	c->verb = VERB_UNWATCH;
	return parse_op(p, c) && parse_key_word(p, &c->key) &&
	       parse_end(p, "the end of the line");
}

/* [completes N] or [cancels N] */
static bool parse_ends(struct parser *p, const char *word, struct command *c)
{
	if (!accept(p, word))
		return true;
	c->has_count = true;
	return parse_count_word(p, UINT32_MAX, &c->count);
}

static bool parse_signal(struct parser *p, struct command *c)
{
	c->verb = VERB_SIGNAL;
	if (!parse_key_word(p, &c->key) || !parse_value(p, c))
		return false;
	if (accept(p, "amount") && !parse_count_word(p, UINT64_MAX, &c->amount))
		return false;
	return parse_ends(p, "completes", c) &&
	       parse_end(p, "'value V', 'amount A', 'completes N' or the end of the line");
}

static bool parse_cancel_key(struct parser *p, struct command *c)
{
	c->verb = VERB_CANCEL_KEY;
	return parse_key_word(p, &c->key) && parse_ends(p, "cancels", c) &&
	       parse_end(p, "'cancels N' or the end of the line");
}

static bool parse_rearm(struct parser *p, struct command *c)
{
	c->verb = VERB_REARM;
	if (!parse_op(p, c) || !parse_deadline(p, c))
		return false;
	if (accept(p, "if-earlier"))
		c->mode = TWHEEL_REARM_IF_EARLIER;
	else if (accept(p, "if-later"))
		c->mode = TWHEEL_REARM_IF_LATER;
	return parse_end(p, "'if-earlier', 'if-later' or the end of the line");
}

static bool parse_complete(struct parser *p, struct command *c)
{
	c->verb = VERB_COMPLETE;
	return parse_op(p, c) && parse_value(p, c) &&
	       parse_end(p, "'value V' or the end of the line");
}

static bool parse_cancel(struct parser *p, struct command *c)
{
	c->verb = VERB_CANCEL;
	return parse_op(p, c) && parse_end(p, "the end of the line");
}

static bool parse_sleep(struct parser *p, struct command *c)
{
	c->verb = VERB_SLEEP;
	return parse_time_word(p, &c->time) &&
	       parse_end(p, "the end of the line");
}

/* [within TIME] */
static bool parse_within(struct parser *p, struct command *c)
{
	c->time = 30 * NSEC_PER_SEC;
	return !accept(p, "within") || parse_time_word(p, &c->time);
}

static bool parse_expect_end(struct parser *p, struct command *c)
{
	c->verb = VERB_EXPECT_END;
	if (!parse_op(p, c))
		return false;

	if (accept(p, "round")) {
		c->verb = VERB_EXPECT_ROUND;
		return parse_within(p, c) &&
		       parse_end(p, "'within TIME' or the end of the line");
	}
	if (accept(p, "completed"))
		c->reason = TWHEEL_REASON_COMPLETED;
	else if (accept(p, "expired"))
		c->reason = TWHEEL_REASON_EXPIRED;
	else if (accept(p, "cancelled"))
		c->reason = TWHEEL_REASON_CANCELLED;
	else
		return wrong_word(p, "'completed', 'expired', 'cancelled' or 'round'");

	return parse_value(p, c) && parse_within(p, c) &&
	       parse_end(p, "'value V', 'within TIME' or the end of the line");
}

static bool parse_expect(struct parser *p, struct command *c)
{
	if (accept(p, "nothing")) {
		c->verb = VERB_EXPECT_NOTHING;
		if (accept(p, "for") && !parse_time_word(p, &c->time))
			return false;
		return parse_end(p, "'for TIME' or the end of the line");
	}
	if (accept(p, "pending")) {
		c->verb = VERB_EXPECT_PENDING;
		return parse_count_word(p, UINT64_MAX, &c->count) &&
		       parse_end(p, "the end of the line");
	}
	return parse_expect_end(p, c);
}

/* The name of an errno, such as EINVAL */
static bool parse_error(struct parser *p, struct command *c)
{
	c->error = p->word ? error_number(p->word) : 0;
	if (!c->error)
		return wrong_word(p, ERROR_EXPECTED);
	next_word(p);
	return true;
}

/* The commands that make a system call */
static const struct {
	const char *word;
	bool (*parse)(struct parser *p, struct command *c);
} calls[] = {
	{ "add", parse_add },
	{ "watch", parse_watch },
	{ "unwatch", parse_unwatch },
	{ "signal", parse_signal },
	{ "complete", parse_complete },
	{ "cancel", parse_cancel },
	{ "cancel-key", parse_cancel_key },
	{ "rearm", parse_rearm },
};

#define CALLS	"add, watch, unwatch, signal, complete, cancel, cancel-key"

static bool parse_call(struct parser *p, struct command *c)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (accept(p, calls[i].word))
			return calls[i].parse(p, c);
	return wrong_word(p, c->error ? CALLS " or rearm" :
					CALLS ", rearm, sleep, expect or expect-error");
}

static bool parse_command(struct parser *p, struct command *c)
{
	if (accept(p, "sleep"))
		return parse_sleep(p, c);
	if (accept(p, "expect"))
		return parse_expect(p, c);
	if (accept(p, "expect-error") && !parse_error(p, c))
		return false;
	return parse_call(p, c);
}

bool parse_line(const char *file, unsigned int line, const char *text,
		struct op_table *ops, struct command *command)
{
	struct parser p = { .file = file, .line = line, .ops = ops };
	char *words = must_strdup(text);
	bool ok;

	*command = (struct command){ .line = line, .text = must_strdup(text) };

	p.rest = words;
	next_word(&p);
	ok = !p.word || parse_command(&p, command);

	free(words);
	return ok;
}

void free_command(struct command *command)
{
	free(command->watch.specs);
	free(command->text);
}
