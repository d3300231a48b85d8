/*
 * offer.h - what tells one offer from another: the provider, its node type, the
 * zone and the market.
 *
 * A value of borrowed strings, none of them NULL: cheap to make and to hand
 * over.  Whoever keeps one keeps the strings.  Thread: any.
 */
#ifndef MODEL_OFFER_H
#define MODEL_OFFER_H

#include <stdbool.h>
#include <stdint.h>

struct offer_key {
    const char *provider;
    const char *type; /* "" : of the whole provider */
    const char *zone; /* "" : the provider chooses */
    bool spot;
};

bool offer_key_equal(struct offer_key a, struct offer_key b);
uint64_t offer_key_hash(struct offer_key k);

#endif
