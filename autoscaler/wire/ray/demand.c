/*
 * demand.c - the pending work of a Ray cluster as demands.
 *
 * A shape is left out as a whole when no new machine could help it: it names
 * a node (node:...) or lies inside a placement group that has its place
 * (X_group_...).  A shape with a number or selector that makes no sense is
 * left out too, and counted, rather than served as something smaller.
 */
#include <string.h>

#include "inside.h"
#include "ray.pb-c.h"

static void count_left_out(struct source_view *view, enum ray_kind kind)
{
    view->n_elsewhere += kind == RAY_ELSEWHERE;
    view->n_garbled += kind == RAY_GARBLED;
}

static void by_count_read(struct ray_bundles *s, struct source_view *view,
                          PB(ResourceRequestByCount) *const *v, size_t n)
{
    struct snap_alt alts[RAY_MAX_ALTS];
    for (size_t i = 0; i < n; i++) {
        struct arena_mark before = arena_mark(s->strings->arena);
        uint32_t n_alts = 0;
        if (v[i]->count <= 0 || !v[i]->request) {
            view->n_garbled += v[i]->count < 0;
            continue;
        }
        enum ray_kind kind = ray_alts_read(s->strings, v[i]->request, NULL,
                                           alts, &n_alts);
        if (kind == RAY_GOOD)
            ray_bundle_add(s, before, alts, n_alts, v[i]->count);
        else
            count_left_out(view, kind);
    }
}

static const PB(PlacementLabel) *
    constraint_of(const PB(GangResourceRequest) * g, bool anti_affinity)
{
    for (size_t i = 0; i < g->n_requests; i++)
        for (size_t k = 0; k < g->requests[i]->n_placement_constraints; k++) {
            const PB(PlacementConstraint) *c =
                g->requests[i]->placement_constraints[k];
            const PB(PlacementLabel) *l = anti_affinity ? c->anti_affinity
                                                        : c->affinity;
            if (l)
                return l;
        }
    return NULL;
}

const char *ray_gang_anti_affinity(const PB(GangResourceRequest) * g)
{
    const PB(PlacementLabel) *l = constraint_of(g, true);
    return l && l->label_name[0] ? l->label_name : NULL;
}

/* "<id>:PACK|PENDING"; the constraints are the truth where there are any. */
static void gang_name(struct ray_strings *w, const PB(GangResourceRequest) * g,
                      struct snap_demand *d)
{
    const PB(PlacementLabel) *anti_affinity = constraint_of(g, true);
    const PB(PlacementLabel) *together = constraint_of(g, false);
    const PB(PlacementLabel) *label = anti_affinity ? anti_affinity : together;
    size_t id = strcspn(g->details, ":");
    d->strategy = STRATEGY_PACK;
    if (g->details[id] == ':') {
        const char *name = g->details + id + 1;
        d->id = ray_intern(w, arena_strndup(w->scratch, g->details, id));
        if (!strategy_from_name(
                arena_strndup(w->scratch, name, strcspn(name, "|")),
                &d->strategy))
            d->strategy = STRATEGY_PACK;
    } else if (label && strncmp(label->label_name, "_PG_", 4) == 0) {
        d->id = ray_intern(w, label->label_name + 4);
    } else {
        d->id = ray_intern(w, g->details);
    }
    if (anti_affinity)
        d->strategy = STRATEGY_STRICT_SPREAD;
    else if (together)
        d->strategy = STRATEGY_STRICT_PACK;
}

static const char *held_label(const struct ray_demand_input *in,
                              const PB(GangResourceRequest) * g)
{
    const char *label = ray_gang_anti_affinity(g);
    for (uint32_t k = 0; label && k < in->n_held; k++)
        if (strcmp(in->held[k], label) == 0)
            return in->held[k];
    return NULL;
}

/* Bundle i: what each selector of the gang asks for it, in their order; the
 * plain request where there is none. */
static enum ray_kind gang_bundle(struct ray_strings *w,
                                 const PB(GangResourceRequest) * g, size_t i,
                                 const char *anti_affinity,
                                 struct snap_alt *alts, uint32_t *n)
{
    enum ray_kind kind = RAY_GOOD;
    for (size_t k = 0; k < g->n_bundle_selectors && kind == RAY_GOOD; k++)
        if (i < g->bundle_selectors[k]->n_resource_requests)
            kind = ray_alts_read(w,
                                 g->bundle_selectors[k]->resource_requests[i],
                                 anti_affinity, alts, n);
    if (kind == RAY_GOOD && !*n && i < g->n_requests)
        kind = ray_alts_read(w, g->requests[i], anti_affinity, alts, n);
    return kind;
}

static bool gang_read(const struct ray_demand_input *in,
                      const PB(GangResourceRequest) * g,
                      struct source_view *view, struct snap_demand *d)
{
    struct ray_bundles s = {.strings = in->strings};
    struct snap_alt alts[RAY_MAX_ALTS];
    const char *anti_affinity = held_label(in, g);
    size_t n = g->n_requests;
    if (!n && g->n_bundle_selectors)
        n = g->bundle_selectors[0]->n_resource_requests;
    for (size_t i = 0; i < n; i++) {
        struct arena_mark before = arena_mark(in->strings->arena);
        uint32_t n_alts = 0;
        enum ray_kind kind = gang_bundle(in->strings, g, i, anti_affinity, alts,
                                         &n_alts);
        if (kind != RAY_GOOD) { /* whole or not at all */
            count_left_out(view, kind == RAY_EMPTY ? RAY_GARBLED : kind);
            return false;
        }
        ray_bundle_add(&s, before, alts, n_alts, 1);
    }
    *d = (struct snap_demand){.source = SOURCE_GANG, .owner = "ray"};
    gang_name(in->strings, g, d);
    ray_bundles_finish(&s, d);
    return d->n_bundles > 0;
}

void ray_demands_read(const struct ray_demand_input *in,
                      const PB(ClusterResourceState) * c,
                      struct source_view *view)
{
    size_t most = 1 + c->n_pending_gang_resource_requests +
                  c->n_cluster_resource_constraints;
    struct snap_demand *v = ARENA_ARRAY(in->strings->arena, struct snap_demand,
                                        most);
    uint32_t n = 0;

    struct ray_bundles tasks = {.strings = in->strings};
    by_count_read(&tasks, view, c->pending_resource_requests,
                  c->n_pending_resource_requests);
    if (tasks.all.n) {
        v[n] = (struct snap_demand){
            .source = SOURCE_TASK, .owner = "ray", .id = ""};
        ray_bundles_finish(&tasks, &v[n++]);
    }
    for (size_t i = 0; i < c->n_pending_gang_resource_requests; i++)
        n += gang_read(in, c->pending_gang_resource_requests[i], view, &v[n]);
    for (size_t i = 0; i < c->n_cluster_resource_constraints; i++) {
        const PB(
            ClusterResourceConstraint) *r = c->cluster_resource_constraints[i];
        struct ray_bundles s = {.strings = in->strings};
        by_count_read(&s, view, r->resource_requests, r->n_resource_requests);
        if (!s.all.n)
            continue; /* cleared: one empty constraint stays */
        v[n] = (struct snap_demand){
            .source = SOURCE_REQUEST, .owner = "ray", .id = ""};
        ray_bundles_finish(&s, &v[n++]);
    }
    view->demands = v;
    view->n_demands = n;
}
