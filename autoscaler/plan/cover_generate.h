/*
 * cover_generate.h - column generation: the linear program and the pricing in
 * turns, and the lower bound that comes with it.
 *
 * Private to cover_*.c.
 */
#ifndef PLAN_COVER_GENERATE_H
#define PLAN_COVER_GENERATE_H

#include "cover_column.h"
#include "cover_master.h"
#include "cover_prove.h"

struct generate {
    const struct view *v;
    struct master master;
    struct price *price;
    struct column_maker *maker;
    struct prove *prove;
    double *worth;            /* duals of the items */
    double *centre;           /* the duals of the best bound so far */
    double *ratio;            /* per bin: bound of its worth over its price */
    double *asked;            /* what the pricing is asked with */
    double *scaled;
    double bound;             /* micros, -1: none */
    uint64_t work;            /* all of it, as of the last round */
};

void generate_make(const struct view *v, struct generate *ret);

/* Rounds until nothing is found, the work is used up or the bound meets the
 * value within `gap` (a part of it).  For what `left` says (per item).  True
 * when it ended for lack of columns or gap. */
bool generate_run(struct generate *g, const uint32_t *left, uint64_t until,
                  double gap, uint32_t rounds, bool with_bound);

void generate_certify(struct generate *g, const double *worth, uint64_t nodes);

uint64_t generate_work(struct generate *g);

#endif
