/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Search of misspelled names.
 */
#ifndef TWHEELCTL_GUESS_H
#define TWHEELCTL_GUESS_H

#include <stdbool.h>

/**
 * distance() - number of typing errors between two words
 * @a: a word
 * @b: a word
 *
 * Return: the number of characters to insert, delete, replace, or swap with their neighbour.
 */
unsigned int distance(const char *a, const char *b);

/* Return: true if @word may be a misspelling of @name. */
bool resembles(const char *word, const char *name);

#endif /* TWHEELCTL_GUESS_H */
