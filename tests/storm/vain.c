/*
 * vain.c - what is waited for in vain (law 7) and what is bought again though it
 * did no good (law 8).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "observer.h"

enum {
    START_TIMES = 4,        /* so many start_timeouts a machine has in all */
    MARGIN_MS = 5 * MINUTE, /* to see that it did not come, and to tell */
    LOSSY_SHARE = 8, /* of the time a head cannot be read whose views are late:
                      * nobody sees progress then, and nobody counts it */
    YOUNG_MS = MINUTE,       /* who lives for longer was of use */
    WINDOW_MS = 10 * MINUTE, /* in it, of one offer, */
    VAIN_MOST = 5,           /* so many launches, one after the other */
};

/* ---- 7: who never comes is not waited for for ever */

static int64_t start_timeout_most(const struct world *w, int64_t since)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < w->settings.n; i++)
        if (history_in_force(w, i, since) &&
            w->settings.v[i].conf->start_timeout_ms > most)
            most = w->settings.v[i].conf->start_timeout_ms;
    return most;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Since when has all been so that its way could be seen? */
static int64_t seen_since(const struct daemon *d, const struct cloud *c,
                          const struct cloud_machine *m)
{
    const struct world *w = d->world;
    int64_t since = later(m->launched_ms, d->started_ms);

    since = later(since, later(w->slept_ms, w->ills_ms));
    since = later(since, later(w->saved_ms, cloud_well_ms(c)));
    since = later(since, m->queued_ms); /* no time of that counts */
    return later(since, m->first_list_ms);
}

static bool waits(const struct status_page *page, const struct cloud_machine *m)
{
    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];

        if (strcmp(n->cloud_id, m->id) == 0)
            return !n->unmanaged && n->state == STATE_STARTING && !n->hold;
    }
    return false;
}

static void waits_check(struct daemon *d, const struct status_page *page,
                        const struct cloud *c, const struct cloud_machine *m)
{
    const struct world *w = d->world;
    int64_t since = seen_since(d, c, m), most;

    if (!cloud_well_ms(c) || m->daemon != d->number || m->added ||
        !m->first_list_ms || m->gone_ms != INT64_MAX || m->hidden_ms ||
        m->noted_joined)
        return; /* one that has joined may have to join another head */
    most = START_TIMES * start_timeout_most(w, since) + MARGIN_MS;
    if (w->head && head_lossy_ms(w->head) > since)
        most += most / LOSSY_SHARE;
    if (world_now(w) - since > most && waits(page, m))
        law_broken(d->world, LAW_WEDGE,
                   "cloud %s: %s did not come for %lld s, and is waited for",
                   cloud_title(c), m->id,
                   (long long)(world_now(w) - since) / 1000);
}

/* ---- 8: what did no good is not bought again and again */

static void offer_of(const struct cloud *c, const struct cloud_machine *m,
                     char ret[80])
{
    snprintf(ret, 80, "%.8s/%.60s/%d", cloud_title(c), m->type, m->spot);
}

static void use_note(struct world *w, const char *offer)
{
    for (uint32_t i = 0; i < w->of_use.n; i++)
        if (strcmp(w->of_use.v[i].offer, offer) == 0) {
            w->of_use.v[i].at_ms = world_now(w);
            return;
        }
    VEC_PUSH(NULL, &w->of_use, ((struct life_of_use){.at_ms = world_now(w)}));
    snprintf(w->of_use.v[w->of_use.n - 1].offer, 80, "%s", offer);
}

/* Did it do no good, for all to see? */
static bool was_in_vain(const struct cloud_machine *m,
                        const struct head_node *n, bool joined)
{
    if (m->failed) /* one word for a phase is none */
        return m->lists + (m->told_ms != 0) >= 2;
    return joined && !n->alive && n->dead_ms && n->shown_ms && !n->agreed_ms &&
           (!m->end_tried_ms || m->end_tried_ms >= n->dead_ms) && !m->by_person;
}

static void life_look(struct world *w, const struct cloud *c,
                      struct cloud_machine *m)
{
    struct life_in_vain v = {.at_ms = world_now(w)};
    struct head_node n = {0};
    bool joined = w->head && head_node_of(w->head, m->id, &n);

    m->noted_joined = m->noted_joined || joined;
    if (m->noted_life_ms || (w->head && !joined && !m->failed))
        return;
    offer_of(c, m, v.offer);
    if (w->head ? n.alive && world_now(w) - n.joined_ms > YOUNG_MS
                : world_now(w) - m->ready_ms > YOUNG_MS && !m->failed) {
        m->noted_life_ms = world_now(w);
        use_note(w, v.offer);
    } else if (was_in_vain(m, &n, joined)) {
        m->noted_life_ms = world_now(w);
        v.left_ms = history_first(w, m->request_id);
        VEC_PUSH(NULL, &w->vain, v);
    }
}

/* Launches of the offer, each after the one before had been in vain. */
static uint32_t vain_in_a_row(const struct world *w, const char *offer,
                              int64_t since, int64_t until)
{
    int64_t over = INT64_MIN;
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->vain.n; i++) {
        const struct life_in_vain *v = &w->vain.v[i];

        if (strcmp(v->offer, offer) != 0 || v->at_ms < since ||
            v->at_ms > until || v->left_ms < over)
            continue;
        over = v->at_ms;
        n++;
    }
    return n;
}

void vain_bought(struct world *w, const struct cloud *c,
                 const struct cloud_machine *new, int64_t left_ms)
{
    int64_t since = left_ms - WINDOW_MS;
    char offer[80];
    uint32_t n;

    since = later(since, later(w->saved_ms, w->slept_ms));
    since = later(since, w->daemons[0].started_ms);
    offer_of(c, new, offer);
    for (uint32_t i = 0; i < w->of_use.n; i++)
        if (strcmp(w->of_use.v[i].offer, offer) == 0)
            since = later(since, w->of_use.v[i].at_ms);
    n = vain_in_a_row(w, offer, since, left_ms);
    if (n > VAIN_MOST)
        law_broken(w, LAW_BUYS,
                   "%s is bought after %u of its offer in a row did no good in "
                   "%d minutes",
                   new->id, n, WINDOW_MS / MINUTE);
}

/* ---- at a step */

void vain_look(struct daemon *d, const struct status_page *page)
{
    struct world *w = d->world;
    struct cloud_machine *m;
    struct cloud *c;

    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++) {
        if (m->daemon != d->number || m->added)
            continue;
        life_look(w, c, m);
        waits_check(d, page, c, m);
    }
}
