/*
 * claims.c - which of the nodes that say so is a machine.
 *
 * A node that was broken into may call itself as it likes: were it taken for the
 * machine of somebody else, that one would look idle, or as if it had never
 * come, and end with its work.  So:
 *
 * - The node that a machine is known as stays it, as long as it lives and says so.
 * - A machine that has not joined is the one node for which more stands than for
 *   the others; a node that is another machine of ours for good is not this one.
 * - A raylet that was there before a machine's launch is none of its nodes, though it
 *   has its name: that of a host that is launched again, say.
 * - Else there is no answer, and nothing happens to the machine before there is.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "../ours.h"
#include "inside.h"

enum { NAMES_MAX = 4 };

enum claim claim_to(const struct source_node *n, const char *name)
{
    if (strcmp(n->instance_id, name) == 0)
        return n->n_vouched ? CLAIM_VOUCHED : CLAIM_SAID;
    for (uint32_t k = 0; k < n->aliases.n; k++)
        if (strcmp(n->aliases.v[k], name) == 0)
            return k < n->n_vouched                ? CLAIM_VOUCHED
                   : k < n->n_vouched + n->n_given ? CLAIM_GIVEN
                                                   : CLAIM_SAID;
    return CLAIM_NONE;
}

/* What a machine may be called, "" among them. */
struct machine_names {
    const char *v[NAMES_MAX];
    uint32_t n;
};

static struct machine_names names_of(const struct source *h,
                                     const struct machine *m)
{
    const char *last = strrchr(m->cloud_id, '/');
    struct machine_names r = {{m->cloud_id, m->id}, 2};

    if (h->ops->by_address) {
        r.v[r.n++] = last ? last + 1 : "";
        r.v[r.n++] = m->address;
    }
    return r;
}

static enum claim claim_by_name(const struct source_node *n,
                                const struct machine_names *names)
{
    enum claim best = CLAIM_NONE;

    for (uint32_t i = 0; i < names->n; i++) {
        enum claim c = *names->v[i] ? claim_to(n, names->v[i]) : CLAIM_NONE;

        best = c < best ? c : best;
    }
    return best;
}

static bool is_known_as(const struct machine *m, const struct source_node *n)
{
    return *m->ray_id && strcmp(m->ray_id, n->node_id) == 0;
}

/* A mark is looked at for a node that has one of the machine's names; more than the
 * name stands for it then. */
static enum claim claim_on(const struct sources *s, const struct machine *m,
                           const struct source_node *n,
                           const struct machine_names *names)
{
    enum claim by = claim_by_name(n, names);

    return by > CLAIM_TOKEN && by < CLAIM_NONE &&
                   ours_join_mark_is(s->ledger, m, n->mark)
               ? CLAIM_TOKEN
               : by;
}

/* What was in a view before then is not it.  Each raylet has an id of its own, and what
 * is left of a dead one stays for a while; a Kubernetes node is there while its machine
 * is not. */
static int64_t since_of(const struct source *h, const struct machine *m,
                        const struct source_node *n)
{
    if (h->ops->by_address && n->status != SOURCE_DEAD)
        return INT64_MIN;
    if (m->ready_ms) /* it is missing since then */
        return m->state == STATE_STARTING ? m->since_ms : INT64_MIN;
    return m->adopted ? INT64_MIN : m->created_ms;
}

static bool was_before(const struct source *h, const struct machine *m,
                       const struct source_node *n)
{
    return h->first_ms && h->first_ms[n - h->view->nodes] < since_of(h, m, n);
}

/* For which machine the most stands that this node is it, in the last view. */
struct source_taken {
    char id[sizeof(((struct machine *)0)->id)]; /* "": for none */
    int by; /* enum claim; -1: it is known as the node */
};

/* Is it another machine of ours, by more than this claim?  One that has left the
 * ledger since that view is nobody's name any more. */
static bool is_another(const struct sources *s, const struct source *h,
                       const struct machine *m, const struct source_node *n,
                       enum claim by)
{
    const struct source_taken *t = &h->taken[n - h->view->nodes];
    const struct machine *x;

    if (!*t->id || t->by >= (int)by || strcmp(t->id, m->id) == 0)
        return false;
    x = fleet_by_id(&s->ledger->fleet, t->id);
    return x && x->state != STATE_GONE;
}

/* The claims on one machine, as they are met. */
struct contest {
    const struct source_node *dead, *known, *best, *other;
    enum claim known_by, best_by;
    bool tie;
};

/* The token is for one node: while the first one that showed the mark lives, another
 * one has copied it. */
static bool token_is_used(const struct contest *c, const struct machine *m)
{
    return c->known && c->known_by == CLAIM_TOKEN &&
           m->maybe.shown_by == hash_name(c->known->node_id);
}

/* One that is ready goes before one that is not: that may be what is left of an
 * earlier machine with this address. */
static int order(enum claim a, const struct source_node *x, enum claim b,
                 const struct source_node *y)
{
    if (a != b)
        return a < b ? -1 : 1;
    return (x->status == SOURCE_UNREADY) - (y->status == SOURCE_UNREADY);
}

static void meet(struct contest *c, const struct machine *m,
                 const struct source_node *n, enum claim by)
{
    int d;

    if (n->status == SOURCE_DEAD) {
        if (!c->dead || is_known_as(m, n) ||
            (!is_known_as(m, c->dead) &&
             strcmp(n->node_id, c->dead->node_id) < 0))
            c->dead = n;
        return;
    }
    if (n == c->best || n == c->known || n == c->other)
        return;
    if (is_known_as(m, n)) {
        c->known = n;
        c->known_by = by;
        return;
    }
    d = c->best ? order(by, n, c->best_by, c->best) : -1;
    if (d < 0) {
        c->other = c->best ? c->best : c->other;
        c->best = n;
        c->best_by = by;
        c->tie = false;
    } else {
        c->other = n;
        c->tie = c->tie || d == 0;
    }
}

/* Less stands for it than for the node that the machine was known as.  A person who
 * wants the machine drained has been told of it: that one is what is drained, else
 * nothing could ever end a machine that is missing. */
static bool is_less(const struct contest *c, const struct machine *m)
{
    return m->maybe.known_by && c->best_by >= m->maybe.known_by &&
           !m->asked_to_end;
}

static struct source_claims decide(const struct contest *c,
                                   const struct machine *m)
{
    bool open;

    if (c->known) {
        bool other_is_less = c->best_by > c->known_by ||
                             (token_is_used(c, m) && c->best_by == CLAIM_TOKEN);

        return (struct source_claims){
            c->known, c->known, c->best,
            c->best && (!other_is_less || c->known_by > CLAIM_TOKEN)};
    }
    if (!c->best)
        return (struct source_claims){.node = c->dead};
    open = c->tie || is_less(c, m);
    return (struct source_claims){open ? NULL : c->best, c->best, c->other,
                                  open};
}

struct source_claims source_claims(const struct sources *s,
                                   const struct machine *m)
{
    const struct source *h = source_of_machines(s);
    struct contest c = {0};
    struct machine_names names;
    const struct source_node *n;

    if (!h || !h->view)
        return (struct source_claims){0};
    names = names_of(h, m);
    for (uint32_t i = 0; i < names.n; i++) {
        uint64_t key = *names.v[i] ? hash_name(names.v[i]) : 0;

        for (uint32_t at = 0;
             *names.v[i] && (n = hash_next(&h->names, key, &at));) {
            enum claim by = claim_on(s, m, n, &names);

            if (by != CLAIM_NONE && !was_before(h, m, n) &&
                (is_known_as(m, n) || !is_another(s, h, m, n, by)))
                meet(&c, m, n, by);
        }
    }
    return decide(&c, m);
}

bool source_has_any(const struct sources *s, const struct source *h,
                    struct source_view *view)
{
    struct source with = *h;
    const struct source_node *n;
    bool any = false;

    with.view = source_view_ref(view);
    source_index(&with);
    for (uint32_t i = 0; i < s->ledger->fleet.n && !any; i++) {
        struct machine_names names = names_of(&with, s->ledger->fleet.v[i]);

        for (uint32_t k = 0; k < names.n && !any; k++) {
            uint64_t key = *names.v[k] ? hash_name(names.v[k]) : 0;

            for (uint32_t at = 0;
                 !any && *names.v[k] && (n = hash_next(&with.names, key, &at));)
                any = n->status != SOURCE_DEAD &&
                      claim_to(n, names.v[k]) != CLAIM_NONE;
        }
    }
    source_view_unref(with.view);
    return any;
}

/* ---- after each good view */

void source_taken_clear(struct source *h)
{
    h->taken = ARENA_ARRAY(&h->view->arena, struct source_taken,
                           h->view->n_nodes);
}

static void machine_takes(const struct sources *s, struct source *h,
                          const struct machine *m)
{
    struct machine_names names = names_of(h, m);
    const struct source_node *n;

    for (uint32_t i = 0; i < names.n; i++) {
        uint64_t key = *names.v[i] ? hash_name(names.v[i]) : 0;

        for (uint32_t at = 0;
             *names.v[i] && (n = hash_next(&h->names, key, &at));) {
            struct source_taken *t = &h->taken[n - h->view->nodes];
            int by = is_known_as(m, n) ? -1 : (int)claim_on(s, m, n, &names);

            if (by == CLAIM_NONE || was_before(h, m, n) ||
                (*t->id && t->by <= by))
                continue;
            snprintf(t->id, sizeof t->id, "%s", m->id);
            t->by = by;
        }
    }
}

const char *claims_other(const struct source_claims *c, const struct machine *m)
{
    return c->other     ? c->other->node_id
           : *m->ray_id ? m->ray_id
                        : "that it was known as";
}

/* Once for each contest. */
static void claim_tell(struct sources *s, struct machine *m)
{
    struct source_claims c = source_claims(s, m);
    bool was = m->maybe.claimed;

    m->maybe.claimed = c.other || c.contested;
    m->maybe.contested = c.contested;
    if (!m->maybe.claimed || was)
        return;
    emit(s->env, "node.claimed", m->id, "",
         c.contested
             ? "%s: the nodes %s and %s both say that they are it: nothing is "
               "ended, and nothing bought in its place, before one of them "
               "does not say so any more"
             : "%s: the nodes %s and %s both say that they are it: it is taken "
               "for the first one, for which more stands",
         m->type, c.first->node_id, claims_other(&c, m));
}

/* Of a machine that joins for the first time, and of nobody who came later. */
static void proof_note(const struct source *h, struct machine *m,
                       const struct source_node *n, enum claim by)
{
    if (by == CLAIM_TOKEN && !m->maybe.known_by && !m->maybe.shown_by &&
        (!m->ready_ms || m->ready_ms >= h->view_ms))
        m->maybe.shown_by = hash_name(n->node_id);
}

/* What stands for the node that it is known as now. */
void source_claims_note(struct sources *s)
{
    const struct source *h = source_of_machines(s);
    const struct fleet *f = &s->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++) {
        struct machine *m = f->v[i];
        struct machine_names names = names_of(h, m);
        struct source_claims c = {0};

        if (m->state != STATE_GONE && *m->ray_id)
            c = source_claims(s, m);
        m->maybe.contested = m->maybe.contested || c.contested;
        if (c.node && !c.contested && is_known_as(m, c.node)) {
            enum claim by = claim_on(s, m, c.node, &names);

            proof_note(h, m, c.node, by);
            m->maybe.known_by = by + 1u;
        }
    }
}

void source_claims_tell(struct sources *s)
{
    struct source *h = source_for_machines(s);
    const struct fleet *f = &s->ledger->fleet;

    source_taken_clear(h);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i]->state != STATE_GONE)
            machine_takes(s, h, f->v[i]);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i]->state != STATE_GONE)
            claim_tell(s, f->v[i]);
}
