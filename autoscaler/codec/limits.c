/*
 * limits.c - the limits and the queues of snapshot.json, both ways.
 */
#include <string.h>

#include "../model/amount.h"
#include "codec.h"
#include "fields.h"
#include "inside.h"

enum { QUEUE_NAMES_MAX = 10000, QUEUES_MAX = 256 };

static const char *policy_word(size_t i)
{
    return policy_name((enum policy)i);
}
static const char *consolidate_word(size_t i)
{
    return consolidate_name((enum consolidate)i);
}

#define AT(field) .at = offsetof(struct snap_limits, field)
static const struct field fields[] = {
    {"max_nodes", FIELD_COUNT, AT(max_nodes), .usual = UNLIMITED,
     .always = true},
    {"idle_timeout_s", FIELD_SECONDS, AT(idle_timeout_ms), .usual = -1,
     .always = true},
    {"max_cost_per_hour", FIELD_DOLLARS, AT(max_cost_micros_hour), .usual = -1,
     .always = true},
    {"max_launching", FIELD_COUNT, AT(max_launching), .usual = UNLIMITED,
     .always = true},
    {"end_outdated", FIELD_BOOL, AT(end_outdated), .always = true},
    {"conserve", FIELD_BOOL, AT(conserve), .always = true},
    {"policy", FIELD_WORD, AT(policy), .name_of = policy_word,
     .max = POLICY_RAY + 1, .always = true},
};
#undef AT

#define AT(field) .at = offsetof(struct snap_queue, field)
static const struct field queue_fields[] = {
    {"name", FIELD_TEXT, AT(name)},
    {"priority", FIELD_I32, AT(priority)},
};
static const struct field quota_fields[] = {
    {"nodes", FIELD_COUNT, AT(nodes), .usual = UNLIMITED, .always = true},
};
#undef AT

/* ---- limits */

static bool end_order_read(struct reader *in, const struct path *at,
                           const json_t *o, struct snap_limits *l)
{
    const json_t *v = reader_value(o, "end_order");
    size_t i;
    json_t *e;

    at = PATH_KEY(at, "end_order");
    if (!v)
        return true;
    if (!reader_list(in, at, v, END_KEYS))
        return false;
    l->n_end_order = 0;
    json_array_foreach(v, i, e) {
        const char *name;
        enum end_key k;

        if (!reader_text(in, PATH_AT(at, i), e, false, &name))
            return false;
        if (!end_key_from_name(name, &k))
            return reader_bad(in, PATH_AT(at, i),
                              "must be spot, on-demand, least_used, "
                              "most_expensive, longest_idle, oldest or newest");
        for (size_t j = 0; j < i; j++)
            if (l->end_order[j] == k)
                return reader_bad(in, PATH_AT(at, i), "is given twice");
        l->end_order[l->n_end_order++] = k;
    }
    return true;
}

static bool consolidate_read(struct reader *in, const struct path *at,
                             const json_t *o, struct snap_limits *l)
{
    static const char *const keys[] = {"mode", "min_saving", "older_than_s"};
    const json_t *v = reader_value(o, "consolidate");

    if (!v)
        return true;
    if (json_is_string(v)) {
        READER_WORD(in, at, o, "consolidate", consolidate_word,
                    CONSOLIDATE_ON + 1, enum consolidate, l->consolidate);
        return true;
    }
    at = PATH_KEY(at, "consolidate");
    if (!reader_object(in, at, v, keys, COUNT(keys)))
        return false;
    READER_WORD(in, at, v, "mode", consolidate_word, CONSOLIDATE_ON + 1,
                enum consolidate, l->consolidate);
    return reader_get_scaled(in, at, v, "min_saving", 1, AMOUNT_ONE, 0,
                             "between 0 and 1 (all of its price)",
                             &l->consolidate_saving) &&
           reader_get_seconds(in, at, v, "older_than_s", 0,
                              &l->consolidate_age_ms);
}

bool limits_read(struct reader *in, const json_t *root, struct snap_limits *l)
{
    static const char *const others[] = {"upscaling_speed", "end_order",
                                         "consolidate"};
    const struct path *at = PATH_KEY(NULL, "limits");
    const json_t *v = reader_value(root, "limits");

    *l = snap_limits_default;
    if (!fields_get(in, NULL, root, fields, 1, l))
        return false;
    if (!v)
        return true;
    if (!fields_known(in, at, v, fields, COUNT(fields), others, COUNT(others)))
        return false;
    if (json_object_get(v, "max_nodes") && json_object_get(root, "max_nodes"))
        return reader_bad(in, PATH_KEY(at, "max_nodes"),
                          "is given here and at the top");
    return fields_get(in, at, v, fields, COUNT(fields), l) &&
           reader_get_scaled(in, at, v, "upscaling_speed", 1e6, AMOUNT_ONE, 0,
                             "between 0 (no limit) and 1000000",
                             &l->upscaling_speed) &&
           end_order_read(in, at, v, l) && consolidate_read(in, at, v, l);
}

json_t *limits_write(const struct snap_limits *l)
{
    json_t *o = json_object(), *v;

    fields_write(o, fields, COUNT(fields), l);
    json_object_set_new(o, "upscaling_speed", codec_amount(l->upscaling_speed));
    if (l->n_end_order > 0) {
        v = json_array();
        for (uint32_t i = 0; i < l->n_end_order; i++)
            json_array_append_new(v,
                                  json_string(end_key_name(l->end_order[i])));
        json_object_set_new(o, "end_order", v);
    }
    v = json_object();
    json_object_set_new(v, "mode",
                        json_string(consolidate_name(l->consolidate)));
    json_object_set_new(v, "min_saving", codec_amount(l->consolidate_saving));
    json_object_set_new(v, "older_than_s",
                        codec_seconds(l->consolidate_age_ms));
    json_object_set_new(o, "consolidate", v);
    return o;
}

/* ---- queues */

static bool names_read(struct reader *in, const struct path *at,
                       const json_t *o, const char *key, struct names *ret)
{
    const json_t *v = reader_value(o, key);
    const char **names;
    size_t i;
    json_t *e;

    at = PATH_KEY(at, key);
    if (!v)
        return true;
    if (!reader_list(in, at, v, QUEUE_NAMES_MAX))
        return false;
    names = ARENA_ARRAY(in->arena, const char *, json_array_size(v));
    json_array_foreach(v, i, e) {
        if (!reader_text(in, PATH_AT(at, i), e, false, &names[i]))
            return false;
    }
    *ret = (struct names){names, (uint32_t)json_array_size(v)};
    return true;
}

/* Of GPUs or CPUs; null: none. */
static bool quota_get(struct reader *in, const struct path *at, const json_t *o,
                      const char *key, int64_t *ret)
{
    return reader_get_scaled(in, at, o, key, 1e9, AMOUNT_ONE, -1,
                             "between 0 and 1000000000, or null", ret);
}

static bool quotas_read(struct reader *in, const struct path *at,
                        const json_t *v, struct snap_queue *q)
{
    static const char *const keys[] = {"gpus", "cpus", "nodes"};

    return reader_object(in, at, v, keys, COUNT(keys)) &&
           quota_get(in, at, v, "gpus", &q->gpus) &&
           quota_get(in, at, v, "cpus", &q->cpus) &&
           fields_get(in, at, v, quota_fields, COUNT(quota_fields), q);
}

static bool queue_read(struct reader *in, const struct path *at,
                       const json_t *v, void *ret)
{
    static const char *const others[] = {"node_types", "quota", "owners"};
    const json_t *quota = reader_value(v, "quota");
    struct snap_queue *q = ret;

    if (!fields_read(in, at, v, queue_fields, COUNT(queue_fields), others,
                     COUNT(others), q))
        return false;
    q->gpus = q->cpus = -1;
    q->nodes = UNLIMITED;
    if (!q->name[0])
        return reader_bad(in, at, "needs a \"name\"");
    return names_read(in, at, v, "node_types", &q->types) &&
           names_read(in, at, v, "owners", &q->owners) &&
           (!quota || quotas_read(in, PATH_KEY(at, "quota"), quota, q));
}

bool queues_read(struct reader *in, const json_t *root, struct snapshot *s)
{
    const json_t *v = reader_value(root, "queues");
    struct reader_items queues = {0};

    if (v && !reader_list(in, PATH_KEY(NULL, "queues"), v, QUEUES_MAX))
        return false;
    if (!reader_items(in, NULL, root, "queues", queue_read, NULL,
                      sizeof(struct snap_queue), &queues))
        return false;
    s->queues = queues.v;
    s->n_queues = queues.n;
    return true;
}

static void names_put(json_t *o, const char *key, const struct names *names)
{
    json_t *v = json_array();

    for (uint32_t i = 0; i < names->n; i++)
        json_array_append_new(v, codec_text(names->v[i]));
    json_object_set_new(o, key, v);
}

json_t *queues_write(const struct snap_queue *v, uint32_t n)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++) {
        const struct snap_queue *q = &v[i];
        json_t *o = json_object(), *quota = json_object();

        fields_write(o, queue_fields, COUNT(queue_fields), q);
        names_put(o, "node_types", &q->types);
        json_object_set_new(quota, "gpus",
                            q->gpus < 0 ? json_null() : codec_amount(q->gpus));
        json_object_set_new(quota, "cpus",
                            q->cpus < 0 ? json_null() : codec_amount(q->cpus));
        fields_write(quota, quota_fields, COUNT(quota_fields), q);
        json_object_set_new(o, "quota", quota);
        if (q->owners.n > 0)
            names_put(o, "owners", &q->owners);
        json_array_append_new(list, o);
    }
    return list;
}
