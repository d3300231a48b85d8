/*
 * observer.c - see observer.h.
 */
#include "observer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "history.h"
#include "model/accel.h"
#include "model/price.h"

enum {
    KNOWN_MS = 30 * SECOND, /* who joined the head later may not be known */
    CHECK_MS = 20 * SECOND, /* between two looks at law 4 */
    TAKEN_MS = 70 * SECOND, /* a busy computer has read a file, or holds it */
    SHOWS_MS = 10 * MINUTE, /* from a stop to /readyz */
    GRACE_MS = 90 * SECOND, /* from unknown to known */
    END_COMES_MS = 11 * MINUTE, /* after a restart: an end that was asked for */
    ASKED_MS = 20 * MINUTE,     /* between two calls for the same end */
    SEEN_MS = 20 * SECOND, /* what is ready later is seen by the next list */
};

void law_broken(struct world *w, enum law law, const char *fmt, ...)
{
    va_list ap;

    if (w->law)
        return;
    w->law = (int)law;
    va_start(ap, fmt);
    vsnprintf(w->violation, sizeof w->violation, fmt, ap);
    va_end(ap);
    player_break(w->player);
}

/* ---- 1: nothing with work is ended */

/* Could the daemon know of the node?  The head showed it, or does not answer
 * any more: then nobody knows what is there. */
static bool could_know(const struct world *w, const struct head_node *n)
{
    int64_t silent = head_silent_ms(w->head), since = n->shown_ms;

    if (!since)
        since = silent > n->joined_ms ? silent : n->joined_ms;
    return world_now(w) - since > KNOWN_MS;
}

/* Had the head agreed when a thread was given the call that ends it?  Nobody can
 * call that back when a node joins, and is drained, before the thread begins. */
static bool agreed_before(const struct head_node *n,
                          const struct cloud_machine *m)
{
    return n->agreed_ms < m->end_called_ms - THREAD_MS;
}

/* Another daemon's is left alone, until a person adopts it. */
static void others_check(struct world *w, const struct cloud *c,
                         const struct cloud_machine *m)
{
    uint32_t may = w->adopters | UINT32_C(1) << m->daemon;

    if (!m->added && (m->end_askers & ~may))
        law_broken(w, LAW_OWNER,
                   "cloud %s: %s is ended by a daemon that did not launch it",
                   cloud_title(c), m->id);
}

/* Was the journal that knew it lost, and has no view had its node since?  Then it is
 * one that never joined, for all that anybody can tell (docs/never.md). */
static bool nobody_knows(const struct world *w, const struct head_node *n)
{
    return w->store.forgot && n->hidden_ms &&
           n->hidden_ms <= w->store.forgot_ms;
}

static void ending(void *arg, struct cloud *c, struct cloud_machine *m)
{
    struct world *w = arg;
    int64_t now = world_now(w);
    struct head_node n;

    w->ended++;
    w->digest = hash_text(hash_number(w->digest, (uint64_t)now), m->id);
    others_check(w, c, m);
    /* Another daemon, or a person, took the drain's taint off a moment ago: nobody can
     * know that yet. */
    if (w->head && head_node_of(w->head, m->id, &n) && n.undrained_ms &&
        now - n.undrained_ms < KNOWN_MS)
        return;
    if (!w->head || !head_node_of(w->head, m->id, &n) || !n.alive ||
        n.joined_ms > m->end_called_ms || nobody_knows(w, &n))
        return;
    if (!n.agreed_ms && could_know(w, &n))
        law_broken(w, LAW_WORK,
                   "cloud %s: %s is ended with %u tasks on it; its node joined "
                   "%lld s ago and the head was not asked, or did not agree",
                   cloud_title(c), m->id, n.running,
                   (long long)(now - n.joined_ms) / 1000);
    else if (n.agreed_ms && n.running && now < n.deadline_ms &&
             (could_know(w, &n) || agreed_before(&n, m)))
        law_broken(w, LAW_WORK,
                   "cloud %s: %s is ended with %u tasks on it, %lld s before "
                   "the deadline that they were given",
                   cloud_title(c), m->id, n.running,
                   (long long)(n.deadline_ms - now) / 1000);
}

/* ---- 3: billed counts */

/* The most that a file allowed that may have been in force since a launch left:
 * a held one is not, and it may come in later. */
static uint32_t max_of(const struct world *w, const char *type, int64_t since)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < w->settings.n; i++) {
        const struct config *c = w->settings.v[i].conf;

        for (uint32_t k = 0; history_in_force(w, i, since) && k < c->n_types;
             k++)
            if (strcmp(c->types[k].fact.name, type) == 0 &&
                c->types[k].fact.max > most)
                most = c->types[k].fact.max;
    }
    return most;
}

static uint32_t max_nodes(const struct world *w, int64_t since)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < w->settings.n; i++)
        if (history_in_force(w, i, since) &&
            w->settings.v[i].conf->limits.max_nodes > most)
            most = w->settings.v[i].conf->limits.max_nodes;
    return most;
}

/* -1: none. */
static int64_t max_cost(const struct world *w, int64_t since)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < w->settings.n && most >= 0; i++) {
        int64_t x = w->settings.v[i].conf->limits.max_cost_micros_hour;

        if (history_in_force(w, i, since))
            most = x < 0 || x > most ? x : most;
    }
    return most;
}

/* Random worlds rename "t4" to "t4-new", made the same way, and back. */
static bool same_type(const char *a, const char *b)
{
    const char *more = strlen(a) > strlen(b) ? a : b;
    size_t n = strlen(more == a ? b : a);

    return strncmp(a, b, n) == 0 && (!more[n] || strcmp(more + n, "-new") == 0);
}

/* What the file says, or what docs/config.md says is estimated where it says
 * nothing. */
static int64_t price_said(const struct snap_type *t, const struct snap_offer *o)
{
    const char *accelerator = "";

    if (o->price_micros_hour >= 0)
        return o->price_micros_hour;
    for (uint32_t i = 0; i < t->labels.n; i++)
        if (strcmp(t->labels.v[i].key, ACCEL_LABEL) == 0)
            accelerator = t->labels.v[i].value;
    return price_estimate(&t->resources, accelerator, o->spot);
}

int64_t observer_price(const struct config *c, const struct cloud_machine *m)
{
    for (uint32_t k = 0; k < c->n_types; k++) {
        const struct snap_type *t = &c->types[k].fact;

        for (uint32_t o = 0; same_type(t->name, m->type) && o < t->n_offers;
             o++)
            if (t->offers[o].spot == m->spot)
                return price_said(t, &t->offers[o]);
    }
    return -1;
}

/* What its cloud told of it: the least since an answer that a daemon is sure to have
 * read before then, with the file, and in the run of the computer, that it has now;
 * filed: what it costs where nobody told. */
static int64_t price_told(const struct world *w, const struct cloud *c,
                          const struct cloud_machine *m, int64_t since,
                          int64_t filed)
{
    int64_t sure = w->daemons[0].started_ms, least = INT64_MAX;
    const struct cloud_price *v;
    uint32_t n;

    sure = w->saved_ms > sure ? w->saved_ms : sure;
    sure = w->slept_ms > sure ? w->slept_ms : sure;
    v = cloud_prices(c, &n);
    for (uint32_t i = n; i-- > 0;) {
        if (v[i].daemon || v[i].spot != m->spot ||
            !same_type(v[i].type, m->type))
            continue;
        if (v[i].micros_hour < least)
            least = v[i].micros_hour;
        if (v[i].first_ms >= sure && v[i].first_ms &&
            v[i].first_ms + READ_MS <= since)
            return least;
    }
    return filed < least ? filed : least;
}

/* By the files that may have been in force since then, the least; what none of
 * them has costs what the last one that had it said. */
static int64_t price_of(const struct world *w, const struct cloud_machine *m,
                        int64_t since)
{
    int64_t least = -1;

    for (uint32_t i = w->settings.n; i-- > 0;) {
        int64_t x = observer_price(w->settings.v[i].conf, m);

        if (!history_in_force(w, i, since) && least >= 0)
            break;
        if (x >= 0 && (least < 0 || x < least))
            least = x;
    }
    return least < 0 ? 0 : least;
}

/* Good lists had said so when a launch left: it is gone, as anybody would think,
 * until they have had it again for long enough to be known. */
static bool was_hidden(const struct cloud_machine *m, int64_t since)
{
    return m->hidden_ms &&
           (!m->again_ms || since - m->again_ms < CLOUD_FOUND_MS);
}

/* A person's machine counts from the first lists on, and those must be of a process
 * that runs still: one before it may not have come to write it down. */
static bool is_long_listed(const struct world *w, const struct cloud_machine *m,
                           int64_t since)
{
    int64_t listed = m->first_list_ms, started = w->daemons[0].started_ms;

    return listed &&
           since - (listed > started ? listed : started) > 2 * CLOUD_FOUND_MS;
}

struct bill { /* of the machines that one daemon bought or found */
    uint32_t of_type, all;
    int64_t micros_hour;
};

static struct bill bill_of(const struct world *w, uint32_t daemon,
                           const char *type, int64_t since)
{
    struct cloud_machine *m;
    struct bill b = {0};
    struct cloud *c;

    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++) {
        if (m->daemon != daemon || was_hidden(m, since) ||
            (m->added && !is_long_listed(w, m, since)))
            continue;
        b.all++;
        b.of_type += strcmp(m->type, type) == 0;
        b.micros_hour += price_told(w, c, m, since, price_of(w, m, since));
    }
    return b;
}

static bool type_over(const struct world *w, const struct snap_type *t)
{
    return bill_of(w, 0, t->name, world_now(w)).of_type > t->max;
}

const char *observer_over(const struct world *w)
{
    const struct config *c = w->settings.v[w->settings.n - 1].conf;
    struct bill b = bill_of(w, 0, "", world_now(w));

    if (w->gone)
        return NULL; /* what is there cannot be ended */
    for (uint32_t i = 0; i < c->n_types; i++)
        if (type_over(w, &c->types[i].fact))
            return "there are more machines of a type than its max";
    return b.all > c->limits.max_nodes
               ? "there are more machines than max_nodes"
               : NULL;
}

/* ---- 5: bought once */

uint32_t promise_count(const struct promise *p)
{
    const char *at = strstr(p->body, "\"count\":");

    if (!*p->body)
        return 0;
    return at ? (uint32_t)strtoul(at + 8, NULL, 10) : 1;
}

/* The most machines that users of a plain world may count on now. */
static uint32_t needed(const struct world *w)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < OWNERS; i++) {
        const struct owner *o = &w->owners[i];
        uint32_t kept = promise_count(&o->kept), asked = o->refused_most;
        uint32_t unsure = 0;

        if (o->asking && promise_count(&o->asked) > asked)
            asked = promise_count(&o->asked);
        for (uint32_t k = 0; k < o->n_unsure; k++)
            if (promise_count(&o->unsure[k]) > unsure)
                unsure = promise_count(&o->unsure[k]);
        kept = asked > kept ? asked : kept;
        all += unsure > kept ? unsure : kept;
    }
    return all;
}

/* When it left: may an end of it still come, as far as a daemon can know that
 * began after it was asked for? */
static bool end_unsure(const struct world *w, const struct cloud_machine *m,
                       int64_t left)
{
    int64_t since = w->daemons[0].started_ms > w->slept_ms
                        ? w->daemons[0].started_ms
                        : w->slept_ms;

    return left < m->end_unsure_ms ||
           (m->end_unsure_ms && left - since < END_COMES_MS);
}

/* No answer told of it that the daemon still knows, and the first list that could have
 * it did not: another may be bought in its place.  By that list, perhaps: `left` is
 * when a thread may have been given it at the earliest. */
static bool never_seen(const struct world *w, const struct cloud_machine *m,
                       int64_t left)
{
    return !m->first_list_ms && m->absent_ms &&
           m->absent_ms <= left + THREAD_MS &&
           m->told_ms <= w->daemons[0].started_ms;
}

static bool of_use(const struct world *w, const struct cloud_machine *m,
                   int64_t left)
{
    return !never_seen(w, m, left) && !end_unsure(w, m, left) &&
           m->gone_ms == INT64_MAX && !m->failed && !m->asked_ms && !m->added &&
           !was_hidden(m, left) &&
           m->ready_ms - m->launched_ms + SEEN_MS <
               w->settings.v[0].conf->start_timeout_ms;
}

static void once_check(struct world *w, const struct cloud_machine *new,
                       int64_t left)
{
    struct cloud_machine *m;
    struct cloud *c;
    uint32_t n = 0, most;

    history_needed(w, needed(w));
    most = history_most_needed(w, left);
    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++)
        n += of_use(w, m, left);
    if (n > most)
        law_broken(w, LAW_ONCE,
                   "%s is bought though %u machines are there for %u that are "
                   "asked for",
                   new->id, n - 1, most);
}

static void launched(void *arg, struct cloud *c, struct cloud_machine *m)
{
    struct world *w = arg;
    int64_t left = history_first(w, m->request_id);
    struct bill b = bill_of(w, m->daemon, m->type, left);
    int64_t cost = max_cost(w, left);

    w->launched++;
    w->digest = hash_text(hash_number(w->digest, (uint64_t)world_now(w)),
                          m->request_id);
    if (m->daemon || m->added || store_forgives(w))
        return; /* its settings are not noted; nobody's purchase */
    if (w->plain && !m->failed)
        once_check(w, m, left);
    vain_bought(w, c, m, left);
    if (b.of_type > max_of(w, m->type, left))
        law_broken(w, LAW_BILL,
                   "cloud %s: with %s there are %u machines of type %s, max %u",
                   cloud_title(c), m->id, b.of_type, m->type,
                   max_of(w, m->type, left));
    else if (b.all > max_nodes(w, left))
        law_broken(w, LAW_BILL, "with %s there are %u machines, max_nodes %u",
                   m->id, b.all, max_nodes(w, left));
    else if (cost >= 0 && b.micros_hour > cost)
        law_broken(w, LAW_BILL, "with %s the bill is %lld micros, max %lld",
                   m->id, (long long)b.micros_hour, (long long)cost);
}

static void sent(void *arg, struct cloud *c, const char *request_id,
                 const char *type, uint32_t count)
{
    struct world *w = arg;

    (void)c;
    (void)type;
    history_sent(w, request_id);
    w->digest = hash_number(hash_text(w->digest, request_id), count);
}

/* ---- 2: acknowledged requests */

static const char *standing(const struct status_page *page, uint32_t owner)
{
    char name[16];

    snprintf(name, sizeof name, "owner-%02u", owner);
    for (uint32_t i = 0; i < page->n_requests; i++)
        if (strcmp(page->requests[i].owner, name) == 0)
            return page->requests[i].body;
    return "";
}

/* A clock that is set makes a time to live longer or shorter at the next start,
 * from which on the steady clock goes by it, and not before. */
static bool fits(struct promise *p, const char *body)
{
    p->expired = p->expired ||
                 (p->expires_ms && p->expires_ms <= clock_steady_ms());
    return strcmp(p->body, body) == 0 || (p->expired && !*body);
}

/* What was under way at a crash stands or does not.  Of two that ask for the same
 * nobody can tell which it is: it may go when the first of them may. */
static void unsure_settle(struct owner *o, const char *body)
{
    for (uint32_t k = 0; k < o->n_unsure; k++) {
        struct promise *u = &o->unsure[k];
        int64_t kept_until = o->kept.expires_ms;

        if (!fits(u, body))
            continue;
        if (!fits(&o->kept, body))
            o->kept = *u;
        else if (u->expires_ms && (!kept_until || u->expires_ms < kept_until))
            o->kept.expires_ms = u->expires_ms;
    }
    o->n_unsure = 0;
}

/* A full disk refuses, and may have taken it down all the same: so it stands, or
 * what was promised before. */
static bool is_refused(struct owner *o, const char *body)
{
    bool any = o->refused_more;

    for (uint32_t k = 0; k < o->n_refused; k++)
        any = any || fits(&o->refused[k], body);
    return any;
}

static void requests_check(struct daemon *d, const struct status_page *page)
{
    struct world *w = d->world;

    for (uint32_t i = 0; i < OWNERS; i++) {
        struct owner *o = &w->owners[i];
        const char *body = standing(page, i);

        if (o->asking && fits(&o->asked, body))
            continue; /* its answer is on its way, and hides what was before */
        if (is_refused(o, body))
            continue; /* that one may be what is seen, and may not stay */
        unsure_settle(o, body);
        if (!fits(&o->kept, body))
            law_broken(w, LAW_REQUEST,
                       "owner-%02u was promised \"%s\", there is \"%s\"", i,
                       o->kept.body, body);
    }
}

/* ---- 4: every machine is known */

static bool is_known(const struct status_page *page,
                     const struct cloud_machine *m)
{
    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];

        if (!n->unmanaged && strcmp(n->cloud_id, m->id) == 0 &&
            launch_is_same(n->request_id, m->request_id))
            return true; /* that of another launch is another machine */
    }
    return false;
}

/* One that is not known must be after some good lists and a grace; what lists hid
 * from the first that has it again. */
static void owner_check(struct daemon *d, const struct status_page *page,
                        const struct cloud *c, struct cloud_machine *m)
{
    int64_t now = world_now(d->world);

    if (is_known(page, m) || was_hidden(m, INT64_MAX)) {
        m->noted_ms = 0;
        return;
    }
    d->world->unknown = true;
    if (!m->noted_ms || m->noted_ms < d->started_ms) { /* by this process */
        m->noted_ms = now;
        m->noted = m->lists;
    } else if (m->lists >= m->noted + 2 && now - m->noted_ms > GRACE_MS) {
        law_broken(d->world, LAW_OWNER,
                   "cloud %s: %s is not known for %lld s and %u good lists",
                   cloud_title(c), m->id, (long long)(now - m->noted_ms) / 1000,
                   m->lists - m->noted);
    }
}

/* Whom does it ask anew?  A list that was asked for before it took a file in which
 * that cloud's provider is another, or before the computer slept, is not looked
 * at, and may have taken a minute. */
static void asks_anew(struct daemon *d, const struct status_page *page)
{
    struct world *w = d->world;
    uint32_t taken = w->settings.n - 1;

    if (!d->loaded_ms || d->slept_ms != w->slept_ms)
        d->anew = UINT32_MAX;
    else if (d->loaded_ms != page->config_loaded_ms)
        for (uint32_t i = 0; i < w->n_clouds; i++)
            if (!history_same(w, d->file, taken, cloud_title(w->clouds[i])))
                d->anew |= UINT32_C(1) << i;
    if (d->loaded_ms != page->config_loaded_ms)
        d->file = taken;
    d->loaded_ms = page->config_loaded_ms;
    d->slept_ms = w->slept_ms;
}

/* Of its machines there what lists said before counts no more. */
static void lists_anew(const struct daemon *d, uint32_t cloud)
{
    struct cloud_machine *const *v;
    uint32_t n;

    v = cloud_machines(d->world->clouds[cloud], &n);
    for (uint32_t i = 0; i < n; i++) {
        if (v[i]->daemon != d->number)
            continue;
        v[i]->noted = v[i]->lists;
        v[i]->again_ms = v[i]->again_ms ? world_now(d->world) : 0;
    }
}

static void owners_check(struct daemon *d, const struct status_page *page)
{
    struct cloud_machine *m;
    struct cloud *c;

    d->world->unknown = false;
    for (uint32_t i = 0; i < d->world->n_clouds; i++)
        if (d->anew >> i & 1)
            lists_anew(d, i);
    d->anew = 0;
    for (uint32_t i = 0; (m = world_machine(d->world, i, &c)); i++)
        if (m->gone_ms == INT64_MAX && m->daemon == d->number)
            owner_check(d, page, c, m);
}

/* ---- 7: what is stopped shows */

static bool provider_shows(const struct status_page *page, const char *cloud)
{
    for (uint32_t i = 0; i < page->n_providers; i++) {
        const char *name = page->providers[i].name;

        if (name[strlen(name) - 1] == *cloud) /* "cloud-a", "pa" */
            return !page->providers[i].ready;
    }
    return true; /* another file has it no more */
}

static bool is_ending(const struct status_page *page,
                      const struct cloud_machine *m)
{
    for (uint32_t i = 0; i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];

        if (n->state == STATE_STOPPING && strcmp(n->cloud_id, m->id) == 0)
            return true;
    }
    return false;
}

/* It has a raylet, whose work may be given time first. */
static bool is_up(const struct world *w, const struct cloud_machine *m)
{
    struct head_node n;

    return w->head && head_node_of(w->head, m->id, &n) && n.alive;
}

/* It may have been tried long ago, and be taken for a new one since, or have had
 * a raylet again, whose work was given time: this end may be due just now. */
static bool ends_for_long(const struct world *w, const struct status_page *page,
                          struct cloud_machine *m)
{
    if (!is_ending(page, m) || is_up(w, m))
        m->noted_end_ms = 0;
    else if (!m->noted_end_ms)
        m->noted_end_ms = world_now(w);
    return m->noted_end_ms && world_now(w) - m->noted_end_ms > ASKED_MS;
}

static bool is_overdue(const struct daemon *d, int64_t since_ms)
{
    int64_t now = world_now(d->world);

    return since_ms && now - since_ms > SHOWS_MS &&
           now - d->started_ms > SHOWS_MS &&
           now - d->world->slept_ms > SHOWS_MS;
}

/* Has all been well for so long that each end was asked for again? */
static bool was_well(const struct daemon *d, const struct cloud *c)
{
    const struct world *w = d->world;
    int64_t since = cloud_well_ms(c);

    since = since > d->started_ms ? since : d->started_ms;
    since = since > w->slept_ms ? since : w->slept_ms;
    since = since > w->ills_ms ? since : w->ills_ms;
    return cloud_well_ms(c) && world_now(w) - since > ASKED_MS;
}

/* A call that hangs stops no end: another one is sent. */
static void ends_check(struct daemon *d, const struct status_page *page)
{
    struct world *w = d->world;
    struct cloud_machine *m;
    struct cloud *c;

    if ((w->head && !head_answers(w->head)) || disk_is_bad(w->disk) ||
        (w->lease && !lease_is_well(w->lease)))
        w->ills_ms = world_now(w);
    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++) {
        if (m->daemon != d->number || m->added)
            continue;
        if (ends_for_long(w, page, m) && m->end_tried_ms &&
            m->gone_ms == INT64_MAX && was_well(d, c) &&
            world_now(w) - m->end_tried_ms > ASKED_MS)
            law_broken(w, LAW_WEDGE,
                       "cloud %s: %s is to end, and that was asked for %lld s "
                       "ago",
                       cloud_title(c), m->id,
                       (long long)(world_now(w) - m->end_tried_ms) / 1000);
    }
}

/* Is it said that the head, or the API server, cannot be read? */
static bool unread_shows(const struct status_page *page)
{
    for (uint32_t i = 0; i < page->n_stops; i++)
        if (strcmp(page->stops[i].kind, "source_unread") == 0 ||
            strcmp(page->stops[i].kind, "another_head") == 0)
            return true;
    return !page->ray_ok;
}

static void stops_check(struct daemon *d, const struct status_page *page)
{
    struct world *w = d->world;

    for (uint32_t i = 0; i < w->n_clouds; i++)
        if (is_overdue(d, cloud_unread_ms(w->clouds[i])) &&
            !provider_shows(page, cloud_title(w->clouds[i])))
            law_broken(w, LAW_WEDGE,
                       "cloud %s: no list goes well, for long, "
                       "and its provider is shown as ready",
                       cloud_title(w->clouds[i]));
    if (w->head && is_overdue(d, head_mute_ms(w->head)) && !unread_shows(page))
        law_broken(w, LAW_WEDGE,
                   "the head does not answer, for long, and is shown as well");
}

/* ---- after each step */

static void events_fold(struct daemon *d, const struct status_page *page)
{
    struct world *w = d->world;
    struct arena arena = {0};
    struct event *v;
    uint32_t n = event_read(control_events(d->control), d->event, EVENT_RING,
                            &arena, &v);

    for (uint32_t i = 0; i < n; i++) {
        w->digest = hash_text(
            hash_text(hash_number(w->digest, (uint64_t)v[i].at_ms), v[i].kind),
            v[i].subject);
        if (w->trace)
            printf("%10.3f %u %s %s: %s [%s]\n", (double)world_now(w) / 1000,
                   d->number, v[i].kind, v[i].subject, v[i].text, v[i].reason);
        budget_event(d, page, &v[i]);
        if (d->number == 0 && d->tick) /* else it may be of another process */
            store_event(w, &v[i]);
        if (w->on_event)
            w->on_event(w->arg, &v[i]);
    }
    if (n)
        d->event = v[n - 1].id;
    arena_done(&arena);
}

void observer_step(struct daemon *d)
{
    struct world *w = d->world;
    struct status_page *page = status_get(control_board(d->control));
    bool news;

    budget_asks(w);
    events_fold(d, page);
    if (!page)
        return;
    asks_anew(d, page);
    news = page->tick != d->tick;
    if (w->plain)
        history_needed(w, needed(w));
    if (d->number == 0 && !page->config_held &&
        world_now(w) - w->saved_ms > TAKEN_MS &&
        world_now(w) - d->started_ms > TAKEN_MS)
        history_taken(w);
    if (news && d->number == 0) {
        requests_check(d, page);
        truth_look(d, page);
    }
    d->tick = page->tick;
    if ((world_now(w) - d->checked_ms >= CHECK_MS || (news && w->unknown)) &&
        world_now(w) - d->started_ms > GRACE_MS) {
        d->checked_ms = world_now(w);
        owners_check(d, page);
        stops_check(d, page);
        if (d->number == 0)
            ends_check(d, page);
    }
    if (d->number == 0)
        vain_look(d, page);
    status_unref(page);
}

void observer_joins(struct world *w)
{
    struct cloud_watch watch = {
        .arg = w, .launched = launched, .ending = ending, .sent = sent};

    for (uint32_t i = 0; i < w->n_clouds; i++)
        cloud_watch(w->clouds[i], &watch);
}
