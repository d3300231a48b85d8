/*
 * cover_improve.c - spends a budget on a better plan than the first.
 *
 * Here only its contract's floor: the answer is never dearer than the first.
 */
#include "cover.h"

void cover_improve(const struct cover_problem *p, const struct cover_plan *first,
                   uint64_t budget, struct arena *arena,
                   struct cover_plan *ret)
{
    (void)p;
    (void)budget;
    (void)arena;
    *ret = *first;
}
