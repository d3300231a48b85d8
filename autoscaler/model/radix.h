/*
 * radix.h - sorts places by a 64-bit key, stably and in linear time.
 *
 * A tick sorts up to ten thousand of everything; bytes of the key that are the
 * same everywhere cost one look.  Several keys: sort by the last one first.
 */
#ifndef MODEL_RADIX_H
#define MODEL_RADIX_H

#include "../base/arena.h"

struct radix_entry {
    uint64_t key;
    uint32_t at;
};

void radix_sort(struct arena *arena, struct radix_entry *v, uint32_t n);

/* v[i].at by what text() gives for it, in the order of strcmp(); equal ones stay in
 * order when that is the order of `at`.  The keys are its own. */
void radix_sort_texts(struct arena *arena, struct radix_entry *v, uint32_t n,
                      const char *(*text)(const void *arg, uint32_t at),
                      const void *arg);

/* Keys of signed numbers, in their order. */
static inline uint64_t radix_signed(int64_t x)
{
    return (uint64_t)x ^ (UINT64_C(1) << 63);
}

#endif
