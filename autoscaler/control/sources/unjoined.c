/*
 * unjoined.c - machines that have not joined, and yet may have work.
 *
 * A machine joins a Ray head by RAY_CLOUD_INSTANCE_ID.  One that nobody started
 * so never joins: somebody else's in a pool that is shared, or one of ours whose
 * raylet calls itself by another name (a pod's, under KubeRay).  To end these at
 * start_timeout would end work that nobody was asked about.  Nor has one never
 * joined that was ready, though its node is in no view any more.  It is missing,
 * until a view has it, its cloud has it no more, or a person decides.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/hash.h"

#include "../ours.h"
#include "inside.h"

/* Does the head's node say of a machine that it runs there? */
static void matched_nodes(const struct sources *s, const struct source *h,
                          bool *ret)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        const struct source_node *n = source_node_of(s, s->ledger->fleet.v[i]);

        if (n)
            ret[n - h->view->nodes] = true;
    }
}

/* Views list their nodes in much the same order. */
static bool was_foreign(const struct source *h, uint32_t at, uint64_t node)
{
    if (at < h->foreign.n && h->foreign.v[at] == node)
        return true;
    for (uint32_t i = 0; i < h->foreign.n; i++)
        if (h->foreign.v[i] == node)
            return true;
    return false;
}

void source_foreign(struct sources *s, struct source *h)
{
    const struct source_view *view = h->view;
    VEC(uint64_t) now = {0};
    bool *matched;

    if (h != source_of_machines(s) || h->ops->by_address)
        return; /* Kubernetes has nodes of others, and machines by address */
    matched = MEM_ARRAY(bool, view->n_nodes);
    matched_nodes(s, h, matched);
    for (uint32_t i = 0; i < view->n_nodes; i++) {
        const struct source_node *x = &view->nodes[i];
        uint64_t node = hash_name(x->node_id);

        if (x->head || x->status == SOURCE_DEAD || matched[i])
            continue;
        if (!was_foreign(h, now.n, node))
            h->foreign_ms = s->env->now_ms;
        VEC_PUSH(NULL, &now, node);
    }
    free(matched);
    free(h->foreign.v);
    h->foreign.v = now.v;
    h->foreign.n = now.n;
    h->foreign.cap = now.cap;
}

enum unjoined machine_unjoined(const struct sources *s, const struct machine *m)
{
    const struct source *h = source_of_machines(s);

    if (!h || m->state > STATE_STARTING || !*m->cloud_id || machine_asked(m) ||
        machine_leaves(m) || m->maybe.failed)
        return UNJOINED_NOT;
    if (m->ready_ms)
        return m->maybe.let_go || source_node_of(s, m) ? UNJOINED_NOT
                                                       : UNJOINED_MISSING;
    if (machine_stranger(m) && !s->conf->now->end_unjoined)
        return UNJOINED_STRANGER;
    if (!h->ops->by_address && !*m->ray_id && h->foreign.n > 0 &&
        h->foreign_ms >= m->created_ms)
        return UNJOINED_UNMATCHED;
    return UNJOINED_NOT;
}
