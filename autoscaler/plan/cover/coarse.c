/*
 * coarse.c - see coarse.h.
 *
 * Needs are put on a geometric grid, coarser until the clusters are few enough.
 * A plan for clusters as large as their largest member holds for all members,
 * who need no more; the slack is left to ruin and recreate.  A bound for
 * clusters as small as their smallest is one for the members, who need no less.
 */
#include "coarse.h"

#include <string.h>

/* The number of a need's step on the grid; each step is `grid` times the last.
 */
static uint32_t step_of(int64_t need, double grid)
{
    double level = 1;
    uint32_t k = 0;

    while (level < (double)need && k < 4000) {
        level *= grid;
        k++;
    }
    return k;
}

/* Nearly the same needs? */
static bool near(const struct view *v, uint32_t a, uint32_t b,
                 const uint32_t *step)
{
    for (uint32_t c = 0; c < v->n_plain; c++)
        if (step[(size_t)a * v->n_plain + c] !=
            step[(size_t)b * v->n_plain + c])
            return false;
    for (uint32_t d = 0; d < v->n_dev; d++)
        if (memcmp(v->share + (size_t)a * v->n_dev + d,
                   v->share + (size_t)b * v->n_dev + d, sizeof *v->share))
            return false;
    return v->needs_accel[a] == v->needs_accel[b];
}

/* Number of clusters, `most` + 1 when there would be more. */
static uint32_t divide(const struct view *v, const uint32_t *class_of,
                       double grid, uint32_t most, uint32_t *step,
                       uint32_t *leader, uint32_t *of, uint64_t *work)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->n_items; i++) {
        uint32_t g;

        for (uint32_t c = 0; c < v->n_plain; c++)
            *work += step[(size_t)i * v->n_plain + c] = step_of(
                view_need(v, i)[c], grid);
        for (g = 0; g < n && !(near(v, leader[g], i, step) &&
                               class_of[leader[g]] == class_of[i]);
             g++)
            ;
        *work += 4 * (uint64_t)g + 8;
        if (g == most)
            return most + 1;
        if (g == n)
            leader[n++] = i;
        of[i] = g;
    }
    return n;
}

void coarse_make(const struct view *v, uint32_t most, bool smallest,
                 struct coarse *ret)
{
    const struct cover_problem *p = v->p;
    struct arena *a = v->arena;
    uint32_t *step = ARENA_ARRAY(a, uint32_t, (size_t)v->n_items * v->n_plain);
    uint32_t *leader = ARENA_ARRAY(a, uint32_t, most + 1);
    const uint64_t **mask = ARENA_ARRAY(a, const uint64_t *, v->n_items);
    struct alike labels; /* the masks as the caller gave them */
    struct cover_item *items;
    double grid = 1.02;
    uint32_t n;

    for (uint32_t i = 0; i < v->n_items; i++)
        mask[i] = p->items[v->item_of[i]].bins;
    alike_make(mask, v->n_items, (p->n_bins + 63) / 64, a, &labels);
    ret->work = 0;
    ret->of = ARENA_ARRAY(a, uint32_t, v->n_items);
    do {
        grid = 1 + (grid - 1) * 1.4;
        n = divide(v, labels.class_of, grid, most, step, leader, ret->of,
                   &ret->work);
    } while (n > most && grid < 1e6);
    if (n > most)
        n = 0;
    items = ARENA_ARRAY(a, struct cover_item, n + 1);
    for (uint32_t g = 0; g < n; g++) {
        items[g] = p->items[v->item_of[leader[g]]];
        items[g].need = arena_copy(a, items[g].need,
                                   p->n_columns * sizeof(int64_t));
        items[g].count = 0;
    }
    for (uint32_t i = 0; n && i < v->n_items; i++) {
        const int64_t *need = p->items[v->item_of[i]].need;
        int64_t *all = (int64_t *)items[ret->of[i]].need;

        for (uint32_t c = 0; c < p->n_columns; c++)
            if (smallest ? need[c] < all[c] : need[c] > all[c])
                all[c] = need[c];
        items[ret->of[i]].count += v->count[i];
    }
    ret->p = *p;
    ret->p.items = items;
    ret->p.n_items = n;
}

void coarse_apply(const struct coarse *g, const struct cover_plan *plan,
                  struct partial *d, struct space *scratch)
{
    const struct view *v = d->v;
    uint32_t *at = ARENA_ARRAY(v->arena, uint32_t, g->p.n_items + 1);
    const uint32_t *bin = view_bin_numbers(v);
    VEC(struct cover_part) part = {0};

    partial_clear(d);
    for (uint32_t k = 0; k < plan->n_patterns; k++) {
        const struct cover_pattern *x = &plan->patterns[k];

        for (uint32_t c = 0; c < x->count && bin[x->bin] < v->n_bins; c++) {
            part.n = 0;
            for (uint32_t q = 0; q < x->n; q++) {
                struct cover_part want = plan->parts[x->first + q];
                uint32_t *i = &at[want.item];

                while (want.count && *i < v->n_items) {
                    uint32_t some = d->left[*i];

                    if (g->of[*i] != want.item || !some) {
                        ++*i;
                        continue;
                    }
                    some = some < want.count ? some : want.count;
                    VEC_PUSH(v->arena, &part, ((struct cover_part){*i, some}));
                    want.count -= some;
                    if (some == d->left[*i])
                        ++*i;
                    else
                        break;
                }
            }
            if (part.n && partial_allows(d, bin[x->bin]) &&
                partial_holds(v, bin[x->bin], part.v, part.n, scratch))
                partial_buy(d, bin[x->bin], 1, part.v, part.n);
        }
    }
}
