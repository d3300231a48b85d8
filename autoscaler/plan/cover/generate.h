/*
 * generate.h - column generation: the linear program and the pricing, in turn.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_GENERATE_H
#define PLAN_COVER_GENERATE_H

#include "column.h"
#include "master.h"
#include "prove.h"

/* The ratio of a bin that earns something and costs nothing. */
#define GENERATE_FREE 1e300
/* More shapes than this: no linear program (its inverse is rows squared). */
#define GENERATE_ROWS 700
/* Taken off for floating point: see price.c. */
#define GENERATE_SAFE VIEW_SAFE

struct mixes;
struct assign;
struct exact;

struct generate {
    const struct view *v;
    struct master master;
    struct price *price;
    struct column_maker *maker;
    struct prove *prove;
    struct mixes *mixes;   /* mix.c's; NULL: none yet */
    struct assign *assign; /* proof.c's, and what follows */
    struct exact *exact;
    bool done;     /* the program is solved, by proof_stage() */
    double value;  /* proof.c's: of the program, 0: not begun; not of what a
                            * dive has left */
    bool settled;  /* exact: there is no better one */
    bool whole;    /* no item is left out: numbers of bins may be proved */
    double enough; /* a bound of no use beyond: what a plan costs */
    double *worth; /* duals of the items */
    bool centred;
    double centre_bound;
    double *centre; /* the duals of the best bound without a search */
    double *earn;   /* per bin: upper bound of what it can earn */
    double *ratio;  /* that over its price, limits' included */
    double *asked;  /* what the pricing is asked with */
    double *scaled; /* scratch of bound.c */
    double *trial;
    struct alike classes; /* of items with the same bins */
    double *class_part;   /* scratch of bound.c */
    double tried;         /* the best bound of bound_note() */
    double *tried_dual;   /* its duals, scaled */
    double *dual;         /* those of the best bound of all */
    double money;         /* with them: of each micro of the budget */
    double bound;         /* micros, -1: none */
    uint64_t missing;     /* so many items may be left out, for the bound */
    uint64_t extra;       /* work of what counts none itself */
    uint64_t stop;        /* the work at which everything ends */
};

/* number: bins whose number may be asked for, of the program. */
void generate_make(const struct view *v, const uint32_t *number,
                   uint32_t n_numbers, struct generate *ret);
/* Before the first round, after the first columns: what items are worth. */
void generate_begin(struct generate *g, const double *worth);

/* Notes an upper bound of what the bin can earn; its ratio. */
void generate_earns(struct generate *g, uint32_t bin, double most);

/* Rounds until nothing is found, the work is used up or the bound meets the
 * value within `gap` (a part of it).  For what `left` says (per item).  True
 * when it ended for lack of columns or gap. */
bool generate_run(struct generate *g, const uint32_t *left, uint64_t until,
                  double gap, uint32_t rounds, bool with_bound);

/* The program, which stops when all work is used up. */
struct lp *generate_program(const struct generate *g);

/* The search, which stops then too. */
struct prove *generate_prover(const struct generate *g);

/* What patterns do not cover becomes dearer until they cover all (true), at the least
 * cost, or the work is used up. */
bool generate_cover(struct generate *g, uint64_t until);
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
