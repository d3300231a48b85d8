/*
 * decisions.c - see decisions.h.
 */
#include "decisions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../model/bill.h"

void decisions_init(struct decisions *d)
{
    *d = (struct decisions){.next_id = 1};
    pthread_mutex_init(&d->lock, NULL);
}

void decisions_done(struct decisions *d)
{
    for (int i = 0; i < DECISIONS_KEPT; i++)
        free(d->v[i]);
    pthread_mutex_destroy(&d->lock);
}

static void add(struct decisions *d, const struct decision *from)
{
    struct decision *x = MEM_NEW(struct decision), *old;

    *x = *from;
    pthread_mutex_lock(&d->lock);
    x->id = d->next_id++;
    old = d->v[x->id % DECISIONS_KEPT];
    d->v[x->id % DECISIONS_KEPT] = x;
    pthread_mutex_unlock(&d->lock);
    free(old);
}

#define COPY(to, text) snprintf((to), sizeof(to), "%s", (text))

static int64_t bill(const struct problem *s)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];

        if (n->state != STATE_GONE && n->price_micros_hour > 0)
            sum += n->price_micros_hour;
        else if (n->state != STATE_GONE && n->offer < s->n_offers && !n->head &&
                 !n->unmanaged)
            sum += pb_offer_bill(&s->offers[n->offer]);
    }
    return sum;
}

/* ---- what else could have been bought */

/* What one such machine holds: amounts, in the arena. */
static int64_t *load_of(const struct problem *s, const struct plan *p,
                        const struct plan_launch *l, struct arena *a)
{
    int64_t *sum = ARENA_ARRAY(a, int64_t, s->n_columns);

    for (uint32_t i = 0; i < l->n_placements; i++) {
        const struct plan_placement *q = &p->placements[l->first_placement + i];
        const struct pb_bundle *b = &s->bundles[q->bundle];
        const struct pb_shape *shape =
            &s->shapes[s->alts[b->first_alt + q->alt].shape];

        for (uint32_t c = 0; c < s->n_columns; c++)
            sum[c] += pb_row(s, shape->row)[c] * q->count;
    }
    return sum;
}

static bool holds(const struct problem *s, const struct plan *p,
                  const struct plan_launch *l, const struct pb_offer *o,
                  const int64_t *load)
{
    const int64_t *room = pb_row(s, s->types[o->type].row);

    for (uint32_t c = 0; c < s->n_columns; c++)
        if (load[c] > room[c])
            return false;
    for (uint32_t i = 0; i < l->n_placements; i++) {
        const struct plan_placement *q = &p->placements[l->first_placement + i];
        const struct pb_bundle *b = &s->bundles[q->bundle];
        uint32_t shape = s->alts[b->first_alt + q->alt].shape;

        if (!problem_match(s, s->shapes[shape].selector, o->first_label,
                           o->n_labels))
            return false;
    }
    return true;
}

static bool at_max(const struct problem *s, uint32_t type)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_nodes; i++)
        n += s->nodes[i].type == type && s->nodes[i].state < STATE_STOPPING;
    return n >= s->types[type].max;
}

static enum reason kept_by(const struct problem *s, const struct pb_offer *o)
{
    if (s->types[o->type].unavailable != REASON_NONE)
        return s->types[o->type].unavailable;
    if (o->backoff_until_ms > s->now_ms)
        return REASON_BACKOFF;
    if (o->closed)
        return REASON_CLOSED;
    return at_max(s, o->type) ? REASON_MAX_TYPE : REASON_NONE;
}

/* Into its place by price, when it is among the cheapest. */
static void other_add(struct decision *x, const struct problem *s,
                      const struct pb_offer *o, int64_t more)
{
    uint32_t at = x->n_others;

    while (at > 0 && x->others[at - 1].more_micros_hour > more)
        at--;
    if (at == DECISION_OTHERS)
        return;
    if (x->n_others < DECISION_OTHERS)
        x->n_others++;
    memmove(&x->others[at + 1], &x->others[at],
            (x->n_others - at - 1) * sizeof *x->others);
    x->others[at] = (struct decision_other){
        .spot = o->spot, .more_micros_hour = more, .why = kept_by(s, o)};
    COPY(x->others[at].type, s->str[s->types[o->type].name]);
    COPY(x->others[at].zone, s->str[o->zone]);
}

static void others_find(struct decision *x, const struct problem *s,
                        const struct plan *p, const struct plan_launch *l)
{
    struct arena scratch = {0};
    const int64_t *load = load_of(s, p, l, &scratch);
    int64_t price = pb_offer_bill(&s->offers[l->offer]);

    for (uint32_t i = 0; i < s->n_offers && l->n_placements; i++)
        if (i != l->offer && holds(s, p, l, &s->offers[i], load))
            other_add(x, s, &s->offers[i],
                      (pb_offer_bill(&s->offers[i]) - price) * x->count);
    arena_done(&scratch);
}

/* ---- from act() */

void decision_launch(struct decisions *d, const struct problem *now,
                     const struct plan *plan, uint32_t launch, uint32_t count,
                     const char *node)
{
    const struct plan_launch *l = &plan->launches[launch];
    const struct pb_offer *o = &now->offers[l->offer];
    struct decision x = {.at_ms = now->now_ms,
                         .launch = true,
                         .spot = o->spot,
                         .count = count,
                         .why = l->why,
                         .micros_hour = pb_offer_bill(o) * count,
                         .bill_micros_hour = bill(now)};

    COPY(x.type, now->str[now->types[o->type].name]);
    COPY(x.zone, now->str[o->zone]);
    COPY(x.node, node);
    if (l->demand != NONE) {
        const struct pb_demand *q = &now->demands[l->demand];

        COPY(x.owner, now->str[q->owner]);
        COPY(x.demand, now->str[q->id]);
        x.source = q->source;
    }
    others_find(&x, now, plan, l);
    add(d, &x);
}

static bool leaves_now(const struct machine *m, int64_t now_ms)
{
    return m && m->since_ms == now_ms && m->state >= STATE_DRAINING &&
           m->state <= STATE_GONE;
}

static bool same_end(const struct decision *x, const struct machine *m)
{
    return x->why == m->why && x->spot == m->spot &&
           strcmp(x->type, m->type) == 0 && strcmp(x->zone, m->zone) == 0;
}

/* Machines of one type, zone and market that end for one reason are one. */
void decisions_ends(struct decisions *d, const struct taken *taken,
                    const struct problem *now, int64_t now_ms)
{
    VEC(struct decision) all = {0};
    struct arena scratch = {0};

    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct pb_node *n = &now->nodes[i];
        const struct machine *m = taken->machines[n->from];
        int64_t price = bill_node_price(&taken->snapshot->nodes[n->from], now,
                                        i);
        uint32_t k = 0;

        if (!leaves_now(m, now_ms) || n->state >= STATE_DRAINING)
            continue;
        while (k < all.n && !same_end(&all.v[k], m))
            k++;
        if (k == all.n) {
            struct decision x = {.at_ms = now->now_ms,
                                 .spot = m->spot,
                                 .why = m->why,
                                 .bill_micros_hour = bill(now)};

            COPY(x.type, m->type);
            COPY(x.zone, m->zone);
            COPY(x.node, m->id);
            VEC_PUSH(&scratch, &all, x);
        }
        all.v[k].count++;
        all.v[k].micros_hour += price > 0 ? price : 0;
    }
    for (uint32_t k = 0; k < all.n; k++)
        add(d, &all.v[k]);
    arena_done(&scratch);
}

uint32_t decisions_read(struct decisions *d, int64_t after, struct arena *arena,
                        struct decision **ret)
{
    VEC(struct decision) found = {0};

    pthread_mutex_lock(&d->lock);
    for (int64_t id = d->next_id > DECISIONS_KEPT ? d->next_id - DECISIONS_KEPT
                                                  : 1;
         id < d->next_id; id++)
        if (id > after)
            VEC_PUSH(arena, &found, *d->v[id % DECISIONS_KEPT]);
    pthread_mutex_unlock(&d->lock);
    *ret = found.v;
    return found.n;
}
