/*
 * seated.c - see seated.h.
 *
 * A program of its own: seats are rows.  Every column of the other one is one
 * here, with the seat that its bin has.
 */
#include "seated.h"

#include <string.h>

static void numbers_make(struct seated *x, const struct view *v)
{
    const struct view *w = &x->v;
    struct arena *a = v->arena;
    uint32_t *at = ARENA_ARRAY(a, uint32_t, x->seats.p.n_items);

    x->item = ARENA_ARRAY(a, uint32_t, v->n_items);
    x->other_item = ARENA_ARRAY(a, uint32_t, w->n_items);
    memset(x->other_item, 0xff, w->n_items * sizeof *x->other_item);
    for (uint32_t i = 0; i < w->n_items; i++)
        at[w->item_of[i]] = i;
    for (uint32_t i = 0; i < v->n_items; i++) {
        x->item[i] = at[v->item_of[i]];
        x->other_item[x->item[i]] = i;
    }
    x->bin = view_bin_numbers(w);
    x->other_bin = ARENA_ARRAY(a, uint32_t, w->n_bins);
    at = view_bin_numbers(v);
    for (uint32_t t = 0; t < w->n_bins; t++)
        x->other_bin[t] = at[w->bin_of[t]];
    x->seat = ARENA_ARRAY(a, uint32_t, w->n_bins);
    memset(x->seat, 0xff, w->n_bins * sizeof *x->seat);
    for (uint32_t t = 0; t < w->n_bins; t++)
        for (uint32_t i = 0; i < w->n_items; i++)
            if (x->other_item[i] == UINT32_MAX && view_can(w, t, i))
                x->seat[t] = i;
}

/* How many of each bin the program buys. */
static const double *used(const struct generate *g)
{
    const struct master *m = &g->master;
    double *ret = ARENA_ARRAY(g->v->arena, double, g->v->n_bins), amount;

    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        uint32_t column = lp_basic(m->lp, k, &amount);

        if (column < m->column.n && m->column.v[column].n)
            ret[m->column.v[column].bin] += amount;
    }
    return ret;
}

struct seated *seated_make(struct generate *g)
{
    const struct view *v = g->v;
    struct seated *x = ARENA_NEW(v->arena, struct seated);

    if (!seats_make(v, used(g), &g->extra, &x->seats))
        return x;
    view_make(&x->seats.p, v->arena, &x->v);
    numbers_make(x, v);
    x->worth = ARENA_ARRAY(v->arena, double, x->v.n_items);
    x->n_items = v->n_items;
    return x;
}

void seated_feed(struct seated *x, const struct generate *g)
{
    const struct master *m = &g->master;

    for (; x->fed < m->column.n; x->fed++) {
        const struct partial_pattern *c = &m->column.v[x->fed];
        uint32_t bin = c->n ? x->bin[g->v->bin_of[c->bin]] : UINT32_MAX;

        if (bin == UINT32_MAX)
            continue;
        x->part.n = 0;
        for (uint32_t k = 0; k < c->n; k++) {
            struct cover_part part = m->part.v[c->first + k];

            part.item = x->item[part.item];
            VEC_PUSH(g->v->arena, &x->part, part);
        }
        if (x->seat[bin] != UINT32_MAX)
            VEC_PUSH(g->v->arena, &x->part,
                     ((struct cover_part){x->seat[bin], 1}));
        master_add(&x->g.master, bin, x->part.v, x->part.n);
        x->g.extra += c->n;
    }
}

void seated_give(struct seated *x, struct generate *g, uint32_t from)
{
    const struct master *m = &x->g.master;

    for (; from < m->column.n; from++) {
        const struct partial_pattern *c = &m->column.v[from];
        uint32_t bin = c->n ? x->other_bin[c->bin] : UINT32_MAX;

        if (bin == UINT32_MAX)
            continue;
        x->part.n = 0;
        for (uint32_t k = 0; k < c->n; k++) {
            struct cover_part part = m->part.v[c->first + k];

            part.item = x->other_item[part.item];
            if (part.item != UINT32_MAX)
                VEC_PUSH(g->v->arena, &x->part, part);
        }
        if (x->part.n)
            master_add(&g->master, bin, x->part.v, x->part.n);
    }
    x->fed = g->master.column.n;
}

const double *seated_worth(struct seated *x, const double *worth)
{
    memset(x->worth, 0, x->v.n_items * sizeof *x->worth);
    for (uint32_t i = 0; i < x->n_items; i++)
        x->worth[x->item[i]] = worth[i];
    return x->worth;
}

void seated_proof(const struct seated *x, const struct generate *g,
                  struct cover_proof *ret)
{
    struct cover_proof with;

    view_proof(&x->v, x->g.dual, x->g.money, &with);
    seats_proof(&x->seats, g->v, &with, ret);
}
