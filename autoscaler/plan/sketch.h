/*
 * sketch.h - a plan in the making.
 *
 * Equal nodes form one class: those that are there, those on their way, and
 * those this plan buys.  Placing splits a class into nodes that hold the same
 * things.  Everything a gang does can be taken back to a mark.  A sketch owns
 * its counters of the limits; several sketches of one snapshot are compared.
 */
#ifndef PLAN_SKETCH_H
#define PLAN_SKETCH_H

#include "../model/plan.h"
#include "tables.h"

/* For whom a node is bought: a min replaces what is being ended; a min and a
 * request are not held back by upscaling_speed. */
enum claim { CLAIM_MIN, CLAIM_REQUEST, CLAIM_WORK };

enum class_kind {
    CLASS_FENCE,       /* no nodes: marks a place in the list */
    CLASS_THERE,       /* ready, or on its way */
    CLASS_DRAINING,    /* placing on it un-drains it */
    CLASS_NEW          /* bought by this plan */
};

struct node_class {
    enum class_kind kind;
    uint32_t n;             /* nodes in it */
    uint32_t first;         /* into sketch.members; NEW: unused */
    uint32_t offer;         /* of its nodes, NONE when not known */
    struct room room[SIDES];
    uint32_t held;          /* what each node holds: into held[], NONE ends */
    uint32_t next;          /* in order of use, NONE ends */
    uint32_t spread;        /* the gang that has a bundle here, NONE */
    bool accelerator;
    bool starting, newest;
    bool whole[SIDES];      /* a new node of its offer would have that room */
    bool kept_back, pooled; /* in the other list, see sketch_keep_back() */
    enum claim claim;       /* NEW: for whom */
    bool undrain;           /* DRAINING: wanted for the type's min */
    int64_t tight;          /* free room, as a share of the largest */
    enum reason why;        /* NEW: for what it is bought */
    uint32_t demand;
};

struct held { uint32_t want, alt, count, next; };

struct undo { uint32_t ix; struct node_class old; };
struct mark { uint32_t n_undo, n_classes, n_bought; };
struct bought { uint32_t offer, count; bool dropped; };

/* Nodes that are left out, as if they were not there: the plan is made as it
 * was when they were bought, and what it would buy is they, as far as there are
 * such (sketch_settle).  So demand that does not change buys nothing twice. */
enum keep_back {
    KEEP_BACK_NONE,
    KEEP_BACK_NEWEST,       /* those bought last, while nothing runs there */
    KEEP_BACK_STARTING,     /* these, and those on their way */
    KEEP_BACK_WHOLE,        /* those nothing runs on yet */
    KEEP_BACK_OWNED         /* all of an offer there is */
};

struct sketch {
    const struct tables *t;
    struct arena *arena;
    VEC(struct node_class) classes;   /* 0: the fence before all */
    uint32_t fence_new;               /* new ones go after this one */
    uint32_t fence_kept;              /* before those kept back */
    uint32_t *kept_offer, *kept_type; /* how many of these */
    uint64_t kept_all;
    int64_t kept_cost;
    int64_t *largest;                 /* of each column, over all nodes */
    uint32_t *members;                /* nodes, class by class */
    VEC(struct held) held;
    VEC(struct undo) undo;
    VEC(struct bought) bought;
    uint32_t *left;                   /* per want */
    /* towards the limits */
    uint32_t *type_count;             /* nodes of a type, ended ones too */
    uint32_t *type_ended;             /* of these, ended by this plan */
    uint64_t nodes_ended;
    uint32_t *type_starting;
    uint32_t *type_ready;
    uint32_t *offer_bought;
    uint64_t nodes, starting;
    int64_t cost;                     /* of all that is there, micros/h */
    int64_t bought_cost;
    int64_t bound;                    /* of the only cover, -1: not known */
    uint32_t n_covers, n_single;      /* purchases by cover, and without */
    int64_t min_cost;                 /* part of bought_cost: for mins */
    bool patient;                     /* silent nodes count too: clock.h */
    bool newer;                       /* only nodes newer than the demand */
    bool broken;                      /* a gang lost a node: not to be used */
    uint64_t work;
};

/* Fills the limits' counters and the classes from the nodes; ended[i] nodes
 * give no room. */
void sketch_start(const struct tables *t, const bool *ended,
                  struct sketch *ret);
/* The same again, for another try; shares what does not change. */
void sketch_copy(const struct sketch *from, struct sketch *ret);

/* Relinks the classes: the least free room first, ready or not; draining ones
 * stay last. */
void sketch_tighten(struct sketch *d);

struct mark sketch_mark(const struct sketch *d);
void sketch_undo(struct sketch *d, struct mark m);

/* Class i keeps k of its nodes; the others become the class that is returned,
 * next in the order.  0 < k < n. */
uint32_t sketch_split(struct sketch *d, uint32_t i, uint32_t k);

/* Puts `count` of a want on each node of the class. */
void sketch_hold(struct sketch *d, uint32_t i, uint32_t want, uint32_t alt,
                uint32_t count);
/* Sets a class's gang mark. */
void sketch_spread(struct sketch *d, uint32_t i, uint32_t gang);
void sketch_undrain(struct sketch *d, uint32_t i);

void sketch_keep_back(struct sketch *d, enum keep_back keep);

/* Up to `count` new nodes of an offer within the limits, in which those kept
 * back do not count: a class, or NONE. */
uint32_t sketch_obtain(struct sketch *d, uint32_t offer, uint32_t count,
                       enum claim claim, enum reason why, uint32_t demand);

/* Nodes kept back take over from new ones of their offer; the others join
 * those that are there.  Then the limits are seen to; cannot be undone. */
void sketch_settle(struct sketch *d);

/* Keeps back every node there is, new ones too, to be taken one class at a
 * time by sketch_take(). */
void sketch_pool(struct sketch *d);
void sketch_unpool(struct sketch *d);
/* `count` nodes of a pooled class. */
void sketch_take(struct sketch *d, uint32_t class_ix, uint32_t count);

/* Relinks the classes: the least free room first, ready or not; draining ones
 * stay last. */
void sketch_tighten(struct sketch *d);

/* For sketch_*.c only: a class about to be changed, and how much of its room
 * is free. */
struct node_class *sketch_touch(struct sketch *d, uint32_t i);
int64_t sketch_tightness(const struct sketch *d, const int64_t *row);

/* A bought node (a class of one) that is not bought after all: what it held
 * is left again.  Undo as ever, but `left` is the caller's. */
void sketch_drop(struct sketch *d, uint32_t i);

bool sketch_matches(const struct sketch *d, uint32_t i, uint32_t shape);

/* The shape of alternative k of a want. */
uint32_t sketch_shape(const struct sketch *d, uint32_t want, uint32_t alt);

#endif
