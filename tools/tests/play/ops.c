// SPDX-License-Identifier: GPL-2.0
/*
 * The table of the operations of a script. See ops.h.
 */
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "outcome.h"

struct op *find_op(const struct op_table *table, const char *name)
{
	for (size_t i = 0; i < table->nr; i++)
		if (!strcmp(table->ops[i].name, name))
			return &table->ops[i];
	return NULL;
}

struct op *enter_op(struct op_table *table, const char *name, unsigned int line)
{
	struct op *op;

	table->ops = must_realloc(table->ops, table->nr + 1, sizeof(*op));
	op = &table->ops[table->nr++];
	*op = (struct op){ .name = must_strdup(name), .line = line };
	return op;
}

void free_ops(struct op_table *table)
{
	for (size_t i = 0; i < table->nr; i++)
		free(table->ops[i].name);
	free(table->ops);
	*table = (struct op_table){ 0 };
}
