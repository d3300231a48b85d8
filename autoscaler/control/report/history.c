/*
 * history.c - see history.h.
 */
#include "history.h"

#include <stdlib.h>

#include "../../base/alloc.h"

enum { WRITE_S = 300, MS = 1000, HOUR_MS = 3600000 };

void history_init(struct history *h, struct env *env)
{
    static const struct history_ring rings[HISTORY_RINGS] = {
        {.step_s = 60, .n = HISTORY_MINUTES},
        {.step_s = 300, .n = HISTORY_FIVES},
        {.step_s = 3600, .n = HISTORY_HOURS}};

    *h = (struct history){.env = env};
    pthread_mutex_init(&h->lock, NULL);
    spent_init(&h->spent, env);
    for (int i = 0; i < HISTORY_RINGS; i++) {
        h->rings[i] = rings[i];
        h->rings[i].v = MEM_ARRAY(struct history_slot, rings[i].n);
    }
}

void history_done(struct history *h)
{
    for (int i = 0; i < HISTORY_RINGS; i++)
        free(h->rings[i].v);
    pthread_mutex_destroy(&h->lock);
    spent_done(&h->spent);
}

void history_load(struct history *h)
{
    for (int i = 0; i < HISTORY_RINGS; i++) /* a chart: a gap is no fault */
        journal_load_history(h->env->journal, h->rings[i].step_s, h->rings[i].v,
                             h->rings[i].n, NULL);
    spent_load(&h->spent);
}

/* ---- adding */

/* The slot of this second; what was in its place is forgotten. */
static struct history_slot *slot_at(struct history_ring *r, int64_t s)
{
    int64_t at_s = s / r->step_s * r->step_s;
    struct history_slot *x = &r->v[at_s / r->step_s % r->n];

    if (x->at_s != at_s)
        *x = (struct history_slot){.at_s = at_s};
    return x;
}

static int64_t share(int64_t micros_hour, int64_t ms)
{
    return (int64_t)((__int128)micros_hour * ms / HOUR_MS);
}

/* [from, to) was as the last plan said; each slot gets its part. */
static void stretch_add(const struct history *h, struct history_ring *r,
                        int64_t from_ms, int64_t to_ms)
{
    while (from_ms < to_ms) {
        struct history_slot *x = slot_at(r, from_ms / MS);
        int64_t end_ms = (x->at_s + r->step_s) * MS;
        int64_t until_ms = end_ms < to_ms ? end_ms : to_ms;

        x->seen_ms += until_ms - from_ms;
        /* by the difference of two sums, so that nothing is rounded away */
        x->spent += share(h->cost_micros_hour, until_ms - h->last_ms) -
                    share(h->cost_micros_hour, from_ms - h->last_ms);
        if (x->nodes < h->nodes)
            x->nodes = h->nodes;
        if (x->waiting < h->waiting)
            x->waiting = h->waiting;
        from_ms = until_ms;
    }
}

/* What a long sleep left behind the ring's beginning has no place in it. */
static int64_t oldest_ms(const struct history_ring *r, int64_t now_ms)
{
    return now_ms - (int64_t)(r->n - 1) * r->step_s * MS;
}

static void time_passed(struct history *h, int64_t now_ms)
{
    for (int i = 0; i < HISTORY_RINGS && h->last_ms; i++) {
        int64_t from = oldest_ms(&h->rings[i], now_ms);

        stretch_add(h, &h->rings[i], h->last_ms > from ? h->last_ms : from,
                    now_ms);
    }
    if (!h->last_ms)
        h->written_ms = now_ms;
    h->last_ms = now_ms;
}

static uint32_t since(unsigned long long now, unsigned long long *last)
{
    unsigned long long n = now - *last;

    *last = now;
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void counts_add(struct history *h)
{
    uint32_t launched = since(atomic_load(&h->env->metrics.launches),
                              &h->launches);
    uint32_t ended = since(atomic_load(&h->env->metrics.ends), &h->ends);

    for (int i = 0; i < HISTORY_RINGS; i++) {
        struct history_slot *x = slot_at(&h->rings[i], h->last_ms / MS);

        x->launched += launched;
        x->ended += ended;
        if (x->nodes < h->nodes)
            x->nodes = h->nodes;
        if (x->waiting < h->waiting)
            x->waiting = h->waiting;
    }
}

/* ---- the journal */

/* Also what the write before this one wrote last: that batch may have failed. */
static void write_down(struct history *h)
{
    int64_t from_s = h->written_ms / MS - WRITE_S;

    for (int i = 0; i < HISTORY_RINGS; i++) {
        struct history_ring *r = &h->rings[i];
        int64_t first = oldest_ms(r, h->last_ms) / MS;

        for (int64_t s = from_s > first ? from_s : first; s <= h->last_ms / MS;
             s = (s / r->step_s + 1) * r->step_s) {
            uint32_t place = (uint32_t)(s / r->step_s % r->n);

            if (r->v[place].at_s == s / r->step_s * r->step_s)
                journal_put_history(h->env->journal, r->step_s, place,
                                    &r->v[place], NULL);
        }
    }
    h->written_ms = h->last_ms;
}

/* ---- from outside */

static void page_read(struct history *h, const struct status_page *page)
{
    const struct plan *p = page->plan;

    h->cost_micros_hour = status_cost(page);
    h->nodes = h->waiting = 0;
    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++)
        h->nodes += page->snapshot->nodes[i].state != STATE_GONE &&
                    !page->snapshot->nodes[i].head;
    for (uint32_t b = 0; b < page->now->n_bundles; b++)
        h->waiting += p->bundles[b].waiting + p->bundles[b].infeasible;
}

void history_see(struct history *h, const struct status_page *page)
{
    int64_t now_ms = page->snapshot->now_ms;

    pthread_mutex_lock(&h->lock);
    if (now_ms >= h->last_ms) {
        time_passed(h, now_ms);
        page_read(h, page);
        counts_add(h);
    }
    pthread_mutex_unlock(&h->lock);
    if (h->last_ms - h->written_ms >= WRITE_S * MS)
        write_down(h);
    spent_see(&h->spent);
}

void history_end(struct history *h)
{
    if (!h->last_ms)
        return;
    pthread_mutex_lock(&h->lock);
    time_passed(h, h->env->now_ms > h->last_ms ? h->env->now_ms : h->last_ms);
    counts_add(h);
    pthread_mutex_unlock(&h->lock);
    write_down(h);
}

uint32_t history_read(struct history *h, uint32_t step_s, int64_t after_s,
                      struct arena *arena, struct history_slot **ret)
{
    VEC(struct history_slot) found = {0};

    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < HISTORY_RINGS; i++) {
        const struct history_ring *r = &h->rings[i];
        int64_t now_s = (h->last_ms ? h->last_ms : h->env->started_ms) / MS;
        int64_t first = now_s / step_s - r->n + 1;

        if (r->step_s != step_s)
            continue;
        for (int64_t k = first; k <= now_s / step_s; k++) {
            const struct history_slot *x = &r->v[(k + r->n) % r->n];

            if (x->at_s == k * step_s && x->at_s >= after_s && x->at_s)
                VEC_PUSH(arena, &found, *x);
        }
    }
    pthread_mutex_unlock(&h->lock);
    *ret = found.v;
    return found.n;
}

struct history_slot history_sum(struct history *h, int64_t from_s)
{
    struct history_slot sum = {0}, *v;
    struct arena arena = {0};
    uint32_t n = history_read(h, 3600, from_s, &arena, &v);

    for (uint32_t i = 0; i < n; i++) {
        if (!sum.at_s)
            sum.at_s = v[i].at_s;
        sum.seen_ms += v[i].seen_ms;
        sum.spent += v[i].spent;
        sum.launched += v[i].launched;
        sum.ended += v[i].ended;
    }
    arena_done(&arena);
    return sum;
}
