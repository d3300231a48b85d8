/*
 * annotation.c - which launches were made, written beside their effect.
 *
 * `replicas` is a number and knows no request: raised twice it is raised twice.
 * So the patch that raises it also writes the request's id into an annotation
 * of the same object, and whoever repeats the launch finds it there.  Ids are
 * kept while they may be asked about; the daemon repeats a launch for minutes.
 */
#include <string.h>

#include "k8s.h"

#define KEEP_MS (3600 * INT64_C(1000))
#define KEEP_SOME 32  /* of the newest, however old */
#define KEEP_MOST 400 /* 100 bytes each, of 256 KiB in all */
#define CANCELLED_MOST 200

json_t *annotation_read(const json_t *raycluster)
{
    const json_t *notes = kit_json_at(raycluster, "metadata.annotations");
    const char *text = json_string_value(json_object_get(notes, ANNOTATION));
    json_t *annotation = text ? json_loads(text, 0, NULL) : NULL;
    /* What a person broke is begun anew: it is a note, not the truth. */
    if (!json_is_object(annotation)) {
        json_decref(annotation);
        annotation = json_object();
    }
    if (!json_is_object(json_object_get(annotation, "requests")))
        json_object_set_new(annotation, "requests", json_object());
    if (!json_is_array(json_object_get(annotation, "cancelled")))
        json_object_set_new(annotation, "cancelled", json_array());
    return annotation;
}

static json_t *entry(const json_t *annotation, const char *request)
{
    return json_object_get(json_object_get(annotation, "requests"), request);
}

bool annotation_known(const json_t *annotation, const char *request)
{
    return entry(annotation, request);
}

void annotation_add(json_t *annotation, const char *request, const char *group,
                    uint32_t units, int64_t now_ms)
{
    json_object_set_new(json_object_get(annotation, "requests"), request,
                        json_pack("{s:s, s:I, s:I, s:I}", "group", group,
                                  "asked", (json_int_t)units, "left",
                                  (json_int_t)units, "at", (json_int_t)now_ms));
}

int64_t annotation_left(const json_t *annotation, const char *request)
{
    int64_t n = kit_json_int(entry(annotation, request), "left", 0);
    return n > 0 && n <= MOST_REPLICAS ? n : 0;
}

void annotation_less(json_t *annotation, const char *request)
{
    int64_t left = annotation_left(annotation, request);
    if (left > 0)
        json_object_set_new(entry(annotation, request), "left",
                            json_integer(left - 1));
}

const char *annotation_group(const json_t *annotation, const char *request)
{
    return kit_json_text(entry(annotation, request), "group");
}

int64_t annotation_at(const json_t *annotation, const char *request)
{
    return kit_json_int(entry(annotation, request), "at", 0);
}

void annotation_cancel(json_t *annotation, const char *id)
{
    json_t *v = json_object_get(annotation, "cancelled");
    if (json_array_size(v) >= CANCELLED_MOST)
        json_array_remove(v, 0);
    json_array_append_new(v, json_string(id));
}

bool annotation_cancelled(const json_t *annotation, const char *id)
{
    size_t i;
    json_t *x;
    json_array_foreach(json_object_get(annotation, "cancelled"), i, x) {
        const char *s = json_string_value(x);
        if (s && strcmp(s, id) == 0)
            return true;
    }
    return false;
}

void annotation_prune(json_t *annotation, int64_t now_ms)
{
    json_t *requests = json_object_get(annotation, "requests"), *r;
    size_t n = json_object_size(requests);
    const char *id;
    void *next;
    /* As they were added: jansson keeps the order. */
    json_object_foreach_safe(requests, next, id, r)
    {
        int64_t age = now_ms - kit_json_int(r, "at", 0);
        if (n > KEEP_MOST || (n > KEEP_SOME && age > KEEP_MS)) {
            json_object_del(requests, id);
            n--;
        }
    }
}
