/*
 * plan.h - what to do, and why: the planner's output.
 *
 * Lives in the arena given to the planner and points into the snapshot by
 * index.  Nothing in it is done yet; act() does it.
 */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include "problem.h"

/* `count` new nodes of one offer that will hold the same bundles. */
struct plan_launch {
    uint32_t offer, count;
    enum reason why; /* FOR_x */
    uint32_t demand; /* the first demand it is for, or NONE */
    uint32_t first_placement, n_placements; /* what ONE such node holds */
    bool final; /* a longer look would not change it: send it
                 * at once */
};

/* `count` bundles of one kind on one node (of a launch: on each of them). */
struct plan_placement {
    uint32_t bundle, alt, count;
};

/* What happens to an existing node. */
enum node_action { NODE_KEEP, NODE_END, NODE_UNDRAIN };
struct plan_node {
    enum node_action action;
    enum reason why;
    int64_t until_ms; /* wall time when it changes by itself, or 0 */
    uint32_t demand; /* KEEP_REQUEST / KEEP_DEMAND / KEEP_PRICE: which, or NONE;
                       * NONE with KEEP_DEMAND: another node's running work comes here */
    uint32_t first_placement, n_placements;
};

/* Why `count` bundles are placed nowhere: the first obstacle per offer. */
struct plan_refusal {
    uint32_t bundle, alt, offer;
    enum reason why;
    uint32_t column;    /* LACKS, QUEUE_FULL: which, of the queue NONE
                         * is nodes; LABEL, TAINT, QUEUE_TYPE: the
                         * string id of the key or queue */
    int64_t has, needs; /* LACKS: amounts; QUEUE_FULL: what the queue
                         * uses, and its quota */
};

struct plan_bundle {
    uint32_t placed;     /* on nodes that are there and work or start */
    uint32_t launched;   /* on nodes of this plan */
    uint32_t waiting;    /* unplaced, but no offer is too small for it */
    uint32_t infeasible; /* unplaced, and no offer could ever hold it */
    uint32_t alt;        /* the alternative taken, NONE when unplaced */
    uint32_t first_refusal, n_refusals;
};

/* What each of `count` bundles of a shape is worth to the proof of the fleet's
 * bound: docs/planner.md. */
struct plan_worth {
    uint32_t shape;
    bool request; /* it lies on what nodes have in all */
    uint64_t count;
    /* The gangs whose bundles these are, if these must lie apart, or if each of `count`
     * is a whole gang that lies on one machine: its shape is one of it. */
    const uint32_t *demands;
    uint32_t n_demands;
    bool together;
    /* Billionths of a dollar an hour: for the fleet's bound, and for that of
     * the launches. */
    int64_t nanos, launch_nanos;
};

/* What part of a machine one of worths[worth] is, in billionths. */
struct plan_share {
    uint32_t worth;
    int64_t nanos;
};

/* So many machines that may hold one of the shares are needed at least; what each
 * is worth. */
struct plan_least {
    uint32_t machines;
    int64_t nanos; /* of a dollar an hour */
    const struct plan_share *shares;
    uint32_t n_shares;
};

/* The rest of a proof: what each micro of max_cost_per_hour is worth, the micros
 * that every cost is a multiple of, beside what is paid anyhow, and numbers of
 * machines. */
struct plan_proof {
    double money;
    int64_t unit;
    const struct plan_least *least;
    uint32_t n_least;
};

struct plan {
    const struct plan_launch *launches;
    uint32_t n_launches;
    const struct plan_placement *placements;
    uint32_t n_placements;
    const struct plan_node *nodes;     /* one per snapshot node */
    const struct plan_bundle *bundles; /* one per snapshot bundle */
    const struct plan_refusal *refusals;
    uint32_t n_refusals;
    int64_t cost_micros_hour;  /* of the launches */
    int64_t bound_micros_hour; /* valid lower bound on that */
    /* Of the whole fleet once the plan is carried out; no fleet that does the same
     * costs less than its bound. */
    int64_t fleet_cost_micros_hour, fleet_bound_micros_hour;
    /* Part of the cost beyond the bound: of nodes that nothing needs and that wait
     * for their idle timeout, or to join. */
    int64_t fleet_idle_micros_hour;
    int64_t fleet_paid_micros_hour;  /* part of both: nodes that stay anyhow */
    const struct plan_worth *worths; /* the proof */
    uint32_t n_worths;
    struct plan_proof fleet_proof, launch_proof;
    uint32_t n_launched, n_ended;
    /* Consolidation was tried and found nothing; until then (wall; INT64_MAX: for
     * ever) it does not either, unless something but time changes.  0: it was
     * not tried, or found something. */
    int64_t settled_until_ms;
    uint64_t work;   /* counted steps spent */
    uint64_t budget; /* counted steps it was given */
};

/* What the bound of the fleet is compared with: it would say of idle nodes, which
 * come and go, that the plan is bad. */
static inline int64_t plan_fleet_used(const struct plan *p)
{
    return p->fleet_cost_micros_hour - p->fleet_idle_micros_hour;
}

#endif
