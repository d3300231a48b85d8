/*
 * exact.h - the best bound that prices of resources in each bin give, with whole
 * bins.
 *
 * assign.h comes near those prices by rounds; from there they are found by a
 * linear program of the prices alone (interior.h).  Where its answer buys a part of
 * a bin, numbers of bins that any plan needs (seats.h) enter as more prices: of each
 * bin that counts, and so many are needed at least.  That takes no program of
 * columns, so shapes may be many.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_EXACT_H
#define PLAN_COVER_EXACT_H

#include "../assign.h"

struct exact;

/* For plans that leave nothing out, from prices that a has found: for the view, or for
 * groups of its items. */
struct exact *exact_make(const struct view *v, const struct assign *a);

/* Goes on, soon after `steps` counted steps it stops.  False: there is no better bound
 * of this kind, or the problem is too large. */
bool exact_run(struct exact *x, uint64_t steps);

/* Then rounds of prices are of use still. */
bool exact_too_large(const struct exact *x);

uint64_t exact_work(const struct exact *x);
/* The best so far (micros an hour; 0: none) and its proof. */
double exact_best(const struct exact *x, struct cover_proof *ret);

/* prices_bound(), until prices are near the best and there are steps for the first part
 * of this; the rest is for it.  Of many items it begins with prices for groups.  Not
 * lower with more steps; ret_all (may be NULL): no more prove more. */
int64_t exact_bound(const struct view *v, uint64_t missing, uint64_t steps,
                    uint64_t *work, struct cover_proof *ret_proof,
                    bool *ret_all);

#endif
