/*
 * next.c - what comes by itself: launches that wait for a better plan, nodes on
 * their way, nodes that leave, and nodes whose idle time runs out.
 */
#include <stdlib.h>

#include "overview.h"

enum coming { COMES_PLANNED, COMES_STARTING, COMES_LEAVING, COMES_IDLE_END };
static const char *const names[] = {
    [COMES_PLANNED] = "launch",
    [COMES_STARTING] = "ready",
    [COMES_LEAVING] = "leaving",
    [COMES_IDLE_END] = "end",
};

/* Nodes of one type to which the same happens for the same reason. */
struct event_to_come {
    enum coming what;
    uint32_t type, node; /* the problem's; the first node, or NONE */
    uint32_t demand;     /* the first one it is for, or NONE */
    enum reason why;
    uint32_t count;
    int64_t first_ms, last_ms; /* wall; 0: not known, or now */
    int64_t micros_hour;
    bool late; /* one of them takes longer than usual */
};
struct coming_list {
    VEC(struct event_to_come) all;
};

static void coming_add(struct view *v, struct coming_list *l,
                       const struct event_to_come *x)
{
    struct event_to_come *e;
    uint32_t k = 0;

    while (k < l->all.n &&
           (l->all.v[k].what != x->what || l->all.v[k].type != x->type ||
            l->all.v[k].why != x->why))
        k++;
    if (k == l->all.n) {
        VEC_PUSH(&v->arena, &l->all, *x);
        return;
    }
    e = &l->all.v[k];
    e->count += x->count;
    e->micros_hour += x->micros_hour;
    e->late = e->late || x->late;
    if (x->first_ms && (x->first_ms < e->first_ms || !e->first_ms)) {
        e->first_ms = x->first_ms;
        e->node = x->node;
    }
    if (x->last_ms > e->last_ms)
        e->last_ms = x->last_ms;
}

static void node_add(struct view *v, struct coming_list *l, uint32_t i)
{
    const struct pb_node *n = &v->s->nodes[i];
    const struct plan_node *p = &v->plan->nodes[i];
    int64_t price = view_node_price(v, n->from), goes_ms;
    enum reason keeps;
    struct event_to_come x = {.type = n->type,
                              .node = i,
                              .demand = p->demand,
                              .why = p->why,
                              .count = 1,
                              .micros_hour = price > 0 ? price : 0};

    if (n->state == STATE_DRAINING || n->state == STATE_STOPPING ||
        p->action == NODE_END) {
        x.what = COMES_LEAVING;
        x.micros_hour = -x.micros_hour;
    } else if (n->state < STATE_READY) {
        x.what = COMES_STARTING;
        x.first_ms = x.last_ms = view_ready_ms(v, i);
        x.late = x.first_ms && x.first_ms < v->s->now_ms;
    } else if (p->why == REASON_KEEP_IDLE_WAIT &&
               (goes_ms = view_goes_ms(v, i, &keeps)) > 0) {
        x.what = COMES_IDLE_END;
        x.first_ms = x.last_ms = goes_ms;
        x.micros_hour = -x.micros_hour;
    } else {
        return;
    }
    coming_add(v, l, &x);
}

static void launch_add(struct view *v, struct coming_list *l, uint32_t i)
{
    const struct plan_launch *q = &v->plan->launches[i];
    const struct pb_offer *o = &v->s->offers[q->offer];
    int64_t boot = v->s->types[o->type].boot_ms;
    int64_t ready = boot < 0 ? 0 : v->s->now_ms + boot;
    struct event_to_come x = {
        .what = view_improving(v, i) ? COMES_PLANNED : COMES_STARTING,
        .type = o->type,
        .node = NONE,
        .demand = q->demand,
        .why = q->why,
        .count = q->count,
        .first_ms = ready,
        .last_ms = ready,
        .micros_hour = o->price_micros_hour * q->count};

    if (x.what == COMES_PLANNED)
        x.first_ms = x.last_ms = v->page->thinking_until_ms;
    coming_add(v, l, &x);
}

/* What is of no known time is under way: it comes first. */
static int soonest_first(const void *a, const void *b)
{
    const struct event_to_come *x = a, *y = b;

    if (x->first_ms != y->first_ms)
        return x->first_ms < y->first_ms ? -1 : 1;
    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    return x->type < y->type ? -1 : x->type > y->type;
}

static const char *text_of_coming(struct view *v, const struct event_to_come *x)
{
    if (x->node != NONE && x->count == 1)
        return view_why_text(v, v->s->nodes[x->node].from);
    return reason_text(x->why);
}

static void coming_write(struct out *o, struct view *v,
                         const struct event_to_come *x)
{
    out_object(o, NULL);
    out_str(o, "what", names[x->what]);
    out_str(
        o, "type",
        x->type < v->s->n_types ? view_str(v, v->s->types[x->type].name) : "");
    out_str(o, "node",
            x->node == NONE ? "" : view_str(v, v->s->nodes[x->node].id));
    out_uint(o, "count", x->count);
    out_time(o, "at", x->first_ms);
    out_time(o, "last_at", x->last_ms);
    out_bool(o, "late", x->late);
    out_str(o, "owner",
            x->demand < v->s->n_demands
                ? view_str(v, v->s->demands[x->demand].owner)
                : "");
    out_str(o, "reason", reason_code(x->why));
    out_str(o, "text", text_of_coming(v, x));
    out_micros(o, "cost_per_hour", x->micros_hour);
    out_close(o);
}

void overview_next(struct out *o, struct view *v)
{
    struct coming_list l = {0};

    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        launch_add(v, &l, i);
    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        if (!v->s->nodes[i].head && !v->s->nodes[i].unmanaged)
            node_add(v, &l, i);
    if (l.all.n > 1)
        qsort(l.all.v, l.all.n, sizeof *l.all.v, soonest_first);
    out_array(o, "next");
    for (uint32_t i = 0; i < l.all.n && i < NEXT_MAX; i++)
        coming_write(o, v, &l.all.v[i]);
    out_close(o);
    out_uint(o, "next_more", l.all.n > NEXT_MAX ? l.all.n - NEXT_MAX : 0);
}
