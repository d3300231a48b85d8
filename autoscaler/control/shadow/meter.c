/*
 * meter.c - what both sides cost and how long demand waits on them, by the hour.
 *
 * What was true at the last page is added up until this one.  Prices are those
 * of the node types' offers, on both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../model/bill.h"
#include "../../model/price.h"
#include "../status.h"
#include "inside.h"

enum { HOUR_MS = 3600000, SAVE_MS = 60000 };

/* ---- what is true now */

/* The offer that a present node would have been bought as; NULL: none. */
static const struct pb_offer *offer_of(const struct problem *s,
                                       const struct source_node *n)
{
    const struct pb_offer *best = NULL;
    bool spot = match_spot(n);

    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_offer *o = &s->offers[i];
        const char *zone = s->str[o->zone];

        if (strcmp(s->str[s->types[o->type].name], n->type) != 0 ||
            o->spot != spot)
            continue;
        if (!best || strcmp(zone, n->zone) == 0)
            best = o;
    }
    return best;
}

static int64_t price_of(const struct problem *s, const struct source_node *n,
                        bool *ret_estimated)
{
    const struct pb_offer *o = offer_of(s, n);

    *ret_estimated = !o || o->price_estimated;
    return o ? o->price_micros_hour
             : price_estimate(&n->total, "", match_spot(n));
}

static void present_look(struct shadow_now *now, const struct problem *s,
                         const struct source_present *p, uint32_t waiting)
{
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        bool estimated;

        now->micros_hour[SHADOW_PRESENT] += price_of(s, &p->nodes[i],
                                                     &estimated);
        now->estimated += estimated;
    }
    now->nodes[SHADOW_PRESENT] = p->n_nodes;
    now->waiting[SHADOW_PRESENT] = waiting;
    now->unmatched = p->unmatched;
    now->seen = true;
}

static bool is_ready(const struct pb_node *n)
{
    return n->state == STATE_READY || n->state == STATE_DRAINING;
}

static bool is_work(const struct problem *s, uint32_t bundle)
{
    enum demand_source d = s->demands[s->bundles[bundle].demand].source;

    return d == SOURCE_TASK || d == SOURCE_GANG || d == SOURCE_POD;
}

/* All work but what the plan has on nodes that are ready. */
static uint32_t without_node(const struct problem *s, const struct plan *p)
{
    uint64_t n = 0, placed = 0;

    for (uint32_t b = 0; b < s->n_bundles; b++)
        n += is_work(s, b) ? s->bundles[b].count : 0;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        for (uint32_t k = 0; k < p->nodes[i].n_placements; k++) {
            const struct plan_placement *q =
                &p->placements[p->nodes[i].first_placement + k];

            if (is_ready(&s->nodes[i]) && is_work(s, q->bundle))
                placed += q->count;
        }
    return (uint32_t)(n > placed ? n - placed : 0);
}

static void davit_look(struct shadow_now *now, const struct status_page *page)
{
    struct arena scratch = {0};
    struct bill b;

    bill_make(page->snapshot, page->now, page->plan, false, &scratch, &b);
    now->micros_hour[SHADOW_DAVIT] = b.micros_hour;
    for (uint32_t i = 0; i < b.n_offers; i++)
        now->nodes[SHADOW_DAVIT] += b.offers[i].nodes;
    now->waiting[SHADOW_DAVIT] = without_node(page->now, page->plan);
    arena_done(&scratch);
}

/* ---- hours */

static struct shadow_hour *hour_of(struct shadow *s, int64_t wall_ms)
{
    int64_t hour = wall_ms / HOUR_MS;
    struct shadow_hour *h = &s->hours[hour % SHADOW_HOURS];

    if (h->hour != hour)
        *h = (struct shadow_hour){.hour = hour};
    return h;
}

static void sum_add(struct shadow_sum *to, const struct shadow_sum *x)
{
    to->nanos += x->nanos;
    to->node_ms += x->node_ms;
    to->waited_ms += x->waited_ms;
}

static void pay(struct shadow *s, int64_t ms)
{
    struct shadow_hour *h = hour_of(s, clock_wall_ms());

    h->ms += ms;
    for (int i = 0; i < SHADOW_SIDES; i++) {
        struct shadow_sum x = {
            .nanos = (int64_t)((double)s->now.micros_hour[i] * (double)ms *
                               1000 / HOUR_MS),
            .node_ms = s->now.nodes[i] * ms,
            .waited_ms = s->now.waiting[i] * ms};

        sum_add(&h->side[i], &x);
        sum_add(&s->life[i], &x);
    }
}

static void pay_until(struct shadow *s, int64_t mono_ms)
{
    if (mono_ms < s->paid_ms)
        return;
    if (s->paid_ms && s->now.seen)
        pay(s, mono_ms - s->paid_ms);
    s->paid_ms = mono_ms;
}

void shadow_page(struct shadow *s, const struct status_page *page,
                 const struct source_view *view, uint32_t waiting,
                 int64_t mono_ms, struct journal *j)
{
    struct shadow_now now = {0};

    davit_look(&now, page);
    if (view && view->present)
        present_look(&now, page->now, view->present, waiting);
    pthread_mutex_lock(&s->lock);
    pay_until(s, mono_ms);
    s->now = now;
    pthread_mutex_unlock(&s->lock);
    if (mono_ms - s->saved_ms >= SAVE_MS)
        shadow_save(s, j, mono_ms);
}

void shadow_look_at(struct shadow *s, struct shadow_now *ret,
                    struct shadow_sum ret_life[SHADOW_SIDES])
{
    pthread_mutex_lock(&s->lock);
    pay_until(s, clock_mono_ms());
    *ret = s->now;
    memcpy(ret_life, s->life, sizeof s->life);
    pthread_mutex_unlock(&s->lock);
}

void shadow_counted(struct shadow *s, uint32_t launched, uint32_t ended)
{
    struct shadow_hour *h;

    pthread_mutex_lock(&s->lock);
    h = hour_of(s, clock_wall_ms());
    h->launched += launched;
    h->ended += ended;
    pthread_mutex_unlock(&s->lock);
}

const char *shadow_text(struct shadow *s, char *buf, size_t n)
{
    struct shadow_now x;

    pthread_mutex_lock(&s->lock);
    x = s->now;
    pthread_mutex_unlock(&s->lock);
    snprintf(buf, n, "Davit holds %u nodes at $%.2f/h; %u are there at $%.2f/h",
             x.nodes[SHADOW_DAVIT], (double)x.micros_hour[SHADOW_DAVIT] / 1e6,
             x.nodes[SHADOW_PRESENT],
             (double)x.micros_hour[SHADOW_PRESENT] / 1e6);
    return buf;
}

/* ---- the journal: a value for each hour, "shadow.N" */

static void key_of(int64_t hour, char ret[32])
{
    snprintf(ret, 32, "shadow.%d", (int)(hour % SHADOW_HOURS));
}

void shadow_save(struct shadow *s, struct journal *j, int64_t mono_ms)
{
    int64_t now = clock_wall_ms() / HOUR_MS;

    pthread_mutex_lock(&s->lock);
    pay_until(s, mono_ms);
    s->saved_ms = mono_ms;
    for (int64_t hour = now - 1; hour <= now; hour++) {
        const struct shadow_hour *h = &s->hours[hour % SHADOW_HOURS];
        const struct shadow_sum *a = &h->side[0], *b = &h->side[1];
        char key[32], text[256];

        if (h->hour != hour || !h->ms)
            continue;
        key_of(hour, key);
        snprintf(text, sizeof text,
                 "%lld %lld %lld %lld %lld %lld %lld %lld %u %u",
                 (long long)hour, (long long)h->ms, (long long)a->nanos,
                 (long long)a->node_ms, (long long)a->waited_ms,
                 (long long)b->nanos, (long long)b->node_ms,
                 (long long)b->waited_ms, h->launched, h->ended);
        journal_put_value(j, key, text, NULL);
    }
    pthread_mutex_unlock(&s->lock);
}

static bool hour_read(const char *text, struct shadow_hour *ret)
{
    long long v[10];
    char *end;

    for (int i = 0; i < 10; i++, text = end) {
        v[i] = strtoll(text, &end, 10);
        if (end == text || v[i] < 0)
            return false;
    }
    *ret = (struct shadow_hour){
        .hour = v[0],
        .ms = v[1],
        .side = {{v[2], v[3], v[4]}, {v[5], v[6], v[7]}},
        .launched = (uint32_t)v[8],
        .ended = (uint32_t)v[9]};
    return true;
}

static void hours_load(struct shadow *s, struct journal *j)
{
    struct arena a = {0};

    for (int i = 0; i < SHADOW_HOURS; i++) {
        const char *text;
        struct shadow_hour h;
        char key[32];

        key_of(i, key);
        if (journal_value(j, key, &a, &text, NULL) == ST_OK &&
            hour_read(text, &h) && h.hour % SHADOW_HOURS == i)
            s->hours[i] = h;
    }
    arena_done(&a);
}

void shadow_restore(struct shadow *s, const struct fleet *f, struct journal *j)
{
    pthread_mutex_lock(&s->lock);
    hours_load(s, j);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];
        struct vm vm = {.spot = m->spot, .drains = m->drain_accepted};

        if (!*m->cloud_id || m->state >= STATE_STOPPING)
            continue;
        snprintf(vm.id, sizeof vm.id, "%.63s", m->cloud_id);
        snprintf(vm.request_id, sizeof vm.request_id, "%s", m->request_id);
        snprintf(vm.type, sizeof vm.type, "%s", m->type);
        snprintf(vm.zone, sizeof vm.zone, "%s", m->zone);
        snprintf(vm.provider, sizeof vm.provider, "%s", m->provider);
        vm.ready_ms = m->ready_ms ? m->ready_ms
                                  : m->created_ms + shadow_boot_of(s, m->type);
        shadow_vm_add(s, &vm);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- the report */

static void hour_add(struct shadow_hour *to, const struct shadow_hour *h)
{
    to->ms += h->ms;
    to->launched += h->launched;
    to->ended += h->ended;
    for (int i = 0; i < SHADOW_SIDES; i++)
        sum_add(&to->side[i], &h->side[i]);
}

static int by_hour(const void *a, const void *b)
{
    const struct shadow_hour *x = a, *y = b;

    return (x->hour > y->hour) - (x->hour < y->hour);
}

void shadow_report(struct shadow *s, int64_t since_ms, struct arena *a,
                   struct shadow_report *ret)
{
    int64_t oldest = clock_wall_ms() / HOUR_MS - SHADOW_HOURS;
    struct shadow_hour *v = ARENA_ARRAY(a, struct shadow_hour, SHADOW_HOURS);
    uint32_t n = 0;

    *ret = (struct shadow_report){0};
    pthread_mutex_lock(&s->lock);
    pay_until(s, clock_mono_ms());
    for (int i = 0; i < SHADOW_HOURS; i++)
        if (s->hours[i].ms && s->hours[i].hour > oldest &&
            (s->hours[i].hour + 1) * HOUR_MS > since_ms)
            v[n++] = s->hours[i];
    ret->now = s->now;
    pthread_mutex_unlock(&s->lock);
    qsort(v, n, sizeof *v, by_hour);
    for (uint32_t i = 0; i < n; i++)
        hour_add(&ret->sum, &v[i]);
    ret->hours = v;
    ret->n_hours = n;
    if (n) /* it was looked at until the hour's end, or until now */
        ret->since_ms = n > 1 || (v[0].hour + 1) * HOUR_MS < clock_wall_ms()
                            ? (v[0].hour + 1) * HOUR_MS - v[0].ms
                            : clock_wall_ms() - v[0].ms;
}
