/*
 * alternatives.c - the clocks of requests with any_of.
 *
 * An alternative's turn comes when the ones before it were not had for its
 * time.  While the first is had, on nodes that are ready, the clock stands at
 * now: a node that is lost after a day is asked for again before anything else
 * is.  Only in memory: after a restart the clock is that of the request until
 * the first plan.
 */
#include <stdlib.h>

#include "../base/clock.h"
#include "state.h"

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
    uint32_t *n = calloc(now->n_bundles + 1, sizeof *n);

    if (!n)
        abort();
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct plan_node *p = &plan->nodes[i];

        for (uint32_t k = 0; now->nodes[i].state == STATE_READY &&
                             k < p->n_placements; k++) {
            const struct plan_placement *x =
                &plan->placements[p->first_placement + k];

            n[x->bundle] += x->alt == 0 ? x->count : 0;
        }
    }
    return n;
}

static void clock_set(struct control *c, struct request *r,
                      const struct problem *now, const struct pb_demand *d,
                      const uint32_t *had)
{
    bool all = true;

    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles; i++)
        all = all && (now->bundles[i].n_alts < 2 ||
                      had[i] == now->bundles[i].count);
    if (all) {
        r->demand.since_ms = c->now_ms;
        return;
    }
    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles;
         i++) {
        const struct pb_bundle *b = &now->bundles[i];
        int64_t at = d->since_ms;

        for (uint32_t k = 1; k < b->n_alts; k++) {
            at += now->alts[b->first_alt + k].after_ms;
            if (at > c->now_ms)
                control_wake_at(c, clock_mono_ms() + at - c->now_ms + 1);
        }
    }
}

void requests_fallback(struct control *c, const struct problem *now,
                    const struct plan *plan)
{
    uint32_t *had = NULL;

    for (uint32_t i = 0; i < now->n_demands; i++) {
        const struct pb_demand *d = &now->demands[i];
        struct request *r;

        if (d->source != SOURCE_REQUEST)
            continue;
        r = request_find(c, now->str[d->owner]);
        if (!r || !has_fallback(&r->demand))
            continue;
        if (!had)
            had = firsts(now, plan);
        clock_set(c, r, now, d, had);
    }
    free(had);
}
