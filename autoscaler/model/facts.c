/*
 * facts.c - the names of the enums in facts.h, and the default limits.
 */
#include "facts.h"

#include <string.h>

const struct fact_limits fact_limits_default = {
    .max_nodes = UNLIMITED,
    .idle_timeout_ms = 60000,
    .max_cost_micros_hour = -1,
    .max_launching = UNLIMITED,
    .conserve = true,
    .policy = POLICY_CHEAPEST,
};

static const char *const sources[] = {"task", "gang", "request", "pod", "spare"};
static const char *const strategies[] = {"", "PACK", "SPREAD", "STRICT_PACK",
                                         "STRICT_SPREAD"};
static const char *const policies[] = {"cheapest", "priority", "least_waste",
                                       "ray"};

#define COUNT(v) (sizeof(v) / sizeof *(v))

static bool find(const char *const *names, size_t n, const char *name,
                 size_t *ret)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

const char *source_name(enum demand_source s)
{
    return (size_t)s < COUNT(sources) ? sources[s] : "unknown";
}

const char *strategy_name(enum strategy s)
{
    return (size_t)s < COUNT(strategies) ? strategies[s] : "unknown";
}

const char *policy_name(enum policy p)
{
    return (size_t)p < COUNT(policies) ? policies[p] : "unknown";
}

bool source_from_name(const char *name, enum demand_source *ret)
{
    size_t i;

    if (!find(sources, COUNT(sources), name, &i))
        return false;
    *ret = (enum demand_source)i;
    return true;
}

bool strategy_from_name(const char *name, enum strategy *ret)
{
    size_t i;

    if (!find(strategies, COUNT(strategies), name, &i))
        return false;
    *ret = (enum strategy)i;
    return true;
}

bool policy_from_name(const char *name, enum policy *ret)
{
    size_t i;

    if (!find(policies, COUNT(policies), name, &i))
        return false;
    *ret = (enum policy)i;
    return true;
}
