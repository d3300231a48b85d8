/*
 * request.c - the body of a request_resources call.
 *
 * Ray's meaning (ray.autoscaler.sdk.request_resources): num_cpus adds that
 * many bundles of one CPU; the whole is a total that running work counts
 * towards.  Used by the API when it comes and by the journal when it comes
 * back, so that what was promised is what is kept.
 */
#include <stdio.h>
#include <string.h>

#include "../base/suggest.h"
#include "../model/amount.h"
#include "codec.h"

enum { CPUS_MAX = 10000000, BUNDLES_MAX = 100000, QUEUE_NAME_MAX = 63 };

static const char *const keys[] = {"owner",    "bundles",  "num_cpus", "ttl",
                                   "strategy", "priority", "queue"};

static enum status keys_check(const json_t *body, struct err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(body))
        return err_set(err, ST_INVALID,
                       "the body must be an object like "
                       "{\"bundles\":[{\"GPU\":1}]}");
    json_object_foreach((json_t *)body, key, value)
    {
        const char *near;
        size_t i, n = sizeof keys / sizeof *keys;
        for (i = 0; i < n && strcmp(key, keys[i]) != 0; i++)
            ;
        if (i < n)
            continue;
        near = suggest(key, keys, n);
        return err_set(err, ST_INVALID,
                       "%.64s: unknown key; %s%s%sallowed are owner, bundles, "
                       "num_cpus, ttl, strategy, priority, queue",
                       key, near ? "did you mean \"" : "", near ? near : "",
                       near ? "\"? " : "");
    }
    return ST_OK;
}

static enum status cpus_read(const json_t *v, struct arena *a,
                             struct snap_bundle *ret, struct err *err)
{
    struct qty *q = ARENA_NEW(a, struct qty);
    struct snap_alt *alt = ARENA_NEW(a, struct snap_alt);

    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > CPUS_MAX)
        return err_set(err, ST_INVALID,
                       "num_cpus: must be a whole number between 0 and %d",
                       CPUS_MAX);
    *q = (struct qty){"CPU", AMOUNT_ONE};
    alt->resources = (struct qtys){q, 1};
    *ret = (struct snap_bundle){
        .alts = alt, .n_alts = 1, .count = (uint32_t)json_integer_value(v)};
    return ST_OK;
}

static enum status strategy_bad(const json_t *v, struct err *err)
{
    const char *names[] = {strategy_name(STRATEGY_PACK),
                           strategy_name(STRATEGY_SPREAD),
                           strategy_name(STRATEGY_STRICT_PACK),
                           strategy_name(STRATEGY_STRICT_SPREAD)};
    const char *got = json_is_string(v) ? json_string_value(v) : "no text";
    const char *near = suggest(got, names, 4);

    return err_set(err, ST_INVALID,
                   "strategy: must be PACK, SPREAD, "
                   "STRICT_PACK or STRICT_SPREAD, got %.40s%s%s%s",
                   got, near ? "; did you mean \"" : "", near ? near : "",
                   near ? "\"?" : "");
}

enum status codec_request_read(const json_t *body, const char *owner,
                               int64_t since_ms, struct arena *a,
                               struct snap_demand *ret, struct err *err)
{
    const json_t *bundles, *cpus, *v;
    struct snap_bundle *out;
    struct snap_demand d = {
        .source = SOURCE_REQUEST, .id = "", .since_ms = since_ms};
    uint32_t n = 0;
    enum status s;

    if ((s = keys_check(body, err)) != ST_OK)
        return s;
    bundles = json_object_get(body, "bundles");
    cpus = json_object_get(body, "num_cpus");
    if (!bundles && !cpus)
        return err_set(err, ST_INVALID,
                       "bundles or num_cpus must be given "
                       "(bundles: [] clears the request)");
    if (bundles && !json_is_array(bundles))
        return err_set(err, ST_INVALID, "bundles: must be a list of bundles");
    if (json_array_size(bundles) > BUNDLES_MAX)
        return err_set(err, ST_INVALID,
                       "bundles: %zu entries, at most %d are allowed; use "
                       "{\"resources\":{...},\"count\":n} for identical ones",
                       json_array_size(bundles), BUNDLES_MAX);
    out = ARENA_ARRAY(a, struct snap_bundle, json_array_size(bundles) + 1);
    for (size_t i = 0; i < json_array_size(bundles); i++) {
        char where[32];
        snprintf(where, sizeof where, "bundles[%zu]", i);
        s = codec_bundle_read(json_array_get(bundles, i), where, a, &out[n++],
                              err);
        if (s != ST_OK)
            return s;
    }
    if (cpus) {
        if ((s = cpus_read(cpus, a, &out[n], err)) != ST_OK)
            return s;
        n += out[n].count > 0;
    }
    if ((v = json_object_get(body, "strategy")) &&
        (!json_is_string(v) ||
         !strategy_from_name(json_string_value(v), &d.strategy)))
        return strategy_bad(v, err);
    if ((v = json_object_get(body, "priority"))) {
        if (!json_is_integer(v) || json_integer_value(v) < -1000000 ||
            json_integer_value(v) > 1000000)
            return err_set(err, ST_INVALID,
                           "priority: must be a whole number "
                           "between -1000000 and 1000000");
        d.priority = (int32_t)json_integer_value(v);
    }
    d.queue = "";
    if ((v = json_object_get(body, "queue"))) {
        if (!json_is_string(v) || json_string_length(v) > QUEUE_NAME_MAX ||
            strlen(json_string_value(v)) != json_string_length(v))
            return err_set(err, ST_INVALID,
                           "queue: must be the name of a "
                           "queue, at most %d letters",
                           QUEUE_NAME_MAX);
        d.queue = arena_strdup(a, json_string_value(v));
    }
    d.owner = arena_strdup(a, owner);
    d.bundles = out;
    d.n_bundles = n;
    *ret = d;
    return ST_OK;
}
