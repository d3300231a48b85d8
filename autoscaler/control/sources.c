/*
 * sources.c - the heads: opened, read, their answers folded in.
 *
 * Reads of a Ray head follow one another at 50 times what one takes, between
 * 100 ms and 1 s, so that looking costs the head at most two per cent; sooner
 * when a launch waits for a second look, or drained nodes end.  A head that
 * waits for changes itself is read again at once.  A failed read changes nothing
 * in the fleet; it only makes that head's part of the facts stale.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../wire/pods/pods.h"
#include "../wire/ray/ray.h"
#include "sources.h"

enum {
    READ_LEAST_MS = 100, READ_MOST_MS = 1000,
    READ_END_MS = 200,         /* while drained nodes are about to end */
    END_MS = 10000,
    READ_TIMEOUT_MS = 30000,
    WAIT_MS = 4000,            /* a waiting head tells so often that it lives */
    STALE_MS = 10000,          /* a view older than this is not fresh */
};

/* ---- calls */

static void source_job_run(struct job *job)
{
    struct source_job *j = (struct source_job *)job;
    const struct source_ops *ops = j->head->ops;

    switch (j->op) {
    case SOURCE_READ:
        j->status = ops->read(j->handle, j->deadline_mono_ms, &j->view,
                              &j->err);
        break;
    case SOURCE_DRAIN:
        j->status = ops->drain(j->handle, &j->drain, j->deadline_mono_ms,
                               &j->err);
        break;
    case SOURCE_UNDRAIN:
        j->status = ops->undrain(j->handle, j->node_id, j->deadline_mono_ms,
                                 &j->err);
        break;
    case SOURCE_FORGET:
        j->status = ops->forget(j->handle, j->node_id, j->instance_id,
                                j->deadline_mono_ms, &j->err);
        break;
    case SOURCE_REPORT:
        j->status = ops->report(j->handle, &j->report, j->deadline_mono_ms,
                                &j->err);
        break;
    }
}

static bool *free_writer(const struct source *h)
{
    for (uint32_t i = 0; i < h->ops->writers; i++)
        if (!h->writing[i])
            return (bool *)(uintptr_t)&h->writing[i];
    return NULL;
}

bool source_is_free(const struct source *h)
{
    return free_writer(h) != NULL;
}

struct source_job *source_job_new(struct source *h, enum source_op op, int timeout_ms)
{
    struct source_job *j = calloc(1, sizeof *j);

    if (!j)
        abort();
    j->op = op;
    j->head = h;
    j->taken = op == SOURCE_READ ? &h->reading : free_writer(h);
    assert(j->taken && !*j->taken);
    j->handle = op == SOURCE_READ ? h->reader
                                : h->writers[j->taken - h->writing];
    j->job.run = source_job_run;
    j->job.mail.kind = MAIL_SOURCE;
    /* No deadline for the pool: the handle is in use until the call returns,
     * and the wire's own deadline makes sure that it does. */
    j->deadline_mono_ms = clock_mono_ms() + timeout_ms;
    return j;
}

void source_job_submit(struct source_job *j)
{
    *j->taken = true;
    workers_submit(j->head->workers, &j->job);
}

void source_job_free(struct source_job *j)
{
    source_view_unref(j->view);
    arena_done(&j->arena);
    free(j);
}

/* ---- opening */

static void source_free(const struct source_ops *ops, void *reader,
                        void *const *writers)
{
    ops->free(reader);
    for (uint32_t i = 0; i < ops->writers; i++)
        ops->free(writers[i]);
}

static void source_add(struct control *c, const struct source_opened *o)
{
    struct source *h = &c->sources[c->n_sources++];

    h->ops = o->ops;
    h->address = arena_strdup(&c->life, o->address);
    memcpy(h->writers, o->writers, sizeof h->writers);
    h->reader = o->reader;
    h->workers = control_workers(c, 1 + o->ops->writers, 0);
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

void sources_reloaded(struct control *c)
{
    const struct source *h = source_of_kind(c, &kube_source_ops);
    struct arena arena = {0};

    if (h)
        kube_source_types(h->reader, offer_zones(c->config, &arena),
                        !c->config->kube_reserve);
    arena_done(&arena);
}

static enum status kube_open(const struct config *conf,
                             struct source_opened *ret, struct err *err)
{
    struct arena arena = {0};
    struct kube_source_opts o = {
        .kubeconfig = conf->kube_kubeconfig, .context = conf->kube_context,
        .namespaces = conf->kube_namespaces,
        .scheduler_names = conf->kube_schedulers, .label = conf->kube_label,
        .zones = offer_zones(conf, &arena),
        .no_reserve = !conf->kube_reserve,
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
        ret[0] = (struct source_opened){
            .ops = &ray_ops, .address = ray,
            .writers = {ray_head_new(ray, token)},
            .reader = ray_head_new(ray, token)};
    *ret_n = n;
    return ST_OK;
}

enum status sources_open(struct control *c, struct err *err)
{
    const struct outside *o = &c->opts.outside;
    struct source_opened v[SOURCES] = {0};
    uint32_t n = 0;
    enum status s = (o->sources ? o->sources : config_sources)(
        o->arg, c->config, v, &n, err);

    for (uint32_t i = 0; s == ST_OK && i < n; i++)
        source_add(c, &v[i]);
    return s;
}

bool sources_stop(struct control *c, int64_t wait_ms)
{
    bool all = true;

    for (uint32_t i = 0; i < c->n_sources; i++)
        if (c->sources[i].ops->stop)
            c->sources[i].ops->stop(c->sources[i].reader);
    for (uint32_t i = 0; i < c->n_sources; i++)
        all = workers_free(c->sources[i].workers, wait_ms) && all;
    return all;
}

void sources_close(struct control *c)
{
    for (uint32_t i = 0; i < c->n_sources; i++) {
        struct source *h = &c->sources[i];

        source_free(h->ops, h->reader, h->writers);
        source_view_unref(h->view);
        free(h->gone);
    }
    c->n_sources = 0;
}

/* ---- reading */

void sources_poll(struct control *c)
{
    for (uint32_t i = 0; i < c->n_sources; i++) {
        struct source *h = &c->sources[i];

        if (h->reading)
            continue;
        if (clock_mono_ms() < h->read_due_ms) {
            control_wake_at(c, h->read_due_ms);
            continue;
        }
        source_job_submit(source_job_new(h, SOURCE_READ, h->ops->waits
                                                       ? WAIT_MS
                                                       : READ_TIMEOUT_MS));
    }
}

void sources_hurry(struct control *c)
{
    int64_t soon = clock_mono_ms() + READ_LEAST_MS;

    for (uint32_t i = 0; i < c->n_sources; i++)
        if (c->sources[i].read_due_ms > soon && !c->sources[i].failures)
            c->sources[i].read_due_ms = soon;
}

bool source_is_fresh(const struct control *c, const struct source *h)
{
    return h->view && h->failures == 0 && c->now_ms - h->read_ms < STALE_MS;
}

bool sources_fresh(const struct control *c)
{
    for (uint32_t i = 0; i < c->n_sources; i++)
        if (!source_is_fresh(c, &c->sources[i]))
            return false;
    return true;
}

const struct source *source_of_kind(const struct control *c,
                                const struct source_ops *ops)
{
    for (uint32_t i = 0; i < c->n_sources; i++)
        if (c->sources[i].ops == ops)
            return &c->sources[i];
    return NULL;
}

static void read_failed(struct control *c, struct source *h,
                        const struct source_job *j)
{
    int64_t rest;

    h->failures++;
    rest = (int64_t)200 << (h->failures < 6 ? h->failures - 1 : 5);
    h->read_due_ms = clock_mono_ms() + (rest > 5000 ? 5000 : rest);
    snprintf(h->problem, sizeof h->problem, "%s", j->err.text);
    atomic_fetch_add(&c->metrics.source_failures, 1);
    if (h->failures == 3 || (j->status == ST_AUTH && h->failures == 1))
        tell(c, "source.down", h->address, status_name(j->status), "%s",
             j->err.text);
}

/* A drained raylet ends by itself, its container with it, and KubeRay makes
 * another one unless the group was lowered before: that is a matter of about a
 * second. */
static bool nodes_end(const struct control *c)
{
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        if (m->state == STATE_DRAINING && m->drain_accepted &&
            c->now_ms - m->drain_since_ms < END_MS)
            return true;
    }
    return false;
}

static int64_t rest_of(const struct control *c, const struct source *h)
{
    int64_t rest = h->view->took_us * 50 / 1000;

    if (h->ops->waits)
        return 0;
    if (rest > READ_END_MS && nodes_end(c))
        return READ_END_MS;
    return rest < READ_LEAST_MS  ? READ_LEAST_MS
           : rest > READ_MOST_MS ? READ_MOST_MS
                                 : rest;
}

static void view_taken(struct control *c, struct source *h, struct source_job *j)
{
    bool restarted = h->view && strcmp(h->view->session,
                                       j->view->session) != 0;

    c->changed = c->changed || !h->view || h->failures > 0 ||
                 !source_view_same(h->view, j->view);
    if (h->failures >= 3 || !h->view || *h->problem)
        tell(c, "source.up", h->address, "", "session %s, %u nodes",
             j->view->session, j->view->n_nodes);
    if (!j->view->v2 && !h->told_v1) {
        h->told_v1 = true;
        tell(c, "head.v1", h->address, "",
             "started without RAY_enable_autoscaler_v2=1: it hides "
             "request_resources from us, and `ray status` stays empty");
    }
    source_view_unref(h->view);
    h->view = source_view_ref(j->view);
    h->view_ms = c->now_ms;
    source_index(h);
    source_joins(c, h, restarted);
}

static void read_folded(struct control *c, struct source_job *j)
{
    struct source *h = j->head;

    if (j->status == ST_OK && !j->view && !h->view)
        j->status = err_set(&j->err, ST_BROKEN, "the head told of nothing");
    if (j->status != ST_OK) {
        read_failed(c, h, j);
        c->changed = true;
        return;
    }
    if (j->view)
        view_taken(c, h, j);
    c->changed = c->changed || h->failures > 0;
    h->failures = 0;
    h->problem[0] = '\0';
    h->read_ms = c->now_ms;
    h->views++;
    h->read_due_ms = clock_mono_ms() + rest_of(c, h);
    atomic_fetch_add(&c->metrics.source_reads, 1);
}

void source_fold(struct control *c, struct mail *mail)
{
    struct source_job *j = (struct source_job *)mail;

    *j->taken = false;
    if (!c->stopping) {
        if (j->op == SOURCE_READ)
            read_folded(c, j);
        else if (j->op != SOURCE_REPORT)
            source_drained(c, j);
        c->changed = c->changed || j->op != SOURCE_READ;
    }
    source_job_free(j);
}
