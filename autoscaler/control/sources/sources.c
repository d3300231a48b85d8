/*
 * sources.c - the demand sources: opened, closed, their answers handed on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/ending.h"
#include "../../wire/pods/pods.h"
#include "../../wire/ray/ray.h"
#include "inside.h"

static void source_free(const struct source_ops *ops, void *reader,
                        void *const *writers)
{
    ops->free(reader);
    for (uint32_t i = 0; i < ops->writers; i++)
        ops->free(writers[i]);
}

static void source_add(struct sources *s, const struct source_opened *o)
{
    struct source *h = &s->all[s->n++];

    h->ops = o->ops;
    snprintf(h->address, sizeof h->address, "%s", o->address);
    memcpy(h->writers, o->writers, sizeof h->writers);
    h->reader = o->reader;
    h->workers = env_workers(s->env, 1 + o->ops->writers, 0);
}

/* The zones a new machine may be in: pods that ask for one are served by them. */
static struct names offer_zones(const struct config *conf, struct arena *a)
{
    VEC(const char *) v = {0};

    for (uint32_t t = 0; t < conf->n_types; t++)
        for (uint32_t o = 0; o < conf->types[t].fact.n_offers; o++) {
            const char *zone = conf->types[t].fact.offers[o].zone;
            bool known = !*zone;

            for (uint32_t k = 0; k < v.n && !known; k++)
                known = strcmp(v.v[k], zone) == 0;
            if (!known)
                VEC_PUSH(a, &v, zone);
        }
    return (struct names){v.v, v.n};
}

/* What the largest type has of each resource: what asks for more has no hope.  None
 * when one of them is not known yet. */
static struct qtys types_most(const struct config *conf, struct arena *a)
{
    VEC(struct qty) v = {0};

    for (uint32_t t = 0; t < conf->n_types; t++) {
        const struct qtys *q = &conf->types[t].fact.resources;

        if (!q->n)
            return (struct qtys){0};
        for (uint32_t i = 0; i < q->n; i++) {
            uint32_t k = 0;

            while (k < v.n && strcmp(v.v[k].name, q->v[i].name) != 0)
                k++;
            if (k == v.n)
                VEC_PUSH(a, &v, q->v[i]);
            else if (v.v[k].amount < q->v[i].amount)
                v.v[k].amount = q->v[i].amount;
        }
    }
    return (struct qtys){v.v, v.n};
}

/* Type -> taint of its nodes' start. */
static struct pairs types_startup(const struct config *conf, struct arena *a)
{
    VEC(struct pair) v = {0};

    for (uint32_t t = 0; t < conf->n_types; t++)
        for (uint32_t i = 0; i < conf->types[t].startup.n; i++)
            VEC_PUSH(a, &v,
                     ((struct pair){conf->types[t].fact.name,
                                    conf->types[t].startup.v[i]}));
    return (struct pairs){v.v, v.n};
}

void sources_reloaded(struct sources *s)
{
    const struct config *conf = s->conf->now;
    struct arena arena = {0};

    for (uint32_t i = 0; i < s->n; i++)
        if (s->all[i].ops->configure)
            s->all[i].ops->configure(
                s->all[i].reader, offer_zones(conf, &arena),
                types_most(conf, &arena), types_startup(conf, &arena),
                !conf->kube_reserve);
    arena_done(&arena);
}

static enum status kube_open(const struct config *conf,
                             struct source_opened *ret, struct err *err)
{
    struct arena arena = {0};
    struct kube_source_opts o = {
        .kubeconfig = conf->kube_kubeconfig,
        .context = conf->kube_context,
        .namespaces = conf->kube_namespaces,
        .scheduler_names = conf->kube_schedulers,
        .label = conf->kube_label,
        .startup_taints = conf->kube_startup,
        .scheduler_config = conf->kube_scheduler_config,
        .zones = offer_zones(conf, &arena),
        .most = types_most(conf, &arena),
        .type_startup = types_startup(conf, &arena),
        .no_reserve = !conf->kube_reserve,
        .works = conf->shadow,
    };
    enum status s;

    *ret = (struct source_opened){.ops = &kube_source_ops,
                                  .address = "the Kubernetes API server"};
    s = kube_source_new(&o, &ret->reader, err);
    for (uint32_t i = 0; s == ST_OK && i < kube_source_ops.writers; i++)
        s = kube_source_new(&o, &ret->writers[i], err);
    if (s != ST_OK)
        source_free(ret->ops, ret->reader, ret->writers);
    arena_done(&arena);
    return s;
}

/* The real ones: see outside.h. */
static enum status config_sources(void *arg, const struct config *conf,
                                  struct source_opened *ret, uint32_t *ret_n,
                                  struct err *err)
{
    const char *ray = conf->ray_address, *token = conf->ray_token_file;
    uint32_t n = *ray ? 1 : 0;
    enum status s;

    (void)arg;
    if (conf->kube && (s = kube_open(conf, &ret[n++], err)) != ST_OK)
        return s;
    if (*ray)
        ret[0] = (struct source_opened){.ops = &ray_ops,
                                        .address = ray,
                                        .writers = {ray_head_new(ray, token)},
                                        .reader = ray_head_new(ray, token)};
    *ret_n = n;
    return ST_OK;
}

enum status sources_open(struct sources *s, struct env *env, struct ledger *l,
                         const struct configuration *conf, struct err *err)
{
    const struct outside *o = env->outside;
    struct source_opened v[SOURCES] = {0};
    uint32_t n = 0;
    enum status st = (o->sources ? o->sources : config_sources)(
        o->arg, conf->now, v, &n, err);

    *s = (struct sources){.env = env, .ledger = l, .conf = conf};
    for (uint32_t i = 0; st == ST_OK && i < n; i++) {
        if (env->shadow)
            v[i] = shadow_source(env->shadow, &v[i], i == n - 1);
        source_add(s, &v[i]);
    }
    return st;
}

bool sources_stop(struct sources *s, int64_t wait_ms)
{
    bool all = true;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->all[i].ops->stop)
            s->all[i].ops->stop(s->all[i].reader);
    for (uint32_t i = 0; i < s->n; i++) {
        ending_waits("what was asked of %s", s->all[i].address);
        all = workers_free(s->all[i].workers, wait_ms) && all;
    }
    return all;
}

void sources_close(struct sources *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct source *h = &s->all[i];

        ending_waits("the connections to %s", h->address);
        source_free(h->ops, h->reader, h->writers);
        source_view_unref(h->view);
        source_view_unref(h->before);
        source_view_unref(h->refused);
        lately_done(&h->lately);
        free(h->gone.v);
        free(h->foreign.v);
    }
    s->n = 0;
}

static void answered(struct sources *s, struct source_job *j)
{
    switch (j->op) {
    case SOURCE_READ: source_read_folded(s, j); break;
    case SOURCE_DRAIN: source_drain_folded(s, j); break;
    case SOURCE_UNDRAIN: source_undrain_folded(s, j); break;
    case SOURCE_CORDON: source_cordon_folded(s, j); break;
    case SOURCE_FORGET: source_forget_folded(s, j); break;
    case SOURCE_REPORT: break;
    }
}

void sources_fold(struct sources *s, struct mail *mail)
{
    struct source_job *j = (struct source_job *)mail;

    *j->taken = false;
    if (!s->env->stopping)
        answered(s, j);
    s->env->news = s->env->news ||
                   (j->op != SOURCE_READ && j->op != SOURCE_REPORT);
    source_job_free(j);
}
