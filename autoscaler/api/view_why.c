/*
 * view_why.c - /v1/why/{name}: reasons in codes and in sentences.
 *
 * The name is of a node, an owner, or both.  Every bundle of an owner is listed
 * with the nodes that hold it, or with the obstacle on each offer.
 */
#include <string.h>

#include "view.h"

#define BUNDLES_MAX 1000 /* of one owner */

static bool has_request(const struct view *v, const char *name)
{
    for (uint32_t i = 0; v->page && i < v->page->n_requests; i++)
        if (strcmp(v->page->requests[i].owner, name) == 0)
            return true;
    return false;
}

static bool owner_known(const struct view *v, const char *name)
{
    for (uint32_t d = 0; d < v->s->n_demands; d++)
        if (strcmp(view_str(v, v->s->demands[d].owner), name) == 0)
            return true;
    return has_request(v, name);
}

static const char *node_place(struct view *v, const struct snap_node *n)
{
    return arena_printf(&v->arena, "%s%s%s%s",
                        n->type[0] ? n->type : "no type of ours",
                        n->zone && n->zone[0] ? " in " : "",
                        n->zone ? n->zone : "", n->spot ? ", spot" : "");
}

/* What it is, what it is for, what becomes of it. */
static void node_text(struct out *o, struct view *v, struct event_ring *r,
                      uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];
    const struct plan_node *p = view_verdict(v, row);
    int64_t price = view_node_price(v, row);

    out_strf(o, NULL, "%s (%s) is %s%s%s.", n->id, node_place(v, n),
             state_name(n->state), n->since_ms > 0 ? " since " : "",
             n->since_ms > 0 ? view_time(v, n->since_ms) : "");
    if (n->state == STATE_STOPPING)
        why_end_refused(o, v, r, n);
    if (price > 0)
        out_strf(o, NULL, "It costs %s $/h.", view_money(v, price));
    if (n->because && *n->because)
        out_strf(o, NULL, "It was bought because %s.", n->because);
    for (uint32_t i = 0; p && i < p->n_placements && i < 8; i++) {
        const struct plan_placement *q =
            &v->plan->placements[p->first_placement + i];
        const struct pb_demand *d =
            &v->s->demands[v->s->bundles[q->bundle].demand];

        out_strf(o, NULL, "It holds %u x (%s) of %s.", q->count,
                 view_need_text(v, q->bundle, q->alt), view_str(v, d->owner));
    }
    out_strf(o, NULL, "It is %s: %s.",
             !p || p->action == NODE_KEEP ? "kept"
             : p->action == NODE_END      ? "being ended"
                                          : "taken back",
             view_why_text(v, row));
    if (n->hold == REASON_KEEP_PROTECTED &&
        (!p || p->why != REASON_KEEP_PROTECTED))
        out_strf(o, NULL,
                 "A user protected it: it is not ended before `davit unprotect "
                 "%s`.",
                 n->id);
}

static uint64_t placed_on(const struct view *v, uint32_t first, uint32_t n,
                          uint32_t bundle)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        if (v->plan->placements[first + i].bundle == bundle)
            count += v->plan->placements[first + i].count;
    return count;
}

static void write_places(struct out *o, struct view *v, uint32_t bundle)
{
    const struct plan_bundle *b = &v->plan->bundles[bundle];

    out_array(o, "nodes");
    for (uint32_t i = 0; b->placed && i < v->s->n_nodes; i++) {
        const struct plan_node *p = &v->plan->nodes[i];
        uint64_t n = placed_on(v, p->first_placement, p->n_placements, bundle);

        if (n == 0)
            continue;
        out_object(o, NULL);
        out_str(o, "id", view_str(v, v->s->nodes[i].id));
        out_str(o, "state", state_name(v->s->nodes[i].state));
        out_uint(o, "count", n);
        out_close(o);
    }
    out_close(o);
    out_array(o, "launches");
    for (uint32_t i = 0; b->launched && i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];
        const struct pb_offer *of = &v->s->offers[l->offer];
        uint64_t n = placed_on(v, l->first_placement, l->n_placements, bundle);

        if (n == 0)
            continue;
        out_object(o, NULL);
        out_str(o, "type", view_str(v, v->s->types[of->type].name));
        out_str(o, "zone", view_str(v, of->zone));
        out_bool(o, "spot", of->spot);
        out_uint(o, "nodes", l->count);
        out_uint(o, "count", n * l->count);
        out_close(o);
    }
    out_close(o);
}

static bool improving(const struct view *v, uint32_t bundle)
{
    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];

        if (view_improving(v, i) &&
            placed_on(v, l->first_placement, l->n_placements, bundle) > 0)
            return true;
    }
    return false;
}

static const char *bundle_text(struct view *v, uint32_t bundle)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    const char *need = view_need_text(v, bundle, p->alt);

    if (p->waiting || p->infeasible)
        return view_unplaced_text(v, bundle);
    if (p->launched && improving(v, bundle))
        return arena_printf(&v->arena,
                            "%u x (%s): %u placed, %u not bought for yet: %s",
                            v->s->bundles[bundle].count, need, p->placed,
                            p->launched, reason_text(REASON_IMPROVING));
    if (p->launched)
        return arena_printf(
            &v->arena, "%u x (%s): %u placed, %u on nodes being launched",
            v->s->bundles[bundle].count, need, p->placed, p->launched);
    return arena_printf(&v->arena, "%u x (%s) placed",
                        v->s->bundles[bundle].count, need);
}

static void write_bundle(struct out *o, struct view *v, uint32_t bundle)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    uint32_t why[64], n;

    out_object(o, NULL);
    view_need(o, "bundle", v, bundle, p->alt);
    out_uint(o, "count", v->s->bundles[bundle].count);
    out_uint(o, "placed", p->placed);
    out_uint(o, "launched", p->launched);
    out_uint(o, "waiting", p->waiting);
    out_uint(o, "infeasible", p->infeasible);
    if (p->alt == NONE)
        out_null(o, "alternative");
    else
        out_uint(o, "alternative", p->alt);
    write_places(o, v, bundle);
    if (p->infeasible || p->waiting)
        view_nearest(o, "nearest", v, bundle);
    else
        out_null(o, "nearest");
    out_array(o, "obstacles");
    n = view_obstacles(v, bundle, 64, why);
    for (uint32_t i = 0; i < n; i++)
        view_obstacle(o, v, why[i]);
    out_close(o);
    out_str(o, "text", bundle_text(v, bundle));
    out_close(o);
}

static void write_owner(struct out *o, struct view *v, const char *name)
{
    uint32_t listed = 0;

    out_object(o, "owner");
    out_str(o, "owner", name);
    if (!request_write(o, "request", v, name))
        out_null(o, "request");
    out_array(o, "demands");
    for (uint32_t i = 0; i < v->s->n_demands; i++) {
        const struct pb_demand *d = &v->s->demands[i];

        if (strcmp(view_str(v, d->owner), name) != 0 || listed > BUNDLES_MAX)
            continue;
        out_object(o, NULL);
        out_str(o, "source", source_name(d->source));
        out_str(o, "id", view_str(v, d->id));
        out_str(o, "strategy", strategy_name(d->strategy));
        out_bool(o, "gang", d->gang);
        out_int(o, "priority", d->priority);
        out_time(o, "since_at", d->since_ms);
        if (view_said(v, d))
            out_str(o, "scheduler_says", view_said(v, d));
        out_array(o, "bundles");
        for (uint32_t b = 0; b < d->n_bundles && listed <= BUNDLES_MAX; b++) {
            write_bundle(o, v, d->first_bundle + b);
            listed++;
        }
        out_close(o);
        out_close(o);
    }
    out_close(o);
    out_close(o);
}

static void owner_text(struct out *o, struct view *v, const char *name)
{
    struct outcome x;
    uint32_t listed = 0;

    outcome_of(v, name, &x);
    if (x.found)
        out_strf(o, NULL, "The request of %s: %s.", name,
                 outcome_text(v, name, &x));
    else if (has_request(v, name))
        out_strf(o, NULL, "The request of %s is not planned for yet.", name);
    view_displaced_lines(o, v, name);
    for (uint32_t b = 0; b < v->s->n_bundles && listed < 16; b++) {
        const struct pb_demand *d = &v->s->demands[v->s->bundles[b].demand];
        const char *id = view_str(v, d->id);

        if (strcmp(view_str(v, d->owner), name) != 0)
            continue;
        out_strf(o, NULL, "%s%s%s%s: %s.", source_name(d->source),
                 id[0] ? " " : "", id, d->gang ? ", whole or not at all" : "",
                 bundle_text(v, b));
        listed++;
    }
}

/* The demand of pods is called KIND/NAMESPACE/NAME, of the pod or of what made it
 * ("ReplicaSet/default/web-7d9f"), and then perhaps "#" and what tells its shapes
 * apart.  The name may be all of it, end with it, or be of a pod that such a
 * controller made ("web-7d9f-x2x4q"). */
static bool id_fits(const char *id, const char *name)
{
    size_t all = strcspn(id, "#"), n = strlen(name), last = all;

    if (!n || !all)
        return false;
    if (n <= all && strncmp(id + all - n, name, n) == 0 &&
        (n == all || id[all - n - 1] == '/'))
        return true;
    while (last > 0 && id[last - 1] != '/')
        last--;
    if (strchr(name, '/') && last > 0) /* NAMESPACE/POD */
        for (last--; last > 0 && id[last - 1] != '/';)
            last--;
    return last > 0 && n > all - last + 1 &&
           strncmp(name, id + last, all - last) == 0 && name[all - last] == '-';
}

/* Does some demand have this id? */
static bool demand_known(const struct view *v, const char *name)
{
    for (uint32_t d = 0; d < v->s->n_demands; d++)
        if (id_fits(view_str(v, v->s->demands[d].id), name))
            return true;
    return false;
}

static void demand_text(struct out *o, struct view *v, const char *name)
{
    uint32_t listed = 0;

    for (uint32_t b = 0; b < v->s->n_bundles && listed < 16; b++) {
        const struct pb_demand *d = &v->s->demands[v->s->bundles[b].demand];
        const char *id = view_str(v, d->id);

        if (!id_fits(id, name))
            continue;
        out_strf(o, NULL, "%s %s of %s: %s.", source_name(d->source), id,
                 view_str(v, d->owner), bundle_text(v, b));
        listed++;
    }
}

/* A pod that is left out of the plan, by NAMESPACE/NAME or NAME; NULL: none. */
static const struct status_left *left_find(const struct view *v,
                                           const char *name)
{
    for (uint32_t i = 0; v->page && i < v->page->n_left; i++) {
        const struct status_left *x = &v->page->left[i];
        const char *slash = strchr(x->name, '/');

        if (strcmp(x->name, name) == 0 || (slash && !strcmp(slash + 1, name)))
            return x;
    }
    return NULL;
}

/* Who may not read everything is told of his owners alone, also where a node
 * has an owner's name. */
bool why_write(struct out *o, struct view *v, struct event_ring *r,
               const char *name)
{
    bool all = !v->reader, owner = owner_known(v, name);
    uint32_t row = all ? node_find(v, name) : NONE;
    bool type = all && view_has_type(v, name);
    bool demand = all && !owner && demand_known(v, name);
    const struct status_left *left = all ? left_find(v, name) : NULL;

    if (row == NONE && !owner && !type && !demand && !left)
        return false;
    out_object(o, NULL);
    out_str(o, "name", name);
    out_uint(o, "tick", v->page ? v->page->tick : 0);
    out_seconds(o, "age_s", view_age_ms(v));
    out_array(o, "text");
    if (row != NONE) {
        node_text(o, v, r, row);
        why_console(o, v, r, v->snapshot->nodes[row].id);
    }
    if (owner) {
        owner_text(o, v, name);
        why_request_changed(o, v, r, name);
    }
    if (demand)
        demand_text(o, v, name);
    if (left)
        out_strf(o, NULL, "pod %s is left out of the plan (%s): %s", left->name,
                 left->code, left->text);
    if (type)
        view_type_lines(o, v, name);
    out_close(o);
    if (type) {
        out_array(o, "type");
        view_type_lines(o, v, name);
        out_close(o);
    }
    if (row != NONE)
        node_write(o, "node", v, row);
    if (owner)
        write_owner(o, v, name);
    out_close(o);
    return true;
}
