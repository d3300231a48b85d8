/*
 * request.c - see request.h.
 */
#include "request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../model/codec.h"

#define OWNER_MAX 128
#define BUNDLES_MAX 100000          /* entries of bundles[], before merging */
#define CPUS_MAX 10000000
#define TTL_MAX_MS (INT64_C(10) * 365 * 86400 * 1000)

static const char *const keys[] = {"owner", "bundles", "num_cpus",
                                   "bundle_label_selectors", "ttl", "strategy",
                                   "priority"};
enum { N_KEYS = sizeof keys / sizeof *keys };

bool owner_valid(const char *owner)
{
    size_t n = strlen(owner);

    return n >= 1 && n <= OWNER_MAX &&
           strspn(owner, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789._:@-") == n;
}

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "text";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    default: return "null";
    }
}

static enum status check_keys(const json_t *body, struct err *err)
{
    const char *key, *near;
    json_t *v;

    if (!json_is_object(body))
        return err_set(err, ST_INVALID, "body: must be an object such as "
                       "{\"bundles\":[{\"GPU\":1}]}, got %s", type_name(body));
    json_object_foreach((json_t *)body, key, v) {
        bool known = false;

        for (size_t i = 0; i < N_KEYS; i++)
            known |= strcmp(key, keys[i]) == 0;
        if (known)
            continue;
        near = suggest(key, keys, N_KEYS);
        if (near)
            return err_set(err, ST_INVALID, "%.64s: no such key; did you mean "
                           "%s?", key, near);
        return err_set(err, ST_INVALID, "%.64s: no such key; allowed are owner, "
                       "bundles, num_cpus, bundle_label_selectors, ttl, "
                       "strategy, priority", key);
    }
    return ST_OK;
}

static enum status read_owner(const json_t *body, const char *otherwise,
                              struct arena *arena, const char **ret,
                              struct err *err)
{
    const json_t *v = json_object_get(body, "owner");
    const char *owner = v ? json_string_value(v) : otherwise;

    if (v && !owner)
        return err_set(err, ST_INVALID, "owner: must be text, got %s",
                       type_name(v));
    if (v && strlen(owner) != json_string_length(v))
        return err_set(err, ST_INVALID, "owner: must not contain a NUL");
    if (!owner_valid(owner))
        return err_set(err, ST_INVALID, "owner: must be 1 to 128 of the "
                       "letters A-Z a-z 0-9 . _ : @ -, got \"%.140s\"", owner);
    if (strcmp(owner, "ray") == 0)
        return err_set(err, ST_INVALID, "owner: \"ray\" stands for what Ray "
                       "itself asks for (ray.autoscaler.sdk.request_resources); "
                       "choose another name");
    *ret = arena_strdup(arena, owner);
    return ST_OK;
}

static enum status read_ttl(const json_t *body, int64_t *ret, struct err *err)
{
    const json_t *v = json_object_get(body, "ttl");
    double d;

    *ret = 0;
    if (!v || json_is_null(v))
        return ST_OK;
    if (json_is_string(v)) {
        if (!duration_parse(json_string_value(v), ret) || *ret <= 0)
            return err_set(err, ST_INVALID, "ttl: must be a duration such as "
                           "\"30m\", \"2h\" or 90 (seconds), more than 0, got "
                           "\"%.40s\"", json_string_value(v));
    } else if (json_is_number(v)) {
        d = json_number_value(v) * 1000.0;
        if (!(d >= 1.0) || d > (double)TTL_MAX_MS)
            return err_set(err, ST_INVALID, "ttl: must be more than 0 seconds "
                           "and at most 10 years, got %g",
                           json_number_value(v));
        *ret = (int64_t)d;
    } else {
        return err_set(err, ST_INVALID, "ttl: must be a duration such as "
                       "\"30m\" or a number of seconds, got %s", type_name(v));
    }
    if (*ret > TTL_MAX_MS)
        return err_set(err, ST_INVALID, "ttl: must be at most 10 years");
    return ST_OK;
}

static enum status read_strategy(const json_t *body, enum strategy *ret,
                                 struct err *err)
{
    static const char *const names[] = {"PACK", "SPREAD", "STRICT_PACK",
                                        "STRICT_SPREAD"};
    const json_t *v = json_object_get(body, "strategy");
    const char *s = v ? json_string_value(v) : "", *near;

    *ret = STRATEGY_NONE;
    if (!v || json_is_null(v) || (s && s[0] == '\0'))
        return ST_OK;
    if (s && strategy_from_name(s, ret))
        return ST_OK;
    near = s ? suggest(s, names, sizeof names / sizeof *names) : NULL;
    return err_set(err, ST_INVALID, "strategy: must be PACK, SPREAD, STRICT_PACK "
                   "or STRICT_SPREAD, got %s%.40s%s%s%s",
                   s ? "\"" : "", s ? s : type_name(v), s ? "\"" : "",
                   near ? "; did you mean " : "", near ? near : "");
}

static enum status read_priority(const json_t *body, int32_t *ret,
                                 struct err *err)
{
    const json_t *v = json_object_get(body, "priority");

    *ret = 0;
    if (!v || json_is_null(v))
        return ST_OK;
    if (!json_is_integer(v) || json_integer_value(v) < -1000000 ||
        json_integer_value(v) > 1000000)
        return err_set(err, ST_INVALID, "priority: must be a whole number "
                       "between -1000000 and 1000000");
    *ret = (int32_t)json_integer_value(v);
    return ST_OK;
}

/* Ray's bundle_label_selectors: one object for each bundle, folded into its
 * labels.  A short bundle becomes a long one on the way. */
static enum status fold_labels(const json_t *selectors, size_t i,
                               json_t *bundle, json_t **ret, struct err *err)
{
    json_t *sel = json_array_get(selectors, i), *labels, *v, *rest;
    const char *key;

    *ret = json_incref(bundle);
    if (!selectors || json_object_size(sel) == 0)
        return ST_OK;
    json_decref(*ret);
    if (!json_is_object(sel))
        return err_set(err, ST_INVALID, "bundle_label_selectors[%zu]: must be "
                       "an object of labels, got %s", i, type_name(sel));
    if (json_object_get(bundle, "any_of"))
        return err_set(err, ST_INVALID, "bundle_label_selectors[%zu]: the "
                       "bundle has any_of; write the labels into each of its "
                       "alternatives", i);
    rest = json_copy(bundle);
    labels = json_object_get(bundle, "labels")
                 ? json_copy(json_object_get(bundle, "labels"))
                 : json_object();
    json_object_foreach(sel, key, v)
        json_object_set(labels, key, v);
    json_object_set_new(rest, "labels", labels);
    *ret = rest;
    return ST_OK;
}

static bool same_but_count(const json_t *a, const json_t *b)
{
    json_t *x = json_copy((json_t *)a), *y = json_copy((json_t *)b);
    bool same;

    json_object_del(x, "count");
    json_object_del(y, "count");
    same = json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

struct bundle_vec { struct fact_bundle *v; uint32_t n, cap; };

/* Appends to the canonical list, or adds to the count of its last entry. */
static void add_bundle(struct arena *arena, struct bundle_vec *out, json_t *canon,
                       struct fact_bundle b)
{
    json_t *now = codec_bundle_write(&b);
    json_t *last = json_array_size(canon)
                       ? json_array_get(canon, json_array_size(canon) - 1)
                       : NULL;

    if (last && out->v[out->n - 1].count < UINT32_MAX - b.count &&
        same_but_count(last, now)) {
        out->v[out->n - 1].count += b.count;
        json_decref(now);
        json_array_set_new(canon, json_array_size(canon) - 1,
                           codec_bundle_write(&out->v[out->n - 1]));
        return;
    }
    VEC_PUSH(arena, out, b);
    json_array_append_new(canon, now);
}

static enum status read_bundles(const json_t *body, struct arena *arena,
                                struct bundle_vec *out, json_t *canon,
                                struct err *err)
{
    const json_t *list = json_object_get(body, "bundles");
    const json_t *sel = json_object_get(body, "bundle_label_selectors");
    struct fact_bundle b;
    char where[40];

    if (sel && json_is_null(sel))
        sel = NULL;
    if (list && !json_is_array(list))
        return err_set(err, ST_INVALID, "bundles: must be a list such as "
                       "[{\"GPU\":1}], got %s", type_name(list));
    if (json_array_size(list) > BUNDLES_MAX)
        return err_set(err, ST_INVALID, "bundles: at most %d entries, got %zu; "
                       "write identical ones once, with a count", BUNDLES_MAX,
                       json_array_size(list));
    if (sel && (!json_is_array(sel) ||
                json_array_size(sel) != json_array_size(list)))
        return err_set(err, ST_INVALID, "bundle_label_selectors: must be a list "
                       "with one entry for each of bundles (%zu)",
                       json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *v;
        enum status s;

        snprintf(where, sizeof where, "bundles[%zu]", i);
        s = fold_labels(sel, i, json_array_get(list, i), &v, err);
        if (s != ST_OK)
            return s;
        s = codec_bundle_read(v, where, arena, &b, err);
        json_decref(v);
        if (s != ST_OK)
            return s;
        add_bundle(arena, out, canon, b);
    }
    return ST_OK;
}

static enum status read_cpus(const json_t *body, struct arena *arena,
                             struct bundle_vec *out, json_t *canon, struct err *err)
{
    const json_t *v = json_object_get(body, "num_cpus");
    struct fact_bundle b;
    enum status s;
    json_t *one;

    if (!v || json_is_null(v))
        return ST_OK;
    if (!json_is_number(v) || !(json_number_value(v) >= 0) ||
        json_number_value(v) > CPUS_MAX ||
        json_number_value(v) != floor(json_number_value(v)))
        return err_set(err, ST_INVALID, "num_cpus: must be a whole number "
                       "between 0 and %d%s%s", CPUS_MAX,
                       json_is_number(v) ? "" : ", got ",
                       json_is_number(v) ? "" : type_name(v));
    if (json_number_value(v) == 0)
        return ST_OK;
    one = json_pack("{s{si}sI}", "resources", "CPU", 1, "count",
                    (json_int_t)json_number_value(v));
    s = codec_bundle_read(one, "num_cpus", arena, &b, err);
    json_decref(one);
    if (s == ST_OK)
        add_bundle(arena, out, canon, b);
    return s;
}

static const char *write_canonical(json_t *bundles, enum strategy strategy,
                                   int32_t priority, struct arena *arena)
{
    json_t *o = json_pack("{sO}", "bundles", bundles);
    const char *body;
    char *text;

    if (strategy != STRATEGY_NONE)
        json_object_set_new(o, "strategy",
                            json_string(strategy_name(strategy)));
    if (priority != 0)
        json_object_set_new(o, "priority", json_integer(priority));
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (!text)
        abort();  /* out of memory, as in the arenas */
    body = arena_strdup(arena, text);
    free(text);
    return body;
}

static bool given(const json_t *body, const char *key)
{
    const json_t *v = json_object_get(body, key);

    return v && !json_is_null(v);
}

enum status request_read(const json_t *body, const char *default_owner,
                         int64_t now_ms, struct arena *arena,
                         struct request_in *ret, struct err *err)
{
    struct request_in r = {.demand = {.source = SOURCE_REQUEST, .id = "",
                                   .since_ms = now_ms}};
    struct bundle_vec out = {0};
    json_t *canon;
    enum status s;

    if ((s = check_keys(body, err)) != ST_OK ||
        (s = read_owner(body, default_owner, arena, &r.owner, err)) != ST_OK ||
        (s = read_ttl(body, &r.ttl_ms, err)) != ST_OK ||
        (s = read_strategy(body, &r.demand.strategy, err)) != ST_OK ||
        (s = read_priority(body, &r.demand.priority, err)) != ST_OK)
        return s;
    if (!given(body, "bundles") && !given(body, "num_cpus"))
        return err_set(err, ST_INVALID, "bundles: neither bundles nor num_cpus "
                       "is there; \"bundles\":[] clears the request of %s",
                       r.owner);
    canon = json_array();
    s = read_bundles(body, arena, &out, canon, err);
    if (s == ST_OK)
        s = read_cpus(body, arena, &out, canon, err);
    if (s == ST_OK) {
        r.body = write_canonical(canon, r.demand.strategy, r.demand.priority,
                                 arena);
        r.clear = out.n == 0;
        r.demand.owner = r.owner;
        r.demand.bundles = out.v;
        r.demand.n_bundles = out.n;
        *ret = r;
    }
    json_decref(canon);
    return s;
}
