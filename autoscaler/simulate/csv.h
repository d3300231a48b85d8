/*
 * csv.h - a CSV file with a heading, cell by cell with line and column.
 *
 * RFC 4180: fields in double quotes may hold commas, line ends and doubled
 * quotes.  Empty lines are passed over.  Lives in the arena.
 */
#ifndef SIMULATE_CSV_H
#define SIMULATE_CSV_H

#include <stdbool.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/err.h"

enum { CSV_COLUMNS = 64, CSV_MISTAKES = 10 };

struct csv_cell {
    const char *text;      /* "" when it is empty or the column lacks */
    uint32_t line, column; /* from 1 */
};

struct csv {
    const char *path; /* for messages */
    struct arena *arena;
    struct buf *errors;
    uint32_t mistakes;
    const char *at; /* the rest */
    uint32_t line;
    struct csv_cell heading[CSV_COLUMNS];
    uint32_t n;
};

/* Reads the heading.  text is NUL-terminated and outlives it. */
enum status csv_open(struct csv *c, const char *path, const char *text,
                     struct arena *arena, struct buf *errors);
/* The next row, c->n cells; false: there is no more, or too much is wrong. */
bool csv_row(struct csv *c, struct csv_cell *cells);
/* "path:line:column: ..."; ST_INVALID. */
enum status csv_wrong(struct csv *c, const struct csv_cell *at, const char *fmt,
                      ...) __attribute__((format(printf, 3, 4)));
int csv_find(const struct csv *c, const char *name); /* its column; -1: none */

#endif
