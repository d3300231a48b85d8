/*
 * master.h - the linear program over patterns: how many of each pattern
 * cover the demand at least cost; and the patterns themselves.
 *
 * Private to plan/cover/.  Rows: one per item, one per bin whose number may be
 * asked for (no fewer), one per limit, and again one per such bin (no more).  The
 * first columns, one for each of the first two, are artificial: dear ones for "not
 * placed".
 */
#ifndef PLAN_COVER_MASTER_H
#define PLAN_COVER_MASTER_H

#include "../lp/lp.h"
#include "partial.h"

/* So many of a bin: a plan has no part of one. */
struct master_number {
    uint32_t bin, least, most; /* 0, UNLIMITED: any number */
};

struct master {
    const struct view *v;
    struct lp *lp;
    VEC(struct partial_pattern) column; /* by LP column; count unused */
    VEC(struct cover_part) part;
    /* Limit rows; UINT32_MAX: not limited. */
    uint32_t *bin_row, *family_row, bins_row, cost_row;
    uint32_t first_limit, n_limits;
    bool own_limits; /* some bin has one of its own */
    double *limit;   /* rhs of the limit rows */
    double *rhs;
    double *dear;  /* what the artificial columns cost, */
    double *cheap; /* and of the items when others are to stand for them */
    bool is_cheap;
    struct master_number *number;
    uint32_t n_numbers;
    /* Exchanges: LP columns first_exchange..., from item to item. */
    uint32_t first_exchange, n_exchanges;
    struct cover_part *exchange; /* item: from, count: to */
    VEC(struct lp_entry) entry;
    uint32_t *place; /* scratch per item */
};

/* number: bins whose number may be asked for. */
void master_make(const struct view *v, const uint32_t *number,
                 uint32_t n_numbers, struct master *ret);
/* An empty program with the same rows, and the same artificial columns to come. */
struct lp *master_rows(const struct master *m);
/* Adds a pattern; its LP column. */
uint32_t master_add(struct master *m, uint32_t bin,
                    const struct cover_part *part, uint32_t n);
/* Entries of a column of the bin with so much of each item; until the next call
 * of this or master_add(). */
const struct lp_entry *master_entries(struct master *m, uint32_t bin,
                                      const double *amount, uint32_t *ret_n);
void master_add_exchanges(struct master *m, const double *worth);
void master_add_partial(struct master *m, const struct partial *d);
/* What no pattern covers of an item costs `times` its worth: a greedy is to place it.
 * From then on no pattern that is worth less by these is of use to the program. */
void master_cheapen(struct master *m, const double *worth, double times);
/* Of what it does not cover now it costs so many times as much; false: there is no
 * such item. */
bool master_dearer(struct master *m, double times);
/* It is as dear as ever. */
void master_dear(struct master *m);
/* Demand, limits and numbers to what the partial solution has left. */
void master_residual(struct master *m, const struct partial *d);

/* What a bin costs at the present duals: its price and its limits', never less
 * than its price. */
double master_limited_price(const struct master *m, uint32_t bin);
/* What the bin is worth beside its content at the present duals, as its number is
 * asked for: < 0 where there must be no more of it. */
double master_number_worth(const struct master *m, uint32_t bin);
/* How many of the bin are of use, as its number is asked for. */
uint32_t master_number_most(const struct master *m, uint32_t bin);
/* What a micro of max_cost costs beside itself at the present duals. */
double master_money(const struct master *m);

#endif
