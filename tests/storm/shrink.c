/*
 * shrink.c - the fewest happenings that still break the same law.
 *
 * Ever smaller pieces of the list are left out; what is not needed stays out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#include "script.h"

uint32_t script_shrink(const struct script *s, int law, bool *keep,
                       uint32_t tries)
{
    bool *without = mem_alloc(s->n);
    uint32_t left = s->n;
    struct played p;

    memset(keep, true, s->n);
    for (uint32_t size = s->n / 2; size > 0 && tries; size = size / 2)
        for (uint32_t at = 0; at < s->n && tries; at += size) {
            uint32_t cut = 0;

            memcpy(without, keep, s->n);
            for (uint32_t i = at; i < at + size && i < s->n; i++) {
                cut += without[i];
                without[i] = false;
            }
            if (!cut)
                continue;
            tries--;
            script_play(s, without, false, &p);
            if (p.law != law)
                continue;
            memcpy(keep, without, s->n);
            left -= cut;
        }
    free(without);
    return left;
}
