/*
 * price.h - how much can one bin earn when item i pays worth[i]?
 *
 * An upper bound per bin: plain columns are put into the objective with
 * multipliers, what is left are independent knapsacks, one per device, solved
 * by dynamic programming over cells of a device; whole devices on top.  The
 * multipliers also tell the primal side (column.h) what is scarce.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_PRICE_H
#define PLAN_COVER_PRICE_H

#include "sides.h"

enum {
    PRICE_SCARCE = 24,
    PRICE_CELLS = 200 /* of a device, at most: finer parts are rounded down */
};

struct tuner;
struct tuner_cut;

/* A run of items of one bin with the same need of devices. */
struct price_run {
    uint32_t first, n; /* into price_bin.item */
    uint32_t dev;      /* device column, UINT32_MAX: none */
    uint32_t whole, cells;
};

struct price_bin {
    uint32_t n;
    uint32_t *item; /* items that fit, by device need */
    double *share;  /* n x scalars: part of the bin's column */
    uint32_t *fits; /* how many fit alone, at most the demand */
    struct price_run *run;
    uint32_t n_runs;
    double *lambda; /* micros for the whole column; kept warm */
    /* Items that several devices would take more of than there are: their
     * count has a multiplier too. */
    uint32_t n_scarce, scarce[PRICE_SCARCE];
    double sigma[PRICE_SCARCE];
    struct tuner_cut *warm; /* what made the last multipliers */
    uint32_t n_warm;
};

struct price {
    const struct view *v;
    struct sides sides;
    uint32_t scalars; /* plain columns, then devices as sums */
    uint32_t *cells;  /* per device column: cells of a device */
    struct price_bin *bin;
    /* Answer of the last evaluation. */
    uint32_t *taken;        /* per place in bin.item: how many */
    uint32_t *device_taken; /* the same in ONE shared device */
    double *cell_value;     /* per device column: worth of one cell */
    /* Scratch. */
    double *profit, *table, *whole_table;
    struct tuner *tuner;
    uint8_t *took;
    uint32_t *stage_item, *stage_cells, *order;
    bool *stage_many;
    uint32_t max_stages, max_cells;
    uint64_t work;
};

struct price *price_make(const struct view *v);
/* The device column of the bin's items of one side, UINT32_MAX: none; false: there
 * are several. */
bool price_one_device(const struct price *p, uint32_t bin, uint32_t side,
                      uint32_t *ret);

/* Part of a bin: what is left while it is being filled. */
struct price_rest {
    const double *free;      /* per scalar, 1 = the whole bin's */
    const uint32_t *devices; /* per device column */
    const uint32_t *left;    /* per item of the view: may still be taken */
};

/* Value of the relaxation at bin.lambda; fills the answer fields. */
double price_evaluate(struct price *p, uint32_t bin, const double *worth,
                      const struct price_rest *rest);

/* How much of the last value, of the empty bin, is of each side. */
void price_of_sides(const struct price *p, uint32_t bin, double *ret);

/* Size of the item at place k of the run at the bin's multipliers. */
static inline double price_size(const struct price *p,
                                const struct price_bin *b,
                                const struct price_run *run, uint32_t k)
{
    double size = 0;

    if (run->dev != UINT32_MAX)
        size = p->cell_value[run->dev] *
               (run->whole ? (double)run->whole * p->cells[run->dev]
                           : run->cells);
    for (uint32_t s = 0; s < p->scalars; s++)
        size += b->lambda[s] * b->share[(size_t)k * p->scalars + s];
    return size;
}

static inline uint32_t price_limit(const struct price_bin *b, uint32_t k,
                                   const struct price_rest *rest)
{
    uint32_t most = b->fits[k];

    if (rest && rest->left[b->item[k]] < most)
        most = rest->left[b->item[k]];
    return most;
}

/* Tunes bin.lambda for at most `steps` evaluations, stops once the bound is
 * not above `enough`; the best bound.  rest NULL: the empty bin.  The answer
 * fields are those of the best multipliers. */
double price_tune(struct price *p, uint32_t bin, const double *worth,
                  const struct price_rest *rest, double enough, uint32_t steps);

/* The mix of the relaxation's answers that the last price_tune() ended with,
 * which keeps the plain columns: how much of each place in bin.item. */
void price_mix(const struct price *p, uint32_t bin, double *ret);

#endif
