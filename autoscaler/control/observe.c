/*
 * observe.c - see observe.h.
 */
#include "observe.h"

#include "providers/launches.h"
#include "settle.h"

enum {
    DRAIN_MARGIN_MS = 300000, /* beside the time that work was given */
    UNSENT_MS = 60000,
    /* not sent again for so long, as nothing needs it: nothing is bought in its
     * place, but what needs something else may have waited for it */
    UNNEEDED_MS = 60000,
    /* longer than a launch whose answer was lost may take to come in (settle.c)
     * and a list after that: sooner, another one would be bought beside it */
    UNANSWERED_MS = 300000,
    END_LATE_MS = 600000,
    START_TIMES =
        4, /* all of its way takes no longer than so many times what each
                      * step of it may */
};

/* What runs on it is not known, or not its launch's fault: it is told, and says
 * nothing of its offer. */
static bool late_stranger(struct observe *o, struct machine *m)
{
    switch (machine_unjoined(o->sources, m)) {
    case UNJOINED_STRANGER:
        machine_fail(o->ledger, m, ST_RETRY,
                     "it never joined, and Davit did not launch it: it is left "
                     "alone; `davit adopt`, or limits.end_unjoined");
        return true;
    case UNJOINED_MISSING:
        machine_fail(o->ledger, m, ST_RETRY,
                     "it was ready, and the demand source has no node of it "
                     "any more: it is left alone; `davit drain`");
        return true;
    case UNJOINED_UNMATCHED:
    case UNJOINED_NOT: break;
    }
    if (!m->ready_ms)
        return false;
    machine_fail(o->ledger, m, ST_RETRY, "it has not joined again in time");
    return true; /* it was of use: that says nothing of its offer */
}

/* Without a source it is the list that tells that a machine runs: one that was
 * asked for before may be as old as a list is slow. */
static bool list_is_awaited(const struct observe *o, const struct machine *m,
                            int64_t until)
{
    const struct provider_state *p = provider_find(o->providers, m->provider);

    return !o->sources->n && p && p->list_begun_ms < until;
}

/* While its provider or a source cannot be read there is no progress to be seen. */
static void blind_count(const struct observe *o, struct machine *m)
{
    int64_t now = o->env->now_ms;

    if (!provider_is_read(provider_find(o->providers, m->provider)) ||
        !sources_fresh(o->sources) || m->maybe.contested || m->maybe.queued) {
        m->progress_ms = now; /* its step begins anew */
        m->maybe.unwatched_ms = TIME_UNWATCHED;
        if (!m->maybe.blind_since_ms)
            m->maybe.blind_since_ms = now;
    } else if (m->maybe.blind_since_ms) {
        m->maybe.blind_ms += now - m->maybe.blind_since_ms;
        m->maybe.blind_since_ms = 0;
    }
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* All of its way, what nobody could see of it left out; a process that has just
 * begun looks at it for as long as a step may take. */
static int64_t way_until(const struct observe *o, const struct machine *m,
                         int64_t limit)
{
    int64_t begun = later(m->created_ms, m->maybe.sent_ms);

    if (m->ready_ms)
        begun = m->since_ms; /* it comes again */
    return later(begun + START_TIMES * limit + m->maybe.blind_ms,
                 o->env->started_ms + limit);
}

/* A machine on its way that has made no step for start_timeout has failed; a slow
 * one that moves has not (kuberay issues 4226 and 5233: a fixed time is wrong both
 * ways), for START_TIMES as long. */
static void coming_late(struct observe *o, struct machine *m)
{
    int64_t now = o->env->now_ms, limit = o->conf->now->start_timeout_ms, until,
            most;
    struct err e;

    blind_count(o, m);
    until = later(m->progress_ms, m->since_ms) + limit;
    most = way_until(o, m, limit);
    if (!m->maybe.blind_since_ms && most < until)
        until = most;
    if (until > now) {
        env_wake_wall(o->env, until);
        return;
    }
    if (m->why == REASON_END_FAILED) {
        /* Told before, perhaps by an earlier process. */
        m->maybe.given_up = !*m->cloud_id;
        return;
    }
    if (m->maybe.given_up || list_is_awaited(o, m, until))
        return;
    if (late_stranger(o, m))
        return;
    err_set(&e, ST_RETRY, "no progress for %lld s after its launch%s%s",
            (long long)(now - later(m->progress_ms, m->since_ms)) / 1000,
            *m->detail ? ": " : "", m->detail);
    if (until == most)
        err_set(&e, ST_RETRY,
                "it did not come in %lld s, %d times "
                "limits.start_timeout, though it moved%s%s",
                (long long)(START_TIMES * limit / 1000), START_TIMES,
                *m->detail ? ": " : "", m->detail);
    /* It was accepted and never seen: it counts until a list tells. */
    m->maybe.given_up = !*m->cloud_id;
    machine_fail_life(o->ledger, m, &e);
}

/* Those of its offer before it that were of no use are forgotten when it has lived
 * for a while: one that joins and dies at once ends no row. */
static void proof_due(struct observe *o, struct machine *m)
{
    int64_t at = machine_proves_ms(m);

    if (m->maybe.proved || !m->ready_ms)
        return;
    if (at > o->env->now_ms)
        env_wake_wall(o->env, at);
    else if (m->maybe.dead)
        machine_vain(o->ledger, m); /* it may be ready again yet */
    else
        machine_proved(o->ledger, m);
}

/* The source agreed to drain it, and its work has had the time it was given. */
static void drained_late(struct observe *o, struct machine *m)
{
    const struct source *h = source_of_machines(o->sources);
    int64_t asked = m->drain_since_ms + DRAIN_DEADLINE_MS;
    int64_t until = DRAIN_MARGIN_MS + (m->maybe.deadline_ms > asked
                                           ? m->maybe.deadline_ms
                                           : asked);

    if (h && h->ops->drains_in_steps)
        return; /* its steps have a limit of their own */
    if (!m->drain_accepted || !*m->ray_id || !sources_fresh(o->sources) ||
        !source_drains_still(o->sources, m))
        return;
    if (o->env->now_ms < until) {
        env_wake_wall(o->env, until);
        return;
    }
    machine_to(o->ledger, m, STATE_STOPPING);
    atomic_fetch_add(&o->env->metrics.ends, 1);
}

/* Asked for, and its cloud's list still has it after a while. */
static void end_late(struct observe *o, struct machine *m)
{
    int64_t until = m->since_ms + END_LATE_MS;

    if (m->maybe.told || machine_is_anothers(m))
        return;
    if (until > o->env->now_ms) {
        env_wake_wall(o->env, until);
        return;
    }
    m->maybe.told = true;
    o->env->news = true; /* for the page */
    emit(o->env, "end.late", m->id, status_name(m->failure),
         "%s is to be ended since %d minutes and still there: it is asked for "
         "again, and counts%s%s",
         m->type, END_LATE_MS / 60000, *m->detail ? ": " : "", m->detail);
}

/* One that left and is not answered may exist.  Sent again, it is found by its
 * request id; much later it would buy what was needed then.  While it is not needed
 * it is not sent, and only a list can tell: it need not count for so long. */
static int64_t unanswered_until(const struct observe *o, struct launches *l,
                                const struct machine *m)
{
    int64_t until = m->progress_ms + UNANSWERED_MS;
    int64_t since = launch_unneeded_since(l, o->ledger, m);

    if (since == INT64_MAX)
        return until;
    if (since < m->progress_ms)
        since = m->progress_ms;
    if (since < o->env->started_ms)
        since = o->env->started_ms; /* the first plan says what is needed */
    return since + UNNEEDED_MS < until ? since + UNNEEDED_MS : until;
}

static void unanswered_late(struct observe *o, struct launches *l,
                            struct machine *m)
{
    int64_t until;
    struct err e;

    if (m->busy || m->maybe.given_up)
        return;
    until = unanswered_until(o, l, m);
    if (until > o->env->now_ms) {
        env_wake_wall(o->env, until);
        return;
    }
    err_set(&e, m->failure ? m->failure : ST_RETRY,
            "its launch was not answered, and could not be sent again for %d s",
            (int)((o->env->now_ms - m->progress_ms) / 1000));
    machine_doubt(o->ledger, m, &e);
}

/* An intent that could not even be sent for a while (its offer backs off, its
 * provider cannot be read) would look like a node to come for as long: it is
 * given up, and the next plan looks elsewhere.  While it cannot be written down, or
 * ends go first, no launch may leave, whichever: its time begins after that. */
static void intent_late(struct observe *o, struct launches *l,
                        struct machine *m)
{
    const struct provider_state *p = provider_find(o->providers, m->provider);
    int64_t until = m->progress_ms + UNSENT_MS;

    if (standing_of(m) == STANDING_ASKED)
        unanswered_late(o, l, m);
    if (standing_of(m) != STANDING_PLANNED)
        return;
    if (!p) {
        machine_fail(o->ledger, m, ST_INVALID,
                     "its provider is no longer configured");
    } else if (!o->ledger->journal_ok || machine_waits(o->ledger, m) ||
               p->ends_first) {
        m->progress_ms = o->env->now_ms;
        return;
    } else if (until <= o->env->now_ms) {
        machine_fail(
            o->ledger, m, m->failure ? m->failure : ST_RETRY,
            *m->detail ? m->detail : "its launch could not be sent for 60 s");
    } else {
        env_wake_wall(o->env, until);
        return;
    }
    machine_to(o->ledger, m, STATE_GONE);
}

/* ---- reservations */

static bool is_over(const struct conf_reserved *r, int64_t now_ms)
{
    return r->until_ms && now_ms >= r->until_ms - r->drain_before_ms;
}

/* Its cloud ends it with its reservation, or goes on at the full price: it is
 * left in time, as one that is taken back; a later end keeps it after all. */
static void reservation_ends(struct observe *o, struct machine *m)
{
    const struct conf_type *t = type_find(o->conf->now, m->type);
    bool over = t && t->reserved.given && is_over(&t->reserved, o->env->now_ms);

    if (over == m->maybe.expires || m->state >= STATE_STOPPING)
        return;
    m->maybe.expires = m->maybe.leaving = over;
    m->maybe.leaves_ms = over ? t->reserved.until_ms : 0;
    if (!over && m->state == STATE_DRAINING && !m->drain_accepted &&
        m->why == REASON_END_TAKEN)
        machine_take_back(o->ledger, m);
    fleet_touch(&o->ledger->fleet, m);
    o->env->news = true;
    emit(o->env, over ? "node.leaving" : "node.stays", m->id,
         reason_code(REASON_END_TAKEN), "%s%s", m->type,
         over ? ": its reservation ends" : ": its reservation ends later");
}

/* One that begins or is left changes what can be bought. */
static void reservations_pass(struct observe *o)
{
    const struct config *c = o->conf->now;
    int64_t now = o->env->now_ms;
    uint32_t stages = 0;

    for (uint32_t i = 0; i < c->n_types; i++) {
        const struct conf_reserved *r = &c->types[i].reserved;

        if (!r->given)
            continue;
        if (r->from_ms > now)
            env_wake_wall(o->env, r->from_ms);
        else if (r->until_ms && !is_over(r, now))
            env_wake_wall(o->env, r->until_ms - r->drain_before_ms);
        stages += r->from_ms <= now ? 1 : 0;
        stages += is_over(r, now) ? 1 : 0;
    }
    if (stages != o->stages)
        o->env->news = true;
    o->stages = stages;
    for (uint32_t i = 0; i < o->ledger->fleet.n; i++)
        reservation_ends(o, o->ledger->fleet.v[i]);
}

void observe_deadlines(struct observe *o)
{
    struct launches launches = {0};

    reservations_pass(o);
    for (uint32_t i = 0; i < o->ledger->fleet.n; i++) {
        struct machine *m = o->ledger->fleet.v[i];

        if (m->state == STATE_REQUESTED || m->state == STATE_STARTING)
            coming_late(o, m);
        else if (m->state == STATE_DRAINING)
            drained_late(o, m);
        else if (m->state == STATE_INTENDED)
            intent_late(o, &launches, m);
        else if (m->state == STATE_STOPPING)
            end_late(o, m);
        else if (m->state == STATE_READY)
            proof_due(o, m);
    }
    launches_done(&launches);
}
