/*
 * overview.h - the parts of /v1/overview: what a person wants to know first, in
 * lists that are short however large the cluster is.
 *
 * They read a view and belong to its thread; what they need in between lies in
 * its arena.
 */
#ifndef API_PAGE_OVERVIEW_H
#define API_PAGE_OVERVIEW_H

#include "../../control/report/history.h"
#include "../view.h"

enum {
    WAITING_MAX = 20,
    NEXT_MAX = 24,
    OWNERS_MAX = 100,
    TYPES_MAX = 200,
};

/* What an owner asks for, whoever told of it. */
struct owner_sum {
    uint32_t demand;  /* the first one */
    unsigned sources; /* bits of enum demand_source */
    struct tally t;
    int64_t cost_micros_hour; /* its share of the nodes it is placed on */
};
struct owner_sums {
    VEC(struct owner_sum) all;
    uint32_t unused; /* nodes: ready, without work, nothing placed on them */
    int64_t owned_micros_hour, idle_micros_hour;
};

/* owners.c */
void owners_sum(struct view *v, struct owner_sums *ret);
void overview_owners(struct out *o, struct view *v, const struct owner_sums *s);
/* next.c: "next", what comes by itself, the soonest first. */
void overview_next(struct out *o, struct view *v);
/* waiting.c: "waiting", one entry for each owner and reason. */
void overview_waiting(struct out *o, struct view *v);
/* types.c: "types", without their offers. */
void overview_types(struct out *o, struct view *v);

void overview_write(struct out *o, struct view *v, struct history *h);

#endif
