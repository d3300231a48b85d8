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
        int64_t r =
            p->max_cost > d->cost ? (p->max_cost - d->cost) / v->price[bin] : 0;

        if ((uint64_t)r < room)
            room = (uint64_t)r;
    }
    return (uint32_t)room;
}

void partial_buy(struct partial *d, uint32_t bin, uint32_t count,
                 const struct cover_part *part, uint32_t n)
{
    const struct view *v = d->v;
    struct partial_pattern pattern = {bin, count, d->part.n, n};

    for (uint32_t k = 0; k < n; k++) {
        uint64_t put = (uint64_t)part[k].count * count;

        assert(put <= d->left[part[k].item]);
        d->left[part[k].item] -= (uint32_t)put;
        d->n_left -= put;
        VEC_PUSH(v->arena, &d->part, part[k]);
    }
    VEC_PUSH(v->arena, &d->pattern, pattern);
    d->bought[bin] += count;
    if (v->p->n_families)
        d->family_bought[v->family[bin]] += count;
    d->n_bought += count;
    d->cost += v->price[bin] * count;
}

void partial_sell(struct partial *d, uint32_t pattern, uint32_t count)
{
    const struct view *v = d->v;
    struct partial_pattern *x = &d->pattern.v[pattern];

    assert(count <= x->count);
    x->count -= count;
    for (uint32_t k = 0; k < x->n; k++) {
        struct cover_part part = d->part.v[x->first + k];

        d->left[part.item] += part.count * count;
        d->n_left += (uint64_t)part.count * count;
    }
    d->bought[x->bin] -= count;
    if (v->p->n_families)
        d->family_bought[v->family[x->bin]] -= count;
    d->n_bought -= count;
    d->cost -= v->price[x->bin] * count;
}

void partial_unsell(struct partial *d, uint32_t pattern)
{
    const struct view *v = d->v;
    struct partial_pattern *x = &d->pattern.v[pattern];

    x->count++;
    for (uint32_t k = 0; k < x->n; k++) {
        struct cover_part part = d->part.v[x->first + k];

        d->left[part.item] -= part.count;
        d->n_left -= part.count;
    }
    d->bought[x->bin]++;
    if (v->p->n_families)
        d->family_bought[v->family[x->bin]]++;
    d->n_bought++;
    d->cost += v->price[x->bin];
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

void partial_downgrade(struct partial *d, struct space *scratch)
{
    const struct view *v = d->v;
    uint32_t n = d->pattern.n;

    for (uint32_t k = 0; k < n; k++) {
        /* Bins are sorted by price: the first that holds it is cheapest. */
        for (uint32_t t = 0; d->pattern.v[k].count; t++) {
            struct partial_pattern x = d->pattern.v[k];
            const struct cover_part *part = d->part.v + x.first;
            uint32_t some;

            if (t == v->n_bins || v->price[t] >= v->price[x.bin])
                break;
            some = partial_allows(d, t);
            if (!some || !partial_holds(v, t, part, x.n, scratch))
                continue;
            if (some > x.count)
                some = x.count;
            if (some == x.count) {
                partial_sell(d, k, some);
                d->pattern.v[k].bin = t;
            } else {
                struct partial_pattern y = {t, 0, d->part.n, x.n};

                partial_sell(d, k, some);
                for (uint32_t q = 0; q < x.n; q++)
                    VEC_PUSH(v->arena, &d->part, d->part.v[x.first + q]);
                part = d->part.v + x.first;
                VEC_PUSH(v->arena, &d->pattern, y);
            }
            /* Buy again in place: same parts, another bin. */
            for (uint32_t q = 0; q < x.n; q++) {
                d->left[part[q].item] -= part[q].count * some;
                d->n_left -= (uint64_t)part[q].count * some;
            }
            d->pattern.v[some == x.count ? k : d->pattern.n - 1].count = some;
            d->bought[t] += some;
            if (v->p->n_families)
                d->family_bought[v->family[t]] += some;
            d->n_bought += some;
            d->cost += v->price[t] * some;
        }
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
            put[d->part.v[x->first + q].item] +=
                d->part.v[x->first + q].count * x->count;
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

void partial_export(const struct partial *d, struct cover_plan *ret)
{
    const struct view *v = d->v;
    const struct cover_problem *p = v->p;
    struct cover_pattern *patterns =
        ARENA_ARRAY(v->arena, struct cover_pattern, d->pattern.n);
    struct cover_part *parts =
        ARENA_ARRAY(v->arena, struct cover_part, d->part.n);
    uint32_t *kept = ARENA_ARRAY(v->arena, uint32_t, d->pattern.n);
    uint32_t n = 0, n_parts = 0;

    check(d);
    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];
        uint32_t same;

        if (!x->count)
            continue;
        /* Only neighbours are compared: equal ones are mostly there. */
        same = n && same_pattern(d, x, &d->pattern.v[kept[n - 1]]) ? n - 1 : n;
        if (same < n) {
            patterns[same].count += x->count;
            continue;
        }
        kept[n] = k;
        patterns[n] =
            (struct cover_pattern){v->bin_of[x->bin], x->count, n_parts, x->n};
        n++;
        for (uint32_t q = 0; q < x->n; q++) {
            struct cover_part part = d->part.v[x->first + q];

            parts[n_parts++] =
                (struct cover_part){v->item_of[part.item], part.count};
        }
    }
    ret->patterns = patterns;
    ret->n_patterns = n;
    ret->parts = parts;
    ret->n_parts = n_parts;
    ret->unplaced = ARENA_ARRAY(v->arena, uint32_t, p->n_items);
    for (uint32_t i = 0; i < p->n_items; i++)
        ret->unplaced[i] = p->items[i].count;
    for (uint32_t i = 0; i < v->n_items; i++)
        ret->unplaced[v->item_of[i]] = d->left[i];
    ret->cost = d->cost;
    ret->bound = -1;
}
