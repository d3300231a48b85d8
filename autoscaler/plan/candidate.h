/*
 * candidate.h - a plan in the making.
 *
 * Equal nodes form one class: those that are there, those starting, and those
 * this plan buys.  Placing splits a class into nodes with the same placements.
 * Changes can be undone to a mark.  A candidate owns its counters of the limits;
 * several candidates of one problem are compared.
 */
#ifndef PLAN_CANDIDATE_H
#define PLAN_CANDIDATE_H

#include "../model/plan.h"
#include "cover/cover.h"
#include "tables.h"

enum class_kind {
    CLASS_SENTINEL, /* no nodes: a fixed place in the list */
    CLASS_THERE,    /* ready, or on its way */
    CLASS_DRAINING, /* placing on it un-drains it */
    CLASS_NEW       /* bought by this plan */
};

struct node_class {
    enum class_kind kind;
    uint32_t n;     /* nodes in it */
    uint32_t first; /* into candidate.members; NEW: unused */
    uint32_t offer; /* of its nodes, NONE when not known */
    struct room room[SIDES];
    uint32_t placed; /* on each node: into placements[], NONE: nothing */
    uint32_t next;   /* in order of use, NONE ends */
    uint32_t spread; /* the gang that has a bundle here, NONE */
    bool accelerator;
    bool starting;
    bool final;      /* NEW: a longer look would not change it */
    bool undrain;    /* DRAINING: wanted for the type's min */
    enum reason why; /* NEW: for what it is bought */
    uint32_t demand;
    uint32_t proposal;   /* NEW: which proposed node it is, NONE */
    uint32_t host_group; /* of several machines; 0: none: host_group.h */
};
#define NEW_HOST_GROUP UINT32_C(0x80000000)

/* Bundles on each node of a class; a list by `next`. */
struct placement {
    uint32_t group, alt, count, next;
};

struct undo {
    uint32_t ix;
    struct node_class old;
};
struct mark {
    uint32_t n_undo, n_classes, n_bought;
};
struct bought {
    uint32_t offer, count;
    bool dropped;
};
/* What a group waits for: pace.h. */
struct held {
    uint32_t offer, next; /* into held[], NONE ends */
};

/* How a candidate is made: the planner tries a few and keeps the best. */
struct tactics {
    bool previous;         /* first what nodes hold by the last plan, */
    bool ready;            /* if they are ready: then they may have work, */
    const uint32_t *waits; /* per group: so many waited (NULL: none); these are
                            * served before what nodes hold by the last plan */
    int64_t priority;      /* of a lower priority than this */
    bool proposed;         /* then the nodes that a longer look proposes */
    bool work_first;       /* tasks and gangs before requests */
    bool gangs_last;       /* of the same priority */
    bool together;         /* with what else has it: together.h */
    bool pool;             /* the cover packs the nodes that are there too */
};

struct candidate {
    const struct tables *t;
    struct arena *arena;
    VEC(struct node_class) classes; /* [0] begins the list */
    uint32_t sentinel_new;          /* bought nodes follow it */
    uint32_t sentinel_pool;         /* begins the list of the pool */
    int64_t *largest;               /* of each column, over all nodes */
    uint32_t *members;              /* nodes, class by class */
    VEC(struct placement) placements;
    VEC(struct undo) undo; /* of what changed since the first mark */
    bool marked;
    VEC(struct bought) bought;
    VEC(struct held) held; /* per group the first is held_of[]; NULL: none */
    uint32_t *held_of;
    uint32_t *left; /* per group */
    /* towards the limits */
    uint32_t *type_count; /* nodes of a type, ended ones too */
    uint32_t *type_ended; /* of these, ended by this plan */
    uint32_t *type_starting;
    uint32_t *type_ready;
    uint32_t *offer_bought;
    uint64_t *share_taken; /* of the clouds' quotas, by what was bought */
    uint64_t nodes, starting;
    int64_t cost; /* of all that is there, micros/h */
    int64_t bought_cost;
    int64_t bought_bill;         /* without surcharges: what limits count */
    int64_t bound;               /* of the only cover, -1: not known */
    struct cover_proof proof;    /* of it, per side and shape */
    uint32_t n_covers, n_single; /* purchases by cover, and without */
    int64_t min_cost;            /* part of bought_cost: for mins */
    bool broken;                 /* over a quota: not to be used */
    struct tactics how;
    struct tactics again;  /* to better its covers with */
    uint64_t budget;       /* steps for bettering the covers, */
    uint64_t share_of;     /* shared by so many shapes in them */
    uint64_t cover_shapes; /* those met so far */
    bool improvable;       /* a longer look may better a cover */
    uint64_t work;
    double *worth; /* side x shape: what the covers found; NULL: nothing */
};

/* What becomes of a node that gives no room. */
enum leaving {
    LEAVES_NOT,
    LEAVES,      /* ended by this plan, or draining for good */
    LEAVES_LATER /* of a host group that has lost a machine: when its work
                  * is done */
};

/* Fills the limits' counters and the classes from the nodes; ended[i] nodes
 * give no room. */
void candidate_start(const struct tables *t, const enum leaving *ended,
                     struct candidate *ret);
/* The same again, for another try; shares what does not change. */
void candidate_copy(const struct candidate *from, struct candidate *ret);

struct mark candidate_mark(struct candidate *d);
void candidate_undo(struct candidate *d, struct mark m);

/* Class i keeps k of its nodes; the others become the class that is returned,
 * next in the order.  0 < k < n. */
uint32_t candidate_split(struct candidate *d, uint32_t i, uint32_t k);

/* Puts `count` bundles of a group on each node of the class. */
void candidate_place(struct candidate *d, uint32_t i, uint32_t group,
                     uint32_t alt, uint32_t count);
/* Sets a class's gang mark. */
void candidate_spread(struct candidate *d, uint32_t i, uint32_t gang);
void candidate_undrain(struct candidate *d, uint32_t i);

/* Up to `count` new nodes of an offer within the limits: a class, or NONE. */
uint32_t candidate_obtain(struct candidate *d, uint32_t offer, uint32_t count,
                          enum reason why, uint32_t demand);

/* Puts every node there is, new ones too, into the pool, to be taken from it
 * one class at a time by candidate_take(). */
void candidate_pool(struct candidate *d);
void candidate_unpool(struct candidate *d);
/* `count` nodes of a pooled class. */
void candidate_take(struct candidate *d, uint32_t class_ix, uint32_t count);

/* For candidate_*.c only: a class about to be changed, and how much of its room
 * is free. */
struct node_class *candidate_touch(struct candidate *d, uint32_t i);
int64_t candidate_tightness(const struct candidate *d, const int64_t *row);

/* A class of bought nodes that are not bought after all: what they held is left
 * again.  Undo as ever, but `left` is the caller's. */
void candidate_drop(struct candidate *d, uint32_t i);

bool candidate_matches(const struct candidate *d, uint32_t i, uint32_t shape);

/* Must a group go further down its alternatives in a than in b, all its bundles
 * together?  Not one that is unconfirmed: it decides nothing. */
bool candidate_later(const struct candidate *a, const struct candidate *b);

#endif
