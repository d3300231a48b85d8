/*
 * waiting.c - what has no place, since when, and the one reason.
 *
 * Thousands of bundles may wait for the same reason: they are one entry for each
 * owner, need and reason, and only the first is put into words.
 */
#include <stdlib.h>

#include "overview.h"

struct wait {
    uint32_t bundle;  /* the first of them */
    uint32_t shape;   /* of its first alternative */
    enum reason why;  /* its first obstacle */
    uint64_t count;   /* bundles */
    int64_t since_ms; /* the earliest; 0: not known */
    uint64_t infeasible;
};

/* What a type lacks does not explain a wait where another obstacle does. */
static enum reason first_reason(const struct view *v, uint32_t bundle)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    enum reason why = REASON_NONE;

    for (uint32_t i = 0; i < p->n_refusals; i++) {
        enum reason r = v->plan->refusals[p->first_refusal + i].why;

        if (why == REASON_NONE)
            why = r;
        if (!p->infeasible && r != REASON_LACKS && r != REASON_LABEL &&
            r != REASON_TAINT && r != REASON_QUEUE_TYPE)
            return r;
    }
    return why;
}

static bool same(const struct view *v, const struct wait *w, uint32_t bundle,
                 uint32_t shape, enum reason why)
{
    const struct pb_demand *a = &v->s->demands[v->s->bundles[w->bundle].demand];
    const struct pb_demand *b = &v->s->demands[v->s->bundles[bundle].demand];

    return w->why == why && w->shape == shape && a->owner == b->owner &&
           a->source == b->source;
}

static int longest_first(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;

    if (!x->infeasible != !y->infeasible)
        return x->infeasible ? -1 : 1;
    if (x->since_ms != y->since_ms)
        return x->since_ms < y->since_ms ? -1 : 1;
    return x->bundle < y->bundle ? -1 : x->bundle > y->bundle;
}

static void wait_write(struct out *o, struct view *v, const struct wait *w)
{
    const struct pb_demand *d = &v->s->demands[v->s->bundles[w->bundle].demand];

    out_object(o, NULL);
    out_str(o, "owner", view_str(v, d->owner));
    out_str(o, "source", source_name(d->source));
    out_str(o, "id", view_str(v, d->id));
    out_uint(o, "bundles", w->count);
    out_bool(o, "infeasible", w->infeasible > 0);
    out_str(o, "need", view_need_text(v, w->bundle, NONE));
    out_time(o, "since", w->since_ms);
    out_str(o, "reason", reason_code(w->why));
    out_str(o, "text", view_unplaced_text(v, w->bundle));
    out_close(o);
}

void overview_waiting(struct out *o, struct view *v)
{
    enum { APART_MAX = 512 };
    VEC(struct wait) all = {0};
    uint64_t more = 0;

    for (uint32_t b = 0; b < v->s->n_bundles; b++) {
        const struct plan_bundle *p = &v->plan->bundles[b];
        int64_t since = v->s->demands[v->s->bundles[b].demand].since_ms;
        uint32_t shape = v->s->alts[v->s->bundles[b].first_alt].shape, k = 0;
        enum reason why;

        if (p->waiting == 0 && p->infeasible == 0)
            continue;
        why = first_reason(v, b);
        while (k < all.n && !same(v, &all.v[k], b, shape, why))
            k++;
        if (k == APART_MAX) {
            more++;
            continue;
        }
        if (k == all.n)
            VEC_PUSH(&v->arena, &all,
                     ((struct wait){.bundle = b,
                                    .shape = shape,
                                    .why = why,
                                    .since_ms = since}));
        all.v[k].count += p->waiting + p->infeasible;
        all.v[k].infeasible += p->infeasible;
        if (since && (since < all.v[k].since_ms || !all.v[k].since_ms))
            all.v[k].since_ms = since;
    }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof *all.v, longest_first);
    out_array(o, "waiting");
    for (uint32_t i = 0; i < all.n && i < WAITING_MAX; i++)
        wait_write(o, v, &all.v[i]);
    out_close(o);
    out_uint(o, "waiting_more",
             more + (all.n > WAITING_MAX ? all.n - WAITING_MAX : 0));
}
