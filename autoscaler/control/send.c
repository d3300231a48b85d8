/*
 * send.c - see send.h.
 */
#include "send.h"

#include <string.h>

#include "last_look.h"
#include "ours.h"
#include "providers/launches.h"
#include "rare.h"
#include "settle.h"

enum {
    CALL_TIMEOUT_MS = 120000,
    TERMINATE_BATCH = 500,
    ENDS_FIRST_MS = 20000 /* launches may keep ends waiting for so long */
};

/* ---- launches */

/* One leaves when all of its machines are on disk, and in the copy. */
static bool launch_waits(const struct send *s, struct launches *l,
                         const struct machine *first)
{
    return launch_sum(l, s->ledger, first)->waits;
}

static bool backs_off(const struct send *s, const struct machine *m)
{
    const struct backoff *b = backoffs_find(s->ledger->backoffs,
                                            machine_offer(m), s->env->now_ms);

    if (!b || b->until_ms <= s->env->now_ms)
        return false;
    env_wake_wall(s->env, b->until_ms);
    return true;
}

/* One that may have left before, in another process too, is sent again only for
 * what is needed now, all of it: the same request can ask for no less, and may
 * make one anew that ends.  Of those that the ledger has no more it is known that
 * they are gone. */
static bool is_needed(const struct send *s, struct launches *l,
                      const struct machine *first)
{
    return launch_unneeded_since(l, s->ledger, first) == INT64_MAX;
}

/* It stood in line (for a place among the calls, for the copy, for a back-off), and
 * what it was planned for is over: the next plan launches what is needed.  Only
 * requests last from one look to the next for sure; work that is pending may be
 * in doubt for a moment. */
static bool launch_is_void(const struct send *s, struct launches *l,
                           const struct machine *first)
{
    return standing_of(first) == STANDING_PLANNED &&
           first->why == REASON_FOR_REQUEST && !is_needed(s, l, first);
}

static void launch_drop(const struct send *s, const char *request_id,
                        const char *why)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        struct machine *m = s->ledger->fleet.v[i];

        if (m->state != STATE_INTENDED ||
            strcmp(m->request_id, request_id) != 0)
            continue;
        emit(s->env, "launch.dropped", m->id, "", "%s: it has not left, and %s",
             m->type, why);
        machine_to(s->ledger, m, STATE_GONE);
    }
    s->env->news = true;
    env_wake_wall(s->env, s->env->now_ms);
}

static void launch_mark(const struct send *s, const char *request_id)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        struct machine *m = s->ledger->fleet.v[i];

        if (m->state != STATE_INTENDED ||
            strcmp(m->request_id, request_id) != 0)
            continue;
        m->busy = true;
        m->maybe.sent_ms = m->progress_ms = s->env->now_ms;
        m->maybe.unlisted = false;
        m->maybe.missing_ms = 0;
    }
}

static void launch_send(struct send *s, struct launches *l,
                        const struct machine *first)
{
    struct provider_state *p = provider_find(s->providers, first->provider);
    char token[JOIN_TOKEN_MAX];
    struct call *call;

    /* Truth first: its machines may be there already, or no longer needed; and
     * what cannot be seen is not bought. */
    if (!provider_is_read(p) || p->ends_first ||
        !calls_room(s->providers, p, CALL_LAUNCH) ||
        launch_waits(s, l, first) || backs_off(s, first) ||
        (first->maybe.doubt && !is_needed(s, l, first)))
        return;
    if (launch_is_void(s, l, first)) {
        launch_drop(s, first->request_id, "is not needed any more");
        return;
    }
    call = call_new(p->provider, CALL_LAUNCH, MAIL_CALL);
    call->type = arena_strdup(&call->arena, first->type);
    call->zone = arena_strdup(&call->arena, first->zone);
    call->request_id = arena_strdup(&call->arena, first->request_id);
    if (provider_caps(p->provider) & DAVIT_CAP_JOIN) {
        ours_join_token(s->ledger, first->request_id, token);
        call->join_token = arena_strdup(&call->arena, token);
    }
    call->count = first->launch_count;
    call->spot = first->spot;
    launch_mark(s, call->request_id);
    call_send(s->providers, p, call, CALL_TIMEOUT_MS);
}

void send_undo(struct send *s)
{
    const struct fleet *f = &s->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++)
        if (standing_of(f->v[i]) == STANDING_PLANNED &&
            f->v[i]->batch > s->ledger->saved)
            launch_drop(s, f->v[i]->request_id,
                        "could not be written to the journal");
}

/* ---- terminates */

/* It has not joined: what it printed says why, and ends with it. */
static bool console_wanted(const struct machine *m)
{
    return m->why == REASON_END_FAILED && !*m->ray_id && !m->ready_ms &&
           !m->maybe.end_sent && !m->tries;
}

/* Does the end of one of its machines wait for a list that launches leave no room
 * for?  Then they wait, until the calls under way are back and a list is there.  One
 * whose end is confirmed, and asked for again for as long as lists have it, keeps
 * nobody waiting. */
static bool ends_go_first(const struct send *s, const struct last_look *l,
                          const struct provider_state *p)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        const struct machine *m = s->ledger->fleet.v[i];
        int64_t since = m->since_ms > m->retry_ms ? m->since_ms : m->retry_ms;

        if (machine_end_due(s->ledger, m) && !m->maybe.ended_ms &&
            s->env->now_ms - since >= ENDS_FIRST_MS &&
            strcmp(m->provider, p->conf->name) == 0 &&
            last_look_waits_for_launches(l, m))
            return true;
    }
    return false;
}

struct batch { /* of ends that leave together */
    struct call *call;
    const char **ids, **names; /* of the call */
};

static struct batch batch_new(const struct provider_state *p)
{
    struct call *call = call_new(p->provider, CALL_TERMINATE, MAIL_CALL);
    struct batch b = {call,
                      ARENA_ARRAY(&call->arena, const char *, TERMINATE_BATCH),
                      ARENA_ARRAY(&call->arena, const char *, TERMINATE_BATCH)};

    call->ids = b.ids;
    call->names = b.names;
    call->consoles = ARENA_ARRAY(&call->arena, bool, TERMINATE_BATCH);
    return b;
}

static void batch_add(struct batch *b, struct machine *m)
{
    struct call *call = b->call;

    call->consoles[call->n_ids] = console_wanted(m);
    m->busy = m->maybe.end_sent = true;
    b->names[call->n_ids] = arena_strdup(&call->arena, m->id);
    b->ids[call->n_ids++] = arena_strdup(&call->arena, m->cloud_id);
}

static bool end_due(const struct last_look *l, const struct provider_state *p,
                    const struct machine *m)
{
    return machine_end_due(l->ledger, m) &&
           strcmp(m->provider, p->conf->name) == 0 && !last_look(l, m);
}

/* Which ends leave now: those that were tried so often at most, so many. */
struct share {
    uint32_t tries, most;
};

/* All, but while ends hang: those that were tried least, and of what has hung
 * half, as the plug-in may hang on one of them.  It is alone in the end. */
static struct share share_of(const struct send *s, const struct last_look *l,
                             const struct provider_state *p)
{
    struct share r = {UINT32_MAX, 0};
    const struct fleet *f = &s->ledger->fleet;

    if (!ends_hang(s->providers, p))
        return (struct share){UINT32_MAX, UINT32_MAX};
    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];

        if (!end_due(l, p, m) || m->tries > r.tries)
            continue;
        if (m->tries < r.tries)
            r = (struct share){m->tries, 0};
        r.most++;
    }
    if (r.tries > 0)
        r.most = (r.most + 1) / 2;
    return r;
}

static void terminates_send(struct send *s, const struct last_look *l,
                            struct provider_state *p)
{
    struct share share;
    struct batch b = {0};

    share = share_of(s, l, p);
    for (uint32_t i = 0; i < s->ledger->fleet.n && share.most > 0; i++) {
        struct machine *m = s->ledger->fleet.v[i];

        if (m->tries > share.tries || !end_due(l, p, m))
            continue;
        if (!b.call && !ends_may_leave(s->providers, p))
            return;
        if (!b.call)
            b = batch_new(p);
        share.most--;
        batch_add(&b, m);
        if (b.call->n_ids == TERMINATE_BATCH || RARE(BATCH_SMALL)) {
            call_send(s->providers, p, b.call, CALL_TIMEOUT_MS);
            b.call = NULL;
        }
    }
    if (b.call)
        call_send(s->providers, p, b.call, CALL_TIMEOUT_MS);
}

/* ---- drains */

/* A source that ends an accepted node itself; one that drains in steps is asked
 * until the node is empty. */
static bool drains_in_steps(const struct send *s)
{
    const struct source *h = source_of_machines(s->sources);

    return h && h->ops->drains_in_steps;
}

/* Must it go though there is work on it?  An idle one that got work meanwhile
 * need not, unless running work is to be moved.  Kubernetes moves work anyway;
 * there it means to wait for what forbids that, which a saving is not worth. */
static bool drains_work(const struct send *s, const struct machine *m)
{
    if (m->why == REASON_END_CONSOLIDATE)
        return s->conf->now->limits.consolidate == CONSOLIDATE_ON &&
               !drains_in_steps(s);
    if (machine_leaves(m))
        return true;
    return m->why != REASON_END_IDLE && m->ready_ms;
}

/* ---- all together */

/* All of memory when an earlier batch failed. */
static void batch_complete(struct send *s)
{
    if (!s->ledger->stale)
        return;
    ledger_rewrite(s->ledger);
    requests_rewrite(s->requests);
}

bool send_commit(struct send *s)
{
    batch_complete(s);
    return ledger_commit(s->ledger);
}

void send_commit_begin(struct send *s)
{
    batch_complete(s);
    ledger_commit_begin(s->ledger);
}

static void machine_send(struct send *s, struct launches *l, struct machine *m)
{
    if (m->retry_ms > s->env->now_ms && m->state != STATE_READY)
        env_wake_wall(s->env, m->retry_ms + 1);
    if (!machine_due(s->ledger, m))
        return;
    if (m->state == STATE_INTENDED && !m->maybe.given_up)
        launch_send(s, l, m);
    else if (m->state == STATE_DRAINING &&
             (!m->drain_accepted || drains_in_steps(s)))
        source_drain(s->sources, m, drains_work(s, m));
}

bool send_awaits_view(const struct send *s)
{
    for (uint32_t k = 0; k < s->ledger->fleet.n; k++) {
        const struct machine *m = s->ledger->fleet.v[k];

        if (m->state == STATE_STOPPING && !m->busy && !m->maybe.end_sent &&
            !sources_seen_since(s->sources, m->since_ms))
            return true;
    }
    return false;
}

/* The first look at any of them costs a look at the whole ledger. */
static bool any_end_due(const struct send *s)
{
    const struct fleet *f = &s->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++)
        if (machine_end_due(s->ledger, f->v[i]))
            return true;
    return false;
}

/* One whose ends hang says nothing of the others. */
bool send_may_end(const struct send *s)
{
    struct last_look l;

    if (!any_end_due(s))
        return false;
    l = last_look_begin(s->ledger, s->providers, s->sources);
    for (uint32_t i = 0; i < s->providers->all.n; i++) {
        const struct provider_state *p = s->providers->all.v[i];

        if (ends_hang(s->providers, p))
            continue;
        for (uint32_t k = 0; k < s->ledger->fleet.n; k++)
            if (end_due(&l, p, s->ledger->fleet.v[k]))
                return true;
    }
    return false;
}

static void ends_send(struct send *s)
{
    bool any = any_end_due(s);
    struct last_look l = {0};

    if (any)
        l = last_look_begin(s->ledger, s->providers, s->sources);
    for (uint32_t i = 0; i < s->providers->all.n; i++) {
        struct provider_state *p = s->providers->all.v[i];

        if (any)
            terminates_send(s, &l, p);
        p->ends_first = any && ends_go_first(s, &l, p);
    }
}

/* What is on disk, and still so by what this step has seen. */
static void all_send(struct send *s)
{
    struct launches launches = {0};

    if (!ledger_leads(s->ledger) || ours_stands(s->ledger))
        return;
    ends_send(s); /* before a launch leaves */
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++)
        machine_send(s, &launches, s->ledger->fleet.v[i]);
    launches_done(&launches);
    sources_cordon(s->sources);
    sources_clean_up(s->sources);
}

/* What this step decided leaves in a later one, which looks first: the disk may take
 * a minute for it.  Where a commit takes no time there is nothing to look at. */
void send_due(struct send *s)
{
    if (s->ledger->writer) {
        if (s->ledger->journal_ok)
            all_send(s);
    } else if (send_commit(s)) {
        ledger_copy(s->ledger);
        all_send(s);
    }
}
