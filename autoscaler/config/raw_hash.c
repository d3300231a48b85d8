/*
 * raw_hash.c - a hash over what a machine of a node type is made of, as the user
 * wrote it.
 *
 * A machine that was launched with another hash is outdated.  A later version
 * must make the same hash of the same file.
 */
#include "raw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/digest.h"
#include "../model/amount.h"

struct item {
    const char *key, *value;
};

static int item_order(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return strcmp(x->key, y->key);
}

static uint64_t hash_items(uint64_t h, struct item *v, uint32_t n)
{
    if (n)
        qsort(v, n, sizeof *v, item_order);
    for (uint32_t i = 0; i < n; i++)
        h = digest_text(digest_text(h, v[i].key), v[i].value);
    return digest_text(h, "\x01");
}

static void quantities_put(struct raw *d, struct item *to, const struct qty *v,
                           uint32_t n)
{
    char text[32];

    for (uint32_t i = 0; i < n; i++) {
        amount_text(v[i].amount, text, sizeof text);
        to[i] = (struct item){v[i].name, arena_strdup(d->r.arena, text)};
    }
}

/* A catalogue machine counts by its name: a later catalogue with a corrected
 * figure must not make running machines outdated. */
const char *raw_type_hash(struct raw *d, const struct raw_type *t)
{
    uint64_t h = DIGEST_SEED;
    uint32_t most = t->resources.n + t->labels.n + t->n_options + t->taints.n +
                    t->shares.n;
    struct item *v = ARENA_ARRAY(d->r.arena, struct item, most);

    h = digest_text(h, t->provider);
    h = digest_text(h, t->machine);
    h = digest_text(h, t->pool);
    h = digest_text(h, t->accelerator);
    quantities_put(d, v, t->resources.v, t->resources.n);
    h = hash_items(h, v, t->resources.n);
    for (uint32_t i = 0; i < t->labels.n; i++)
        v[i] = (struct item){t->labels.v[i].key, t->labels.v[i].value};
    h = hash_items(h, v, t->labels.n);
    for (uint32_t i = 0; i < t->n_options; i++)
        v[i] = (struct item){t->options[i].key, t->options[i].value};
    h = hash_items(h, v, t->n_options);
    for (uint32_t i = 0; i < t->taints.n; i++)
        v[i] = (struct item){
            t->taints.v[i].key,
            arena_printf(d->r.arena, "%s:%s", t->taints.v[i].value,
                         effect_name(t->taints.v[i].effect))};
    if (t->taints.n)
        h = hash_items(h, v, t->taints.n);
    quantities_put(d, v, t->shares.v, t->shares.n);
    if (t->shares.n)
        h = hash_items(h, v, t->shares.n);
    if (t->hosts != 1)
        h = digest_text(h, arena_printf(d->r.arena, "%u", t->hosts));
    return arena_printf(d->r.arena, "%016" PRIx64, h);
}

const char *raw_type_made(struct raw *d, const struct raw_type *t)
{
    struct raw_type any = *t;

    any.provider = "";
    return raw_type_hash(d, &any);
}
