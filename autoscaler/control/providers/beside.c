/*
 * beside.c - see beside.h.
 */
#include "beside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cloud/cloud.h"
#include "../../model/mark.h"

enum {
    GONE_MS = 60000, /* a stamp stands still for so long: four lists at rest */
    KEPT_MOST = 64,  /* neighbours, of all providers; later ones are not met */
};

void beside_done(struct beside *b)
{
    free(b->all.v);
    *b = (struct beside){{0}};
}

void beside_who(const struct ledger *l, char ret[WHO_TEXT])
{
    struct incarnation by = l->ours.incarnation;

    assert(by.starts < INCARNATION_STARTS && by.chance < INCARNATION_CHANCE);
    snprintf(ret, WHO_TEXT, MARK "%s-%05x", l->ours.owner,
             by.starts * INCARNATION_CHANCE + by.chance);
}

/* Of "davit-0a1b2c-00123"; NULL: it is no name of a daemon. */
static const char *owner_of(const char *who)
{
    const char *at = who + sizeof MARK - 1;

    return strncmp(who, MARK, sizeof MARK - 1) == 0 &&
                   strcspn(at, "-") == MARK_OWNER
               ? at
               : NULL;
}

static struct neighbour *find(struct beside *b, const char *provider,
                              const char *who)
{
    for (uint32_t i = 0; i < b->all.n; i++)
        if (strcmp(b->all.v[i].who, who) == 0 &&
            strcmp(b->all.v[i].provider, provider) == 0)
            return &b->all.v[i];
    return NULL;
}

/* Leaders of one lease have one owner; the lease says who leads. */
static bool is_us(const struct ledger *l, const char *who)
{
    char me[WHO_TEXT];

    beside_who(l, me);
    return strcmp(me, who) == 0 ||
           (l->ha && strncmp(owner_of(who), l->ours.owner, MARK_OWNER) == 0);
}

static bool meet(struct beside *b, const struct ledger *l, const char *cluster,
                 const char *provider, const struct call_neighbour *c)
{
    struct neighbour *n = find(b, provider, c->who), new = {.stamp = c->stamp};
    bool was;

    if (!owner_of(c->who) || strlen(c->who) >= sizeof new.who ||
        is_us(l, c->who) || (!n && b->all.n == KEPT_MOST))
        return false;
    if (!n) {
        snprintf(new.who, sizeof new.who, "%s", c->who);
        snprintf(new.provider, sizeof new.provider, "%s", provider);
        VEC_PUSH(NULL, &b->all, new);
        return false;
    }
    if (n->stamp == c->stamp)
        return false;
    was = n->at_work;
    n->stamp = c->stamp;
    n->seen_ms = l->env->mono_ms;
    n->at_work = true;
    if (!was)
        emit(l->env, "daemon.beside", n->who, "",
             "another daemon of cluster %s is at work in provider %s: neither "
             "ends the other's machines or places anything on them; stop one "
             "of the two, or give it a `cluster` of its own",
             cluster, provider);
    return !was;
}

bool beside_met(struct beside *b, const struct ledger *l, const char *cluster,
                const char *provider, const struct call *list)
{
    bool changed = false;

    for (uint32_t i = 0; i < list->neighbours.n; i++)
        changed = meet(b, l, cluster, provider, &list->neighbours.v[i]) ||
                  changed;
    for (uint32_t i = 0; i < b->all.n; i++) {
        struct neighbour *n = &b->all.v[i];

        if (!n->at_work || strcmp(n->provider, provider) != 0 ||
            l->env->mono_ms - n->seen_ms < GONE_MS)
            continue;
        n->at_work = false;
        changed = true;
        emit(l->env, "daemon.alone", n->who, "",
             "it is not at work in provider %s any more", provider);
    }
    return changed;
}

const struct neighbour *beside_last(const struct beside *b,
                                    const char *provider)
{
    const struct neighbour *last = NULL;

    for (uint32_t i = 0; i < b->all.n; i++) {
        const struct neighbour *n = &b->all.v[i];

        if (n->at_work && (!provider || strcmp(n->provider, provider) == 0) &&
            (!last || n->seen_ms > last->seen_ms))
            last = n;
    }
    return last;
}

bool beside_has(const struct beside *b, const struct machine *m)
{
    struct request_mark k;

    if (!machine_is_anothers(m) || !mark_read(m->request_id, &k))
        return false;
    for (uint32_t i = 0; i < b->all.n; i++)
        if (b->all.v[i].at_work &&
            strcmp(b->all.v[i].provider, m->provider) == 0 &&
            strncmp(owner_of(b->all.v[i].who), k.owner, MARK_OWNER) == 0)
            return true;
    return false;
}
