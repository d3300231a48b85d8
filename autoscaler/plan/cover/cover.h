/*
 * cover.h - the heart of the planner: hold all items in bought bins at the
 * least cost.
 *
 * What is left of the demand after the nodes that are there is a covering
 * problem: `count` items of each shape, bins of several kinds with a price.
 * cover_first() answers in about a millisecond; cover_improve() spends a
 * counted budget on a better answer and a valid lower bound; cover_bound() is
 * for the bound alone.  All are pure and deterministic: no clock, no random but
 * a fixed seed, memory from the arena, ties by index.
 *
 * Geometry of a bin: plain columns are sums.  In a device column a bin has
 * has/10000 whole devices; an item that needs less than one device lies on one
 * device (several may share it up to 1); an item that needs k >= 1 takes k
 * devices for itself.
 */
#ifndef PLAN_COVER_H
#define PLAN_COVER_H

#include "../../base/arena.h"
#include "../../model/problem.h"

struct cover_item {
    const int64_t *need; /* n_columns amounts */
    uint32_t count;
    const uint64_t *bins; /* bit b set: may lie in bin b; NULL: in any */
};

struct cover_bin {
    const int64_t *has; /* n_columns amounts */
    int64_t price;      /* micros an hour, >= 0 */
    uint32_t max;       /* how many may be bought, UNLIMITED */
    uint32_t family;    /* into families: bins of one node type */
    int32_t rank;       /* lower is bought first among equal prices */
    bool accelerator;   /* has a device */
};

struct cover_problem {
    const struct pb_column *columns;
    uint32_t n_columns;
    const struct cover_item *items;
    uint32_t n_items;
    const struct cover_bin *bins;
    uint32_t n_bins;
    const uint32_t *family_max; /* bins of a family together, UNLIMITED */
    uint32_t n_families;
    uint32_t max_bins; /* all together, UNLIMITED */
    int64_t max_cost;  /* micros an hour, -1: none */
    bool conserve;     /* a bin with accelerators must hold at least
                        * one item that fits no bin without */
};

/* In ONE bin.  Parts are in an order in which putting each on the fullest
 * device that still holds it (else on a free one) works; an item may come
 * twice. */
struct cover_part {
    uint32_t item, count;
};
struct cover_pattern {
    uint32_t bin, count, first, n;
}; /* into parts */

/* So many bins are needed at least: each item is a share of a bin, no bin with a
 * price holds more than 1 of them, and all shares, less what bins without a price
 * hold, are more than bins - 1.  worth (micros): of each bin with a price that may
 * hold an item with a share. */
struct cover_least {
    const double *share; /* per item, >= 0 */
    uint32_t bins;
    double worth;
};

/* Why a bound holds: what each item is worth, and each micro of max_cost.  A fill
 * of a bin and its seats (`least`) are worth no more than the bin costs, but for the limits: what is
 * worth more in bins of which there are few is taken off (docs/planner.md). */
struct cover_proof {
    const double *worth; /* micros an hour per item, >= 0; NULL: no proof */
    double money;        /* >= 0 */
    int64_t unit; /* micros: every plan that is worth looking at costs a multiple;
                   * the bound is rounded up to one */
    const struct cover_least *least;
    uint32_t n_least;
};

struct cover_plan {
    const struct cover_pattern *patterns;
    uint32_t n_patterns;
    const struct cover_part *parts;
    uint32_t n_parts;
    uint32_t *unplaced;       /* per item: how many lie nowhere */
    int64_t cost;             /* micros an hour */
    int64_t bound;            /* valid lower bound on the cost of any plan
                         * that places as many */
    struct cover_proof proof; /* of the bound, for the demand as a whole */
    uint64_t work;            /* counted steps */
};

/* About how many steps of work are a millisecond of one core of 2024. */
#define COVER_STEPS_PER_MS UINT64_C(560000)

void cover_first(const struct cover_problem *p, struct arena *arena,
                 struct cover_plan *ret);
/* Never worse than first, nor than with less budget: fewer items are left out,
 * or as many and it costs no more.  Nor is the bound lower when all are placed.
 */
void cover_improve(const struct cover_problem *p,
                   const struct cover_plan *first, uint64_t budget,
                   struct arena *arena, struct cover_plan *ret);

/* What any plan costs at least (micros an hour, >= 0) that leaves at most
 * `missing` items out.  Nodes that are there are bins of price 0 (or of their
 * own price, for the cost of all) with a max; where part of a device is free on
 * one, it must be given as a whole one here.  hint: worths to try first, or
 * NULL.  enough: what a plan that is known costs, beyond which nothing is to be proved;
 * INT64_MAX: none is known.  Not lower with more budget; adds the counted steps to *work.  ret_proof
 * (may be NULL) is for the demand as a whole. */
int64_t cover_bound(const struct cover_problem *p, uint64_t missing,
                    const double *hint, int64_t enough, uint64_t budget,
                    struct arena *arena, uint64_t *work,
                    struct cover_proof *ret_proof);

/* The proof for n other items: what is item i there is from[i] here (UINT32_MAX:
 * none; NULL: the same). */
struct cover_proof cover_proof_map(const struct cover_proof *proof,
                                   const uint32_t *from, uint32_t n,
                                   struct arena *arena);

/* ---- the same in steps, for whoever remembers answers: memory.h
 *
 * The plan and the bound of a large problem are made from answers to others, which
 * are mostly the same when p changes a little: p with its counts rounded. */

/* Where items fit, which bins are of use: the same for all problems that differ in
 * counts alone, none of them 0 in one and more in the other.  Points into p. */
struct cover_layout;
struct cover_layout *cover_layout(const struct cover_problem *p,
                                  struct arena *arena);

/* Is the plan of p made from that of its bases?  Then there are COVER_BASES, each with
 * more of p in it: base 0 is planned as a whole, each other one, and at last p, from
 * the plan of the one before.  They share all but the counts with p. */
enum { COVER_BASES = 2 };
bool cover_steady(const struct cover_problem *p, struct arena *arena);
void cover_base(const struct cover_problem *p, uint32_t number,
                struct arena *arena, struct cover_problem *ret);
/* layout: of p; before: the plan of the base before, NULL for base 0. */
void cover_first_base(const struct cover_problem *base,
                      const struct cover_layout *layout,
                      const struct cover_plan *before, struct arena *arena,
                      struct cover_plan *ret);

/* The problem whose duals prove the bound of p, likewise; there is one for each
 * that has a base. */
bool cover_rounded(const struct cover_problem *p, struct arena *arena,
                   struct cover_problem *ret);
/* With any counts c a plan costs at least the sum of worth x c, less off. */
struct cover_duals {
    const double *worth; /* micros an hour per item; NULL: none */
    double off;          /* micros an hour: of what limits allow */
    double money;        /* as in a proof */
    uint64_t work;       /* counted steps */
    uint64_t limits; /* steps for prices of limits that are near; 0: none is */
};
void cover_duals(const struct cover_problem *rounded,
                 const struct cover_layout *layout, struct arena *arena,
                 struct cover_duals *ret);

/* layout, base (the last one), duals: of p. */
void cover_first_from(const struct cover_problem *p,
                      const struct cover_layout *layout,
                      const struct cover_plan *base,
                      const struct cover_duals *duals, struct arena *arena,
                      struct cover_plan *ret);
int64_t cover_bound_from(const struct cover_problem *p,
                         const struct cover_layout *layout,
                         const struct cover_duals *duals, uint64_t missing,
                         const double *hint, int64_t enough, uint64_t budget,
                         struct arena *arena, uint64_t *work,
                         struct cover_proof *ret_proof);

#endif
