/*
 * candidates.c - what could be bought for a request: each offer with its price, how
 * long it takes, and why it is not taken.
 */
#include <stdlib.h>
#include <string.h>

#include "../view.h"

enum { LISTED_MAX = 40 };

struct candidate_row {
    uint32_t offer, nodes; /* nodes: bought for the request by this plan */
    int64_t micros_hour;
    const char *why_not; /* "" */
};

static bool is_owners(const struct view *v, uint32_t bundle, const char *owner)
{
    const struct pb_demand *d = &v->s->demands[v->s->bundles[bundle].demand];

    return d->source == SOURCE_REQUEST &&
           strcmp(view_str(v, d->owner), owner) == 0;
}

static bool fits(struct view *v, uint32_t offer, const struct pb_shape *shape)
{
    const struct pb_offer *o = &v->s->offers[offer];
    const int64_t *needs = pb_row(v->s, shape->row);
    const int64_t *has = pb_row(v->s, v->s->types[o->type].row);

    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (needs[c] > has[c])
            return false;
    return problem_match(v->s, shape->selector, o->first_label, o->n_labels);
}

/* A bundle of the owner's that it holds; NONE, and *ret_other is one that it does
 * not. */
static uint32_t held_by(struct view *v, uint32_t offer, const char *owner,
                        uint32_t *ret_other)
{
    *ret_other = NONE;
    for (uint32_t b = 0; b < v->s->n_bundles; b++) {
        if (!is_owners(v, b, owner))
            continue;
        for (uint32_t a = 0; a < v->s->bundles[b].n_alts; a++)
            if (fits(v, offer, view_shape(v, b, a)))
                return b;
        *ret_other = b;
    }
    return NONE;
}

static uint32_t nodes_for(const struct view *v, uint32_t offer,
                          const char *owner)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];
        bool mine = false;

        for (uint32_t k = 0; k < l->n_placements && !mine; k++)
            mine = is_owners(
                v, v->plan->placements[l->first_placement + k].bundle, owner);
        n += mine && l->offer == offer ? l->count : 0;
    }
    return n;
}

static uint32_t there(const struct view *v, uint32_t type)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        n += v->s->nodes[i].type == type && view_counts(v->s->nodes[i].state);
    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        if (v->s->offers[v->plan->launches[i].offer].type == type)
            n += v->plan->launches[i].count;
    return n;
}

/* Of one that would hold it, and that nothing is bought of; NULL: it may be had. */
static const char *obstacle(struct view *v, uint32_t offer)
{
    const struct pb_offer *o = &v->s->offers[offer];
    const struct pb_type *t = &v->s->types[o->type];

    if (t->unavailable != REASON_NONE)
        return reason_text(t->unavailable);
    if (o->closed)
        return view_closed_text(v, offer);
    if (o->backoff_until_ms > v->s->now_ms)
        return arena_printf(&v->arena, "%s; the next try is at %s",
                            view_refusal(v, offer),
                            view_time(v, o->backoff_until_ms));
    if (o->room == 0)
        return "its cloud lets no more be launched now";
    if (t->max != UNLIMITED && there(v, o->type) >= t->max)
        return arena_printf(&v->arena, "%s is at its max of %u",
                            view_str(v, t->name), t->max);
    return NULL;
}

/* What the plan says of it to those of the owner's bundles that wait; NULL: nothing. */
static const char *refused(struct view *v, uint32_t offer, const char *owner)
{
    for (uint32_t b = 0; b < v->s->n_bundles; b++) {
        const struct plan_bundle *p = &v->plan->bundles[b];

        if ((!p->waiting && !p->infeasible) || !is_owners(v, b, owner))
            continue;
        for (uint32_t i = 0; i < p->n_refusals; i++)
            if (v->plan->refusals[p->first_refusal + i].offer == offer)
                return view_obstacle_text(v, p->first_refusal + i);
    }
    return NULL;
}

static int wanted_first(const void *x, const void *y)
{
    const struct candidate_row *a = x, *b = y;

    if (!a->nodes != !b->nodes)
        return a->nodes ? -1 : 1;
    if (!*a->why_not != !*b->why_not)
        return *a->why_not ? 1 : -1;
    if (a->micros_hour != b->micros_hour)
        return a->micros_hour < b->micros_hour ? -1 : 1;
    return a->offer < b->offer ? -1 : a->offer > b->offer;
}

static struct candidate_row row_of(struct view *v, uint32_t offer,
                                   const char *owner)
{
    const struct pb_offer *o = &v->s->offers[offer];
    struct candidate_row r = {.offer = offer,
                              .nodes = nodes_for(v, offer, owner),
                              .micros_hour = pb_offer_bill(o),
                              .why_not = ""};
    const char *in_the_way;
    uint32_t other;

    if (r.nodes)
        return r;
    if (held_by(v, offer, owner, &other) == NONE) {
        r.why_not = other == NONE
                        ? "nothing is asked for"
                        : view_misfit_text(v, other, &v->s->types[o->type],
                                           view_shape(v, other, 0));
        return r;
    }
    in_the_way = obstacle(v, offer);
    if (!in_the_way)
        in_the_way = refused(v, offer, owner);
    r.why_not = in_the_way ? in_the_way : "";
    return r;
}

static void row_write(struct out *o, struct view *v,
                      const struct candidate_row *r, bool bought)
{
    const struct pb_offer *of = &v->s->offers[r->offer];
    const struct pb_type *t = &v->s->types[of->type];

    out_object(o, NULL);
    out_str(o, "type", view_str(v, t->name));
    out_str(o, "provider", view_str(v, t->provider));
    out_str(o, "zone", view_str(v, of->zone));
    out_bool(o, "spot", of->spot);
    out_micros(o, "price_per_hour", r->micros_hour);
    out_bool(o, "price_estimated", of->price_estimated);
    out_seconds_or_null(o, "boot_s", t->boot_ms);
    out_uint(o, "nodes", r->nodes);
    out_str(o, "why_not",
            *r->why_not || r->nodes ? r->why_not
            : bought                ? "another one does it for less in all"
                                    : "what is there does it");
    out_close(o);
}

void view_candidates(struct out *o, struct view *v, const char *owner)
{
    uint32_t n = v->s->n_offers;
    struct candidate_row *rows = ARENA_ARRAY(&v->arena, struct candidate_row,
                                             n + 1);
    bool bought = false;

    for (uint32_t i = 0; i < n; i++) {
        rows[i] = row_of(v, i, owner);
        bought = bought || rows[i].nodes;
    }
    if (n > 1)
        qsort(rows, n, sizeof *rows, wanted_first);
    out_array(o, "candidates");
    for (uint32_t i = 0; i < n && i < LISTED_MAX; i++)
        row_write(o, v, &rows[i], bought);
    out_close(o);
}
