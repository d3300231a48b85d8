/*
 * table.h - aligned columns, coloured on a terminal.
 *
 * Colours only when standard output is a terminal and $NO_COLOR is not set
 * (no-color.org).  What comes from outside is shown without its control
 * characters.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../base/arena.h"
#include "terminal.h"

enum { TABLE_COLUMNS = 12 };
struct table {
    struct arena *arena;
    uint32_t n_columns;
    bool right[TABLE_COLUMNS];
    VEC(const char **) rows; /* row 0 is the heading */
    VEC(enum colour) colours;
};

/* NULL-terminated; a heading that begins with '>' is of a column of numbers. */
void table_init(struct table *t, struct arena *a, const char *const *headings);
/* Exactly n_columns texts, copied. */
void table_row(struct table *t, enum colour c, const char *const *cells);
/* Writes it, each line after `indent` blanks; returns the number of lines.  On a
 * terminal, and with $COLUMNS, no line is wider than that: the last column is
 * shortened, then the line is cut. */
uint32_t table_print(const struct table *t, FILE *out, int indent);

/* "12s", "4m10s", "3h02m", "5d04h". */
char *span(struct arena *a, double seconds);

#endif
