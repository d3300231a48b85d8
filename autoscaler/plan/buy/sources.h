/*
 * sources.h - what the items of a purchase for gangs stand for.
 *
 * Private to gangs.c, which makes them, and places.c, which gives them the answer's
 * places.
 */
#ifndef PLAN_BUY_SOURCES_H
#define PLAN_BUY_SOURCES_H

#include "../gang_facts.h"
#include "problem.h"

/* Bundles of one group that an item stands for. */
struct source {
    uint32_t group, alt, left;
    uint32_t next; /* of the same item, NONE ends */
};

enum item_kind {
    ITEM_BUNDLES, /* of gangs or none */
    ITEM_APART,   /* of gangs of one pool */
    ITEM_WHOLE    /* equal gangs, each on one node */
};

struct item {
    enum item_kind kind;
    uint32_t first, last; /* into sources */
};

/* Equal gangs whose bundles lie apart: a bin holds no more of them than there are
 * gangs.  A bundle takes a seat in a column more. */
struct pool {
    uint32_t gang; /* the first of them */
    uint32_t gangs;
};

struct buy_gangs {
    VEC(struct source) sources;
    struct item *items; /* as those of the purchase */
    VEC(struct pool) pools;
    uint32_t *pool;  /* per gang, NONE: it has no column */
    uint32_t *node;  /* per gang: the last node that got a bundle, from 1 */
    uint32_t serial; /* of the node at hand */
};

/* Of a gang, or of none. */
static inline enum strategy strategy_of(const struct tables *t, uint32_t gang)
{
    return gang == NONE ? STRATEGY_NONE
                        : t->s->demands[t->gangs[gang].demand].strategy;
}

#endif
