/*
 * view_types.c - node types and their offers, as /v1/status has them.
 */
#include <string.h>

#include "view.h"

void view_states(struct out *o, const uint32_t *count)
{
    out_object(o, "by_state");
    for (uint32_t i = 0; i < STATE_COUNT; i++)
        if (count[i])
            out_uint(o, state_name((enum machine_state)i), count[i]);
    out_close(o);
}

static void write_offer(struct out *o, struct view *v,
                        const struct snap_offer *f, const struct pb_offer *s)
{
    bool backoff = f->backoff_until_ms > v->snapshot->now_ms;

    out_object(o, NULL);
    out_str(o, "zone", f->zone);
    out_bool(o, "spot", f->spot);
    out_micros(o, "price_per_hour",
               s                          ? pb_offer_bill(s)
               : f->price_micros_hour < 0 ? 0
                                          : f->price_micros_hour);
    out_bool(o, "price_estimated",
             s ? s->price_estimated : f->price_micros_hour < 0);
    out_limit(o, "room", f->room);
    out_str_or_null(o, "backoff_for",
                    backoff ? status_name(f->backoff_for) : NULL);
    out_time(o, "backoff_until", backoff ? f->backoff_until_ms : 0);
    out_uint(o, "interruptions", f->interruptions);
    out_bool(o, "closed", f->closed);
    out_str(o, "note", f->note ? f->note : "");
    out_close(o);
}

/* The planner's offer that was made from this one. */
static const struct pb_offer *offer_of(const struct view *v,
                                       const struct pb_type *t,
                                       const struct snap_offer *f)
{
    for (uint32_t i = 0; t && i < t->n_offers; i++) {
        const struct pb_offer *o = &v->s->offers[t->first_offer + i];

        if (o->spot == f->spot && strcmp(view_str(v, o->zone), f->zone) == 0)
            return o;
    }
    return NULL;
}

static void write_type(struct out *o, struct view *v, uint32_t type,
                       const struct pb_type *st, const uint32_t *by,
                       uint32_t planned)
{
    const struct snap_type *t = &v->snapshot->types[type];
    const struct pb_offer *best = NULL;
    uint32_t nodes = 0;

    for (uint32_t i = 0; i < STATE_COUNT; i++)
        nodes += view_counts((enum machine_state)i) ? by[i] : 0;
    for (uint32_t i = 0; st && i < st->n_offers; i++) {
        const struct pb_offer *of = &v->s->offers[st->first_offer + i];

        if (!best || of->price_micros_hour < best->price_micros_hour)
            best = of;
    }
    out_object(o, NULL);
    out_str(o, "name", t->name);
    out_str(o, "provider", t->provider);
    out_str(o, "machine", t->machine);
    out_str(o, "pool", t->pool);
    view_qtys(o, "resources", &t->resources);
    view_pairs(o, "labels", &t->labels);
    out_uint(o, "min", t->min);
    out_limit(o, "max", t->max);
    out_seconds_or_null(o, "idle_timeout_s", t->idle_timeout_ms);
    out_seconds_or_null(o, "boot_s", t->boot_ms);
    out_micros(o, "price_per_hour", best ? pb_offer_bill(best) : 0);
    out_bool(o, "price_estimated", !best || best->price_estimated);
    out_str_or_null(
        o, "unavailable",
        t->unavailable == REASON_NONE ? NULL : reason_code(t->unavailable));
    out_uint(o, "nodes", nodes);
    view_states(o, by);
    out_uint(o, "planned", planned);
    out_array(o, "offers");
    for (uint32_t i = 0; i < t->n_offers; i++)
        write_offer(o, v, &t->offers[i], offer_of(v, st, &t->offers[i]));
    out_close(o);
    out_close(o);
}

/* Counts first, in one pass over the nodes: types x nodes would be too slow
 * for a large cluster that is polled. */
void view_types(struct out *o, struct view *v)
{
    uint32_t n = v->s->n_types, total = v->snapshot->n_types;
    uint32_t *by = ARENA_ARRAY(&v->arena, uint32_t,
                               (size_t)total * STATE_COUNT);
    uint32_t *planned = ARENA_ARRAY(&v->arena, uint32_t, total);
    uint32_t *problem_type = ARENA_ARRAY(&v->arena, uint32_t, total);

    for (uint32_t i = 0; i < total; i++)
        problem_type[i] = NONE;
    for (uint32_t i = 0; i < n; i++)
        problem_type[v->s->types[i].from] = i;
    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++) {
        uint32_t node = v->node_of_snap[i];
        uint32_t type = node == NONE ? NONE : v->s->nodes[node].type;

        if (type != NONE)
            by[(size_t)v->s->types[type].from * STATE_COUNT +
               v->snapshot->nodes[i].state]++;
    }
    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];

        planned[view_offer_type(v, l->offer)->from] += l->count;
    }
    out_array(o, "types");
    for (uint32_t i = 0; i < total; i++)
        write_type(
            o, v, i,
            problem_type[i] == NONE ? NULL : &v->s->types[problem_type[i]],
            by + (size_t)i * STATE_COUNT, planned[i]);
    out_close(o);
}
