/*
 * stops.c - see stops.h.
 */
#include "stops.h"

#include <stdio.h>
#include <string.h>

#include "../../model/mark.h"
#include "../last_look.h"
#include "../ours.h"
#include "../settle.h"

enum {
    UNREAD = 3, /* reads of a source that failed in a row */
    MARKS_SHOWN = 3,
    ROW_MS = 6 * 3600000, /* later it is no row any more */
    END_TRIES = 2,        /* more terminates that fail are no accident */
    END_WAITS_MS = 30000, /* for news of its work: longer is told */
};

struct stops {
    const struct known *k;
    struct status_page *page;
    struct last_look look;
    VEC(struct status_stop) all;
};

#define STOP(s, kind, failing, subject, ...) \
    VEC_PUSH(&(s)->page->arena, &(s)->all, \
             ((struct status_stop){ \
                 kind, arena_strdup(&(s)->page->arena, subject), \
                 arena_printf(&(s)->page->arena, __VA_ARGS__), failing}))

/* ---- providers */

static void backoff_stops(void *arg, const struct backoff *b)
{
    struct stops *s = arg;
    long long wait = (long long)(b->until_ms - s->k->env->now_ms) / 1000;

    if (b->until_ms <= s->k->env->now_ms)
        return;
    if (b->why == ST_AUTH)
        STOP(s, "provider_auth", true, b->of.provider,
             "provider %s refuses our credentials: nothing is launched there, "
             "the next try is in %lld s: %s",
             b->of.provider, wait, b->text);
    else if (b->why == ST_INVALID)
        STOP(s, "type_refused", false, b->of.type,
             "provider %s refuses node type %s as invalid, the next try is in "
             "%lld s: %s",
             b->of.provider, b->of.type, wait, b->text);
}

/* Machines in a row that were of no use, of all offers of a type: those of one zone
 * vanish, the next ones are of another. */
struct life_row {
    struct stops *s;
    const struct backoff *last; /* of this one's type */
    int64_t next_ms;            /* the first of its offers may be tried then */
    uint32_t n;
};

static void life_add(void *arg, const struct backoff *b)
{
    struct life_row *r = arg;

    if (strcmp(b->of.type, r->last->of.type) != 0 ||
        strcmp(b->of.provider, r->last->of.provider) != 0 ||
        r->s->k->env->now_ms - b->life_ms > ROW_MS)
        return;
    r->n += b->lives;
    if (b->until_ms < r->next_ms)
        r->next_ms = b->until_ms;
    /* The same time: the first one tells. */
    if (b->life_ms > r->last->life_ms ||
        (b->life_ms == r->last->life_ms && b < r->last))
        r->last = b;
}

/* Also while the next one is there: what is asked for is served for a moment, and all
 * is not well before one has lived. */
static void row_stop(void *arg, const struct backoff *b)
{
    struct stops *s = arg;
    struct life_row r = {s, b, INT64_MAX, 0};
    int64_t now_ms = s->k->env->now_ms;
    char next[48] = "the next one may be launched at once";

    backoffs_rows(s->k->ledger->backoffs, life_add, &r);
    if (r.n < 2 || r.last != b)
        return;
    if (r.next_ms > now_ms)
        snprintf(next, sizeof next, "the next try is in %lld s",
                 (long long)(r.next_ms - now_ms) / 1000);
    STOP(
        s, "offer_of_no_use", false, b->of.type,
        "%u launches of machines of %s in a row were of no use, the last one %lld s ago; "
        "%s: %s",
        r.n, b->of.type, (long long)(now_ms - b->life_ms) / 1000, next,
        b->text);
}

/* Calls to one provider that hang, also those of settings that are others now. */
struct hung {
    uint32_t n;
    int64_t began_ms; /* mono, the oldest */
    bool used_up;     /* it gets no calls of some kind any more */
};

static struct hung hung_of(const struct providers *p, const char *provider)
{
    struct hung h = {0};

    for (uint32_t i = 0; i < p->calls.n; i++) {
        const struct call_in_flight *f = &p->calls.v[i];

        if (!f->overdue ||
            strcmp(provider_name(f->call->provider), provider) != 0)
            continue;
        if (h.n++ == 0 || f->call->started_mono_ms < h.began_ms)
            h.began_ms = f->call->started_mono_ms;
        h.used_up = h.used_up ||
                    (f->of && calls_used_up(p, f->of, f->call->op));
    }
    return h;
}

static void call_stop(struct stops *s, const char *name)
{
    struct hung h = hung_of(s->k->providers, name);
    long long for_s = (long long)(s->k->env->mono_ms - h.began_ms) / 1000;

    if (h.n)
        STOP(s, "call_hangs", true, name,
             "%u calls to provider %s have not returned, the first for %lld s",
             h.n, name, for_s);
    if (h.used_up)
        STOP(s, "calls_used_up", true, name,
             "so many calls to provider %s have not returned that no others "
             "of their kind are made before one returns: restart davit, which "
             "harms no machine",
             name);
}

static bool is_retired_before(const struct providers *p, uint32_t at)
{
    const char *name = provider_name(p->retired.v[at]);
    bool before = false;

    for (uint32_t i = 0; i < at && !before; i++)
        before = strcmp(provider_name(p->retired.v[i]), name) == 0;
    return before;
}

/* Once for each name, also those that no provider has any more. */
static void call_stops(struct stops *s)
{
    const struct providers *p = s->k->providers;

    for (uint32_t i = 0; i < p->all.n; i++)
        call_stop(s, p->all.v[i]->conf->name);
    for (uint32_t i = 0; i < p->retired.n; i++) {
        const char *name = provider_name(p->retired.v[i]);

        if (!provider_find(p, name) && !is_retired_before(p, i))
            call_stop(s, name);
    }
}

static void list_stops(struct stops *s)
{
    const struct providers *p = s->k->providers;

    for (uint32_t i = 0; i < p->all.n; i++) {
        const struct provider_state *x = p->all.v[i];

        if (x->short_since_ms && !x->short_believed)
            STOP(
                s, "list_short", true, x->conf->name,
                "the list of provider %s lacks %u machines at once: they count "
                "as there for %d minutes, or until `davit release`",
                x->conf->name, x->short_by, SHORT_MS / 60000);
    }
}

/* ---- machines, by provider */

struct sums {
    uint32_t unanswered, ending, waiting, held, orphans;
    uint32_t strangers, unmatched; /* that did not join in time */
    uint32_t missing;
    const struct machine *anew;                    /* another daemon's newest */
    const struct machine *lost;                    /* one of those */
    const struct machine *stuck, *doubted, *waits; /* one of them */
};

static bool end_is_stuck(const struct machine *m)
{
    return m->state == STATE_STOPPING &&
           (m->maybe.told || m->tries >= END_TRIES);
}

static const char *looked(const struct stops *s, const struct machine *m)
{
    return last_look(&s->look, m);
}

/* It would be asked for, if the last look let it. */
static bool end_waits(const struct stops *s, const struct machine *m)
{
    return machine_end_due(s->k->ledger, m) &&
           s->k->env->now_ms - m->since_ms > END_WAITS_MS && looked(s, m);
}

static void unjoined_add(const struct stops *s, const struct machine *m,
                         struct sums *r)
{
    enum unjoined u = machine_unjoined(s->k->sources, m);

    if (m->why != REASON_END_FAILED || m->maybe.contested)
        return; /* told when it is late; or by name, for its nodes */
    r->strangers += u == UNJOINED_STRANGER;
    r->unmatched += u == UNJOINED_UNMATCHED;
    if (u == UNJOINED_MISSING) {
        r->missing++;
        r->lost = m;
    }
}

static struct sums sums_of(const struct stops *s, const char *provider)
{
    const struct fleet *f = &s->k->ledger->fleet;
    struct sums r = {0};

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];

        if (strcmp(m->provider, provider) != 0 || m->state == STATE_GONE)
            continue;
        r.orphans += !provider_find(s->k->providers, provider);
        r.held += machine_held(m);
        if (m->maybe.anew && (!r.anew || m->created_ms > r.anew->created_ms))
            r.anew = m;
        unjoined_add(s, m, &r);
        if (standing_lost_sight(m) && ++r.unanswered)
            r.doubted = m;
        if (end_is_stuck(m) && ++r.ending)
            r.stuck = m;
        if (end_waits(s, m)) {
            r.waiting++;
            r.waits = m;
        }
    }
    return r;
}

static void waiting_stop(struct stops *s, const char *provider,
                         const struct sums *r)
{
    const struct source *h = source_of_machines(s->k->sources);

    STOP(s, "ends_wait", false, provider,
         "%u machines of provider %s are to be ended, and wait; %s: %s%s%s",
         r->waiting, provider, r->waits->id, looked(s, r->waits),
         h ? "; the last good answer is of " : "", h ? h->address : "");
}

static void missing_stop(struct stops *s, const char *provider,
                         const struct sums *r)
{
    STOP(
        s, "machines_missing", false, provider,
        "%u machines of provider %s are there and were ready, but the demand "
        "source has no node of them now, %s (%s) for one: what runs on them is "
        "not known. They count, nothing is placed on them, and they are not "
        "ended before it has one again, their cloud has them no more, or "
        "`davit drain`",
        r->missing, provider, r->lost->id, r->lost->cloud_id);
}

/* Whose the held ones are, by their marks: "davit-0a1b2c". */
static const char *marks_of(const struct stops *s, const char *provider)
{
    const struct fleet *f = &s->k->ledger->fleet;
    const char *list = "", *mark;
    struct request_mark k;
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n && n < MARKS_SHOWN; i++) {
        const struct machine *m = f->v[i];

        if (strcmp(m->provider, provider) != 0 || m->state == STATE_GONE ||
            !machine_held(m))
            continue;
        mark = mark_read(m->request_id, &k)
                   ? arena_printf(&s->page->arena, MARK "%s", k.owner)
                   : "none";
        if (strstr(list, mark))
            continue;
        list = arena_printf(&s->page->arena, "%s%s%s", list, n ? ", " : "",
                            mark);
        n++;
    }
    return list;
}

/* What to find out comes before what to do. */
static void held_stop(struct stops *s, const char *provider,
                      const struct sums *r)
{
    const struct neighbour *n = beside_last(&s->k->providers->beside, provider);
    long long ago = r->anew
                        ? (long long)(s->k->env->now_ms - r->anew->created_ms) /
                              1000
                        : 0;
    const char *other = r->anew
                            ? arena_printf(&s->page->arena,
                                           "Another daemon of cluster %s runs: "
                                           "it launched %s %lld s ago. ",
                                           s->k->conf->now->cluster,
                                           r->anew->id, ago)
                            : "";

    if (n) {
        STOP(s, "machines_held", false, provider,
             "%u machine%s of provider %s %s not this daemon's (launched by "
             "%s): counted, and not ended. %.12s is at work, and `davit adopt` "
             "would take its machines from it",
             r->held, r->held == 1 ? "" : "s", provider,
             r->held == 1 ? "is" : "are", marks_of(s, provider), n->who);
        return;
    }
    STOP(s, "machines_held", false, provider,
         "%s%u machine%s of provider %s %s of another daemon, or of a journal "
         "that is lost, by the mark of the launch (%s; this daemon's is "
         "davit-%s): counted, and not ended. If another daemon of cluster %s "
         "runs, stop one of the two; if none does, `davit adopt`",
         other, r->held, r->held == 1 ? "" : "s", provider,
         r->held == 1 ? "is" : "are", marks_of(s, provider),
         s->k->ledger->ours.owner, s->k->conf->now->cluster);
}

static void machine_stops(struct stops *s, const char *provider)
{
    struct sums r = sums_of(s, provider);

    if (r.unanswered)
        STOP(s, "launch_unanswered", false, provider,
             "%u launches at provider %s were not answered: they count until a "
             "list tells what came of them, or `davit forget %s`",
             r.unanswered, provider, r.doubted->id);
    if (r.ending)
        STOP(s, "end_stuck", true, provider,
             "%u machines of provider %s are to be ended and still there: they "
             "are asked for again, and count%s%s",
             r.ending, provider, r.stuck->failure ? ": " : "",
             r.stuck->failure ? status_name(r.stuck->failure) : "");
    if (r.waiting)
        waiting_stop(s, provider, &r);
    if (r.held)
        held_stop(s, provider, &r);
    if (r.strangers)
        STOP(s, "machines_unjoined", false, provider,
             "%u machines of provider %s never joined, and Davit did not "
             "launch them: they are not ended before `davit adopt` or "
             "limits.end_unjoined",
             r.strangers, provider);
    if (r.unmatched)
        STOP(s, "nodes_unmatched", false, provider,
             "%u machines of provider %s did not join, and the Ray head has "
             "nodes that are no machine: were they started without "
             "RAY_CLOUD_INSTANCE_ID? They are not ended before `davit drain`",
             r.unmatched, provider);
    if (r.missing)
        missing_stop(s, provider, &r);
    if (r.orphans)
        STOP(s, "provider_gone", false, provider,
             "%u machines are of provider %s, which is no longer configured: "
             "`davit forget` drops the records, the old file brings it back",
             r.orphans, provider);
}

/* Once for each provider that the fleet knows. */
static void fleet_stops(struct stops *s)
{
    const struct fleet *f = &s->k->ledger->fleet;
    VEC(const char *) done = {0};

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];
        bool seen = false;

        if (m->state == STATE_READY && !machine_held(m) &&
            provider_find(s->k->providers, m->provider))
            continue;
        for (uint32_t k = 0; k < done.n && !seen; k++)
            seen = strcmp(done.v[k], m->provider) == 0;
        if (seen)
            continue;
        VEC_PUSH(&s->page->arena, &done, m->provider);
        machine_stops(s, m->provider);
    }
}

/* One each: a person has to look at both nodes. */
static void claim_stops(struct stops *s)
{
    const struct fleet *f = &s->k->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];
        struct source_claims c;

        if (!m->maybe.claimed || m->state == STATE_GONE)
            continue;
        c = source_claims(s->k->sources, m);
        if (!c.first || (!c.other && !c.contested))
            continue;
        STOP(s, "node_claimed", false, m->id,
             "the nodes %s and %s both say that they are %s: %s",
             c.first->node_id, claims_other(&c, m), m->id,
             c.contested ? "it is not ended, and nothing is bought in its "
                           "place, before one of them does not say so any more"
                         : "it is taken for the first one, for which more "
                           "stands; look at the second one");
    }
}

/* What asks for something and has no plan. */
static void aside_stops(struct stops *s)
{
    const struct requests *r = s->k->requests;

    for (uint32_t i = 0; i < r->all.n; i++)
        if (r->all.v[i]->aside)
            STOP(s, "set_aside", false, r->all.v[i]->owner,
                 "what %s asked for is set aside until it asks anew, or clears "
                 "it: %s",
                 r->all.v[i]->owner, r->all.v[i]->problem);
    for (uint32_t i = 0; i < r->aside.n; i++)
        if (r->aside.v[i].until_ms > s->k->env->mono_ms)
            STOP(s, "set_aside", false, r->aside.v[i].owner,
                 "what %s %s asks for is left out of the plan for %lld s: to "
                 "look at it takes too long",
                 r->aside.v[i].owner, r->aside.v[i].id,
                 (long long)(r->aside.v[i].until_ms - s->k->env->mono_ms) /
                     1000);
}

/* Counted, and the first of them by name; `why` has each. */
static void crowd_stops(struct stops *s)
{
    const struct sources *from = s->k->sources;

    for (uint32_t i = 0; i < from->n; i++) {
        const struct source *h = &from->all[i];
        const struct source_note *first = NULL;

        if (!h->view || !h->view->n_crowded)
            continue;
        for (uint32_t k = 0; k < h->view->n_notes && !first; k++)
            if (strncmp(h->view->notes[k].code, "TooMany", 7) == 0)
                first = &h->view->notes[k];
        STOP(s, "demand_left_out", false, h->address,
             "%u kinds of bundles are left out of the plan, as there are too "
             "many different ones%s%s%s%s: their turn comes when others have "
             "their place",
             h->view->n_crowded, first ? ", such as that of " : "",
             first ? first->space : "", first ? "/" : "",
             first ? first->name : "");
    }
}

/* Two of one name: the first line of both. */
static void beside_stops(struct stops *s)
{
    const struct providers *p = s->k->providers;

    for (uint32_t i = 0; i < p->all.n; i++) {
        const struct neighbour *n = beside_last(&p->beside,
                                                p->all.v[i]->conf->name);
        char me[WHO_TEXT];

        if (!n)
            continue;
        beside_who(s->k->ledger, me);
        STOP(s, "daemon_beside", false, n->who,
             "another daemon of cluster %s is at work: %s, seen %lld s ago in "
             "provider %s (this one is %s). Stop one of the two, or give it a "
             "`cluster` of its own; neither ends the other's machines, and "
             "both count them",
             s->k->conf->now->cluster, n->who,
             (long long)(s->k->env->mono_ms - n->seen_ms) / 1000,
             p->all.v[i]->conf->name, me);
    }
}

/* A cloned disk: two daemons would each do the other's work, and end its machines. */
static void copy_stops(struct stops *s)
{
    const struct ours *o = &s->k->ledger->ours;

    if (*o->elder || *o->younger)
        STOP(s, "journal_copied", *o->elder, s->k->conf->now->cluster,
             "another daemon has a copy of this journal (%s is its launch) and "
             "began %s. Stop one of them; `davit adopt` at the other says that "
             "it is alone",
             *o->elder ? o->elder : o->younger,
             *o->elder ? "earlier: this one launches, drains and ends nothing"
                       : "later: it should stand, and may not know yet");
}

/* An API server that cannot be read; a Ray head has a field of the page. */
static void source_stops(struct stops *s)
{
    const struct sources *from = s->k->sources;

    for (uint32_t i = 0; i < from->n; i++) {
        const struct source *h = &from->all[i];

        if (strcmp(h->ops->kind, "ray") != 0 && h->failures >= UNREAD)
            STOP(s, "source_unread", true, h->address,
                 "%s cannot be read: %s. What waits there is not known, and no "
                 "machine that may be a node of it is ended, until it answers",
                 h->address, h->problem);
    }
}

/* What a source knows to be otherwise than the plan takes it. */
static void word_stops(struct stops *s)
{
    const struct sources *from = s->k->sources;

    for (uint32_t i = 0; i < from->n; i++) {
        const struct source_view *v = from->all[i].view;

        for (uint32_t k = 0; v && k < v->n_words; k++)
            STOP(s, v->words[k].kind, false, v->words[k].subject, "%s",
                 v->words[k].text);
    }
}

void stops_show(const struct known *k, const struct ends *e,
                struct status_page *page)
{
    struct stops s = {
        .k = k,
        .page = page,
        .look = last_look_begin(k->ledger, k->providers, k->sources)};

    beside_stops(&s);
    backoffs_each(k->ledger->backoffs, k->env->now_ms, backoff_stops, &s);
    backoffs_rows(k->ledger->backoffs, row_stop, &s);
    call_stops(&s);
    list_stops(&s);
    fleet_stops(&s);
    claim_stops(&s);
    aside_stops(&s);
    crowd_stops(&s);
    word_stops(&s);
    source_stops(&s);
    if (sources_another(k->sources))
        STOP(&s, "another_head", true, source_of_machines(k->sources)->address,
             "another head answers at %s, of session %s, and has none of our "
             "machines: nothing is bought or ended by what it says, until one "
             "joins it, ours answers again, or `davit apply`",
             source_of_machines(k->sources)->address,
             sources_another(k->sources));
    copy_stops(&s);
    if (e->shut)
        STOP(&s, "ends_held", false, k->conf->now->cluster,
             "%u machines would be ended, more than limits.max_ends lets go at "
             "once: they stay until `davit release`",
             e->held);
    if (e->risen)
        STOP(&s, "over_budget", false, k->conf->now->cluster,
             "a price rose over limits.max_cost_per_hour: %u machines that may "
             "have work stay until it falls, nothing counts on them, a file "
             "lowers the limit, or `davit release`",
             e->risen);
    page->stops = s.all.v;
    page->n_stops = s.all.n;
}
