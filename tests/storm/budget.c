/*
 * budget.c - law 1 where nothing tells of work: what requests count on is not ended
 * for a price that a cloud raised.
 *
 * Judged where it can be told for sure: in plain worlds (one node type, a machine
 * for each GPU that is asked for) without a head, whose one file is never edited,
 * whose person has let no ends go on, and while no machine is there that the
 * daemon found.  There requests count on all that are ready when these are no more
 * than what has been asked for, for a minute, in requests that nobody touched.
 */
#include <string.h>

#include "history.h"
#include "observer.h"

enum { COUNTS_MS = MINUTE };

static bool judged(const struct world *w, const struct daemon *d)
{
    return w->plain && !w->head && w->n_clouds == 1 && !d->number &&
           w->settings.n == 1 && !w->released &&
           w->settings.v[0].conf->limits.max_cost_micros_hour >= 0;
}

void budget_asks(struct world *w)
{
    for (uint32_t i = 0; i < OWNERS; i++) {
        struct owner *o = &w->owners[i];
        uint32_t n = promise_count(&o->kept);

        if (o->asking || o->n_refused || o->refused_more || o->n_unsure ||
            o->kept.expired || o->kept.expires_ms)
            n = 0;
        if (n != o->counts) {
            o->counts = n;
            o->counts_ms = world_now(w);
        }
    }
}

/* What has been asked for long enough, at least. */
static uint32_t counted(const struct world *w)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < OWNERS; i++)
        if (world_now(w) - w->owners[i].counts_ms > COUNTS_MS)
            all += w->owners[i].counts;
    return all;
}

/* As the daemon sees it: what has died since is in no list yet. */
static uint32_t ready(const struct status_page *page)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++)
        n += page->snapshot->nodes[i].state == STATE_READY;
    return n;
}

/* The most that one of them may have been agreed to at: the last price that a daemon
 * is sure to have read before its launch, what was told since, up to the first that
 * was told after it, and what the file says or leaves to be estimated. */
static int64_t agreed_most(const struct world *w, const struct cloud_machine *m,
                           int64_t filed)
{
    int64_t most = filed, left = history_first(w, m->request_id);
    const struct cloud_price *v;
    uint32_t all;

    v = cloud_prices(w->clouds[0], &all);
    for (uint32_t i = 0; i < all; i++) {
        if (v[i].spot != m->spot)
            continue;
        if (v[i].first_ms && v[i].first_ms + READ_MS < left)
            most = filed;
        if (v[i].micros_hour > most)
            most = v[i].micros_hour;
        if (v[i].first_ms > left)
            break;
    }
    return most;
}

/* Of all that the daemon knows; INT64_MAX: nobody can tell, since it found one, or has
 * one that is not there. */
static int64_t bill_agreed(const struct world *w,
                           const struct status_page *page, int64_t filed)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];
        const struct cloud_machine *m = cloud_machine(w->clouds[0],
                                                      n->cloud_id);

        if (n->state == STATE_GONE)
            continue;
        if (!m || strcmp(n->id, n->cloud_id) == 0)
            return INT64_MAX;
        sum += agreed_most(w, m, filed);
    }
    return sum;
}

static const struct cloud_machine *ready_machine(const struct world *w,
                                                 const struct status_page *page,
                                                 const char *id)
{
    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];

        if (strcmp(n->id, id) == 0)
            return n->state == STATE_READY
                       ? cloud_machine(w->clouds[0], n->cloud_id)
                       : NULL;
    }
    return NULL;
}

/* One that was idle has not taken the place of what is gone yet. */
static void lost_note(struct world *w, const struct event *e)
{
    if (strcmp(e->kind, "node.lost") == 0 ||
        strcmp(e->kind, "node.gone") == 0 ||
        strcmp(e->kind, "node.ending") == 0 ||
        strcmp(e->kind, "node.failed") == 0)
        w->lost_ms = world_now(w);
}

void budget_event(struct daemon *d, const struct status_page *page,
                  const struct event *e)
{
    struct world *w = d->world;
    const struct config *conf = w->settings.v[0].conf;
    const struct cloud_machine *m;

    if (judged(w, d) && page && page->snapshot &&
        strcmp(e->kind, "node.ending") == 0 &&
        strcmp(e->reason, reason_code(REASON_END_BUDGET)) == 0 &&
        world_now(w) - w->lost_ms > COUNTS_MS &&
        (m = ready_machine(w, page, e->subject)) && ready(page) <= counted(w) &&
        bill_agreed(w, page, observer_price(conf, m)) <=
            conf->limits.max_cost_micros_hour)
        law_broken(w, LAW_WORK,
                   "%s is ended for the budget: requests count on all %u that "
                   "are ready, and nobody agreed to what they cost now",
                   m->id, ready(page));
    lost_note(w, e);
}
