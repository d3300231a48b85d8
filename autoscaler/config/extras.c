/*
 * extras.c - the keys of limits that are more than one number: upscaling,
 * spare, end_order, consolidate, idle_timeouts; and the taints of a type.
 *
 * Bundles and taints are read by the codec that reads them in requests and
 * snapshots, so that they are written the same everywhere.
 */
#include "extras.h"

#include <stdlib.h>
#include <string.h>

#include "../codec/codec.h"
#include "../model/accel.h"
#include "../model/amount.h"

enum { MOST_RULES = 100, MOST_SPARE = 10000 };

/* ---- YAML to JSON: whole numbers are numbers, all else is text */

static json_t *json_of(const struct ynode *v)
{
    json_t *o;
    size_t n;

    switch (v->kind) {
    case YNODE_NULL: return json_null();
    case YNODE_TEXT:
        n = strlen(v->text);
        if (!v->quoted && n > 0 && n < 18 && strspn(v->text, "0123456789") == n)
            return json_integer(atoll(v->text));
        return json_string(v->text);
    case YNODE_LIST:
        o = json_array();
        for (uint32_t i = 0; i < v->n; i++)
            json_array_append_new(o, json_of(v->items[i]));
        return o;
    case YNODE_MAP:
        o = json_object();
        for (uint32_t i = 0; i < v->n; i++)
            json_object_set_new(o, v->pairs[i].key->text,
                                json_of(v->pairs[i].value));
        return o;
    }
    return json_null();
}

void taints_key_read(struct reader *r, const struct ynode *v, const char *where,
                     void *target)
{
    struct raw_type *t = target;
    struct err err;
    json_t *json;

    if (v->kind != YNODE_LIST) {
        diag_add(r->diag, v,
                 "%s must be a list such as [\"team=vision:NoSchedule\"] or "
                 "[{key: team, value: vision, effect: NoSchedule}], got %s",
                 where, ynode_shown(r->arena, v));
        return;
    }
    json = json_of(v);
    if (codec_taints_read(json, where, r->arena, &t->taints, &err) != ST_OK)
        diag_add(r->diag, v, "%s", err.text);
    json_decref(json);
}

/* ---- limits */

void upscaling_read(struct reader *r, const struct ynode *v, const char *where,
                    void *target)
{
    static const char *const modes[] = {"Default", "Aggressive",
                                        "Conservative"};
    struct config *c = target;

    for (size_t i = 0; i < 3; i++)
        if (v->kind == YNODE_TEXT && strcmp(v->text, modes[i]) == 0) {
            /* Ray: 1000 and 1; a thousandfold is no bound at all. */
            c->limits.upscaling_speed = i == 2 ? AMOUNT_ONE : 0;
            return;
        }
    diag_add(
        r->diag, v, "%s must be Default, Aggressive or Conservative, got %s%s",
        where, ynode_shown(r->arena, v),
        v->kind == YNODE_TEXT ? grammar_hint(r->arena, v->text, modes, 3) : "");
}

static void end_key_add(struct reader *r, const struct ynode *v,
                        const char *where, struct snap_limits *l)
{
    const char *names[END_KEYS];
    enum end_key k;

    for (size_t i = 0; i < END_KEYS; i++)
        names[i] = end_key_name((enum end_key)i);
    if (v->kind != YNODE_TEXT || !end_key_from_name(v->text, &k)) {
        diag_add(r->diag, v, "%s must be %s, got %s%s", where,
                 grammar_or(r->arena, names, END_KEYS),
                 ynode_shown(r->arena, v),
                 v->kind == YNODE_TEXT
                     ? grammar_hint(r->arena, v->text, names, END_KEYS)
                     : "");
        return;
    }
    for (uint32_t i = 0; i < l->n_end_order; i++)
        if (l->end_order[i] == k) {
            diag_add(r->diag, v, "%s names %s twice", where, v->text);
            return;
        }
    l->end_order[l->n_end_order++] = k;
}

void end_order_read(struct reader *r, const struct ynode *v, const char *where,
                    void *target)
{
    struct config *c = target;

    c->limits.n_end_order = 0;
    if (v->kind != YNODE_LIST)
        end_key_add(r, v, where, &c->limits);
    for (uint32_t i = 0; v->kind == YNODE_LIST && i < v->n; i++)
        end_key_add(r, v->items[i], where, &c->limits);
}

static void mode_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    static const char *const modes[] = {"off", "empty", "on"};
    struct config *c = target;

    if (v->kind != YNODE_TEXT ||
        !consolidate_from_name(v->text, &c->limits.consolidate))
        diag_add(r->diag, v, "%s must be off, empty or on, got %s%s", where,
                 ynode_shown(r->arena, v),
                 v->kind == YNODE_TEXT
                     ? grammar_hint(r->arena, v->text, modes, 3)
                     : "");
}

#define AT(member) .offset = offsetof(struct config, member)

const struct key consolidate_keys[] = {
    {"mode", KEY_CUSTOM, .read = mode_read,
     .help = "off, empty (nodes on which nothing runs) or on"},
    {"min_saving", KEY_FACTOR, AT(limits.consolidate_saving), .max = 1,
     .help = "part of a machine's price that must be saved"},
    {"older_than", KEY_TIME, AT(limits.consolidate_age_ms),
     .max = INT64_C(30) * 86400000, .help = "younger machines are left alone"},
    KEYS_END,
};

void consolidate_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    if (v->kind == YNODE_MAP)
        grammar_read(r, consolidate_keys, v, where, target);
    else
        mode_read(r, v, where, target);
}

/* ---- spare */

struct spare_vec {
    VEC(struct snap_bundle) all;
};

static void spare_add(struct reader *r, const json_t *json, const char *where,
                      const struct ynode *at, struct spare_vec *to)
{
    struct raw *d = r->ctx;
    struct snap_bundle b;
    struct err err;
    bool good = true;

    if (codec_bundle_read(json, where, r->arena, &b, &err) != ST_OK) {
        diag_add(r->diag, at, "%s", err.text);
        return;
    }
    for (uint32_t i = 0; i < b.n_alts; i++)
        for (uint32_t k = 0; k < b.alts[i].resources.n; k++)
            good = shape_name_check(d, at, b.alts[i].resources.v[k].name,
                                    where) &&
                   good;
    if (to->all.n == MOST_SPARE) {
        diag_add(r->diag, at, "%s: more than %d bundles", where, MOST_SPARE);
    } else if (good) {
        VEC_PUSH(r->arena, &to->all, b);
        VEC_PUSH(r->arena, &d->spare_at, at);
    }
}

/* {GPU: 2}: two times one free GPU, wherever; bytes by the GiB. */
static void spare_units(struct reader *r, const struct ynode *key,
                        const struct ynode *v, const char *where,
                        struct spare_vec *to)
{
    const char *name = key->text, *at = grammar_where(r, where, name);
    const bool bytes = amount_is_bytes(name);
    const int64_t unit = bytes ? AMOUNT_ONE << 30 : AMOUNT_ONE;
    int64_t amount = 0;
    json_t *one;

    if (v->kind != YNODE_TEXT || !amount_parse(v->text, &amount) ||
        amount / unit > 100000) {
        diag_add(r->diag, v,
                 "%s must be a quantity such as 2 (at most 100000 units or "
                 "GiB), got %s",
                 at, ynode_shown(r->arena, v));
        return;
    }
    if (amount >= unit) {
        one = json_pack("{s:{s:I},s:I}", "resources", name,
                        (json_int_t)(unit / AMOUNT_ONE), "count",
                        (json_int_t)(amount / unit));
        spare_add(r, one, at, v, to);
        json_decref(one);
    }
    if (amount % unit > 0) {
        one = json_pack("{s:{s:f}}", "resources", name,
                        (double)(amount % unit) / AMOUNT_ONE);
        spare_add(r, one, at, v, to);
        json_decref(one);
    }
}

void spare_read(struct reader *r, const struct ynode *v, const char *where,
                void *target)
{
    struct config *c = target;
    struct spare_vec all = {{0}};

    ((struct raw *)r->ctx)->spare_at.n = 0;

    for (uint32_t i = 0; v->kind == YNODE_MAP && i < v->n; i++)
        spare_units(r, v->pairs[i].key, v->pairs[i].value, where, &all);
    for (uint32_t i = 0; v->kind == YNODE_LIST && i < v->n; i++) {
        json_t *json = json_of(v->items[i]);

        spare_add(r, json, arena_printf(r->arena, "%s[%u]", where, i),
                  v->items[i], &all);
        json_decref(json);
    }
    if (v->kind == YNODE_TEXT)
        diag_add(r->diag, v,
                 "%s must be quantities such as {GPU: 2}, or a list of bundles "
                 "such as [{GPU: 1, CPU: 4}], got %s",
                 where, ynode_shown(r->arena, v));
    c->spare = all.all.v;
    c->n_spare = all.all.n;
}

bool config_spare(const struct config *c, struct snap_demand *ret)
{
    if (c->n_spare == 0)
        return false;
    *ret = (struct snap_demand){.source = SOURCE_SPARE,
                                .owner = "spare",
                                .id = "",
                                .queue = "",
                                .bundles = c->spare,
                                .n_bundles = c->n_spare};
    return true;
}

/* ---- idle timeouts by label */

struct idle_rule {
    int64_t ms;
    const struct ynode *labels;
};

static void rule_labels_read(struct reader *r, const struct ynode *v,
                             const char *where, void *target)
{
    struct idle_rule *rule = target;

    if (v->kind == YNODE_MAP && v->n > 0)
        rule->labels = v;
    else
        diag_add(
            r->diag, v, "%s must be a mapping such as {zone: a}, got %s", where,
            v->kind == YNODE_MAP ? "an empty one" : ynode_shown(r->arena, v));
}

const struct key idle_keys[] = {
    {"labels", KEY_CUSTOM, .read = rule_labels_read,
     .help = "labels that a machine must have, all of them"},
    {"idle_timeout", KEY_TIME, .offset = offsetof(struct idle_rule, ms),
     .max = INT64_C(30) * 86400000, .word = "never", .word_value = RAW_NEVER_MS,
     .help = "idle time before it is ended"},
    KEYS_END,
};

void idle_timeouts_read(struct reader *r, const struct ynode *v,
                        const char *where, void *target)
{
    struct config *c = target;
    struct raw *d = r->ctx;
    VEC(struct conf_idle) all = {0};

    d->idle_at.n = 0;

    if (v->kind != YNODE_LIST || v->n > MOST_RULES) {
        diag_add(r->diag, v,
                 "%s must be a list of at most %d rules such as [{labels: "
                 "{zone: a}, idle_timeout: 10m}], got %s",
                 where, MOST_RULES,
                 v->kind == YNODE_LIST ? "more" : ynode_shown(r->arena, v));
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const char *at = arena_printf(r->arena, "%s[%u]", where, i);
        struct idle_rule rule = {.ms = -1};
        struct conf_idle x;

        grammar_read(r, idle_keys, v->items[i], at, &rule);
        if (!ynode_get(v->items[i], "labels") ||
            !ynode_get(v->items[i], "idle_timeout")) {
            diag_add(r->diag, v->items[i], "%s needs labels and idle_timeout",
                     at);
            continue;
        }
        x.labels = grammar_pairs(r, rule.labels,
                                 grammar_where(r, at, "labels"));
        x.ms = rule.ms == 0 ? 1 : rule.ms; /* 0 stands for "no rule" */
        VEC_PUSH(r->arena, &all, x);
        VEC_PUSH(r->arena, &d->idle_at, rule.labels ? rule.labels : v);
    }
    c->idle = all.v;
    c->n_idle = all.n;
}

static bool label_holds(const struct snap_type *t, const char *zone, bool spot,
                        const struct pair *want)
{
    static const char *const zones[] = {"zone", "topology.kubernetes.io/zone",
                                        "ray.io/availability-zone"};
    const char *key = want->key, *value = want->value;

    if (strcmp(key, "accelerator_type") == 0)
        key = ACCEL_LABEL;
    if (strcmp(key, ACCEL_LABEL) == 0)
        value = accel_type_canonical(value);
    for (uint32_t i = 0; i < t->labels.n; i++)
        if (strcmp(t->labels.v[i].key, key) == 0)
            return strcmp(t->labels.v[i].value, value) == 0;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
        if (strcmp(zones[i], key) == 0)
            return strcmp(zone, value) == 0;
    return strcmp(key, "ray.io/market-type") == 0 &&
           strcmp(spot ? "spot" : "on-demand", value) == 0;
}

bool idle_rule_fits(const struct conf_idle *rule, const struct snap_type *t,
                    const char *zone, bool spot)
{
    for (uint32_t i = 0; i < rule->labels.n; i++)
        if (!label_holds(t, zone, spot, &rule->labels.v[i]))
            return false;
    return true;
}

int64_t config_idle_ms(const struct config *c, const struct snap_type *t,
                       const char *zone, bool spot)
{
    for (uint32_t i = 0; i < c->n_idle && t->idle_timeout_ms < 0; i++)
        if (idle_rule_fits(&c->idle[i], t, zone, spot))
            return c->idle[i].ms;
    return 0;
}
