/*
 * settled.c - has a world come to rest: nothing waits that could be had, and
 * ledger and clouds agree.
 */
#include <string.h>

#include "base/clock.h"
#include "world.h"

/* A provider's name ends with its cloud's: "cloud-a", "pa". */
static bool is_gone(const struct world *w, const char *provider)
{
    size_t n = strlen(provider);

    return w->gone && n && provider[n - 1] == 'a' + (int)w->gone - 1;
}

/* Will it be had by and by? */
static bool waits_for_a_while(enum reason why)
{
    return why == REASON_BACKOFF || why == REASON_PROVIDER_DOWN ||
           why == REASON_TYPE_DISABLED || why == REASON_THROTTLE ||
           why == REASON_UNCONFIRMED || why == REASON_IMPROVING ||
           why == REASON_UNHELPED || why == REASON_OFFERS_AWAITED;
}

static bool is_of_gone(const struct world *w, const struct problem *now,
                       uint32_t offer)
{
    return offer != NONE &&
           is_gone(w, now->str[now->types[now->offers[offer].type].provider]);
}

static const char *plan_open(const struct world *w,
                             const struct status_page *page)
{
    const struct problem *now = page->now;

    if (page->plan->n_launches)
        return "the plan still launches";
    if (page->plan->n_ended)
        return "the plan still ends nodes";
    for (uint32_t b = 0; b < now->n_bundles; b++) {
        const struct plan_bundle *p = &page->plan->bundles[b];

        for (uint32_t i = 0; p->waiting && i < p->n_refusals; i++) {
            const struct plan_refusal *r =
                &page->plan->refusals[p->first_refusal + i];

            if (waits_for_a_while(r->why) && !is_of_gone(w, now, r->offer))
                return "work waits for an offer that is set aside";
        }
        if (p->launched)
            return "work waits for a launch";
    }
    return NULL;
}

enum { FAILURE_KEPT_MS = 65 * MINUTE }; /* an offer that failed comes last */

/* What was set aside, or comes last since it failed, or is dearer since its
 * machines were taken back, may be used again later, and make a cheaper plan. */
static bool any_set_aside(const struct world *w, const struct status_page *page)
{
    int64_t old = clock_steady_ms() - FAILURE_KEPT_MS;

    for (uint32_t i = 0; i < page->n_failures; i++)
        if (page->failures[i].at_ms > old)
            return true;
    for (uint32_t i = 0; i < page->n_backoffs; i++)
        if (page->backoffs[i].until_ms > clock_steady_ms() &&
            !is_gone(w, page->backoffs[i].provider))
            return true;
    for (uint32_t i = 0; page->now && i < page->now->n_offers; i++)
        if (page->now->offers[i].surcharge_micros_hour > 0)
            return true;
    return false;
}

static bool any_stopped(const struct world *w, const struct status_page *page)
{
    for (uint32_t i = 0; i < page->n_providers; i++)
        if (!page->providers[i].ready && !is_gone(w, page->providers[i].name))
            return true;
    for (uint32_t i = 0; i < page->n_stops; i++)
        if (!is_gone(w, page->stops[i].subject))
            return true;
    return false;
}

static const char *page_open(const struct world *w,
                             const struct status_page *page)
{
    uint32_t ours = 0;

    if (!page->plan || !page->now)
        return "there is no plan";
    if (any_set_aside(w, page))
        return "an offer is set aside";
    if (any_stopped(w, page))
        return "a part of it is stopped";
    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];

        if (n->unmanaged || is_gone(w, n->provider))
            continue;
        ours++;
        if (n->state != STATE_READY)
            return "a node is on its way or being ended";
    }
    if (ours != world_reached(w))
        return "the ledger has another number of machines than are billed";
    return plan_open(w, page);
}

const char *world_unsettled(struct world *w)
{
    struct status_page *page;
    const char *ret;

    if (!w->daemons[0].control)
        return "no daemon runs";
    if (w->head && head_running(w->head))
        return "work still runs";
    page = status_get(control_board(w->daemons[0].control));
    if (!page)
        return "there is no status";
    ret = page_open(w, page);
    status_unref(page);
    return ret;
}
