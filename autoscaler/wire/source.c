/*
 * source.c - views: their references, and whether two are the same.
 *
 * A Ray head sends everything at every read.  Most reads of a cluster at rest
 * differ only in how long nodes have been idle: they need no plan.
 */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../model/bundle.h"

struct source_view *source_view_new(void)
{
    struct source_view *v = MEM_NEW(struct source_view);

    atomic_init(&v->refs, 1);
    return v;
}

struct source_view *source_view_ref(struct source_view *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}

void source_view_unref(struct source_view *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
        return;
    source_view_unref(v->base);
    arena_done(&v->arena);
    free(v);
}

/* ---- comparing */

#define ALL(same, x, y) ((x).n == (y).n && all_##same((x).v, (y).v, (x).n))

static bool text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool all_names(const char *const *a, const char *const *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!text(a[i], b[i]))
            return false;
    return true;
}

static bool all_qtys(const struct qty *a, const struct qty *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].amount != b[i].amount || !text(a[i].name, b[i].name))
            return false;
    return true;
}

static bool all_pairs(const struct pair *a, const struct pair *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!text(a[i].key, b[i].key) || !text(a[i].value, b[i].value))
            return false;
    return true;
}

static bool bundles(const struct snap_demand *a, const struct snap_demand *b)
{
    for (uint32_t i = 0; i < a->n_bundles; i++) {
        const struct snap_bundle *x = &a->bundles[i], *y = &b->bundles[i];

        if (x->count != y->count || !bundle_equal(x, y))
            return false;
    }
    return true;
}

static bool demand(const struct snap_demand *a, const struct snap_demand *b)
{
    return a->source == b->source && a->strategy == b->strategy &&
           a->since_ms == b->since_ms && a->priority == b->priority &&
           text(a->owner, b->owner) && text(a->id, b->id) &&
           text(a->queue, b->queue) && a->n_bundles == b->n_bundles &&
           bundles(a, b);
}

/* Having been idle for longer is no change. */
static bool node(const struct source_node *a, const struct source_node *b)
{
    return a->status == b->status && a->head == b->head &&
           a->unschedulable == b->unschedulable && a->settling == b->settling &&
           a->idle_ms <= b->idle_ms && (a->idle_ms < 0) == (b->idle_ms < 0) &&
           text(a->node_id, b->node_id) &&
           text(a->instance_id, b->instance_id) && text(a->type, b->type) &&
           text(a->machine, b->machine) && text(a->zone, b->zone) &&
           text(a->address, b->address) && text(a->activity, b->activity) &&
           text(a->mark ? a->mark : "", b->mark ? b->mark : "") &&
           text(a->note, b->note) && ALL(names, a->aliases, b->aliases) &&
           ALL(qtys, a->total, b->total) &&
           ALL(qtys, a->available, b->available) &&
           ALL(pairs, a->labels, b->labels) && !a->taints.n && !b->taints.n;
}

/* Whose prices and sums differ is another matter than whether to plan anew; but
 * what is added up of it begins with a page. */
static bool present(const struct source_present *a,
                    const struct source_present *b)
{
    if (!a || !b)
        return a == b;
    if (a->n_nodes != b->n_nodes || a->unmatched != b->unmatched ||
        a->waiting != b->waiting)
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (!text(a->nodes[i].type, b->nodes[i].type))
            return false;
    return true;
}

bool source_view_same(const struct source_view *a, const struct source_view *b)
{
    if (!text(a->session, b->session) || a->v2 != b->v2 ||
        a->n_nodes != b->n_nodes || a->n_demands != b->n_demands ||
        a->n_elsewhere != b->n_elsewhere || a->n_garbled != b->n_garbled ||
        a->n_crowded != b->n_crowded || a->n_names_left != b->n_names_left ||
        a->n_notes || b->n_notes || a->n_rays || b->n_rays || b->pods ||
        !present(a->present, b->present))
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (!node(&a->nodes[i], &b->nodes[i]))
            return false;
    for (uint32_t i = 0; i < a->n_demands; i++)
        if (!demand(&a->demands[i], &b->demands[i]))
            return false;
    return true;
}

bool source_session_is_other(const char *was, const char *now)
{
    return strcmp(was, now) != 0 && strcmp(was, SOURCE_NAMELESS) != 0 &&
           strcmp(now, SOURCE_NAMELESS) != 0;
}
