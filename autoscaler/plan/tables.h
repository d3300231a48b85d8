/*
 * tables.h - what the planner works out once per snapshot.
 *
 * Needs of every shape, the room of a new node of every type, offers in order
 * of preference, label matches, and the demand sorted into demand groups: equal
 * bundles that are planned as one, however many they are.
 */
#ifndef PLAN_TABLES_H
#define PLAN_TABLES_H

#include "room.h"

/* A request is a total, so it is packed on what nodes have in all; everything
 * else on what is free.  The two do not take room from each other. */
enum side { SIDE_TOTAL, SIDE_FREE, SIDES };

/* What is served before what, whatever its priority.  Unconfirmed demand comes
 * last, so that it takes no room for which something would be bought then. */
enum rank { RANK_REQUEST, RANK_WORK, RANK_SPARE, RANK_UNCONFIRMED };

/* Bundles with the same alternatives, side and priority.  Those of a gang
 * stay by themselves. */
struct group {
    uint32_t first, n; /* into tables.bundles */
    uint32_t count;    /* all of them */
    uint32_t first_alt, n_alts;
    uint32_t demand;  /* of the first bundle */
    int64_t since_ms; /* of the oldest; 0: not known */
    int32_t priority;
    uint8_t rank; /* see enum rank */
    enum side side;
    bool plain; /* the first alternative needs no accelerator */
};

struct gang {
    uint32_t demand;
    uint32_t first_group, n_groups;
    enum side side;
    int32_t priority;
    bool unconfirmed;
    uint32_t size; /* bundles in all */
};

struct memory;

/* What tables_could_each() has found for offers in an order. */
struct tables_could {
    uint32_t *offers, n;
    bool *known;    /* per shape */
    uint64_t *bits; /* per shape: a set of places in offers[] */
};

struct tables {
    const struct problem *s;
    struct arena *arena;
    struct memory *memory; /* of covers, NULL: none */
    struct needs *needs;   /* per shape */
    int64_t *hardness;     /* per shape: share of the largest node */
    struct room *room;     /* per type: of a new node */
    int64_t *size;         /* per type: sum of shares of the largest */
    uint32_t *offers;      /* best first, by policy, price, ... */
    uint32_t *offer_rank;  /* the inverse */
    int64_t *tried;        /* per offer: bought or failed last; 0 */
    bool failed;           /* any of them: failover.h */
    uint32_t *bundles;     /* bundle indices, group by group */
    struct group *groups;
    uint32_t n_groups;
    uint32_t *loose; /* groups of no gang, in serving order */
    uint32_t n_loose;
    struct gang *gangs; /* in serving order */
    uint32_t n_gangs;
    uint32_t *gang_of;  /* per group, NONE */
    uint32_t *group_of; /* per bundle */
    bool *fits;         /* shape x type: on a new node, and of help */
    int8_t *match;      /* selector x place: -1 not known */
    uint32_t *place_as; /* per place: the first one with the same labels */
    uint32_t n_places;  /* offers, then nodes */
    struct tables_could *could; /* the last answer, for the next candidate */
};

/* Does the policy look at how large nodes are rather than at their price? */
bool tables_by_size(const struct tables *t);

void tables_make(const struct problem *s, struct arena *arena,
                 struct tables *ret);
/* Its part for groups and gangs: needs and offers are there. */
void tables_demand(struct tables *t);

/* Does the offer, or the node, satisfy the selector? */
bool tables_match_offer(const struct tables *t, uint32_t selector,
                        uint32_t offer);
bool tables_match_node(const struct tables *t, uint32_t selector,
                       uint32_t node);

/* Was one of the type bought for such a shape, joined, and no help? */
bool tables_unhelped(const struct tables *t, uint32_t shape, uint32_t type);

/* May a new node of this offer hold the shape, limits and back-off aside? */
static inline bool tables_could(const struct tables *t, uint32_t shape,
                                uint32_t offer)
{
    uint32_t type = t->s->offers[offer].type;
    uint32_t selector = t->s->shapes[shape].selector;

    if (!t->fits[(size_t)shape * t->s->n_types + type])
        return false;
    return selector == 0 || tables_match_offer(t, selector, offer);
}

/* tables_could() for each of n shapes and n_offers offers: sets bit `at`, at + 1, ...
 * of those offers that could in the shape's row of `words` words. */
void tables_could_each(const struct tables *t, const uint32_t *shapes,
                       uint32_t n, const uint32_t *offers, uint32_t n_offers,
                       uint64_t *bits, uint32_t words, uint32_t at);

/* May a new node of this offer be bought for the shape, limits aside? */
bool tables_may_buy(const struct tables *t, uint32_t shape, uint32_t offer);

/* The shape of an alternative of a demand group. */
static inline uint32_t tables_shape(const struct tables *t, uint32_t group,
                                    uint32_t alt)
{
    return t->s->alts[t->groups[group].first_alt + alt].shape;
}

/* Machines in a host group of this offer, at least 1. */
static inline uint32_t tables_hosts(const struct problem *s, uint32_t offer)
{
    uint32_t n = s->types[s->offers[offer].type].hosts;

    return n > 0 ? n : 1;
}

/* Limits.conserve: could a configured type without accelerators hold it?
 * Then no accelerator is bought for it. */
bool tables_spares_accelerators(const struct tables *t, uint32_t shape);

#endif
