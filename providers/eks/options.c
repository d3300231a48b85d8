/*
 * options.c - the configuration, checked and remembered; no I/O.
 *
 * A node type names its node group with pool:, or one for each zone with
 * options: {pools: {ZONE: NAME}}, which is how a launch gets the zone it asked
 * for.  A node group serves one node type: its machines are known by it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"

static char *dup(const char *s)
{
    char *p = s != NULL ? strdup(s) : NULL;
    if (s != NULL && p == NULL)
        abort();
    return p;
}

static void *grown(void *p, size_t n, size_t size)
{
    p = realloc(p, (n + 1) * size);
    if (p == NULL)
        abort();
    memset((char *)p + n * size, 0, size);
    return p;
}

const struct eks_type *type_find(const struct eks *e, const char *name)
{
    for (size_t i = 0; i < e->n_types; i++)
        if (strcmp(e->types[i].name, name) == 0)
            return &e->types[i];
    return NULL;
}

static bool name_ok(const char *name)
{
    const char *bare = strncmp(name, "asg/", 4) == 0 ? name + 4 : name;
    size_t n = strlen(bare);
    if (n == 0 || n > 255 || (bare == name && n > 63))
        return false;
    for (const char *c = bare; *c != '\0'; c++)
        if (*c < ' ' || *c == 127 || (bare == name && strchr("/:?#", *c)))
            return false;
    return strchr(bare, ':') == NULL;
}

static int pool_add(struct eks *e, const char *type, const char *key,
                    const char *name, size_t *ret, struct davit_error *err)
{
    char option[130];
    snprintf(option, sizeof option, "%.60s.%.60s", type, key);
    if (!name_ok(name))
        return kit_error(err, DAVIT_INVALID, option,
                         "%s of %s must be a node group's name (up to 63 "
                         "letters, digits, - and _), or asg/NAME for an Auto "
                         "Scaling group; got \"%.60s\"", key, type, name);
    for (size_t i = 0; i < e->n_pools; i++) {
        if (strcmp(e->pools[i].name, name) != 0)
            continue;
        if (e->pools[i].type != e->n_types - 1)
            return kit_error(err, DAVIT_INVALID, option,
                             "node group %.60s serves node type %.40s already: "
                             "each type needs its own", name,
                             e->types[e->pools[i].type].name);
        *ret = i;
        return DAVIT_OK;
    }
    e->pools = grown(e->pools, e->n_pools, sizeof *e->pools);
    struct eks_pool *p = &e->pools[e->n_pools];
    p->name = dup(name);
    p->type = e->n_types - 1;
    p->bare = strncmp(name, "asg/", 4) == 0;
    if (p->bare)
        snprintf(p->group, sizeof p->group, "%s", name + 4);
    *ret = e->n_pools++;
    return DAVIT_OK;
}

static int route_add(struct eks *e, struct eks_type *t, const char *zone,
                     const char *key, const char *name,
                     struct davit_error *err)
{
    size_t pool = 0;
    int st = pool_add(e, t->name, key, name, &pool, err);
    if (st != DAVIT_OK)
        return st;
    t->routes = grown(t->routes, t->n_routes, sizeof *t->routes);
    t->routes[t->n_routes++] = (struct eks_route){dup(zone), pool};
    return DAVIT_OK;
}

static int zone_check(struct eks_type *t, const char *zone,
                      struct davit_error *err)
{
    for (size_t i = 0; i < t->n_routes; i++)
        if (t->routes[i].zone[0] == '\0' ||
            strcmp(t->routes[i].zone, zone) == 0)
            return DAVIT_OK;
    char option[130];
    snprintf(option, sizeof option, "%.60s.pools", t->name);
    return kit_error(err, DAVIT_INVALID, option,
                     "%s has zone %.40s but no node group for it: name one in "
                     "pools, or one for all in pool", t->name, zone);
}

static int type_read(struct eks *e, const struct davit_node_type *n,
                     struct davit_error *err)
{
    char option[130];
    e->types = grown(e->types, e->n_types, sizeof *e->types);
    struct eks_type *t = &e->types[e->n_types++];
    t->name = dup(n->name);
    t->machine = dup(n->machine);
    t->spot = n->spot;
    int st = DAVIT_OK;
    for (size_t i = 0; i < n->n_options && st == DAVIT_OK; i++) {
        const struct davit_kv *o = &n->options[i];
        if (strncmp(o->key, "pools.", 6) == 0)
            st = route_add(e, t, o->key + 6, o->key, o->value, err);
    }
    if (st == DAVIT_OK && n->pool[0] != '\0')
        st = route_add(e, t, "", "pool", n->pool, err);
    if (st != DAVIT_OK)
        return st;
    if (t->n_routes == 0) {
        snprintf(option, sizeof option, "%.60s.pool", t->name);
        return kit_error(err, DAVIT_INVALID, option,
                         "node type %.60s needs pool: the name of its EKS node "
                         "group", t->name);
    }
    const char *how = kit_find(n->options, n->n_options, "launch");
    t->by_instances = how != NULL && strcmp(how, "instances") == 0;
    if (how != NULL && !t->by_instances && strcmp(how, "desired") != 0) {
        snprintf(option, sizeof option, "%.60s.launch", t->name);
        return kit_error(err, DAVIT_INVALID, option,
                         "launch must be desired or instances, got \"%.40s\"",
                         how);
    }
    for (size_t i = 0; i < n->n_zones && st == DAVIT_OK; i++) {
        if (n->zones[i][0] == '\0')
            continue;
        st = zone_check(t, n->zones[i], err);
        t->zones = grown(t->zones, t->n_zones, sizeof *t->zones);
        t->zones[t->n_zones++] = dup(n->zones[i]);
    }
    return st;
}

static int url_option(const struct davit_setup *s, const char *key,
                      char **ret, struct davit_error *err)
{
    const char *v = kit_find(s->options, s->n_options, key);
    if (v == NULL)
        return DAVIT_OK;
    if (strncmp(v, "http://", 7) != 0 && strncmp(v, "https://", 8) != 0)
        return kit_error(err, DAVIT_INVALID, key,
                         "%s must be a URL, such as "
                         "https://vpce-1.eks.us-east-1.vpce.amazonaws.com, got "
                         "\"%.60s\"", key, v);
    free(*ret);
    *ret = dup(v);
    return DAVIT_OK;
}

static int endpoints_read(struct eks *e, const struct davit_setup *s,
                          struct davit_error *err)
{
    static const char *const keys[N_SERVICES] = {
        [EKS] = "endpoints.eks", [AUTOSCALING] = "endpoints.autoscaling",
        [EC2] = "endpoints.ec2", [STS] = "endpoints.sts"};
    const char *env = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    int st = DAVIT_OK;
    e->metadata = dup(env != NULL && env[0] != '\0'
                          ? env : "http://169.254.169.254");
    for (int i = 0; i < N_SERVICES && st == DAVIT_OK; i++) {
        st = url_option(s, "endpoint", &e->endpoints[i], err);
        if (st == DAVIT_OK)
            st = url_option(s, keys[i], &e->endpoints[i], err);
    }
    if (st == DAVIT_OK)
        st = url_option(s, "endpoints.metadata", &e->metadata, err);
    size_t n = strlen(e->metadata);
    while (n > 0 && e->metadata[n - 1] == '/')
        e->metadata[--n] = '\0';
    return st;
}

int options_read(struct eks *e, const struct davit_setup *s,
                 struct davit_error *err)
{
    const char *protect = kit_find(s->options, s->n_options, "protect");
    const char *cluster = kit_find(s->options, s->n_options, "cluster");
    e->tag = dup(s->cluster);
    e->cluster = dup(cluster != NULL ? cluster : s->cluster);
    e->profile = dup(kit_find(s->options, s->n_options, "profile"));
    e->region_given = dup(kit_find(s->options, s->n_options, "region"));
    e->protect = protect == NULL || strcmp(protect, "true") == 0;
    e->launch_timeout_ms = 15 * 60 * 1000;
    if (protect != NULL && strcmp(protect, "true") != 0 &&
        strcmp(protect, "false") != 0)
        return kit_error(err, DAVIT_INVALID, "protect",
                         "protect must be true or false, got \"%.40s\"",
                         protect);
    if (strlen(e->tag) > 200)
        return kit_error(err, DAVIT_INVALID, "",
                         "the cluster's name is a tag's value: up to 200 "
                         "bytes");
    int st = kit_duration_option(s->options, s->n_options, "launch_timeout",
                                 &e->launch_timeout_ms, err);
    if (st == DAVIT_OK)
        st = endpoints_read(e, s, err);
    for (size_t i = 0; i < s->n_types && st == DAVIT_OK; i++)
        st = type_read(e, s->types[i], err);
    /* Lists add to these while others read them: they must not move. */
    for (size_t i = 0; i < LEFT_MAX; i++)
        e->pools = grown(e->pools, e->n_pools + i, sizeof *e->pools);
    e->types = grown(e->types, e->n_types, sizeof *e->types);
    e->types[e->n_types].name = dup("removed");
    e->n_typed = e->n_pools;
    return st;
}

void options_free(struct eks *e)
{
    for (size_t i = 0; i < e->n_types; i++) {
        struct eks_type *t = &e->types[i];
        for (size_t k = 0; k < t->n_routes; k++)
            free(t->routes[k].zone);
        for (size_t k = 0; k < t->n_zones; k++)
            free(t->zones[k]);
        free(t->routes);
        free(t->zones);
        free(t->name);
        free(t->machine);
    }
    if (e->types != NULL)
        free(e->types[e->n_types].name);  /* of what no type has */
    for (size_t i = 0; i < e->n_pools; i++)
        free(e->pools[i].name);
    for (int i = 0; i < N_SERVICES; i++)
        free(e->endpoints[i]);
    free(e->types);
    free(e->pools);
    free(e->metadata);
    free(e->tag);
    free(e->cluster);
    free(e->profile);
    free(e->region_given);
}
