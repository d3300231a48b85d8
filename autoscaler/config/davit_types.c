/*
 * davit_types.c - the key node_types of Davit's own dialect.
 */
#include <stddef.h>
#include <string.h>

#include "davit_keys.h"
#include "extras.h"
#include "raw.h"

/* The records of machines have room for so much (struct machine). */
enum { MOST_ZONES = 32, LONGEST_ZONE = 47 };

static void market_add(struct reader *r, struct raw_type *t,
                       const struct ynode *v, const char *where)
{
    enum raw_market m = MARKET_ON_DEMAND;
    bool good = v->kind == YNODE_TEXT;

    if (good && strcmp(v->text, "reserved") == 0 && strstr(where, ".market")) {
        t->market_reserved = true;
        return;
    }
    if (good && (strcmp(v->text, "spot") == 0 || strcmp(v->text, "true") == 0))
        m = MARKET_SPOT;
    else
        good = good && (strcmp(v->text, "on-demand") == 0 ||
                        strcmp(v->text, "false") == 0);
    if (!good || (strchr("tf", *v->text) && strstr(where, ".market"))) {
        diag_add(r->diag, v, "%s must be %s, or a list, got %s", where,
                 strstr(where, ".market") ? "on-demand, spot or reserved"
                                          : "true or false",
                 ynode_shown(r->arena, v));
        return;
    }
    for (uint32_t i = 0; i < t->n_markets; i++)
        if (t->markets[i] == m) {
            diag_add(r->diag, v, "%s names the same market twice", where);
            return;
        }
    t->markets[t->n_markets++] = m;
}

static void market_read(struct reader *r, const struct ynode *v,
                        const char *where, void *target)
{
    struct raw_type *t = target;

    if (t->n_markets || t->market_reserved) {
        diag_add(r->diag, v, "%s: give market or spot, not both", where);
        return;
    }
    if (v->kind != YNODE_LIST)
        market_add(r, t, v, where);
    for (uint32_t i = 0; v->kind == YNODE_LIST && i < v->n; i++)
        market_add(r, t, v->items[i], where);
}

static void zone_add(struct reader *r, struct raw_type *t,
                     const struct ynode *v, const char *where)
{
    static const struct key name = {.type = KEY_NAME, .max = LONGEST_ZONE};
    const char *zone = NULL;

    if (v->kind != YNODE_NULL)
        grammar_value(r, &name, v, where, &zone);
    for (uint32_t i = 0; zone && i < t->zones.n; i++)
        if (strcmp(t->zones.v[i], zone) == 0) {
            diag_add(r->diag, v, "%s names %s twice", where, zone);
            return;
        }
    if (zone && t->zones.n == MOST_ZONES)
        diag_add(r->diag, v, "%s: more than %d zones", where, MOST_ZONES);
    else if (zone)
        VEC_PUSH(r->arena, &t->zones, zone);
}

static void zones_read(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    if (v->kind == YNODE_TEXT)
        zone_add(r, target, v, where);
    else if (v->kind == YNODE_LIST)
        for (uint32_t i = 0; i < v->n; i++)
            zone_add(r, target, v->items[i], where);
    else
        diag_add(
            r->diag, v,
            "%s must be a list of zones such as [us-east-1a, us-east-1b], got "
            "%s",
            where, ynode_shown(r->arena, v));
}

static void accelerator_read(struct reader *r, const struct ynode *v,
                             const char *where, void *target)
{
    shape_accelerator(r->ctx, target, v, where);
}

static void options_read(struct reader *r, const struct ynode *v,
                         const char *where, void *target)
{
    struct raw_type *t = target;

    t->options = grammar_flatten(r, v, where, NULL, &t->n_options);
}

static void startup_key_read(struct reader *r, const struct ynode *v,
                             const char *where, void *target)
{
    struct raw_type *t = target;

    t->startup = startup_list_read(r, v, where);
}

static void kept_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    struct raw_type *t = target, kept = {.where = where};

    dialect_resources(r, v, where, &kept);
    t->kept = (struct qtys){kept.resources.v, kept.resources.n};
}

#define AT(member) .offset = offsetof(struct raw_type, member)

const struct key type_keys[] = {
    {"provider", KEY_NAME, AT(provider),
     .help = "which of providers launches it"},
    {"pool", KEY_TEXT, AT(pool), .help = "the cloud's node pool or group"},
    {"machine", KEY_TEXT, AT(machine),
     .help = "machine type, looked up in the catalogue"},
    {"resources", KEY_CUSTOM, .read = dialect_resources,
     .help = "what it offers; goes over the catalogue, key by key"},
    {"accelerator_type", KEY_CUSTOM, .read = accelerator_read,
     .help = "the accelerator's name"},
    {"labels", KEY_CUSTOM, .read = dialect_labels,
     .help = "labels of its Ray node"},
    {"taints", KEY_CUSTOM, .read = taints_key_read,
     .help = "who does not tolerate them is kept away"},
    {"startup_taints", KEY_CUSTOM, .read = startup_key_read,
     .help = "taints that its nodes carry until all of them is up"},
    {"kubelet_reserved", KEY_CUSTOM, .read = kept_read,
     .help = "what its kubelet keeps from pods: CPU, memory, ..."},
    {"shares", KEY_CUSTOM, .read = shares_read,
     .help = "into what each GPU is cut: MIG profiles, time_slicing, mps"},
    {"min", KEY_COUNT, AT(min), .max = 100000,
     .help = "machines kept at all times"},
    {"max", KEY_COUNT, AT(max), .max = 100000, .word = "unlimited",
     .help = "machines at most"},
    {"hosts", KEY_COUNT, AT(hosts), .min = 1, .max = 4096,
     .help = "machines that come and go as one"},
    {"idle_timeout", KEY_TIME, AT(idle_timeout_ms),
     .max = INT64_C(30) * 86400000, .word = "never", .word_value = RAW_NEVER_MS,
     .help = "idle time before it is ended"},
    {"zones", KEY_CUSTOM, .read = zones_read,
     .help = "zones it may be launched in"},
    {"market", KEY_CUSTOM, .read = market_read,
     .help = "on-demand, spot, a list of both, or reserved"},
    {"reserved", KEY_CUSTOM, .read = reserved_read,
     .help = "of market: reserved, what is paid for anyway"},
    {"spot", KEY_CUSTOM, .read = market_read,
     .help = "short for market: true is spot"},
    {"price", KEY_MONEY, AT(price), .max = 100000, .help = "dollars an hour"},
    {"spot_price", KEY_MONEY, AT(spot_price), .max = 100000,
     .help = "dollars an hour as spot"},
    {"boot", KEY_TIME, AT(boot_ms), .max = 86400000,
     .help = "expected time from launch to joining"},
    {"priority", KEY_INT, AT(priority), .min = -1000000, .max = 1000000,
     .help = "higher first, for policy priority"},
    {"options", KEY_CUSTOM, .read = options_read,
     .help = "handed to the plug-in"},
    KEYS_END,
};

void davit_types_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    (void)target;
    if (v->kind != YNODE_MAP) {
        diag_add(r->diag, v,
                 "%s must be a mapping of node types such as {t4: {machine: "
                 "n1-standard-8+t4, max: 2}}, got %s",
                 where, ynode_shown(r->arena, v));
        return;
    }
    if (!v->n)
        diag_warn(r->diag, v, "%s is empty: nothing can be launched", where);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct ynode *key = v->pairs[i].key;
        const char *at = grammar_where(r, where, key->text);
        if (grammar_name(r, key, "a name under node_types", 0))
            grammar_read(
                r, type_keys, v->pairs[i].value, at,
                raw_type_new(r->ctx, key->text, at, key, v->pairs[i].value));
    }
}
