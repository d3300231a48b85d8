/*
 * intern.c - see intern.h.
 */
#include "intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "radix.h"

void intern_init(struct intern *t, struct arena *arena, uint32_t expected)
{
    *t = (struct intern){.arena = arena};
    hash_init(&t->table, arena, expected > 32 ? expected : 32);
}

/* Where these bytes are among the items, or HASH_NONE. */
static uint32_t item_find(const struct intern *t, const void *p, size_t n,
                          uint64_t h)
{
    uint32_t at = 0, id;

    while ((id = hash_next_index(&t->table, h, &at)) != HASH_NONE) {
        uint32_t i = t->rank ? t->rank[id] : id;

        if (t->items[i].n == n && (n == 0 || memcmp(t->items[i].p, p, n) == 0))
            return i;
    }
    return HASH_NONE;
}

uint32_t intern_add(struct intern *t, const void *p, size_t n, int copy)
{
    uint64_t h = hash_bytes(HASH_SEED, p, n);
    uint32_t i = item_find(t, p, n, h);

    assert(!t->rank && n < UINT32_MAX);
    if (i != HASH_NONE)
        return i;
    if (copy)
        p = arena_copy(t->copies ? t->copies : t->arena, p, n);
    if (t->n == t->cap)
        arena_grow_(t->arena, (void **)&t->items, &t->cap, t->n,
                    sizeof *t->items);
    t->items[t->n] = (struct intern_item){.p = p, .n = (uint32_t)n, .id = t->n};
    hash_add_index(&t->table, h, t->n);
    return t->n++;
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

static void rank(struct intern *t)
{
    t->rank = ARENA_ARRAY(t->arena, uint32_t, t->n + 1);
    for (uint32_t i = 0; i < t->n; i++)
        t->rank[t->items[i].id] = i;
}

void intern_rank(struct intern *t,
                 uint64_t (*first)(const struct intern_item *),
                 int (*compare)(const struct intern_item *,
                                const struct intern_item *))
{
    items_sort(t, first, compare);
    rank(t);
}

static const char *item_text(const void *items, uint32_t at)
{
    return ((const struct intern_item *)items)[at].p;
}

void intern_rank_texts(struct intern *t)
{
    struct radix_entry *e = ARENA_ARRAY(t->arena, struct radix_entry, t->n);
    struct intern_item *to = ARENA_ARRAY(t->arena, struct intern_item, t->n);

    for (uint32_t i = 0; i < t->n; i++)
        e[i].at = i;
    radix_sort_texts(t->arena, e, t->n, item_text, t->items);
    for (uint32_t i = 0; i < t->n; i++)
        to[i] = t->items[e[i].at];
    t->items = to;
    rank(t);
}

static int by_words(const struct intern_item *a, const struct intern_item *b)
{
    const uint32_t *x = a->p, *y = b->p;
    uint32_t n = (a->n < b->n ? a->n : b->n) / sizeof *x;

    for (uint32_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

static uint64_t words_first(const struct intern_item *it)
{
    const uint32_t *w = it->p;
    const uint32_t n = it->n / sizeof *w;

    return (uint64_t)(n > 0 ? w[0] : 0) << 32 | (n > 1 ? w[1] : 0);
}

void intern_rank_words(struct intern *t)
{
    intern_rank(t, words_first, by_words);
}

uint32_t intern_find(const struct intern *t, const void *p, size_t n)
{
    return item_find(t, p, n, hash_bytes(HASH_SEED, p, n));
}
