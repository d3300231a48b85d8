/*
 * master.h - the linear program over patterns: how many of each pattern
 * cover the demand at least cost; and the patterns themselves.
 *
 * Private to plan/cover/.  Rows: one per item, then one per limit.  The first
 * n_items columns are artificial: dear ones for "not placed".
 */
#ifndef PLAN_COVER_MASTER_H
#define PLAN_COVER_MASTER_H

#include "../lp/lp.h"
#include "partial.h"

struct master {
    const struct view *v;
    struct lp *lp;
    VEC(struct partial_pattern) column; /* by LP column; count unused */
    VEC(struct cover_part) part;
    /* Limit rows; UINT32_MAX: not limited. */
    uint32_t *bin_row, *family_row, bins_row, cost_row;
    uint32_t n_limits;
    bool own_limits; /* some bin has one of its own */
    double *limit;   /* rhs of the limit rows */
    double *rhs;
    /* Exchanges: LP columns first_exchange..., from item to item. */
    uint32_t first_exchange, n_exchanges;
    struct cover_part *exchange; /* item: from, count: to */
    VEC(struct lp_entry) entry;
    uint32_t *place; /* scratch per item */
};

void master_make(const struct view *v, struct master *ret);
/* Adds a pattern; its LP column. */
uint32_t master_add(struct master *m, uint32_t bin,
                    const struct cover_part *part, uint32_t n);
void master_add_exchanges(struct master *m, const double *worth);
void master_add_partial(struct master *m, const struct partial *d);
/* Demand and limits to what the partial solution has left. */
void master_residual(struct master *m, const struct partial *d);

/* What a bin costs at the present duals: its price and its limits', never less
 * than its price. */
double master_limited_price(const struct master *m, uint32_t bin);
/* What a micro of max_cost costs beside itself at the present duals. */
double master_money(const struct master *m);

#endif
