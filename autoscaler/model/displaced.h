/*
 * displaced.h - whose place was taken by whose bundles, by a plan, and what that
 * costs.
 *
 * What nodes held by the last plan is compared with what they hold by this one.
 * A bundle is displaced when it lost its place on a node to a bundle of another
 * owner, and has to be bought for, or waits, because of it; one that merely
 * moved costs nothing and is not named, nor are two that exchange their places.  Pure; results lie in the arena.
 */
#ifndef MODEL_DISPLACED_H
#define MODEL_DISPLACED_H

#include "plan.h"

struct displacement {
    uint32_t bundle;     /* which lost its place */
    uint32_t by;         /* a bundle of who has it now: its owner counts */
    uint32_t node;       /* the first such place */
    uint32_t count;      /* of the bundle, on all nodes */
    int64_t micros_hour; /* of the launches for what lost its place */
};

struct displaced {
    struct displacement *v;
    uint32_t n;
};

struct displaced displaced_of(const struct problem *s, const struct plan *p,
                              struct arena *arena);
/* "2 x t4, 1 x v100": the launches that hold the bundle; "" none. */
const char *displaced_launches(const struct problem *s, const struct plan *p,
                               uint32_t bundle, struct arena *arena);

#endif
