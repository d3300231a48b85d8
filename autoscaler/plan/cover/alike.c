/*
 * alike.c - see alike.h.
 */
#include "alike.h"

#include <string.h>

#include "../../base/hash.h"

static bool same(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    return a == b || (a && b && !memcmp(a, b, words * sizeof *a));
}

void alike_make(const uint64_t *const *mask, uint32_t n_items, uint32_t words,
                struct arena *arena, struct alike *ret)
{
    struct hash classes;

    hash_init(&classes, arena, 0);
    ret->class_of = ARENA_ARRAY(arena, uint32_t, n_items);
    ret->mask = ARENA_ARRAY(arena, const uint64_t *, n_items);
    ret->n = 0;
    for (uint32_t i = 0; i < n_items; i++) {
        uint64_t h = hash_bytes(HASH_SEED, mask[i],
                                mask[i] ? words * sizeof *mask[i] : 0);
        uint32_t at = 0, k;

        while ((k = hash_next_index(&classes, h, &at)) != HASH_NONE &&
               !same(ret->mask[k], mask[i], words))
            ;
        if (k == HASH_NONE) {
            k = ret->n++;
            ret->mask[k] = mask[i];
            hash_add_index(&classes, h, k);
        }
        ret->class_of[i] = k;
    }
}
