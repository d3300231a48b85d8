/*
 * mark.c - see mark.h.
 *
 * Names are made of the first digits, so these must differ when only the time's
 * last second does: the 56 bits are mixed, by steps that can be taken back.
 */
#include "mark.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BITS = 4 * MARK_REST, HALF = BITS / 2 };
#define MASK ((UINT64_C(1) << BITS) - 1)
#define FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd, so it can be undone */
#define EPOCH_S INT64_C(1704067200)         /* 2024 */

enum { S_BITS = 30, STARTS_BITS = 9, CHANCE_BITS = 10, NTH_BITS = 7 };
_Static_assert((int)S_BITS + STARTS_BITS + CHANCE_BITS + NTH_BITS == BITS,
               "all of it");
_Static_assert((int)INCARNATION_STARTS == 1 << STARTS_BITS &&
                   (int)INCARNATION_CHANCE == 1 << CHANCE_BITS &&
                   (int)MARK_NTH == 1 << NTH_BITS,
               "as mark.h says");

/* FACTOR * factor_back() == 1: each round doubles the bits that are right. */
static uint64_t factor_back(void)
{
    uint64_t x = FACTOR; /* right in three */

    for (int round = 0; round < 5; round++)
        x *= 2 - FACTOR * x;
    return x;
}

static uint64_t mix(uint64_t v)
{
    v = v * FACTOR & MASK;
    v ^= v >> HALF;
    return v * FACTOR & MASK;
}

static uint64_t mix_back(uint64_t v)
{
    const uint64_t back = factor_back();

    v = v * back & MASK;
    v ^= v >> HALF;
    return v * back & MASK;
}

void mark_write(const struct request_mark *m, char ret[MARK_MAX])
{
    uint64_t s = (uint64_t)(m->at_s - EPOCH_S);

    assert(m->by.starts < INCARNATION_STARTS &&
           m->by.chance < INCARNATION_CHANCE && m->nth < MARK_NTH);
    s &= (UINT64_C(1) << S_BITS) - 1;
    s = s << STARTS_BITS | m->by.starts;
    s = s << CHANCE_BITS | m->by.chance;
    s = s << NTH_BITS | m->nth;
    snprintf(ret, MARK_MAX, MARK "%.*s%0*" PRIx64, MARK_OWNER, m->owner,
             MARK_REST, mix(s));
}

static uint32_t taken(uint64_t *v, int bits)
{
    uint32_t low = (uint32_t)(*v & ((UINT64_C(1) << bits) - 1));

    *v >>= bits;
    return low;
}

bool mark_read(const char *request_id, struct request_mark *ret)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = request_id + sizeof MARK - 1;
    uint64_t v = 0;

    if (strncmp(request_id, MARK, sizeof MARK - 1) != 0 ||
        strlen(at) != MARK_OWNER + MARK_REST ||
        strspn(at, digits) != MARK_OWNER + MARK_REST)
        return false;
    memset(ret, 0, sizeof *ret);
    memcpy(ret->owner, at, MARK_OWNER);
    for (int i = 0; i < MARK_REST; i++)
        v = v << 4 | (uint64_t)(strchr(digits, at[MARK_OWNER + i]) - digits);
    v = mix_back(v);
    ret->nth = taken(&v, NTH_BITS);
    ret->by.chance = taken(&v, CHANCE_BITS);
    ret->by.starts = taken(&v, STARTS_BITS);
    ret->at_s = EPOCH_S + (int64_t)v;
    return true;
}

bool incarnation_younger(struct incarnation a, struct incarnation b)
{
    uint32_t more = (a.starts - b.starts) % INCARNATION_STARTS;

    if (more == 0)
        return a.chance > b.chance;
    return more <= INCARNATION_STARTS / 2;
}
