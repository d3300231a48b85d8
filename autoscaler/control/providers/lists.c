/*
 * lists.c - when providers are asked for their machines and offers, and what
 * a list tells.
 */
#include <string.h>

#include "providers.h"

enum {
    LIST_BUSY_MS = 1000, /* something is on its way or going */
    LIST_SLOW_MS = 5000, /* ... and has not moved for a minute */
    LIST_QUIET_MS = 15000,
    SLOW_AFTER_MS = 60000,
    QUIET_AFTER_MS = 300000,
    LIST_TIMEOUT_MS = 60000,
};

/* When one of its machines on its way moved last, wall; 0: none is. */
static int64_t moved_ms(const struct providers *p,
                        const struct provider_state *s)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        const struct machine *m = p->ledger->fleet.v[i];
        int64_t at = m->progress_ms > m->since_ms ? m->progress_ms
                                                  : m->since_ms;

        if (m->state != STATE_READY && m->state != STATE_GONE &&
            !m->left_alone && at > last &&
            strcmp(m->provider, s->conf->name) == 0)
            last = at;
    }
    return last;
}

/* One stuck machine must not have thousands read every second for hours: a list
 * costs the cloud as much as it is long. */
static int64_t list_gap(const struct providers *p,
                        const struct provider_state *s)
{
    int64_t moved = moved_ms(p, s), still = p->env->now_ms - moved;
    int64_t gap = LIST_BUSY_MS;

    if (moved == 0 || still >= QUIET_AFTER_MS)
        return LIST_QUIET_MS;
    if (still >= SLOW_AFTER_MS)
        gap = LIST_SLOW_MS;
    gap += s->machines; /* a millisecond for each */
    return gap < LIST_QUIET_MS ? gap : LIST_QUIET_MS;
}

static void list_poll(struct providers *p, struct provider_state *s)
{
    int64_t now = p->env->mono_ms;

    if (s->listing)
        return;
    if (s->list_failures == 0 &&
        s->list_due_ms > s->list_last_ms + list_gap(p, s))
        s->list_due_ms = s->list_last_ms + list_gap(p, s);
    if (now < s->list_due_ms) {
        env_wake_mono(p->env, s->list_due_ms);
        return;
    }
    s->listing = true;
    s->list_last_ms = now;
    call_send(p, call_new(s->provider, CALL_LIST, MAIL_CALL), LIST_TIMEOUT_MS);
}

static void offers_poll(struct providers *p, struct provider_state *s)
{
    if (s->offering || !(provider_caps(s->provider) & DAVIT_CAP_OFFERS))
        return;
    if (p->env->mono_ms < s->offers_due_ms) {
        env_wake_mono(p->env, s->offers_due_ms);
        return;
    }
    s->offering = true;
    s->offers_last_ms = p->env->mono_ms;
    call_send(p, call_new(s->provider, CALL_OFFERS, MAIL_CALL),
              LIST_TIMEOUT_MS);
}

void providers_poll(struct providers *p)
{
    for (uint32_t i = 0; i < p->all.n; i++) {
        list_poll(p, p->all.v[i]);
        offers_poll(p, p->all.v[i]);
    }
}

static void list_failed(struct providers *p, struct provider_state *s,
                        const struct err *e)
{
    int64_t wait;

    s->list_failures++;
    wait = LIST_BUSY_MS << (s->list_failures < 5 ? s->list_failures : 5);
    if (e->retry_after_ms > wait)
        wait = e->retry_after_ms;
    s->list_due_ms = p->env->mono_ms + wait;
    provider_problem(p, s, e);
}

void provider_listed(struct providers *p, struct call *call)
{
    struct provider_state *s = provider_of(p, call->provider);
    int64_t now = p->env->now_ms;
    int64_t ago = p->env->mono_ms - call->started_mono_ms;
    uint32_t held = 0;

    s->listing = false;
    if (call->job.abandoned && call->status == ST_OK)
        call->status = err_set(&call->err, ST_RETRY,
                               "its list came too late to be true");
    if (call->status != ST_OK) {
        list_failed(p, s, &call->err);
        return;
    }
    /* What it says of machines changes the fleet, or else nothing. */
    if (!provider_is_read(s) || *s->problem || s->machines != call->machines.n)
        p->env->news = true;
    s->list_failures = 0;
    s->list_due_ms = p->env->mono_ms + LIST_QUIET_MS;
    s->listed_ms = now;
    s->machines = call->machines.n;
    provider_problem(p, s, NULL);
    for (uint32_t i = 0; i < call->machines.n; i++) {
        machine_seen(p, s, &call->machines.v[i]);
        held += *call->machines.v[i].held != '\0';
    }
    /* An upgrade has begun or is over. */
    if ((held > 0) != (s->held > 0))
        offers_soon(s);
    s->held = held;
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        struct machine *m = p->ledger->fleet.v[i];

        if (m->seen_ms != now && strcmp(m->provider, s->conf->name) == 0)
            machine_missed(p, m, now - (ago > 0 ? ago : 0));
    }
}
