/*
 * plan.c - a plan as JSON, complete enough to be checked by somebody
 * else: every placement names its bundle by demand and place within it (in the
 * snapshot's order, which "bundles" lists), with what it takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/amount.h"
#include "codec.h"
#include "inside.h"

struct out {
    const struct problem *s;
    const struct plan *p;
};

static const char *str(const struct out *o, uint32_t id)
{
    return o->s->str[id];
}

static json_t *shape_resources(const struct out *o, uint32_t shape)
{
    const int64_t *row = pb_row(o->s, o->s->shapes[shape].row);
    json_t *r = json_object();

    for (uint32_t c = 0; c < o->s->n_columns; c++)
        if (row[c] != 0)
            json_object_set_new(r, str(o, o->s->columns[c].name),
                                codec_amount(row[c]));
    return r;
}

static json_t *shape_selector(const struct out *o, uint32_t shape)
{
    const struct pb_selector *sel =
        &o->s->selectors[o->s->shapes[shape].selector];
    json_t *a = json_array();

    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *t = &o->s->terms[sel->first_term + i];
        json_t *values = json_array();

        for (uint32_t j = 0; j < t->n_values; j++)
            json_array_append_new(
                values,
                codec_text(str(o, o->s->term_values[t->first_value + j])));
        json_array_append_new(
            a,
            json_pack("{s:o,s:s,s:o}", "key", codec_text(str(o, t->key)), "op",
                      t->op == TERM_IN ? "in" : "not_in", "values", values));
    }
    return a;
}

static json_t *shape_tolerations(const struct out *o,
                                 const struct pb_selector *sel)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < sel->n_tolerations; i++) {
        const struct pb_toleration *t =
            &o->s->tolerations[sel->first_toleration + i];

        json_array_append_new(
            a,
            json_pack("{s:o,s:s,s:o,s:s}", "key", codec_text(str(o, t->key)),
                      "operator", t->op == TOLERATE_EXISTS ? "Exists" : "Equal",
                      "value", codec_text(str(o, t->value)), "effect",
                      effect_name(t->effect)));
    }
    return a;
}

/* Resources, and what conditions there are. */
static void put_shape(const struct out *o, json_t *to, uint32_t shape)
{
    const struct pb_selector *sel =
        &o->s->selectors[o->s->shapes[shape].selector];

    json_object_set_new(to, "resources", shape_resources(o, shape));
    if (sel->n_terms > 0)
        json_object_set_new(to, "selector", shape_selector(o, shape));
    if (sel->n_tolerations > 0)
        json_object_set_new(to, "tolerations", shape_tolerations(o, sel));
    if (sel->queue < o->s->n_queues)
        json_object_set_new(to, "queue",
                            codec_text(str(o, o->s->queues[sel->queue].name)));
    else if (sel->queue == PB_QUEUE_DENIED)
        json_object_set_new(to, "queue_denied", json_true());
}

/* Of the bundle that is refused; only of one that names a queue. */
static const char *refused_queue(const struct out *o,
                                 const struct plan_refusal *r)
{
    const struct pb_bundle *b = &o->s->bundles[r->bundle];
    uint32_t shape = o->s->alts[b->first_alt + r->alt].shape;
    uint32_t q = o->s->selectors[o->s->shapes[shape].selector].queue;

    return q < o->s->n_queues ? str(o, o->s->queues[q].name) : "";
}

static const char *refused_resource(const struct out *o,
                                    const struct plan_refusal *r)
{
    return r->column < o->s->n_columns ? str(o, o->s->columns[r->column].name)
                                       : "nodes";
}

static json_t *demand_ref(const struct out *o, uint32_t demand)
{
    const struct pb_demand *d;

    if (demand == NONE)
        return json_null();
    d = &o->s->demands[demand];
    return json_pack("{s:i,s:o,s:o,s:s}", "demand", (int)demand, "owner",
                     codec_text(str(o, d->owner)), "id",
                     codec_text(str(o, d->id)), "source",
                     source_name(d->source));
}

static json_t *placements_write(const struct out *o, uint32_t first, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = first; i < first + n; i++) {
        const struct plan_placement *pl = &o->p->placements[i];
        const struct pb_bundle *b = &o->s->bundles[pl->bundle];
        const struct pb_demand *d = &o->s->demands[b->demand];
        char shape[20];
        json_t *h;

        snprintf(shape, sizeof shape, "%016llx",
                 (unsigned long long)problem_digest(o->s, pl->bundle));
        h = json_pack(
            "{s:i,s:i,s:i,s:I,s:s,s:o,s:o,s:s}", "demand", (int)b->demand,
            "bundle", (int)(pl->bundle - d->first_bundle), "alternative",
            (int)pl->alt, "count", (json_int_t)pl->count, "source",
            source_name(d->source), "owner", codec_text(str(o, d->owner)), "id",
            codec_text(str(o, d->id)), "shape", shape);

        if (pl->alt < b->n_alts)
            put_shape(o, h, o->s->alts[b->first_alt + pl->alt].shape);
        json_array_append_new(a, h);
    }
    return a;
}

static void put_offer(const struct out *o, json_t *to, uint32_t offer)
{
    const struct pb_offer *f = &o->s->offers[offer];
    const struct pb_type *t = &o->s->types[f->type];

    json_object_set_new(to, "type", codec_text(str(o, t->name)));
    json_object_set_new(to, "provider", codec_text(str(o, t->provider)));
    json_object_set_new(to, "zone", codec_text(str(o, f->zone)));
    json_object_set_new(to, "spot", json_boolean(f->spot));
}

static json_t *launch_write(const struct out *o, const struct plan_launch *l)
{
    const struct pb_offer *f = &o->s->offers[l->offer];
    json_t *v = json_object();

    put_offer(o, v, l->offer);
    json_object_set_new(v, "count", json_integer(l->count));
    if (!l->final)
        json_object_set_new(v, "final", json_false());
    json_object_set_new(v, "why", json_string(reason_code(l->why)));
    json_object_set_new(v, "for", demand_ref(o, l->demand));
    json_object_set_new(v, "price_per_hour",
                        codec_dollars(f->price_micros_hour));
    if (f->price_estimated)
        json_object_set_new(v, "price_estimated", json_true());
    json_object_set_new(
        v, "placements",
        placements_write(o, l->first_placement, l->n_placements));
    return v;
}

static const char *action_name(enum node_action a)
{
    switch (a) {
    case NODE_KEEP: return "keep";
    case NODE_END: return "end";
    case NODE_UNDRAIN: return "undrain";
    }
    return "unknown";
}

static json_t *node_write(const struct out *o, uint32_t node)
{
    const struct pb_node *n = &o->s->nodes[node];
    const struct plan_node *p = &o->p->nodes[node];
    json_t *v = json_object();

    json_object_set_new(v, "id", codec_text(str(o, n->id)));
    json_object_set_new(v, "type",
                        n->type == NONE
                            ? json_null()
                            : codec_text(str(o, o->s->types[n->type].name)));
    json_object_set_new(v, "price_per_hour",
                        codec_dollars(n->price_micros_hour));
    json_object_set_new(v, "action", json_string(action_name(p->action)));
    json_object_set_new(v, "why", json_string(reason_code(p->why)));
    if (p->until_ms > 0)
        json_object_set_new(v, "until_ms", json_integer(p->until_ms));
    if (p->demand != NONE)
        json_object_set_new(v, "for", demand_ref(o, p->demand));
    json_object_set_new(
        v, "placements",
        placements_write(o, p->first_placement, p->n_placements));
    return v;
}

static void put_str(const struct out *o, json_t *to, const char *key,
                    uint32_t id)
{
    json_object_set_new(to, key, codec_text(str(o, id)));
}

/* With "text", what a person wants to read: "lacks GPU: has 4, needs 8". */
static json_t *refusal_write(const struct out *o, const struct plan_refusal *r)
{
    const bool names = r->column < o->s->n_str;
    const char *name = refused_resource(o, r);
    char has[32], needs[32], text[512];
    json_t *v = json_object();

    if (r->offer != NONE)
        put_offer(o, v, r->offer);
    json_object_set_new(v, "alternative", json_integer(r->alt));
    json_object_set_new(v, "why", json_string(reason_code(r->why)));
    amount_pretty(name, r->has, has, sizeof has);
    amount_pretty(name, r->needs, needs, sizeof needs);
    if (r->why == REASON_LACKS && r->column < o->s->n_columns) {
        json_object_set_new(v, "resource", codec_text(name));
        json_object_set_new(v, "has", codec_amount(r->has));
        json_object_set_new(v, "needs", codec_amount(r->needs));
        snprintf(text, sizeof text, "lacks %s: has %s, needs %s", name, has,
                 needs);
    } else if (r->why == REASON_LABEL && names) {
        put_str(o, v, "label", r->column);
        snprintf(text, sizeof text, "label %s does not match",
                 str(o, r->column));
    } else if (r->why == REASON_TAINT && names) {
        put_str(o, v, "taint", r->column);
        snprintf(text, sizeof text, "taint %s is not tolerated",
                 str(o, r->column));
    } else if (r->why == REASON_QUEUE_TYPE && names) {
        put_str(o, v, "queue", r->column);
        snprintf(text, sizeof text, "is not in the queue %s",
                 str(o, r->column));
    } else if (r->why == REASON_QUEUE_FULL) {
        json_object_set_new(v, "queue", codec_text(refused_queue(o, r)));
        json_object_set_new(v, "resource", codec_text(name));
        json_object_set_new(v, "uses", codec_amount(r->has));
        json_object_set_new(v, "quota", codec_amount(r->needs));
        snprintf(text, sizeof text, "the queue %s is full: uses %s of %s %s",
                 refused_queue(o, r), has, needs, name);
    } else {
        snprintf(text, sizeof text, "%s", reason_text(r->why));
    }
    json_object_set_new(v, "text", codec_text(text));
    return v;
}

static json_t *bundle_write(const struct out *o, uint32_t bundle)
{
    const struct pb_bundle *b = &o->s->bundles[bundle];
    const struct pb_demand *d = &o->s->demands[b->demand];
    const struct plan_bundle *p = &o->p->bundles[bundle];
    json_t *v = demand_ref(o, b->demand), *list;

    json_object_set_new(v, "bundle", json_integer(bundle - d->first_bundle));
    if (d->strategy != STRATEGY_NONE)
        json_object_set_new(v, "strategy",
                            json_string(strategy_name(d->strategy)));
    json_object_set_new(v, "count", json_integer(b->count));
    if (b->unconfirmed)
        json_object_set_new(v, "unconfirmed", json_true());
    put_shape(o, v, o->s->alts[b->first_alt].shape);
    if (b->n_alts > 1) {
        list = json_array();
        for (uint32_t i = 0; i < b->n_alts; i++) {
            const struct pb_alt *alt = &o->s->alts[b->first_alt + i];
            json_t *a = json_object();

            put_shape(o, a, alt->shape);
            if (alt->after_ms > 0)
                json_object_set_new(a, "after", codec_seconds(alt->after_ms));
            json_array_append_new(list, a);
        }
        json_object_set_new(v, "any_of", list);
    }
    json_object_set_new(v, "alternative",
                        p->alt == NONE ? json_null() : json_integer(p->alt));
    json_object_set_new(v, "placed", json_integer(p->placed));
    json_object_set_new(v, "launched", json_integer(p->launched));
    json_object_set_new(v, "waiting", json_integer(p->waiting));
    json_object_set_new(v, "infeasible", json_integer(p->infeasible));
    list = json_array();
    for (uint32_t i = 0; i < p->n_refusals; i++)
        json_array_append_new(
            list, refusal_write(o, &o->p->refusals[p->first_refusal + i]));
    json_object_set_new(v, "refusals", list);
    return v;
}

/* How far above the bound, in hundredths of a percent at most. */
static json_t *gap_write(int64_t cost, int64_t bound)
{
    double gap;

    if (bound < 0 || (bound == 0 && cost > 0))
        return json_null();
    gap = bound == 0 ? 0 : (double)(cost - bound) * 100 / (double)bound;
    return json_real((double)(int64_t)(gap * 100 + 0.5) / 100);
}

static json_t *least_write(const struct plan_least *least)
{
    json_t *shares = json_array();

    for (uint32_t i = 0; i < least->n_shares; i++)
        json_array_append_new(
            shares,
            json_pack("{s:I,s:I}", "worth", (json_int_t)least->shares[i].worth,
                      "nanos", (json_int_t)least->shares[i].nanos));
    return json_pack("{s:I,s:I,s:o}", "machines", (json_int_t)least->machines,
                     "worth_nanos", (json_int_t)least->nanos, "shares", shares);
}

static json_t *proof_write(const struct plan_proof *p)
{
    json_t *least = json_array();

    for (uint32_t i = 0; i < p->n_least; i++)
        json_array_append_new(least, least_write(&p->least[i]));
    return json_pack("{s:f,s:o,s:o}", "budget_worth", p->money, "multiple_of",
                     codec_dollars(p->unit), "at_least", least);
}

/* Prices that the snapshot does not tell. */
static json_t *estimates_write(const struct out *o)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < o->s->n_offers; i++) {
        const struct pb_offer *f = &o->s->offers[i];
        json_t *v;

        if (!f->price_estimated)
            continue;
        v = json_object();
        put_offer(o, v, i);
        json_object_set_new(v, "price_per_hour",
                            codec_dollars(f->price_micros_hour));
        json_array_append_new(a, v);
    }
    return a;
}

static json_t *gangs_write(const struct plan_worth *w)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < w->n_demands; i++)
        json_array_append_new(a, json_integer((json_int_t)w->demands[i]));
    return a;
}

/* The bundles of a gang, without alternatives. */
static json_t *gang_write(const struct out *o, uint32_t demand)
{
    const struct pb_demand *d = &o->s->demands[demand];
    json_t *a = json_array();

    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles;
         i++) {
        const struct pb_bundle *b = &o->s->bundles[i];
        json_t *v = json_pack("{s:I}", "count", (json_int_t)b->count);

        put_shape(o, v, o->s->alts[b->first_alt].shape);
        json_array_append_new(a, v);
    }
    return a;
}

/* What proves the bounds: enough to check it without a solver. */
static json_t *certificate_write(const struct out *o)
{
    json_t *worths = json_array();

    for (uint32_t i = 0; i < o->p->n_worths; i++) {
        const struct plan_worth *w = &o->p->worths[i];
        json_t *v = json_object();

        json_object_set_new(v, "request", json_boolean(w->request));
        json_object_set_new(v, "count", json_integer((json_int_t)w->count));
        if (w->n_demands > 0)
            json_object_set_new(v, w->together ? "together" : "apart",
                                gangs_write(w));
        if (w->together)
            json_object_set_new(v, "bundles", gang_write(o, w->demands[0]));
        else
            put_shape(o, v, w->shape);
        json_object_set_new(v, "worth_nanos",
                            json_integer((json_int_t)w->nanos));
        json_object_set_new(v, "launch_worth_nanos",
                            json_integer((json_int_t)w->launch_nanos));
        json_array_append_new(worths, v);
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "paid_per_hour",
                     codec_dollars(o->p->fleet_paid_micros_hour), "fleet",
                     proof_write(&o->p->fleet_proof), "launches",
                     proof_write(&o->p->launch_proof), "worths", worths,
                     "estimated_prices", estimates_write(o));
}

/* Cost and bound of all nodes that are there once the plan is carried out. */
static json_t *fleet_write(const struct out *o)
{
    const struct plan *p = o->p;
    json_t *v = json_object();

    json_object_set_new(v, "cost_per_hour",
                        codec_dollars(p->fleet_cost_micros_hour));
    json_object_set_new(v, "idle_per_hour",
                        codec_dollars(p->fleet_idle_micros_hour));
    json_object_set_new(v, "lower_bound",
                        codec_dollars(p->fleet_bound_micros_hour));
    json_object_set_new(
        v, "gap_percent",
        gap_write(plan_fleet_used(p), p->fleet_bound_micros_hour));
    return v;
}

/* What is no list. */
static void put_sums(const struct out *o, json_t *v)
{
    const struct plan *p = o->p;

    json_object_set_new(v, "cost_per_hour", codec_dollars(p->cost_micros_hour));
    json_object_set_new(v, "lower_bound", codec_dollars(p->bound_micros_hour));
    json_object_set_new(v, "gap_percent",
                        gap_write(p->cost_micros_hour, p->bound_micros_hour));
    json_object_set_new(v, "fleet", fleet_write(o));
    json_object_set_new(v, "certificate", certificate_write(o));
    json_object_set_new(v, "launched", json_integer(p->n_launched));
    json_object_set_new(v, "ended", json_integer(p->n_ended));
    json_object_set_new(v, "work", json_integer((json_int_t)p->work));
    json_object_set_new(v, "budget", json_integer((json_int_t)p->budget));
}

static json_t *nth_launch(const struct out *o, uint32_t i)
{
    return launch_write(o, &o->p->launches[i]);
}

/* The lists of a plan, in their order. */
struct list {
    const char *name;
    uint32_t n;
    json_t *(*write)(const struct out *o, uint32_t i);
};
enum { LISTS = 3 };

static void lists_of(const struct out *o, struct list ret[LISTS])
{
    ret[0] = (struct list){"launches", o->p->n_launches, nth_launch};
    ret[1] = (struct list){"nodes", o->s->n_nodes, node_write};
    ret[2] = (struct list){"bundles", o->s->n_bundles, bundle_write};
}

json_t *codec_plan_write(const struct problem *s, const struct plan *p)
{
    struct out o = {s, p};
    struct list lists[LISTS];
    json_t *v = json_object();

    lists_of(&o, lists);
    for (size_t k = 0; k < LISTS; k++) {
        json_t *list = json_array();

        for (uint32_t i = 0; i < lists[k].n; i++)
            json_array_append_new(list, lists[k].write(&o, i));
        json_object_set_new(v, lists[k].name, list);
    }
    put_sums(&o, v);
    return v;
}

/* One value without its first bytes: "{" of an object that goes on. */
static bool dump(json_t *v, size_t skip, struct buf *to)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(15));
    bool fits = text && buf_plain(to, text + skip);

    free(text);
    json_decref(v);
    return fits;
}

bool codec_plan_print(const struct problem *s, const struct plan *p,
                      struct buf *to)
{
    struct out o = {s, p};
    struct list lists[LISTS];
    json_t *sums = json_object();

    lists_of(&o, lists);
    buf_str(to, "{");
    for (size_t k = 0; k < LISTS; k++) {
        buf_printf(to, "\"%s\":[", lists[k].name);
        for (uint32_t i = 0; i < lists[k].n && !to->full; i++) {
            if (i > 0)
                buf_str(to, ",");
            dump(lists[k].write(&o, i), 0, to);
        }
        buf_str(to, "],");
    }
    put_sums(&o, sums);
    return dump(sums, 1, to) && !to->full;
}
