/*
 * shared.c - what many pods have in common: shapes and sets of labels, each
 * kept once and counted.  See inside.h.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"

/* ---- shapes */

static struct pod_shape *shape_find(const struct pods_store *s, const char *key,
                                    uint64_t hash)
{
    struct pod_shape *x;

    for (uint32_t at = 0; (x = hash_next(&s->shapes, hash, &at));)
        if (strcmp(x->key, key) == 0)
            return x;
    return NULL;
}

struct pod_shape *pods_shape_intern(struct pods_store *s, const json_t *meta,
                                    const json_t *spec, bool lenient)
{
    char *key = pods_shape_key(meta, spec, lenient);
    uint64_t hash = hash_text(HASH_SEED, key);
    struct pod_shape *x = shape_find(s, key, hash);

    if (!x) {
        x = pods_shape_read(meta, spec, lenient);
        x->key = arena_strdup(&x->arena, key);
        x->hash = hash;
        x->serial = ++s->serial;
        hash_add(&s->shapes, hash, x);
    }
    free(key);
    x->refs++;
    return x;
}

static void shape_leave(struct pods_store *s, struct pod_shape *x)
{
    if (!x || --x->refs)
        return;
    hash_remove(&s->shapes, x->hash, x);
    pods_shape_free(x);
}

/* ---- labels */

static struct pod_labels *labels_find(const struct pods_store *s,
                                      const char *key, uint64_t hash)
{
    struct pod_labels *x;

    for (uint32_t at = 0; (x = hash_next(&s->labels, hash, &at));)
        if (strcmp(x->key, key) == 0)
            return x;
    return NULL;
}

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
    x->key = memcpy(to, key, strlen(key) + 1);
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
    struct pod_labels *x = labels_find(s, key, hash);

    if (!x) {
        x = labels_new(labels, key);
        x->hash = hash;
        hash_add(&s->labels, hash, x);
    }
    free(text);
    x->refs++;
    return x;
}

static void labels_leave(struct pods_store *s, struct pod_labels *x)
{
    if (!x || --x->refs)
        return;
    hash_remove(&s->labels, x->hash, x);
    free(x);
}

void pods_pod_free(struct pods_store *s, struct pod *p)
{
    if (!p)
        return;
    shape_leave(s, p->shape);
    labels_leave(s, p->labels);
    free(p);
}
