/*
 * source_nodes.c - which of a head's nodes is which machine; who joined, who died.
 *
 * A machine is found under any of its names: the cloud's id, ours, and with a
 * head that has addresses for names its address.  A name that two living nodes
 * share finds neither: taking one machine for another would end the wrong one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources.h"

/* ---- names of nodes */

struct source_name { const char *name; const struct source_node *node; };

static int by_name(const void *a, const void *b)
{
    const struct source_name *x = a, *y = b;
    int d = strcmp(x->name, y->name);

    if (d)
        return d;
    /* of several with one id (a raylet started again) the living comes first */
    if ((x->node->status == SOURCE_DEAD) != (y->node->status == SOURCE_DEAD))
        return x->node->status == SOURCE_DEAD ? 1 : -1;
    return strcmp(x->node->node_id, y->node->node_id);
}

void source_index(struct source *h)
{
    const struct source_view *view = h->view;
    uint32_t n = 0;

    for (uint32_t i = 0; i < view->n_nodes; i++)
        n += 1 + view->nodes[i].aliases.n;
    h->names = ARENA_ARRAY(&h->view->arena, struct source_name, n);
    h->n_names = 0;
    for (uint32_t i = 0; i < view->n_nodes; i++) {
        const struct source_node *x = &view->nodes[i];
        if (*x->instance_id)
            h->names[h->n_names++] = (struct source_name){x->instance_id, x};
        for (uint32_t k = 0; k < x->aliases.n; k++)
            if (*x->aliases.v[k])
                h->names[h->n_names++] =
                    (struct source_name){x->aliases.v[k], x};
    }
    qsort(h->names, h->n_names, sizeof *h->names, by_name);
}

const struct source_node *source_node_named(const struct source *h, const char *id)
{
    uint32_t lo = 0, hi = h->n_names;

    if (!*id)
        return NULL;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(h->names[mid].name, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == h->n_names || strcmp(h->names[lo].name, id) != 0)
        return NULL;
    /* Ray's own ids are one per node, so the first of them is meant. */
    for (uint32_t i = lo + 1; h->ops->by_address && i < h->n_names &&
                              strcmp(h->names[i].name, id) == 0; i++)
        if (h->names[i].node != h->names[lo].node)
            return NULL;
    return h->names[lo].node;
}

static const struct source_node *node_in(const struct source *h,
                                       const struct machine *m)
{
    const char *last = strrchr(m->cloud_id, '/');
    const struct source_node *n;

    if (!h->view)
        return NULL;
    if ((n = source_node_named(h, m->cloud_id)) || (n = source_node_named(h, m->id)))
        return n;
    if (!h->ops->by_address)
        return NULL;
    return last && (n = source_node_named(h, last + 1)) ? n : source_node_named(h, m->address);
}

/* With both, machines are Kubernetes' nodes and Ray's nodes are pods there. */
struct source *source_of_machines(struct control *c)
{
    return c->n_sources ? &c->sources[c->n_sources - 1] : NULL;
}

const struct source_node *source_node_of(const struct control *c,
                                     const struct machine *m)
{
    return c->n_sources ? node_in(&c->sources[c->n_sources - 1], m) : NULL;
}

/* ---- a good view: who joined, who died */

static void machine_joined(struct control *c, struct machine *m,
                           const struct source_node *n)
{
    snprintf(m->ray_id, sizeof m->ray_id, "%s", n->node_id);
    if (*n->address)
        snprintf(m->address, sizeof m->address, "%s", n->address);
    m->detail[0] = '\0';
    if (m->state == STATE_DRAINING)
        m->why = REASON_NONE;
    if (m->state < STATE_STARTING)
        machine_to(c, m, STATE_STARTING);
    machine_to(c, m, STATE_READY);
}

/* A head that lists its dead and does not know this node at all began anew,
 * perhaps together with us: its nodes join it again, or start_timeout ends
 * them.  Taking that for death would end a whole fleet at once. */
static void machine_unknown(struct control *c, struct machine *m)
{
    if (m->state == STATE_DRAINING)
        machine_to(c, m, STATE_READY);
    m->ray_id[0] = '\0';
    m->why = REASON_NONE;
    machine_to(c, m, STATE_STARTING);
}

static void machine_dead(struct control *c, struct machine *m, bool unknown)
{
    if (m->state == STATE_DRAINING && (m->drain_accepted || !unknown)) {
        machine_to(c, m, STATE_STOPPING);
        atomic_fetch_add(&c->metrics.ends, 1);
    } else if (unknown) {
        machine_unknown(c, m);
    } else {
        machine_fail(c, m, ST_BROKEN, "its raylet died");
        machine_to(c, m, STATE_STOPPING);
    }
}

/* The head drains it: our drain, whose answer was lost, or somebody else's. */
static void drain_seen(struct control *c, const struct source *h,
                       struct machine *m, const struct source_node *n)
{
    if (n->status != SOURCE_DRAINING || m->drain_accepted || h->ops->undrain)
        return;  /* one that can be taken back: see sources_mend() */
    if (m->state == STATE_READY) {
        m->why = REASON_KEEP_DRAINING;
        machine_to(c, m, STATE_DRAINING);
    }
    m->drain_accepted = true;
    fleet_touch(&c->fleet, m);
}

/* A machine that a ledger before this one was draining: it goes on. */
static void drain_resume(struct control *c, const struct source *h,
                         struct machine *m, const struct source_node *n)
{
    if (n->status != SOURCE_DRAINING || !h->ops->undrain || !m->adopted)
        return;
    m->why = REASON_KEEP_DRAINING;
    m->drain_since_ms = c->now_ms;
    machine_to(c, m, STATE_DRAINING);
}

static void coming_seen(struct control *c, const struct source *h,
                        struct machine *m, const struct source_node *n)
{
    bool another = n && strcmp(n->node_id, m->ray_id) != 0;

    if (!n)
        return;
    if (n->status == SOURCE_DEAD) {
        if (!another)
            return;
        machine_fail(c, m, ST_BROKEN, "its raylet died while joining");
        machine_to(c, m, *m->cloud_id ? STATE_STOPPING : STATE_GONE);
    } else if (n->status == SOURCE_UNREADY) {
        if (!another)
            return;
        /* It has registered: that is progress. */
        snprintf(m->ray_id, sizeof m->ray_id, "%s", n->node_id);
        m->progress_ms = c->now_ms;
        fleet_touch(&c->fleet, m);
    } else if (another || h->ops->by_address) {
        machine_joined(c, m, n);
        drain_resume(c, h, m, n);
    }
}

void source_joins(struct control *c, struct source *h, bool restarted)
{
    if (h != source_of_machines(c))
        return;  /* its nodes lie on machines of the other one */
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];
        const struct source_node *n = source_node_of(c, m);
        bool alive = n && n->status != SOURCE_DEAD;

        switch (m->state) {
        case STATE_INTENDED:
        case STATE_REQUESTED:
        case STATE_STARTING:
            coming_seen(c, h, m, n);
            break;
        case STATE_READY:
        case STATE_DRAINING:
            if (alive && strcmp(n->node_id, m->ray_id) == 0) {
                drain_seen(c, h, m, n);
                break;
            }
            /* A new raylet on it, which no drain that was agreed on is of. */
            if (alive && !m->drain_accepted)
                machine_joined(c, m, n);
            else
                machine_dead(c, m, !n || restarted);
            break;
        case STATE_STOPPING:
        case STATE_GONE:
        case STATE_COUNT:
            break;
        }
    }
}
