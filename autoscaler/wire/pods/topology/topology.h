/*
 * topology.h - what topology.c and trial.c share; nobody else includes it.
 */
#ifndef WIRE_PODS_TOPOLOGY_H
#define WIRE_PODS_TOPOLOGY_H

#include "../../../model/price.h"
#include "../inside.h"

#define LATER INT64_C(1000000000000) /* dearer than any offer of now */

struct place { /* a node that is there or on its way, or an offer */
    const struct snap_node *node;   /* or */
    const struct snap_offer *offer; /* one of the two */
    const struct snap_type *type;   /* NULL: a node of nobody's */
    struct pairs labels;
    struct taints taints;
    struct qtys has;
    int64_t price;
    uint32_t *values; /* by key; NO_VALUE: it lacks it */
    bool tried;       /* its scheduler has said no to all that waits (word.c) */
};

struct fit_key {
    const char *key;
    VEC(const char *) values; /* those of the view first */
};

struct topo_fit {
    struct arena *arena;
    const struct topology *topology;
    const struct snap_type *types;
    uint32_t n_types;
    int64_t now_ms;
    struct fit_key *keys;
    uint32_t n_keys;
    uint32_t *there;   /* nodes by type */
    uint32_t **counts; /* by term and value: pods that are meant, those that
                        * were placed here included; NULL: a term by host */
    VEC(struct place) places;
    uint64_t steps;    /* that are left, of SETTLE_STEPS */
    uint32_t n_groups; /* that are still to be tried: each has a share of them */
};

struct fit_bundles {
    VEC(struct snap_bundle) all;
};

/* Places that are alike to the rules of a group. */
struct cell {
    const uint32_t *values; /* by key */
    uint64_t room;          /* pods that nodes there can take */
    uint32_t placed;
    uint32_t first_buy, n_buys; /* of the trial's */
    bool closed;                /* nothing is bought there */
    bool opened;                /* something is */
};

struct trial {
    struct cell *cells;
    uint32_t n_cells;
    uint32_t placed, bought; /* pods; machines */
    int64_t cost;
    bool put_off; /* its steps did not do for all of its pods */
};

static inline bool better(const struct trial *a, const struct trial *b)
{
    return a->placed != b->placed ? a->placed > b->placed : a->cost < b->cost;
}

/* The control thread waits for it: so much work, some nanoseconds each, for all
 * groups of a view together. */
#define SETTLE_STEPS (UINT64_C(1) << 26)

/* How many of these pods it holds, by the best of the alternatives. */
uint32_t place_holds(const struct place *p, const struct snap_alt *alts,
                     uint32_t n);

/* Is it only for nodes on which its scheduler may not have tried it? */
bool bundle_is_untried(const struct snap_bundle *b);

/* ---- trial.c */
/* Puts the group's pods into cells as the scheduler would, with what is bought
 * for them at the least cost, and counts them in f->counts.  host: all on one
 * node. */
struct trial trial_run(struct topo_fit *f, const struct topo_group *g,
                       const struct snap_bundle *b, bool host);

#endif
