/*
 * hash.c - see hash.h.  Open addressing with linear probing, at most half full.
 *
 * A removed item leaves a gap, which only rebuilding fills: so an iteration
 * may remove what it has just been given.
 */
#include "hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "random.h"
#include "siphash/siphash.h"

struct hash_slot {
    uint64_t hash;
    void *item; /* NULL: free (hash 0) or a gap (hash 1) */
};

enum { FREE = 0, GAP = 1, SMALLEST = 16 };

/* A test counts how many slots are looked at. */
#ifndef HASH_LOOK
#define HASH_LOOK() (void)0
#endif

static bool slot_is_free(const struct hash_slot *s)
{
    HASH_LOOK();
    return !s->item && s->hash == FREE;
}

/* Where the probing begins; the caller's hash may be weak in its low bits. */
static uint32_t slot_first(const struct hash *t, uint64_t h)
{
    return (uint32_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (t->size - 1);
}

static struct hash_slot *slots_new(struct arena *arena, uint32_t size)
{
    return arena ? ARENA_ARRAY(arena, struct hash_slot, size)
                 : MEM_ARRAY(struct hash_slot, size);
}

static void slot_fill(struct hash *t, uint64_t h, void *item)
{
    uint32_t at = slot_first(t, h);

    while (!slot_is_free(&t->slots[at]))
        at = (at + 1) & (t->size - 1);
    t->slots[at] = (struct hash_slot){h, item};
    t->taken++;
}

/* New slots for what is there and as much again. */
static void hash_rebuild(struct hash *t, uint32_t items)
{
    struct hash_slot *old = t->slots;
    uint32_t old_size = t->size;

    for (t->size = SMALLEST; t->size / 2 < items; t->size *= 2)
        assert(t->size <= UINT32_MAX / 4);
    t->slots = slots_new(t->arena, t->size);
    t->taken = 0;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].item)
            slot_fill(t, old[i].hash, old[i].item);
    if (!t->arena)
        free(old);
}

void hash_init(struct hash *t, struct arena *arena, uint32_t expected)
{
    *t = (struct hash){.arena = arena};
    if (expected)
        hash_rebuild(t, expected);
}

void hash_done(struct hash *t)
{
    if (!t->arena)
        free(t->slots);
    *t = (struct hash){.arena = t->arena};
}

void hash_clear(struct hash *t)
{
    if (t->size)
        memset(t->slots, 0, t->size * sizeof *t->slots);
    t->n = t->taken = 0;
}

void hash_add(struct hash *t, uint64_t h, void *item)
{
    assert(item);
    if (t->taken >= t->size / 2)
        hash_rebuild(t, t->n * 2);
    slot_fill(t, h, item);
    t->n++;
}

void *hash_next(const struct hash *t, uint64_t h, uint32_t *at)
{
    /* *at counts the slots that were looked at. */
    for (uint32_t first = t->size ? slot_first(t, h) : 0; *at < t->size;) {
        const struct hash_slot *s = &t->slots[(first + *at) & (t->size - 1)];

        if (slot_is_free(s))
            return NULL;
        ++*at;
        if (s->item && s->hash == h)
            return s->item;
    }
    return NULL;
}

bool hash_remove(struct hash *t, uint64_t h, const void *item)
{
    uint32_t at = 0;
    const void *x;

    while ((x = hash_next(t, h, &at)) && x != item)
        ;
    if (!x)
        return false;
    at = (slot_first(t, h) + at - 1) & (t->size - 1);
    t->slots[at] = (struct hash_slot){GAP, NULL};
    t->n--;
    return true;
}

void *hash_each(const struct hash *t, uint32_t *at)
{
    while (*at < t->size) {
        void *item = t->slots[(*at)++].item;

        if (item)
            return item;
    }
    return NULL;
}

/* ---- numbers: i + 1 as a pointer that is never followed */

void hash_add_index(struct hash *t, uint64_t h, uint32_t i)
{
    hash_add(t, h, (void *)((uintptr_t)i + 1));
}

uint32_t hash_next_index(const struct hash *t, uint64_t h, uint32_t *at)
{
    const void *item = hash_next(t, h, at);

    return item ? (uint32_t)((uintptr_t)item - 1) : HASH_NONE;
}

/* ---- hashes */

static uint64_t key[2] = {UINT64_C(0x0706050403020100),
                          UINT64_C(0x0f0e0d0c0b0a0908)};

void hash_key_random(void)
{
    random_bytes(key, sizeof key);
}

/* What came before is a part of the key. */
uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    const uint64_t k[2] = {key[0] ^ h, key[1]};
    uint64_t ret;

    siphash(n ? p : "", n, k, (uint8_t *)&ret, sizeof ret);
    return ret;
}

uint64_t hash_text(uint64_t h, const char *s)
{
    return hash_bytes(h, s, strlen(s) + 1);
}

uint64_t hash_number(uint64_t h, uint64_t x)
{
    return hash_bytes(h, &x, sizeof x);
}

uint64_t hash_name(const char *s)
{
    return hash_bytes(HASH_SEED, s, strlen(s));
}
