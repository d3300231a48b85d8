/*
 * lp.c - the program itself: its columns, its right-hand sides, its answers.
 */
#include "simplex.h"

#include <string.h>

#define LEAST_SCALE 1e-9 /* it is divided by */

struct lp *lp_make(struct arena *arena, uint32_t n_cover, uint32_t n_limit,
                   const double *rhs)
{
    struct lp *lp = ARENA_NEW(arena, struct lp);
    uint32_t m = n_cover + n_limit;

    lp->arena = arena;
    lp->m = m;
    lp->n_cover = n_cover;
    lp->rhs = arena_copy(arena, rhs, m * sizeof *rhs);
    lp->inv = ARENA_ARRAY(arena, double, (size_t)m *m);
    lp->basis = ARENA_ARRAY(arena, uint32_t, m);
    lp->slack_of = ARENA_ARRAY(arena, uint32_t, m);
    lp->slack_basic = ARENA_ARRAY(arena, bool, m);
    lp->slack_cost = ARENA_ARRAY(arena, double, m);
    lp->slack_weight = ARENA_ARRAY(arena, double, m);
    lp->row_weight = ARENA_ARRAY(arena, double, m);
    lp->x = ARENA_ARRAY(arena, double, m);
    lp->y = ARENA_ARRAY(arena, double, m);
    lp->alpha = ARENA_ARRAY(arena, double, m);
    lp->rho = ARENA_ARRAY(arena, double, m);
    lp->was = ARENA_ARRAY(arena, uint32_t, m);
    lp->taken = ARENA_ARRAY(arena, bool, m);
    lp->nz = ARENA_ARRAY(arena, uint32_t, m);
    lp->stop = UINT64_MAX;
    return lp;
}

uint32_t lp_add(struct lp *lp, double cost, double scale,
                const struct lp_entry *entry, uint32_t n)
{
    struct column c = {.cost = cost,
                       .scale = scale > LEAST_SCALE ? scale : LEAST_SCALE,
                       .first = lp->entry.n,
                       .n = n};

    for (uint32_t k = 0; k < n; k++)
        VEC_PUSH(lp->arena, &lp->entry, entry[k]);
    VEC_PUSH(lp->arena, &lp->col, c);
    return lp->col.n - 1;
}

void lp_copy(struct lp *to, const struct lp *from)
{
    const uint32_t m = from->m;

    memcpy(to->rhs, from->rhs, m * sizeof *to->rhs);
    memcpy(to->inv, from->inv, (size_t)m * m * sizeof *to->inv);
    memcpy(to->basis, from->basis, m * sizeof *to->basis);
    memcpy(to->slack_of, from->slack_of, m * sizeof *to->slack_of);
    memcpy(to->slack_basic, from->slack_basic, m * sizeof *to->slack_basic);
    memcpy(to->slack_cost, from->slack_cost, m * sizeof *to->slack_cost);
    memcpy(to->x, from->x, m * sizeof *to->x);
    memcpy(to->y, from->y, m * sizeof *to->y);
    to->col.n = to->entry.n = 0;
    for (uint32_t k = 0; k < from->col.n; k++)
        VEC_PUSH(to->arena, &to->col, from->col.v[k]);
    for (uint32_t k = 0; k < from->entry.n; k++)
        VEC_PUSH(to->arena, &to->entry, from->entry.v[k]);
    to->mean_scale = from->mean_scale;
    to->n_weighed = 0;
    to->pivots = from->pivots;
    to->started = from->started;
    to->work = from->work;
}

uint32_t lp_columns(const struct lp *lp)
{
    return lp->col.n;
}

void lp_set_rhs(struct lp *lp, const double *rhs)
{
    memcpy(lp->rhs, rhs, lp->m * sizeof *rhs);
    if (lp->started)
        basis_recompute(lp);
}

void lp_set_costs(struct lp *lp, const double *cost, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        lp->col.v[j].cost = cost[j];
    if (lp->started)
        basis_recompute(lp);
}

void lp_keep(struct lp *lp, enum lp_kept as)
{
    const size_t m = lp->m;
    struct kept *k = &lp->kept[as];

    if (!lp->started)
        return;
    if (!k->inv) {
        k->inv = ARENA_ARRAY(lp->arena, double, m *m);
        k->basis = ARENA_ARRAY(lp->arena, uint32_t, m);
        k->slack_of = ARENA_ARRAY(lp->arena, uint32_t, m);
    }
    memcpy(k->inv, lp->inv, m * m * sizeof *k->inv);
    memcpy(k->basis, lp->basis, m * sizeof *k->basis);
    memcpy(k->slack_of, lp->slack_of, m * sizeof *k->slack_of);
    k->pivots = lp->pivots;
    lp->work += m * m / 8;
}

void lp_recall(struct lp *lp, enum lp_kept as)
{
    const size_t m = lp->m;
    const struct kept *k = &lp->kept[as];

    if (!k->inv)
        return;
    lp_restart(lp);
    memcpy(lp->inv, k->inv, m * m * sizeof *k->inv);
    memcpy(lp->basis, k->basis, m * sizeof *k->basis);
    memcpy(lp->slack_of, k->slack_of, m * sizeof *k->slack_of);
    for (uint32_t r = 0; r < m; r++) {
        if (lp->basis[r] == SLACK)
            lp->slack_basic[lp->slack_of[r]] = true;
        else
            lp->col.v[lp->basis[r]].basic = true;
    }
    lp->pivots = k->pivots;
    lp->started = true;
    basis_recompute(lp);
    lp->work += m * m / 8;
}

void lp_restart(struct lp *lp)
{
    for (uint32_t j = 0; j < lp->col.n; j++)
        lp->col.v[j].basic = false;
    memset(lp->slack_basic, 0, lp->m * sizeof *lp->slack_basic);
    memset(lp->inv, 0, (size_t)lp->m * lp->m * sizeof *lp->inv);
    lp->pivots = 0;
    lp->n_weighed = 0;
    lp->started = false;
}

double lp_reduced_cost(const struct lp *lp, uint32_t column)
{
    const struct column *c = &lp->col.v[column];
    const struct lp_entry *e = lp->entry.v + c->first;
    double d = c->cost;

    for (uint32_t k = 0; k < c->n; k++)
        d -= lp->y[e[k].row] * (double)e[k].value;
    return d;
}

double lp_value(const struct lp *lp)
{
    double z = 0;

    for (uint32_t k = 0; k < lp->m; k++)
        z += basic_cost(lp, k) * lp->x[k];
    return z;
}

const double *lp_duals(const struct lp *lp)
{
    return lp->y;
}

uint32_t lp_rows(const struct lp *lp)
{
    return lp->m;
}

uint32_t lp_basic(const struct lp *lp, uint32_t k, double *ret_x)
{
    *ret_x = lp->x[k];
    return lp->basis[k];
}

void lp_stop_at(struct lp *lp, uint64_t work)
{
    lp->stop = work;
}

uint64_t lp_work(const struct lp *lp)
{
    return lp->work;
}
