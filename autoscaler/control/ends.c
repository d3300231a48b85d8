/*
 * ends.c - see ends.h.
 */
#include "ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "settle.h"

#define RECENT_KEY "ends/recent"
enum {
    WINDOW_MS = 600000,
    RECENT_MAX = 65536,
    WAVE_LEAST = 3,  /* so many raylets may die at once, */
    WAVE_SHARE = 10, /* or a tenth */
    NAMES_SHOWN = 5
};

/* A clock that was set meanwhile makes none of them a thing to come. */
void ends_open(struct ends *e)
{
    struct arena a = {0};
    const char *text = "";
    long long at;
    unsigned n;
    int used;

    journal_value(e->env->journal, RECENT_KEY, &a, &text, NULL);
    for (; sscanf(text, "%lld:%u %n", &at, &n, &used) == 2; text += used)
        VEC_PUSH(
            NULL, &e->recent,
            ((struct ends_then){at < e->env->now_ms ? at : e->env->now_ms, n}));
    arena_done(&a);
}

void ends_close(struct ends *e)
{
    free(e->recent.v);
    free(e->dropped.v);
}

static void recent_write(struct ends *e)
{
    struct buf b;

    buf_init(&b, RECENT_MAX);
    for (uint32_t i = 0; i < e->recent.n; i++)
        buf_printf(&b, "%lld:%u ", (long long)e->recent.v[i].at_ms,
                   e->recent.v[i].n);
    /* The commit tells when it fails. */
    journal_put_value(e->env->journal, RECENT_KEY, b.n ? b.s : "", NULL);
    buf_done(&b);
    e->unwritten = false;
}

/* ---- the brake */

static uint32_t machines_there(const struct fleet *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++)
        n += standing_of(f->v[i]) >= STANDING_THERE &&
             f->v[i]->state != STATE_GONE;
    return n;
}

static uint32_t recent_count(struct ends *e)
{
    uint32_t kept = 0, n = 0;

    for (uint32_t i = 0; i < e->recent.n; i++)
        if (e->env->now_ms - e->recent.v[i].at_ms < WINDOW_MS) {
            n += e->recent.v[i].n;
            e->recent.v[kept++] = e->recent.v[i];
        }
    e->recent.n = kept;
    return n;
}

static void recent_add(struct ends *e)
{
    struct ends_then *last = e->recent.n ? &e->recent.v[e->recent.n - 1] : NULL;

    if (last && last->at_ms == e->env->now_ms)
        last->n++;
    else
        VEC_PUSH(NULL, &e->recent, ((struct ends_then){e->env->now_ms, 1}));
    e->unwritten = true;
}

static uint32_t most_of(uint32_t there, const struct config *conf,
                        uint32_t recent)
{
    uint32_t tenth = (there + recent) / 10;

    if (conf->max_ends)
        return conf->max_ends;
    return tenth > 1 ? tenth : 1;
}

uint32_t ends_most(const struct ends *e, const struct config *conf)
{
    return most_of(machines_there(&e->ledger->fleet), conf, 0);
}

void ends_allow(struct ends *e, uint32_t n)
{
    e->allowed = n;
    e->allowed_ms = e->env->now_ms;
}

static bool is_the_files(enum reason why)
{
    return why == REASON_END_MAX_TYPE || why == REASON_END_MAX_NODES ||
           why == REASON_END_OUTDATED || why == REASON_END_BUDGET;
}

/* What a file wants that is held waits for `davit apply`, and for nothing else. */
static bool brake_lets(struct ends *e, struct machine *m, enum reason why)
{
    uint32_t recent = recent_count(e);

    if (e->conf->in_force && is_the_files(why)) {
        e->by_file++;
        m->end_held = END_HELD_FILE;
        return false;
    }
    if (m->end_agreed)
        return true;
    if (e->allowed) {
        e->allowed--;
        return true;
    }
    if (e->shut || recent >= most_of(e->there, e->conf->now, recent)) {
        e->held++;
        m->end_held = END_HELD_BRAKE;
        return false;
    }
    recent_add(e);
    return true;
}

static bool is_confirmed(const struct ends *e, const struct machine *m,
                         enum reason why)
{
    if (machine_leaves(m) || !m->ready_ms || m->maybe.let_go)
        return true; /* it was never of use */
    switch (why) {
    case REASON_END_IDLE:
        /* a source is asked; without one the request that needed it ended */
        return e->sources->n || !m->adopted || m->adopted == ADOPTED_BY_PERSON;
    case REASON_END_ASKED: return true;
    case REASON_END_FAILED: return !e->wave && source_has_dead(e->sources, m);
    case REASON_END_CONSOLIDATE: return true; /* has a pace of its own */
    default: return false;
    }
}

/* ---- the road */

struct drop { /* of one launch */
    const char *request_id;
    uint32_t n;
};

static struct drop *drop_find(const struct hash *t, const char *request_id)
{
    uint64_t h = hash_name(request_id);
    struct drop *x;

    for (uint32_t at = 0; (x = hash_next(t, h, &at));)
        if (strcmp(x->request_id, request_id) == 0)
            return x;
    return NULL;
}

/* A launch that has not left yet asks for so many less as were dropped of it: once a
 * step, as they may be many.  One that has left must be repeated as it was: to the
 * provider, the request id stands for it. */
static void intents_dropped(struct ends *e)
{
    struct fleet *f = &e->ledger->fleet;
    struct arena scratch = {0};
    struct hash by_request;

    if (e->dropped.n == 0)
        return;
    hash_init(&by_request, &scratch, 0);
    for (uint32_t i = 0; i < e->dropped.n; i++) {
        const char *id = e->dropped.v[i];
        struct drop *x = drop_find(&by_request, id);

        if (!x) {
            x = ARENA_NEW(&scratch, struct drop);
            x->request_id = id;
            hash_add(&by_request, hash_name(id), x);
        }
        x->n++;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        struct machine *m = f->v[i];
        const struct drop *x = m->state == STATE_GONE
                                   ? NULL
                                   : drop_find(&by_request, m->request_id);

        if (!x)
            continue;
        /* one that was adopted says 0 */
        m->launch_count -= x->n < m->launch_count ? x->n : m->launch_count;
        fleet_touch(f, m);
    }
    e->dropped.n = 0;
    arena_done(&scratch);
}

static void there_end(struct ends *e, struct machine *m)
{
    bool asks = e->sources->n > 0 && !source_has_dead(e->sources, m);

    machine_to(e->ledger, m, asks ? STATE_DRAINING : STATE_STOPPING);
    if (!asks)
        atomic_fetch_add(&e->env->metrics.ends, 1);
}

bool machine_end(struct ends *e, struct machine *m, enum reason why)
{
    enum standing s = standing_of(m);

    if (m->state > STATE_READY)
        return true;
    if (s == STANDING_ASKED || (s == STANDING_ACCEPTED && !*m->cloud_id)) {
        if (s == STANDING_ASKED && !m->maybe.given_up) {
            m->maybe.given_up = true;
            fleet_touch(&e->ledger->fleet, m);
        }
        return true;
    }
    if (s != STANDING_PLANNED && !is_confirmed(e, m, why) &&
        !brake_lets(e, m, why))
        return false;
    machine_vain(e->ledger, m);
    m->why = why;
    if (s == STANDING_PLANNED) {
        machine_to(e->ledger, m, STATE_GONE);
        VEC_PUSH(NULL, &e->dropped, m->request_id);
    } else {
        there_end(e, m);
    }
    return true;
}

void ends_planned(struct ends *e)
{
    e->unwritten = e->recent.n > 0;
    for (uint32_t i = 0; i < e->ledger->fleet.n; i++) {
        struct machine *m = e->ledger->fleet.v[i];

        if (standing_of(m) == STANDING_PLANNED)
            machine_end(e, m, m->why);
    }
    intents_dropped(e);
}

/* A list that lacks so many at once is doubted, too (providers/lists.c). */
static bool many_are_dead(const struct ends *e)
{
    uint32_t there = 0, dead = 0;

    for (uint32_t i = 0; i < e->ledger->fleet.n; i++) {
        const struct machine *m = e->ledger->fleet.v[i];

        if (!m->ready_ms || m->state > STATE_READY)
            continue;
        there++;
        dead += m->why == REASON_END_FAILED && source_has_dead(e->sources, m);
    }
    return dead > WAVE_LEAST && dead > there / WAVE_SHARE;
}

void ends_due(struct ends *e)
{
    e->wave = e->sources->n > 0 && many_are_dead(e);
    for (uint32_t i = 0; i < e->ledger->fleet.n; i++) {
        struct machine *m = e->ledger->fleet.v[i];

        if (m->state > STATE_READY || m->protected || machine_held(m))
            continue;
        if (machine_leaves(m))
            machine_end(e, m, REASON_END_TAKEN);
        else if (m->why == REASON_END_FAILED && m->state >= STATE_STARTING &&
                 !machine_unjoined(e->sources, m))
            machine_end(e, m, REASON_END_FAILED);
    }
}

/* ---- a step */

/* Is it the file that wants this end? */
static bool is_by_file(const struct plan_node *n)
{
    return n->action == NODE_END && is_the_files(n->why);
}

static int64_t price_of(const struct problem *s, const struct pb_node *n)
{
    if (n->price_micros_hour >= 0)
        return n->price_micros_hour;
    return n->offer < s->n_offers ? s->offers[n->offer].price_micros_hour : 0;
}

static bool is_needed(const struct plan_node *n)
{
    return n->action == NODE_KEEP &&
           (n->why == REASON_KEEP_REQUEST || n->why == REASON_KEEP_DEMAND ||
            n->why == REASON_KEEP_HOST_GROUP);
}

static bool is_idle(const struct plan_node *n)
{
    return n->why == REASON_END_IDLE || n->why == REASON_KEEP_IDLE_WAIT;
}

/* The names of what is needed, by their hashes. */
static void needed_note(const struct planned *x, struct hash *ret)
{
    for (uint32_t i = 0; x && i < x->now->n_nodes; i++) {
        const char *id = x->now->str[x->now->nodes[i].id];

        if (is_needed(&x->plan->nodes[i]))
            hash_add(ret, hash_text(HASH_SEED, id), (void *)id);
    }
}

static bool is_among(const struct hash *names, const char *id)
{
    const char *name;

    for (uint32_t at = 0;
         (name = hash_next(names, hash_text(HASH_SEED, id), &at));)
        if (strcmp(name, id) == 0)
            return true;
    return false;
}

/* Does it idle under the file that is to come, and is needed under the one of before?
 * Then it would go after idle_timeout, though nobody asks for less.  gained: as many
 * others are needed instead of those. */
static uint32_t unneeded_mark(const struct planned *after,
                              const struct hash *needed, bool *marks)
{
    uint32_t n = 0, gained = 0;

    for (uint32_t i = 0; needed->n && i < after->now->n_nodes; i++) {
        bool was = is_among(needed, after->now->str[after->now->nodes[i].id]);

        gained += !was && is_needed(&after->plan->nodes[i]);
        marks[i] = was && is_idle(&after->plan->nodes[i]);
        n += marks[i];
    }
    for (uint32_t i = 0; n <= gained && i < after->now->n_nodes; i++)
        marks[i] = false;
    return n <= gained ? 0 : n;
}

struct ends_by_file ends_by_file(const struct planned *after,
                                 const struct planned *before, struct arena *a)
{
    const struct problem *now = after->now;
    bool *unneeded = ARENA_ARRAY(a, bool, now->n_nodes);
    struct hash needed;
    struct ends_by_file x = {0};
    struct buf names;

    hash_init(&needed, a, before ? before->now->n_nodes : 0);
    needed_note(before, &needed);
    x.unneeded = unneeded_mark(after, &needed, unneeded);
    buf_init(&names, 16 << 20);
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct pb_node *n = &now->nodes[i];
        int64_t price = price_of(now, n);

        if (!is_by_file(&after->plan->nodes[i]) && !unneeded[i])
            continue;
        x.n++;
        x.micros_hour += price > 0 ? price : 0;
        buf_printf(&names, "%s%s", names.n ? " " : "", now->str[n->id]);
    }
    x.names = arena_strdup(a, names.n ? names.s : "");
    buf_done(&names);
    return x;
}

char *ends_by_file_text(const struct ends_by_file *x, struct arena *a)
{
    const char *at = x->names;
    char *shown = arena_strdup(a, "");
    uint32_t n = 0;

    for (; *at && n < NAMES_SHOWN; n++) {
        size_t len = strcspn(at, " ");

        shown = arena_printf(a, "%s%s%.*s", shown, n ? ", " : "", (int)len, at);
        at += len + (at[len] == ' ');
    }
    return arena_printf(
        a, "would end %u machine%s of %.2f $/h (%s%s)%s", x->n,
        x->n == 1 ? "" : "s", (double)x->micros_hour / 1e6, shown,
        x->n > n ? arena_printf(a, " and %u more", x->n - n) : "",
        x->unneeded
            ? arena_printf(a,
                           ", %u of them after idle_timeout, as nothing "
                           "needs %s under it",
                           x->unneeded, x->unneeded == 1 ? "it" : "them")
            : "");
}

/* A plan on views and lists of before ends nothing, and says nothing of the file. */
static bool all_is_seen(const struct sources *s, const struct problem *now)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (!source_is_fresh(s, &s->all[i]))
            return false;
    for (uint32_t i = 0; i < now->n_nodes; i++)
        if (now->nodes[i].hold == REASON_KEEP_STALE ||
            now->nodes[i].hold == REASON_KEEP_UNKNOWN)
            return false;
    return true;
}

static void file_look(struct ends *e, const struct problem *now,
                      const struct plan *plan)
{
    uint64_t digest = e->conf->now->digest;
    struct ends_by_file x;
    struct arena a = {0};
    uint32_t n = 0;

    for (uint32_t i = 0; i < now->n_nodes; i++)
        n += is_by_file(&plan->nodes[i]);
    if (n <= (e->conf->in_force ? 0 : ends_most(e, e->conf->now)) ||
        e->env->shadow || !ledger_file_differs(e->ledger, digest)) {
        if (!all_is_seen(e->sources, now))
            return;
        if (e->conf->in_force)
            configuration_ends_over(e->conf);
        ledger_file_is(e->ledger, digest);
        return;
    }
    if (e->conf->in_force)
        return;
    x = ends_by_file(&(struct planned){now, plan}, NULL, &a);
    configuration_hold_ends(
        e->conf,
        arena_printf(&a,
                     "it was not in force before this start, and its first "
                     "plan %s: none of them is ended before `davit apply`, or "
                     "the file of before",
                     ends_by_file_text(&x, &a)),
        x.names);
    arena_done(&a);
}

/* The ten minutes of a person's word are over. */
static void agreed_over(struct ends *e)
{
    if (e->env->now_ms - e->allowed_ms < WINDOW_MS)
        return;
    for (uint32_t i = 0; e->agreed && i < e->ledger->fleet.n; i++)
        e->ledger->fleet.v[i]->end_agreed = false;
    e->allowed = 0;
    e->agreed = false;
}

void ends_begin(struct ends *e, const struct problem *now,
                const struct plan *plan)
{
    for (uint32_t i = 0; i < e->ledger->fleet.n; i++)
        e->ledger->fleet.v[i]->end_held = END_HELD_NOT;
    e->there = machines_there(&e->ledger->fleet);
    e->held_last = e->held;
    e->by_file_last = e->by_file;
    e->held = e->risen = e->by_file = 0;
    file_look(e, now, plan);
}

static void risen_tell(struct ends *e)
{
    if (e->risen && !e->rose)
        emit(e->env, "ends.held", e->conf->now->cluster,
             reason_code(REASON_KEEP_PRICE),
             "a price rose over limits.max_cost_per_hour: %u machines that may "
             "have work stay until it falls, nothing counts on them, a file "
             "lowers the limit, or `davit release`",
             e->risen);
    else if (!e->risen && e->rose)
        emit(e->env, "ends.released", e->conf->now->cluster,
             reason_code(REASON_KEEP_PRICE),
             "no price holds what is over limits.max_cost_per_hour any more");
    e->rose = e->risen > 0;
}

void ends_finish(struct ends *e)
{
    intents_dropped(e);
    if (e->held && !e->shut) {
        emit(e->env, "ends.held", e->conf->now->cluster,
             reason_code(REASON_KEEP_BRAKE),
             "%u machines would be ended, more than limits.max_ends lets go at "
             "once: they stay until `davit release`",
             e->held);
        e->shut = true;
    } else if (!e->held && e->shut) {
        emit(e->env, "ends.released", e->conf->now->cluster, "",
             "nothing is held any more");
        e->shut = false;
    }
    risen_tell(e);
    agreed_over(e);
    if (e->unwritten)
        recent_write(e);
}

void ends_agree(struct ends *e, struct machine *m)
{
    m->end_agreed = e->agreed = true;
    e->allowed_ms = e->env->now_ms;
}

void ends_approve(struct ends *e, bool named)
{
    uint32_t n = e->by_file > e->by_file_last ? e->by_file : e->by_file_last;

    configuration_ends_approved(e->conf);
    ledger_file_is(e->ledger, e->conf->now->digest);
    if (n > 0 && !named)
        ends_allow(e, n);
}

void ends_release(struct ends *e, const char *by, bool named)
{
    uint32_t held = (e->held > e->held_last ? e->held : e->held_last) +
                    e->risen;

    if (!named)
        ends_allow(e, held);
    e->shut = e->rose = false;
    emit(e->env, "ends.released", e->conf->now->cluster, "",
         "%u ends go on, by %s", held, by);
}
