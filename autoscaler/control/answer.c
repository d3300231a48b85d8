/*
 * answer.c - what launch and terminate calls led to.
 *
 * A refusal that is sure (stockout, quota, invalid, auth) ends the intents it
 * was for, so that the next plan looks elsewhere at once.  An answer that is
 * not (a reset, a lost reply) keeps them: the same request id is sent again,
 * and the provider gives the same machines.  After some tries they are given
 * up; what was launched after all is adopted by the list.
 */
#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "state.h"

enum {
    RETRY_FIRST_MS = 500, RETRY_LONGEST_MS = 60000,
    LAUNCH_TRIES = 6,    /* about 30 s; then the next plan looks elsewhere */
};

static int64_t retry_at(const struct control *c, const struct machine *m,
                        const struct err *e)
{
    int64_t wait = (int64_t)RETRY_FIRST_MS << (m->tries < 8 ? m->tries : 8);

    if (wait > RETRY_LONGEST_MS)
        wait = RETRY_LONGEST_MS;
    if (e->retry_after_ms > wait)
        wait = e->retry_after_ms;
    return c->now_ms + wait;
}

static bool refused_for_sure(enum status s)
{
    return s == ST_STOCKOUT || s == ST_QUOTA || s == ST_INVALID ||
           s == ST_AUTH || s == ST_UNSUPPORTED || s == ST_NOT_FOUND;
}

static void backoff_tell(struct control *c, const struct backoff *r,
                         const char *provider)
{
    char how_long[40] = "until the configuration is loaded again";

    if (r->until_ms != INT64_MAX)
        snprintf(how_long, sizeof how_long, "for %lld s",
                 (long long)(r->until_ms - c->now_ms) / 1000);
    tell(c, "offer.backoff", *r->of.type ? r->of.type : provider,
         status_name(r->why), "%s%s%s %s", provider, *r->of.zone ? " " : "",
         r->of.zone, how_long);
}

void answer_launch(struct control *c, struct call *call)
{
    struct site *site = site_of(c, call->provider);
    const char *provider = provider_name(call->provider);
    uint32_t waiting = 0;
    const struct backoff *backoff = NULL;

    if (call->job.abandoned)
        call->status = err_set(&call->err, ST_RETRY,
                               "no answer within the time limit");
    for (uint32_t i = 0; site && i < call->machines.n; i++)
        machine_seen(c, site, &call->machines.v[i]);
    if (site)  /* what an older generation was refused says nothing now */
        backoff = backoffs_note_launch(c->backoffs, call_offer_key(call),
                                       call->count, call->machines.n,
                                       &call->err, c->now_ms);
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (strcmp(m->request_id, call->request_id) != 0)
            continue;
        m->busy = false;
        if (m->state != STATE_INTENDED)
            continue;
        waiting++;
        if (call->status == ST_OK) {
            m->progress_ms = c->now_ms;
            machine_to(c, m, STATE_REQUESTED);
        } else if (refused_for_sure(call->status) ||
                   ++m->tries >= LAUNCH_TRIES) {
            machine_fail(c, m, call->status, call->err.text);
            machine_to(c, m, STATE_GONE);
        } else {
            m->failure = call->status;
            m->progress_ms = c->now_ms;
            machine_detail(m, call->err.text);
            m->retry_ms = retry_at(c, m, &call->err);
        }
    }
    if (site)
        site->list_due_ms = clock_mono_ms() + 200;
    if (call->status == ST_OK)
        return;
    atomic_fetch_add(&c->metrics.launch_failures, 1);
    tell(c, "launch.failed", call->type, status_name(call->status),
         "%s, %u of %u: %s%s%s", provider, waiting, call->count,
         call->err.code, *call->err.code ? ": " : "", call->err.text);
    if (backoff && backoff->until_ms > c->now_ms)
        backoff_tell(c, backoff, provider);
}

void answer_terminate(struct control *c, struct call *call)
{
    struct site *site = site_of(c, call->provider);
    const char *provider = provider_name(call->provider);
    bool failed = false;

    if (call->job.abandoned)
        call->status = err_set(&call->err, ST_RETRY,
                               "no answer within the time limit");
    for (uint32_t i = 0; i < call->n_ids; i++) {
        struct machine *m = fleet_by_cloud(&c->fleet, provider, call->ids[i]);
        enum status s = call->job.abandoned ? ST_RETRY : call->done[i];

        /* A cloud may have given the id to another one meanwhile. */
        if (!m || m->state != STATE_STOPPING)
            continue;
        m->busy = false;
        if (s == ST_NOT_FOUND) {
            machine_to(c, m, STATE_GONE);
        } else if (s == ST_OK) {
            /* Sent once; the list tells when it is gone.  If it stays, it is
             * asked again: a target that crept up again is not our ending. */
            m->retry_ms = c->now_ms + RETRY_LONGEST_MS;
        } else {
            failed = true;
            m->tries++;
            m->failure = s;
            m->retry_ms = retry_at(c, m, &call->err);
        }
    }
    if (site)
        site->list_due_ms = clock_mono_ms() + 200;
    if (failed) {
        atomic_fetch_add(&c->metrics.end_failures, 1);
        tell(c, "end.failed", provider, status_name(call->status), "%s",
             call->err.text);
    }
}
