/*
 * owners.c - who asks for what, and what that costs now: model/bill.h shares the
 * nodes' prices.
 */
#include <stdlib.h>
#include <string.h>

#include "../../model/bill.h"
#include "overview.h"

/* ---- sums */

/* Of the owners in the bill, which come in the order of the problem's strings. */
static void shares_add(struct view *v, struct owner_sums *s,
                       const uint32_t *of_string)
{
    struct bill b;
    uint32_t k = 0;

    bill_make(v->snapshot, v->s, v->plan, true, &v->arena, &b);
    s->idle_micros_hour = b.idle_micros_hour;
    for (uint32_t i = 0; i < v->s->n_str && k < b.n_owners; i++) {
        if (b.owners[k].owner != v->s->str[i])
            continue; /* the very string: "running" is nobody's */
        if (of_string[i] != NONE)
            s->all.v[of_string[i]].cost_micros_hour += b.owners[k].micros_hour;
        s->owned_micros_hour += b.owners[k].micros_hour;
        k++;
    }
}

static uint32_t unused_nodes(const struct view *v)
{
    uint32_t unused = 0;

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *n = &v->s->nodes[i];

        unused += !v->plan->nodes[i].n_placements && n->state == STATE_READY &&
                  n->idle_ms >= 0 && !n->head;
    }
    return unused;
}

void owners_sum(struct view *v, struct owner_sums *ret)
{
    uint32_t *of_string = ARENA_ARRAY(&v->arena, uint32_t, v->s->n_str);

    *ret = (struct owner_sums){.unused = unused_nodes(v)};
    for (uint32_t i = 0; i < v->s->n_str; i++)
        of_string[i] = NONE;
    for (uint32_t i = 0; i < v->s->n_demands; i++) {
        const struct pb_demand *d = &v->s->demands[i];
        uint32_t *k = &of_string[d->owner];

        if (*k == NONE) {
            *k = ret->all.n;
            VEC_PUSH(&v->arena, &ret->all, ((struct owner_sum){.demand = i}));
        }
        ret->all.v[*k].sources |= 1u << d->source;
        tally_demand(&ret->all.v[*k].t, v, i);
    }
    shares_add(v, ret, of_string);
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
                                               const char *owner)
{
    for (uint32_t i = 0; i < v->page->n_requests; i++)
        if (strcmp(v->page->requests[i].owner, owner) == 0)
            return &v->page->requests[i];
    return NULL;
}

static void sources_write(struct out *o, unsigned sources)
{
    out_array(o, "sources");
    for (int i = 0; sources >> i; i++)
        if (sources >> i & 1)
            out_str(o, NULL, source_name((enum demand_source)i));
    out_close(o);
}

static void owner_write(struct out *o, struct view *v,
                        const struct owner_sum *s)
{
    const char *owner = view_str(v, v->s->demands[s->demand].owner);
    const struct status_request *r = s->sources >> SOURCE_REQUEST & 1
                                         ? request_of(v, owner)
                                         : NULL;

    out_object(o, NULL);
    out_str(o, "owner", owner);
    sources_write(o, s->sources);
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
