/*
 * offer_check.c - see offer_check.h.
 */
#include "offer_check.h"

#include <string.h>

#include "../model/amount.h"

#define MEMORY_SLACK 20 /* clouds and people round memory: one in so many */

struct check {
    const struct snap_type *t;
    const struct call_offer *o;
    struct arena *arena;
    VEC(const char *) reported;
    void (*each)(void *arg, const char *type, const char *text);
    void *arg;
};

static void differs(struct check *k, const char *text)
{
    for (uint32_t i = 0; i < k->reported.n; i++)
        if (strcmp(k->reported.v[i], text) == 0)
            return;
    VEC_PUSH(k->arena, &k->reported, text);
    k->each(k->arg, k->t->name, text);
}

/* ---- resources */

static const struct qty *qty_find(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return &q->v[i];
    return NULL;
}

static void resource_check(struct check *k, const char *name,
                           int64_t configured, int64_t given)
{
    char s[32], g[32];
    int64_t slack = strcmp(name, "memory") == 0 ? configured / MEMORY_SLACK : 0;

    amount_pretty(name, configured, s, sizeof s);
    amount_pretty(name, given, g, sizeof g);
    if (given == 0)
        differs(k, arena_printf(k->arena,
                                "a machine has no %s, the configuration says "
                                "%s: what asks for it will never run there; "
                                "mend resources: or the pool",
                                name, s));
    else if (given < configured - slack)
        differs(k, arena_printf(k->arena,
                                "a machine has %s %s, the configuration says "
                                "%s: what asks for %s will never fit; write "
                                "%s: %s under resources",
                                g, name, s, s, name, g));
    else if (given > configured && strcmp(name, "GPU") == 0)
        differs(k, arena_printf(k->arena,
                                "a machine has %s GPU, the configuration says "
                                "%s: the others are paid for and never used; "
                                "write GPU: %s under resources",
                                g, s, g));
}

static void resources_check(struct check *k)
{
    const struct qtys *configured = &k->t->resources, *given = &k->o->resources;

    for (uint32_t i = 0; i < configured->n && given->n > 0; i++) {
        const struct qty *s = &configured->v[i], *g = qty_find(given, s->name);

        if (g)
            resource_check(k, s->name, s->amount, g->amount);
        else if (strcmp(s->name, "GPU") == 0 && s->amount > 0)
            resource_check(k, s->name, s->amount, 0);
    }
}

/* ---- labels */

/* Ours and Ray's are not the cloud's to tell. */
static bool label_ours(const char *key)
{
    return strncmp(key, "ray.io/", 7) == 0 || strncmp(key, "davit.io/", 9) == 0;
}

static void labels_check(struct check *k)
{
    const struct pairs *configured = &k->t->labels, *given = &k->o->labels;

    for (uint32_t i = 0; i < configured->n && given->n > 0; i++) {
        const struct pair *s = &configured->v[i], *g = NULL;

        for (uint32_t j = 0; j < given->n && !g; j++)
            if (strcmp(given->v[j].key, s->key) == 0)
                g = &given->v[j];
        if (label_ours(s->key) || (g && strcmp(g->value, s->value) == 0))
            continue;
        differs(k,
                g ? arena_printf(k->arena,
                                 "a machine has the label %s=%s, the "
                                 "configuration says %s: what selects that "
                                 "will never run there; mend labels: or the "
                                 "pool",
                                 s->key, g->value, s->value)
                  : arena_printf(k->arena,
                                 "the cloud knows no label %s of its machines, "
                                 "the configuration says %s: unless they get "
                                 "it as they join, what selects it will never "
                                 "run there",
                                 s->key, s->value));
    }
}

/* ---- taints */

static bool has_taint(const struct taints *v, const struct taint *t)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (v->v[i].effect == t->effect && strcmp(v->v[i].key, t->key) == 0 &&
            strcmp(v->v[i].value, t->value) == 0)
            return true;
    return false;
}

struct taints offer_more_taints(const struct snap_type *t,
                                struct taints offered, struct arena *a)
{
    struct taint *v = ARENA_ARRAY(a, struct taint, offered.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < offered.n; i++) {
        bool known = false;
        /* By key and effect: a node has one value for them. */
        for (uint32_t k = 0; k < t->taints.n && !known; k++)
            known = t->taints.v[k].effect == offered.v[i].effect &&
                    strcmp(t->taints.v[k].key, offered.v[i].key) == 0;
        if (!known)
            v[n++] = (struct taint){arena_strdup(a, offered.v[i].key),
                                    arena_strdup(a, offered.v[i].value),
                                    offered.v[i].effect};
    }
    return (struct taints){v, n};
}

static void taints_check(struct check *k)
{
    const struct taints *configured = &k->t->taints, *given = &k->o->taints;

    for (uint32_t i = 0; i < given->n; i++) {
        const struct taint *g = &given->v[i];

        if (g->effect != EFFECT_PREFER_NO_SCHEDULE && !has_taint(configured, g))
            differs(k,
                    arena_printf(k->arena,
                                 "a machine has the taint %s=%s:%s, which "
                                 "taints: of the type lacks: pods without that "
                                 "toleration will not run there",
                                 g->key, g->value, effect_name(g->effect)));
    }
    for (uint32_t i = 0; i < configured->n && given->n + k->o->labels.n > 0;
         i++) {
        const struct taint *s = &configured->v[i];

        if (!has_taint(given, s))
            differs(k, arena_printf(k->arena,
                                    "the configuration says the taint "
                                    "%s=%s:%s, which the cloud does not put on "
                                    "its machines: others may run there, too",
                                    s->key, s->value, effect_name(s->effect)));
    }
}

void offers_check(const struct config *c, const char *provider,
                  const struct call_offer *v, uint32_t n, struct arena *a,
                  void (*each)(void *arg, const char *type, const char *text),
                  void *arg)
{
    for (uint32_t i = 0; i < c->n_types; i++) {
        struct check k = {
            .t = &c->types[i].fact, .arena = a, .each = each, .arg = arg};

        if (strcmp(k.t->provider, provider) != 0)
            continue;
        for (uint32_t j = 0; j < n; j++) {
            k.o = &v[j];
            if (strcmp(k.o->type, k.t->name) != 0)
                continue;
            resources_check(&k);
            labels_check(&k);
            taints_check(&k);
        }
    }
}
