/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write errors of standard output.
 */
#ifndef TWHEELCTL_OUTPUT_H
#define TWHEELCTL_OUTPUT_H

#include <stdbool.h>

#include "outcome.h"

/*
 * Opens standard input, output and error if they are closed. Otherwise the next open file
 * would get their number, and the output.
 */
void open_standard_files(void);

/* Return: false if any write to standard output would fail, which has been reported. */
bool output_writable(void);

/* Writes the buffered output. Return: false after an error, which has been reported. */
bool flush_output(void);

/* Return: @outcome; OUTCOME_DEVICE if the output cannot be written. */
enum outcome end_output(enum outcome outcome);

#endif /* TWHEELCTL_OUTPUT_H */
