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

static bool quantities(const struct qtys *a, const struct qtys *b)
{
    bool same = a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->v[i].amount == b->v[i].amount &&
               text(a->v[i].name, b->v[i].name);
    return same;
}

static bool term(const struct term *a, const struct term *b)
{
    bool same = a->op == b->op && a->values.n == b->values.n &&
                text(a->key, b->key);

    for (uint32_t i = 0; same && i < a->values.n; i++)
        same = text(a->values.v[i], b->values.v[i]);
    return same;
}

static bool terms(const struct terms *a, const struct terms *b)
{
    bool same = a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = term(&a->v[i], &b->v[i]);
    return same;
}

static bool tolerations(const struct tolerations *a,
                        const struct tolerations *b)
{
    bool same = a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->v[i].op == b->v[i].op && a->v[i].effect == b->v[i].effect &&
               text(a->v[i].key, b->v[i].key) &&
               text(a->v[i].value, b->v[i].value);
    return same;
}

bool bundle_equal(const struct snap_bundle *a, const struct snap_bundle *b)
{
    bool same = a->n_alts == b->n_alts;

    for (uint32_t i = 0; same && i < a->n_alts; i++) {
        const struct snap_alt *x = &a->alts[i], *y = &b->alts[i];

        same = x->after_ms == y->after_ms &&
               quantities(&x->resources, &y->resources) &&
               terms(&x->selector, &y->selector) &&
               tolerations(&x->tolerations, &y->tolerations);
    }
    return same;
}

uint64_t bundle_hash(uint64_t h, const struct snap_bundle *b)
{
    for (uint32_t i = 0; i < b->n_alts; i++) {
        const struct snap_alt *x = &b->alts[i];

        h = hash_number(h, (uint64_t)x->after_ms);
        for (uint32_t k = 0; k < x->resources.n; k++)
            h = hash_number(hash_text(h, x->resources.v[k].name),
                            (uint64_t)x->resources.v[k].amount);
        for (uint32_t k = 0; k < x->selector.n; k++) {
            const struct term *t = &x->selector.v[k];

            h = hash_number(hash_text(h, t->key), (uint64_t)t->op);
            for (uint32_t j = 0; j < t->values.n; j++)
                h = hash_text(h, t->values.v[j]);
        }
        h = hash_number(h, x->tolerations.n);
    }
    return h;
}
