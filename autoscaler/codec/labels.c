/*
 * labels.c - the labels of a node or a node type, both ways.
 */
#include <string.h>

#include "../model/accel.h"
#include "codec.h"
#include "inside.h"

struct pair_vec {
    VEC(struct pair) all;
};

static bool pairs_read(struct reader *in, const struct path *at,
                       const json_t *v, struct pair_vec *to)
{
    const char *key;
    json_t *value;

    if (!reader_map(in, at, v, "{\"zone\": \"a\"}"))
        return false;
    json_object_foreach((json_t *)v, key, value) {
        struct pair p = {arena_strdup(in->arena, key), ""};
        const struct path *here = PATH_KEY(at, key);

        if (!key[0] || strlen(key) > READER_NAME_MAX)
            return reader_bad(in, here, "a label's key has 1 to %d bytes",
                              READER_NAME_MAX);
        if (!reader_text(in, here, value, true, &p.value))
            return false;
        VEC_PUSH(in->arena, &to->all, p);
    }
    return true;
}

/* Takes "accelerator_type:T4" out of the resources; the model, or NULL. */
static const char *marker_take(struct qtys *resources)
{
    struct qty *q = (struct qty *)resources->v; /* ours, just read */
    const char *least = NULL;
    uint32_t kept = 0;

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
    return least;
}

bool labels_read(struct reader *in, const struct path *at, const json_t *o,
                 struct qtys *resources, struct pairs *ret)
{
    const json_t *v = reader_value(o, "labels");
    struct pair_vec all = {{0}};
    const char *type = NULL, *marker;

    if ((v && !pairs_read(in, PATH_KEY(at, "labels"), v, &all)) ||
        !reader_get_text(in, at, o, "accelerator_type", &type))
        return false;
    marker = marker_take(resources);
    type = type && type[0] ? type : marker;
    for (uint32_t i = 0; i < all.all.n; i++)
        if (strcmp(all.all.v[i].key, ACCEL_LABEL) == 0)
            type = NULL;
    if (type) {
        struct pair p = {ACCEL_LABEL, accel_type_canonical(type)};

        VEC_PUSH(in->arena, &all.all, p);
    }
    *ret = (struct pairs){all.all.v, all.all.n};
    return true;
}

void labels_write(json_t *o, const struct pairs *p)
{
    json_t *labels;

    if (p->n == 0)
        return;
    labels = json_object();
    for (uint32_t i = 0; i < p->n; i++)
        json_object_set_new(labels, p->v[i].key, codec_text(p->v[i].value));
    json_object_set_new(o, "labels", labels);
}
