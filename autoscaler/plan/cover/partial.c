/*
 * partial.c - buying and selling bins under the limits, and the last step
 * of every plan: its way into the caller's numbers, checked in integers.
 */
#include "partial.h"

#include <assert.h>
#include <string.h>

void partial_make(const struct view *v, struct partial *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->v = v;
    ret->left = ARENA_ARRAY(v->arena, uint32_t, v->n_items);
    ret->bought = ARENA_ARRAY(v->arena, uint32_t, v->n_bins);
    ret->family_bought = ARENA_ARRAY(v->arena, uint32_t, v->p->n_families + 1);
    ret->plain = ARENA_ARRAY(v->arena, int64_t, v->n_plain);
    ret->device = ARENA_ARRAY(v->arena, int64_t, v->n_dev);
    partial_clear(ret);
}

void partial_clear(struct partial *d)
{
    const struct view *v = d->v;

    d->pattern.n = 0;
    d->part.n = 0;
    memcpy(d->left, v->count, v->n_items * sizeof *d->left);
    d->n_left = v->total;
    memset(d->bought, 0, v->n_bins * sizeof *d->bought);
    memset(d->family_bought, 0,
           (v->p->n_families + 1) * sizeof *d->family_bought);
    d->n_bought = 0;
    d->cost = 0;
}

void partial_copy(struct partial *to, const struct partial *from)
{
    const struct view *v = from->v;

    to->pattern.n = 0;
    for (uint32_t k = 0; k < from->pattern.n; k++)
        VEC_PUSH(v->arena, &to->pattern, from->pattern.v[k]);
    to->part.n = 0;
    for (uint32_t k = 0; k < from->part.n; k++)
        VEC_PUSH(v->arena, &to->part, from->part.v[k]);
    memcpy(to->left, from->left, v->n_items * sizeof *to->left);
    memcpy(to->bought, from->bought, v->n_bins * sizeof *to->bought);
    memcpy(to->family_bought, from->family_bought,
           (v->p->n_families + 1) * sizeof *to->family_bought);
    to->n_left = from->n_left;
    to->n_bought = from->n_bought;
    to->cost = from->cost;
}

uint32_t partial_times(const struct partial *d, const struct cover_part *part,
                       uint32_t n)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t need = 0;

        for (uint32_t q = 0; q < n; q++) /* an item may come twice */
            if (part[q].item == part[k].item)
                need += part[q].count;
        if (d->left[part[k].item] / need < best)
            best = d->left[part[k].item] / need;
    }
    return best;
}

uint32_t partial_allows(const struct partial *d, uint32_t bin)
{
    const struct view *v = d->v;
    const struct cover_problem *p = v->p;
    uint64_t room = UNLIMITED;

    if (v->max[bin] != UNLIMITED)
        room = v->max[bin] > d->bought[bin] ? v->max[bin] - d->bought[bin] : 0;
    if (p->n_families && p->family_max[v->family[bin]] != UNLIMITED) {
        uint32_t max = p->family_max[v->family[bin]];
        uint32_t got = d->family_bought[v->family[bin]];

        if (max - (got < max ? got : max) < room)
            room = max - (got < max ? got : max);
    }
    if (p->max_bins != UNLIMITED) {
        uint64_t r = d->n_bought < p->max_bins ? p->max_bins - d->n_bought : 0;

        if (r < room)
            room = r;
    }
    if (p->max_cost >= 0 && v->price[bin] > 0) {
        int64_t r = p->max_cost > d->cost
                        ? (p->max_cost - d->cost) / v->price[bin]
                        : 0;

        if ((uint64_t)r < room)
            room = (uint64_t)r;
    }
    return (uint32_t)room;
}

/* n more bins of the pattern, n < 0: fewer. */
static void add_bins(struct partial *d, uint32_t pattern, int64_t n)
{
    const struct view *v = d->v;
    struct partial_pattern *x = &d->pattern.v[pattern];

    for (uint32_t k = 0; k < x->n; k++) {
        struct cover_part part = d->part.v[x->first + k];
        int64_t put = (int64_t)part.count * n;

        assert(put <= (int64_t)d->left[part.item]);
        d->left[part.item] = (uint32_t)((int64_t)d->left[part.item] - put);
        d->n_left = (uint64_t)((int64_t)d->n_left - put);
    }
    x->count = (uint32_t)(x->count + n);
    d->bought[x->bin] = (uint32_t)(d->bought[x->bin] + n);
    if (v->p->n_families) {
        uint32_t *of = &d->family_bought[v->family[x->bin]];

        *of = (uint32_t)(*of + n);
    }
    d->n_bought = (uint64_t)((int64_t)d->n_bought + n);
    d->cost += v->price[x->bin] * n;
}

/* A pattern without bins yet; the parts may be some of d's own (what a vector
 * grew out of stays in the arena). */
static uint32_t add_pattern(struct partial *d, uint32_t bin,
                            const struct cover_part *part, uint32_t n)
{
    struct partial_pattern x = {bin, 0, d->part.n, n};

    for (uint32_t k = 0; k < n; k++)
        VEC_PUSH(d->v->arena, &d->part, part[k]);
    VEC_PUSH(d->v->arena, &d->pattern, x);
    return d->pattern.n - 1;
}

void partial_buy(struct partial *d, uint32_t bin, uint32_t count,
                 const struct cover_part *part, uint32_t n)
{
    add_bins(d, add_pattern(d, bin, part, n), count);
}

void partial_sell(struct partial *d, uint32_t pattern, uint32_t count)
{
    assert(count <= d->pattern.v[pattern].count);
    add_bins(d, pattern, -(int64_t)count);
}

void partial_unsell(struct partial *d, uint32_t pattern)
{
    add_bins(d, pattern, 1);
}

void partial_compact(struct partial *d)
{
    uint32_t n = 0, parts = 0;

    for (uint32_t k = 0; k < d->pattern.n; k++) {
        struct partial_pattern x = d->pattern.v[k];

        if (!x.count)
            continue;
        memmove(d->part.v + parts, d->part.v + x.first,
                x.n * sizeof *d->part.v);
        x.first = parts;
        parts += x.n;
        d->pattern.v[n++] = x;
    }
    d->pattern.n = n;
    d->part.n = parts;
}

bool partial_better(const struct partial *a, const struct partial *b)
{
    if (a->n_left != b->n_left)
        return a->n_left < b->n_left;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->n_bought < b->n_bought;
}

bool partial_holds(const struct view *v, uint32_t bin,
                   const struct cover_part *part, uint32_t n,
                   struct space *scratch)
{
    bool seed = !v->seeded[bin];

    for (uint32_t k = 0; k < n; k++) {
        if (!view_can(v, bin, part[k].item))
            return false;
        seed |= v->needs_accel[part[k].item];
    }
    if (!seed)
        return false;
    space_open(scratch, bin);
    for (uint32_t k = 0; k < n; k++)
        if (space_put(scratch, part[k].item, part[k].count) != part[k].count)
            return false;
    return true;
}

/* Up to all bins of pattern k become cheaper ones of kind t. */
static void change_bins(struct partial *d, uint32_t k, uint32_t t,
                        struct space *scratch)
{
    struct partial_pattern x = d->pattern.v[k];
    const struct cover_part *part = d->part.v + x.first;
    uint32_t some;

    if (!partial_holds(d->v, t, part, x.n, scratch))
        return;
    some = partial_allows(d, t);
    if (!some)
        return;
    if (some > x.count)
        some = x.count;
    partial_sell(d, k, some);
    if (some == x.count)
        d->pattern.v[k].bin = t;
    else
        k = add_pattern(d, t, part, x.n);
    add_bins(d, k, some);
}

/* What a pattern needs of every column, as sums. */
static void sum_needs(const struct partial *d, uint32_t pattern, int64_t *plain,
                      int64_t *device)
{
    const struct view *v = d->v;
    const struct partial_pattern *x = &d->pattern.v[pattern];

    memset(plain, 0, v->n_plain * sizeof *plain);
    memset(device, 0, v->n_dev * sizeof *device);
    for (uint32_t q = x->first; q < x->first + x->n; q++) {
        struct cover_part part = d->part.v[q];

        for (uint32_t c = 0; c < v->n_plain; c++)
            plain[c] += view_need(v, part.item)[c] * part.count;
        for (uint32_t k = 0; k < v->n_dev; k++)
            device[k] += view_device_amount(v, part.item, k) * part.count;
    }
}

static bool sums_fit(const struct view *v, uint32_t bin, const int64_t *plain,
                     const int64_t *device)
{
    for (uint32_t k = 0; k < v->n_dev; k++)
        if (device[k] >
            (int64_t)v->devices[(size_t)bin * v->n_dev + k] * AMOUNT_ONE)
            return false;
    for (uint32_t c = 0; c < v->n_plain; c++)
        if (plain[c] > view_has(v, bin)[c])
            return false;
    return true;
}

void partial_downgrade(struct partial *d, uint32_t from, struct space *scratch)
{
    const struct view *v = d->v;
    uint32_t n = d->pattern.n;

    /* Bins are sorted by price: the first that holds it is cheapest. */
    for (uint32_t k = from; k < n; k++) {
        sum_needs(d, k, d->plain, d->device);
        for (uint32_t t = 0; d->pattern.v[k].count && t < v->n_bins &&
                             v->price[t] < v->price[d->pattern.v[k].bin];
             t++)
            if (sums_fit(v, t, d->plain, d->device))
                change_bins(d, k, t, scratch);
    }
}

void partial_import(struct partial *d, const struct cover_plan *plan,
                    struct space *scratch)
{
    const struct view *v = d->v;
    const struct cover_problem *p = v->p;
    uint32_t *item = ARENA_ARRAY(v->arena, uint32_t, p->n_items);
    const uint32_t *bin = view_bin_numbers(v);
    VEC(struct cover_part) part = {0};

    for (uint32_t i = 0; i < v->n_items; i++)
        item[v->item_of[i]] = i;
    partial_clear(d);
    for (uint32_t k = 0; k < plan->n_patterns; k++) {
        const struct cover_pattern *y = &plan->patterns[k];

        part.n = 0;
        for (uint32_t q = 0; q < y->n; q++) {
            struct cover_part z = plan->parts[y->first + q];

            z.item = item[z.item];
            VEC_PUSH(v->arena, &part, z);
        }
        if (bin[y->bin] != UINT32_MAX &&
            (!scratch ||
             partial_holds(v, bin[y->bin], part.v, part.n, scratch)))
            partial_buy(d, bin[y->bin], y->count, part.v, part.n);
    }
}

static bool same_pattern(const struct partial *d,
                         const struct partial_pattern *x,
                         const struct partial_pattern *y)
{
    return x->bin == y->bin && x->n == y->n &&
           !memcmp(d->part.v + x->first, d->part.v + y->first,
                   x->n * sizeof *d->part.v);
}

/* Every plan leaves through here: what does not hold is a bug. */
static void check(const struct partial *d)
{
    const struct view *v = d->v;
    struct space space;
    uint64_t left = 0;
    int64_t cost = 0;
    uint32_t *put = ARENA_ARRAY(v->arena, uint32_t, v->n_items);

    space_make(v, &space);
    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];

        if (!x->count)
            continue;
        assert(partial_holds(v, x->bin, d->part.v + x->first, x->n, &space));
        for (uint32_t q = 0; q < x->n; q++)
            put[d->part.v[x->first + q].item] += d->part.v[x->first + q].count *
                                                 x->count;
        cost += v->price[x->bin] * x->count;
    }
    for (uint32_t i = 0; i < v->n_items; i++) {
        assert(put[i] + d->left[i] == v->count[i]);
        left += d->left[i];
    }
    assert(left == d->n_left && cost == d->cost);
    for (uint32_t t = 0; t < v->n_bins; t++)
        assert(d->bought[t] <= v->max[t]);
    assert(d->n_bought <= v->p->max_bins || v->p->max_bins == UNLIMITED);
    assert(v->p->max_cost < 0 || d->cost <= v->p->max_cost || !d->cost);
}

static uint32_t *unplaced(const struct partial *d)
{
    const struct view *v = d->v;
    uint32_t *ret = ARENA_ARRAY(v->arena, uint32_t, v->p->n_items);

    for (uint32_t i = 0; i < v->p->n_items; i++)
        ret[i] = v->p->items[i].count;
    for (uint32_t i = 0; i < v->n_items; i++)
        ret[v->item_of[i]] = d->left[i];
    return ret;
}

void partial_export(const struct partial *d, struct cover_plan *ret)
{
    const struct view *v = d->v;
    struct cover_pattern *patterns = ARENA_ARRAY(v->arena, struct cover_pattern,
                                                 d->pattern.n);
    struct cover_part *parts = ARENA_ARRAY(v->arena, struct cover_part,
                                           d->part.n);
    const struct partial_pattern *last = NULL;
    uint32_t n = 0, n_parts = 0;

    check(d);
    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];

        if (!x->count)
            continue;
        /* Only neighbours are compared: equal ones are mostly there. */
        if (last && same_pattern(d, x, last)) {
            patterns[n - 1].count += x->count;
            continue;
        }
        last = x;
        patterns[n++] = (struct cover_pattern){v->bin_of[x->bin], x->count,
                                               n_parts, x->n};
        for (uint32_t q = x->first; q < x->first + x->n; q++)
            parts[n_parts++] = (struct cover_part){
                v->item_of[d->part.v[q].item], d->part.v[q].count};
    }
    *ret = (struct cover_plan){.patterns = patterns,
                               .n_patterns = n,
                               .parts = parts,
                               .n_parts = n_parts,
                               .unplaced = unplaced(d),
                               .cost = d->cost,
                               .bound = -1};
}
