/*
 * request.c - the body of a request_resources call.
 *
 * Ray's meaning (ray.autoscaler.sdk.request_resources): num_cpus adds that
 * many bundles of one CPU; the whole is a total that running work counts
 * towards.  Read when it comes through the API, written for the journal, and
 * read again only when a daemon starts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/suggest.h"
#include "../model/amount.h"
#include "../model/bundle.h"
#include "codec.h"

enum { CPUS_MAX = 10000000, BUNDLES_MAX = 100000, QUEUE_NAME_MAX = 63 };

static const char *const keys[] = {"owner",    "bundles",  "num_cpus", "ttl",
                                   "strategy", "priority", "queue"};
/* Ray's, which the API folds into bundles before this; it may be misspelt. */
static const char *const meant[] = {
    "owner",    "bundles",  "num_cpus", "ttl",
    "strategy", "priority", "queue",    "bundle_label_selectors"};

static enum status keys_check(const json_t *body, struct err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(body))
        return err_set(err, ST_INVALID,
                       "the body must be an object like "
                       "{\"bundles\":[{\"GPU\":1}]}");
    json_object_foreach((json_t *)body, key, value) {
        const char *near;
        size_t i, n = sizeof keys / sizeof *keys;
        for (i = 0; i < n && strcmp(key, keys[i]) != 0; i++)
            ;
        if (i < n)
            continue;
        near = suggest(key, meant, sizeof meant / sizeof *meant);
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
                   "strategy: must be PACK, SPREAD, STRICT_PACK or "
                   "STRICT_SPREAD, got %.40s%s%s%s",
                   got, near ? "; did you mean \"" : "", near ? near : "",
                   near ? "\"?" : "");
}

/* Neighbours that are equal become one with a count: Ray's users write
 * [{"GPU":1}] * 1000.  How many are left. */
static uint32_t neighbours_merge(struct snap_bundle *v, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (kept > 0 && v[kept - 1].count < UINT32_MAX - v[i].count &&
            bundle_equal(&v[kept - 1], &v[i]))
            v[kept - 1].count += v[i].count;
        else
            v[kept++] = v[i];
    return kept;
}

static enum status bundles_read(const json_t *bundles, const json_t *cpus,
                                struct arena *a, struct snap_demand *d,
                                struct err *err)
{
    size_t n = json_array_size(bundles);
    struct snap_bundle *v;
    enum status s;

    if (!bundles && !cpus)
        return err_set(err, ST_INVALID,
                       "bundles or num_cpus must be given (bundles: [] clears "
                       "the request)");
    if (bundles && !json_is_array(bundles))
        return err_set(err, ST_INVALID, "bundles: must be a list of bundles");
    if (n > BUNDLES_MAX)
        return err_set(err, ST_INVALID,
                       "bundles: %zu entries, at most %d are allowed; use "
                       "{\"resources\":{...},\"count\":n} for identical ones",
                       n, BUNDLES_MAX);
    v = ARENA_ARRAY(a, struct snap_bundle, n + 1);
    for (size_t i = 0; i < n; i++) {
        char where[32];

        snprintf(where, sizeof where, "bundles[%zu]", i);
        s = codec_bundle_read(json_array_get(bundles, i), where, a, &v[i], err);
        if (s != ST_OK)
            return s;
    }
    if (cpus) {
        if ((s = cpus_read(cpus, a, &v[n], err)) != ST_OK)
            return s;
        n += v[n].count > 0;
    }
    d->bundles = v;
    d->n_bundles = neighbours_merge(v, (uint32_t)n);
    return ST_OK;
}

static enum status priority_read(const json_t *v, int32_t *ret, struct err *err)
{
    if (!json_is_integer(v) || json_integer_value(v) < -1000000 ||
        json_integer_value(v) > 1000000)
        return err_set(err, ST_INVALID,
                       "priority: must be a whole number between -1000000 and "
                       "1000000");
    *ret = (int32_t)json_integer_value(v);
    return ST_OK;
}

static enum status queue_read(const json_t *v, struct arena *a,
                              const char **ret, struct err *err)
{
    if (!json_is_string(v) || json_string_length(v) > QUEUE_NAME_MAX ||
        strlen(json_string_value(v)) != json_string_length(v))
        return err_set(err, ST_INVALID,
                       "queue: must be the name of a queue, at most %d letters",
                       QUEUE_NAME_MAX);
    *ret = arena_strdup(a, json_string_value(v));
    return ST_OK;
}

enum status codec_request_read(const json_t *body, const char *owner,
                               int64_t since_ms, struct arena *a,
                               struct snap_demand *ret, struct err *err)
{
    struct snap_demand d = {
        .source = SOURCE_REQUEST, .id = "", .queue = "", .since_ms = since_ms};
    const json_t *v;
    enum status s;

    if ((s = keys_check(body, err)) != ST_OK ||
        (s = bundles_read(json_object_get(body, "bundles"),
                          json_object_get(body, "num_cpus"), a, &d, err)) !=
            ST_OK)
        return s;
    if ((v = json_object_get(body, "strategy")) &&
        (!json_is_string(v) ||
         !strategy_from_name(json_string_value(v), &d.strategy)))
        return strategy_bad(v, err);
    if ((v = json_object_get(body, "priority")) &&
        (s = priority_read(v, &d.priority, err)) != ST_OK)
        return s;
    if ((v = json_object_get(body, "queue")) &&
        (s = queue_read(v, a, &d.queue, err)) != ST_OK)
        return s;
    d.owner = arena_strdup(a, owner);
    *ret = d;
    return ST_OK;
}

const char *codec_request_write(const struct snap_demand *d, struct arena *a)
{
    json_t *o = json_object(), *bundles = json_array();
    const char *body;
    char *text;

    for (uint32_t i = 0; i < d->n_bundles; i++)
        json_array_append_new(bundles, codec_bundle_write(&d->bundles[i]));
    json_object_set_new(o, "bundles", bundles);
    if (d->strategy != STRATEGY_NONE)
        json_object_set_new(o, "strategy",
                            json_string(strategy_name(d->strategy)));
    if (d->priority != 0)
        json_object_set_new(o, "priority", json_integer(d->priority));
    if (d->queue[0])
        json_object_set_new(o, "queue", json_string(d->queue));
    text = mem_must(json_dumps(o, JSON_COMPACT));
    json_decref(o);
    body = arena_strdup(a, text);
    free(text);
    return body;
}
