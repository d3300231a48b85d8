/*
 * owners.c - who asks for what, and what that costs now.
 *
 * A node's price is shared by what the plan has placed on it, each bundle by the
 * largest part of the node that it takes (dominant share); bundles that take
 * more than the node share all of it.  What runs without being asked for (Ray
 * tells of no owner of running tasks) is nobody's.
 */
#include <stdlib.h>
#include <string.h>

#include "overview.h"

/* ---- sums */

/* first: by the owner's string, its first sum. */
static uint32_t sum_of(struct view *v, struct owner_sums *s, uint32_t *first,
                       uint32_t demand)
{
    const struct pb_demand *d = &v->s->demands[demand];
    uint32_t k = first[d->owner];

    while (k != NONE && v->s->demands[s->all.v[k].demand].source != d->source)
        k = s->all.v[k].next;
    if (k != NONE)
        return k;
    VEC_PUSH(&v->arena, &s->all,
             ((struct owner_sum){.demand = demand, .next = first[d->owner]}));
    return first[d->owner] = s->all.n - 1;
}

/* The largest part of the node that the placement takes. */
static double part_of(const struct view *v, const struct pb_node *n,
                      const struct plan_placement *q)
{
    const int64_t *total = pb_row(v->s, n->total);
    const int64_t *row = pb_row(v->s, view_shape(v, q->bundle, q->alt)->row);
    double most = 0;

    for (uint32_t c = 0; c < v->s->n_columns; c++) {
        double x = total[c] > 0 ? (double)row[c] / (double)total[c] : 0;

        most = x > most ? x : most;
    }
    return most * q->count;
}

static void node_share(struct view *v, struct owner_sums *s, uint32_t node)
{
    const struct pb_node *n = &v->s->nodes[node];
    const struct plan_node *p = &v->plan->nodes[node];
    int64_t price = view_node_price(v, n->from), given = 0;
    bool unused = !p->n_placements && n->state == STATE_READY &&
                  n->idle_ms >= 0 && !n->head;
    double all = 0;

    s->unused += unused;
    if (price <= 0 || n->state == STATE_GONE)
        return;
    for (uint32_t i = 0; i < p->n_placements; i++)
        all += part_of(v, n, &v->plan->placements[p->first_placement + i]);
    for (uint32_t i = 0; i < p->n_placements && all > 0; i++) {
        const struct plan_placement *q =
            &v->plan->placements[p->first_placement + i];
        double part = part_of(v, n, q) / (all > 1 ? all : 1);
        int64_t micros = (int64_t)((double)price * part);

        s->all.v[s->of_demand[v->s->bundles[q->bundle].demand]]
            .cost_micros_hour += micros;
        given += micros;
    }
    if (unused)
        s->idle_micros_hour += price;
    else
        s->rest_micros_hour += price - given;
}

void owners_sum(struct view *v, struct owner_sums *ret)
{
    uint32_t *first = ARENA_ARRAY(&v->arena, uint32_t, v->s->n_str);

    *ret = (struct owner_sums){
        .of_demand = ARENA_ARRAY(&v->arena, uint32_t, v->s->n_demands)};
    for (uint32_t i = 0; i < v->s->n_str; i++)
        first[i] = NONE;
    for (uint32_t d = 0; d < v->s->n_demands; d++) {
        uint32_t k = sum_of(v, ret, first, d);

        ret->of_demand[d] = k;
        tally_demand(&ret->all.v[k].t, v, d);
    }
    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        node_share(v, ret, i);
}

/* ---- the list */

static int by_cost(const void *a, const void *b)
{
    const struct owner_sum *x = *(struct owner_sum *const *)a;
    const struct owner_sum *y = *(struct owner_sum *const *)b;

    if (x->cost_micros_hour != y->cost_micros_hour)
        return x->cost_micros_hour > y->cost_micros_hour ? -1 : 1;
    return x->demand < y->demand ? -1 : x->demand > y->demand;
}

static const struct status_request *request_of(const struct view *v,
                                               const struct pb_demand *d)
{
    for (uint32_t i = 0; d->source == SOURCE_REQUEST && i < v->page->n_requests;
         i++)
        if (strcmp(v->page->requests[i].owner, view_str(v, d->owner)) == 0)
            return &v->page->requests[i];
    return NULL;
}

static void owner_write(struct out *o, struct view *v,
                        const struct owner_sum *s)
{
    const struct pb_demand *d = &v->s->demands[s->demand];
    const struct status_request *r = request_of(v, d);

    out_object(o, NULL);
    out_str(o, "owner", view_str(v, d->owner));
    out_str(o, "source", source_name(d->source));
    tally_write(o, &s->t);
    out_micros(o, "cost_per_hour", s->cost_micros_hour);
    out_time(o, "created_at", r ? r->created_ms : 0);
    out_time(o, "expires_at", r ? r->expires_ms : 0);
    out_close(o);
}

void overview_owners(struct out *o, struct view *v, const struct owner_sums *s)
{
    const struct owner_sum **all = ARENA_ARRAY(
        &v->arena, const struct owner_sum *, s->all.n);

    for (uint32_t i = 0; i < s->all.n; i++)
        all[i] = &s->all.v[i];
    if (s->all.n > 1)
        qsort(all, s->all.n, sizeof *all, by_cost);
    out_array(o, "owners");
    for (uint32_t i = 0; i < s->all.n && i < OWNERS_MAX; i++)
        owner_write(o, v, all[i]);
    out_close(o);
    out_uint(o, "owners_more",
             s->all.n > OWNERS_MAX ? s->all.n - OWNERS_MAX : 0);
}
