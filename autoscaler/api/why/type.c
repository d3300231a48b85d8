/*
 * type.c - what there is of a node type, and why there is not more of it.
 */
#include <string.h>

#include "../../model/amount.h"
#include "../view.h"

enum { LINES_MAX = 16 };

static const struct pb_type *type_named(const struct view *v, const char *name)
{
    for (uint32_t i = 0; i < v->s->n_types; i++)
        if (strcmp(view_str(v, v->s->types[i].name), name) == 0)
            return &v->s->types[i];
    return NULL;
}

bool view_has_type(const struct view *v, const char *name)
{
    return type_named(v, name);
}

static const struct pb_offer *cheapest(const struct view *v,
                                       const struct pb_type *t)
{
    const struct pb_offer *best = &v->s->offers[t->first_offer];

    for (uint32_t i = 1; i < t->n_offers; i++)
        if (v->s->offers[t->first_offer + i].price_micros_hour <
            best->price_micros_hour)
            best = &v->s->offers[t->first_offer + i];
    return best;
}

/* Those that count for its max, those bought by this plan too. */
static uint32_t nodes_of(const struct view *v, const struct pb_type *t)
{
    uint32_t type = (uint32_t)(t - v->s->types), n = 0;

    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        n += v->s->nodes[i].type == type && view_counts(v->s->nodes[i].state);
    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        if (v->s->offers[v->plan->launches[i].offer].type == type)
            n += v->plan->launches[i].count;
    return n;
}

static void sums_line(struct out *o, struct view *v, const struct pb_type *t)
{
    const char *max = t->max == UNLIMITED
                          ? "without a max"
                          : arena_printf(&v->arena, "max %u", t->max);

    out_strf(o, NULL, "%s (provider %s): %u node%s, min %u, %s, %s $/h each.",
             view_str(v, t->name), view_str(v, t->provider), nodes_of(v, t),
             nodes_of(v, t) == 1 ? "" : "s", t->min, max,
             view_money(v, pb_offer_bill(cheapest(v, t))));
}

/* What keeps each of its offers from being bought. */
static void offer_lines(struct out *o, struct view *v, const struct pb_type *t)
{
    if (t->unavailable != REASON_NONE)
        out_strf(o, NULL, "Nothing of it is launched: %s.",
                 reason_text(t->unavailable));
    if (t->max != UNLIMITED && nodes_of(v, t) >= t->max)
        out_strf(o, NULL, "No more of it is launched: it is at its max of %u.",
                 t->max);
    for (uint32_t i = 0; i < t->n_offers; i++) {
        const struct pb_offer *f = &v->s->offers[t->first_offer + i];
        const char *zone = view_str(v, f->zone);

        if (f->interruptions)
            out_strf(o, NULL,
                     "%u spot machines%s%s were taken back in the last hour: "
                     "for %s $/h it counts as %s.",
                     f->interruptions, *zone ? " in " : "", zone,
                     view_money(v, pb_offer_bill(f)),
                     view_money(v, f->price_micros_hour));
        if (f->closed)
            out_strf(o, NULL, "Not offered now%s%s%s.", *zone ? " in " : "",
                     zone, f->spot ? " (spot)" : "");
        else if (f->backoff_until_ms > v->s->now_ms)
            out_strf(o, NULL, "In back-off%s%s%s until %s after %s.",
                     *zone ? " in " : "", zone, f->spot ? " (spot)" : "",
                     view_time(v, f->backoff_until_ms),
                     status_name(f->backoff_for));
    }
}

/* The first obstacle on an offer of this type; NONE: there is none. */
static uint32_t refusal_on(const struct view *v, uint32_t bundle, uint32_t type)
{
    const struct plan_bundle *b = &v->plan->bundles[bundle];

    for (uint32_t i = 0; i < b->n_refusals; i++) {
        uint32_t r = b->first_refusal + i;

        if (v->s->offers[v->plan->refusals[r].offer].type == type)
            return r;
    }
    return NONE;
}

static uint32_t waiting_lines(struct out *o, struct view *v,
                              const struct pb_type *t)
{
    uint32_t type = (uint32_t)(t - v->s->types), listed = 0;

    for (uint32_t b = 0; b < v->s->n_bundles && listed < LINES_MAX; b++) {
        const struct plan_bundle *p = &v->plan->bundles[b];
        uint32_t r = refusal_on(v, b, type);

        if ((!p->waiting && !p->infeasible) || r == NONE)
            continue;
        listed++;
        out_strf(o, NULL, "For %u x (%s) of %s none is launched: %s.",
                 p->waiting + p->infeasible, view_need_text(v, b, NONE),
                 view_str(v, v->s->demands[v->s->bundles[b].demand].owner),
                 view_obstacle_text(v, r));
    }
    return listed;
}

static const char *lacks_text(struct view *v, const struct pb_type *t,
                              const struct pb_shape *shape)
{
    const int64_t *needs = pb_row(v->s, shape->row);
    const int64_t *has = pb_row(v->s, t->row);

    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (needs[c] > has[c])
            return arena_printf(&v->arena, "it lacks %s: %s needed, %s there",
                                view_str(v, v->s->columns[c].name),
                                view_amount(v, c, needs[c]),
                                view_amount(v, c, has[c]));
    return NULL;
}

/* Why this launch is of another type: what can be said for certain. */
static const char *instead_text(struct view *v, const struct pb_type *t,
                                const struct plan_launch *l)
{
    const struct pb_offer *mine = cheapest(v, t),
                          *taken = &v->s->offers[l->offer];

    for (uint32_t i = 0; i < l->n_placements; i++) {
        const struct plan_placement *q =
            &v->plan->placements[l->first_placement + i];
        const struct pb_shape *shape = view_shape(v, q->bundle, q->alt);
        const char *lacks = lacks_text(v, t, shape);

        if (lacks)
            return lacks;
        if (!problem_match(v->s, shape->selector, mine->first_label,
                           mine->n_labels))
            return "its labels or taints do not fit what is asked for";
    }
    if (t->max != UNLIMITED && nodes_of(v, t) >= t->max)
        return "it is at its max";
    if (mine->price_micros_hour > taken->price_micros_hour)
        return arena_printf(&v->arena, "it is dearer, %s $/h against %s",
                            view_money(v, mine->price_micros_hour),
                            view_money(v, taken->price_micros_hour));
    return "all together the plan is cheaper so, or its offers are closed";
}

static uint32_t instead_lines(struct out *o, struct view *v,
                              const struct pb_type *t)
{
    uint32_t listed = 0;

    for (uint32_t i = 0; i < v->plan->n_launches && listed < LINES_MAX; i++) {
        const struct plan_launch *l = &v->plan->launches[i];
        const struct pb_type *other = view_offer_type(v, l->offer);

        if (other == t || !l->n_placements)
            continue;
        listed++;
        out_strf(o, NULL, "%u x %s is launched instead: %s.", l->count,
                 view_str(v, other->name), instead_text(v, t, l));
    }
    return listed;
}

/* What a new node of it will have, and who says so. */
static void origin_lines(struct out *o, struct view *v, const struct pb_type *t)
{
    enum { ORIGINS_MAX = 128 };
    const struct snap_type *s = &v->snapshot->types[t->from];
    char number[40];

    for (uint32_t i = 0; i < s->origins.n && i < ORIGINS_MAX; i++) {
        const char *what = s->origins.v[i].key, *from = s->origins.v[i].value;
        const char *key = strncmp(what, "label ", 6) == 0 ? what + 6 : NULL;
        const char *value = key ? pairs_value(&s->labels, key) : NULL;

        if (value)
            out_strf(o, NULL, "A new node has the label %s=%s, by %s.", key,
                     value, from);
        else if (key)
            out_strf(o, NULL, "The label %s of a new node is %s.", key, from);
        if (!key)
            out_strf(o, NULL, "A new node has %s %s for pods, by %s.",
                     amount_pretty(what, qtys_amount(&s->resources, what),
                                   number, sizeof number),
                     what, from);
    }
    for (uint32_t i = 0; i < s->taints.n; i++)
        out_strf(o, NULL, "A new node has the taint %s%s%s:%s.",
                 s->taints.v[i].key, *s->taints.v[i].value ? "=" : "",
                 s->taints.v[i].value, effect_name(s->taints.v[i].effect));
}

/* Of the first offer of each zone: what differs there. */
static void zone_lines(struct out *o, struct view *v, const struct pb_type *t)
{
    const struct snap_type *s = &v->snapshot->types[t->from];
    char number[40];

    for (uint32_t i = 0; i < s->n_offers && s->origins.n; i++) {
        const struct snap_offer *f = &s->offers[i];
        bool first = f->zone && *f->zone;

        for (uint32_t k = 0; k < i && first; k++)
            first = strcmp(f->zone, s->offers[k].zone) != 0;
        if (!first)
            continue;
        out_strf(o, NULL,
                 "A new node in %s has the label topology.kubernetes.io/zone=%s"
                 ", by its offer.",
                 f->zone, f->zone);
        for (uint32_t k = 0; k < f->less.n; k++)
            out_strf(o, NULL,
                     "A new node in %s has %s %s less for pods, by the "
                     "DaemonSets of that zone.",
                     f->zone,
                     amount_pretty(f->less.v[k].name, f->less.v[k].amount,
                                   number, sizeof number),
                     f->less.v[k].name);
        for (uint32_t k = 0; k < f->taints.n; k++)
            if (!f->less.n || k + 1 < f->taints.n) /* the last stands for it */
                out_strf(o, NULL, "A new node in %s has the taint %s%s%s:%s.",
                         f->zone, f->taints.v[k].key,
                         *f->taints.v[k].value ? "=" : "", f->taints.v[k].value,
                         effect_name(f->taints.v[k].effect));
    }
}

void view_type_lines(struct out *o, struct view *v, const char *name)
{
    const struct pb_type *t = type_named(v, name);
    uint32_t said;

    sums_line(o, v, t);
    offer_lines(o, v, t);
    said = waiting_lines(o, v, t) + instead_lines(o, v, t);
    if (!said)
        out_strf(o, NULL,
                 "Nothing that waits needs it: everything asked for has its "
                 "place on nodes that are there or on their way.");
    origin_lines(o, v, t);
    zone_lines(o, v, t);
}
