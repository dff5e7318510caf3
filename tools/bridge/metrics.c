// SPDX-License-Identifier: GPL-2.0
/*
 * The metrics, for the textfile collector of the node exporter: see Documentation/metrics.rst.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "bridge.h"

#define COUNT(field)	offsetof(struct subject, field)

/* The counts of a subject. */
static const struct {
	const char *name, *type, *help;
	size_t offset;
} families[] = {
	{ "lag", "gauge", "Signals that the server has not sent.", COUNT(lag) },
	{ "late_seconds", "gauge", "Age of the last signal when it was applied.", COUNT(late) },
	{ "applied", "counter", "Signals applied.", COUNT(applied) },
	{ "skipped", "counter", "Signals skipped because of their age.", COUNT(skipped) },
	{ "wrong", "counter", "Messages that are not signals.", COUNT(wrong) },
	{ "dropped", "counter", "Messages that the stream dropped, an estimate.", COUNT(dropped) },
	{ "consumers", "counter", "Consumers created.", COUNT(consumers) },
	{ "positions", "counter", "Positions that were ended by others.", COUNT(positions) },
	{ "resets", "counter", "Replacements of the stream, or losses of its end.", COUNT(resets) },
};

static void print_family(FILE *file, int i)
{
	fprintf(file, "# TYPE twheel_bridge_%s %s\n# HELP twheel_bridge_%s %s\n",
		families[i].name, families[i].type, families[i].name, families[i].help);
	for (int j = 0; j < bridge.nr_subjects; j++) {
		char *subject = (char *)&bridge.subjects[j];
		double count = *(_Atomic uint64_t *)(subject + families[i].offset);

		fprintf(file, "twheel_bridge_%s%s{purgatory=\"%s\",subject=\"%s\"} %.15g\n",
			families[i].name, families[i].type[0] == 'c' ? "_total" : "",
			bridge.purgatory, bridge.subjects[j].name,
			families[i].offset == COUNT(late) ? count / NSEC_PER_SEC : count);
	}
}

/* The collector never reads half of the file. */
bool write_metrics(void)
{
	char new_path[PATH_MAX];
	bool connected = true;
	FILE *file;
	int bad;

	if (!bridge.metrics)
		return true;
	snprintf(new_path, sizeof(new_path), "%s.new", bridge.metrics);
	file = fopen(new_path, "we");
	if (!file)
		return false;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		print_family(file, i);
	for (int i = 0; i < bridge.nr_subjects; i++)
		connected &= !!bridge.subjects[i].connected;
	fprintf(file, "# TYPE twheel_bridge_connected gauge\n"
		"# HELP twheel_bridge_connected Whether servers send the signals of all subjects.\n"
		"twheel_bridge_connected{purgatory=\"%s\"} %d\n"
		"# TYPE twheel_bridge_reconnects counter\n"
		"# HELP twheel_bridge_reconnects Connections after a loss, or after a start without.\n"
		"twheel_bridge_reconnects_total{purgatory=\"%s\"} %u\n# EOF\n",
		bridge.purgatory, connected, bridge.purgatory, bridge.connects);
	bad = ferror(file);
	return !fclose(file) && !bad && !rename(new_path, bridge.metrics);
}
