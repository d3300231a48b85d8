/*
 * options.c - the configuration, checked and remembered; no I/O.
 *
 * A node type names its node group with pool:, or one for each zone with
 * options: {pools: {ZONE: NAME}}, which is how a launch gets the zone it asked
 * for.  A node group serves one node type: its machines are known by it.
 */
#include <stdio.h>
#include <string.h>

#include "eks.h"

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
    return !strchr(bare, ':');
}

static int pool_add(struct eks *e, const struct davit_node_type *t,
                    const char *key, const char *name, size_t *ret,
                    struct davit_error *err)
{
    if (!name_ok(name))
        return kit_type_error(err, t, key,
                              "%.60s must be a node group's name (up to 63 "
                              "letters, digits, - and _), or asg/NAME for an "
                              "Auto Scaling group; got \"%.60s\"",
                              key, name);
    for (size_t i = 0; i < e->n_pools; i++) {
        if (strcmp(e->pools[i].name, name) != 0)
            continue;
        if (e->pools[i].type != e->n_types)
            return kit_type_error(err, t, key,
                                  "node group %.60s serves node type %.40s "
                                  "already: each type needs its own",
                                  name, e->types[e->pools[i].type].name);
        *ret = i;
        return DAVIT_OK;
    }
    e->pools = kit_keep_more(&e->keep, e->pools, e->n_pools, sizeof *e->pools);
    struct eks_pool *p = &e->pools[e->n_pools];
    *p = (struct eks_pool){.name = kit_keep_text(&e->keep, name),
                           .type = e->n_types};
    p->bare = strncmp(name, "asg/", 4) == 0;
    if (p->bare)
        snprintf(p->group, sizeof p->group, "%s", name + 4);
    *ret = e->n_pools++;
    return DAVIT_OK;
}

static int route_add(struct eks *e, struct eks_type *t,
                     const struct davit_node_type *n, const char *zone,
                     const char *key, const char *name, struct davit_error *err)
{
    size_t pool = 0;
    int st = pool_add(e, n, key, name, &pool, err);
    if (st != DAVIT_OK)
        return st;
    t->routes = kit_keep_more(&e->keep, t->routes, t->n_routes,
                              sizeof *t->routes);
    t->routes[t->n_routes++] = (struct eks_route){kit_keep_text(&e->keep, zone),
                                                  pool};
    return DAVIT_OK;
}

static int zone_check(const struct eks_type *t, const struct davit_node_type *n,
                      const char *zone, struct davit_error *err)
{
    for (size_t i = 0; i < t->n_routes; i++)
        if (t->routes[i].zone[0] == '\0' ||
            strcmp(t->routes[i].zone, zone) == 0)
            return DAVIT_OK;
    return kit_type_error(err, n, "pools",
                          "there is zone %.40s but no node group for it: name "
                          "one in pools, or one for all in pool",
                          zone);
}

static int type_pool(struct kit_reading *r, const char *zone, const char *value)
{
    struct eks_type *t = r->into;
    char key[80];
    snprintf(key, sizeof key, "pools.%.60s", zone);
    return route_add(t->eks, t, r->type, zone, key, value, r->error);
}

/* The last type is counted when it is whole: types[n_types] is being read. */
static int type_read(struct eks *e, const struct davit_node_type *n,
                     struct davit_error *err)
{
    struct eks_type *t = &e->types[e->n_types];
    *t = (struct eks_type){.eks = e,
                           .spot = n->spot,
                           .name = kit_keep_text(&e->keep, n->name),
                           .machine = kit_keep_text(&e->keep, n->machine)};
    int st = kit_options_read(eks_options, n->options, n->n_options, n, t,
                              &e->keep, err);
    if (st == DAVIT_OK && n->pool[0] != '\0')
        st = route_add(e, t, n, "", "pool", n->pool, err);
    if (st == DAVIT_OK && t->n_routes == 0)
        st = kit_type_error(err, n, "pool",
                            "it needs pool: the name of its EKS node group");
    t->zones = kit_keep(&e->keep, (n->n_zones + 1) * sizeof *t->zones);
    for (size_t i = 0; i < n->n_zones && st == DAVIT_OK; i++) {
        if (n->zones[i][0] == '\0')
            continue;
        st = zone_check(t, n, n->zones[i], err);
        t->zones[t->n_zones++] = kit_keep_text(&e->keep, n->zones[i]);
    }
    e->n_types++;
    return st;
}

#define AT(field) KIT_AT(struct eks, field)
#define ENDPOINT(name) "endpoints." name, "its URL", KIT_URL
const struct kit_option eks_options[] = {
    {"cluster", "the EKS cluster's name; without it that of cluster: above",
     KIT_TEXT, AT(cluster)},
    {"endpoint", "one URL for all services, for private clouds and tests",
     KIT_URL, AT(aws.endpoints[AWS_EKS])},
    {ENDPOINT("eks"), AT(aws.endpoints[AWS_EKS]), .instead = "endpoint"},
    {ENDPOINT("autoscaling"), AT(aws.endpoints[AWS_AUTOSCALING]),
     .instead = "endpoint"},
    {ENDPOINT("ec2"), AT(aws.endpoints[AWS_EC2]), .instead = "endpoint"},
    {ENDPOINT("sts"), AT(aws.endpoints[AWS_STS]), .instead = "endpoint"},
    {ENDPOINT("servicequotas"), AT(aws.endpoints[AWS_QUOTAS]),
     .instead = "endpoint"},
    AWS_OPTIONS(struct eks, aws),
    {"launch_timeout", "how long a group may take to start an instance",
     KIT_DURATION, AT(launch_timeout_ms), .fallback = "15m"},
    {"protect", "guards instances from the group's own scale-in", KIT_FLAG,
     AT(protect), .fallback = "true"},
    {"types.pools.*", "a node group for a zone: pools: {us-east-1a: gpu-a}",
     KIT_READ, .read = type_pool},
    {"types.launch",
     "desired (raise the target), or instances (the LaunchInstances call: in "
     "the zone asked for, at once)",
     KIT_CHOICE, KIT_AT(struct eks_type, how), .fallback = "desired",
     .allowed = "desired|instances"},
    {0}};

int options_read(struct eks *e, const struct davit_setup *s,
                 struct davit_error *err)
{
    e->tag = kit_keep_text(&e->keep, s->cluster);
    e->cluster = e->tag;
    e->aws.session = e->tag;
    if (strlen(e->tag) > 200)
        return kit_error(err, DAVIT_INVALID, "",
                         "the cluster's name is a tag's value: up to 200 "
                         "bytes");
    int st = kit_options_read(eks_options, s->options, s->n_options, NULL, e,
                              &e->keep, err);
    e->types = kit_keep(&e->keep, (s->n_types + 1) * sizeof *e->types);
    for (size_t i = 0; i < s->n_types && st == DAVIT_OK; i++)
        st = type_read(e, s->types[i], err);
    /* Lists add to these while others read them: they must not move. */
    struct eks_pool *pools = kit_keep(&e->keep,
                                      (e->n_pools + LEFT_MAX) * sizeof *pools);
    if (e->n_pools > 0)
        memcpy(pools, e->pools, e->n_pools * sizeof *pools);
    e->pools = pools;
    e->types[e->n_types].name = kit_keep_text(&e->keep, "removed");
    e->n_typed = e->n_pools;
    return st;
}
