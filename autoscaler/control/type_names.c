/*
 * type_names.c - see type_names.h.
 */
#include "type_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"

enum { KEY_MAX = 128, VALUE_MAX = 100 };

/* ---- in the journal: "type/<provider>/<name>" is "<hash> <micros on demand>
 * <micros spot> <made>" */

static void key_of(const struct type_fact *f, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "type/%s/%s", f->provider, f->name);
}

static void fact_read(struct ledger *l, struct type_fact *f)
{
    struct arena a = {0};
    const char *v = "";
    char key[KEY_MAX];

    key_of(f, key);
    journal_value(l->env->journal, key, &a, &v, NULL);
    if (sscanf(v, "%19s %" SCNd64 " %" SCNd64 " %19s", f->hash,
               &f->micros_hour[0], &f->micros_hour[1], f->made) < 3) {
        *f->hash = '\0';
        f->micros_hour[0] = f->micros_hour[1] = -1;
    }
    arena_done(&a);
}

static void fact_write(struct ledger *l, const struct type_fact *f)
{
    char key[KEY_MAX], value[VALUE_MAX];

    key_of(f, key);
    snprintf(value, sizeof value, "%s %" PRId64 " %" PRId64 " %s", f->hash,
             f->micros_hour[0], f->micros_hour[1], f->made);
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, key, value, NULL);
}

/* Read when it is asked for first. */
static struct type_fact *fact_of(struct ledger *l, const struct machine *m)
{
    struct type_fact f;

    for (uint32_t i = 0; i < l->types.n; i++)
        if (strcmp(l->types.v[i].name, m->type) == 0 &&
            strcmp(l->types.v[i].provider, m->provider) == 0)
            return &l->types.v[i];
    f = (struct type_fact){.provider = mem_strdup(m->provider),
                           .name = mem_strdup(m->type)};
    fact_read(l, &f);
    VEC_PUSH(NULL, &l->types, f);
    return &l->types.v[l->types.n - 1];
}

/* ---- */

/* Its price by the file, the dearest of its zones; -1: the file has none. */
static int64_t type_name_price(const struct conf_type *t, bool spot)
{
    int64_t most = -1;

    for (uint32_t i = 0; i < t->fact.n_offers; i++)
        if (t->fact.offers[i].spot == spot &&
            t->fact.offers[i].price_micros_hour > most)
            most = t->fact.offers[i].price_micros_hour;
    return most;
}

void type_name_keep(struct ledger *l, const struct machine *m,
                    const struct conf_type *t, int64_t micros)
{
    struct type_fact *f = fact_of(l, m);

    if (!t || (strcmp(f->hash, t->hash) == 0 && strcmp(f->made, t->made) == 0 &&
               (micros < 0 || f->micros_hour[m->spot] == micros)))
        return;
    if (strcmp(f->hash, t->hash) != 0) /* it cost that, made another way */
        f->micros_hour[!m->spot] = type_name_price(t, !m->spot);
    snprintf(f->hash, sizeof f->hash, "%s", t->hash);
    snprintf(f->made, sizeof f->made, "%s", t->made);
    if (micros >= 0)
        f->micros_hour[m->spot] = micros;
    fact_write(l, f);
}

static bool made_as(const struct machine *m, const struct conf_type *t)
{
    return t && (!*m->config_hash || strcmp(m->config_hash, t->hash) == 0);
}

/* By the file, in its zone; -1: it has none. */
static int64_t price_filed(const struct machine *m, const struct conf_type *t)
{
    for (uint32_t i = 0; i < t->fact.n_offers; i++) {
        const struct snap_offer *o = &t->fact.offers[i];

        if (o->spot == m->spot && o->price_micros_hour >= 0 &&
            (!*o->zone || strcmp(o->zone, m->zone) == 0))
            return o->price_micros_hour;
    }
    return -1;
}

bool type_name_filed(const struct machine *m, const struct conf_type *t)
{
    return made_as(m, t) && price_filed(m, t) >= 0;
}

static int64_t cost_of(const struct machine *m, const struct conf_type *t)
{
    int64_t filed = made_as(m, t) ? price_filed(m, t) : -1;

    return filed >= 0 ? filed : m->price_micros_hour;
}

static bool has_provider(const struct config *conf, const char *name)
{
    for (uint32_t i = 0; i < conf->n_providers; i++)
        if (strcmp(conf->providers[i].name, name) == 0)
            return true;
    return false;
}

int64_t type_name_bill(const struct machine *m, const struct conf_type *t,
                       const struct config *conf)
{
    int64_t cost = cost_of(m, t);
    int64_t now = t && !has_provider(conf, m->provider)
                      ? type_name_price(t, m->spot)
                      : -1;

    return now > cost ? now : cost;
}

/* It is what it cost, should the file drop its type later, or nobody tell it. */
static void costs_now(struct ledger *l, struct machine *m,
                      const struct conf_type *t, int64_t micros)
{
    if (micros == m->price_micros_hour)
        return;
    m->price_micros_hour = micros;
    type_name_keep(l, m, t, micros);
    fleet_touch(&l->fleet, m);
}

void type_name_told(struct ledger *l, struct machine *m,
                    const struct config *conf, int64_t micros)
{
    const struct conf_type *t = type_find(conf, m->type);

    if (micros >= 0 && m->state != STATE_GONE && made_as(m, t) &&
        price_filed(m, t) < 0)
        costs_now(l, m, t, micros);
}

/* The one type made as the machine was, of its provider; NULL: none, or two. */
static const struct conf_type *type_alike(const struct config *conf,
                                          const struct machine *m)
{
    const struct conf_type *found = NULL;

    for (uint32_t i = 0; *m->config_hash && i < conf->n_types; i++) {
        const struct conf_type *t = &conf->types[i];

        if (strcmp(t->hash, m->config_hash) != 0 ||
            strcmp(t->fact.provider, m->provider) != 0)
            continue;
        if (found)
            return NULL;
        found = t;
    }
    return found;
}

/* Of all types made so, whatever their provider is called, the dearest. */
static int64_t price_made(const struct config *conf, const char *made,
                          bool spot)
{
    int64_t most = -1;

    for (uint32_t i = 0; *made && i < conf->n_types; i++) {
        const struct conf_type *t = &conf->types[i];
        int64_t price = strcmp(t->made, made) == 0 ? type_name_price(t, spot)
                                                   : -1;

        most = price > most ? price : most;
    }
    return most;
}

/* Its provider and its type may both have other names now, which a list tells:
 * until then it costs what they cost, if that is more. */
static void dearer_settle(struct machine *m, const struct type_fact *f,
                          const struct config *conf)
{
    int64_t now = strcmp(f->hash, m->config_hash) == 0
                      ? price_made(conf, f->made, m->spot)
                      : -1;

    if (m->price_micros_hour >= 0 && now > m->price_micros_hour)
        m->price_micros_hour = now;
}

void type_name_settle(struct ledger *l, struct machine *m,
                      const struct config *conf)
{
    const struct type_fact *f;
    const struct conf_type *t;

    if (m->state == STATE_GONE)
        return;
    t = type_find(conf, m->type);
    if (t) {
        costs_now(l, m, t, cost_of(m, t));
        return;
    }
    f = fact_of(l, m);
    if (!*m->config_hash)
        MACHINE_SET(m, config_hash, f->hash);
    t = type_alike(conf, m);
    if (!t && m->price_micros_hour < 0)
        m->price_micros_hour = f->micros_hour[m->spot];
    if (!t && !has_provider(conf, m->provider))
        dearer_settle(m, f, conf);
    if (t) {
        emit(l->env, "node.retyped", m->id, "", "%s is called %s now", m->type,
             t->fact.name);
        MACHINE_SET(m, type, t->fact.name);
        type_name_keep(l, m, t, type_name_price(t, m->spot));
    }
    fleet_touch(&l->fleet, m);
}

/* Each launch notes what its type is made of: one of ours that no launch since
 * the change can have made is older than that. */
void type_name_found(struct ledger *l, struct machine *m,
                     const struct config *conf, bool launched)
{
    const struct conf_type *t = type_find(conf, m->type);
    const struct type_fact *f;

    if (!t) {
        type_name_settle(l, m, conf);
        return;
    }
    f = fact_of(l, m);
    if (launched && *f->hash && strcmp(f->hash, t->hash) != 0) {
        MACHINE_SET(m, config_hash, f->hash);
        m->price_micros_hour = f->micros_hour[m->spot];
        return;
    }
    MACHINE_SET(m, config_hash, t->hash);
    type_name_keep(l, m, t, type_name_price(t, m->spot));
}

/* The provider's type that is made so, of that name if there is one; else the
 * only one; NULL: none, or several. */
static const struct conf_type *type_made(const struct config *conf,
                                         const char *provider, const char *made,
                                         const char *name)
{
    const struct conf_type *found = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; *made && i < conf->n_types; i++) {
        const struct conf_type *t = &conf->types[i];

        if (strcmp(t->fact.provider, provider) != 0 ||
            strcmp(t->made, made) != 0)
            continue;
        if (strcmp(t->fact.name, name) == 0)
            return t;
        found = t;
        n++;
    }
    return n == 1 ? found : NULL;
}

void type_name_moves(struct ledger *l, struct machine *m, const char *provider,
                     const struct config *conf)
{
    const struct type_fact was = *fact_of(l, m);
    bool known = *was.hash && strcmp(was.hash, m->config_hash) == 0;
    const struct conf_type *t =
        known ? type_made(conf, provider, was.made, m->type) : NULL;
    struct type_fact *f;

    if (t) /* its name is type_name_settle()'s */
        MACHINE_SET(m, config_hash, t->hash);
    MACHINE_SET(m, provider, provider);
    f = fact_of(l, m);
    if (!known || (*f->hash && !(t && strcmp(t->fact.name, m->type) == 0)))
        return; /* or another is called so there */
    snprintf(f->hash, sizeof f->hash, "%s", m->config_hash);
    snprintf(f->made, sizeof f->made, "%s", was.made);
    memcpy(f->micros_hour, was.micros_hour, sizeof f->micros_hour);
    fact_write(l, f);
}

void type_names_settle(struct ledger *l, const struct config *conf)
{
    for (uint32_t i = 0; i < l->fleet.n; i++)
        type_name_settle(l, l->fleet.v[i], conf);
}

void type_names_rewrite(struct ledger *l)
{
    for (uint32_t i = 0; i < l->types.n; i++)
        if (*l->types.v[i].hash)
            fact_write(l, &l->types.v[i]);
}

void type_names_close(struct ledger *l)
{
    for (uint32_t i = 0; i < l->types.n; i++) {
        free(l->types.v[i].name);
        free(l->types.v[i].provider);
    }
    free(l->types.v);
    l->types.v = NULL;
    l->types.n = l->types.cap = 0;
}
