/*
 * answers.c - what calls led to, and what follows when one does not return.
 *
 * A refusal that is sure (stockout, quota, invalid, auth) ends the intents it
 * was for, so that the next plan looks elsewhere at once.  An answer that is
 * not (a reset, a lost reply) leaves them in doubt: the same request id is sent
 * again, and the provider gives the same machines.  After some tries it is not
 * sent any more, and the next plan looks elsewhere; what is in doubt counts
 * until a list tells (settle.h).
 */
#include <stdio.h>
#include <string.h>

#include "../../base/ending.h"
#include "providers.h"

enum {
    RETRY_FIRST_MS = 500,
    RETRY_LONGEST_MS = 60000,
    LAUNCH_TRIES = 6, /* about 30 s; then the next plan looks elsewhere */
    LIST_SOON_MS = 200,
};

static int64_t retry_at(const struct providers *p, const struct machine *m,
                        const struct err *e)
{
    int64_t wait = (int64_t)RETRY_FIRST_MS << (m->tries < 8 ? m->tries : 8);

    if (wait > RETRY_LONGEST_MS)
        wait = RETRY_LONGEST_MS;
    if (e->retry_after_ms > wait)
        wait = e->retry_after_ms;
    return p->env->now_ms + wait;
}

static bool refused_for_sure(enum status s)
{
    return s == ST_STOCKOUT || s == ST_QUOTA || s == ST_INVALID ||
           s == ST_AUTH || s == ST_UNSUPPORTED || s == ST_NOT_FOUND;
}

/* Refused, or not: an error after which the machines may be there. */
static bool may_have_worked(enum status s)
{
    return !refused_for_sure(s) && s != ST_THROTTLED;
}

static void backoff_emit(struct providers *p, const struct backoff *r,
                         const char *provider)
{
    char how_long[40] = "until the configuration is loaded again";

    if (r->until_ms != INT64_MAX)
        snprintf(how_long, sizeof how_long, "for %lld s",
                 (long long)(r->until_ms - p->env->now_ms) / 1000);
    emit(p->env, "offer.backoff", *r->of.type ? r->of.type : provider,
         status_name(r->why), "%s%s%s %s", provider, *r->of.zone ? " " : "",
         r->of.zone, how_long);
}

/* One machine of a launch that is answered. */
static void launch_answered(struct providers *p, struct machine *m,
                            const struct call *call)
{
    bool sure = refused_for_sure(call->status), last;

    if (call->status == ST_OK) {
        m->progress_ms = p->env->now_ms;
        m->maybe.doubt = m->maybe.given_up = false;
        m->failure = ST_OK;
        machine_to(p->ledger, m, STATE_REQUESTED);
        return;
    }
    m->maybe.doubt = m->maybe.doubt || may_have_worked(call->status);
    last = sure || ++m->tries >= LAUNCH_TRIES || m->maybe.given_up;
    if (last && m->maybe.doubt) {
        machine_doubt(p->ledger, m, &call->err);
    } else if (last) {
        machine_fail(p->ledger, m, call->status, call->err.text);
        machine_to(p->ledger, m, STATE_GONE);
    } else {
        m->failure = call->status;
        m->progress_ms = p->env->now_ms;
        MACHINE_SET(m, detail, call->err.text);
        m->retry_ms = retry_at(p, m, &call->err);
    }
}

static uint32_t launch_machines(struct providers *p, const struct call *call)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        struct machine *m = p->ledger->fleet.v[i];

        if (m->state != STATE_INTENDED ||
            strcmp(m->request_id, call->request_id) != 0)
            continue;
        m->busy = false;
        waiting++;
        launch_answered(p, m, call);
    }
    return waiting;
}

static void launched_seen(struct providers *p, const struct provider_state *s,
                          const struct call *call)
{
    struct unmatched rest;

    fleet_index(&p->ledger->fleet);
    unmatched_make(p, s->conf->name, false, &rest);
    for (uint32_t i = 0; i < call->machines.n; i++)
        machine_seen(p, s, &call->machines.v[i], false, &rest);
    unmatched_done(&rest);
}

/* s: NULL for settings that are others now.  Refusals of before a reload say
 * nothing after it, whatever a file says: what was mended may be elsewhere. */
static void answer_launch(struct providers *p, struct provider_state *s,
                          const struct call *call)
{
    const char *provider = provider_name(call->provider);
    const struct backoff *backoff = NULL;
    uint32_t waiting;

    if (s && call->machines.n > 0)
        launched_seen(p, s, call);
    if (s && s->provider == call->provider)
        backoff = backoffs_note_launch(
            p->ledger->backoffs, call_offer_key(call), call->count,
            call->machines.n, &call->err, p->env->now_ms);
    waiting = launch_machines(p, call);
    if (call->status == ST_OK)
        return;
    atomic_fetch_add(&p->env->metrics.launch_failures, 1);
    figure_count(
        &p->env->metrics.figures, FIGURE_LAUNCH_FAILED, 1,
        FIGURE_LABELS_(call->type, provider, status_name(call->status)));
    emit(p->env, "launch.failed", call->type, status_name(call->status),
         "%s, %u of %u: %s%s%s", provider, waiting, call->count, call->err.code,
         *call->err.code ? ": " : "", call->err.text);
    if (backoff && backoff->until_ms > p->env->now_ms)
        backoff_emit(p, backoff, provider);
}

/* late: it hung, and another call may be under way for the machine by now. */
static bool terminate_answered(struct providers *p, struct machine *m,
                               enum status s, const struct err *e, bool late)
{
    if (!late)
        m->busy = false;
    if (s == ST_OK || s == ST_NOT_FOUND) {
        /* The list tells when it is gone.  If it stays, it is asked again: a
         * target that crept up again is not our ending. */
        m->tries = 0;
        m->maybe.ended_ms = p->env->now_ms;
        m->retry_ms = p->env->now_ms + RETRY_LONGEST_MS;
    } else {
        if (may_have_worked(s))
            m->maybe.end_doubt_ms = p->env->now_ms;
        m->tries += !late; /* it was counted when it hung */
        m->failure = s;
        m->retry_ms = retry_at(p, m, e);
        return false;
    }
    return true;
}

/* Whom a call to end it was for, by our name: its provider may be called
 * otherwise by now.  NULL: it is over. */
static struct machine *machine_to_end(const struct providers *p,
                                      const struct call *call, uint32_t i)
{
    struct machine *m = fleet_by_id(&p->ledger->fleet, call->names[i]);

    return m && strcmp(m->cloud_id, call->ids[i]) == 0 &&
                   m->state == STATE_STOPPING
               ? m
               : NULL;
}

static void answer_terminate(struct providers *p, struct provider_state *state,
                             const struct call *call, bool late)
{
    const char *provider = provider_name(call->provider);
    bool good = true;

    if (state && late)
        state->ends_due_ms = p->env->mono_ms; /* it answers again */
    for (uint32_t i = 0; i < call->n_ids; i++) {
        struct machine *m = machine_to_end(p, call, i);
        enum status s = call->job.abandoned ? ST_RETRY : call->done[i];

        if (m && call->console && !call->job.abandoned && *call->console[i])
            emit_text(p->env, "node.console", m->id, "", call->console[i]);
        if (m)
            good = terminate_answered(p, m, s, &call->err, late) && good;
    }
    if (good)
        return;
    atomic_fetch_add(&p->env->metrics.end_failures, 1);
    emit(p->env, "end.failed", provider, status_name(call->status), "%s",
         call->err.text);
}

/* A launch or terminate call: its list is asked for soon. */
static void answer(struct providers *p, struct provider_state *s,
                   struct call *call, bool late)
{
    if (call->job.abandoned)
        call->status = err_set(&call->err, ST_RETRY,
                               "no answer within the time limit");
    if (call->op == CALL_LAUNCH)
        answer_launch(p, s, call);
    else
        answer_terminate(p, s, call, late);
    if (s && call->op == CALL_LAUNCH)
        s->launched_ms = p->env->now_ms;
    if (s)
        s->list_due_ms = p->env->mono_ms + LIST_SOON_MS;
    if (s && call->status != ST_OK)
        offers_soon(s);
}

static const char *const op_names[] = {[CALL_LIST] = "list",
                                       [CALL_LAUNCH] = "launch",
                                       [CALL_TERMINATE] = "terminate",
                                       [CALL_OFFERS] = "offers",
                                       [CALL_FIND] = "find"};

void calls_ending_tell(const struct providers *p)
{
    char text[200] = "";
    size_t n = 0;

    for (uint32_t i = 0; i < p->calls.n && n < sizeof text; i++) {
        const struct call *c = p->calls.v[i].call;

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s of %s",
                              i ? ", " : "", op_names[c->op],
                              provider_name(c->provider));
    }
    ending_waits("%s", *text ? text : "the workers that call providers");
}

static void call_count(struct providers *p, const struct call *call)
{
    struct metrics *m = &p->env->metrics;
    const char *provider = provider_name(call->provider);

    atomic_fetch_add(&m->provider_calls, 1);
    figure_time(&m->figures, FIGURE_CALL, call->took_ms * 1000,
                FIGURE_LABELS_(provider, op_names[call->op]));
    if (call->status == ST_OK)
        return;
    atomic_fetch_add(&m->provider_failures, 1);
    figure_count(&m->figures, FIGURE_CALL_FAILED, 1,
                 FIGURE_LABELS_(provider, op_names[call->op],
                                status_name(call->status)));
}

void providers_fold(struct providers *p, struct mail *mail)
{
    struct call *call = (struct call *)mail;
    struct call_in_flight was = call_landed(p, call);
    struct provider_state *s = was.of;

    if (p->env->stopping && call->job.abandoned) {
        call_free(call); /* dropped unrun: it says nothing */
        return;
    }
    call_count(p, call);
    if (call->op != CALL_OFFERS &&
        (call->op != CALL_LIST || call->status != ST_OK))
        p->env->news = true; /* offers and a good list tell themselves */
    if (call->op == CALL_LAUNCH || call->op == CALL_TERMINATE)
        answer(p, s, call, was.overdue);
    else if (call->op == CALL_FIND)
        finds_answered(p, s, call);
    else if (was.overdue)
        ; /* another one was asked since, and tells more */
    else if (s && call->op == CALL_LIST)
        provider_listed(p, s, call);
    else if (s)
        provider_offered(p, s, call);
    call_free(call);
}

/* ---- calls that do not return */

/* Its machines stay busy, and in doubt, until it returns. */
static void launch_hangs(struct providers *p, const struct call *call,
                         const struct err *e)
{
    backoffs_note_launch(p->ledger->backoffs, call_offer_key(call), call->count,
                         0, e, p->env->now_ms);
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        struct machine *m = p->ledger->fleet.v[i];

        if (m->state == STATE_INTENDED &&
            strcmp(m->request_id, call->request_id) == 0)
            machine_doubt(p->ledger, m, e);
    }
}

/* Another call asks for the same, later each time (calls.c): to end what has
 * ended does no harm. */
static void terminate_hangs(struct providers *p, struct provider_state *s,
                            const struct call *call)
{
    if (s)
        ends_pause(p, s);
    for (uint32_t i = 0; i < call->n_ids; i++) {
        struct machine *m = machine_to_end(p, call, i);

        if (m && m->busy) {
            m->busy = false;
            m->maybe.end_doubt_ms = p->env->now_ms;
            m->retry_ms = p->env->now_ms + RETRY_LONGEST_MS;
            m->tries++;
        }
    }
}

/* A list counts as failed (nothing is ended on old facts), a launch is in doubt
 * and the next plan looks elsewhere.  What the call does after all is found by
 * the list.  The worker still has it: only what was set before it was sent may
 * be read here. */
static void call_hangs(struct providers *p, struct provider_state *s,
                       struct call *call)
{
    struct err e;

    atomic_store(&call->cancel, true);
    err_set(&e, ST_RETRY, "%s has not returned for %lld s: the plug-in hangs",
            op_names[call->op],
            (long long)(p->env->mono_ms - call->started_mono_ms) / 1000);
    if (s && call->op == CALL_LIST)
        list_hangs(p, s);
    if (s && call->op == CALL_OFFERS)
        offers_hang(p, s);
    if (s)
        provider_problem(p, s, &e);
    if (call->op == CALL_LAUNCH)
        launch_hangs(p, call, &e);
    if (call->op == CALL_TERMINATE)
        terminate_hangs(p, s, call);
}

void calls_overdue(struct providers *p)
{
    for (uint32_t i = 0; i < p->calls.n; i++) {
        struct call_in_flight *f = &p->calls.v[i];

        if (f->overdue)
            continue;
        if (p->env->mono_ms < f->deadline_ms + LAST_CHANCE_MS) {
            env_wake_mono(p->env, f->deadline_ms + LAST_CHANCE_MS);
            continue;
        }
        f->overdue = true;
        f->overdue_ms = p->env->mono_ms;
        p->env->news = true;
        call_hangs(p, f->of, f->call);
    }
}
