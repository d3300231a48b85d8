/*
 * make.c - groups of like items, and the rows of their program.
 */
#include "inside.h"

#include "../generate.h"

#include <string.h>

/* Nodes of a search: in bins of one device, in others; with joint bounds so many times
 * that, as a search settles what they do not. */
enum { NODES_ONE = 400000, NODES = 10000, MORE_ONE = 2, MORE = 4 };
/* At first; of more the program is slow. */
enum { FEW_GROUPS = 120, MOST_GROUPS = GENERATE_ROWS };
/* From the roughest to the finest. */
static const struct view_rough ROUGH[] = {
    {VIEW_LEAVE_POWER, VIEW_LEAVE_ALL},    {VIEW_LEAVE_NONE, VIEW_LEAVE_ALL},
    {VIEW_LEAVE_NONE, VIEW_LEAVE_POWER},   {VIEW_LEAVE_NONE, VIEW_LEAVE_HALF},
    {VIEW_LEAVE_NONE, VIEW_LEAVE_QUARTER}, {VIEW_LEAVE_NONE, VIEW_LEAVE_EIGHTH},
    {VIEW_LEAVE_NONE, VIEW_LEAVE_NONE},
};
enum { LEVELS = sizeof ROUGH / sizeof *ROUGH };

static void divide(struct groups *x, struct view_rough rough, struct alike *ret)
{
    view_groups(x->v, rough, ret);
    x->work += (uint64_t)x->v->n_items * (9 + x->v->n_plain + x->v->n_dev);
}

/* The finest that are few; false: even the roughest are too many. */
static bool first_level(struct groups *x)
{
    struct alike finer;

    divide(x, ROUGH[0], &x->group);
    while (x->level + 1 < LEVELS) {
        divide(x, ROUGH[x->level + 1], &finer);
        if (finer.n > FEW_GROUPS)
            break;
        x->group = finer;
        x->level++;
    }
    return x->group.n <= MOST_GROUPS;
}

/* Finer ones, which are not too many; false: there are none. */
static bool next_level(struct groups *x)
{
    struct alike finer;

    while (++x->level < LEVELS) {
        divide(x, ROUGH[x->level], &finer);
        if (finer.n <= x->group.n)
            continue;
        if (finer.n > MOST_GROUPS)
            x->level = LEVELS; /* more are more still */
        else
            x->group = finer;
        return finer.n <= MOST_GROUPS;
    }
    return false;
}

static void parts_make(struct groups *x)
{
    const struct view *v = x->v;
    double *sum = ARENA_ARRAY(v->arena, double, x->group.n);
    double *count = ARENA_ARRAY(v->arena, double, x->group.n);

    for (uint32_t i = 0; i < v->n_items; i++) {
        sum[x->group.class_of[i]] += x->best.item[i] * v->count[i];
        count[x->group.class_of[i]] += v->count[i];
    }
    for (uint32_t i = 0; i < v->n_items; i++) {
        uint32_t g = x->group.class_of[i];

        x->part[i] = sum[g] > 0 ? x->best.item[i] * count[g] / sum[g] : 1;
    }
}

/* A bin with a price that may hold something with a share counts in a set. */
static void sets_make(struct groups *x, const struct cover_proof *proof)
{
    const struct view *v = x->v;

    x->n_sets = proof->n_least < 64 ? proof->n_least : 64;
    x->least = proof->least;
    x->counts = ARENA_ARRAY(v->arena, uint64_t, v->n_bins);
    for (uint32_t t = 0; t < v->n_bins; t++)
        for (uint32_t k = 0; k < x->n_sets && v->price[t]; k++)
            for (uint32_t i = 0; i < v->n_items; i++)
                if (view_can(v, t, i) && x->least[k].share[v->item_of[i]] > 0) {
                    x->counts[t] |= UINT64_C(1) << k;
                    break;
                }
    x->work += (uint64_t)v->n_bins * x->n_sets * v->n_items / 16;
}

/* What a row is of, so that a program can be made of them. */
static void rows_make(struct groups *x)
{
    const struct view *v = x->v;
    struct view *rows = &x->rows;
    uint32_t n = x->group.n + x->n_sets;
    uint32_t *count = ARENA_ARRAY(v->arena, uint32_t, n);
    uint64_t *can;

    *rows = *v;
    rows->n_items = n;
    rows->words = (n + 63) / 64;
    can = ARENA_ARRAY(v->arena, uint64_t, (size_t)v->n_bins * rows->words);
    for (uint32_t i = 0; i < v->n_items; i++)
        count[x->group.class_of[i]] += v->count[i];
    for (uint32_t k = 0; k < x->n_sets; k++)
        count[x->group.n + k] = x->least[k].bins;
    for (uint32_t t = 0; t < v->n_bins; t++) {
        uint64_t *row = can + (size_t)t * rows->words;

        for (uint32_t i = 0; i < v->n_items; i++)
            if (view_can(v, t, i))
                row[x->group.class_of[i] / 64] |= UINT64_C(1)
                                                  << x->group.class_of[i] % 64;
        for (uint32_t k = 0; k < x->n_sets; k++)
            if (x->counts[t] >> k & 1)
                row[(x->group.n + k) / 64] |= UINT64_C(1)
                                              << (x->group.n + k) % 64;
    }
    rows->count = count;
    rows->can = can;
    x->work += (uint64_t)v->n_bins * v->n_items / 2;
}

static void program_make(struct groups *x)
{
    parts_make(x);
    rows_make(x);
    master_make(&x->rows, NULL, 0, &x->master);
    x->row_amount = ARENA_ARRAY(x->v->arena, double, x->rows.n_items);
}

bool groups_divide(struct groups *x)
{
    uint64_t had = lp_work(x->master.lp);

    if (!next_level(x))
        return false;
    program_make(x);
    x->work += had;
    groups_add_met(x);
    return true;
}

void groups_deepen(struct groups *x)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < x->met.n; k++)
        if (!x->met.v[k].mixed)
            x->met.v[n++] = x->met.v[k];
    x->met.n = n;
    memset(x->failed, 0, x->v->n_bins * sizeof *x->failed);
    x->nodes *= 4;
    x->nodes_one *= 2;
    x->work += lp_work(x->master.lp);
    program_make(x);
    groups_add_met(x);
}

static void values_make(const struct groups *x, struct values *ret)
{
    ret->item = ARENA_ARRAY(x->v->arena, double, x->v->n_items);
    ret->set = ARENA_ARRAY(x->v->arena, double, x->n_sets + 1);
}

struct groups *groups_make(const struct view *v, double bound,
                           const struct cover_proof *proof)
{
    struct arena *a = v->arena;
    struct groups *x = ARENA_NEW(a, struct groups);

    x->v = v;
    sets_make(x, proof);
    values_make(x, &x->best);
    values_make(x, &x->own);
    values_make(x, &x->asked);
    values_make(x, &x->trial);
    x->bound = bound;
    x->money = proof->money;
    for (uint32_t i = 0; i < v->n_items; i++)
        x->best.item[i] = proof->worth[v->item_of[i]];
    for (uint32_t k = 0; k < x->n_sets; k++)
        x->best.set[k] = x->least[k].worth;
    if (!first_level(x))
        return NULL;
    x->part = ARENA_ARRAY(a, double, v->n_items);
    program_make(x);
    x->price = price_make(v);
    x->prove = prove_make(v, x->price);
    x->maker = column_make(v, x->price);
    x->nodes_one = NODES_ONE;
    x->nodes = NODES;
    x->failed = ARENA_ARRAY(a, uint32_t, v->n_bins);
    x->earn = ARENA_ARRAY(a, double, v->n_bins);
    x->ratio = ARENA_ARRAY(a, double, v->n_bins);
    x->amount = ARENA_ARRAY(a, double, v->n_items);
    x->work += (uint64_t)v->n_items * v->n_bins;
    return x;
}
