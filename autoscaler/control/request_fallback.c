/*
 * request_fallback.c - see requests.h.
 */
#include <stdlib.h>

#include "../base/alloc.h"
#include "requests.h"

static bool has_fallback(const struct snap_demand *d)
{
    for (uint32_t i = 0; i < d->n_bundles; i++)
        for (uint32_t k = 1; k < d->bundles[i].n_alts; k++)
            if (d->bundles[i].alts[k].after_ms > 0)
                return true;
    return false;
}

/* Bundles that have their first choice on a ready node, per bundle. */
static uint32_t *firsts(const struct problem *now, const struct plan *plan)
{
    uint32_t *n = MEM_ARRAY(uint32_t, now->n_bundles);

    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct plan_node *p = &plan->nodes[i];

        for (uint32_t k = 0;
             now->nodes[i].state == STATE_READY && k < p->n_placements; k++) {
            const struct plan_placement *x =
                &plan->placements[p->first_placement + k];

            n[x->bundle] += x->alt == 0 ? x->count : 0;
        }
    }
    return n;
}

enum { LOOK_AGAIN_MS = 5000 };

static void fallback_set(struct env *env, struct request *q,
                         const struct problem *now, const struct pb_demand *d,
                         const uint32_t *had)
{
    bool all = true;

    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles; i++)
        all = all &&
              (now->bundles[i].n_alts < 2 || had[i] == now->bundles[i].count);
    if (all) {
        q->demand.since_ms = env->now_ms;
        return;
    }
    /* How long a node that comes for it has been silent changes all the time. */
    env_wake_wall(env, env->now_ms + LOOK_AGAIN_MS);
    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles;
         i++) {
        const struct pb_bundle *b = &now->bundles[i];
        int64_t at = d->since_ms;

        for (uint32_t k = 1; k < b->n_alts; k++) {
            at += now->alts[b->first_alt + k].after_ms;
            if (at > env->now_ms)
                env_wake_wall(env, at + 1);
        }
    }
}

void requests_fallback(struct env *env, const struct problem *now,
                       const struct plan *plan, struct request *const *asked,
                       uint32_t n)
{
    uint32_t *had = NULL;

    for (uint32_t i = 0; i < now->n_demands; i++) {
        const struct pb_demand *d = &now->demands[i];

        if (d->from >= n || !has_fallback(&asked[d->from]->demand))
            continue;
        if (!had)
            had = firsts(now, plan);
        fallback_set(env, asked[d->from], now, d, had);
    }
    free(had);
}
