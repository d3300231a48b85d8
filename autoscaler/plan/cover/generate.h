/*
 * generate.h - column generation: the linear program and the pricing in
 * turns.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_GENERATE_H
#define PLAN_COVER_GENERATE_H

#include "column.h"
#include "master.h"
#include "prove.h"

/* Taken off for floating point: see price.c. */
#define GENERATE_SAFE 1e-9

struct generate {
    const struct view *v;
    struct master master;
    struct price *price;
    struct column_maker *maker;
    struct prove *prove;
    double *worth; /* duals of the items */
    double centre_bound;
    double *centre; /* the duals of the best bound without a search */
    double *ratio;  /* per bin: bound of its worth over its price */
    double *asked;  /* what the pricing is asked with */
    double *scaled;
    uint64_t *class_hash; /* per item: of the bins that may hold it */
    double *dual;         /* those of the best bound, scaled */
    double bound;         /* micros, -1: none */
    uint64_t extra;       /* work of what counts none itself */
    uint64_t stop;        /* the work at which everything ends */
};

void generate_make(const struct view *v, struct generate *ret);

/* Rounds until nothing is found, the work is used up or the bound meets the
 * value within `gap` (a part of it).  For what `left` says (per item).  True
 * when it ended for lack of columns or gap. */
bool generate_run(struct generate *g, const uint32_t *left, uint64_t until,
                  double gap, uint32_t rounds, bool with_bound);

/* Pivots until the program is optimal (true) or the work is used up. */
bool generate_solve(struct generate *g, uint64_t until);

uint64_t generate_work(const struct generate *g);

/* Is all work used up?  Then nothing may come of what was cut short: with more
 * work it would go on, to another result.  So more work is never worse. */
static inline bool generate_stopped(const struct generate *g)
{
    return generate_work(g) >= g->stop;
}

/* Is the work `until` reached, or all of it used up? */
static inline bool generate_over(const struct generate *g, uint64_t until)
{
    return generate_work(g) >= (until < g->stop ? until : g->stop);
}

#endif
