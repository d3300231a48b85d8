/*
 * whatif_set.c - one changed value in a snapshot; see whatif.h.
 *
 * The value is JSON when it parses as JSON, else text ("5m", "50Gi");
 * "unlimited", "none" and "never" become null.  The codec, which reads the whole
 * snapshot again, decides whether the value is valid.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../codec/v01.h"
#include "whatif.h"

enum { NAMES_MAX = 256, DEPTH_MAX = 16 };

/* Names that configuration and snapshot spell differently. */
static const struct {
    const char *user, *ours;
} spellings[] = {
    {"idle_timeout", "idle_timeout_s"},
    {"boot", "boot_s"},
    {"older_than", "older_than_s"},
    {"conserve_accelerators", "conserve"},
    {"since", "since_ms"},
    {"idle", "idle_ms"},
};

/* What an object of the file may have although it is left out there: the
 * codec knows, and says so; here only names that may be made on the way. */
static const char *const made[] = {"resources", "labels",      "total",
                                   "available", "consolidate", "quota"};

static json_t *value_of(const char *text)
{
    static const char *const nulls[] = {"unlimited", "none", "never"};
    json_t *v;

    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(text, nulls[i]) == 0)
            return json_null();
    v = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return v ? v : json_string(text);
}

/* Does the path go on with this name (whole, before a point or the end)? */
static bool goes_on(const char *path, const char *name, size_t *ret)
{
    size_t n = strlen(name);

    if (n <= *ret || strncmp(path, name, n) != 0 || (path[n] && path[n] != '.'))
        return false;
    *ret = n;
    return true;
}

static const char *name_of(const json_t *entry)
{
    static const char *const keys[] = {"name", "id", "zone", "owner"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *s = json_string_value(json_object_get(entry, keys[i]));
        if (s && *s)
            return s;
    }
    return "";
}

/* The entry a list's next name stands for; the longest name wins. */
static json_t *entry_find(json_t *list, const char *path, size_t *ret_n)
{
    json_t *found = NULL, *e;
    size_t i, digits = strspn(path, "0123456789");

    *ret_n = 0;
    json_array_foreach(list, i, e)
        if (goes_on(path, name_of(e), ret_n))
            found = e;
    if (!found && digits > 0 && (!path[digits] || path[digits] == '.')) {
        found = json_array_get(list, strtoul(path, NULL, 10));
        *ret_n = digits;
    }
    return found;
}

static const char *ours(const char *key)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcmp(spellings[i].user, key) == 0)
            return spellings[i].ours;
    return codec_v01_key(key);
}

static enum status not_there(const json_t *in, const char *all,
                             const char *rest, struct err *err)
{
    const char *names[NAMES_MAX], *near, *key;
    char word[64];
    size_t n = 0, i;
    json_t *e;

    if (json_is_array(in))
        json_array_foreach((json_t *)in, i, e)
            if (n < NAMES_MAX && *name_of(e))
                names[n++] = name_of(e);
    if (json_is_object(in))
        json_object_foreach((json_t *)in, key, e)
            if (n < NAMES_MAX)
                names[n++] = key;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(rest, "."), rest);
    near = suggest(word, names, n);
    if (json_is_array(in) || json_is_object(in))
        return err_set(err, ST_INVALID,
                       "--set %.200s: there is no \"%s\" here%s%s%s", all, word,
                       near ? "; did you mean \"" : "", near ? near : "",
                       near ? "\"?" : "");
    return err_set(err, ST_INVALID,
                   "--set %.200s: nothing lies below a single value, at \"%s\"",
                   all, word);
}

/* Price and the like of a type are its offers'. */
static bool of_offers(json_t *type, const char *key, json_t *value)
{
    json_t *offers = json_object_get(type, "offers"), *e;
    size_t i;

    if (!json_is_array(offers) ||
        (strcmp(key, "price") != 0 && strcmp(key, "room") != 0 &&
         strcmp(key, "backoff_until_ms") != 0 &&
         strcmp(key, "backoff_for") != 0))
        return false;
    json_array_foreach(offers, i, e)
        json_object_set(e, key, value);
    return true;
}

/* Resource names and label keys may have points: the rest is one name. */
static bool is_free(const char *key)
{
    return strcmp(key, "resources") == 0 || strcmp(key, "labels") == 0 ||
           strcmp(key, "total") == 0 || strcmp(key, "available") == 0;
}

static enum status put(json_t *at, const char *parent, const char *path,
                       json_t *value, const char *all, struct arena *a,
                       struct err *err)
{
    json_t *next, *e;
    const char *key, *name;
    size_t n = 0, i;

    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        if (json_is_array(at)) {
            next = entry_find(at, path, &n);
            if (!next)
                return not_there(at, all, path, err);
            if (!path[n]) { /* a whole entry: replaced */
                json_array_foreach(at, i, e)
                    if (e == next)
                        json_array_set(at, i, value);
                return ST_OK;
            }
            parent = "";
        } else if (json_is_object(at)) {
            if (is_free(parent)) {
                json_object_set(at, path, value);
                return ST_OK;
            }
            n = 0;
            next = NULL;
            json_object_foreach(at, key, e)
                if (goes_on(path, key, &n))
                    next = e;
            n = n ? n : strcspn(path, ".");
            name = ours(arena_strndup(a, path, n));
            if (!path[n]) {
                if (!of_offers(at, name, value))
                    json_object_set(at, name, value);
                return ST_OK;
            }
            for (i = 0; !next && i < sizeof made / sizeof *made; i++)
                if (strcmp(made[i], name) == 0) {
                    next = json_object();
                    json_object_set_new(at, name, next);
                }
            if (!next)
                return not_there(at, all, path, err);
            parent = name;
        } else {
            return not_there(at, all, path, err);
        }
        at = next;
        path += n + 1;
        if (!*path)
            return not_there(at, all, path, err);
    }
    return err_set(err, ST_INVALID, "--set %.200s: too deep", all);
}

enum status whatif_set(json_t *snapshot, const char *text, struct arena *a,
                       struct err *err)
{
    const char *equal = strchr(text, '='), *path;
    json_t *value;
    enum status s;

    if (!equal || equal == text)
        return err_set(
            err, ST_INVALID,
            "--set %.200s: must be PATH=VALUE such as limits.idle_timeout=5m "
            "or node_types.t4.price=0.2",
            text);
    path = arena_strndup(a, text, (size_t)(equal - text));
    if (strcmp(path, "max_nodes") == 0)
        path = "limits.max_nodes";
    value = value_of(equal + 1);
    s = put(snapshot, "", path, value, path, a, err);
    json_decref(value);
    return s;
}
