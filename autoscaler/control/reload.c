/*
 * reload.c - a new generation of settings, whole or not at all.
 *
 * SIGHUP, POST /v1/reload or a change of the file or of the RayCluster, which
 * is looked at every few seconds.  Everything is built and checked beside the
 * old one; on any mistake the old stays and the reason is told.  What only a
 * start can change (state, api) is refused by name.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "config_source.h"
#include "state.h"

enum { ERRORS_MAX = 64 * 1024, SOURCE_MS = 5000,
       SOURCE_TIMEOUT_MS = 20000 };

static void refuse(struct control *c, const char *text)
{
    free(c->config_problem);
    c->config_problem = strdup(text);
    if (*text && text[strlen(text) - 1] == '\n')
        c->config_problem[strlen(text) - 1] = '\0';
    atomic_fetch_add(&c->metrics.reload_failures, 1);
    tell(c, "config.refused", c->opts.config_path, "", "%.400s",
         c->config_problem);
}

static bool names_equal(const struct names *a, const struct names *b)
{
    bool same = a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = strcmp(a->v[i], b->v[i]) == 0;
    return same;
}

/* "" or what stands in the way of taking this over while running. */
static const char *fixed_changed(const struct config *a, const struct config *b)
{
    if (strcmp(a->state, b->state) != 0)
        return "state: needs a restart";
    if (strcmp(a->ha_namespace, b->ha_namespace) != 0 ||
        strcmp(a->ha_name, b->ha_name) != 0 ||
        strcmp(a->ha_identity, b->ha_identity) != 0 ||
        a->ha_lease_ms != b->ha_lease_ms)
        return "ha: needs a restart";
    if (strcmp(a->cluster, b->cluster) != 0)
        return "cluster: needs a restart (machines are ours by that name)";
    if (strcmp(a->ray_address, b->ray_address) != 0 ||
        strcmp(a->ray_token_file, b->ray_token_file) != 0)
        return "head.ray: needs a restart";
    if (a->kube != b->kube ||
        strcmp(a->kube_kubeconfig, b->kube_kubeconfig) != 0 ||
        strcmp(a->kube_context, b->kube_context) != 0 ||
        strcmp(a->kube_label, b->kube_label) != 0 ||
        !names_equal(&a->kube_namespaces, &b->kube_namespaces) ||
        !names_equal(&a->kube_schedulers, &b->kube_schedulers))
        return "head.kubernetes: needs a restart";
    if (strcmp(a->api_host, b->api_host) != 0 || a->api_port != b->api_port ||
        strcmp(a->api_token_file, b->api_token_file) != 0 ||
        strcmp(a->api_tls_cert, b->api_tls_cert) != 0 ||
        strcmp(a->api_tls_key, b->api_tls_key) != 0)
        return "api: needs a restart";
    if (strcmp(a->metrics_host, b->metrics_host) != 0 ||
        a->metrics_port != b->metrics_port)
        return "api.metrics: needs a restart";
    return "";
}

static void swap(struct control *c, struct config *conf, struct site **v,
                 uint32_t n)
{
    struct config *old = c->config;

    sites_retire(c, c->sites.v, c->sites.n);
    c->sites.n = 0;
    for (uint32_t i = 0; i < n; i++)
        VEC_PUSH(&c->life, &c->sites, v[i]);
    free(v);
    backoffs_forget_all(c->backoffs);
    c->config = conf;
    c->config_loaded_ms = c->now_ms;
    c->generation++;
    c->n_told = 0;
    free(c->config_problem);
    c->config_problem = strdup("");
    /* Retired plug-ins copied what they need at open(): see provider.h. */
    config_free(old);
    sources_reloaded(c);
    atomic_fetch_add(&c->metrics.reloads, 1);
    tell(c, "config.loaded", c->opts.config_path, "",
         "generation %u, %u node types", c->generation, conf->n_types);
}

static enum status settings_read(struct control *c, struct config **ret,
                                 struct buf *errors)
{
    const struct outside *o = &c->opts.outside;

    if (o->config)
        return o->config(o->arg, c->opts.config_path, ret, errors);
    return c->opts.source ? config_source_parse(c->opts.source, ret, errors)
                          : config_load(c->opts.config_path, ret, errors);
}

void reload_if_wanted(struct control *c)
{
    struct config *conf;
    struct buf errors;
    struct site **v;
    uint32_t n;
    const char *fixed;

    if (c->reload_due_ms) {
        if (clock_mono_ms() >= c->reload_due_ms)
            c->reload_wanted = true;
        else
            control_wake_at(c, c->reload_due_ms);
    }
    if (!c->reload_wanted)
        return;
    if (c->config_source_reading) {  /* its answer brings us here again */
        c->config_source_due_ms = 0;
        return;
    }
    c->changed = true;
    c->reload_wanted = false;
    c->reload_due_ms = 0;
    buf_init(&errors, ERRORS_MAX);
    if (settings_read(c, &conf, &errors) != ST_OK) {
        refuse(c, errors.s);
    } else if (*(fixed = fixed_changed(c->config, conf))) {
        refuse(c, fixed);
        config_free(conf);
    } else if (sites_open(c, conf, &v, &n, &errors) != ST_OK) {
        refuse(c, errors.s);
        config_free(conf);
    } else {
        swap(c, conf, v, n);
    }
    buf_done(&errors);
}

void control_reload(struct control *c, int64_t settle_ms)
{
    if (settle_ms > 0)
        c->reload_due_ms = clock_mono_ms() + settle_ms;
    else
        c->reload_wanted = true;
}

void control_unwatched(struct control *c)
{
    tell(c, "config.unwatched", c->opts.config_path, "",
         "changes are seen on SIGHUP only");
}

/* ---- a RayCluster: only GET is allowed, so it is looked at now and then */

struct config_source_job {
    struct job job;            /* first */
    struct config_source *source;
    bool changed;
    enum status status;
    struct err err;
};

static void config_source_run(struct job *job)
{
    struct config_source_job *j = (struct config_source_job *)job;

    j->status = config_source_read(j->source, clock_mono_ms() + SOURCE_TIMEOUT_MS,
                            &j->changed, &j->err);
}

void config_source_poll(struct control *c)
{
    struct config_source_job *j;

    if (!c->opts.source || c->config_source_reading || c->stopping)
        return;
    if (clock_mono_ms() < c->config_source_due_ms) {
        control_wake_at(c, c->config_source_due_ms);
        return;
    }
    j = calloc(1, sizeof *j);
    if (!j)
        abort();
    j->source = c->opts.source;
    j->job.run = config_source_run;
    j->job.mail.kind = MAIL_CONFIG;
    c->config_source_reading = true;
    workers_submit(c->workers, &j->job);
}

void config_source_fold(struct control *c, struct mail *mail)
{
    struct config_source_job *j = (struct config_source_job *)mail;

    c->config_source_reading = false;
    c->config_source_due_ms = clock_mono_ms() + SOURCE_MS;
    if (j->job.abandoned) {
        ;  /* the end of the daemon: it was not read */
    } else if (j->status != ST_OK) {
        if (++c->config_source_failures == 3)
            tell(c, "config.unread", c->opts.config_path,
                 status_name(j->status), "%s", j->err.text);
    } else {
        if (c->config_source_failures >= 3)
            tell(c, "config.read", c->opts.config_path, "",
                 "it can be read again");
        c->config_source_failures = 0;
        c->reload_wanted = c->reload_wanted || j->changed;
        reload_if_wanted(c);
    }
    free(j);
}

void reload_begin(struct control *c)
{
    c->config_source_due_ms = clock_mono_ms() + SOURCE_MS;
}
