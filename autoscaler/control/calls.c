/*
 * calls.c - the provider calls in flight: how many, and which hang.
 *
 * A plug-in that hangs keeps its worker, and only its return ends the call.
 * So that it can stop neither the other providers nor the loop, each provider
 * has a few calls at most, and one past its time is told and acted on at
 * once: a list counts as failed (nothing is ended on old facts), a launch's
 * intents are given up and the next plan looks elsewhere.  What it does after
 * all is found by the list and adopted.
 */
#include <string.h>

#include "../base/clock.h"
#include "state.h"

enum { SITE_CALLS_MAX = 8, OVERDUE_MAX = 2, LAST_CHANCE_MS = 3000 };

bool calls_room(const struct control *c, const struct provider *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->flying.n; i++)
        n += c->flying.v[i].call->provider == p;
    return n < SITE_CALLS_MAX;
}

bool calls_stuck(const struct control *c, const struct provider *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->flying.n; i++)
        n += c->flying.v[i].overdue && c->flying.v[i].call->provider == p;
    return n >= OVERDUE_MAX;
}

void call_send(struct control *c, struct call *call, int64_t timeout_ms)
{
    call_submit(c->workers, call, timeout_ms);
    VEC_PUSH(&c->life, &c->flying,
             ((struct flight){call, call->job.deadline_mono_ms, false}));
    control_wake_at(c, call->job.deadline_mono_ms + LAST_CHANCE_MS);
}

bool call_landed(struct control *c, const struct call *call)
{
    for (uint32_t i = 0; i < c->flying.n; i++)
        if (c->flying.v[i].call == call) {
            bool overdue = c->flying.v[i].overdue;
            c->flying.v[i] = c->flying.v[--c->flying.n];
            return overdue;
        }
    return false;
}

static void launch_given_up(struct control *c, const struct call *call,
                            const struct err *e)
{
    backoffs_note_launch(c->backoffs, call_offer_key(call), call->count, 0, e,
                         c->now_ms);
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (m->state != STATE_INTENDED ||
            strcmp(m->request_id, call->request_id) != 0)
            continue;
        machine_fail(c, m, ST_RETRY, e->text);
        machine_to(c, m, STATE_GONE);
    }
}

/* The worker still has the call: only what was set before it was sent may be
 * read here. */
void calls_overdue(struct control *c)
{
    static const char *const names[] = {
        [CALL_LIST] = "list", [CALL_LAUNCH] = "launch",
        [CALL_TERMINATE] = "terminate", [CALL_OFFERS] = "offers"};
    int64_t now = clock_mono_ms();

    for (uint32_t i = 0; i < c->flying.n; i++) {
        struct flight *f = &c->flying.v[i];
        struct call *call = f->call;
        struct site *site = site_of(c, call->provider);
        struct err e;

        if (f->overdue || now < f->deadline_ms + LAST_CHANCE_MS)
            continue;
        f->overdue = true;
        atomic_store(&call->cancel, true);
        err_set(&e, ST_RETRY, "%s has not returned for %lld s: the plug-in "
                "hangs", names[call->op],
                (long long)(now - call->started_mono_ms) / 1000);
        if (site)
            site_hangs(c, site, call->op == CALL_LIST, &e);
        if (call->op == CALL_LAUNCH)
            launch_given_up(c, call, &e);
    }
}

/* What only reads need not be waited for at the end. */
void calls_cancel_reads(struct control *c)
{
    for (uint32_t i = 0; i < c->flying.n; i++)
        if (c->flying.v[i].call->op == CALL_LIST ||
            c->flying.v[i].call->op == CALL_OFFERS)
            atomic_store(&c->flying.v[i].call->cancel, true);
}
