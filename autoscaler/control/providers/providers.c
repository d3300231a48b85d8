/*
 * providers.c - those of the configuration: opened, found, closed.
 */
#include "providers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/ending.h"

enum { CLOSING_MOST = 4 }; /* at once: each has a worker */

static enum status provider_join(struct providers *p, struct provider_state *s,
                                 struct buf *errors)
{
    struct err err;
    enum status st = traffic_join(p->traffic, s->provider, &err);

    if (st != ST_OK) {
        buf_printf(errors, "provider %s: HTTP: %s\n", s->conf->name, err.text);
        provider_close(s->provider);
    }
    return st;
}

/* A foreign file names no plug-in of ours.  Where the usual one, or what it is
 * for, is not there, its machines are simulated, so that the file can be tried
 * as it is; with a warning, as the configuration does for providers we have no
 * name for.  Not so for a RayCluster that was read from a cluster. */
static enum status provider_try(struct providers *p, const struct config *conf,
                                struct provider_state *s, struct buf *errors)
{
    struct conf_provider stand_in = *s->conf;
    struct buf first;
    enum status st;

    buf_init(&first, errors->max);
    st = provider_open(conf, s->conf, &s->provider, &first);
    if (st == ST_NOT_FOUND && conf->dialect != DIALECT_DAVIT &&
        !*s->conf->plugin && !p->conf->source) {
        stand_in.plugin = "sim";
        stand_in.n_options = 0;
        st = provider_open(conf, &stand_in, &s->provider, errors);
        if (st == ST_OK)
            emit(p->env, "provider.simulated", s->conf->name, "",
                 "machines are simulated, nothing is launched in a cloud: "
                 "%.300s",
                 first.s);
    } else {
        buf_str(errors, first.s);
    }
    buf_done(&first);
    return st == ST_OK ? provider_join(p, s, errors) : st;
}

/* Calls may still run on one, and to close it may take as long as its program
 * takes to end: see providers_close_retired(). */
static void retire(struct providers *p, struct provider *handle)
{
    VEC_PUSH(NULL, &p->retired, handle);
}

static void set_close(struct providers *p, struct provider_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        calls_orphan(p, set->v[i]);
        retire(p, set->v[i]->provider);
        arena_done(&set->v[i]->offered);
        free(set->v[i]);
    }
    free(set->v);
    *set = (struct provider_set){0};
}

enum status providers_open(struct providers *p, const struct config *conf,
                           struct provider_set *ret, struct buf *errors)
{
    enum status worst = ST_OK;

    *ret = (struct provider_set){
        MEM_ARRAY(struct provider_state *, conf->n_providers), 0};
    for (uint32_t i = 0; i < conf->n_providers; i++) {
        struct provider_state *s = MEM_NEW(struct provider_state);
        enum status st;

        s->conf = &conf->providers[i];
        s->launched_ms = p->env->now_ms;
        st = provider_try(p, conf, s, errors);
        if (st == ST_OK) {
            offers_await(p, s);
            ret->v[ret->n++] = s;
        } else {
            worst = st;
            free(s);
        }
    }
    if (worst != ST_OK)
        set_close(p, ret);
    return worst;
}

void providers_drop(struct providers *p, struct provider_set *set)
{
    set_close(p, set);
}

static void all_close(struct providers *p)
{
    struct provider_set old = {p->all.v, p->all.n};

    set_close(p, &old);
    memset(&p->all, 0, sizeof p->all);
}

/* The one of the set with its name and settings; NULL: none has both. */
static struct provider_state **same_in(const struct provider_set *set,
                                       const struct provider_state *s)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (strcmp(set->v[i]->conf->name, s->conf->name) == 0)
            return provider_same(set->v[i]->provider, s->provider) ? &set->v[i]
                                                                   : NULL;
    return NULL;
}

/* A provider that a new generation leaves as it is goes on in it: what it was
 * asked is as true as before, and where lists take longer than a file takes to be
 * saved again, none would ever be looked at.  The new one has its handle, to read
 * afresh what the settings only name (credentials); what failed is asked again at
 * once, as they may be mended, and what hangs is not. */
static void goes_on(struct providers *p, struct provider_state **was,
                    struct provider_state **now)
{
    struct provider_state *s = *was, *opened = *now;
    struct provider *handle = s->provider;

    s->provider = opened->provider;
    s->conf = opened->conf;
    opened->provider = handle;
    *now = s;
    *was = opened;
    if (s->list_failures && !lists_hang(p, s))
        s->list_due_ms = p->env->mono_ms;
    offers_soon(s);
}

static void backoffs_over(struct providers *p, enum forgetting how)
{
    if (how == FORGETS_ALL)
        backoffs_forget_all(p->ledger->backoffs);
    else
        backoffs_forget(
            p->ledger->backoffs,
            &(struct backoffs_forgotten){.auth = how == FORGETS_NOTHING,
                                         .lives = how == FORGETS_NOTHING});
    if (how != FORGETS_NOTHING)
        p->ledger->unhelped.n = 0;
}

/* It is another one from now on. */
static void provider_over(struct providers *p, const char *name)
{
    offers_drop(p, name);
    backoffs_forget(p->ledger->backoffs, &(struct backoffs_forgotten){
                                             .provider = name, .lives = true});
}

void providers_replace(struct providers *p, struct provider_set *set,
                       enum forgetting how)
{
    struct provider_set old = {p->all.v, p->all.n};

    for (uint32_t i = 0; i < old.n; i++) {
        struct provider_state **now = same_in(set, old.v[i]);

        if (now)
            goes_on(p, &old.v[i], now);
        else
            provider_over(p, old.v[i]->conf->name);
    }
    set_close(p, &old);
    p->all.v = set->v;
    p->all.n = p->all.cap = set->n;
    backoffs_over(p, how);
}

/* ---- closing */

struct closing {
    struct job job; /* first */
    struct provider *handle;
    bool done;
};

static void closing_run(struct job *job)
{
    struct closing *c = (struct closing *)job;

    provider_close(c->handle);
    c->done = true;
}

static void closing_submit(struct providers *p, struct provider *handle)
{
    struct closing *c = MEM_NEW(struct closing);

    c->job.run = closing_run;
    c->job.mail.kind = MAIL_CLOSED;
    c->handle = handle;
    p->closing++;
    workers_submit(p->env->workers, &c->job);
}

static void provider_end(struct provider *handle)
{
    ending_waits("the plug-in of provider %s, to be closed",
                 provider_name(handle));
    provider_close(handle);
}

void provider_closed(struct providers *p, struct mail *mail)
{
    struct closing *c = (struct closing *)mail;

    assert(p->closing > 0);
    p->closing--;
    if (!c->done)
        provider_end(c->handle); /* the process ends: nothing waits for us */
    free(c);
}

/* at_once: the process ends, or nothing has begun yet. */
static void retired_close(struct providers *p, bool at_once)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->retired.n; i++) {
        struct provider *handle = p->retired.v[i];

        if (provider_calls_running(handle) > 0 ||
            (!at_once && p->closing >= CLOSING_MOST))
            p->retired.v[kept++] = handle;
        else if (at_once)
            provider_end(handle);
        else
            closing_submit(p, handle);
    }
    p->retired.n = kept;
}

void providers_close_retired(struct providers *p)
{
    retired_close(p, false);
}

void providers_init(struct providers *p, struct env *env, struct ledger *l,
                    const struct configuration *conf, struct traffic *traffic)
{
    *p = (struct providers){
        .env = env, .ledger = l, .conf = conf, .traffic = traffic};
}

void providers_close(struct providers *p)
{
    all_close(p);
    retired_close(p, true);
    free(p->retired.v);
    free(p->calls.v);
    free(p->offers.v);
    beside_done(&p->beside);
    traffic_free(p->traffic);
}

bool provider_is_read(const struct provider_state *s)
{
    return s && s->listed_ms && !s->list_failures;
}

struct provider_state *provider_find(const struct providers *p,
                                     const char *name)
{
    for (uint32_t i = 0; i < p->all.n; i++)
        if (strcmp(p->all.v[i]->conf->name, name) == 0)
            return p->all.v[i];
    return NULL;
}

void provider_problem(struct providers *p, struct provider_state *s,
                      const struct err *e)
{
    bool was = *s->problem;

    if (!e) {
        s->problem[0] = '\0';
        if (!was)
            return;
        emit(p->env, "provider.up", s->conf->name, "", "it answers again");
        offers_soon(s); /* they may have failed, too */
        return;
    }
    snprintf(s->problem, sizeof s->problem, "%s%s%.190s", e->code,
             *e->code ? ": " : "", e->text);
    if (!was)
        emit(p->env, "provider.down", s->conf->name, status_name(e->status),
             "%s", s->problem);
}
