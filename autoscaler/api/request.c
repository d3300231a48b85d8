/*
 * request.c - see request.h.
 *
 * The codec reads bundles, num_cpus, strategy and priority; the owner, how long
 * it is for, and Ray's label selectors are the API's own.
 */
#include "request.h"

#include <string.h>

#include "../codec/codec.h"
#include "door/access.h"

#define OWNER_MAX 128
#define TTL_MAX_MS (INT64_C(10) * 365 * 86400 * 1000)

bool owner_valid(const char *owner)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789._:@-";
    size_t n = strlen(owner);

    return n >= 1 && n <= OWNER_MAX && strspn(owner, letters) == n;
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
        return err_set(
            err, ST_INVALID,
            "owner: must be 1 to 128 of the letters A-Z a-z 0-9 . _ : @ -, got "
            "\"%.140s\"",
            owner);
    if (owner_of_source(owner))
        return err_set(err, ST_INVALID, "owner: %s; choose another name",
                       owner_of_source(owner));
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
            return err_set(
                err, ST_INVALID,
                "ttl: must be a duration such as \"30m\", \"2h\" or 90 "
                "(seconds), more than 0, got \"%.40s\"",
                json_string_value(v));
    } else if (json_is_number(v)) {
        d = json_number_value(v) * 1000.0;
        if (!(d >= 1.0) || d > (double)TTL_MAX_MS)
            return err_set(
                err, ST_INVALID,
                "ttl: must be more than 0 seconds and at most 10 years, got %g",
                json_number_value(v));
        *ret = (int64_t)d;
    } else {
        return err_set(
            err, ST_INVALID,
            "ttl: must be a duration such as \"30m\" or a number of seconds, "
            "got %s",
            type_name(v));
    }
    if (*ret > TTL_MAX_MS)
        return err_set(err, ST_INVALID, "ttl: must be at most 10 years");
    return ST_OK;
}

/* Ray's bundle_label_selectors: one object for each bundle, folded into its
 * labels.  A short bundle becomes a long one on the way. */
static enum status fold_labels(const json_t *selectors, size_t i,
                               json_t *bundle, json_t **ret, struct err *err)
{
    json_t *sel = json_array_get(selectors, i), *labels, *v, *rest;
    const char *key;

    if (!json_is_object(sel) && !json_is_null(sel))
        return err_set(
            err, ST_INVALID,
            "bundle_label_selectors[%zu]: must be an object of labels, got %s",
            i, type_name(sel));
    if (json_object_size(sel) == 0 || !json_is_object(bundle)) {
        *ret = json_incref(bundle);
        return ST_OK;
    }
    if (json_object_get(bundle, "any_of"))
        return err_set(
            err, ST_INVALID,
            "bundle_label_selectors[%zu]: the bundle has any_of; write the "
            "labels into each of its alternatives",
            i);
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

/* The body as the codec knows it: without what is read here, without nulls
 * (Python's None), with the selectors folded in. */
static enum status for_codec(const json_t *body, json_t **ret, struct err *err)
{
    json_t *sel = json_object_get(body, "bundle_label_selectors");
    json_t *rest = json_object(), *list, *v = NULL;
    const char *key;
    size_t n;

    json_object_foreach((json_t *)body, key, v)
        if (!json_is_null(v) && strcmp(key, "bundle_label_selectors") != 0 &&
            (strcmp(key, "strategy") != 0 || !json_is_string(v) ||
             json_string_length(v) > 0))
            json_object_set(rest, key, v);
    *ret = rest;
    list = json_object_get(rest, "bundles");
    if (!sel || json_is_null(sel) || (list && !json_is_array(list)))
        return ST_OK;
    n = json_array_size(list);
    if (!json_is_array(sel) || json_array_size(sel) != n)
        return err_set(
            err, ST_INVALID,
            "bundle_label_selectors: must be a list with one entry for each of "
            "bundles (%zu)",
            n);
    list = json_array();
    for (size_t i = 0; i < n; i++) {
        enum status s = fold_labels(
            sel, i, json_array_get(json_object_get(rest, "bundles"), i), &v,
            err);

        if (s != ST_OK) {
            json_decref(list);
            return s;
        }
        json_array_append_new(list, v);
    }
    json_object_set_new(rest, "bundles", list);
    return ST_OK;
}

enum status request_read(const json_t *body, const char *default_owner,
                         int64_t now_ms, struct arena *arena,
                         struct request_in *ret, struct err *err)
{
    struct request_in r = {.owner = ""};
    json_t *rest = NULL;
    enum status s;

    *ret = r;
    if (!json_is_object(body))
        return err_set(
            err, ST_INVALID,
            "body: must be an object such as {\"bundles\":[{\"GPU\":1}]}, got "
            "%s",
            type_name(body));
    if ((s = read_owner(body, default_owner, arena, &r.owner, err)) != ST_OK)
        return s;
    ret->owner = r.owner;
    if ((s = read_ttl(body, &r.ttl_ms, err)) != ST_OK)
        return s;
    s = for_codec(body, &rest, err);
    if (s == ST_OK)
        s = codec_request_read(rest, r.owner, now_ms, arena, &r.demand, err);
    json_decref(rest);
    if (s != ST_OK)
        return s;
    r.body = codec_request_write(&r.demand, arena);
    r.clear = r.demand.n_bundles == 0;
    *ret = r;
    return ST_OK;
}
