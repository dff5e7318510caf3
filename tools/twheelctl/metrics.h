/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts in the OpenMetrics text format.
 */
#ifndef TWHEELCTL_METRICS_H
#define TWHEELCTL_METRICS_H

#include "names.h"
#include "wheels.h"

/* Prints the counts, each followed by its help; without the end marker. */
void print_purgatory_metrics(const struct named *list, size_t nr);
void print_wheel_metrics(const struct wheel *list, size_t nr);
void print_user_metrics(const struct user *list, size_t nr);

#endif /* TWHEELCTL_METRICS_H */
