/*
 * file.c - a Ray cluster YAML, podTypes or a RayCluster as our own dialect.
 */
#include <string.h>

#include "../../config/config.h"
#include "../../model/accel.h"
#include "../../model/amount.h"
#include "../cli.h"
#include "init.h"

static const char *label_of(const struct snap_type *t, const char *key)
{
    for (uint32_t i = 0; i < t->labels.n; i++)
        if (strcmp(t->labels.v[i].key, key) == 0)
            return t->labels.v[i].value;
    return "";
}

/* What catalogue_find() and the type's own keys do not say of it. */
static void copy_labels(struct found *f, struct init_pool *p,
                        const struct snap_type *t)
{
    for (uint32_t i = 0; i < t->labels.n; i++) {
        struct pair l = {arena_strdup(&f->arena, t->labels.v[i].key),
                         arena_strdup(&f->arena, t->labels.v[i].value)};
        if (strcmp(l.key, ACCEL_LABEL) != 0)
            VEC_PUSH(&f->arena, &p->labels, l);
    }
}

static void offers(struct found *f, struct init_pool *p,
                   const struct snap_type *t)
{
    for (uint32_t i = 0; i < t->n_offers; i++) {
        const struct snap_offer *o = &t->offers[i];
        if (*o->zone && !init_has_zone(p, o->zone))
            VEC_PUSH(&f->arena, &p->zones, arena_strdup(&f->arena, o->zone));
        p->spot |= o->spot;
        p->on_demand |= !o->spot;
        if (!*p->machine && o->price_micros_hour >= 0)
            p->price_micros_hour = o->price_micros_hour;
    }
}

static void type(struct found *f, const struct conf_type *c)
{
    const struct snap_type *t = &c->fact;
    struct init_pool *p = init_pool_new(f, t->name);

    p->provider = arena_strdup(&f->arena, t->provider);
    p->pool = arena_strdup(&f->arena, t->pool);
    p->accelerator = arena_strdup(&f->arena, label_of(t, ACCEL_LABEL));
    p->min = t->min;
    p->max = t->max;
    p->hosts = t->hosts;
    p->idle_timeout_ms = t->idle_timeout_ms;
    for (uint32_t i = 0; i < t->resources.n; i++) {
        struct qty q = {arena_strdup(&f->arena, t->resources.v[i].name),
                        t->resources.v[i].amount};
        if (!accel_type_of_resource(q.name))
            VEC_PUSH(&f->arena, &p->resources, q);
    }
    copy_labels(f, p, t);
    offers(f, p, t);
}

bool init_file(struct found *f, const char *path)
{
    struct config *c = cli_config(path);

    if (!c)
        return false;
    f->cluster = arena_strdup(&f->arena, c->cluster);
    if (*c->ray_address)
        f->ray = arena_strdup(&f->arena, c->ray_address);
    f->max_nodes = c->limits.max_nodes;
    f->idle_timeout_ms = c->limits.idle_timeout_ms;
    for (uint32_t i = 0; i < c->n_providers; i++) {
        struct init_provider *p = init_provider_of(f, c->providers[i].name);
        for (uint32_t j = 0; j < c->providers[i].n_options; j++)
            init_option(f, p, c->providers[i].options[j].key,
                        c->providers[i].options[j].value);
    }
    for (uint32_t i = 0; i < c->n_types; i++) {
        init_provider_of(f, c->types[i].fact.provider);
        type(f, &c->types[i]);
    }
    INIT_FOUND(f, "%s: %u node type%s", path, c->n_types,
               c->n_types == 1 ? "" : "s");
    if (c->n_types && strcmp(c->types[0].fact.provider, "sim") == 0)
        INIT_UNKNOWN(f, "who launches the machines: sim only pretends; use "
                        "ec2, gke, eks, aks or exec in its place");
    if (!*c->ray_address)
        INIT_UNKNOWN(f, "where the Ray head is: head: {ray: {address: "
                        "HOST:6379}}");
    config_free(c);
    return true;
}
