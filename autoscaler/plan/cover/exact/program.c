/*
 * program.c - the program of prices, for the bins where a group costs little more
 * than where it costs the least.
 */
#include "inside.h"

#include <string.h>

enum { MOST_VARS = 500 };
#define BOX 4.0     /* times what a group was worth by the best prices */
#define INSIDE 0.95 /* of a bin's price, to start with */

static bool in_program(const struct exact *x, uint32_t t)
{
    if (x->bin[t].tie.n)
        return true;
    for (uint32_t g = 0; g < x->group.n; g++)
        if (x->pair[(size_t)g * x->words + t / 64] >> (t % 64) & 1)
            return true;
    return false;
}

static void end_row(struct exact *x, struct interior *p)
{
    VEC_PUSH(x->arena, &p->row, p->term.n);
}

static void bin_row(struct exact *x, struct interior *p, uint32_t t,
                    uint32_t first_extra)
{
    const struct bin *b = &x->bin[t];
    uint32_t var = b->first;

    for (uint32_t c = 0; c < x->n; c++)
        if (x->has[(size_t)t * x->n + c] > 0)
            VEC_PUSH(x->arena, &p->term, ((struct interior_term){var++, 1}));
    for (uint32_t k = 0; k < b->tie.n; k++)
        VEC_PUSH(x->arena, &p->term,
                 ((struct interior_term){first_extra + b->tie.v[k].extra,
                                         b->tie.v[k].coef}));
    end_row(x, p);
}

static void pair_row(struct exact *x, struct interior *p, uint32_t g,
                     uint32_t t)
{
    uint32_t var = x->bin[t].first;

    for (uint32_t c = 0; c < x->n; c++) {
        double need = x->group_need[(size_t)g * x->n + c];
        double has = x->has[(size_t)t * x->n + c];

        if (has <= 0)
            continue;
        if (need > 0)
            VEC_PUSH(x->arena, &p->term,
                     ((struct interior_term){var, need / has}));
        var++;
    }
    end_row(x, p);
    p->base[p->n_pairs++] = 0;
}

/* No group is to be worth much more than it was: it might lie in bins that are left
 * out. */
static void box_row(struct exact *x, struct interior *p, uint32_t g)
{
    end_row(x, p);
    x->box[g] = BOX * x->best[g];
    p->base[p->n_pairs++] = x->box[g];
}

/* Numbers of prices: each bin's columns, then the extras. */
static uint32_t number(struct exact *x, struct interior *p)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        x->bin[t].first = EXACT_NONE;
        if (!in_program(x, t))
            continue;
        x->bin[t].first = n;
        p->n_bins++;
        for (uint32_t c = 0; c < x->n; c++)
            n += x->has[(size_t)t * x->n + c] > 0;
    }
    p->n_vars = n + x->extra.n;
    return n;
}

static uint32_t pairs(const struct exact *x)
{
    uint32_t n = 0;

    for (size_t w = 0; w < (size_t)x->group.n * x->words; w++)
        n += (uint32_t)__builtin_popcountll(x->pair[w]);
    return n;
}

static void program_make(struct exact *x, struct interior *p)
{
    const struct view *v = x->v;
    uint32_t first_extra, b = 0;

    *p = (struct interior){.arena = x->arena, .n_items = x->group.n};
    first_extra = number(x, p);
    p->gain = ARENA_ARRAY(x->arena, double, p->n_vars + 1);
    p->demand = ARENA_ARRAY(x->arena, double, x->group.n);
    p->price = ARENA_ARRAY(x->arena, double, p->n_bins + 1);
    p->base = ARENA_ARRAY(x->arena, double, pairs(x) + x->group.n);
    p->first = ARENA_ARRAY(x->arena, uint32_t, x->group.n + 1);
    for (uint32_t k = 0; k < x->extra.n; k++)
        p->gain[first_extra + k] = x->extra.v[k].gain;
    end_row(x, p);
    for (uint32_t t = 0; t < v->n_bins; t++)
        if (x->bin[t].first != EXACT_NONE) {
            p->price[b++] = (double)v->price[t];
            bin_row(x, p, t, first_extra);
        }
    for (uint32_t g = 0; g < x->group.n; g++) {
        p->demand[g] = x->count[g];
        for (uint32_t t = 0; t < v->n_bins; t++)
            if (x->pair[(size_t)g * x->words + t / 64] >> (t % 64) & 1)
                pair_row(x, p, g, t);
        box_row(x, p, g);
        p->first[g + 1] = p->n_pairs;
    }
}

/* The present prices, drawn inside; or back from there.  A price of nothing is
 * on the border, so each has some. */
static void prices_give(const struct exact *x, double *z, uint32_t first_extra)
{
    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        const double *price = x->price + (size_t)t * x->n;
        uint32_t var = x->bin[t].first, n = 0;

        if (var == EXACT_NONE)
            continue;
        for (uint32_t c = 0; c < x->n; c++)
            n += x->has[(size_t)t * x->n + c] > 0;
        for (uint32_t c = 0; c < x->n; c++)
            if (x->has[(size_t)t * x->n + c] > 0)
                z[var++] = INSIDE * (0.9 * price[c] + 0.1 * x->bin[t].cap / n);
    }
    for (uint32_t k = 0; k < x->extra.n; k++)
        z[first_extra + k] = x->extra.v[k].price;
}

static void prices_take(struct exact *x, const double *z, const double *use,
                        uint32_t first_extra)
{
    uint32_t b = 0;

    for (uint32_t k = 0; k < x->extra.n; k++)
        x->extra.v[k].price = z[first_extra + k];
    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        uint32_t var = x->bin[t].first;

        x->bin[t].used = 0;
        if (var == EXACT_NONE)
            continue;
        x->bin[t].used = use[b++];
        for (uint32_t c = 0; c < x->n; c++)
            if (x->has[(size_t)t * x->n + c] > 0)
                x->price[(size_t)t * x->n + c] = z[var++];
    }
}

enum exact_end exact_solve(struct exact *x)
{
    struct arena_mark mark = arena_mark(x->arena);
    struct interior p;
    double *z, *use;
    enum exact_end end = EXACT_SOLVED;

    program_make(x, &p);
    x->work += 2 * (uint64_t)p.term.n;
    if (p.n_vars > MOST_VARS)
        end = EXACT_TOO_LARGE;
    else if (x->work + interior_cost(&p) > x->until)
        end = EXACT_TOO_LONG;
    z = ARENA_ARRAY(x->arena, double, p.n_vars + 1);
    use = ARENA_ARRAY(x->arena, double, p.n_bins + 1);
    if (end == EXACT_SOLVED) {
        prices_give(x, z, p.n_vars - x->extra.n);
        x->value = interior_solve(&p, x->close, z, use, &x->work);
        prices_take(x, z, use, p.n_vars - x->extra.n);
    }
    arena_rewind(x->arena, mark);
    return end;
}

uint64_t exact_solve_cost(struct exact *x)
{
    struct arena_mark mark = arena_mark(x->arena);
    struct interior p;
    uint64_t cost;

    program_make(x, &p);
    cost = p.n_vars > MOST_VARS ? UINT32_MAX : interior_cost(&p);
    arena_rewind(x->arena, mark);
    return cost;
}
