/*
 * prices.h - a lower bound at once: what the resources must cost.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_PRICES_H
#define PLAN_COVER_PRICES_H

#include "view.h"

struct assign;

/* The better bound of relax.h and assign.h (micros an hour, >= 0) on the cost of
 * any plan that leaves at most `missing` items of the view out.  Not lower with
 * more counted steps; adds what it took to *work.  ret_proof: for the demand as a
 * whole. */
int64_t prices_bound(const struct view *v, uint64_t missing, uint64_t steps,
                     uint64_t *work, struct cover_proof *ret_proof);

/* With fewer steps nothing is known of limits that may be in the way: two thirds of
 * what they allow, or more, are wanted.  0: none is near. */
uint64_t prices_least(const struct view *v);

/* What these worths, of a problem that differs in counts alone, prove for the
 * view, whatever its counts: worth (per item of the view), less `off`. */
int64_t prices_prove(const struct view *v, const double *worth, double off,
                     uint64_t missing);

/* The same in two parts: by relax.h, in a part of the steps when they suffice for
 * assign.h too; then by that, if it is better. */
struct prices {
    const struct view *v; /* the caller's, as the next two */
    uint64_t missing, steps;
    uint64_t used, first; /* of the steps; by relax.h */
    int64_t bound;
    double off; /* of the worth of all items: what limits take off */
    struct cover_proof proof;
    struct assign *assign; /* prices_better()'s; NULL: not tried */
};

void prices_first(struct prices *x);
void prices_better(struct prices *x);
/* The second goes on, when there are more steps now. */
void prices_more(struct prices *x);

#endif
