/*
 * selectors.c - whom a scheduler's default constraints count: what selects the
 * pod, its services and its controller, as kube-scheduler finds it.  See
 * selectors.h.
 */
#include "selectors.h"

#include <string.h>

/* plain: its selector is labels and nothing else. */
static struct chooser *chooser_read(const json_t *o, const char *kind,
                                    bool plain)
{
    const json_t *meta = json_object_get(o, "metadata");
    const json_t *sel = pods_at(o, "spec", "selector", NULL);
    const char *space = pods_text(meta, "namespace", NULL);
    struct req_vec v = {{0}};
    struct arena *a;
    struct chooser *c = object_new(o, sizeof *c, &a);

    if (!c)
        return NULL;
    c->object.item.id = arena_printf(a, "%s/%s", kind, c->object.item.id);
    c->space = arena_strdup(a, space);
    if (plain ? pods_pairs(sel, a, &v)
              : pods_pairs(json_object_get(sel, "matchLabels"), a, &v) &&
                    pods_expressions(json_object_get(sel, "matchExpressions"),
                                     a, &v))
        c->reqs = (struct reqs){v.all.v, v.all.n};
    return c;
}

struct chooser *pods_service_read(const json_t *o)
{
    return chooser_read(o, "Service", true);
}

struct chooser *pods_controller_read(const json_t *o)
{
    return chooser_read(o, "ReplicationController", true);
}

struct chooser *pods_replicas_read(const json_t *o)
{
    return chooser_read(o, "ReplicaSet", false);
}

struct chooser *pods_stateful_read(const json_t *o)
{
    return chooser_read(o, "StatefulSet", false);
}

static void reqs_add(struct arena *a, struct req_vec *to, const struct reqs *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        VEC_PUSH(a, &to->all, pods_req_copy(a, &r->v[i]));
}

/* All services that mean it, and its controller, together. */
static struct reqs selector_of(struct builder *m, const struct pod_shape *s)
{
    const struct pods_store *st = m->in->store;
    const struct records *owners[] = {&st->replicas, &st->stateful,
                                      &st->controllers};
    struct req_vec v = {{0}};
    const struct chooser *c;

    for (uint32_t at = 0; (c = hash_each(&st->services.by_id, &at));)
        if (strcmp(c->space, s->space) == 0 &&
            pods_reqs_hold(&c->reqs, &s->labels))
            reqs_add(m->arena, &v, &c->reqs);
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        c = (const struct chooser *)records_find(owners[i], s->owner);
        if (c)
            reqs_add(m->arena, &v, &c->reqs);
    }
    return (struct reqs){v.all.v, v.all.n};
}

void pods_defaults_resolve(struct builder *m, struct pod_shape *s)
{
    struct affinity *x = (struct affinity *)(uintptr_t)s->affinities;
    struct reqs reqs;

    if (!s->n_defaults || s->resolved_for == m->in->store->views)
        return;
    s->resolved_for = m->in->store->views;
    reqs = selector_of(m, s);
    /* nothing selects it: it has no constraints */
    s->n_affinities = s->n_given + (reqs.n ? s->n_defaults : 0);
    for (uint32_t i = 0; i < s->n_defaults; i++)
        x[s->n_given + i].reqs = reqs;
}
