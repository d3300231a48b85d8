/*
 * radix.c - see radix.h.  Least significant byte first.
 */
#include "radix.h"

#include <string.h>

void radix_sort(struct arena *arena, struct radix_entry *v, uint32_t n)
{
    struct radix_entry *from = v, *to, *t;
    uint64_t differ = 0;

    for (uint32_t i = 1; i < n; i++)
        differ |= v[i].key ^ v[0].key;
    if (differ == 0)
        return;
    to = ARENA_ARRAY(arena, struct radix_entry, n);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t start[257] = {0};

        if ((differ >> shift & 0xff) == 0)
            continue;
        for (uint32_t i = 0; i < n; i++)
            start[(from[i].key >> shift & 0xff) + 1]++;
        for (unsigned b = 1; b < 256; b++)
            start[b] += start[b - 1];
        for (uint32_t i = 0; i < n; i++)
            to[start[from[i].key >> shift & 0xff]++] = from[i];
        t = from;
        from = to;
        to = t;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}
