/*
 * layout.h - what problems have in common that differ in counts alone.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_STEADY_LAYOUT_H
#define PLAN_COVER_STEADY_LAYOUT_H

#include "../view.h"

struct cover_layout {
    struct view v;        /* counts aside */
    const double *weight; /* per item of v: weight_from_prices() */
};

/* Are many items of few shapes wanted? */
bool layout_large(const struct cover_problem *p);

/* What the duals of a problem like that of the view prove for it. */
int64_t duals_prove(const struct view *v, const struct cover_duals *duals,
                    uint64_t missing, struct cover_proof *ret);

#endif
