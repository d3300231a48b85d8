/*
 * truth.c - what a screen says of the future, compared with what then happens.
 *
 * Sentences are taken from the same functions that every screen has them from
 * (api/view.h), at each new page.  Where the facts changed since (another file, another
 * process, a clock that was set), what was said before is forgotten: a sentence is
 * false only if nothing but time went by.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/view.h"
#include "observer.h"

enum {
    SLACK_MS = 2 * SECOND, /* a page is made from facts of so long ago */
    JUMP_MS = 2 * SECOND,  /* so much a clock may run otherwise */
    PAST_MS = 5 * SECOND,  /* a time that was said is over for so long */
    LOOK_MS = 25 * SECOND, /* from a machine's start to its place on a page,
                            * where all is well; of a long way */
    LOOK_SHARE = 3,        /* a part may not have been seen */
    GONE_MS = READ_MS +
              2 * MINUTE, /* a machine is: a good list has told, also one that
                                     * takes long, as the one before it did */
};

static void truth_broken(struct world *w, const char *sentence,
                         const char *subject, const char *then)
{
    char text[300];

    snprintf(text, sizeof text, "%s: it was said that %s, and %s", subject,
             sentence, then);
    law_broken(w, LAW_TRUTH, "%s", text);
}

const char *truth_word(int sentence)
{
    static const char *const words[] = {
        [SAYS_ENDS] = "may be ended at",
        [SAYS_NEXT_TRY] = "the next try is at",
        [SAYS_SATISFIED] = "satisfied",
        [SAYS_READY_IN] = "usually ready in about",
        [SAYS_WAITS_FOR] = "waits for",
        [SAYS_CHEAPEST] = "no fleet could do it for less"};

    return words[sentence];
}

/* ---- when an idle node goes */

static void idle_said(struct world *w, struct view *v, uint32_t i)
{
    const struct pb_node *n = &v->s->nodes[i];
    struct said_node said = {.hold = n->hold,
                             .idle_ms = n->idle_ms,
                             .told_ms = v->page->ray_began_ms
                                            ? v->page->ray_began_ms
                                            : v->s->now_ms};
    enum reason keeps;

    if (n->state != STATE_READY || n->idle_ms < 0 ||
        v->plan->nodes[i].why != REASON_KEEP_IDLE_WAIT)
        return;
    said.goes_ms = view_goes_ms(v, i, &keeps);
    said.keeps = keeps;
    snprintf(said.id, sizeof said.id, "%s", view_str(v, n->id));
    w->truth.sentences[SAYS_ENDS]++;
    if (said.goes_ms && said.goes_ms < v->s->now_ms - PAST_MS)
        truth_broken(w, "it may be ended at a time", said.id,
                     "that was over as it was said");
    VEC_PUSH(NULL, &w->truth.nodes, said);
}

/* The head tells of more idle time than it did, beyond what went by since it was
 * asked: then the sentence was its word. */
static bool told_otherwise(const struct world *w, const struct view *v,
                           const struct pb_node *n,
                           const struct said_node *said)
{
    return w->head && said->told_ms &&
           n->idle_ms - said->idle_ms > v->s->now_ms - said->told_ms + SLACK_MS;
}

static void idle_check(struct world *w, struct view *v,
                       const struct said_node *said)
{
    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *n = &v->s->nodes[i];
        const struct plan_node *p = &v->plan->nodes[i];

        if (strcmp(view_str(v, n->id), said->id) != 0)
            continue;
        if (p->action != NODE_END || p->why != REASON_END_IDLE ||
            n->hold != said->hold || told_otherwise(w, v, n, said))
            return;
        if (said->goes_ms && v->s->now_ms + SLACK_MS < said->goes_ms)
            law_broken(w, LAW_TRUTH,
                       "%s: it was said that it may be ended in %lld s, and it "
                       "is ended as idle (idle for %lld s of %lld)",
                       said->id,
                       (long long)(said->goes_ms - v->s->now_ms) / 1000,
                       (long long)n->idle_ms / 1000,
                       (long long)n->idle_timeout_ms / 1000);
        else if (!said->goes_ms && said->keeps == REASON_NONE)
            truth_broken(w, "its idle_timeout never ends", said->id,
                         "it is ended as idle");
        return;
    }
}

/* ---- when an offer that was refused is tried again */

static void offer_said(struct world *w, struct view *v, uint32_t i)
{
    const struct pb_offer *o = &v->s->offers[i];
    struct said_offer said = {.until_ms = o->backoff_until_ms, .spot = o->spot};

    if (o->backoff_until_ms <= v->s->now_ms)
        return;
    snprintf(said.type, sizeof said.type, "%s",
             view_str(v, v->s->types[o->type].name));
    snprintf(said.zone, sizeof said.zone, "%s", view_str(v, o->zone));
    for (uint32_t k = 0; k < v->s->n_nodes; k++)
        said.joined += v->s->nodes[k].type == o->type &&
                       v->s->nodes[k].state == STATE_READY;
    w->truth.sentences[SAYS_NEXT_TRY]++;
    VEC_PUSH(NULL, &w->truth.offers, said);
}

/* A machine of it that has joined meanwhile ends a back-off. */
static void offer_check(struct world *w, struct view *v,
                        const struct said_offer *said)
{
    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct pb_offer *o = &v->s->offers[v->plan->launches[i].offer];
        uint32_t joined = 0;

        if (o->spot != said->spot ||
            strcmp(view_str(v, v->s->types[o->type].name), said->type) != 0 ||
            strcmp(view_str(v, o->zone), said->zone) != 0)
            continue;
        for (uint32_t k = 0; k < v->s->n_nodes; k++)
            joined += v->s->nodes[k].type == o->type &&
                      v->s->nodes[k].state == STATE_READY;
        if (v->s->now_ms + SLACK_MS < said->until_ms && joined <= said->joined)
            truth_broken(w, "the next try is later", said->type,
                         "it is bought");
    }
}

/* ---- a request that is satisfied stands on machines that are there */

static struct cloud_machine *machine_of(const struct world *w, const char *id,
                                        struct cloud **ret)
{
    for (uint32_t i = 0; i < w->n_clouds; i++) {
        struct cloud_machine *m = cloud_machine(w->clouds[i], id);

        if (m) {
            *ret = w->clouds[i];
            return m;
        }
    }
    return NULL;
}

static bool holds(const struct view *v, uint32_t node, const char *owner)
{
    const struct plan_node *p = &v->plan->nodes[node];

    for (uint32_t k = 0; k < p->n_placements; k++) {
        uint32_t b = v->plan->placements[p->first_placement + k].bundle;
        const struct pb_demand *d = &v->s->demands[v->s->bundles[b].demand];

        if (d->source == SOURCE_REQUEST &&
            strcmp(view_str(v, d->owner), owner) == 0)
            return true;
    }
    return false;
}

/* All has been well for so long that a list has told of it. */
static bool is_known(const struct daemon *d, const struct cloud *c,
                     int64_t since_ms)
{
    const struct world *w = d->world;
    int64_t well = cloud_well_ms(c);

    well = well > d->started_ms ? well : d->started_ms;
    well = well > w->slept_ms ? well : w->slept_ms;
    well = well > since_ms ? well : since_ms;
    well = well > w->truth.unread_ms ? well : w->truth.unread_ms;
    return cloud_well_ms(c) && world_now(w) - well > GONE_MS;
}

/* ---- when a request is ready, as usual */

/* Which machines it waits for, and how long such ones take as a rule. */
static uint64_t ways_of(const struct view *v, const char *owner)
{
    uint64_t h = HASH_SEED;

    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        if (v->s->nodes[i].state < STATE_READY && holds(v, i, owner)) {
            h = hash_text(h, view_str(v, v->s->nodes[i].id));
            h = hash_number(h, (uint64_t)v->s->nodes[i].created_ms);
        }
    for (uint32_t i = 0; i < v->s->n_types; i++)
        h = hash_number(h, (uint64_t)v->s->types[i].boot_ms);
    return hash_number(h, v->plan->n_launches);
}

/* The moment that is said stays, while nothing but time goes by: what is always "in
 * half a minute" is never. */
static void ready_stays(struct world *w, struct view *v, const char *owner,
                        int64_t eta_ms)
{
    struct said_ready now = {.at_ms = v->s->now_ms + eta_ms,
                             .of = ways_of(v, owner)};
    struct truth *t = &w->truth;
    uint32_t i = 0;

    snprintf(now.owner, sizeof now.owner, "%s", owner);
    while (i < t->ready.n && strcmp(t->ready.v[i].owner, owner) != 0)
        i++;
    if (i == t->ready.n) {
        VEC_PUSH(NULL, &t->ready, now);
        return;
    }
    if (t->ready.v[i].of == now.of &&
        now.at_ms > t->ready.v[i].at_ms + SLACK_MS)
        truth_broken(w, "it is usually ready at a time", owner,
                     "that moved, though nothing happened");
    t->ready.v[i] = now;
}

/* The machine that is said to come last. */
static uint32_t last_coming(const struct view *v, const char *owner)
{
    uint32_t last = NONE;
    int64_t last_ms = INT64_MIN;

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        if (v->s->nodes[i].state >= STATE_READY || !holds(v, i, owner) ||
            view_ready_ms(v, i) < last_ms)
            continue;
        last = i;
        last_ms = view_ready_ms(v, i);
    }
    return last;
}

static void ready_said(struct world *w, struct view *v, const char *owner,
                       int64_t eta_ms)
{
    struct said_coming now = {.least_ms = 0};
    struct truth *t = &w->truth;
    uint32_t last, i = 0;

    if (strlen(owner) >= sizeof now.owner || v->plan->n_launches)
        return; /* what has not left begins with the next page */
    t->sentences[SAYS_READY_IN]++;
    ready_stays(w, v, owner, eta_ms);
    last = last_coming(v, owner);
    if (last == NONE)
        return;
    snprintf(now.owner, sizeof now.owner, "%s", owner);
    snprintf(now.id, sizeof now.id, "%s", view_str(v, v->s->nodes[last].id));
    now.least_ms = now.most_ms = v->s->now_ms + eta_ms -
                                 v->s->nodes[last].created_ms;
    while (i < t->coming.n && strcmp(t->coming.v[i].id, now.id) != 0)
        i++;
    if (i == t->coming.n) {
        VEC_PUSH(NULL, &t->coming, now);
        return;
    }
    if (now.least_ms < t->coming.v[i].least_ms)
        t->coming.v[i].least_ms = now.least_ms;
    if (now.most_ms > t->coming.v[i].most_ms)
        t->coming.v[i].most_ms = now.most_ms;
}

static struct came *came_of(struct truth *t, const char *type)
{
    struct came new = {.n = 0};

    for (uint32_t i = 0; i < t->came.n; i++)
        if (strcmp(t->came.v[i].type, type) == 0)
            return &t->came.v[i];
    snprintf(new.type, sizeof new.type, "%s", type);
    VEC_PUSH(NULL, &t->came, new);
    return &t->came.v[t->came.n - 1];
}

/* It is there.  What was said of it is what its like, and it itself, have taken:
 * neither less than any of them nor more. */
static void came_check(struct world *w, const struct said_coming *said,
                       const struct came *came)
{
    int64_t least = INT64_MAX, most = 0;

    for (uint32_t i = 0; i < came->n && i < CAME_KEPT; i++) {
        least = came->ms[i] < least ? came->ms[i] : least;
        most = came->ms[i] > most ? came->ms[i] : most;
    }
    w->truth.arrivals++;
    if (said->least_ms < least - LOOK_MS ||
        said->most_ms > most + most / LOOK_SHARE + LOOK_MS)
        law_broken(w, LAW_TRUTH,
                   "%s: it was said that it is usually ready %lld to %lld s "
                   "after the launch of %s, and the last %u of its type took "
                   "%lld to %lld s",
                   said->owner, (long long)said->least_ms / 1000,
                   (long long)said->most_ms / 1000, said->id,
                   came->n < CAME_KEPT ? came->n : CAME_KEPT,
                   (long long)least / 1000, (long long)most / 1000);
}

/* It runs; and where there is a head, its node has joined. */
static int64_t there_ms(const struct world *w, const struct cloud_machine *m)
{
    struct head_node n;

    return w->head && head_node_of(w->head, m->id, &n) &&
                   n.joined_ms > m->ready_ms
               ? n.joined_ms
               : m->ready_ms;
}

/* Its cloud made it; or took its time to, then since it was asked for. */
static int64_t begun_ms(const struct world *w, const struct cloud_machine *m,
                        int64_t age_ms)
{
    int64_t asked_ms = world_now(w) - age_ms;

    return m->launched_ms - asked_ms > LOOK_MS ? asked_ms : m->launched_ms;
}

/* Each machine that has come, once: noted with what it took by its cloud. */
static void arrivals_look(struct world *w, struct view *v)
{
    struct truth *t = &w->truth;

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *n = &v->s->nodes[i];
        const struct snap_node *from = &v->snapshot->nodes[n->from];
        struct cloud_machine *m;
        struct cloud *c = NULL;
        struct came *came;

        if (n->state != STATE_READY || n->type >= v->s->n_types ||
            !from->cloud_id || !*from->cloud_id)
            continue;
        m = machine_of(w, from->cloud_id, &c);
        if (!m || m->noted_came || m->ready_ms == INT64_MAX)
            continue;
        m->noted_came = true;
        came = came_of(t, view_str(v, v->s->types[n->type].name));
        came->ms[came->n++ % CAME_KEPT] =
            there_ms(w, m) - begun_ms(w, m, v->s->now_ms - n->created_ms);
        for (uint32_t k = 0; k < t->coming.n; k++)
            if (strcmp(t->coming.v[k].id, view_str(v, n->id)) == 0) {
                came_check(w, &t->coming.v[k], came);
                t->coming.v[k] = t->coming.v[--t->coming.n];
                break;
            }
    }
}

static void satisfied_check(struct daemon *d, struct view *v, const char *owner)
{
    struct world *w = d->world;
    struct outcome x;
    const char *text;

    outcome_of(v, owner, &x);
    if (!x.found)
        return;
    w->truth.sentences[SAYS_SATISFIED] += x.satisfied;
    if (x.eta_ms >= 0 && !x.satisfied)
        ready_said(w, v, owner, x.eta_ms);
    text = outcome_text(v, owner, &x);
    /* What it goes by is said. */
    x.satisfied = x.satisfied && !strstr(text, ", by ") &&
                  !strstr(text, ", if ");
    if (strstr(text, "ready in about 0 s"))
        truth_broken(w, "it is ready in about 0 s", owner, "it waits");
    for (uint32_t i = 0; x.satisfied && i < v->s->n_nodes; i++) {
        const struct snap_node *n = &v->snapshot->nodes[v->s->nodes[i].from];
        const struct cloud_machine *m;
        struct cloud *c = NULL;

        if (!holds(v, i, owner) || !n->cloud_id || !*n->cloud_id)
            continue;
        m = machine_of(w, n->cloud_id, &c);
        if (m && m->gone_ms < world_now(w) && is_known(d, c, m->gone_ms))
            law_broken(w, LAW_TRUTH,
                       "%s: it was said that it is satisfied, and %s (%s), "
                       "which it counts on, is gone for %lld s",
                       owner, n->id, n->cloud_id,
                       (long long)(world_now(w) - m->gone_ms) / 1000);
    }
}

/* ---- what a limit stops, it stops */

static void nodes_check(struct world *w, const struct view *v)
{
    uint32_t n = 0, hosts = 1;

    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        n += !v->s->nodes[i].unmanaged && !v->s->nodes[i].head &&
             v->s->nodes[i].state != STATE_GONE;
    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        n += v->plan->launches[i].count;
    for (uint32_t i = 0; i < v->s->n_types; i++)
        if (v->s->types[i].hosts > hosts)
            hosts = v->s->types[i].hosts;
    w->truth.sentences[SAYS_WAITS_FOR]++;
    if (n + hosts <= v->s->limits.max_nodes)
        truth_broken(w, "the cluster is at limits.max_nodes", "a bundle",
                     "there are fewer");
}

static void limits_check(struct world *w, struct view *v)
{
    uint32_t *n = ARENA_ARRAY(&v->arena, uint32_t, v->s->n_types + 1);

    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        if (v->s->nodes[i].type < v->s->n_types &&
            v->s->nodes[i].state != STATE_GONE)
            n[v->s->nodes[i].type]++;
    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        n[v->s->offers[v->plan->launches[i].offer].type] +=
            v->plan->launches[i].count;
    for (uint32_t i = 0; i < v->plan->n_refusals; i++) {
        const struct plan_refusal *r = &v->plan->refusals[i];
        const struct pb_type *t = view_offer_type(v, r->offer);

        if (r->why == REASON_MAX_NODES)
            nodes_check(w, v);
        if (r->why != REASON_MAX_TYPE || !t)
            continue;
        w->truth.sentences[SAYS_WAITS_FOR]++;
        if (n[t - v->s->types] + (t->hosts > 1 ? t->hosts : 1) <= t->max)
            truth_broken(w, "the type is at its max", view_str(v, t->name),
                         "there are fewer");
    }
}

/* ---- no fleet does it for less */

static uint64_t world_of(const struct view *v)
{
    uint64_t h = hash_number((uint64_t)v->plan->fleet_paid_micros_hour,
                             v->s->n_bundles);

    for (uint32_t b = 0; b < v->s->n_bundles; b++)
        h = hash_number(
            hash_number(h, problem_digest(v->s, b)),
            v->plan->bundles[b].placed + v->plan->bundles[b].launched);
    for (uint32_t i = 0; i < v->s->n_offers; i++) {
        const struct pb_offer *o = &v->s->offers[i];

        h = hash_number(h, (uint64_t)pb_offer_bill(o));
        h = hash_number(
            h, (uint64_t)o->closed << 1 | (o->backoff_until_ms > v->s->now_ms));
        h = hash_number(h, v->s->types[o->type].max);
        /* Of what can be bought now. */
        h = hash_number(h, v->s->types[o->type].unavailable);
        h = hash_number(h, o->room);
    }
    return h;
}

/* Where nothing but requests decides: what runs on a head, and machines that must stay
 * though nothing needs them, are part of both sums. */
static bool is_plain(const struct view *v)
{
    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        if (v->s->nodes[i].idle_ms < 0 || v->s->nodes[i].unmanaged ||
            v->s->nodes[i].hold != REASON_NONE ||
            v->s->nodes[i].price_estimated || v->s->nodes[i].offer == NONE ||
            v->s->nodes[i].price_micros_hour !=
                pb_offer_bill(&v->s->offers[v->s->nodes[i].offer]))
            return false;
    /* Spot machines that were taken back count as dearer: the sentence says so.
     * What nobody told the price of is estimated. */
    for (uint32_t i = 0; i < v->s->n_offers; i++)
        if (v->s->offers[i].surcharge_micros_hour ||
            v->s->offers[i].price_estimated)
            return false;
    return true;
}

static void proof_check(struct world *w, const struct view *v)
{
    int64_t used = plan_fleet_used(v->plan);
    int64_t bound = v->plan->fleet_bound_micros_hour;
    uint64_t world = world_of(v);

    if (w->head || !is_plain(v) || bound < used)
        return; /* it is proved where the two are the same */
    w->truth.sentences[SAYS_CHEAPEST]++;
    if (world == w->truth.proved_world && used + 1000 < w->truth.proved)
        law_broken(w, LAW_TRUTH,
                   "it was said that no fleet could do it for less than %.4f "
                   "$/h, and one does for %.4f",
                   (double)w->truth.proved / 1e6, (double)used / 1e6);
    if (world != w->truth.proved_world || bound > w->truth.proved)
        w->truth.proved = bound;
    w->truth.proved_world = world;
}

/* ---- a page */

/* Nothing but time went by since the page before. */
static bool same_facts(const struct daemon *d, const struct status_page *page)
{
    const struct truth *t = &d->world->truth;
    int64_t went = page->snapshot->now_ms - t->page_ms;
    int64_t jump = went - (world_now(d->world) - t->world_ms);

    return t->page_ms && t->started_ms == page->started_ms &&
           t->loaded_ms == page->config_loaded_ms && jump < JUMP_MS &&
           jump > -JUMP_MS;
}

void truth_look(struct daemon *d, const struct status_page *page)
{
    struct truth *t = &d->world->truth;
    struct view v;

    view_open(&v, page);
    if (t->unread) /* the last page said so until now */
        t->unread_ms = world_now(d->world);
    t->unread = false;
    for (uint32_t i = 0; i < page->n_providers; i++)
        t->unread = t->unread || !page->providers[i].ready;
    if (t->unread)
        t->unread_ms = world_now(d->world);
    if (same_facts(d, page)) {
        for (uint32_t i = 0; i < t->nodes.n; i++)
            idle_check(d->world, &v, &t->nodes.v[i]);
        for (uint32_t i = 0; i < t->offers.n; i++)
            offer_check(d->world, &v, &t->offers.v[i]);
    } else {
        t->proved_world = 0;
        t->ready.n = t->coming.n = 0;
    }
    arrivals_look(d->world, &v);
    t->nodes.n = t->offers.n = 0;
    for (uint32_t i = 0; i < v.s->n_nodes; i++)
        idle_said(d->world, &v, i);
    for (uint32_t i = 0; i < v.s->n_offers; i++)
        offer_said(d->world, &v, i);
    for (uint32_t i = 0; i < page->n_requests; i++)
        satisfied_check(d, &v, page->requests[i].owner);
    limits_check(d->world, &v);
    proof_check(d->world, &v);
    t->page_ms = page->snapshot->now_ms;
    t->world_ms = world_now(d->world);
    t->started_ms = page->started_ms;
    t->loaded_ms = page->config_loaded_ms;
    view_done(&v);
}
