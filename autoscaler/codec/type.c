/*
 * type.c - node types and their offers, both ways.
 */
#include "codec.h"
#include "fields.h"
#include "inside.h"

static const char *status_word(size_t i)
{
    return status_name((enum status)i);
}

#define AT(field) .at = offsetof(struct snap_offer, field)
static const struct field offer_fields[] = {
    {"zone", FIELD_TEXT, AT(zone)},
    {"spot", FIELD_BOOL, AT(spot)},
    {"price", FIELD_DOLLARS, AT(price_micros_hour), .always = true},
    {"backoff_until_ms", FIELD_I64, AT(backoff_until_ms), .max = TIME_MAX},
    {"backoff_for", FIELD_WORD, AT(backoff_for), .name_of = status_word,
     .max = ST_COUNT, .usual = ST_OK},
    {"failed_ms", FIELD_I64, AT(failed_ms), .max = TIME_MAX},
    {"room", FIELD_COUNT, AT(room), .usual = UNLIMITED},
    {"idle_timeout_s", FIELD_SECONDS, AT(idle_timeout_ms)},
    {"interruptions", FIELD_COUNT, AT(interruptions)},
    {"closed", FIELD_BOOL, AT(closed)},
    {"note", FIELD_TEXT, AT(note)},
    {"mean_price", FIELD_DOLLARS, AT(mean_micros_hour)},
    {"mean_s", FIELD_SECONDS, AT(mean_ms)},
};
#undef AT

#define AT(field) .at = offsetof(struct snap_quota, field)
static const struct field quota_fields[] = {
    {"name", FIELD_TEXT, AT(name)},
    {"left", FIELD_COUNT, AT(left), .always = true},
    {"each", FIELD_COUNT, AT(each), .min = 1, .usual = 1, .always = true},
};
#undef AT

#define AT(field) .at = offsetof(struct snap_type, field)
static const struct field type_fields[] = {
    {"name", FIELD_TEXT, AT(name)},
    {"provider", FIELD_TEXT, AT(provider)},
    {"machine", FIELD_TEXT, AT(machine)},
    {"pool", FIELD_TEXT, AT(pool)},
    {"min", FIELD_COUNT, AT(min)},
    {"max", FIELD_COUNT, AT(max), .usual = UNLIMITED},
    {"idle_timeout_s", FIELD_SECONDS, AT(idle_timeout_ms), .usual = -1},
    {"boot_s", FIELD_SECONDS, AT(boot_ms), .usual = -1},
    {"priority", FIELD_I32, AT(priority)},
    {"hosts", FIELD_COUNT, AT(hosts), .min = 1, .max = 100000, .usual = 1},
    {"unavailable", FIELD_WORD, AT(unavailable), .name_of = reason_word,
     .max = REASON_COUNT, .usual = REASON_NONE},
};
#undef AT

static bool quota_read(struct reader *in, const struct path *at,
                       const json_t *v, void *ret)
{
    struct snap_quota *q = ret;

    if (!fields_read(in, at, v, quota_fields, COUNT(quota_fields), NULL, 0, q))
        return false;
    return q->name[0] || reader_bad(in, at, "needs a \"name\"");
}

static bool offer_read(struct reader *in, const struct path *at,
                       const json_t *v, void *ret)
{
    static const char *const others[] = {"taints", "quotas"};
    struct snap_offer *o = ret;
    struct reader_items quotas = {0};

    if (!fields_known(in, at, v, offer_fields, COUNT(offer_fields), others,
                      COUNT(others)) ||
        !fields_get(in, at, v, offer_fields, COUNT(offer_fields), o) ||
        !taints_read(in, at, v, &o->taints) ||
        !reader_items(in, at, v, "quotas", quota_read, NULL,
                      sizeof(struct snap_quota), &quotas))
        return false;
    o->quotas = (struct snap_quotas){quotas.v, quotas.n};
    /* 0 means the type's timeout; one of nothing is the least there is */
    if (o->idle_timeout_ms == 0 &&
        !json_is_null(json_object_get(v, "idle_timeout_s")) &&
        json_object_get(v, "idle_timeout_s"))
        o->idle_timeout_ms = 1;
    return true;
}

/* A type may say zone, spot and price for all its offers, or instead of
 * them. */
static bool offers_read(struct reader *in, const struct path *at,
                        const json_t *o, struct snap_type *t)
{
    struct snap_offer usual = {
        .zone = "", .price_micros_hour = -1, .room = UNLIMITED};
    struct reader_items offers = {
        .v = arena_copy(in->arena, &usual, sizeof usual), .n = 1};

    if (!fields_get(in, at, o, offer_fields, 3, offers.v))
        return false;
    usual = *(struct snap_offer *)offers.v;
    if (!reader_items(in, at, o, "offers", offer_read, &usual, sizeof usual,
                      &offers))
        return false;
    if (offers.n == 0)
        return reader_bad(in, PATH_KEY(at, "offers"),
                          "must have at least one offer (leave it out for one "
                          "without a zone)");
    t->offers = offers.v;
    t->n_offers = offers.n;
    return true;
}

static bool type_read(struct reader *in, const struct path *at, const json_t *v,
                      void *ret)
{
    static const char *const others[] = {
        "resources", "labels", "taints", "accelerator_type", "price", "zone",
        "spot",      "offers", "note"};
    struct snap_type *t = ret;

    if (!fields_read(in, at, v, type_fields, COUNT(type_fields), others,
                     COUNT(others), t))
        return false;
    if (!t->name[0])
        return reader_bad(in, at, "needs a \"name\"");
    return resources_get(in, at, v, "resources", QUANTITY_OFFERED,
                         &t->resources) &&
           labels_read(in, at, v, &t->resources, &t->labels) &&
           taints_read(in, at, v, &t->taints) && offers_read(in, at, v, t);
}

bool types_read(struct reader *in, const json_t *root, struct snapshot *s)
{
    struct reader_items types = {0};

    if (!reader_items(in, NULL, root, "node_types", type_read, NULL,
                      sizeof(struct snap_type), &types))
        return false;
    s->types = types.v;
    s->n_types = types.n;
    return true;
}

static json_t *offer_write(const struct snap_offer *from)
{
    json_t *o = json_object(), *list = json_array(), *q;

    fields_write(o, offer_fields, COUNT(offer_fields), from);
    taints_write(o, &from->taints);
    for (uint32_t i = 0; i < from->quotas.n; i++) {
        q = json_object();
        fields_write(q, quota_fields, COUNT(quota_fields), &from->quotas.v[i]);
        json_array_append_new(list, q);
    }
    if (from->quotas.n)
        json_object_set(o, "quotas", list);
    json_decref(list);
    return o;
}

static json_t *type_write(const struct snap_type *t)
{
    json_t *o = json_object(), *offers = json_array();
    struct snap_type x = *t;

    x.hosts += x.hosts == 0;
    fields_write(o, type_fields, COUNT(type_fields), &x);
    json_object_set_new(o, "resources", resources_write(&t->resources));
    labels_write(o, &t->labels);
    taints_write(o, &t->taints);
    for (uint32_t i = 0; i < t->n_offers; i++)
        json_array_append_new(offers, offer_write(&t->offers[i]));
    json_object_set_new(o, "offers", offers);
    return o;
}

json_t *types_write(const struct snapshot *s)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < s->n_types; i++)
        json_array_append_new(list, type_write(&s->types[i]));
    return list;
}
