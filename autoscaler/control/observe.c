/*
 * observe.c - answers become facts; nothing here decides or acts.
 */
#include "../base/clock.h"
#include "../base/log.h"
#include "state.h"

#include <stdio.h>
#include <string.h>

void machine_to(struct control *c, struct machine *m, enum machine_state to)
{
    static const char *const kinds[STATE_COUNT] = {
        [STATE_REQUESTED] = "node.launching", [STATE_STARTING] = "node.starting",
        [STATE_READY] = "node.ready",         [STATE_DRAINING] = "node.draining",
        [STATE_STOPPING] = "node.ending",     [STATE_GONE] = "node.gone",
    };
    enum machine_state from = m->state;

    if (from == to)
        return;
    m->tries = 0;
    m->retry_ms = 0;
    m->missed = 0;
    if (to == STATE_READY) {
        m->drain_since_ms = 0;
        m->drain_accepted = false;
        if (!m->ready_ms) {
            m->ready_ms = c->now_ms;
            backoffs_joined(c->backoffs, machine_offer(m), m->created_ms,
                            c->now_ms);
            atomic_fetch_add(&c->metrics.joined, 1);
            if (!m->adopted)
                journal_put_boot(c->journal, m->type,
                                 c->now_ms - m->created_ms, NULL);
        }
    }
    if (to >= STATE_STOPPING && m->failure == ST_OK)
        m->detail[0] = '\0';  /* of its earlier life */
    fleet_move(&c->fleet, m, to, c->now_ms);
    if (to == STATE_GONE)
        source_gone(c, m);
    if (kinds[to])
        tell(c, from == STATE_DRAINING && to == STATE_READY ? "node.undrained"
                                                            : kinds[to],
             m->id, m->why == REASON_NONE ? "" : reason_code(m->why),
             "%s %s%s%s", m->type, m->zone, *m->zone ? " " : "", m->detail);
}

void machine_fail(struct control *c, struct machine *m, enum status why,
                  const char *text)
{
    struct failure_note *f = &c->failures[c->n_failures++ % FAILURES_KEPT];

    m->failure = why;
    m->why = REASON_END_FAILED;
    f->why = why;
    f->at_ms = c->now_ms;
    snprintf(f->machine, sizeof f->machine, "%s", m->id);
    snprintf(f->type, sizeof f->type, "%s", m->type);
    snprintf(f->text, sizeof f->text, "%s", text);
    tell(c, "node.failed", m->id, status_name(why), "%s: %s", m->type, text);
    machine_detail(m, text);
    fleet_touch(&c->fleet, m);
}

/* No clock of ours ran between two processes, so an interval that began in an
 * earlier one begins anew: a clock that was set meanwhile must not make
 * machines look late or idle, nor a list older than they are. */
void observe_begin(struct control *c)
{
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        m->sent = true;  /* for all we know */
        m->progress_ms = m->needed_ms = c->now_ms;
        if (m->created_ms > c->now_ms)
            m->created_ms = c->now_ms;
        if (m->since_ms > c->now_ms)
            m->since_ms = c->now_ms;
        if (m->drain_since_ms)
            m->drain_since_ms = c->now_ms;
        m->hold_until_ms = 0;
    }
}

/* A machine on its way that shows no progress for start_timeout has failed; a
 * slow one that moves has not (kuberay issues 4226 and 5233: a fixed time is
 * wrong both ways).  While its provider or the head cannot be read there is no
 * progress to be seen, so the time begins anew. */
static void observe_late(struct control *c, struct machine *m)
{
    const struct site *s = site_find(c, m->provider);
    int64_t limit = c->config->start_timeout_ms, left;
    struct err e;

    if (!s || !s->listed_ms || s->list_failures || !sources_fresh(c))
        m->progress_ms = c->now_ms;
    left = limit - (c->now_ms - (m->progress_ms > m->since_ms ? m->progress_ms
                                                              : m->since_ms));
    if (left > 0) {
        control_wake_at(c, clock_mono_ms() + left);
        return;
    }
    err_set(&e, ST_RETRY, "no progress for %lld s after its launch",
            (long long)(limit / 1000));
    machine_fail(c, m, ST_RETRY, e.text);
    backoffs_note(c->backoffs, machine_offer(m), &e, c->now_ms);
    machine_to(c, m, *m->cloud_id ? STATE_STOPPING : STATE_GONE);
}

/* The head agreed to drain it, and its work has had the time it was given. */
static void observe_drained(struct control *c, struct machine *m)
{
    enum { MARGIN_MS = 300000 };
    const struct source *h = source_of_machines(c);

    if (h && h->ops->undrain)
        return;  /* its steps have a limit of their own */
    if (!m->drain_accepted || !sources_fresh(c) ||
        c->now_ms - m->drain_since_ms < DRAIN_DEADLINE_MS + MARGIN_MS)
        return;
    machine_to(c, m, STATE_STOPPING);
    atomic_fetch_add(&c->metrics.ends, 1);
}

/* An intent that could not even be sent for a while (its offer rests, its
 * provider cannot be read) would look like a node to come for as long: it is
 * given up, and the next plan looks elsewhere. */
static void observe_intent(struct control *c, struct machine *m)
{
    enum { WAITS_MS = 60000 };
    int64_t left = WAITS_MS - (c->now_ms - m->progress_ms);

    if (m->busy || c->opts.dry_run || !c->journal_ok)
        return;
    if (!site_find(c, m->provider)) {
        machine_fail(c, m, ST_INVALID, "its provider is no longer configured");
    } else if (left <= 0) {
        machine_fail(c, m, m->failure ? m->failure : ST_RETRY,
                     *m->detail ? m->detail
                                : "its launch could not be sent for 60 s");
    } else {
        control_wake_at(c, clock_mono_ms() + left);
        return;
    }
    machine_to(c, m, STATE_GONE);
}

static void observe_deadlines(struct control *c)
{
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (m->state == STATE_REQUESTED || m->state == STATE_STARTING) {
            observe_late(c, m);
        } else if (m->state == STATE_DRAINING) {
            observe_drained(c, m);
        } else if (m->state == STATE_INTENDED) {
            observe_intent(c, m);
        }
    }
}

static void call_folded(struct control *c, struct call *call)
{
    struct site *site = site_of(c, call->provider);

    call_landed(c, call);
    if (c->stopping && call->job.abandoned) {
        call_free(call);  /* dropped unrun: it says nothing */
        return;
    }
    atomic_fetch_add(&c->metrics.provider_calls, 1);
    if (call->status != ST_OK)
        atomic_fetch_add(&c->metrics.provider_failures, 1);
    switch (call->op) {
    case CALL_LIST:
        if (site)  /* of an older generation: its list says nothing now */
            site_listed(c, call);
        break;
    case CALL_OFFERS:
        if (site)
            site_offered(c, call);
        break;
    case CALL_LAUNCH:
        answer_launch(c, call);
        break;
    case CALL_TERMINATE:
        answer_terminate(c, call);
        break;
    }
    call_free(call);
}

static void command_folded(struct control *c, struct command *cmd)
{
    struct mail **last = (struct mail **)&c->waiting;
    struct machine *m;

    cmd->status = ST_OK;
    switch (cmd->kind) {
    case COMMAND_REQUEST_PUT:
    case COMMAND_REQUEST_DROP:
        requests_fold(c, cmd);
        break;
    case COMMAND_PROTECT:
        m = fleet_by_id(&c->fleet, cmd->machine);
        if (!m) {
            cmd->status = err_set(&cmd->err, ST_NOT_FOUND,
                                  "no node \"%s\"", cmd->machine);
            break;
        }
        m->protected = cmd->on;
        fleet_touch(&c->fleet, m);
        break;
    case COMMAND_RELOAD:
        c->reload_wanted = true;
        reload_if_wanted(c);
        if (*c->config_problem)
            cmd->status = err_set(&cmd->err, ST_INVALID, "%s",
                                  c->config_problem);
        break;
    }
    while (*last)
        last = &(*last)->next;
    cmd->mail.next = NULL;
    *last = &cmd->mail;
}

static void ha_folded(struct control *c, struct mail *mail)
{
    struct err err;

    if (ha_fold(c->opts.ha, c->journal, mail, &err)) {
        if (!c->copy_ok)
            log_info("the copy in the cluster can be written again");
        c->copy_ok = true;
        return;
    }
    if (c->copy_ok)
        log_error("the copy in the cluster cannot be written: %s; nothing is "
                  "launched or ended until it can", err.text);
    atomic_fetch_add(&c->metrics.journal_failures, 1);
    c->copy_ok = false;
}

void observe_fold(struct control *c)
{
    struct mail *mail = mailbox_take(&c->inbox), *next;

    for (; mail; mail = next) {
        next = mail->next;
        c->changed = c->changed || mail->kind != MAIL_SOURCE;
        switch ((enum mail_kind)mail->kind) {
        case MAIL_CALL:
            call_folded(c, (struct call *)mail);
            break;
        case MAIL_SOURCE:
            source_fold(c, mail);
            break;
        case MAIL_THOUGHT:
            think_fold(c, mail);
            break;
        case MAIL_HA:
            ha_folded(c, mail);
            break;
        case MAIL_COMMAND:
            command_folded(c, (struct command *)mail);
            break;
        case MAIL_CONFIG:
            config_source_fold(c, mail);
            break;
        }
    }
    if (c->stopping)
        return;
    requests_expire(c);
    calls_overdue(c);
    observe_deadlines(c);
}
