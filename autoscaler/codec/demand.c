/*
 * demand.c - "demands", "gangs" and "requests" of a snapshot, both ways: one
 * struct, three lists that differ in their defaults.
 */
#include "codec.h"
#include "fields.h"
#include "inside.h"

struct demand_vec {
    VEC(struct snap_demand) all;
};

static const char *strategy_word(size_t i)
{
    return strategy_name((enum strategy)i);
}

/* "source" and "strategy" are written where the list does not say them. */
#define AT(field) .at = offsetof(struct snap_demand, field)
static const struct field fields[] = {
    {"owner", FIELD_TEXT, AT(owner)},
    {"id", FIELD_TEXT, AT(id)},
    {"queue", FIELD_TEXT, AT(queue)},
    {"priority", FIELD_I32, AT(priority)},
    {"since_ms", FIELD_I64, AT(since_ms), .max = TIME_MAX},
    {"said", FIELD_TEXT, AT(said)},
    {"source", FIELD_WORD, AT(source), .name_of = source_word,
     .max = SOURCE_SPARE + 1},
    {"strategy", FIELD_WORD, AT(strategy), .name_of = strategy_word,
     .max = STRATEGY_STRICT_SPREAD + 1},
};
#undef AT
enum { WRITTEN = COUNT(fields) - 2 };

static bool item_read(struct reader *in, const struct path *at, const json_t *v,
                      void *ret)
{
    return bundle_read(in, at, v, ret);
}

/* Its list of bundles, or the one bundle that it is itself. */
static bool bundles_read(struct reader *in, const struct path *at,
                         const json_t *v, struct snap_demand *d)
{
    struct reader_items list = {0};

    if (!reader_value(v, "bundles")) {
        list.v = ARENA_NEW(in->arena, struct snap_bundle);
        list.n = 1;
        if (!bundle_read_checked(in, at, v, list.v))
            return false;
    } else if (json_object_get(v, "resources") ||
               json_object_get(v, "any_of") || json_object_get(v, "count")) {
        return reader_bad(in, at,
                          "has \"bundles\" and a bundle's own keys: one or the "
                          "other");
    } else if (!reader_items(in, at, v, "bundles", item_read, NULL,
                             sizeof(struct snap_bundle), &list)) {
        return false;
    }
    d->bundles = list.v;
    d->n_bundles = list.n;
    return true;
}

static bool demand_read(struct reader *in, const struct path *at,
                        const json_t *v, struct snap_demand d, uint64_t *total,
                        struct demand_vec *to)
{
    static const char *const keys[] = {
        BUNDLE_KEYS, "owner",    "id",       "queue", "source",
        "strategy",  "priority", "since_ms", "said",  "bundles"};

    if (!reader_object(in, at, v, keys, COUNT(keys)) ||
        !fields_get(in, at, v, fields, COUNT(fields), &d) ||
        !bundles_read(in, at, v, &d))
        return false;
    for (uint32_t i = 0; i < d.n_bundles; i++)
        *total += d.bundles[i].count;
    if (*total > COUNT_MAX)
        return reader_bad(in, at, "makes more than %d bundles in all",
                          COUNT_MAX);
    if (d.n_bundles > 0)
        VEC_PUSH(in->arena, &to->all, d);
    return true;
}

bool demands_read(struct reader *in, const json_t *root, struct snapshot *s)
{
    static const struct {
        const char *key, *owner;
        enum demand_source source;
        enum strategy strategy;
    } lists[] = {
        {"demands", "ray", SOURCE_TASK, STRATEGY_NONE},
        {"gangs", "ray", SOURCE_GANG, STRATEGY_PACK},
        {"requests", "default", SOURCE_REQUEST, STRATEGY_NONE},
    };
    struct demand_vec all = {{0}};
    uint64_t total = 0;
    size_t i, j;
    json_t *e;

    for (i = 0; i < COUNT(lists); i++) {
        const json_t *v = reader_value(root, lists[i].key);
        const struct path *at = PATH_KEY(NULL, lists[i].key);
        struct snap_demand usual = {.source = lists[i].source,
                                    .owner = lists[i].owner,
                                    .id = "",
                                    .queue = "",
                                    .strategy = lists[i].strategy};

        if (!v)
            continue;
        if (!reader_list(in, at, v, READER_ITEMS_MAX))
            return false;
        json_array_foreach(v, j, e)
            if (!demand_read(in, PATH_AT(at, j), e, usual, &total, &all))
                return false;
    }
    s->demands = all.all.v;
    s->n_demands = all.all.n;
    return true;
}

static json_t *demand_write(const struct snap_demand *d)
{
    json_t *o = json_object(), *bundles;

    fields_write(o, fields, WRITTEN, d);
    json_object_set_new(o, "owner", codec_text(d->owner));
    if (d->source == SOURCE_POD || d->source == SOURCE_SPARE)
        put_text(o, "source", source_name(d->source));
    if (d->strategy != STRATEGY_NONE || d->source == SOURCE_GANG)
        json_object_set_new(o, "strategy",
                            json_string(strategy_name(d->strategy)));
    if (d->n_bundles == 1 && d->source != SOURCE_GANG &&
        d->source != SOURCE_REQUEST) {
        bundle_write_into(o, &d->bundles[0]);
        return o;
    }
    bundles = json_array();
    for (uint32_t i = 0; i < d->n_bundles; i++)
        json_array_append_new(bundles, codec_bundle_write(&d->bundles[i]));
    json_object_set_new(o, "bundles", bundles);
    return o;
}

void demands_write(json_t *root, const struct snapshot *s)
{
    json_t *demands = json_array(), *gangs = json_array();
    json_t *requests = json_array();

    for (uint32_t i = 0; i < s->n_demands; i++) {
        const struct snap_demand *d = &s->demands[i];
        json_t *to = d->source == SOURCE_GANG      ? gangs
                     : d->source == SOURCE_REQUEST ? requests
                                                   : demands;

        json_array_append_new(to, demand_write(d));
    }
    json_object_set_new(root, "demands", demands);
    json_object_set_new(root, "gangs", gangs);
    json_object_set_new(root, "requests", requests);
}
