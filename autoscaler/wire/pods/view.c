/*
 * view.c - the store to a view.  See inside.h.
 *
 * Made under the store's lock, and a full copy, so that events can be taken in
 * while the view is used.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

void builder_due(struct builder *m, int64_t ms)
{
    int64_t due = m->in->now_mono_ms + ms;

    if (!m->due_mono_ms || due < m->due_mono_ms)
        m->due_mono_ms = due;
}

static struct reqs reqs_copy(struct arena *a, const struct reqs *from)
{
    struct req *v = ARENA_ARRAY(a, struct req, from->n);

    for (uint32_t i = 0; i < from->n; i++)
        v[i] = pods_req_copy(a, &from->v[i]);
    return (struct reqs){v, from->n};
}

static struct daemon_need daemon_make(struct arena *a,
                                      const struct pod_shape *s)
{
    struct reqs *alts = ARENA_ARRAY(a, struct reqs, s->n_alts);

    for (uint32_t i = 0; i < s->n_alts; i++)
        alts[i] = reqs_copy(a, &s->alts[i]);
    return (struct daemon_need){alts, s->n_alts,
                                pods_tolerations_copy(a, s->tolerations),
                                pods_qtys_copy(a, s->needs)};
}

static const struct daemon_need *daemons_make(struct builder *m, uint32_t *ret)
{
    struct daemon_need *v = ARENA_ARRAY(m->arena, struct daemon_need,
                                        m->n_daemons);

    for (uint32_t i = 0; i < m->n_daemons; i++)
        v[i] = daemon_make(m->arena, m->daemons[i]->shape);
    *ret = m->n_daemons;
    return v;
}

static int by_name(const void *a, const void *b)
{
    const struct pod *x = *(struct pod *const *)a;
    const struct pod *y = *(struct pod *const *)b;
    int d = strcmp(x->space, y->space);

    return d ? d : strcmp(x->name, y->name);
}

/* Its node is taken back in a moment, and its controller will make it again: it
 * is demand already, so that a machine in that place is on its way. */
static bool is_leaving(const struct builder *m, const struct pod *p)
{
    const struct knode *k;

    if (m->in->works || p->state != POD_BOUND || p->daemon || p->fixed ||
        p->ending || !*p->owner || *p->gang)
        return false;
    k = (const struct knode *)records_find(&m->in->store->nodes, p->node);
    return k && *k->leaving;
}

/* Bound pods, and those that are demand or of a gang. */
static struct pod **pods_sort_out(struct builder *m, uint32_t *ret_n,
                                  uint32_t *ret_waiting)
{
    const struct hash *all = &m->in->store->pods.by_id;
    struct pod **open = ARENA_ARRAY(m->arena, struct pod *, all->n), *p;
    uint32_t n = 0, waiting = 0;

    m->bound = ARENA_ARRAY(m->arena, struct pod *, all->n);
    for (uint32_t at = 0; (p = hash_each(all, &at));) {
        if (*p->node)
            m->bound[m->n_bound++] = p;
        waiting += p->state == POD_DEMAND;
        m->n_pending += p->state == POD_DEMAND || p->state == POD_WAITS;
        m->any_gang = m->any_gang || *p->gang;
        if (p->state == POD_DEMAND || *p->gang || is_leaving(m, p))
            open[n++] = p;
        p->volumes = NULL;
        if (p->state == POD_WAITS)
            waits_count(m, p->aside, 1);
        if (p->state == POD_WAITS && *p->code) {
            pods_note(m, p, p->code, p->text);
            if (p->shape->code)
                m->n_garbled++;
            else
                m->n_elsewhere++;
        }
    }
    if (m->n_bound > 1)
        qsort(m->bound, m->n_bound, sizeof *m->bound, by_name);
    *ret_n = n;
    *ret_waiting = waiting;
    return open;
}

/* A cluster's identity is the uid of kube-system, which is as old as the cluster. */
static const char *session_of(const struct pods_store *store, struct arena *a)
{
    const struct space *s = (const struct space *)records_find(&store->spaces,
                                                               "kube-system");

    return s && *s->uid ? arena_printf(a, SOURCE_NAMELESS " %.80s", s->uid)
                        : SOURCE_NAMELESS;
}

struct source_view *pods_view_make(const struct pods_view_in *in,
                                   int64_t *ret_due)
{
    struct source_view *view = source_view_new();
    struct arena *arena = &view->arena;
    struct pods_view *extra = ARENA_NEW(arena, struct pods_view);
    struct builder m = {.in = in, .arena = arena};
    struct source_node *nodes;
    struct pod **open;
    uint32_t n, waiting;

    in->store->views++;
    view_nodes_begin(&m);
    open = pods_sort_out(&m, &n, &waiting);
    m.n_waiting = waiting;
    n = pods_share(&m, open, n);
    view_pods_place(&m);
    view_machines_begin(&m);
    daemons_coming(&m, waiting);
    untried_count(&m, waiting);
    volumes_begin(&m, open, n);
    pods_affinity_begin(&m, open, n);
    pods_demands(&m, open, n);
    view_works_make(&m);
    untried_begin(&m, waiting);
    nodes = ARENA_ARRAY(arena, struct source_node, m.n_nodes);
    for (uint32_t i = 0; i < m.n_nodes; i++)
        view_node_make(&m, &m.nodes[i], &nodes[i]);
    *extra = (struct pods_view){
        .probes = m.probes.v,
        .n_probes = m.probes.n,
        .columns = m.columns.v,
        .n_columns = m.columns.n,
        .reserve = in->reserve,
        .refs = m.refs.v,
        .topology = pods_topology(&m),
    };
    extra->daemons = daemons_make(&m, &extra->n_daemons);
    view->version = (int64_t)in->store->version;
    view->session = session_of(in->store, arena);
    view->v2 = true;
    view->read_mono_ms = in->now_mono_ms;
    view->nodes = nodes;
    view->n_nodes = m.n_nodes;
    view->demands = m.demands.v;
    view->n_demands = m.demands.n;
    view->n_elsewhere = m.n_elsewhere;
    view->n_garbled = m.n_garbled;
    view->n_crowded = m.n_crowded;
    view->notes = m.notes.v;
    view->n_notes = m.notes.n;
    view->words = pods_words(&m, &view->n_words);
    view->spreads = profiles_spread(in->store->profiles,
                                    &in->store->rules->schedulers);
    waits_end(&m);
    view->counts = m.waits.v;
    view->n_counts = m.waits.n;
    view->pods = extra;
    view->rays = pods_rays(&m, &view->n_rays);
    *ret_due = m.due_mono_ms;
    return view;
}

const struct pods_ref *pods_of(const struct source_view *view, uint32_t demand,
                               uint32_t *ret_n)
{
    *ret_n = 0;
    if (!view->pods || demand >= view->n_demands)
        return NULL;
    *ret_n = view->pods->refs[demand].n;
    return view->pods->refs[demand].v;
}
