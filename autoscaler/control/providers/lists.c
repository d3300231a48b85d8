/*
 * lists.c - when providers are asked for their machines and offers, and what
 * a list tells.
 */
#include <string.h>

#include "providers.h"

enum {
    LIST_BUSY_MS = 1000, /* while something is on its way or going */
    LIST_QUIET_MS = 15000,
    LIST_TIMEOUT_MS = 60000,
};

static bool provider_busy(const struct providers *p,
                          const struct provider_state *s)
{
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        const struct machine *m = p->ledger->fleet.v[i];
        if (m->state != STATE_READY && m->state != STATE_GONE &&
            strcmp(m->provider, s->conf->name) == 0)
            return true;
    }
    return false;
}

static void list_poll(struct providers *p, struct provider_state *s)
{
    int64_t now = p->env->mono_ms;

    if (s->listing)
        return;
    if (s->list_failures == 0 && provider_busy(p, s) &&
        s->list_due_ms > s->list_last_ms + LIST_BUSY_MS)
        s->list_due_ms = s->list_last_ms + LIST_BUSY_MS;
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
