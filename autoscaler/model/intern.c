/*
 * intern.c - see intern.h.  Open addressing, at most half full.
 */
#include "intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "radix.h"

static uint32_t hash_bytes(const void *p, size_t n)
{
    const unsigned char *b = p;
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ n, w;

    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&w, b, 8);
        h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    if (n > 0) {
        w = 0;
        memcpy(&w, b, n);
        h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
        h ^= h >> 29;
    }
    h *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

static void slots_fill(struct intern *t, uint32_t n_slots)
{
    t->n_slots = n_slots;
    t->slots = ARENA_ARRAY(t->arena, uint32_t, n_slots);
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = t->items[i].hash & (n_slots - 1);

        while (t->slots[at] != 0)
            at = (at + 1) & (n_slots - 1);
        t->slots[at] = i + 1;
    }
}

void intern_init(struct intern *t, struct arena *arena, uint32_t expected)
{
    uint32_t n_slots = 64;

    while (n_slots < expected * 2 && n_slots < (UINT32_C(1) << 30))
        n_slots *= 2;
    *t = (struct intern){.arena = arena};
    slots_fill(t, n_slots);
}

/* The slot that holds these bytes, or the free one where they belong. */
static uint32_t slot_of(const struct intern *t, const void *p, size_t n,
                        uint32_t hash)
{
    uint32_t at = hash & (t->n_slots - 1);

    for (; t->slots[at] != 0; at = (at + 1) & (t->n_slots - 1)) {
        const struct intern_item *it = &t->items[t->slots[at] - 1];

        if (it->hash == hash && it->n == n &&
            (n == 0 || memcmp(it->p, p, n) == 0))
            break;
    }
    return at;
}

uint32_t intern_add(struct intern *t, const void *p, size_t n, int copy)
{
    uint32_t hash = hash_bytes(p, n);
    uint32_t at = slot_of(t, p, n, hash);

    assert(t->rank == NULL && n < UINT32_MAX);
    if (t->slots[at] != 0)
        return t->slots[at] - 1;
    if (copy)
        p = arena_copy(t->arena, p, n);
    if (t->n == t->cap)
        arena_grow_(t->arena, (void **)&t->items, &t->cap, t->n,
                    sizeof *t->items);
    t->items[t->n] = (struct intern_item){
        .p = p, .n = (uint32_t)n, .hash = hash, .id = t->n};
    t->slots[at] = ++t->n;
    if (t->n > t->n_slots / 2)
        slots_fill(t, t->n_slots * 2);
    return t->n - 1;
}

static void items_sort(struct intern *t,
                       uint64_t (*first)(const struct intern_item *),
                       int (*compare)(const struct intern_item *,
                                      const struct intern_item *))
{
    struct radix_entry *e = ARENA_ARRAY(t->arena, struct radix_entry, t->n);
    struct intern_item *to = ARENA_ARRAY(t->arena, struct intern_item, t->n);

    for (uint32_t i = 0; i < t->n; i++)
        e[i] = (struct radix_entry){first(&t->items[i]), i};
    radix_sort(t->arena, e, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        to[i] = t->items[e[i].at];
    for (uint32_t i = 0, end; i < t->n; i = end) {
        for (end = i + 1; end < t->n && e[end].key == e[i].key; end++)
            ;
        if (end - i > 1)
            qsort(to + i, end - i, sizeof *to,
                  (int (*)(const void *, const void *))compare);
    }
    t->items = to;
}

void intern_rank(struct intern *t,
                 uint64_t (*first)(const struct intern_item *),
                 int (*compare)(const struct intern_item *,
                                const struct intern_item *))
{
    items_sort(t, first, compare);
    t->rank = ARENA_ARRAY(t->arena, uint32_t, t->n + 1);
    for (uint32_t i = 0; i < t->n; i++)
        t->rank[t->items[i].id] = i;
    for (uint32_t i = 0; i < t->n_slots; i++)
        if (t->slots[i] != 0)
            t->slots[i] = t->rank[t->slots[i] - 1] + 1;
}

uint32_t intern_find(const struct intern *t, const void *p, size_t n)
{
    uint32_t at = slot_of(t, p, n, hash_bytes(p, n));

    return t->slots[at] == 0 ? UINT32_MAX : t->slots[at] - 1;
}
