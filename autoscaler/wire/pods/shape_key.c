/*
 * shape_key.c - what identifies a shape: all that shape.c reads, as text.  See
 * inside.h.
 */
#include "inside.h"

#include <stdlib.h>

#include "../../base/buf.h"

#define KEY_MAX ((size_t)PODS_SELF_MAX)

static void add_json(struct buf *b, const char *name, const json_t *v)
{
    char *text;

    if (!v || json_is_null(v))
        return;
    text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    if (text) {
        buf_printf(b, "%s=", name);
        buf_str(b, text);
        buf_str(b, ";");
    }
    free(text);
}

static void add_containers(struct buf *b, const json_t *spec, const char *list)
{
    bool of_host = json_is_true(json_object_get(spec, "hostNetwork"));
    const json_t *v = json_object_get(spec, list), *ports;
    size_t n = json_array_size(v);

    for (size_t i = 0; i < n && i < PODS_MAX_LIST; i++) {
        const json_t *c = json_array_get(v, i);
        ports = json_object_get(c, "ports");
        buf_str(b, list[0] == 'i' ? "i" : "c");
        add_json(b, "r", json_object_get(c, "resources"));
        add_json(b, "p", json_object_get(c, "restartPolicy"));
        for (size_t k = 0; k < json_array_size(ports); k++)
            if (of_host || json_integer_value(json_object_get(
                               json_array_get(ports, k), "hostPort")))
                add_json(b, "h", json_array_get(ports, k));
    }
}

void pods_shape_key_self(struct buf *b, const json_t *metadata)
{
    add_json(b, "space", json_object_get(metadata, "namespace"));
    add_json(b, "labels", json_object_get(metadata, "labels"));
}

char *pods_shape_key(const json_t *metadata, const json_t *spec)
{
    static const char *const parts[] = {
        "nodeSelector",
        "tolerations",
        "overhead",
        "resources",
        "topologySpreadConstraints",
        "resourceClaims",
    };
    const json_t *affinity = json_object_get(spec, "affinity");
    const char *ray = pods_ray_command(metadata, spec);
    static const char *const others[] = {"podAffinity", "podAntiAffinity"};
    struct buf b;
    bool others_matter;

    buf_init(&b, KEY_MAX);
    add_containers(&b, spec, "initContainers");
    add_containers(&b, spec, "containers");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        add_json(&b, parts[i], json_object_get(spec, parts[i]));
    add_json(&b, "node",
             pods_at(affinity, "nodeAffinity",
                     "requiredDuringSchedulingIgnoredDuringExecution", NULL));
    if (ray) {
        buf_str(&b, "ray=");
        buf_str(&b, ray);
        buf_str(&b, ";");
    }
    others_matter = json_object_get(spec, "topologySpreadConstraints");
    for (size_t i = 0; i < 2; i++) {
        const json_t *v = pods_at(
            affinity, others[i],
            "requiredDuringSchedulingIgnoredDuringExecution", NULL);
        add_json(&b, others[i], v);
        others_matter = others_matter || v;
    }
    if (others_matter)
        pods_shape_key_self(&b, metadata);
    return buf_take(&b);
}
