/*
 * codec_facts.c - snapshot.json to facts: docs/snapshot.md in C.
 *
 * Every value has a default that makes a small file mean what one expects:
 * nodes are ready and all free, types have one on-demand offer.
 */
#include <string.h>

#include "accel.h"
#include "codec.h"
#include "codec_bundle.h"

#define COUNT(v) (sizeof(v) / sizeof *(v))
#define TIME_MAX (INT64_C(1) << 53)

struct pair_vec { VEC(struct pair) all; };

/* ---- pieces */

_Static_assert((int)REASON_COUNT <= JIN_WORDS_MAX, "JIN_WORDS_MAX");

static const char *state_word(size_t i)
{
    return state_name((enum machine_state)i);
}
static const char *reason_word(size_t i)
{
    return reason_code((enum reason)i);
}
static const char *status_word(size_t i)
{
    return status_name((enum status)i);
}
static const char *source_word(size_t i)
{
    return source_name((enum demand_source)i);
}
static const char *strategy_word(size_t i)
{
    return strategy_name((enum strategy)i);
}
static bool pairs_read(struct jin *in, const struct jpath *at, const json_t *o,
                       struct pair_vec *to)
{
    const json_t *v = json_object_get(o, "labels");
    const char *key;
    json_t *value;
    char buf[64];

    if (!v || json_is_null(v))
        return true;
    if (!json_is_object(v))
        return jin_bad(in, JPATH_KEY(at, "labels"),
                        "must be an object such as {\"zone\": \"a\"}, got %s",
                        jin_found(v, buf, sizeof buf));
    json_object_foreach((json_t *)v, key, value)
    {
        struct pair p = {arena_strdup(in->arena, key), ""};
        const struct jpath *here =
            JPATH_KEY(JPATH_KEY(at, "labels"), key);

        if (!key[0] || strlen(key) > JIN_NAME_MAX)
            return jin_bad(in, here, "a label's key has 1 to %d bytes",
                            JIN_NAME_MAX);
        if (!jin_text(in, here, value, true, &p.value))
            return false;
        VEC_PUSH(in->arena, &to->all, p);
    }
    return true;
}

/* Labels, and the ACCEL_LABEL that a marker among the resources or the key
 * "accelerator_type" stands for, unless the labels have it. */
static bool labels_read(struct jin *in, const struct jpath *at,
                        const json_t *o, struct qtys *resources,
                        struct pairs *ret)
{
    struct pair_vec all = {{0}};
    struct qty *q = (struct qty *)resources->v; /* ours, just read */
    const char *type = NULL, *least = NULL;
    uint32_t kept = 0;
    bool has = false;

    if (!pairs_read(in, at, o, &all) ||
        !jin_get_text(in, at, o, "accelerator_type", &type))
        return false;
    for (uint32_t i = 0; i < resources->n; i++) {
        const char *marker = accel_type_of_resource(q[i].name);

        if (!marker) {
            q[kept++] = q[i];
        } else if (q[i].amount > 0) {
            marker = accel_type_canonical(marker);
            if (!least || strcmp(marker, least) < 0)
                least = marker;
        }
    }
    resources->n = kept;
    type = type && type[0] ? type : least;
    for (uint32_t i = 0; i < all.all.n; i++)
        if (strcmp(all.all.v[i].key, ACCEL_LABEL) == 0)
            has = true;
    if (type && !has) {
        struct pair p = {ACCEL_LABEL, accel_type_canonical(type)};

        VEC_PUSH(in->arena, &all.all, p);
    }
    *ret = (struct pairs){all.all.v, all.all.n};
    return true;
}

/* ---- node types */

static bool offer_read(struct jin *in, const struct jpath *at, const json_t *v,
                       struct snap_offer *ret)
{
    static const char *const keys[] = {"zone", "spot", "price",
                                       "set_aside_until_ms", "set_aside_for",
                                       "failed_ms", "room",
                                       "idle_timeout_s", "taints"};
    int64_t idle_ms = -1;

    if (!jin_object(in, at, v, keys, COUNT(keys)) ||
        !jin_get_text(in, at, v, "zone", &ret->zone) ||
        !jin_get_bool(in, at, v, "spot", &ret->spot) ||
        !jin_get_dollars(in, at, v, "price", &ret->price_micros_hour) ||
        !jin_get_int(in, at, v, "set_aside_until_ms", 0, TIME_MAX,
                      &ret->backoff_until_ms) ||
        !jin_get_int(in, at, v, "failed_ms", 0, TIME_MAX, &ret->failed_ms) ||
        !jin_get_count(in, at, v, "room", 0, COUNT32_MAX, UNLIMITED,
                        &ret->room) ||
        !jin_get_seconds(in, at, v, "idle_timeout_s", -1, &idle_ms) ||
        !taints_read(in, at, v, &ret->taints))
        return false;
    ret->idle_timeout_ms = idle_ms < 0 ? 0 : idle_ms > 0 ? idle_ms : 1;
    JIN_WORD(in, at, v, "set_aside_for", status_word, ST_COUNT, enum status,
             ret->backoff_for);
    return true;
}

static bool offers_read(struct jin *in, const struct jpath *at,
                        const json_t *o, struct snap_type *ret)
{
    const json_t *v = json_object_get(o, "offers");
    struct snap_offer usual = {.zone = "", .price_micros_hour = -1,
                               .room = UNLIMITED};
    struct snap_offer *offers;
    size_t i, n = 1;
    json_t *e;

    if (!jin_get_text(in, at, o, "zone", &usual.zone) ||
        !jin_get_bool(in, at, o, "spot", &usual.spot) ||
        !jin_get_dollars(in, at, o, "price", &usual.price_micros_hour))
        return false;
    at = JPATH_KEY(at, "offers");
    if (v && !json_is_null(v)) {
        if (!jin_list(in, at, v, JIN_ITEMS_MAX))
            return false;
        n = json_array_size(v);
        if (n == 0)
            return jin_bad(in, at, "must have at least one offer (leave it "
                            "out for one without a zone)");
    } else {
        v = NULL;
    }
    offers = ARENA_ARRAY(in->arena, struct snap_offer, n);
    for (i = 0; i < n; i++)
        offers[i] = usual;
    json_array_foreach(v, i, e)
    {
        if (!offer_read(in, JPATH_AT(at, i), e, &offers[i]))
            return false;
    }
    ret->offers = offers;
    ret->n_offers = (uint32_t)n;
    return true;
}

static bool resources_get(struct jin *in, const struct jpath *at,
                          const json_t *o, const char *key,
                          enum quantity_rule rule, struct qtys *ret)
{
    const json_t *v = json_object_get(o, key);

    return !v || json_is_null(v) ||
           resources_read(in, JPATH_KEY(at, key), v, rule, ret);
}

static bool type_read(struct jin *in, const struct jpath *at, const json_t *v,
                      struct snap_type *t)
{
    static const char *const keys[] = {
        "name", "provider", "machine", "pool", "resources", "labels",
        "taints", "accelerator_type", "min", "max", "idle_timeout_s", "boot_s",
        "priority", "hosts", "unavailable", "price", "zone", "spot", "offers",
        "note"};
    int64_t priority = 0;

    *t = (struct snap_type){.name = "", .provider = "", .machine = "",
                            .pool = "", .max = UNLIMITED, .boot_ms = -1,
                            .idle_timeout_ms = -1, .hosts = 1};
    if (!jin_object(in, at, v, keys, COUNT(keys)) ||
        !jin_get_text(in, at, v, "name", &t->name))
        return false;
    if (!t->name[0])
        return jin_bad(in, at, "needs a \"name\"");
    if (!jin_get_text(in, at, v, "provider", &t->provider) ||
        !jin_get_text(in, at, v, "machine", &t->machine) ||
        !jin_get_text(in, at, v, "pool", &t->pool) ||
        !resources_get(in, at, v, "resources", QUANTITY_OFFERED,
                       &t->resources) ||
        !labels_read(in, at, v, &t->resources, &t->labels) ||
        !taints_read(in, at, v, &t->taints) ||
        !jin_get_count(in, at, v, "min", 0, COUNT32_MAX, 0, &t->min) ||
        !jin_get_count(in, at, v, "max", 0, COUNT32_MAX, UNLIMITED,
                        &t->max) ||
        !jin_get_seconds(in, at, v, "idle_timeout_s", -1,
                          &t->idle_timeout_ms) ||
        !jin_get_seconds(in, at, v, "boot_s", -1, &t->boot_ms) ||
        !jin_get_int(in, at, v, "priority", INT32_MIN, INT32_MAX,
                      &priority) ||
        !jin_get_count(in, at, v, "hosts", 1, 100000, 1, &t->hosts) ||
        !offers_read(in, at, v, t))
        return false;
    t->priority = (int32_t)priority;
    JIN_WORD(in, at, v, "unavailable", reason_word, REASON_COUNT, enum reason,
             t->unavailable);
    return true;
}

/* ---- nodes */

static bool node_read(struct jin *in, const struct jpath *at, const json_t *v,
                      struct snap_node *n)
{
    static const char *const keys[] = {
        "id", "type", "state", "head", "foreign", "outdated", "zone", "spot",
        "total", "available", "labels", "taints", "accelerator_type", "unit",
        "idle_ms", "progress_ms", "since_ms", "created_ms", "price", "hold", "hold_until_ms",
        "holds", "undecided" /* of old: means nothing */, "activity",
        "cloud_id", "address", "ray_id", "provider", "request_id", "note"};
    struct qtys nothing = {0};

    *n = (struct snap_node){
        .id = "", .type = "", .zone = "", .state = STATE_READY, .idle_ms = -1,
        .price_micros_hour = -1, .activity = "", .cloud_id = "", .address = "",
        .ray_id = "", .provider = "", .request_id = "", .note = "",
        .host_group = ""};
    if (!jin_object(in, at, v, keys, COUNT(keys)) ||
        !jin_get_text(in, at, v, "id", &n->id))
        return false;
    if (!n->id[0])
        return jin_bad(in, at, "needs an \"id\"");
    if (!jin_get_text(in, at, v, "type", &n->type) ||
        !jin_get_text(in, at, v, "zone", &n->zone) ||
        !jin_get_bool(in, at, v, "spot", &n->spot) ||
        !jin_get_bool(in, at, v, "head", &n->head) ||
        !jin_get_bool(in, at, v, "foreign", &n->unmanaged) ||
        !jin_get_bool(in, at, v, "outdated", &n->outdated) ||
        !resources_get(in, at, v, "total", QUANTITY_ANY, &n->total))
        return false;
    n->available = n->total;
    n->available.v = arena_copy(in->arena, n->total.v,
                                n->total.n * sizeof *n->total.v);
    if (!resources_get(in, at, v, "available", QUANTITY_ANY, &n->available))
        return false;
    if (n->available.n > 0 && n->total.n == 0)
        return jin_bad(in, JPATH_KEY(at, "available"),
                        "is given without \"total\"");
    if (n->total.n == 0)
        n->available = nothing;
    /* Ray repeats the marker in what is available. */
    if (!labels_read(in, at, v, &n->total, &n->labels) ||
        !taints_read(in, at, v, &n->taints) ||
        !jin_get_text(in, at, v, "unit", &n->host_group) ||
        !jin_get_int(in, at, v, "progress_ms", 0, TIME_MAX,
                      &n->progress_ms) ||
        !jin_get_int(in, at, v, "idle_ms", -1, TIME_MAX, &n->idle_ms) ||
        !jin_get_int(in, at, v, "since_ms", 0, TIME_MAX, &n->since_ms) ||
        !jin_get_int(in, at, v, "created_ms", 0, TIME_MAX, &n->created_ms) ||
        !jin_get_dollars(in, at, v, "price", &n->price_micros_hour) ||
        !jin_get_int(in, at, v, "hold_until_ms", 0, TIME_MAX,
                      &n->hold_until_ms) ||
        !previous_read(in, at, v, "holds", &n->previous) ||
        !jin_get_text(in, at, v, "activity", &n->activity) ||
        !jin_get_text(in, at, v, "cloud_id", &n->cloud_id) ||
        !jin_get_text(in, at, v, "address", &n->address) ||
        !jin_get_text(in, at, v, "ray_id", &n->ray_id) ||
        !jin_get_text(in, at, v, "provider", &n->provider) ||
        !jin_get_text(in, at, v, "request_id", &n->request_id) ||
        !jin_get_text(in, at, v, "note", &n->note))
        return false;
    JIN_WORD(in, at, v, "state", state_word, STATE_COUNT, enum machine_state,
             n->state);
    JIN_WORD(in, at, v, "hold", reason_word, REASON_COUNT, enum reason,
             n->hold);
    return true;
}

/* ---- demand */

struct demand_vec { VEC(struct snap_demand) all; };

/* An entry of "demands", "gangs" or "requests": they differ in defaults. */
static bool demand_read(struct jin *in, const struct jpath *at,
                        const json_t *v, struct snap_demand d, uint64_t *total,
                        struct demand_vec *to)
{
    static const char *const keys[] = {
        BUNDLE_KEYS, "owner", "id", "queue", "source", "strategy", "priority",
        "since_ms", "bundles"};
    const json_t *list;
    struct snap_bundle *bundles;
    int64_t priority = 0;
    size_t i, n = 1;
    json_t *e;

    if (!jin_object(in, at, v, keys, COUNT(keys)) ||
        !jin_get_text(in, at, v, "owner", &d.owner) ||
        !jin_get_text(in, at, v, "id", &d.id) ||
        !jin_get_text(in, at, v, "queue", &d.queue) ||
        !jin_get_int(in, at, v, "priority", INT32_MIN, INT32_MAX,
                      &priority) ||
        !jin_get_int(in, at, v, "since_ms", 0, TIME_MAX, &d.since_ms))
        return false;
    d.priority = (int32_t)priority;
    JIN_WORD(in, at, v, "source", source_word, SOURCE_SPARE + 1,
             enum demand_source, d.source);
    JIN_WORD(in, at, v, "strategy", strategy_word, STRATEGY_STRICT_SPREAD + 1,
             enum strategy, d.strategy);
    list = json_object_get(v, "bundles");
    if (json_is_null(list))
        list = NULL;
    if (list) {
        if (!jin_list(in, JPATH_KEY(at, "bundles"), list, JIN_ITEMS_MAX))
            return false;
        if (json_object_get(v, "resources") || json_object_get(v, "any_of") ||
            json_object_get(v, "count"))
            return jin_bad(in, at, "has \"bundles\" and a bundle's own keys: "
                            "one or the other");
        n = json_array_size(list);
        if (n == 0)
            return true;  /* asks for nothing */
    }
    bundles = ARENA_ARRAY(in->arena, struct snap_bundle, n);
    if (!list && !bundle_read_checked(in, at, v, &bundles[0]))
        return false;
    json_array_foreach(list, i, e)
    {
        if (!bundle_read(in, JPATH_AT(JPATH_KEY(at, "bundles"), i), e,
                         &bundles[i]))
            return false;
    }
    for (i = 0; i < n; i++)
        *total += bundles[i].count;
    if (*total > COUNT_MAX)
        return jin_bad(in, at, "makes more than %d bundles in all",
                        COUNT_MAX);
    d.bundles = bundles;
    d.n_bundles = (uint32_t)n;
    VEC_PUSH(in->arena, &to->all, d);
    return true;
}

static bool demands_read(struct jin *in, const json_t *root, struct snapshot *f)
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
        const json_t *v = json_object_get(root, lists[i].key);
        const struct jpath *at = JPATH_KEY(NULL, lists[i].key);
        struct snap_demand usual = {.source = lists[i].source,
                                    .owner = lists[i].owner, .id = "",
                                    .queue = "",
                                    .strategy = lists[i].strategy};

        if (!v || json_is_null(v))
            continue;
        if (!jin_list(in, at, v, JIN_ITEMS_MAX))
            return false;
        json_array_foreach(v, j, e)
        {
            if (!demand_read(in, JPATH_AT(at, j), e, usual, &total, &all))
                return false;
        }
    }
    f->demands = all.all.v;
    f->n_demands = all.all.n;
    return true;
}

/* ---- all together */

static bool types_read(struct jin *in, const json_t *root, struct snapshot *f)
{
    const json_t *v = json_object_get(root, "node_types");
    const struct jpath *at = JPATH_KEY(NULL, "node_types");
    struct snap_type *types;
    size_t i;
    json_t *e;

    if (!v || json_is_null(v))
        return true;
    if (!jin_list(in, at, v, JIN_ITEMS_MAX))
        return false;
    types = ARENA_ARRAY(in->arena, struct snap_type, json_array_size(v));
    json_array_foreach(v, i, e)
    {
        if (!type_read(in, JPATH_AT(at, i), e, &types[i]))
            return false;
    }
    f->types = types;
    f->n_types = (uint32_t)json_array_size(v);
    return true;
}

static bool nodes_read(struct jin *in, const json_t *root, struct snapshot *f)
{
    const json_t *v = json_object_get(root, "nodes");
    const struct jpath *at = JPATH_KEY(NULL, "nodes");
    struct snap_node *nodes;
    size_t i;
    json_t *e;

    if (!v || json_is_null(v))
        return true;
    if (!jin_list(in, at, v, JIN_ITEMS_MAX))
        return false;
    nodes = ARENA_ARRAY(in->arena, struct snap_node, json_array_size(v));
    json_array_foreach(v, i, e)
    {
        if (!node_read(in, JPATH_AT(at, i), e, &nodes[i]))
            return false;
    }
    f->nodes = nodes;
    f->n_nodes = (uint32_t)json_array_size(v);
    return true;
}

enum status codec_snapshot_read(const json_t *root, struct arena *arena,
                             struct snapshot **ret, struct err *err)
{
    static const char *const keys[] = {
        "schema", "name", "note", "about", "expect", "cluster", "now_ms",
        "head_fresh", "max_nodes", "limits", "node_types", "nodes", "demands",
        "gangs", "requests", "queues", "proposed", "plan", "recorded",
        "advice", "deciding" /* of old: proposed; and means nothing */};
    struct err unused;
    struct jin in = {arena, err ? err : &unused};
    struct snapshot *f = ARENA_NEW(arena, struct snapshot);

    f->cluster = "";
    f->sources_fresh = true;
    if (!jin_object(&in, NULL, root, keys, COUNT(keys)) ||
        !jin_get_text(&in, NULL, root, "cluster", &f->cluster) ||
        !jin_get_int(&in, NULL, root, "now_ms", 0, TIME_MAX, &f->now_ms) ||
        !jin_get_bool(&in, NULL, root, "head_fresh", &f->sources_fresh) ||
        !limits_read(&in, root, &f->limits) || !types_read(&in, root, f) ||
        !queues_read(&in, root, f) ||
        !nodes_read(&in, root, f) || !demands_read(&in, root, f) ||
        !proposed_read(&in, root, f))
        return ST_INVALID;
    *ret = f;
    return ST_OK;
}
