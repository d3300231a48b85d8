/*
 * kube_maps.c - see kube_maps.h.
 */
#include "kube_maps.h"

#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"

/* A key is in the object, and twice in its managedFields. */
static size_t cost(const char *key, size_t n)
{
    return n + 3 * strlen(key) + 32;
}

void kube_maps_init(struct kube_maps *m)
{
    *m = (struct kube_maps){.n = KUBE_MAPS_FIRST, .from = KUBE_MAPS_FIRST};
}

void kube_maps_done(struct kube_maps *m)
{
    struct kube_place *p;

    for (uint32_t at = 0; (p = hash_each(&m->at, &at));)
        free(p);
    hash_done(&m->at);
}

struct kube_place *kube_maps_find(const struct kube_maps *m, const char *key)
{
    struct kube_place *p;
    uint64_t h = hash_text(HASH_SEED, key);

    for (uint32_t at = 0; (p = hash_next(&m->at, h, &at));)
        if (strcmp(p->key, key) == 0)
            return p;
    return NULL;
}

void kube_maps_drop(struct kube_maps *m, const char *key)
{
    struct kube_place *p = kube_maps_find(m, key);

    if (!p)
        return;
    m->used[p->map] -= p->bytes;
    if (p->map < m->from && p->map >= KUBE_MAPS_FIRST)
        m->from = p->map;
    hash_remove(&m->at, hash_text(HASH_SEED, key), p);
    free(p);
}

struct kube_place *kube_maps_put(struct kube_maps *m, const char *key,
                                 unsigned map, uint32_t bytes)
{
    struct kube_place *p = kube_maps_find(m, key);
    size_t len = strlen(key);

    if (!p) {
        p = mem_zeroed(1, sizeof *p + len + 1);
        memcpy(p->key, key, len + 1);
        hash_add(&m->at, hash_text(HASH_SEED, key), p);
    }
    m->used[p->map] -= p->bytes;
    p->map = map;
    p->bytes = bytes;
    m->used[map] += bytes;
    if (map >= m->n)
        m->n = map + 1;
    return p;
}

void kube_maps_note(struct kube_maps *m, const char *key, unsigned map,
                    size_t n)
{
    kube_maps_put(m, key, map, (uint32_t)cost(key, n));
}

static bool has_room(const struct kube_maps *m, unsigned map, const char *key,
                     size_t bytes)
{
    bool base = map < KUBE_MAPS_FIRST && strncmp(key, "request.", 8) != 0;

    return m->used[map] + bytes <=
           (size_t)(base ? KUBE_MAP_MACHINES : KUBE_MAP_BYTES);
}

/* From that map on, the first with room. */
static unsigned upwards(struct kube_maps *m, unsigned map, const char *key,
                        size_t bytes)
{
    while (map < m->n && !has_room(m, map, key, bytes))
        map++;
    return map;
}

unsigned kube_maps_choose(struct kube_maps *m, const char *key, unsigned first,
                          size_t n)
{
    const struct kube_place *p = kube_maps_find(m, key);
    size_t bytes = cost(key, n);
    unsigned map;

    if (bytes > KUBE_MAP_BYTES)
        return KUBE_MAPS_MOST;
    if (p && m->used[p->map] - p->bytes + bytes <= KUBE_MAP_BYTES)
        return p->map;
    if (!p && has_room(m, first, key, bytes))
        return first;
    if (p && p->map + 1 > m->from)
        return upwards(m, p->map + 1, key, bytes);
    map = upwards(m, m->from, key, bytes);
    if (bytes < KUBE_MAP_BYTES / 64)
        m->from = map; /* those before it are as good as full */
    return map;
}

unsigned kube_maps_percent(const struct kube_maps *m)
{
    size_t sum = 0;

    for (unsigned i = KUBE_MAPS_FIRST; i < m->n; i++)
        sum += m->used[i];
    return (unsigned)(sum * 100 /
                      ((size_t)(KUBE_MAPS_MOST - KUBE_MAPS_FIRST) *
                       KUBE_MAP_BYTES));
}
