/*
 * rows.h - the nodes of a reply as rows: chosen, sorted, in several forms.
 */
#ifndef CLI_LOOK_ROWS_H
#define CLI_LOOK_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../base/arena.h"

struct rows_query {
    const char *type, *state, *owner; /* NULL: any */
    const char *sort;                 /* a word of rows_sorts, NULL: as they
                                       * came */
    bool reverse;
};
extern const char *const rows_sorts[]; /* NULL at the end */

struct rows {
    const json_t **v; /* borrowed from the reply */
    uint32_t n;
};

/* Those of the reply of /v1/nodes that fit, in the arena. */
struct rows rows_of(const json_t *nodes, const struct rows_query *q,
                    struct arena *a);
/* A table, with --wide more columns; returns the number of lines. */
uint32_t rows_table(const struct rows *r, bool wide, struct arena *a);
/* As eks-node-viewer shows them: a bar of what is in use, the price, the time. */
uint32_t rows_bars(const struct rows *r, uint32_t most, struct arena *a);
/* "####......" */
const char *bar_text(struct arena *a, double part, int width);

#endif
