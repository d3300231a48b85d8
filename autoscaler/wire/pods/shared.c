/*
 * shared.c - what many pods have in common: shapes and sets of labels, each
 * kept once and counted.  See inside.h.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/digest.h"

static void *shared_find(const struct hash *all, const char *key, uint64_t hash)
{
    struct shared *x;

    for (uint32_t at = 0; (x = hash_next(all, hash, &at));)
        if (strcmp(x->key, key) == 0)
            return x;
    return NULL;
}

static void shared_add(struct hash *all, struct shared *x, const char *key,
                       uint64_t hash)
{
    x->key = key;
    x->hash = hash;
    x->digest = digest_text(DIGEST_SEED, key);
    hash_add(all, hash, x);
}

/* Gives a reference back; true: it was the last, and x is in no table now. */
static bool shared_leave(struct hash *all, struct shared *x)
{
    if (--x->refs)
        return false;
    hash_remove(all, x->hash, x);
    return true;
}

/* ---- shapes */

/* Constraints that its scheduler gives a pod without any of its own; NULL. */
static const struct profile *defaults_of(const struct pods_store *s,
                                         const json_t *spec)
{
    const struct profile *p = profile_of(
        s->profiles, pods_text(spec, "schedulerName", NULL));

    return p && p->n_spreads &&
                   !json_array_size(
                       json_object_get(spec, "topologySpreadConstraints"))
               ? p
               : NULL;
}

/* With such constraints it matters who it is, and who made it. */
static char *key_of(const json_t *meta, const json_t *spec,
                    const struct profile *defaults)
{
    char *key = pods_shape_key(meta, spec);
    struct arena a = {0};
    struct buf b;

    if (!defaults)
        return key;
    buf_init(&b, (size_t)2 * PODS_SELF_MAX);
    buf_str(&b, key);
    buf_printf(&b, "defaults=%s %s;", defaults->scheduler,
               pods_owner(&a, meta));
    for (uint32_t i = 0; i < defaults->n_spreads; i++)
        buf_printf(&b, "%s %u;", defaults->spreads[i].key,
                   defaults->spreads[i].skew);
    pods_shape_key_self(&b, meta);
    free(key);
    arena_done(&a);
    return buf_take(&b);
}

struct pod_shape *pods_shape_intern(struct pods_store *s, const json_t *meta,
                                    const json_t *spec)
{
    const struct profile *defaults = defaults_of(s, spec);
    char *key = key_of(meta, spec, defaults);
    uint64_t hash = hash_text(HASH_SEED, key);
    struct pod_shape *x = shared_find(&s->shapes, key, hash);

    if (!x) {
        x = pods_shape_read(meta, spec, false);
        if (defaults)
            pods_affinities_default(meta, defaults, x);
        shared_add(&s->shapes, &x->shared, arena_strdup(&x->arena, key), hash);
    }
    free(key);
    x->shared.refs++;
    return x;
}

/* ---- labels */

/* Key, pairs and their strings in one block. */
static struct pod_labels *labels_new(const json_t *labels, const char *key)
{
    size_t n = json_object_size(labels), bytes = strlen(key) + 1;
    struct pod_labels *x;
    struct pair *v;
    const char *name;
    char *to;
    json_t *j;

    n = n < PODS_MAX_LIST ? n : PODS_MAX_LIST;
    json_object_foreach((json_t *)(uintptr_t)labels, name, j)
        bytes += strlen(name) + 2 +
                 (json_is_string(j) ? json_string_length(j) : 0);
    x = mem_zeroed(1, sizeof *x + n * sizeof *v + bytes);
    v = (struct pair *)(x + 1);
    to = (char *)(v + n);
    x->pairs.v = v;
    x->shared.key = memcpy(to, key, strlen(key) + 1);
    to += strlen(key) + 1;
    json_object_foreach((json_t *)(uintptr_t)labels, name, j) {
        const char *s = json_string_value(j);

        if (!s || x->pairs.n == n)
            continue;
        v[x->pairs.n].key = memcpy(to, name, strlen(name) + 1);
        to += strlen(name) + 1;
        v[x->pairs.n++].value = memcpy(to, s, strlen(s) + 1);
        to += strlen(s) + 1;
    }
    return x;
}

struct pod_labels *pods_labels_intern(struct pods_store *s,
                                      const json_t *labels)
{
    char *text = json_is_object(labels)
                     ? mem_must(
                           json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS))
                     : NULL;
    const char *key = text ? text : "";
    uint64_t hash = hash_text(HASH_SEED, key);
    struct pod_labels *x = shared_find(&s->labels, key, hash);

    if (!x) {
        x = labels_new(labels, key);
        shared_add(&s->labels, &x->shared, x->shared.key, hash);
    }
    free(text);
    x->shared.refs++;
    return x;
}

void pods_pod_free(struct pods_store *s, struct pod *p)
{
    if (!p)
        return;
    if (p->shape && shared_leave(&s->shapes, &p->shape->shared))
        pods_shape_free(p->shape);
    if (p->labels && shared_leave(&s->labels, &p->labels->shared))
        free(p->labels);
    free(p);
}
