/*
 * v01.c - see v01.h.
 */
#include "v01.h"

#include <stdbool.h>
#include <string.h>

#include "../model/reason.h"

#define COUNT(v) (sizeof(v) / sizeof *(v))

/* The path of an object: keys with points between them, "*" for each entry of
 * a list.  A list that is renamed itself comes before what is in it.  now is
 * NULL where a key means nothing any more. */
static const struct {
    const char *in, *old, *now;
} keys[] = {
    {"", "head_fresh", "sources_fresh"},
    {"", "advice", "proposed"},
    {"", "deciding", NULL},
    {"proposed.*", "holds", "previous"},
    {"nodes.*", "undecided", NULL},
    {"nodes.*", "foreign", "unmanaged"},
    {"nodes.*", "unit", "host_group"},
    {"nodes.*", "holds", "previous"},
    {"node_types.*.offers.*", "set_aside_until_ms", "backoff_until_ms"},
    {"node_types.*.offers.*", "set_aside_for", "backoff_for"},
    {"plan.launches.*", "holds", "placements"},
    {"plan.nodes.*", "holds", "placements"},
    {"plan.launches.*", "sure", NULL},
    {"plan.launches.*", "open", NULL},
};

static const struct {
    const char *old, *now;
} reasons[] = {
    {"set_aside", "backoff"},
    {"foreign", "unmanaged"},
    {"unit_incomplete", "host_group_incomplete"},
    {"needed_by_unit", "needed_by_host_group"},
    {"deciding", "improving"},
};

const char *codec_v01_key(const char *key)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        if (keys[i].now && strcmp(keys[i].old, key) == 0)
            return keys[i].now;
    return key;
}

const char *codec_v01_reason(const char *code)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (strcmp(reasons[i].old, code) == 0)
            return reasons[i].now;
    return code;
}

/* All that 0.1 reads in a machine's row, each between blanks. */
static const struct {
    const char *known, *otherwise;
} written[] = {
    [V01_STATE] = {" intended requested starting ready draining stopping ",
                   "ready"},
    [V01_REASON] =
        {" none lacks_resource label_mismatch max_of_type max_nodes "
         "over_budget set_aside provider_down type_disabled "
         "conserve_accelerators gang_incomplete spread_conflict "
         "whole_devices_only launch_limit deciding taint_not_tolerated "
         "not_in_queue queue_full queue_denied alternative_waits min_of_type "
         "request pending_task pending_gang pending_pod spare consolidation "
         "idle over_max_of_type over_max_nodes outdated not_needed failed "
         "consolidated over_budget_end unit_incomplete head busy starting "
         "idle_wait min_kept needed_by_request needed_by_demand stale_view "
         "drain_refused draining stopping foreign protected removal_breaker "
         "needed_by_unit ",
         "none"},
    [V01_ERROR] = {" OK RETRY THROTTLED STOCKOUT QUOTA AUTH INVALID NOT_FOUND "
                   "CANCELLED UNSUPPORTED BROKEN ",
                   "BROKEN"},
};

static bool is_known(enum v01_words of, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = written[of].known; n && (p = strstr(p, word)); p++)
        if (p[-1] == ' ' && p[n] == ' ')
            return true;
    return false;
}

const char *codec_v01_written(enum v01_words of, const char *word)
{
    if (is_known(of, word))
        return word;
    for (size_t i = 0; of == V01_REASON && i < COUNT(reasons); i++)
        if (strcmp(reasons[i].now, word) == 0)
            return reasons[i].old;
    return written[of].otherwise;
}

typedef void change_fn(json_t *object, const char *old, const char *now);

/* Calls fn for each object at this place below v. */
static void each(json_t *v, const char *place, change_fn *fn, const char *old,
                 const char *now)
{
    size_t n = strcspn(place, "."), i;
    const char *rest = place[n] ? place + n + 1 : "";
    char key[32];
    json_t *e;

    if (n == 0 && json_is_object(v))
        fn(v, old, now);
    else if (n == 1 && place[0] == '*')
        json_array_foreach(v, i, e)
            each(e, rest, fn, old, now);
    else if (n > 0 && n < sizeof key) {
        memcpy(key, place, n);
        key[n] = '\0';
        each(json_object_get(v, key), rest, fn, old, now);
    }
}

static void key_rename(json_t *o, const char *old, const char *now)
{
    json_t *v = json_object_get(o, old);

    if (!v || (now && json_object_get(o, now)))
        return;
    if (now)
        json_object_set(o, now, v);
    json_object_del(o, old);
}

static void reason_rename(json_t *o, const char *key, const char *unused)
{
    const char *code = json_string_value(json_object_get(o, key));

    (void)unused;
    if (code && codec_v01_reason(code) != code)
        json_object_set_new(o, key, json_string(codec_v01_reason(code)));
}

/* A reason without details of its own gets today's text. */
static void refusal_update(json_t *o, const char *key, const char *unused)
{
    const char *code;

    reason_rename(o, key, unused);
    code = json_string_value(json_object_get(o, key));
    if (code && json_object_get(o, "text") && !json_object_get(o, "resource") &&
        !json_object_get(o, "label") && !json_object_get(o, "taint") &&
        !json_object_get(o, "queue"))
        json_object_set_new(o, "text",
                            json_string(reason_text(reason_from_code(code))));
}

void codec_v01_update(json_t *root)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        each(root, keys[i].in, key_rename, keys[i].old, keys[i].now);
    each(root, "nodes.*", reason_rename, "hold", NULL);
    each(root, "plan.nodes.*", reason_rename, "why", NULL);
    each(root, "plan.bundles.*.refusals.*", refusal_update, "why", NULL);
}
