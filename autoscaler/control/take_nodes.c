/*
 * take_nodes.c - machines and the heads' nodes into facts.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../wire/ray/ray.h"
#include "take.h"

/* ---- labels */

/* Does a head's demand look at this label? */
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

/* A Ray node's labels.  ray.io/node-id is another on each of them and would
 * make every node a class of its own; it counts only when somebody asks. */
static struct pairs labels_copy(struct arena *a, struct pairs p, bool node_ids)
{
    struct pair *v = ARENA_ARRAY(a, struct pair, p.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < p.n; i++)
        if (node_ids || strcmp(p.v[i].key, "ray.io/node-id") != 0)
            v[n++] = (struct pair){arena_strdup(a, p.v[i].key),
                                   arena_strdup(a, p.v[i].value)};
    return (struct pairs){v, n};
}

/* ---- taints and room */

/* A node that we drain without the taints of the drain: it is the room that
 * there is when the drain is taken back. */
static struct taints seen_taints(struct arena *a, const struct source_node *n)
{
    struct taint *v = ARENA_ARRAY(a, struct taint, n->taints.n);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n->taints.n; i++) {
        const char *key = n->taints.v[i].key;

        if (n->status != SOURCE_DRAINING ||
            (strcmp(key, SOURCE_DRAIN_TAINT) != 0 &&
             strcmp(key, "node.kubernetes.io/unschedulable") != 0))
            v[kept++] = n->taints.v[i];
    }
    return taints_copy(a, (struct taints){v, kept});
}

static int64_t amount_of(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

static bool is_coming(const char *resource)
{
    return strcmp(resource, "CPU") != 0 && strcmp(resource, "memory") != 0 &&
           strcmp(resource, "object_store_memory") != 0;
}

/* What the node has, and for a while what its type says it will have: a GPU is
 * there minutes after the node is Ready, once its device plug-in has told of
 * it.  Without that a second machine would be bought for the same pod. */
static struct qtys with_coming(struct arena *a, struct qtys have,
                               const struct qtys *total,
                               const struct conf_type *t)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, have.n + t->fact.resources.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < have.n; i++)
        if (amount_of(total, have.v[i].name) > 0)
            v[n++] = have.v[i];
    for (uint32_t i = 0; i < t->fact.resources.n; i++) {
        const struct qty *q = &t->fact.resources.v[i];

        if (is_coming(q->name) && amount_of(total, q->name) == 0)
            v[n++] = *q;
    }
    return qtys_copy(a, (struct qtys){v, n});
}

/* A view that is as it was has nodes that are idle for longer. */
static int64_t idle_of(struct control *c, const struct source_node *n)
{
    const struct source *h = source_of_machines(c);

    if ((n->status != SOURCE_IDLE && n->status != SOURCE_UNREADY) ||
        n->idle_ms < 0)
        return -1;
    return n->idle_ms + (h->ops->waits ? c->now_ms - h->view_ms : 0);
}

static bool settles(struct control *c, const struct machine *m)
{
    const struct source *h = source_of_machines(c);
    int64_t left = m->ready_ms + c->config->kube_join_timeout_ms - c->now_ms;

    if (!h || !h->ops->by_address || left <= 0)
        return false;
    control_wake_at(c, clock_mono_ms() + left + 1);
    return true;
}

static void room_take(struct control *c, struct arena *a,
                      const struct machine *m, const struct conf_type *t,
                      const struct source_node *seen, struct snap_node *n)
{
    if (t && settles(c, m)) {
        n->total = with_coming(a, seen->total, &seen->total, t);
        n->available = with_coming(a, seen->available, &seen->total, t);
    } else {
        n->total = qtys_copy(a, seen->total);
        n->available = qtys_copy(a, seen->available);
    }
}

/* ---- nodes */

static void hold_take(struct control *c, const struct machine *m,
                      struct snap_node *n)
{
    const struct site *s = site_find(c, m->provider);

    if (m->protected)
        n->hold = REASON_KEEP_PROTECTED;
    else if (!s || !s->listed_ms || s->list_failures)
        n->hold = REASON_KEEP_STALE;
    else if (m->hold_until_ms > c->now_ms) {
        n->hold = REASON_KEEP_REFUSED;
        n->hold_until_ms = m->hold_until_ms;
    }
}

/* Machines of one unit: as the provider says, else so many neighbours of one
 * launch. */
static const char *unit_of(struct arena *a, const struct machine *m,
                           const struct conf_type *t)
{
    const char *number = strrchr(m->id, '-');
    uint32_t hosts = t ? t->fact.hosts : 1;

    if (*m->host_group)
        return arena_strdup(a, m->host_group);
    if (hosts < 2 || m->adopted || !*m->request_id || !number)
        return "";
    return arena_printf(a, "%s/%lu", m->request_id,
                        strtoul(number + 1, NULL, 10) / hosts);
}

static struct snap_node machine_take(struct previous_reader *previous,
                                     const struct machine *m, bool node_ids)
{
    struct control *c = previous->c;
    struct arena *a = previous->arena;
    const struct conf_type *t = type_find(c->config, m->type);
    const struct source_node *seen = source_node_of(c, m);
    struct snap_node n = {
        .id = arena_strdup(a, m->id),
        .type = arena_strdup(a, t ? m->type : ""),
        .zone = arena_strdup(a, m->zone),
        .spot = m->spot,
        .outdated = !t || (*m->config_hash && strcmp(t->hash, m->config_hash)),
        .state = m->state,
        .idle_ms = -1,
        .since_ms = m->since_ms,
        .created_ms = m->created_ms,
        .price_micros_hour = m->price_micros_hour,
        .activity = "",
        .cloud_id = arena_strdup(a, m->cloud_id),
        .address = arena_strdup(a, m->address),
        .ray_id = arena_strdup(a, m->ray_id),
        .provider = arena_strdup(a, m->provider),
        .request_id = arena_strdup(a, m->request_id),
        .note = arena_strdup(a, m->detail),
        .host_group = unit_of(a, m, t),
        .progress_ms = m->progress_ms,
        .previous = previous_of(previous, m),
    };

    hold_take(c, m, &n);
    if (m->state == STATE_DRAINING && m->drain_accepted)
        n.state = STATE_STOPPING;  /* no way back: it gives no room */
    if (m->state != STATE_READY && m->state != STATE_DRAINING)
        return n;
    if (!c->n_sources) {
        /* Nothing tells of work on it: it is idle since it was last needed. */
        int64_t since = m->needed_ms > m->ready_ms ? m->needed_ms : m->ready_ms;
        n.idle_ms = c->now_ms > since ? c->now_ms - since : 0;
    } else if (seen && seen->status != SOURCE_DEAD) {
        room_take(c, a, m, t, seen, &n);
        n.labels = labels_copy(a, seen->labels, node_ids);
        n.taints = seen_taints(a, seen);
        n.idle_ms = idle_of(c, seen);
        n.activity = arena_strdup(a, seen->activity);
    }
    return n;
}

/* Nodes that are no machine of ours: the head itself, and strangers. */
static struct snap_node stranger_take(struct arena *a,
                                      const struct source_node *r, bool node_ids)
{
    return (struct snap_node){
        .id = arena_strdup(a, r->node_id),
        .type = "",
        .zone = arena_strdup(a, r->zone),
        .head = r->head,
        .unmanaged = true,
        .state = r->status == SOURCE_DRAINING ? STATE_STOPPING : STATE_READY,
        .total = qtys_copy(a, r->total),
        .available = qtys_copy(a, r->available),
        .labels = labels_copy(a, r->labels, node_ids),
        .taints = taints_copy(a, r->taints),
        .idle_ms = r->status == SOURCE_IDLE ? r->idle_ms : -1,
        .price_micros_hour = -1,
        .activity = arena_strdup(a, r->activity),
        .cloud_id = arena_strdup(a, r->instance_id),
        .address = arena_strdup(a, r->address),
        .ray_id = arena_strdup(a, r->node_id),
        .provider = "", .request_id = "", .note = arena_strdup(a, r->type),
        .host_group = "",
    };
}

/* With a Ray head too: pods of its cluster that are no Ray node yet.  Each
 * stands for one that was asked for.  A pod that waits is demand; Ray's own
 * demand that will run in it is not bought for a second time. */
static struct snap_node coming_take(struct arena *a, const struct source_hosted *g,
                                    bool node_ids)
{
    return (struct snap_node){
        .id = arena_strdup(a, g->name), .type = "",
        .zone = arena_strdup(a, g->zone), .unmanaged = true,
        .state = STATE_READY, .total = qtys_copy(a, g->offers),
        .available = qtys_copy(a, g->offers),
        .labels = labels_copy(a, g->labels, node_ids), .idle_ms = -1,
        .price_micros_hour = -1, .activity = "a Ray worker's pod, not up yet",
        .cloud_id = "", .address = "", .ray_id = "", .provider = "",
        .request_id = "", .note = "", .host_group = ""};
}

/* v has room for all of them.  A cluster is the head's when one of its pods is
 * a living node there. */
static uint32_t coming_nodes(struct control *c, struct arena *a,
                             struct snap_node *v, bool node_ids)
{
    const struct source *ray = source_of_kind(c, &ray_ops);
    const struct source *kube = source_of_machines(c);
    const struct source_view *view = kube && kube != ray ? kube->view : NULL;
    uint32_t n = 0;

    if (!ray || !ray->view || !view)
        return 0;
    for (uint32_t i = 0, end; i < view->n_rays; i = end) {
        bool its = false;

        for (end = i; end < view->n_rays &&
                      strcmp(view->rays[end].cluster,
                             view->rays[i].cluster) == 0; end++) {
            const struct source_node *x =
                source_node_named(ray, view->rays[end].name);
            its = its || (x && x->status != SOURCE_DEAD);
        }
        for (uint32_t k = i; its && k < end; k++)
            if (view->rays[k].worker &&
                !source_node_named(ray, view->rays[k].name))
                v[n++] = coming_take(a, &view->rays[k], node_ids);
    }
    return n;
}

void nodes_take(struct control *c, struct arena *a, struct snapshot *f)
{
    const struct source *owner = source_of_machines(c);
    const struct source_view *mine = owner ? owner->view : NULL;
    bool *ours = ARENA_ARRAY(a, bool, mine ? mine->n_nodes : 0);
    uint32_t n = 0, most = c->fleet.n;
    struct previous_reader previous = previous_reader(c, a);
    bool node_ids = false;
    struct snap_node *v;

    for (uint32_t h = 0; h < c->n_sources; h++) {
        const struct source_view *view = c->sources[h].view;
        most += view ? view->n_nodes + view->n_rays : 0;
        node_ids = node_ids || label_asked(view, "ray.io/node-id");
    }
    v = ARENA_ARRAY(a, struct snap_node, most);
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        const struct source_node *x = source_node_of(c, m);
        if (x)
            ours[x - mine->nodes] = true;
        if (m->state != STATE_GONE)
            v[n++] = machine_take(&previous, m, node_ids);
    }
    for (uint32_t h = 0; h < c->n_sources; h++) {
        const struct source_view *view = c->sources[h].view;
        for (uint32_t i = 0; view && i < view->n_nodes; i++)
            if (view->nodes[i].status != SOURCE_DEAD &&
                !(view == mine && ours[i]))
                v[n++] = stranger_take(a, &view->nodes[i], node_ids);
    }
    n += coming_nodes(c, a, v + n, node_ids);
    f->nodes = v;
    f->n_nodes = n;
}
