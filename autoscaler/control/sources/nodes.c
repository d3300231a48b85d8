/*
 * nodes.c - which of a source's nodes is which machine, and how old that is.
 *
 * A machine is found under any of its names: the cloud's id, ours, and with a
 * source that has addresses for names its address.  Nodes choose most of their
 * names themselves, so a node only claims to be a machine.  Who stands for the
 * name decides: the API server and the cloud, then the label that it was started
 * with, then its own words.  The one that the machine is known as stays it as
 * long as it lives; where nothing decides there is none (see claims.c).
 */
#include <string.h>

#include "../../base/hash.h"
#include "inside.h"

enum { STALE_MS = 10000 }; /* a view older than this is not fresh */

/* Of several with one name (a raylet started again) the living comes first. */
static bool comes_first(const struct source_node *a,
                        const struct source_node *b)
{
    if ((a->status == SOURCE_DEAD) != (b->status == SOURCE_DEAD))
        return b->status == SOURCE_DEAD;
    return strcmp(a->node_id, b->node_id) < 0;
}

static void name_add(struct source *h, const char *name,
                     const struct source_node *n)
{
    if (*name)
        hash_add(&h->names, hash_name(name), (void *)n);
}

void source_index(struct source *h)
{
    uint32_t names = 0;

    for (uint32_t i = 0; i < h->view->n_nodes; i++)
        names += 1 + h->view->nodes[i].aliases.n;
    hash_init(&h->names, &h->view->arena, names);
    for (uint32_t i = 0; i < h->view->n_nodes; i++) {
        const struct source_node *n = &h->view->nodes[i];

        name_add(h, n->instance_id, n);
        for (uint32_t k = 0; k < n->aliases.n; k++)
            name_add(h, n->aliases.v[k], n);
    }
    source_taken_clear(h);
}

void source_firsts(struct source *h, const struct source_view *before,
                   int64_t now_ms)
{
    const struct source_view *v = h->view;
    int64_t *first = ARENA_ARRAY(&h->view->arena, int64_t, v->n_nodes);
    const int64_t *was = before ? h->first_ms : NULL;
    struct hash by_node;

    hash_init(&by_node, &h->view->arena, v->n_nodes);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        uint64_t key = hash_name(v->nodes[i].node_id);
        uint32_t k, at = 0;

        hash_add_index(&by_node, key, i);
        /* of the dead of the first view nobody knows */
        first[i] = before || v->nodes[i].status != SOURCE_DEAD ? now_ms : 0;
        while (was && (k = hash_next_index(&h->by_node, key, &at)) != HASH_NONE)
            if (strcmp(before->nodes[k].node_id, v->nodes[i].node_id) == 0)
                first[i] = was[k];
    }
    h->by_node = by_node;
    h->first_ms = first;
}

const struct source_node *source_node_named(const struct source *h,
                                            const char *id)
{
    const struct source_node *found = NULL, *n;
    uint64_t key = *id ? hash_name(id) : 0;

    for (uint32_t at = 0; *id && (n = hash_next(&h->names, key, &at));) {
        if (n == found || claim_to(n, id) == CLAIM_NONE)
            continue;
        if (!found || comes_first(n, found))
            found = n;
    }
    return found;
}

struct source *source_for_machines(struct sources *s)
{
    return s->n ? &s->all[s->n - 1] : NULL;
}

const struct source *source_of_machines(const struct sources *s)
{
    return s->n ? &s->all[s->n - 1] : NULL;
}

const struct source *source_hosted(const struct sources *s)
{
    return s->n > 1 ? &s->all[0] : NULL;
}

const struct source_node *source_node_of(const struct sources *s,
                                         const struct machine *m)
{
    return source_claims(s, m).node;
}

bool sources_seen_since(const struct sources *s, int64_t since_ms)
{
    const struct source *h = source_of_machines(s);

    return !h ||
           (h->ops->waits ? h->told_ms > since_ms : h->began_ms >= since_ms);
}

bool source_has_dead(const struct sources *s, const struct machine *m)
{
    const struct source_node *n = source_node_of(s, m);

    return n && n->status == SOURCE_DEAD && strcmp(n->node_id, m->ray_id) == 0;
}

bool source_drains_still(const struct sources *s, const struct machine *m)
{
    struct source_claims c = source_claims(s, m);
    const struct source_node *n = c.node;

    if (c.contested)
        return false;
    return !n || n->status == SOURCE_DEAD ||
           ((n->status == SOURCE_DRAINING || n->status == SOURCE_UNREADY) &&
            strcmp(n->node_id, m->ray_id) == 0);
}

int64_t source_age_ms(const struct sources *s, const struct source *h)
{
    int64_t slept = s->env->slept_ms - h->began_slept_ms;

    return s->env->now_ms - h->read_ms + slept;
}

bool source_is_fresh(const struct sources *s, const struct source *h)
{
    return h->view && h->failures == 0 && (h->moved || !h->ops->numbered) &&
           source_age_ms(s, h) < STALE_MS;
}

/* A view that waits for changes tells how it is when it is answered; any other how
 * it was when it was asked for, and a head with much to do may take half a minute. */
static bool is_recent(const struct sources *s, const struct source *h)
{
    return source_is_fresh(s, h) &&
           (h->ops->waits ? s->env->now_ms - h->told_ms < STALE_MS
                          : s->env->now_ms - h->began_ms < RECENT_MS);
}

bool sources_know_work(const struct sources *s)
{
    return !s->n || is_recent(s, source_of_machines(s));
}

int64_t source_stale_ms(const struct source *h)
{
    return h->read_ms + STALE_MS;
}

uint32_t sources_fresh_set(const struct sources *s)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < s->n; i++)
        set |= (uint32_t)source_is_fresh(s, &s->all[i]) << i;
    return set;
}

bool sources_fresh(const struct sources *s)
{
    return sources_fresh_set(s) == (UINT32_C(1) << s->n) - 1;
}

const struct source *source_of_kind(const struct sources *s, const char *kind)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->all[i].ops->kind, kind) == 0)
            return &s->all[i];
    return NULL;
}
