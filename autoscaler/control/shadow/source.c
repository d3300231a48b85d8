/*
 * source.c - a demand source that is only read, with the virtual machines in the
 * place of the present autoscaler's nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../model/amount.h"
#include "../../model/bill.h"
#include "inside.h"

struct reader {
    struct shadow *shadow;
    const struct source_ops *real;
    void *handle;
    bool machines;
    struct source_view *last; /* the newest true one; a reference */
    uint64_t told;            /* the state of the machines in the last view */
    struct shapes shapes;
};

/* ---- a view */

struct making {
    const struct reader *r;
    const struct source_view *from;
    struct source_view *to;
    struct work_list work;
    struct source_present *present;
};

/* The real scheduler never hears of it, so it is never tried: all of a new node's
 * room is there (wire/pods/word.c). */
static struct source_node vm_show(const struct making *m, const struct vm *vm)
{
    const struct shadow *s = m->r->shadow;
    struct arena *a = &m->to->arena;
    struct qtys has = {0};
    const char *id = arena_strdup(a, vm->id);

    for (uint32_t i = 0; i < s->conf->n_types; i++)
        if (strcmp(s->conf->types[i].fact.name, vm->type) == 0)
            has = s->conf->types[i].fact.resources;
    struct qty *v = ARENA_ARRAY(a, struct qty, has.n + 1);
    for (uint32_t i = 0; i < has.n; i++)
        v[i] = (struct qty){arena_strdup(a, has.v[i].name), has.v[i].amount};
    v[has.n++] = (struct qty){UNTRIED_RESOURCE, AMOUNT_ONE};
    return (struct source_node){
        .node_id = id,
        .instance_id = id,
        .type = arena_strdup(a, vm->type),
        .machine = "",
        .zone = arena_strdup(a, vm->zone),
        .address = "",
        .activity = "",
        .note = "",
        .status = vm->drains ? SOURCE_DRAINING : SOURCE_IDLE,
        .idle_ms = 0,
        .total = {v, has.n},
        .available = {v, has.n}};
}

/* Nodes of the present autoscaler are set aside, with their work. */
static bool is_present(struct making *m, const struct source_node *n,
                       struct source_node *to)
{
    const struct config *conf = m->r->shadow->conf;
    const struct conf_type *t;

    if (n->head || n->status == SOURCE_DEAD)
        return false;
    t = match_type(conf, n);
    if (!t) {
        m->present->unmatched++;
        return false;
    }
    *to = *n;
    to->type = arena_strdup(&m->to->arena, t->fact.name);
    work_of(&m->r->shapes, conf, n, &m->to->arena, &m->work);
    return true;
}

static void nodes_make(struct making *m)
{
    const struct shadow *s = m->r->shadow;
    const struct source_view *from = m->from;
    struct source_node *out = ARENA_ARRAY(&m->to->arena, struct source_node,
                                          from->n_nodes + s->vms.n);
    struct source_node *there = ARENA_ARRAY(&m->to->arena, struct source_node,
                                            from->n_nodes);
    int64_t now = clock_wall_ms();
    uint32_t n = 0, n_there = 0;

    for (uint32_t i = 0; i < from->n_nodes; i++)
        if (is_present(m, &from->nodes[i], &there[n_there]))
            n_there++;
        else
            out[n++] = from->nodes[i];
    for (uint32_t i = 0; i < s->vms.n; i++)
        if (s->vms.v[i]->ready_ms <= now)
            out[n++] = vm_show(m, s->vms.v[i]);
    m->present->nodes = there;
    m->present->n_nodes = n_there;
    m->to->nodes = out;
    m->to->n_nodes = n;
}

static bool is_tasks(const struct snap_demand *d)
{
    return d->source == SOURCE_TASK && d->strategy == STRATEGY_NONE;
}

static const struct snap_bundle *joined(struct making *m,
                                        const struct snap_demand *d)
{
    struct snap_bundle *v = ARENA_ARRAY(&m->to->arena, struct snap_bundle,
                                        d->n_bundles + m->work.all.n);

    if (d->n_bundles)
        memcpy(v, d->bundles, d->n_bundles * sizeof *v);
    if (m->work.all.n)
        memcpy(v + d->n_bundles, m->work.all.v, m->work.all.n * sizeof *v);
    return v;
}

/* What runs is demand like what waits.  Ray's tasks have one owner: one of them
 * that begins to run changes nothing. */
static void demands_make(struct making *m)
{
    const struct source_view *from = m->from;
    bool ray = strcmp(m->r->real->kind, "ray") == 0, done = !m->work.all.n;
    struct snap_demand *v = ARENA_ARRAY(&m->to->arena, struct snap_demand,
                                        from->n_demands + 1);
    uint32_t n = 0;

    for (; n < from->n_demands; n++) {
        v[n] = from->demands[n];
        for (uint32_t b = 0; b < v[n].n_bundles; b++)
            m->present->waiting += v[n].source == SOURCE_REQUEST
                                       ? 0
                                       : v[n].bundles[b].count;
        if (done || !ray || !is_tasks(&v[n]))
            continue;
        v[n].bundles = joined(m, &v[n]);
        v[n].n_bundles += m->work.all.n;
        done = true;
    }
    if (!done)
        v[n++] = (struct snap_demand){.source = ray ? SOURCE_TASK : SOURCE_POD,
                                      .owner = ray ? "ray" : BILL_RUNNING,
                                      .id = "",
                                      .bundles = m->work.all.v,
                                      .n_bundles = m->work.all.n};
    m->to->demands = v;
    m->to->n_demands = n;
}

/* Points into the true one, which it keeps. */
static struct source_view *view_make(struct reader *r)
{
    struct source_view *to = source_view_new();
    struct making m = {.r = r, .from = r->last, .to = to};
    struct arena arena = to->arena;

    *to = *r->last;
    atomic_init(&to->refs, 1);
    to->arena = arena;
    to->base = source_view_ref(r->last);
    m.present = ARENA_NEW(&to->arena, struct source_present);
    to->present = m.present;
    if (r->machines)
        nodes_make(&m);
    demands_make(&m);
    return to;
}

/* Changes whenever a virtual machine is ready, drains or is gone. */
static uint64_t machines_state(const struct shadow *s)
{
    int64_t now = clock_wall_ms();
    uint64_t ready = 0;

    for (uint32_t i = 0; i < s->vms.n; i++)
        ready += s->vms.v[i]->ready_ms <= now;
    return s->version << 20 | ready;
}

/* ---- a source */

static enum status do_read(void *handle, int64_t deadline_mono_ms,
                           struct source_view **ret, struct err *err)
{
    struct reader *r = handle;
    struct source_view *view;
    enum status s = r->real->read(r->handle, deadline_mono_ms, &view, err);
    uint64_t state;

    *ret = NULL;
    if (s != ST_OK)
        return s;
    pthread_mutex_lock(&r->shadow->lock);
    state = machines_state(r->shadow);
    if (view) {
        source_view_unref(r->last);
        r->last = view;
        shapes_learn(&r->shapes, view);
    }
    if (r->last && (view || (r->machines && state != r->told)))
        *ret = view_make(r);
    r->told = state;
    pthread_mutex_unlock(&r->shadow->lock);
    return ST_OK;
}

/* Nothing runs on a virtual machine. */
static enum status do_drain(void *handle, struct source_drain *d,
                            int64_t deadline_mono_ms, struct err *err)
{
    const struct reader *r = handle;
    struct shadow *s = r->shadow;

    (void)deadline_mono_ms, (void)err;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->vms.n; i++)
        if (strcmp(s->vms.v[i]->id, d->node_id) == 0)
            s->vms.v[i]->drains = true;
    s->version++;
    pthread_mutex_unlock(&s->lock);
    d->got = SOURCE_DRAIN_DONE;
    return ST_OK;
}

static void do_configure(void *handle, struct names zones, struct qtys most,
                         struct pairs startup, bool no_reserve)
{
    const struct reader *r = handle;

    if (r->real->configure)
        r->real->configure(r->handle, zones, most, startup, no_reserve);
}

static void do_stop(void *handle)
{
    const struct reader *r = handle;

    if (r->real->stop)
        r->real->stop(r->handle);
}

static void do_free(void *handle)
{
    struct reader *r = handle;

    if (!r)
        return;
    r->real->free(r->handle);
    source_view_unref(r->last);
    arena_done(&r->shapes.arena);
    free(r);
}

static struct reader *reader_new(struct shadow *s,
                                 const struct source_ops *real, void *handle,
                                 bool machines)
{
    struct reader *r = MEM_NEW(struct reader);

    *r = (struct reader){
        .shadow = s, .real = real, .handle = handle, .machines = machines};
    return r;
}

struct source_opened shadow_source(struct shadow *s,
                                   const struct source_opened *real,
                                   bool machines)
{
    static struct source_ops all[2]; /* one for each place there is */
    struct source_ops *ops = &all[machines];
    struct source_opened o = {.ops = ops, .address = real->address};

    *ops = (struct source_ops){.kind = real->ops->kind,
                               .waits = real->ops->waits,
                               .two_looks = real->ops->two_looks,
                               .numbered = real->ops->numbered,
                               .writers = real->ops->writers,
                               .read = do_read,
                               .drain = do_drain,
                               .configure = do_configure,
                               .stop = do_stop,
                               .free = do_free};
    o.reader = reader_new(s, real->ops, real->reader, machines);
    for (uint32_t i = 0; i < real->ops->writers; i++)
        o.writers[i] = reader_new(s, real->ops, real->writers[i], machines);
    return o;
}
