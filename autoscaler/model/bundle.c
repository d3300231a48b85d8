/*
 * bundle.c - see bundle.h.
 */
#include "bundle.h"

#include <string.h>

#include "../base/hash.h"

static bool text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool names_equal(const struct names *a, const struct names *b)
{
    for (uint32_t i = 0; i < a->n && a->n == b->n; i++)
        if (!text(a->v[i], b->v[i]))
            return false;
    return a->n == b->n;
}

static bool has_quantity(const struct qtys *all, const struct qty *q)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].amount == q->amount && text(all->v[i].name, q->name))
            return true;
    return false;
}

static bool has_term(const struct terms *all, const struct term *t)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].op == t->op && text(all->v[i].key, t->key) &&
            names_equal(&all->v[i].values, &t->values))
            return true;
    return false;
}

static bool has_toleration(const struct tolerations *all,
                           const struct toleration *t)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].op == t->op && all->v[i].effect == t->effect &&
            text(all->v[i].key, t->key) && text(all->v[i].value, t->value))
            return true;
    return false;
}

/* All of a is in b, and b has no more entries. */
static bool alt_within(const struct snap_alt *a, const struct snap_alt *b)
{
    if (a->after_ms != b->after_ms || a->resources.n != b->resources.n ||
        a->selector.n != b->selector.n || a->tolerations.n != b->tolerations.n)
        return false;
    for (uint32_t i = 0; i < a->resources.n; i++)
        if (!has_quantity(&b->resources, &a->resources.v[i]))
            return false;
    for (uint32_t i = 0; i < a->selector.n; i++)
        if (!has_term(&b->selector, &a->selector.v[i]))
            return false;
    for (uint32_t i = 0; i < a->tolerations.n; i++)
        if (!has_toleration(&b->tolerations, &a->tolerations.v[i]))
            return false;
    return true;
}

bool bundle_equal(const struct snap_bundle *a, const struct snap_bundle *b)
{
    if (a->n_alts != b->n_alts)
        return false;
    for (uint32_t i = 0; i < a->n_alts; i++)
        if (!alt_within(&a->alts[i], &b->alts[i]) ||
            !alt_within(&b->alts[i], &a->alts[i]))
            return false;
    return true;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* Sums, since the order within a set means nothing. */
static uint64_t alt_hash(const struct snap_alt *x)
{
    uint64_t h = hash_number(HASH_SEED, (uint64_t)x->after_ms);

    for (uint32_t k = 0; k < x->resources.n; k++)
        h += hash_number(hash_text(HASH_SEED, x->resources.v[k].name),
                         (uint64_t)x->resources.v[k].amount);
    for (uint32_t k = 0; k < x->selector.n; k++) {
        const struct term *t = &x->selector.v[k];
        uint64_t one = hash_number(hash_text(HASH_SEED, t->key),
                                   (uint64_t)t->op);

        for (uint32_t j = 0; j < t->values.n; j++)
            one = hash_text(one, t->values.v[j]);
        h += one;
    }
    for (uint32_t k = 0; k < x->tolerations.n; k++) {
        const struct toleration *t = &x->tolerations.v[k];
        uint64_t one = hash_number(hash_text(HASH_SEED, or_empty(t->key)),
                                   (uint64_t)t->op << 32 | (uint64_t)t->effect);

        h += hash_text(one, or_empty(t->value));
    }
    return h;
}

uint64_t bundle_hash(uint64_t h, const struct snap_bundle *b)
{
    for (uint32_t i = 0; i < b->n_alts; i++)
        h = hash_number(h, alt_hash(&b->alts[i]));
    return h;
}
