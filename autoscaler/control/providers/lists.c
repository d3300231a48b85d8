/*
 * lists.c - when providers are asked for their machines and offers, and what
 * a list tells.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../settle.h"
#include "providers.h"

enum {
    LIST_BUSY_MS = 1000, /* while something is on its way or going */
    LIST_QUIET_MS = 15000,
    LIST_TIMEOUT_MS = 60000,
    HANGS_DOUBLED = 3, /* one that hangs is asked again after 2, 4, 8 minutes */
    STILL_SHARE = 60,  /* what has not moved for so long is looked for at a
                       * pause of that time's 60th part */
    SHORT_LEAST = 3,   /* so many may vanish from a list together, */
    SHORT_SHARE = 10,  /* or a tenth of the provider's machines */
    ALIVE_FRESH_MS = 30000,
    FRESH_MS = 5000, /* a view of so shortly before a list is of its moment */
};

enum belief { BELIEVED, BELIEVED_IN_PART, DOUBTED };

struct missing { /* machines that a list lacks */
    uint32_t doubted, confirmed;
};

/* How soon its next list is wanted: at once while something moves, less often
 * for what has not moved for long, so that one stuck machine does not cost
 * 86,000 lists a day. */
static int64_t list_pause(const struct providers *p,
                          const struct provider_state *s)
{
    int64_t pause = LIST_QUIET_MS;

    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        const struct machine *m = p->ledger->fleet.v[i];
        int64_t moved = m->progress_ms > m->since_ms ? m->progress_ms
                                                     : m->since_ms;
        int64_t still;

        moved = m->maybe.missing_ms > moved ? m->maybe.missing_ms : moved;
        moved = m->maybe.said_ms > moved ? m->maybe.said_ms : moved;
        still = p->env->now_ms - moved;

        if ((m->state == STATE_READY && !m->maybe.missing_ms &&
             !machine_in_doubt(m)) ||
            m->state == STATE_GONE || strcmp(m->provider, s->conf->name) != 0)
            continue;
        if (still / STILL_SHARE < pause)
            pause = still / STILL_SHARE;
    }
    return pause > LIST_BUSY_MS ? pause : LIST_BUSY_MS;
}

static bool list_is_doubted(const struct providers *p,
                            const struct provider_state *s,
                            struct missing *ret);

/* A wave of a spot market takes half of a fleet at once.  When the machines'
 * nodes are dead too, the list is asked for at once, and believed. */
static void list_after_witness(const struct providers *p,
                               struct provider_state *s)
{
    struct missing n;

    if (!s->short_since_ms || s->short_asked || s->listing ||
        (list_is_doubted(p, s, &n) && n.confirmed <= n.doubted))
        return;
    s->short_asked = true;
    s->list_due_ms = p->env->mono_ms;
}

static void list_poll(struct providers *p, struct provider_state *s)
{
    int64_t now = p->env->mono_ms, pause;
    struct call *call;
    char who[WHO_TEXT];

    if (s->listing || s->elsewhere)
        return;
    list_after_witness(p, s);
    pause = list_pause(p, s);
    if (s->list_failures == 0 && s->list_due_ms > s->list_last_ms + pause)
        s->list_due_ms = s->list_last_ms + pause;
    if (now < s->list_due_ms) {
        env_wake_mono(p->env, s->list_due_ms);
        return;
    }
    if (!calls_room(p, s, CALL_LIST))
        return; /* the next answer makes room */
    s->listing = true;
    s->list_last_ms = now;
    call = call_new(s->provider, CALL_LIST, MAIL_CALL);
    beside_who(p->ledger, who);
    call->who = arena_strdup(&call->arena, who);
    call_send(p, s, call, LIST_TIMEOUT_MS);
}

static void offers_poll(struct providers *p, struct provider_state *s)
{
    if (s->awaited && p->env->mono_ms >= s->await_until_ms) {
        s->awaited = false;
        p->env->news = true;
    } else if (s->awaited) {
        env_wake_mono(p->env, s->await_until_ms);
    }
    if (s->offering || s->elsewhere ||
        !(provider_caps(s->provider) & DAVIT_CAP_OFFERS))
        return;
    if (p->env->mono_ms < s->offers_due_ms) {
        env_wake_mono(p->env, s->offers_due_ms);
        return;
    }
    if (!calls_room(p, s, CALL_OFFERS))
        return; /* the next answer makes room */
    s->offering = true;
    s->offers_last_ms = p->env->mono_ms;
    call_send(p, s, call_new(s->provider, CALL_OFFERS, MAIL_CALL),
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

    p->env->news = true;
    s->list_failures++;
    wait = LIST_BUSY_MS << (s->list_failures < 5 ? s->list_failures : 5);
    if (e->retry_after_ms > wait)
        wait = e->retry_after_ms;
    s->list_due_ms = p->env->mono_ms + wait;
    provider_problem(p, s, e);
}

void list_hangs(struct providers *p, struct provider_state *s)
{
    int64_t wait = LIST_TIMEOUT_MS;

    s->listing = false;
    s->list_failures++;
    wait <<= s->list_failures < HANGS_DOUBLED ? s->list_failures
                                              : HANGS_DOUBLED;
    s->list_due_ms = p->env->mono_ms + wait;
    p->env->news = true;
}

void offers_hang(struct providers *p, struct provider_state *s)
{
    s->offering = false;
    s->offers_due_ms = p->env->mono_ms + SHORT_MS;
}

/* ---- what is not in it */

/* From its last list. */
static bool is_missing(const struct provider_state *s, const struct machine *m)
{
    return m->seen_ms != s->told_ms && strcmp(m->provider, s->conf->name) == 0;
}

/* Two witnesses agree: the demand source, read since, has its node as dead, or
 * its cloud, asked for it by its id, says that it is no more. */
static bool seen_dead(const struct providers *p, const struct provider_state *s,
                      const struct machine *m)
{
    return m->maybe.lost || (m->maybe.dead && p->ledger->source_read_ms >=
                                                  s->told_ms - FRESH_MS);
}

static bool is_doubtful(const struct providers *p,
                        const struct provider_state *s, const struct machine *m)
{
    return standing_of(m) == STANDING_THERE && m->seen_ms && is_missing(s, m) &&
           !seen_dead(p, s, m);
}

/* Do so many machines vanish together, without a second witness of it, that the
 * list is rather wrong than they are gone? */
static bool list_is_doubted(const struct providers *p,
                            const struct provider_state *s, struct missing *ret)
{
    uint32_t there = 0;

    *ret = (struct missing){0};
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        const struct machine *m = p->ledger->fleet.v[i];

        if (strcmp(m->provider, s->conf->name) != 0 || !m->seen_ms ||
            m->state == STATE_GONE)
            continue;
        there += standing_of(m) == STANDING_THERE;
        ret->doubted += is_doubtful(p, s, m);
        ret->confirmed += is_missing(s, m) && seen_dead(p, s, m);
    }
    return ret->doubted > SHORT_LEAST && ret->doubted > there / SHORT_SHARE;
}

/* It is believed when it says so for ten minutes, or a person does (`davit
 * release`).  Where most of what it lacks has a second witness, it is right, and
 * only the others wait. */
static enum belief list_judge(struct providers *p, struct provider_state *s)
{
    struct missing n;

    s->short_asked = false;
    if (!list_is_doubted(p, s, &n)) {
        s->short_since_ms = 0;
        s->short_believed = false;
        return BELIEVED;
    }
    if (!s->short_since_ms)
        s->short_since_ms = p->env->now_ms;
    s->short_by = n.doubted;
    if (s->short_believed || p->env->now_ms - s->short_since_ms >= SHORT_MS)
        return BELIEVED;
    return n.confirmed > n.doubted ? BELIEVED_IN_PART : DOUBTED;
}

/* A demand source that can be read sees it alive: one of the two is wrong. */
static bool seen_alive(const struct providers *p, const struct machine *m)
{
    return m->maybe.alive &&
           p->env->now_ms - p->ledger->source_read_ms < ALIVE_FRESH_MS;
}

/* How long it must be missing: not at all when its cloud says by its id that it
 * is gone; longer than a list may lag when it is seen alive. */
static int64_t missing_least_ms(const struct providers *p,
                                const struct provider_state *s,
                                const struct machine *m)
{
    int64_t settle = provider_settle_ms(s->provider);

    if (m->maybe.lost)
        return 0;
    return seen_alive(p, m) && settle < SHORT_MS ? SHORT_MS : settle;
}

static void all_missed(struct providers *p, struct provider_state *s,
                       int64_t list_begun_ms, enum belief belief)
{
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        struct machine *m = p->ledger->fleet.v[i];

        /* The cloud's word on the machine itself weighs more than its list;
         * a person's weighs most. */
        if (find_has(p, m) && !s->short_believed)
            continue;
        if (is_missing(s, m) && (belief == BELIEVED || !is_doubtful(p, s, m)))
            machine_missed(p, m, list_begun_ms, missing_least_ms(p, s, m));
    }
}

/* Those that the ledger knows come first: a new one may be in the place of one
 * that is not there any more. */
static void all_seen(struct providers *p, const struct provider_state *s,
                     const struct call *call)
{
    const uint32_t n = call->machines.n;
    uint32_t *unknown = MEM_ARRAY(uint32_t, n), n_unknown = 0;
    struct unmatched rest;

    fleet_index(&p->ledger->fleet);
    for (uint32_t i = 0; i < n; i++)
        if (machine_known(p, s, &call->machines.v[i]))
            machine_seen(p, s, &call->machines.v[i], true, NULL);
        else
            unknown[n_unknown++] = i;
    if (n_unknown) {
        unmatched_make(p, s->conf->name, true, &rest);
        for (uint32_t i = 0; i < n_unknown; i++) {
            const struct call_machine *cm = &call->machines.v[unknown[i]];

            if (!machine_known(p, s, cm)) /* it may be twice in the list */
                machine_seen(p, s, cm, true, &rest);
        }
        unmatched_done(&rest);
    }
    free(unknown);
}

void provider_listed(struct providers *p, struct provider_state *s,
                     struct call *call)
{
    int64_t ago = p->env->mono_ms - call->started_mono_ms;
    struct err short_list;
    enum belief belief;
    bool changed;
    uint32_t held = 0;

    s->listing = false;
    if (call->job.abandoned && call->status == ST_OK)
        call->status = err_set(&call->err, ST_RETRY,
                               "its list came too late to be true");
    if (call->status != ST_OK) {
        list_failed(p, s, &call->err);
        return;
    }
    changed = s->machines != call->machines.n;
    if (beside_met(&p->beside, p->ledger, p->conf->now->cluster, s->conf->name,
                   call))
        p->env->news = true;
    all_seen(p, s, call);
    s->machines = call->machines.n;
    s->told_ms = p->env->now_ms;
    finds_ask(p, s);
    belief = list_judge(p, s);
    if (belief == DOUBTED) {
        err_set(&short_list, ST_RETRY,
                "its list lacks %u machines at once: not believed before it "
                "says so for %d minutes (or `davit release`)",
                s->short_by, SHORT_MS / 60000);
        list_failed(p, s, &short_list);
        return;
    }
    /* What it says of machines changes the fleet, or else nothing. */
    if (!provider_is_read(s) || *s->problem || changed)
        p->env->news = true;
    s->list_failures = 0;
    s->list_due_ms = p->env->mono_ms + LIST_QUIET_MS;
    s->listed_ms = p->env->now_ms;
    s->list_begun_ms = p->env->now_ms - (ago > 0 ? ago : 0);
    provider_problem(p, s, NULL);
    machines_renamed(p, s->conf->name);
    all_missed(p, s, s->list_begun_ms, belief);
    ours_listed(p->ledger, s->conf->name);
    for (uint32_t i = 0; i < call->machines.n; i++)
        held += *call->machines.v[i].held != '\0';
    /* An upgrade has begun or is over. */
    if ((held > 0) != (s->held > 0))
        offers_soon(s);
    s->held = held;
}
