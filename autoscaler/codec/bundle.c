/*
 * bundle.c - bundles as users write them, flat or structured.
 *
 * In the flat form every key that is not one of ours names a resource, so a
 * misspelt "count" would silently become a resource nobody offers: names close
 * to our own words are refused there.
 */
#include "inside.h"

#include <string.h>

#include "../base/suggest.h"
#include "../model/accel.h"
#include "../model/amount.h"
#include "codec.h"

enum { RESOURCES_MAX = 256, ALTS_MAX = 32 };

static const char *const bundle_keys[] = {BUNDLE_KEYS};
/* "resources" and "any_of" make the structured form. */
static const char *const alt_keys[] = {
    "resources",      "accelerator_type", "accelerator_types", "labels",
    "label_selector", "selector",         "tolerations",       "after"};

struct qty_vec {
    VEC(struct qty) all;
};

static bool is_key(const char *const *keys, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

/* ---- quantities */

static bool quantity_read(struct reader *in, const struct path *at,
                          const json_t *v, int64_t *ret)
{
    const int64_t whole_max = AMOUNT_MAX / AMOUNT_ONE;
    char buf[64];

    if (json_is_integer(v)) {
        json_int_t i = json_integer_value(v);

        if (i >= 0 && i <= whole_max) {
            *ret = i * AMOUNT_ONE;
            return true;
        }
    } else if (json_is_real(v)) {
        if (amount_from_double(json_real_value(v), ret))
            return true;
    } else if (json_is_string(v)) {
        if (amount_parse(json_string_value(v), ret))
            return true;
    }
    if (json_is_number(v))
        return reader_bad(in, at, "must be between 0 and %lld, got %s",
                          (long long)whole_max,
                          reader_found(v, buf, sizeof buf));
    return reader_bad(in, at,
                      "must be a quantity such as 4, 0.5, \"500m\" or \"50Gi\" "
                      "(0 to %lld), got %s",
                      (long long)whole_max, reader_found(v, buf, sizeof buf));
}

static bool quantity_check(struct reader *in, const struct path *at,
                           const char *name, int64_t amount,
                           enum quantity_rule rule)
{
    char buf[32];

    if (rule == QUANTITY_ANY || !accel_is_device(name) ||
        amount % AMOUNT_ONE == 0)
        return true;
    amount_text(amount, buf, sizeof buf);
    if (rule == QUANTITY_OFFERED)
        return reader_bad(in, at, "must be whole devices, got %s", buf);
    if (!accel_fractions(name))
        return reader_bad(in, at,
                          "%s cannot be shared: whole devices only, got %s",
                          name, buf);
    if (amount > AMOUNT_ONE)
        return reader_bad(in, at,
                          "must be whole above 1 (a fraction lies on one "
                          "device), got %s",
                          buf);
    return true;
}

static bool resource_add(struct reader *in, const struct path *at,
                         const char *key, const json_t *v,
                         enum quantity_rule rule, struct qty_vec *to)
{
    struct qty q = {0};
    const char *name = key, *ray;

    if (!key[0])
        return reader_bad(in, at, "a resource needs a name");
    if (strlen(key) > READER_NAME_MAX)
        return reader_bad(in, at, "the name has more than %d bytes",
                          READER_NAME_MAX);
    if (to->all.n >= RESOURCES_MAX)
        return reader_bad(in, at, "more than %d resources", RESOURCES_MAX);
    if (!quantity_read(in, at, v, &q.amount))
        return false;
    if (strchr(key, '/') && (ray = accel_from_k8s(key)))
        name = ray;
    if (!quantity_check(in, at, name, q.amount, rule))
        return false;
    for (uint32_t i = 0; i < to->all.n; i++)
        if (strcmp(to->all.v[i].name, name) == 0)
            return reader_bad(in, at, "%s is given twice", name);
    q.name = arena_strdup(in->arena, name);
    VEC_PUSH(in->arena, &to->all, q);
    return true;
}

static bool resources_add(struct reader *in, const struct path *at,
                          const json_t *v, enum quantity_rule rule,
                          struct qty_vec *to)
{
    const char *key;
    json_t *value;

    if (!reader_map(in, at, v, "{\"CPU\": 4}"))
        return false;
    json_object_foreach((json_t *)v, key, value) {
        if (!resource_add(in, PATH_KEY(at, key), key, value, rule, to))
            return false;
    }
    return true;
}

bool resources_get(struct reader *in, const struct path *at, const json_t *o,
                   const char *key, enum quantity_rule rule, struct qtys *ret)
{
    const json_t *v = reader_value(o, key);
    struct qty_vec all = {{0}};

    if (!v)
        return true;
    if (!resources_add(in, PATH_KEY(at, key), v, rule, &all))
        return false;
    *ret = (struct qtys){all.all.v, all.all.n};
    return true;
}

json_t *resources_write(const struct qtys *q)
{
    json_t *o = json_object();

    for (uint32_t i = 0; i < q->n; i++)
        json_object_set_new(o, q->v[i].name, codec_amount(q->v[i].amount));
    return o;
}

/* ---- one alternative */

struct alt_parts {
    struct qty_vec resources;
    struct term_vec terms;
    struct toleration_vec tolerations;
};

/* The newest term comes first, where a text that is written has it: read and
 * written again it stays the same text. */
static void newest_first(struct term_vec *t)
{
    struct term last = t->all.v[t->all.n - 1];

    memmove(t->all.v + 1, t->all.v, (t->all.n - 1) * sizeof last);
    t->all.v[0] = last;
}

/* "accelerator_type:T4" among the resources becomes a term. */
static bool markers_take(struct reader *in, const struct path *at,
                         struct alt_parts *p)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->resources.all.n; i++) {
        struct qty q = p->resources.all.v[i];
        uint32_t before = p->terms.all.n;
        const char *type = accel_type_of_resource(q.name);

        if (!type)
            p->resources.all.v[kept++] = q;
        else if (q.amount > 0 &&
                 !selector_add(in, at, ACCEL_LABEL, type, &p->terms))
            return false;
        if (p->terms.all.n > before)
            newest_first(&p->terms);
    }
    p->resources.all.n = kept;
    return true;
}

/* An alternative's own quantity replaces what all have. */
static void resources_over(struct reader *in, const struct qty_vec *more,
                           struct alt_parts *p)
{
    for (uint32_t j = 0; j < more->all.n; j++) {
        uint32_t k = 0;

        while (k < p->resources.all.n &&
               strcmp(p->resources.all.v[k].name, more->all.v[j].name) != 0)
            k++;
        if (k < p->resources.all.n)
            p->resources.all.v[k] = more->all.v[j];
        else
            VEC_PUSH(in->arena, &p->resources.all, more->all.v[j]);
    }
}

/* All but the resources of a flat bundle. */
static bool parts_read(struct reader *in, const struct path *at,
                       const json_t *v, struct alt_parts *p)
{
    const json_t *x = reader_value(v, "resources");

    if (x) {
        struct qty_vec more = {{0}};

        if (!resources_add(in, PATH_KEY(at, "resources"), x, QUANTITY_ASKED,
                           &more))
            return false;
        resources_over(in, &more, p);
    }
    if (!selector_read(in, at, v, &p->terms) ||
        !tolerations_read(in, at, v, &p->tolerations))
        return false;
    return markers_take(in, at, p);
}

static void alt_set(struct snap_alt *ret, const struct alt_parts *p)
{
    ret->resources = (struct qtys){p->resources.all.v, p->resources.all.n};
    ret->selector = (struct terms){p->terms.all.v, p->terms.all.n};
    ret->tolerations = (struct tolerations){p->tolerations.all.v,
                                            p->tolerations.all.n};
}

/* A copy that can be added to without touching the original: a full vector is
 * copied before it grows. */
static void parts_copy(struct reader *in, struct alt_parts *to,
                       const struct alt_parts *from)
{
    *to = *from;
    to->resources.all.v = arena_copy(
        in->arena, from->resources.all.v,
        from->resources.all.n * sizeof(struct qty));
    to->resources.all.cap = from->resources.all.n;
    to->terms.all.cap = from->terms.all.n;
    to->tolerations.all.cap = from->tolerations.all.n;
}

/* {"CPU": 4, "after": "4m"}: what is none of these keys is a resource, which
 * goes over those there are. */
static bool flat_read(struct reader *in, const struct path *at, const json_t *v,
                      const char *const *keys, size_t n, struct alt_parts *p)
{
    const char *key, *near;
    struct qty_vec more = {{0}};
    json_t *value;

    json_object_foreach((json_t *)v, key, value) {
        if (is_key(keys, n, key))
            continue;
        near = suggest(key, keys, n);
        if (near && !accel_type_of_resource(key))
            return reader_bad(in, PATH_KEY(at, key),
                              "did you mean \"%s\"? (a resource of this name: "
                              "write it in \"resources\")",
                              near);
        if (!resource_add(in, PATH_KEY(at, key), key, value, QUANTITY_ASKED,
                          &more))
            return false;
    }
    resources_over(in, &more, p);
    return true;
}

static bool any_of_read(struct reader *in, const struct path *at,
                        const json_t *v, const struct alt_parts *base,
                        struct snap_bundle *ret)
{
    struct snap_alt *alts;
    size_t i;
    json_t *e;

    if (!reader_list(in, at, v, ALTS_MAX))
        return false;
    if (json_array_size(v) == 0)
        return reader_bad(in, at, "must have at least one alternative");
    alts = ARENA_ARRAY(in->arena, struct snap_alt, json_array_size(v));
    json_array_foreach(v, i, e) {
        const struct path *here = PATH_AT(at, i);
        struct alt_parts p;

        parts_copy(in, &p, base);
        if (!(json_is_object(e) && !json_object_get(e, "resources")
                  ? flat_read(in, here, e, alt_keys, COUNT(alt_keys), &p)
                  : reader_object(in, here, e, alt_keys, COUNT(alt_keys))) ||
            !parts_read(in, here, e, &p) ||
            !reader_get_seconds(in, here, e, "after", 0, &alts[i].after_ms))
            return false;
        if (i == 0 && alts[i].after_ms > 0)
            return reader_bad(in, PATH_KEY(here, "after"),
                              "the first alternative is tried at once");
        alt_set(&alts[i], &p);
    }
    ret->alts = alts;
    ret->n_alts = (uint32_t)json_array_size(v);
    return true;
}

static bool bundle_end(struct reader *in, const struct path *at,
                       const json_t *v, struct alt_parts *p,
                       struct snap_bundle *ret)
{
    const json_t *any_of = reader_value(v, "any_of");
    struct snap_alt *alt;

    ret->count = 1;
    if (!reader_get_count(in, at, v, "count", 1, COUNT_MAX, 1, &ret->count) ||
        !reader_get_bool(in, at, v, "unconfirmed", &ret->unconfirmed) ||
        !parts_read(in, at, v, p))
        return false;
    if (any_of)
        return any_of_read(in, PATH_KEY(at, "any_of"), any_of, p, ret);
    alt = ARENA_NEW(in->arena, struct snap_alt);
    alt_set(alt, p);
    ret->alts = alt;
    ret->n_alts = 1;
    return true;
}

bool bundle_read_checked(struct reader *in, const struct path *at,
                         const json_t *v, struct snap_bundle *ret)
{
    struct alt_parts p = {{{0}}, {{0}}, {{0}}};

    if (!reader_value(v, "resources") && !reader_value(v, "any_of"))
        return reader_bad(in, at, "needs \"resources\" or \"any_of\"");
    return bundle_end(in, at, v, &p, ret);
}

bool bundle_read(struct reader *in, const struct path *at, const json_t *v,
                 struct snap_bundle *ret)
{
    struct alt_parts p = {{{0}}, {{0}}, {{0}}};

    if (!reader_map(in, at, v, "{\"GPU\": 1}"))
        return false;
    if (json_object_size(v) == 0)
        return reader_bad(in, at,
                          "is empty: a bundle needs at least one resource, "
                          "such as {\"CPU\": 1}");
    if (json_object_get(v, "resources") || json_object_get(v, "any_of"))
        return reader_object(in, at, v, bundle_keys, COUNT(bundle_keys)) &&
               bundle_read_checked(in, at, v, ret);
    return flat_read(in, at, v, bundle_keys, COUNT(bundle_keys), &p) &&
           bundle_end(in, at, v, &p, ret);
}

enum status codec_bundle_read(const json_t *v, const char *where,
                              struct arena *arena, struct snap_bundle *ret,
                              struct err *err)
{
    struct err unused;
    struct reader in = {arena, err ? err : &unused};
    struct snap_bundle b = {0};

    if (!bundle_read(&in, PATH_KEY(NULL, where ? where : ""), v, &b))
        return ST_INVALID;
    if (b.unconfirmed)
        return err_set(in.err, ST_INVALID,
                       "%s: unconfirmed is for what a source of demand says, "
                       "not for a request",
                       where ? where : "bundle");
    *ret = b;
    return ST_OK;
}

/* ---- writing */

static void alt_write(json_t *o, const struct snap_alt *a)
{
    json_object_set_new(o, "resources", resources_write(&a->resources));
    selector_write(o, &a->selector);
    tolerations_write(o, &a->tolerations);
}

void bundle_write_into(json_t *o, const struct snap_bundle *b)
{
    json_t *any_of;

    if (b->n_alts == 1) {
        alt_write(o, &b->alts[0]);
    } else {
        any_of = json_array();
        for (uint32_t i = 0; i < b->n_alts; i++) {
            json_t *alt = json_object();

            alt_write(alt, &b->alts[i]);
            if (i > 0 && b->alts[i].after_ms > 0)
                json_object_set_new(alt, "after",
                                    codec_seconds(b->alts[i].after_ms));
            json_array_append_new(any_of, alt);
        }
        json_object_set_new(o, "any_of", any_of);
    }
    json_object_set_new(o, "count", json_integer(b->count));
    if (b->unconfirmed)
        json_object_set_new(o, "unconfirmed", json_true());
}

json_t *codec_bundle_write(const struct snap_bundle *b)
{
    json_t *o = json_object();

    bundle_write_into(o, b);
    return o;
}
