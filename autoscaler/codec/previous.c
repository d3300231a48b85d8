/*
 * previous.c - what the last plan put on nodes, and proposed nodes, both ways.
 *
 * A shape is a digest of 64 bits, written as 16 hex digits: it is compared,
 * never looked into.  A plan's "placements" have the same keys among theirs, so
 * that one can be made from the other.
 */
#include <stdio.h>
#include <string.h>

#include "codec.h"
#include "fields.h"
#include "inside.h"

enum { SHAPE_DIGITS = 16 };

#define AT(field) .at = offsetof(struct snap_placement, field)
static const struct field fields[] = {
    {"source", FIELD_WORD, AT(source), .name_of = source_word,
     .max = SOURCE_SPARE + 1, .usual = SOURCE_TASK},
    {"owner", FIELD_TEXT, AT(owner)},
    {"id", FIELD_TEXT, AT(id)},
    {"alternative", FIELD_COUNT, AT(alt), .max = COUNT_MAX},
    {"count", FIELD_COUNT, AT(count), .min = 1, .max = COUNT_MAX, .usual = 1},
};
#undef AT

#define AT(field) .at = offsetof(struct snap_proposal, field)
static const struct field proposal_fields[] = {
    {"type", FIELD_TEXT, AT(type)},
    {"zone", FIELD_TEXT, AT(zone)},
    {"spot", FIELD_BOOL, AT(spot)},
    {"count", FIELD_COUNT, AT(count), .min = 1, .max = COUNT_MAX, .usual = 1,
     .always = true},
};
#undef AT

static bool shape_read(struct reader *in, const struct path *at,
                       const json_t *o, uint64_t *ret)
{
    const char *text = "";
    uint64_t shape = 0;
    size_t n = 0;

    if (!reader_get_text(in, at, o, "shape", &text))
        return false;
    for (; text[n] && n < SHAPE_DIGITS; n++) {
        const char *digits = "0123456789abcdef";
        const char *at_digit = strchr(digits, text[n]);

        if (!at_digit)
            break;
        shape = shape << 4 | (uint64_t)(at_digit - digits);
    }
    if (n != SHAPE_DIGITS || text[n])
        return reader_bad(in, PATH_KEY(at, "shape"),
                          "must be the %d hex digits that a plan gives",
                          SHAPE_DIGITS);
    *ret = shape;
    return true;
}

static json_t *shape_text(uint64_t shape)
{
    char text[SHAPE_DIGITS + 1];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)shape);
    return json_string(text);
}

static bool placement_read(struct reader *in, const struct path *at,
                           const json_t *v, void *ret)
{
    static const char *const others[] = {"shape"};
    struct snap_placement *p = ret;

    if (!fields_read(in, at, v, fields, COUNT(fields), others, COUNT(others),
                     p))
        return false;
    if (!p->owner[0])
        p->owner = "ray";
    return shape_read(in, at, v, &p->shape);
}

bool previous_read(struct reader *in, const struct path *at, const json_t *o,
                   const char *key, struct snap_placements *ret)
{
    struct reader_items list = {0};

    if (!reader_items(in, at, o, key, placement_read, NULL,
                      sizeof(struct snap_placement), &list))
        return false;
    *ret = (struct snap_placements){list.v, list.n};
    return true;
}

enum status codec_previous_read(const json_t *list, struct arena *arena,
                                struct snap_placements *ret, struct err *err)
{
    struct reader in = {arena, err};
    struct reader_items all = {0};

    if (!reader_array(&in, NULL, list, placement_read, NULL,
                      sizeof(struct snap_placement), &all))
        return ST_INVALID;
    *ret = (struct snap_placements){all.v, all.n};
    return ST_OK;
}

json_t *codec_previous_write(const struct snap_placements *previous)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < previous->n; i++) {
        struct snap_placement p = previous->v[i];
        json_t *o = json_object();

        if (strcmp(p.owner, "ray") == 0)
            p.owner = "";
        fields_write(o, fields, COUNT(fields), &p);
        json_object_set_new(o, "shape", shape_text(p.shape));
        json_array_append_new(a, o);
    }
    return a;
}

/* ---- proposed nodes */

static bool proposal_read(struct reader *in, const struct path *at,
                          const json_t *v, void *ret)
{
    static const char *const others[] = {"previous"};
    struct snap_proposal *h = ret;

    return fields_read(in, at, v, proposal_fields, COUNT(proposal_fields),
                       others, COUNT(others), h) &&
           previous_read(in, at, v, "previous", &h->previous);
}

bool proposed_read(struct reader *in, const json_t *root, struct snapshot *s)
{
    struct reader_items proposed = {0};

    if (!reader_items(in, NULL, root, "proposed", proposal_read, NULL,
                      sizeof(struct snap_proposal), &proposed))
        return false;
    s->proposed = proposed.v;
    s->n_proposed = proposed.n;
    return true;
}

json_t *proposed_write(const struct snap_proposal *v, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < n; i++) {
        json_t *o = json_object();

        fields_write(o, proposal_fields, COUNT(proposal_fields), &v[i]);
        json_object_set_new(o, "previous",
                            codec_previous_write(&v[i].previous));
        json_array_append_new(a, o);
    }
    return a;
}

/* ---- what did not help */

#define AT(field) .at = offsetof(struct snap_unhelped, field)
static const struct field unhelped_fields[] = {
    {"type", FIELD_TEXT, AT(type)},
    {"until_ms", FIELD_I64, AT(until_ms), .max = TIME_MAX},
};
#undef AT

static bool unhelped_one(struct reader *in, const struct path *at,
                         const json_t *v, void *ret)
{
    static const char *const others[] = {"shape"};
    struct snap_unhelped *u = ret;

    return fields_read(in, at, v, unhelped_fields, COUNT(unhelped_fields),
                       others, COUNT(others), u) &&
           shape_read(in, at, v, &u->shape);
}

bool unhelped_read(struct reader *in, const json_t *root, struct snapshot *s)
{
    struct reader_items all = {0};

    if (!reader_items(in, NULL, root, "unhelped", unhelped_one, NULL,
                      sizeof(struct snap_unhelped), &all))
        return false;
    s->unhelped = all.v;
    s->n_unhelped = all.n;
    return true;
}

json_t *unhelped_write(const struct snap_unhelped *v, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < n; i++) {
        json_t *o = json_object();

        fields_write(o, unhelped_fields, COUNT(unhelped_fields), &v[i]);
        json_object_set_new(o, "shape", shape_text(v[i].shape));
        json_array_append_new(a, o);
    }
    return a;
}
