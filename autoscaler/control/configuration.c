/*
 * configuration.c - see configuration.h.
 */
#include "configuration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/exposed.h"
#include "../base/hash.h"
#include "../cloud/secrets.h"

enum { SOURCE_MS = 5000, SOURCE_TIMEOUT_MS = 20000, FAILURES_EMITTED = 3 };

void configuration_open(struct configuration *c, struct env *env,
                        const char *path, struct config_source *source,
                        struct config *conf)
{
    *c = (struct configuration){.env = env,
                                .path = path,
                                .source = source,
                                .now = conf,
                                .loaded_ms = env->now_ms,
                                .problem = mem_strdup(""),
                                .read_due_ms = env->mono_ms + SOURCE_MS};
    if (!source)
        configuration_exposed(conf);
}

void configuration_close(struct configuration *c)
{
    config_free(c->now);
    free(c->problem);
    free(c->held_ends);
}

const struct conf_type *type_find(const struct config *conf, const char *name)
{
    for (uint32_t i = 0; i < conf->n_types; i++)
        if (strcmp(conf->types[i].fact.name, name) == 0)
            return &conf->types[i];
    return NULL;
}

void configuration_reload(struct configuration *c, int64_t settle_ms)
{
    if (settle_ms > 0)
        c->settled_ms = clock_mono_ms() + settle_ms;
    else
        c->wanted = true;
}

void configuration_ask(struct configuration *c)
{
    c->asked = c->wanted = true;
}

bool configuration_due(struct configuration *c)
{
    if (c->settled_ms) {
        if (c->env->mono_ms >= c->settled_ms)
            c->wanted = true;
        else
            env_wake_mono(c->env, c->settled_ms);
    }
    if (!c->wanted)
        return false;
    if (c->reading) { /* its answer brings us here again */
        c->read_due_ms = 0;
        return false;
    }
    c->wanted = false;
    c->settled_ms = 0;
    c->env->news = true;
    return true;
}

enum status configuration_read(const struct configuration *c,
                               struct config **ret, struct buf *errors)
{
    const struct outside *o = c->env->outside;

    enum status s;

    if (o->config)
        return o->config(o->arg, c->path, ret, errors);
    s = c->source ? config_source_parse(c->source, ret, errors)
                  : config_load(c->path, ret, errors);
    if (s == ST_OK && !c->source)
        configuration_exposed(*ret);
    if (s == ST_OK && c->env->shadow)
        shadow_config(c->env->shadow, *ret);
    return s;
}

/* A secret itself, and not where it lies. */
static bool holds_secret(const struct conf_pair *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen(v[i].key);

        if (*v[i].value && secret_name(v[i].key, len) &&
            !(len > 5 && strcmp(v[i].key + len - 5, "_file") == 0))
            return true;
    }
    return false;
}

void configuration_exposed(const struct config *c)
{
    const char *journal, *elsewhere;
    struct arena a = {0};
    bool secret = false;
    struct err err;

    for (uint32_t i = 0; i < c->n_providers; i++)
        secret = secret || holds_secret(c->providers[i].options,
                                        c->providers[i].n_options);
    for (uint32_t i = 0; i < c->n_types; i++)
        secret = secret ||
                 holds_secret(c->types[i].options, c->types[i].n_options);
    exposed_look(c->path, "the configuration", secret);
    if (*c->state &&
        config_journal_path(c, &a, &journal, &elsewhere, &err) == ST_OK)
        exposed_folder(journal, "the folder of the journal");
    if (*c->api_audit)
        exposed_folder(c->api_audit, "the folder of the audit");
    if (*c->api_socket)
        exposed_folder(c->api_socket, "the folder of the socket");
    if (*c->api_tokens)
        exposed_folder(c->api_tokens, "the folder of api.tokens");
    arena_done(&a);
}

static void stay(struct configuration *c, const char *why, bool held)
{
    static const char waits[] = "; what the file in force would end waits for "
                                "`davit apply` all the same";
    size_t n = strlen(why);
    struct buf text;

    n -= n && why[n - 1] == '\n' ? 1 : 0;
    buf_init(&text, n + sizeof waits);
    buf_printf(&text, "%.*s%s", (int)n, why, c->in_force && !held ? waits : "");
    free(c->problem);
    c->problem = mem_strdup(text.s);
    buf_done(&text);
    c->held = held;
    c->approved = c->asked = false;
    atomic_fetch_add(&c->env->metrics.reload_failures, 1);
    emit(c->env, held ? "config.held" : "config.refused", c->path, "", "%.400s",
         c->problem);
}

void configuration_refuse(struct configuration *c, const char *why)
{
    stay(c, why, false);
}

void configuration_hold(struct configuration *c, const struct config *conf,
                        const char *why, const char *ends)
{
    stay(c, why, true);
    free(c->held_ends);
    c->held_ends = mem_strdup(ends);
    c->held_digest = conf->digest;
}

void configuration_hold_ends(struct configuration *c, const char *why,
                             const char *ends)
{
    configuration_hold(c, c->now, why, ends);
    c->in_force = true;
}

void configuration_ends_over(struct configuration *c)
{
    if (c->held && c->held_digest == c->now->digest) {
        free(c->problem); /* else it is of a later file, which waits still */
        c->problem = mem_strdup("");
        c->held = false;
    }
    c->in_force = false;
    emit(c->env, "config.approved", c->path, "",
         "it wants no machine's end any more that nobody agreed to");
}

void configuration_ends_approved(struct configuration *c)
{
    c->in_force = false;
}

bool configuration_approved(const struct configuration *c,
                            const struct config *conf)
{
    return c->approved && c->held_digest == conf->digest;
}

void configuration_approve(struct configuration *c, bool shown)
{
    c->approved = c->asked = c->wanted = true;
    c->shown = shown;
    c->another = false;
}

void configuration_digest(const struct configuration *c,
                          char ret[CONFIGURATION_DIGEST])
{
    *ret = '\0';
    if (c->held || c->in_force)
        snprintf(
            ret, CONFIGURATION_DIGEST, "%016llx",
            (unsigned long long)(c->held ? c->held_digest : c->now->digest));
}

bool configuration_ends_shown(const struct configuration *c, const char *names)
{
    struct arena a = {0};
    struct hash shown;
    bool all = true;

    hash_init(&shown, &a, 0);
    for (const char *at = c->held_ends ? c->held_ends : ""; *at;) {
        size_t n = strcspn(at, " ");

        hash_add(&shown, hash_bytes(HASH_SEED, at, n), (void *)at);
        at += n + (at[n] == ' ');
    }
    while (*names && all) {
        size_t n = strcspn(names, " ");
        const char *at;

        all = false;
        for (uint32_t i = 0;
             !all &&
             (at = hash_next(&shown, hash_bytes(HASH_SEED, names, n), &i));)
            all = strncmp(at, names, n) == 0 && strcspn(at, " ") == n;
        names += n + (names[n] == ' ');
    }
    arena_done(&a);
    return all;
}

void configuration_replace(struct configuration *c, struct config *conf)
{
    config_free(c->now);
    c->now = conf;
    c->loaded_ms = c->env->now_ms;
    c->generation++;
    free(c->problem);
    c->problem = mem_strdup("");
    c->held = c->approved = c->asked = c->in_force = c->another = false;
    atomic_fetch_add(&c->env->metrics.reloads, 1);
    emit(c->env, "config.loaded", c->path, "", "generation %u, %u node types",
         c->generation, conf->n_types);
}

/* ---- a RayCluster: only GET is allowed, so it is looked at now and then */

struct read_job {
    struct job job; /* first */
    struct config_source *source;
    bool changed;
    enum status status;
    struct err err;
};

static void read_run(struct job *job)
{
    struct read_job *j = (struct read_job *)job;

    j->status = config_source_read(
        j->source, clock_mono_ms() + SOURCE_TIMEOUT_MS, &j->changed, &j->err);
}

void configuration_poll(struct configuration *c)
{
    struct read_job *j;

    if (!c->source || c->reading)
        return;
    if (c->env->mono_ms < c->read_due_ms) {
        env_wake_mono(c->env, c->read_due_ms);
        return;
    }
    j = MEM_NEW(struct read_job);
    j->source = c->source;
    j->job.run = read_run;
    j->job.mail.kind = MAIL_CONFIG;
    c->reading = true;
    workers_submit(c->env->workers, &j->job);
}

static void read_failed(struct configuration *c, const struct read_job *j)
{
    if (++c->read_failures == FAILURES_EMITTED)
        emit(c->env, "config.unread", c->path, status_name(j->status), "%s",
             j->err.text);
}

void configuration_fold(struct configuration *c, struct mail *mail)
{
    struct read_job *j = (struct read_job *)mail;

    c->reading = false;
    c->read_due_ms = c->env->mono_ms + SOURCE_MS;
    if (!j->job.abandoned && j->status != ST_OK) {
        read_failed(c, j);
    } else if (!j->job.abandoned) {
        if (c->read_failures >= FAILURES_EMITTED)
            emit(c->env, "config.read", c->path, "", "it can be read again");
        c->read_failures = 0;
        c->wanted = c->wanted || j->changed;
    }
    free(j);
}
