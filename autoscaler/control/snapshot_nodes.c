/*
 * snapshot_nodes.c - machines and the sources' nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "../model/amount.h"
#include "prices/agreed.h"
#include "settle.h"
#include "snapshot_parts.h"
#include "type_names.h"

/* Another on each of Ray's nodes, which would make every one a class of its own:
 * it counts only when somebody asks. */
#define NODE_ID_LABEL "ray.io/node-id"

enum { FOUND_MS = 10000 };

/* ---- labels */

/* Does its demand look at this label? */
static bool label_asked(const struct source_view *view, const char *key)
{
    for (uint32_t d = 0; view && d < view->n_demands; d++)
        for (uint32_t b = 0; b < view->demands[d].n_bundles; b++) {
            const struct snap_bundle *x = &view->demands[d].bundles[b];
            for (uint32_t k = 0; k < x->n_alts; k++)
                for (uint32_t t = 0; t < x->alts[k].selector.n; t++)
                    if (strcmp(x->alts[k].selector.v[t].key, key) == 0)
                        return true;
        }
    return false;
}

static struct pairs labels_take(struct arena *a, struct pairs p, bool node_ids)
{
    struct pair *v;
    uint32_t n = 0;

    if (node_ids)
        return p;
    v = ARENA_ARRAY(a, struct pair, p.n);
    for (uint32_t i = 0; i < p.n; i++)
        if (strcmp(p.v[i].key, NODE_ID_LABEL) != 0)
            v[n++] = p.v[i];
    return (struct pairs){v, n};
}

/* ---- taints and room */

/* A node that we drain without the taints of the drain: it is the room that
 * there is when the drain is taken back.  So is one whose cordon was taken back
 * here: its source hears of it now. */
static struct taints taints_take(struct arena *a, const struct source_node *n,
                                 bool cordoned)
{
    struct taint *v;
    uint32_t kept = 0;

    if (n->status != SOURCE_DRAINING && (cordoned || !n->cordoned_by_us))
        return n->taints;
    v = ARENA_ARRAY(a, struct taint, n->taints.n);
    for (uint32_t i = 0; i < n->taints.n; i++) {
        const char *key = n->taints.v[i].key;

        if (strcmp(key, SOURCE_DRAIN_TAINT) != 0 &&
            strcmp(key, "node.kubernetes.io/unschedulable") != 0)
            v[kept++] = n->taints.v[i];
    }
    return (struct taints){v, kept};
}

/* What the node has, and for a while what its type says it will have: a GPU is
 * there minutes after the node is Ready, once its device plug-in has reported
 * it.  Without that a second machine would be bought for the same pod. */
static struct qtys with_coming(struct arena *a, struct qtys have,
                               const struct qtys *total,
                               const struct conf_type *t)
{
    struct qty *v = ARENA_ARRAY(a, struct qty,
                                have.n + t->fact.resources.n + 1);
    uint32_t n = 0;
    bool coming = false;

    for (uint32_t i = 0; i < have.n; i++)
        if (qtys_amount(total, have.v[i].name) > 0 &&
            strcmp(have.v[i].name, UNTRIED_RESOURCE) != 0)
            v[n++] = have.v[i];
    for (uint32_t i = 0; i < t->fact.resources.n; i++) {
        const struct qty *q = &t->fact.resources.v[i];

        if (!resource_is_rounded(q->name) && qtys_amount(total, q->name) == 0) {
            v[n++] = *q;
            coming = true;
        }
    }
    /* with what comes the scheduler has not tried it */
    if (coming || qtys_amount(&have, UNTRIED_RESOURCE) > 0)
        v[n++] = (struct qty){UNTRIED_RESOURCE, AMOUNT_ONE};
    return (struct qtys){v, n};
}

/* A view that is as it was has nodes that are idle for longer.  One that work
 * was to come to may have it a moment after that can be seen no more. */
static int64_t idle_of(const struct known *k, const struct machine *m,
                       const struct source_node *n)
{
    const struct source *h = source_of_machines(k->sources);
    int64_t idle, awaited = k->env->now_ms - m->awaits_ms;

    if ((n->status != SOURCE_IDLE && n->status != SOURCE_UNREADY) ||
        n->idle_ms < 0)
        return -1;
    idle = n->idle_ms + (h->ops->waits ? k->env->now_ms - h->view_ms : 0);
    return m->awaits_ms && awaited < idle ? awaited : idle;
}

int64_t devices_until_ms(const struct known *k, const struct machine *m)
{
    const struct source *h = source_of_machines(k->sources);
    int64_t until = m->ready_ms + k->conf->now->kube_join_timeout_ms;

    if ((m->state != STATE_READY && m->state != STATE_DRAINING) || !h ||
        !h->ops->late_devices || until <= k->env->now_ms)
        return 0;
    return until;
}

static void room_take(const struct taking *t, const struct machine *m,
                      const struct conf_type *type,
                      const struct source_node *seen, struct snap_node *n)
{
    n->total = seen->total;
    n->available = seen->available;
    if (type && devices_until_ms(t->k, m)) {
        n->total = with_coming(t->arena, seen->total, &seen->total, type);
        n->available = with_coming(t->arena, seen->available, &seen->total,
                                   type);
    }
}

/* ---- nodes */

/* Another daemon's machine is left alone.  One from before this journal may go
 * when a demand source agrees that it is idle; without a source nobody knows. */
static bool is_held(const struct known *k, const struct machine *m)
{
    return machine_is_anothers(m) ||
           (m->adopted == ADOPTED_NEW_JOURNAL &&
            (!k->sources->n || m->state != STATE_READY));
}

/* Nobody has looked yet whether it has work: the source's next view tells, and
 * without a source a moment is waited for somebody to ask for it. */
static bool found_lately(const struct known *k, const struct machine *m,
                         int64_t *ret_until_ms)
{
    const struct source *h = source_of_machines(k->sources);
    int64_t until = m->created_ms + FOUND_MS;

    if (!m->adopted || m->state > STATE_READY)
        return false;
    if (h)
        return h->began_ms <= m->created_ms;
    if (until <= k->env->now_ms)
        return false; /* what else holds it has no end */
    *ret_until_ms = until;
    return true;
}

/* It never joined, and may have work all the same. */
static enum reason unjoined_hold(const struct known *k, const struct machine *m)
{
    switch (machine_unjoined(k->sources, m)) {
    case UNJOINED_STRANGER: return REASON_KEEP_UNJOINED;
    case UNJOINED_UNMATCHED: return REASON_KEEP_UNMATCHED;
    case UNJOINED_MISSING: return REASON_KEEP_MISSING;
    case UNJOINED_NOT: break;
    }
    return REASON_NONE;
}

/* Its launch may have worked, and no list could tell yet. */
static bool is_awaited(const struct known *k, const struct machine *m)
{
    return !m->maybe.unlisted &&
           provider_is_read(provider_find(k->providers, m->provider));
}

/* Where a demand source tells what is free there, the other daemon's machines have
 * room for both; else nobody here knows what the other one has on them. */
static bool is_used_by_another(const struct known *k, const struct machine *m)
{
    return !k->sources->n && beside_has(&k->providers->beside, m);
}

static void hold_take(const struct known *k, const struct machine *m,
                      struct snap_node *n)
{
    if (standing_lost_sight(m) && !is_awaited(k, m)) {
        n->hold = REASON_KEEP_UNANSWERED;
    } else if (m->protected || m->unread) {
        n->hold = REASON_KEEP_PROTECTED;
    } else if (!provider_find(k->providers, m->provider)) {
        n->hold = REASON_KEEP_ORPHAN;
    } else if (is_used_by_another(k, m)) {
        n->hold = REASON_KEEP_ANOTHERS;
    } else if (is_held(k, m)) {
        n->hold = REASON_KEEP_HELD;
    } else if (found_lately(k, m, &n->hold_until_ms)) {
        n->hold = REASON_KEEP_UNKNOWN;
    } else if (*m->cloud_holds) {
        n->hold = REASON_KEEP_BY_CLOUD;
    } else if (m->maybe.contested) {
        n->hold = REASON_KEEP_CONTESTED;
    } else if (unjoined_hold(k, m)) {
        n->hold = unjoined_hold(k, m);
    } else if (!provider_is_read(provider_find(k->providers, m->provider))) {
        n->hold = REASON_KEEP_STALE;
    } else if (m->hold_until_ms > k->env->now_ms) {
        n->hold = REASON_KEEP_REFUSED;
        n->hold_until_ms = m->hold_until_ms;
    }
}

/* Machines of one host group: as the provider says, else so many neighbours of one
 * launch. */
static const char *host_group_of(struct arena *a, const struct machine *m,
                                 const struct conf_type *t)
{
    const char *number = strrchr(m->id, '-');
    uint32_t hosts = t ? t->fact.hosts : 1;

    if (*m->host_group)
        return m->host_group;
    if (hosts < 2 || m->adopted || !*m->request_id || !number)
        return "";
    return arena_printf(a, "%s/%lu", m->request_id,
                        strtoul(number + 1, NULL, 10) / hosts);
}

/* No way back: it gives no room. */
static bool goes_for_good(const struct machine *m)
{
    if (m->state == STATE_DRAINING)
        return m->drain_accepted || machine_leaves(m) ||
               m->why == REASON_END_FAILED;
    return m->state >= STATE_STARTING && m->state <= STATE_READY &&
           (machine_leaves(m) || m->why == REASON_END_FAILED);
}

/* An end that nothing has come of can be taken back, as a drain can. */
static bool end_is_void(const struct known *k, const struct machine *m)
{
    return !k->sources->n && !goes_for_good(m) &&
           settle_end_void(m, k->env->now_ms);
}

/* What the ledger has of it; its texts stay as long as the page (texts_hold()). */
static struct snap_node ledger_take(const struct taking *t,
                                    struct previous_reader *previous,
                                    const struct machine *m,
                                    const struct conf_type *type)
{
    return (struct snap_node){
        .id = m->id,
        .type = type ? type->fact.name : "",
        .zone = m->zone,
        .spot = m->spot,
        .outdated = !type || (*m->config_hash &&
                              strcmp(type->hash, m->config_hash) != 0),
        .state = goes_for_good(m) ? STATE_STOPPING : m->state,
        .end_void = end_is_void(t->k, m),
        .idle_ms = -1,
        .since_ms = m->since_ms,
        .created_ms = m->created_ms,
        .price_micros_hour = type_name_bill(m, type, t->conf),
        .agreed_micros_hour = -1,
        .activity = "",
        .cloud_id = m->cloud_id,
        .address = m->address,
        .ray_id = m->ray_id,
        .provider = m->provider,
        .request_id = m->request_id,
        .note = *m->cloud_holds ? m->cloud_holds : m->detail,
        .host_group = host_group_of(t->arena, m, type),
        .progress_ms = m->progress_ms,
        .cordoned = m->cordoned,
        .asked_to_end = machine_asked(m),
        .moves = m->state == STATE_DRAINING && m->why == REASON_END_CONSOLIDATE,
        .asked_by = m->asked_by,
        .because = m->because,
        .previous = previous_of(previous, m),
    };
}

/* A virtual machine has what its type has: nothing runs on it but by the plan. */
static void virtual_room(const struct taking *t, struct snap_node *n)
{
    for (uint32_t i = 0; i < t->snapshot->n_types; i++)
        if (strcmp(t->snapshot->types[i].name, n->type) == 0)
            n->total = n->available = t->snapshot->types[i].resources;
}

/* For how long no plan has needed it, counted from then at the earliest. */
static int64_t unneeded_ms(const struct known *k, const struct machine *m,
                           int64_t from_ms)
{
    int64_t since = m->needed_ms > from_ms ? m->needed_ms : from_ms;

    return k->env->now_ms > since && !m->needed ? k->env->now_ms - since : 0;
}

/* -1: to all that it costs. */
static int64_t agreed_take(const struct taking *t, const struct machine *m,
                           const struct conf_type *type, int64_t bill)
{
    int64_t agreed = agreed_of(t->k->ledger, m, type, t->conf);

    return bill < 0 || agreed < bill ? agreed : -1;
}

static struct snap_node machine_take(const struct taking *t,
                                     struct previous_reader *previous,
                                     const struct machine *m, bool node_ids)
{
    const struct known *k = t->k;
    const struct conf_type *type = type_find(t->conf, m->type);
    const struct source_node *seen = source_node_of(k->sources, m);
    struct snap_node n = ledger_take(t, previous, m, type);

    hold_take(k, m, &n);
    if (t->snapshot->work_unknown)
        n.agreed_micros_hour = agreed_take(t, m, type, n.price_micros_hour);
    if (m->state == STATE_STARTING && m->maybe.queued)
        n.idle_ms = unneeded_ms(k, m, m->created_ms);
    if (m->state != STATE_READY && m->state != STATE_DRAINING && !n.end_void)
        return n;
    if (k->env->shadow)
        virtual_room(t, &n);
    if (t->snapshot->work_unknown) {
        /* Nothing tells of work on it: it is idle since it was last needed. */
        n.idle_ms = unneeded_ms(k, m, m->ready_ms);
        n.counted_on = m->needed;
    } else if (seen && seen->status != SOURCE_DEAD) {
        room_take(t, m, type, seen, &n);
        n.labels = labels_take(t->arena, seen->labels, node_ids);
        n.taints = taints_take(t->arena, seen, m->cordoned);
        n.idle_ms = idle_of(k, m, seen);
        n.activity = seen->activity;
    }
    return n;
}

/* Nodes that are no machine of ours: the Ray head, and those of others. */
static struct snap_node unmanaged_take(struct arena *a,
                                       const struct source_node *x,
                                       bool node_ids)
{
    return (struct snap_node){
        .id = x->node_id,
        .type = "",
        .zone = x->zone,
        .head = x->head,
        .unmanaged = true,
        .state = x->status == SOURCE_DRAINING ? STATE_STOPPING : STATE_READY,
        .total = x->total,
        .available = x->available,
        .labels = labels_take(a, x->labels, node_ids),
        .taints = x->taints,
        .idle_ms = x->status == SOURCE_IDLE ? x->idle_ms : -1,
        .price_micros_hour = -1,
        .agreed_micros_hour = -1,
        .activity = x->activity,
        .cloud_id = x->instance_id,
        .address = x->address,
        .ray_id = x->node_id,
        .provider = "",
        .request_id = "",
        .note = x->type,
        .host_group = "",
    };
}

/* With a Ray head too: pods of its cluster that are no Ray node yet.  Each
 * stands for one that was asked for.  A pod that waits is demand; Ray's own
 * demand that will run in it is not bought for a second time. */
static struct snap_node coming_take(struct arena *a,
                                    const struct source_hosted *g,
                                    bool node_ids)
{
    return (struct snap_node){.id = g->name,
                              .type = "",
                              .zone = g->zone,
                              .unmanaged = true,
                              .state = STATE_READY,
                              .total = g->offers,
                              .available = g->offers,
                              .labels = labels_take(a, g->labels, node_ids),
                              .idle_ms = -1,
                              .price_micros_hour = -1,
                              .agreed_micros_hour = -1,
                              .activity = "a Ray worker's pod, not up yet",
                              .cloud_id = "",
                              .address = "",
                              .ray_id = "",
                              .provider = "",
                              .request_id = "",
                              .note = "",
                              .host_group = ""};
}

/* v has room for all of them.  A cluster is the head's when one of its pods is
 * a living node there. */
static uint32_t coming_nodes(const struct taking *t, struct snap_node *v,
                             bool node_ids)
{
    const struct source *ray = source_hosted(t->k->sources);
    const struct source_view *view =
        ray ? source_of_machines(t->k->sources)->view : NULL;
    uint32_t n = 0;

    if (!view || !ray->view)
        return 0;
    for (uint32_t i = 0, end; i < view->n_rays; i = end) {
        bool its = false;

        for (end = i; end < view->n_rays && strcmp(view->rays[end].cluster,
                                                   view->rays[i].cluster) == 0;
             end++) {
            const struct source_node *x = source_node_named(
                ray, view->rays[end].name);

            its = its || (x && x->status != SOURCE_DEAD);
        }
        for (uint32_t k = i; its && k < end; k++)
            if (view->rays[k].worker &&
                !source_node_named(ray, view->rays[k].name))
                v[n++] = coming_take(t->arena, &view->rays[k], node_ids);
    }
    return n;
}

/* ours: of the source of machines, which are machines. */
static uint32_t view_nodes(const struct taking *t, const struct source *h,
                           const bool *ours, struct snap_node *v, bool node_ids)
{
    bool mine = h == source_of_machines(t->k->sources);
    const struct source_view *view = h->view;
    uint32_t n = 0;

    for (uint32_t i = 0; view && i < view->n_nodes; i++)
        if (view->nodes[i].status != SOURCE_DEAD && !(mine && ours[i]))
            v[n++] = unmanaged_take(t->arena, &view->nodes[i], node_ids);
    return n;
}

static uint32_t machine_nodes(struct taking *t, bool *ours, struct snap_node *v,
                              bool node_ids)
{
    const struct fleet *f = &t->k->ledger->fleet;
    const struct source *mine = source_of_machines(t->k->sources);
    struct previous_reader previous = previous_reader(t->k->previous, t->arena);
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        struct machine *m = f->v[i];
        const struct source_node *x = source_node_of(t->k->sources, m);

        if (x)
            ours[x - mine->view->nodes] = true;
        if (m->state == STATE_GONE)
            continue;
        t->machines[n] = m;
        v[n++] = machine_take(t, &previous, m, node_ids);
    }
    return n;
}

void nodes_take(struct taking *t)
{
    const struct sources *s = t->k->sources;
    const struct source *mine = source_of_machines(s);
    bool *ours = ARENA_ARRAY(t->arena, bool,
                             mine && mine->view ? mine->view->n_nodes : 0);
    uint32_t n, most = t->k->ledger->fleet.n;
    bool node_ids = false;
    struct snap_node *v;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct source_view *view = s->all[i].view;

        most += view ? view->n_nodes + view->n_rays : 0;
        node_ids = node_ids || label_asked(view, NODE_ID_LABEL);
    }
    v = ARENA_ARRAY(t->arena, struct snap_node, most);
    t->machines = ARENA_ARRAY(t->arena, struct machine *, most);
    n = machine_nodes(t, ours, v, node_ids);
    for (uint32_t i = 0; i < s->n; i++)
        n += view_nodes(t, &s->all[i], ours, v + n, node_ids);
    n += coming_nodes(t, v + n, node_ids);
    t->snapshot->nodes = v;
    t->snapshot->n_nodes = n;
}
