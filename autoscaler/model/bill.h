/*
 * bill.h - what the fleet costs an hour, by offer, and for whose work.
 *
 * List prices, all nodes that are not gone and that Davit manages.  A node's
 * price is shared by what is on it: each owner whose bundles the plan has there
 * bears the largest part of any resource that they take; work that runs there
 * beyond that (Ray and Kubernetes do not tell whose it is) is BILL_RUNNING's;
 * the rest is idle.  Pure; what it returns lies in the arena and points into
 * snapshot and problem.
 */
#ifndef MODEL_BILL_H
#define MODEL_BILL_H

#include "plan.h"

#define BILL_RUNNING "running"

struct bill_offer { /* node type x market */
    const char *type, *provider;
    bool spot;
    uint32_t nodes;
    int64_t micros_hour;
};

struct bill_owner {
    const char *owner;
    int64_t micros_hour;
    uint32_t nodes;       /* on which something of it is */
    const char *asked_by; /* as in struct snap_demand; of several the last */
};

struct bill {
    const struct bill_offer *offers; /* those with nodes */
    uint32_t n_offers;
    const struct bill_owner *owners; /* those with a part, idle not among them */
    uint32_t n_owners;
    int64_t micros_hour, idle_micros_hour;
    uint32_t unpriced; /* nodes whose price nobody knows: they count 0 */
};

/* of_intents: with nodes whose launch has not been sent.  s and plan may be
 * empty: then all is idle. */
void bill_make(const struct snapshot *f, const struct problem *s,
               const struct plan *plan, bool of_intents, struct arena *a,
               struct bill *ret);

/* Micro-dollars an hour of the snapshot's node; node: which of the problem's it
 * is, or NONE.  -1: not known. */
int64_t bill_node_price(const struct snap_node *n, const struct problem *s,
                        uint32_t node);

#endif
