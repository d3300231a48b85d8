/*
 * snapshot_demands.c - requests, the sources' demand, head-room.
 */
#include <string.h>

#include "../model/confirm.h"
#include "../wire/pods/pods.h"
#include "asked.h"
#include "rare.h"
#include "snapshot_parts.h"

struct demands {
    VEC(struct snap_demand) all;
    uint64_t bundles; /* of sources */
};

/* What a bundle names by Ray's label selector, or "". */
static const char *queue_named(const struct snap_bundle *b)
{
    for (uint32_t k = 0; k < b->n_alts; k++)
        for (uint32_t i = 0; i < b->alts[k].selector.n; i++) {
            const struct term *t = &b->alts[k].selector.v[i];

            if (t->op == TERM_IN && t->values.n == 1 &&
                strcmp(t->key, QUEUE_LABEL) == 0)
                return t->values.v[0];
        }
    return "";
}

/* A gang has the queue that any of its bundles names. */
static void gang_take(struct arena *a, struct snap_demand d, struct demands *to)
{
    d.queue = d.queue ? d.queue : "";
    for (uint32_t i = 0; i < d.n_bundles && !*d.queue; i++)
        d.queue = queue_named(&d.bundles[i]);
    VEC_PUSH(a, &to->all, d);
}

/* Tasks of several queues come in one list, which becomes one demand for each,
 * in the order in which they are named. */
static void tasks_take(struct arena *a, struct snap_demand d,
                       struct demands *to)
{
    struct snap_bundle *v = arena_copy(a, d.bundles, d.n_bundles * sizeof *v);
    struct snap_bundle *other = ARENA_ARRAY(a, struct snap_bundle, d.n_bundles);
    uint32_t left = d.n_bundles;

    while (left > 0) {
        const char *queue = queue_named(&v[0]);
        uint32_t kept = 0, n_other = 0;

        for (uint32_t i = 0; i < left; i++)
            if (strcmp(queue_named(&v[i]), queue) == 0)
                v[kept++] = v[i];
            else
                other[n_other++] = v[i];
        d.queue = queue;
        d.bundles = v;
        d.n_bundles = kept;
        VEC_PUSH(a, &to->all, d);
        v += kept; /* behind these, as long as they were together */
        if (n_other)
            memcpy(v, other, n_other * sizeof *v);
        left = n_other;
    }
}

/* What may be on a node, or in line there, since a moment is split off as
 * unconfirmed. */
static struct snap_demand in_doubt(struct taking *t, const struct source *h,
                                   struct snap_demand d,
                                   const struct lately_sums *lately)
{
    struct snap_bundle *v = ARENA_ARRAY(t->arena, struct snap_bundle,
                                        2 * d.n_bundles);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < d.n_bundles; i++) {
        struct snap_bundle b = d.bundles[i];
        uint32_t doubt = b.unconfirmed ? 0 : lately_holds(lately, &b);

        b.count -= doubt;
        if (b.count > 0)
            v[kept++] = b;
        b.count = doubt;
        b.unconfirmed = true;
        if (doubt > 0) {
            v[kept++] = b;
            t->confirmed_ms = lately_until_ms(&h->lately, t->k->env->mono_ms);
        }
    }
    d.bundles = v;
    d.n_bundles = kept;
    return d;
}

/* Tasks and actors wait at raylets and run at others, of which the head may have
 * a newer answer.  Placement groups wait at the head itself. */
static void tasks_doubt(struct taking *t, const struct source *h,
                        struct snap_demand *v)
{
    struct lately_sums lately = lately_sums(&h->lately, h->view,
                                            t->k->env->mono_ms, t->arena);
    bool any = lately.n_room > 0 || lately.n_left > 0;

    for (uint32_t i = 0; any && i < h->view->n_demands; i++)
        if (v[i].source == SOURCE_TASK)
            v[i] = in_doubt(t, h, v[i], &lately);
}

/* The view's, and which of it is not sure. */
static const struct snap_demand *view_demands(struct taking *t,
                                              const struct source *h,
                                              bool fresh)
{
    const struct source_view *view = h->view;
    const struct source_view *before = RARE(VIEW_FORGOTTEN) ? NULL : h->before;
    struct snap_demand *v;
    bool any;

    if (view->pods)
        return pods_demands_settle(view, t->arena, t->snapshot);
    if (!fresh || !h->ops->two_looks)
        return view->demands;
    v = confirm_demands(before ? before->demands : NULL,
                        before ? before->n_demands : 0, view->demands,
                        view->n_demands, t->arena, &any);
    t->unconfirmed = t->unconfirmed || any;
    tasks_doubt(t, h, v);
    return v;
}

static void source_demands_take(struct taking *t, const struct source *h,
                                struct demands *to)
{
    bool fresh = source_is_fresh(t->k->sources, h);
    const struct snap_demand *d;

    if (!h->view)
        return;
    d = view_demands(t, h, fresh);
    for (uint32_t i = 0; i < h->view->n_demands; i++, d++) {
        for (uint32_t b = 0; b < d->n_bundles; b++)
            to->bundles += d->bundles[b].count;
        if (to->bundles >= ASKED_OF_SOURCES_MAX)
            break; /* the rest is planned for when this is served */
        if (requests_leave_out(t->k->requests, d))
            continue;
        /* Old news of pending work buys nothing; a request stays in force. */
        if (!fresh && d->source != SOURCE_REQUEST)
            continue;
        if (d->source == SOURCE_TASK && d->strategy == STRATEGY_NONE)
            tasks_take(t->arena, *d, to);
        else
            gang_take(t->arena, *d, to);
    }
}

/* They come first: so requests and demands have the same numbers. */
static void requests_take(struct taking *t, struct demands *to)
{
    const struct requests *r = t->k->requests;

    t->requests = ARENA_ARRAY(t->arena, struct request *, r->all.n);
    for (uint32_t i = 0; i < r->all.n; i++) {
        struct request *q = r->all.v[i];

        if (q->demand.n_bundles == 0)
            continue;
        status_hold_shared(t->page, q->memory);
        t->requests[to->all.n] = q;
        VEC_PUSH(t->arena, &to->all, q->demand);
        to->all.v[to->all.n - 1].asked_by = q->share;
    }
    t->n_requests = to->all.n;
}

/* What runs on a machine that its cloud takes back will need room elsewhere in
 * a moment: it is demand already, so that a machine in its place is on its way.
 * Ray's work only; a pod's tolerations and volumes are not known here, and it
 * comes back as a pending pod. */
static void leaving_take(struct taking *t, const struct machine *m,
                         struct demands *to)
{
    const struct source_node *n = source_node_of(t->k->sources, m);
    struct snap_bundle *b = ARENA_NEW(t->arena, struct snap_bundle);
    struct snap_alt *alt = ARENA_NEW(t->arena, struct snap_alt);
    struct qty *v;
    uint32_t used = 0;

    if (!n || n->status == SOURCE_DEAD)
        return;
    v = ARENA_ARRAY(t->arena, struct qty, n->total.n);
    for (uint32_t i = 0; i < n->total.n; i++) {
        int64_t left = 0;

        for (uint32_t k = 0; k < n->available.n; k++)
            if (strcmp(n->available.v[k].name, n->total.v[i].name) == 0)
                left = n->available.v[k].amount;
        if (left < n->total.v[i].amount)
            v[used++] = (struct qty){n->total.v[i].name,
                                     n->total.v[i].amount - left};
    }
    if (!used)
        return;
    alt->resources = (struct qtys){v, used};
    *b = (struct snap_bundle){.alts = alt, .n_alts = 1, .count = 1};
    VEC_PUSH(
        t->arena, &to->all,
        ((struct snap_demand){.source = SOURCE_TASK,
                              .owner = "ray",
                              .id = arena_printf(t->arena, "leaving/%s", m->id),
                              .queue = "",
                              .bundles = b,
                              .n_bundles = 1}));
}

static void all_leaving_take(struct taking *t, struct demands *to)
{
    const struct source *h = source_of_machines(t->k->sources);
    const struct fleet *f = &t->k->ledger->fleet;

    if (!h || !h->view || h->view->pods)
        return;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i]->maybe.taken &&
            (f->v[i]->state == STATE_READY || f->v[i]->state == STATE_DRAINING))
            leaving_take(t, f->v[i], to);
}

void demands_take(struct taking *t)
{
    struct demands v = {{0}, 0};
    struct snap_demand spare = {0};

    requests_take(t, &v);
    for (uint32_t i = 0; i < t->k->sources->n; i++)
        source_demands_take(t, &t->k->sources->all[i], &v);
    all_leaving_take(t, &v);
    if (config_spare(t->conf, &spare))
        VEC_PUSH(t->arena, &v.all, spare);
    t->snapshot->demands = v.all.v;
    t->snapshot->n_demands = v.all.n;
}
