/*
 * codec_limits.c - the limits and the queues of snapshot.json, both ways.
 */
#include <string.h>

#include "codec.h"
#include "codec_bundle.h"

enum { QUEUE_NAMES_MAX = 10000, QUEUES_MAX = 256 };

#define COUNT(v) (sizeof(v) / sizeof *(v))

static const char *policy_word(size_t i)
{
    return policy_name((enum policy)i);
}
static const char *consolidate_word(size_t i)
{
    return consolidate_name((enum consolidate)i);
}

static json_t *count_json(uint32_t n)
{
    return n == UNLIMITED ? json_null() : json_integer(n);
}

/* ---- limits */

/* A number in 1/10,000. */
static bool factor_get(struct jin *in, const struct jpath *at, const json_t *o,
                       const char *key, double max, const char *allowed,
                       int64_t *ret)
{
    const json_t *v = json_object_get(o, key);
    double d = json_number_value(v);
    char buf[64];

    if (!v)
        return true;
    if (json_is_null(v))
        d = 0;
    else if (!json_is_number(v) || !(d >= 0) || d > max)
        return jin_bad(in, JPATH_KEY(at, key), "must be between %s, got %s",
                       allowed, jin_found(v, buf, sizeof buf));
    *ret = (int64_t)(d * 10000 + 0.5);
    return true;
}

static bool end_order_read(struct jin *in, const struct jpath *at,
                           const json_t *o, struct snap_limits *l)
{
    const json_t *v = json_object_get(o, "end_order");
    size_t i;
    json_t *e;

    at = JPATH_KEY(at, "end_order");
    if (!v || json_is_null(v))
        return true;
    if (!jin_list(in, at, v, END_KEYS))
        return false;
    l->n_end_order = 0;
    json_array_foreach(v, i, e)
    {
        const char *name;
        enum end_key k;

        if (!jin_text(in, JPATH_AT(at, i), e, false, &name))
            return false;
        if (!end_key_from_name(name, &k))
            return jin_bad(in, JPATH_AT(at, i),
                           "must be spot, on-demand, least_used, "
                           "most_expensive, longest_idle, oldest or newest");
        for (size_t j = 0; j < i; j++)
            if (l->end_order[j] == k)
                return jin_bad(in, JPATH_AT(at, i), "is given twice");
        l->end_order[l->n_end_order++] = k;
    }
    return true;
}

static bool consolidate_read(struct jin *in, const struct jpath *at,
                             const json_t *o, struct snap_limits *l)
{
    static const char *const keys[] = {"mode", "min_saving", "older_than_s"};
    const json_t *v = json_object_get(o, "consolidate");

    if (!v || json_is_null(v))
        return true;
    if (json_is_string(v)) {
        JIN_WORD(in, at, o, "consolidate", consolidate_word,
                 CONSOLIDATE_ON + 1, enum consolidate, l->consolidate);
        return true;
    }
    at = JPATH_KEY(at, "consolidate");
    if (!jin_object(in, at, v, keys, COUNT(keys)))
        return false;
    JIN_WORD(in, at, v, "mode", consolidate_word, CONSOLIDATE_ON + 1,
             enum consolidate, l->consolidate);
    return factor_get(in, at, v, "min_saving", 1, "0 and 1 (all of its price)",
                      &l->consolidate_saving) &&
           jin_get_seconds(in, at, v, "older_than_s", 0,
                           &l->consolidate_age_ms);
}

bool limits_read(struct jin *in, const json_t *root, struct snap_limits *l)
{
    static const char *const keys[] = {
        "max_nodes", "idle_timeout_s", "max_cost_per_hour", "max_launching",
        "upscaling_speed", "end_outdated", "conserve", "policy", "end_order",
        "consolidate"};
    const struct jpath *at = JPATH_KEY(NULL, "limits");
    const json_t *v = json_object_get(root, "limits");

    *l = snap_limits_default;
    if (!jin_get_count(in, NULL, root, "max_nodes", 0, COUNT32_MAX, UNLIMITED,
                        &l->max_nodes))
        return false;
    if (!v || json_is_null(v))
        return true;
    if (!jin_object(in, at, v, keys, COUNT(keys)))
        return false;
    if (json_object_get(v, "max_nodes") && json_object_get(root, "max_nodes"))
        return jin_bad(in, JPATH_KEY(at, "max_nodes"),
                        "is given here and at the top");
    if (!jin_get_count(in, at, v, "max_nodes", 0, COUNT32_MAX, UNLIMITED,
                        &l->max_nodes) ||
        !jin_get_seconds(in, at, v, "idle_timeout_s", -1,
                          &l->idle_timeout_ms) ||
        !jin_get_dollars(in, at, v, "max_cost_per_hour",
                          &l->max_cost_micros_hour) ||
        !jin_get_count(in, at, v, "max_launching", 0, COUNT32_MAX, UNLIMITED,
                        &l->max_launching) ||
        !jin_get_bool(in, at, v, "end_outdated", &l->end_outdated) ||
        !jin_get_bool(in, at, v, "conserve", &l->conserve) ||
        !factor_get(in, at, v, "upscaling_speed", 1e6,
                    "0 (no limit) and 1000000", &l->upscaling_speed) ||
        !end_order_read(in, at, v, l) || !consolidate_read(in, at, v, l))
        return false;
    JIN_WORD(in, at, v, "policy", policy_word, POLICY_RAY + 1, enum policy,
             l->policy);
    return true;
}

json_t *limits_write(const struct snap_limits *l)
{
    json_t *o = json_object(), *v;

    json_object_set_new(o, "max_nodes", count_json(l->max_nodes));
    json_object_set_new(o, "idle_timeout_s",
                        l->idle_timeout_ms < 0
                            ? json_null()
                            : jin_seconds(l->idle_timeout_ms));
    json_object_set_new(o, "max_cost_per_hour",
                        jin_dollars(l->max_cost_micros_hour));
    json_object_set_new(o, "max_launching", count_json(l->max_launching));
    json_object_set_new(o, "upscaling_speed", jin_amount(l->upscaling_speed));
    json_object_set_new(o, "end_outdated", json_boolean(l->end_outdated));
    json_object_set_new(o, "conserve", json_boolean(l->conserve));
    json_object_set_new(o, "policy", json_string(policy_name(l->policy)));
    if (l->n_end_order > 0) {
        v = json_array();
        for (uint32_t i = 0; i < l->n_end_order; i++)
            json_array_append_new(v, json_string(end_key_name(
                                         l->end_order[i])));
        json_object_set_new(o, "end_order", v);
    }
    v = json_object();
    json_object_set_new(v, "mode",
                        json_string(consolidate_name(l->consolidate)));
    json_object_set_new(v, "min_saving", jin_amount(l->consolidate_saving));
    json_object_set_new(v, "older_than_s", jin_seconds(l->consolidate_age_ms));
    json_object_set_new(o, "consolidate", v);
    return o;
}

/* ---- queues */

static bool names_read(struct jin *in, const struct jpath *at, const json_t *o,
                       const char *key, struct names *ret)
{
    const json_t *v = json_object_get(o, key);
    const char **names;
    size_t i;
    json_t *e;

    at = JPATH_KEY(at, key);
    if (!v || json_is_null(v))
        return true;
    if (!jin_list(in, at, v, QUEUE_NAMES_MAX))
        return false;
    names = ARENA_ARRAY(in->arena, const char *, json_array_size(v));
    json_array_foreach(v, i, e)
    {
        if (!jin_text(in, JPATH_AT(at, i), e, false, &names[i]))
            return false;
    }
    *ret = (struct names){names, (uint32_t)json_array_size(v)};
    return true;
}

/* Of GPUs or CPUs; null: none. */
static bool quota_get(struct jin *in, const struct jpath *at, const json_t *o,
                      const char *key, int64_t *ret)
{
    const json_t *v = json_object_get(o, key);
    char buf[64];
    double d = json_number_value(v);

    if (!v)
        return true;
    if (json_is_null(v))
        *ret = -1;
    else if (!json_is_number(v) || !(d >= 0) || d > 1e9)
        return jin_bad(in, JPATH_KEY(at, key), "must be between 0 and "
                       "1000000000, or null, got %s",
                       jin_found(v, buf, sizeof buf));
    else
        *ret = (int64_t)(d * 10000 + 0.5);
    return true;
}

static bool queue_read(struct jin *in, const struct jpath *at, const json_t *v,
                       struct snap_queue *q)
{
    static const char *const keys[] = {"name", "node_types", "quota",
                                       "priority", "owners"};
    static const char *const quotas[] = {"gpus", "cpus", "nodes"};
    const json_t *quota;
    int64_t priority = 0;

    *q = (struct snap_queue){.name = "", .gpus = -1, .cpus = -1,
                             .nodes = UNLIMITED};
    if (!jin_object(in, at, v, keys, COUNT(keys)) ||
        !jin_get_text(in, at, v, "name", &q->name))
        return false;
    if (!q->name[0])
        return jin_bad(in, at, "needs a \"name\"");
    if (!names_read(in, at, v, "node_types", &q->types) ||
        !names_read(in, at, v, "owners", &q->owners) ||
        !jin_get_int(in, at, v, "priority", INT32_MIN, INT32_MAX, &priority))
        return false;
    q->priority = (int32_t)priority;
    quota = json_object_get(v, "quota");
    at = JPATH_KEY(at, "quota");
    return !quota || json_is_null(quota) ||
           (jin_object(in, at, quota, quotas, COUNT(quotas)) &&
            quota_get(in, at, quota, "gpus", &q->gpus) &&
            quota_get(in, at, quota, "cpus", &q->cpus) &&
            jin_get_count(in, at, quota, "nodes", 0, COUNT32_MAX, UNLIMITED,
                          &q->nodes));
}

bool queues_read(struct jin *in, const json_t *root, struct snapshot *f)
{
    const json_t *v = json_object_get(root, "queues");
    const struct jpath *at = JPATH_KEY(NULL, "queues");
    struct snap_queue *queues;
    size_t i;
    json_t *e;

    if (!v || json_is_null(v))
        return true;
    if (!jin_list(in, at, v, QUEUES_MAX))
        return false;
    queues = ARENA_ARRAY(in->arena, struct snap_queue, json_array_size(v));
    json_array_foreach(v, i, e)
    {
        if (!queue_read(in, JPATH_AT(at, i), e, &queues[i]))
            return false;
    }
    f->queues = queues;
    f->n_queues = (uint32_t)json_array_size(v);
    return true;
}

static void names_put(json_t *o, const char *key, const struct names *names)
{
    json_t *v = json_array();

    for (uint32_t i = 0; i < names->n; i++)
        json_array_append_new(v, jin_word(names->v[i]));
    json_object_set_new(o, key, v);
}

json_t *queues_write(const struct snap_queue *v, uint32_t n)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++) {
        const struct snap_queue *q = &v[i];
        json_t *o = json_object(), *quota = json_object();

        json_object_set_new(o, "name", jin_word(q->name));
        names_put(o, "node_types", &q->types);
        json_object_set_new(quota, "gpus", q->gpus < 0 ? json_null()
                                                       : jin_amount(q->gpus));
        json_object_set_new(quota, "cpus", q->cpus < 0 ? json_null()
                                                       : jin_amount(q->cpus));
        json_object_set_new(quota, "nodes", count_json(q->nodes));
        json_object_set_new(o, "quota", quota);
        if (q->priority != 0)
            json_object_set_new(o, "priority", json_integer(q->priority));
        if (q->owners.n > 0)
            names_put(o, "owners", &q->owners);
        json_array_append_new(list, o);
    }
    return list;
}
