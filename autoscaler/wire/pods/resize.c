/*
 * resize.c - pods that are resized in place.  See inside.h.
 *
 * A container holds the largest of what it asks for, what the kubelet has given
 * it and what it has now (KEP-1287), so does the scheduler count it.
 */
#include "inside.h"

#include <string.h>

static json_t *container_named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++)
        if (strcmp(pods_text(json_array_get(list, i), "name", NULL), name) == 0)
            return json_array_get(list, i);
    return NULL;
}

static bool is_more(const json_t *container, const char *name, const json_t *v)
{
    const json_t *own = pods_at(container, "resources", "requests", name, NULL);
    int64_t asked = 0, held;

    if (!own)
        own = pods_at(container, "resources", "limits", name, NULL);
    if (own && !pods_quantity(own, true, &asked))
        return false;
    return pods_quantity(v, true, &held) && held > asked;
}

static void request_set(json_t *container, const char *name, json_t *v)
{
    json_t *r = json_object_get(container, "resources"), *requests;

    if (!json_is_object(r)) {
        r = json_object();
        json_object_set_new(container, "resources", r);
    }
    requests = json_object_get(r, "requests");
    if (!json_is_object(requests)) {
        requests = json_object();
        json_object_set_new(r, "requests", requests);
    }
    json_object_set(requests, name, v);
}

/* Raises what the container asks for to what is held; *ret is a copy of the spec,
 * made when it is needed. */
static void raise_to(const json_t *spec, const char *list, const char *name,
                     const json_t *held, json_t **ret)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)held, key, v) {
        const json_t *now = *ret ? *ret : spec;
        const json_t *c = container_named(json_object_get(now, list), name);

        if (!c || !is_more(c, key, v))
            continue;
        if (!*ret)
            *ret = json_deep_copy(spec);
        request_set(container_named(json_object_get(*ret, list), name), key, v);
    }
}

json_t *pods_resized(const json_t *spec, const json_t *status)
{
    static const struct {
        const char *of, *list;
    } kinds[] = {
        {"containerStatuses", "containers"},
        {"initContainerStatuses", "initContainers"},
    };
    json_t *ret = NULL;

    for (size_t k = 0; k < 2; k++) {
        const json_t *all = json_object_get(status, kinds[k].of);

        for (size_t i = 0; i < json_array_size(all) && i < PODS_MAX_LIST; i++) {
            const json_t *s = json_array_get(all, i);
            const char *name = pods_text(s, "name", NULL);

            /* an init container that is over holds nothing */
            if (k == 1 &&
                !json_object_get(pods_at(s, "state", NULL), "running"))
                continue;
            raise_to(spec, kinds[k].list, name,
                     json_object_get(s, "allocatedResources"), &ret);
            raise_to(spec, kinds[k].list, name,
                     pods_at(s, "resources", "requests", NULL), &ret);
        }
    }
    return ret;
}
