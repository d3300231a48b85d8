/*
 * codec_previous.c - what nodes hold by the last plan, and proposed nodes, as
 * JSON.
 *
 * A shape is a digest of 64 bits, written as 16 hex digits: it is compared,
 * never looked into.  A plan's own "holds" have the same keys among theirs, so
 * that one can be made from the other.
 */
#include <stdio.h>
#include <string.h>

#include "codec.h"
#include "codec_bundle.h"

#define COUNT(v) (sizeof(v) / sizeof *(v))

enum { SHAPE_DIGITS = 16 };

static const char *source_word(size_t i)
{
    return source_name((enum demand_source)i);
}

static bool shape_read(struct jin *in, const struct jpath *at, const json_t *o,
                       uint64_t *ret)
{
    const char *text = "";
    uint64_t shape = 0;
    size_t n = 0;

    if (!jin_get_text(in, at, o, "shape", &text))
        return false;
    for (; text[n] && n < SHAPE_DIGITS; n++) {
        const char *digits = "0123456789abcdef";
        const char *at_digit = strchr(digits, text[n]);

        if (!at_digit)
            break;
        shape = shape << 4 | (uint64_t)(at_digit - digits);
    }
    if (n != SHAPE_DIGITS || text[n])
        return jin_bad(in, JPATH_KEY(at, "shape"), "must be the %d hex digits "
                       "that a plan gives", SHAPE_DIGITS);
    *ret = shape;
    return true;
}

static bool hold_read(struct jin *in, const struct jpath *at, const json_t *v,
                      struct snap_placement *h)
{
    static const char *const keys[] = {"source", "owner", "id", "shape",
                                       "alternative", "count"};

    *h = (struct snap_placement){.source = SOURCE_TASK, .owner = "ray", .id = ""};
    if (!jin_object(in, at, v, keys, COUNT(keys)) ||
        !jin_get_text(in, at, v, "owner", &h->owner) ||
        !jin_get_text(in, at, v, "id", &h->id) ||
        !shape_read(in, at, v, &h->shape) ||
        !jin_get_count(in, at, v, "alternative", 0, COUNT_MAX, 0, &h->alt) ||
        !jin_get_count(in, at, v, "count", 1, COUNT_MAX, 1, &h->count))
        return false;
    if (h->count == 0)
        h->count = 1;
    JIN_WORD(in, at, v, "source", source_word, SOURCE_SPARE + 1,
             enum demand_source, h->source);
    return true;
}

static bool list_read(struct jin *in, const struct jpath *at,
                      const json_t *list, struct snap_placements *ret)
{
    struct snap_placement *v;
    size_t i;
    json_t *e;

    if (!jin_list(in, at, list, JIN_ITEMS_MAX))
        return false;
    v = ARENA_ARRAY(in->arena, struct snap_placement, json_array_size(list));
    json_array_foreach(list, i, e)
    {
        if (!hold_read(in, JPATH_AT(at, i), e, &v[i]))
            return false;
    }
    *ret = (struct snap_placements){v, (uint32_t)json_array_size(list)};
    return true;
}

bool previous_read(struct jin *in, const struct jpath *at, const json_t *o,
                const char *key, struct snap_placements *ret)
{
    const json_t *list = json_object_get(o, key);

    return !list || json_is_null(list) ||
           list_read(in, JPATH_KEY(at, key), list, ret);
}

enum status codec_previous_read(const json_t *list, struct arena *arena,
                             struct snap_placements *ret, struct err *err)
{
    struct jin in = {arena, err};

    return list_read(&in, NULL, list, ret) ? ST_OK : ST_INVALID;
}

json_t *codec_previous_write(const struct snap_placements *previous)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < previous->n; i++) {
        const struct snap_placement *h = &previous->v[i];
        json_t *o = json_object();
        char shape[SHAPE_DIGITS + 1];

        snprintf(shape, sizeof shape, "%016llx", (unsigned long long)h->shape);
        if (h->source != SOURCE_TASK)
            json_object_set_new(o, "source",
                                json_string(source_name(h->source)));
        if (strcmp(h->owner, "ray") != 0)
            json_object_set_new(o, "owner", jin_word(h->owner));
        if (h->id[0])
            json_object_set_new(o, "id", jin_word(h->id));
        json_object_set_new(o, "shape", json_string(shape));
        if (h->alt > 0)
            json_object_set_new(o, "alternative", json_integer(h->alt));
        if (h->count > 1)
            json_object_set_new(o, "count", json_integer(h->count));
        json_array_append_new(a, o);
    }
    return a;
}

/* ---- proposed nodes */

bool proposed_read(struct jin *in, const json_t *root, struct snapshot *f)
{
    static const char *const keys[] = {"type", "zone", "spot", "count",
                                       "holds"};
    const char *key = json_object_get(root, "advice") ? "advice"  /* of old */
                                                      : "proposed";
    const json_t *list = json_object_get(root, key);
    const struct jpath *at = JPATH_KEY(NULL, key);
    struct snap_proposal *v;
    size_t i;
    json_t *e;

    if (!list || json_is_null(list))
        return true;
    if (!jin_list(in, at, list, JIN_ITEMS_MAX))
        return false;
    v = ARENA_ARRAY(in->arena, struct snap_proposal, json_array_size(list));
    json_array_foreach(list, i, e)
    {
        const struct jpath *here = JPATH_AT(at, i);

        v[i] = (struct snap_proposal){.type = "", .zone = ""};
        if (!jin_object(in, here, e, keys, COUNT(keys)) ||
            !jin_get_text(in, here, e, "type", &v[i].type) ||
            !jin_get_text(in, here, e, "zone", &v[i].zone) ||
            !jin_get_bool(in, here, e, "spot", &v[i].spot) ||
            !jin_get_count(in, here, e, "count", 1, COUNT_MAX, 1,
                           &v[i].count) ||
            !previous_read(in, here, e, "holds", &v[i].previous))
            return false;
        if (v[i].count == 0)
            v[i].count = 1;
    }
    f->proposed = v;
    f->n_proposed = (uint32_t)json_array_size(list);
    return true;
}

json_t *proposed_write(const struct snap_proposal *v, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < n; i++) {
        json_t *o = json_object();

        json_object_set_new(o, "type", jin_word(v[i].type));
        if (v[i].zone[0])
            json_object_set_new(o, "zone", jin_word(v[i].zone));
        if (v[i].spot)
            json_object_set_new(o, "spot", json_true());
        json_object_set_new(o, "count", json_integer(v[i].count));
        json_object_set_new(o, "holds", codec_previous_write(&v[i].previous));
        json_array_append_new(a, o);
    }
    return a;
}
