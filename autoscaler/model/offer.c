/*
 * offer.c - see offer.h.
 */
#include "offer.h"

#include <string.h>

#include "../base/hash.h"

bool offer_key_equal(struct offer_key a, struct offer_key b)
{
    return a.spot == b.spot && strcmp(a.type, b.type) == 0 &&
           strcmp(a.zone, b.zone) == 0 && strcmp(a.provider, b.provider) == 0;
}

uint64_t offer_key_hash(struct offer_key k)
{
    uint64_t h = hash_text(HASH_SEED, k.provider);

    h = hash_text(hash_text(h, k.type), k.zone);
    return hash_number(h, k.spot);
}
