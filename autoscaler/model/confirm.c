/*
 * confirm.c - see confirm.h.
 */
#include "confirm.h"

#include <string.h>

#include "../base/hash.h"
#include "bundle.h"

/* A bundle of the view before, and how many of it are not used up yet. */
struct seen {
    const struct snap_demand *demand;
    const struct snap_bundle *bundle;
    uint32_t left;
};

static bool needs_two_views(const struct snap_demand *d)
{
    return d->source == SOURCE_TASK || d->source == SOURCE_GANG;
}

static uint64_t key_hash(const struct snap_demand *d,
                         const struct snap_bundle *b)
{
    uint64_t h = hash_number(HASH_SEED, (uint64_t)d->source);

    return bundle_hash(hash_text(hash_text(h, d->owner), d->id), b);
}

static struct seen *seen_find(const struct hash *t, const struct snap_demand *d,
                              const struct snap_bundle *b, uint64_t h)
{
    struct seen *s;

    for (uint32_t at = 0; (s = hash_next(t, h, &at));)
        if (s->demand->source == d->source &&
            s->demand->strategy == d->strategy &&
            strcmp(s->demand->owner, d->owner) == 0 &&
            strcmp(s->demand->id, d->id) == 0 && bundle_equal(s->bundle, b))
            return s;
    return NULL;
}

static void all_see(const struct snap_demand *v, uint32_t n,
                    struct arena *arena, struct hash *to)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; needs_two_views(&v[i]) && k < v[i].n_bundles;
             k++) {
            const struct snap_bundle *b = &v[i].bundles[k];
            uint64_t h = key_hash(&v[i], b);
            struct seen *s = seen_find(to, &v[i], b, h);

            if (!s) {
                s = ARENA_NEW(arena, struct seen);
                *s = (struct seen){.demand = &v[i], .bundle = b};
                hash_add(to, h, s);
            }
            s->left += b->count;
        }
}

/* How many of the bundle the view before had: they are used up. */
static uint32_t seen_take(const struct hash *t, const struct snap_demand *d,
                          const struct snap_bundle *b)
{
    struct seen *s = seen_find(t, d, b, key_hash(d, b));
    uint32_t n = s ? s->left : 0;

    if (n > b->count)
        n = b->count;
    if (s)
        s->left -= n;
    return n;
}

/* ret: a copy of d with some bundles unconfirmed.  False: none is. */
static bool demand_confirm(const struct hash *t, const struct snap_demand *d,
                           struct arena *arena, struct snap_demand *ret)
{
    uint32_t most = d->n_bundles, n = 0;
    struct snap_bundle *v = ARENA_ARRAY(arena, struct snap_bundle, 2 * most);
    bool any = false;

    for (uint32_t k = 0; k < most; k++) {
        struct snap_bundle b = d->bundles[k];
        uint32_t all = b.count, confirmed = seen_take(t, d, &b);

        b.count = confirmed;
        if (confirmed > 0)
            v[n++] = b;
        b.count = all - confirmed;
        b.unconfirmed = true;
        if (b.count > 0)
            v[n++] = b;
        any = any || b.count > 0;
    }
    if (any && d->source == SOURCE_GANG) {
        n = most;
        memcpy(v, d->bundles, n * sizeof *v);
        for (uint32_t k = 0; k < n; k++)
            v[k].unconfirmed = true;
    }
    *ret = *d;
    ret->bundles = v;
    ret->n_bundles = n;
    return any;
}

struct snap_demand *confirm_demands(const struct snap_demand *before,
                                    uint32_t n_before,
                                    const struct snap_demand *now, uint32_t n,
                                    struct arena *arena, bool *ret_any)
{
    struct snap_demand *v = arena_copy(arena, now, n * sizeof *v);
    struct hash seen;

    *ret_any = false;
    hash_init(&seen, arena, n_before);
    all_see(before, n_before, arena, &seen);
    for (uint32_t i = 0; i < n; i++) {
        struct snap_demand d;

        if (!needs_two_views(&now[i]) ||
            !demand_confirm(&seen, &now[i], arena, &d))
            continue;
        v[i] = d;
        *ret_any = true;
    }
    return v;
}
