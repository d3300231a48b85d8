/*
 * profiles.c - see profiles.h.
 */
#include "profiles.h"

#include <stdlib.h>
#include <string.h>

#include "../../../base/alloc.h"
#include "../../kube/kube.h"
#include "../inside.h"

enum { PROFILES_MAX = 64, SPREADS_MAX = 16 };
#define DEFAULT_SCHEDULER "default-scheduler"

struct reading {
    struct profiles *p;
    VEC(const char *) words;
    VEC(struct profile) all;
};

#define WORD(r, ...) \
    VEC_PUSH( \
        &(r)->p->arena, &(r)->words, \
        pods_clean(&(r)->p->arena, arena_printf(&(r)->p->arena, __VA_ARGS__)))

static const json_t *args_of(const json_t *profile, const char *plugin)
{
    const json_t *list = json_object_get(profile, "pluginConfig");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(pods_text(json_array_get(list, i), "name", NULL), plugin) ==
            0)
            return json_object_get(json_array_get(list, i), "args");
    return NULL;
}

static bool is_named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(pods_text(json_array_get(list, i), "name", NULL), name) == 0)
            return true;
    return false;
}

/* ---- default constraints of PodTopologySpread */

static void spreads_read(struct reading *r, const json_t *profile,
                         struct profile *to)
{
    const json_t *args = args_of(profile, "PodTopologySpread");
    const json_t *list = json_object_get(args, "defaultConstraints");
    struct {
        VEC(struct spread_default) all;
    } v = {{0}};

    /* those of the system (defaultingType System) only prefer */
    for (size_t i = 0; i < json_array_size(list) && i < SPREADS_MAX; i++) {
        const json_t *c = json_array_get(list, i);
        const char *key = pods_text(c, "topologyKey", NULL);
        json_int_t skew = json_integer_value(json_object_get(c, "maxSkew"));

        if (strcmp(pods_text(c, "whenUnsatisfiable", NULL), "DoNotSchedule") !=
            0)
            continue;
        if (!*key || skew < 1 || skew > 100000) {
            WORD(r,
                 "its default constraint %zu of profile %s has no topologyKey "
                 "or no maxSkew of 1 or more: it is left out",
                 i + 1, to->scheduler);
            continue;
        }
        VEC_PUSH(&r->p->arena, &v.all,
                 ((struct spread_default){pods_clean(&r->p->arena, key),
                                          (uint32_t)skew}));
    }
    to->spreads = v.all.v;
    to->n_spreads = v.all.n;
    r->p->any_spreads = r->p->any_spreads || v.all.n;
}

/* ---- which node of several it prefers */

/* Of RequestedToCapacityRatio: is a full node worth more than an empty one? */
static bool ratio_packs(const json_t *strategy)
{
    const json_t *shape = pods_at(strategy, "requestedToCapacityRatio", "shape",
                                  NULL);
    const json_t *first = json_array_get(shape, 0);
    const json_t *last = json_array_get(shape, json_array_size(shape) - 1);

    return json_integer_value(json_object_get(last, "score")) >
           json_integer_value(json_object_get(first, "score"));
}

static bool strategy_packs(struct reading *r, const json_t *profile,
                           const char *scheduler)
{
    const json_t *off = pods_at(profile, "plugins", "score", "disabled", NULL);
    const json_t *strategy = json_object_get(
        args_of(profile, "NodeResourcesFit"), "scoringStrategy");
    const char *type = pods_text(strategy, "type", NULL);
    const json_t *on = pods_at(profile, "plugins", "score", "enabled", NULL);

    if ((is_named(off, "NodeResourcesFit") || is_named(off, "*")) &&
        !is_named(on, "NodeResourcesFit"))
        return false;
    if (strcmp(type, "MostAllocated") == 0)
        return true;
    if (strcmp(type, "RequestedToCapacityRatio") == 0)
        return ratio_packs(strategy);
    if (*type && strcmp(type, "LeastAllocated") != 0)
        WORD(r,
             "profile %s scores nodes by \"%.63s\" "
             "(NodeResourcesFit.scoringStrategy), which Davit does not know: "
             "it takes moved work to go to the emptiest node",
             scheduler, type);
    return false;
}

/* ---- what is not followed */

/* Plug-ins that refuse nodes, all of whose rules Davit plans by. */
static bool is_filter(const char *name)
{
    static const char *const names[] = {
        "*",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_own(const char *name)
{
    static const char *const others[] = {
        "DefaultBinder",
        "DefaultPreemption",
        "DynamicResources",
        "GangScheduling",
        "ImageLocality",
        "NodeDeclaredFeatures",
        "NodeResourcesBalancedAllocation",
        "PrioritySort",
        "SchedulingGates",
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return is_filter(name);
}

/* At these points a plug-in decides which nodes a pod may have. */
static void plugins_read(struct reading *r, const json_t *profile,
                         const char *scheduler)
{
    static const char *const points[] = {"multiPoint", "preFilter", "filter"};

    for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
        const json_t *at = pods_at(profile, "plugins", points[p], NULL);
        const json_t *on = json_object_get(at, "enabled");
        const json_t *off = json_object_get(at, "disabled");

        for (size_t i = 0; i < json_array_size(off); i++) {
            const char *name = pods_text(json_array_get(off, i), "name", NULL);

            /* off and on again: its weight is another one */
            if (is_filter(name) && !is_named(on, name) &&
                !(strcmp(name, "*") == 0 && json_array_size(on)))
                WORD(r,
                     "profile %s disables %s (plugins.%s): Davit plans as if "
                     "it were on",
                     scheduler, name, points[p]);
        }
        for (size_t i = 0; i < json_array_size(on); i++) {
            const char *name = pods_text(json_array_get(on, i), "name", NULL);

            if (*name && !is_own(name))
                WORD(r,
                     "profile %s enables %s (plugins.%s), whose rules Davit "
                     "does not know: the scheduler's word on each pod decides",
                     scheduler, name, points[p]);
        }
    }
}

static void args_read(struct reading *r, const json_t *profile,
                      const char *scheduler)
{
    const json_t *affinity = args_of(profile, "NodeAffinity");
    const json_t *fit = args_of(profile, "NodeResourcesFit");

    if (json_is_object(pods_at(affinity, "addedAffinity",
                               "requiredDuringSchedulingIgnoredDuringExecution",
                               NULL)))
        WORD(r,
             "profile %s adds a node affinity to every pod "
             "(NodeAffinity.addedAffinity), which is not planned with",
             scheduler);
    if (json_array_size(json_object_get(fit, "ignoredResources")) ||
        json_array_size(json_object_get(fit, "ignoredResourceGroups")))
        WORD(r,
             "profile %s ignores resources (NodeResourcesFit."
             "ignoredResources), which Davit counts",
             scheduler);
}

/* ---- all of it */

static void profile_read(struct reading *r, const json_t *o)
{
    const char *name = pods_text(o, "schedulerName", NULL);
    struct profile p = {.scheduler = *name ? pods_clean(&r->p->arena, name)
                                           : DEFAULT_SCHEDULER};

    if (!json_is_object(o)) {
        WORD(r, "one of its profiles is no mapping: it is left out");
        return;
    }
    spreads_read(r, o, &p);
    plugins_read(r, o, p.scheduler);
    args_read(r, o, p.scheduler);
    p.packs = strategy_packs(r, o, p.scheduler);
    VEC_PUSH(&r->p->arena, &r->all, p);
}

struct profiles *profiles_read(const char *text, size_t n, struct err *err)
{
    json_t *o = kube_yaml(text, n, err);
    const json_t *list = json_object_get(o, "profiles");
    struct reading r = {.p = NULL};

    if (!o)
        return NULL;
    if (strcmp(pods_text(o, "kind", NULL), "KubeSchedulerConfiguration") != 0) {
        err_set(err, ST_INVALID,
                "its kind must be KubeSchedulerConfiguration, got \"%.63s\"",
                pods_text(o, "kind", NULL));
        json_decref(o);
        return NULL;
    }
    r.p = MEM_NEW(struct profiles);
    for (size_t i = 0; i < json_array_size(list) && i < PROFILES_MAX; i++)
        profile_read(&r, json_array_get(list, i));
    if (json_array_size(list) > PROFILES_MAX)
        WORD(&r, "it has more than %d profiles: the others are left out",
             PROFILES_MAX);
    if (json_array_size(json_object_get(o, "extenders")))
        WORD(&r,
             "it has extenders, which may refuse nodes: the scheduler's word "
             "on each pod decides");
    r.p->v = r.all.v;
    r.p->n = r.all.n;
    r.p->words = (struct names){r.words.v, r.words.n};
    json_decref(o);
    return r.p;
}

struct profiles *profiles_of_map(const json_t *map, struct err *err)
{
    const json_t *data = json_object_get(map, "data");
    struct profiles *p = NULL;
    const char *key;
    json_t *v;

    err_set(err, ST_INVALID, "it has no data");
    json_object_foreach((json_t *)(uintptr_t)data, key, v) {
        if (p || !json_is_string(v))
            continue;
        p = profiles_read(json_string_value(v), json_string_length(v), err);
        if (!p)
            err_prefix(err, "its key %.63s", key);
    }
    return p;
}

void profiles_free(struct profiles *p)
{
    if (!p)
        return;
    arena_done(&p->arena);
    free(p);
}

bool profiles_spread(const struct profiles *p, const struct names *schedulers)
{
    for (uint32_t i = 0; i < schedulers->n; i++) {
        const struct profile *of = profile_of(p, schedulers->v[i]);

        if (!of || !of->packs)
            return true;
    }
    return schedulers->n == 0;
}

const struct profile *profile_of(const struct profiles *p,
                                 const char *scheduler)
{
    if (!*scheduler)
        scheduler = DEFAULT_SCHEDULER;
    for (uint32_t i = 0; p && i < p->n; i++)
        if (strcmp(p->v[i].scheduler, scheduler) == 0)
            return &p->v[i];
    return NULL;
}
