/*
 * types.c - node types in one line each; /v1/status has their offers.
 */
#include "overview.h"

struct type_sum {
    uint32_t by[STATE_COUNT], planned;
    int64_t micros_hour;
};

/* The first thing that keeps its offers from being bought; "". */
static const char *held_text(struct view *v, const struct pb_type *t)
{
    const struct pb_offer *o = NULL;
    uint32_t held = 0;

    if (t->unavailable != REASON_NONE)
        return reason_text(t->unavailable);
    for (uint32_t i = 0; i < t->n_offers; i++) {
        const struct pb_offer *x = &v->s->offers[t->first_offer + i];

        if (x->closed || x->backoff_until_ms > v->s->now_ms) {
            o = o ? o : x;
            held++;
        }
    }
    if (!o)
        return "";
    if (o->closed)
        return arena_printf(&v->arena, "%u of %u offers: not offered now", held,
                            t->n_offers);
    return arena_printf(&v->arena, "%u of %u offers: %s; the next try is at %s",
                        held, t->n_offers,
                        view_refusal(v, (uint32_t)(o - v->s->offers)),
                        view_time(v, o->backoff_until_ms));
}

static const struct pb_offer *cheapest(const struct view *v,
                                       const struct pb_type *t)
{
    const struct pb_offer *best = NULL;

    for (uint32_t i = 0; i < t->n_offers; i++) {
        const struct pb_offer *o = &v->s->offers[t->first_offer + i];

        if (!best || o->price_micros_hour < best->price_micros_hour)
            best = o;
    }
    return best;
}

static void type_write(struct out *o, struct view *v, const struct pb_type *t,
                       const struct type_sum *sum)
{
    const struct snap_type *st = &v->snapshot->types[t->from];
    const struct pb_offer *best = cheapest(v, t);
    uint32_t nodes = 0;

    for (uint32_t i = 0; i < STATE_COUNT; i++)
        nodes += view_counts((enum machine_state)i) ? sum->by[i] : 0;
    out_object(o, NULL);
    out_str(o, "name", st->name);
    out_str(o, "provider", st->provider);
    view_qtys(o, "resources", &st->resources);
    out_uint(o, "nodes", nodes);
    out_uint(o, "min", st->min);
    out_limit(o, "max", st->max);
    view_states(o, sum->by);
    out_uint(o, "planned", sum->planned);
    out_micros(o, "price_per_hour", best ? best->price_micros_hour : 0);
    out_bool(o, "price_estimated", !best || best->price_estimated);
    out_micros(o, "cost_per_hour", sum->micros_hour);
    out_seconds_or_null(o, "boot_s", st->boot_ms);
    out_str(o, "held", held_text(v, t));
    out_close(o);
}

void overview_types(struct out *o, struct view *v)
{
    struct type_sum *sums = ARENA_ARRAY(&v->arena, struct type_sum,
                                        v->s->n_types);

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *n = &v->s->nodes[i];
        int64_t price = view_node_price(v, n->from);

        if (n->type == NONE)
            continue;
        sums[n->type].by[n->state]++;
        if (price > 0 && n->state != STATE_GONE)
            sums[n->type].micros_hour += price;
    }
    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        sums[v->s->offers[v->plan->launches[i].offer].type].planned +=
            v->plan->launches[i].count;
    out_array(o, "types");
    for (uint32_t i = 0; i < v->s->n_types && i < TYPES_MAX; i++)
        type_write(o, v, &v->s->types[i], &sums[i]);
    out_close(o);
    out_uint(o, "types_more",
             v->s->n_types > TYPES_MAX ? v->s->n_types - TYPES_MAX : 0);
}
