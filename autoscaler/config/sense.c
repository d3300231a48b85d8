/*
 * sense.c - what is right key by key and makes no sense together: a bound below
 * another, a rule that nothing falls under, head-room that no machine has.
 *
 * What can never be done is a mistake where our own dialect says it; what merely
 * never has an effect is a warning, for it may wait for a node type to come.
 */
#include <inttypes.h>
#include <string.h>

#include "../base/suggest.h"
#include "../model/amount.h"
#include "raw.h"

static const struct ynode *limit_at(const struct raw *d, const char *key)
{
    const struct ynode *v = ynode_get(d->limits_at, key);

    return v ? v : d->limits_at;
}

/* ---- one node type */

static void hosts_check(struct raw *d, const struct raw_type *t)
{
    const struct snap_limits *l = &d->c->limits;
    const struct ynode *at = raw_at(t, "hosts");

    if (t->hosts < 2)
        return;
    if (t->min % t->hosts && d->c->dialect == DIALECT_DAVIT)
        diag_add(d->r.diag, raw_at(t, "min"),
                 "%s: min counts machines, which come in groups of %u (hosts): "
                 "it must be a multiple of that such as %u, got %u",
                 t->where, t->hosts, t->min - t->min % t->hosts + t->hosts,
                 t->min);
    if (t->max && t->max < t->hosts)
        diag_add(d->r.diag, raw_at(t, "max"),
                 "%s: max counts machines, which come in groups of %u (hosts): "
                 "max %u allows none",
                 t->where, t->hosts, t->max);
    else if (t->max != UNLIMITED && t->max % t->hosts)
        diag_warn(d->r.diag, raw_at(t, "max"),
                  "%s: machines come in groups of %u (hosts), so max %u means "
                  "%u",
                  t->where, t->hosts, t->max, t->max - t->max % t->hosts);
    if (l->max_nodes < t->hosts && t->max)
        diag_warn(d->r.diag, at,
                  "%s: never launched: a group has %u machines (hosts), and "
                  "limits.max_nodes is %u",
                  t->where, t->hosts, l->max_nodes);
    if (l->max_launching < t->hosts && t->max)
        diag_warn(d->r.diag, at,
                  "%s: never launched: a group has %u machines (hosts), and "
                  "limits.max_launching is %u",
                  t->where, t->hosts, l->max_launching);
}

/* What a group of machines costs an hour where it is cheapest; -1: unknown. */
static int64_t cheapest(const struct snap_type *f)
{
    int64_t best = -1;

    for (uint32_t i = 0; i < f->n_offers; i++) {
        int64_t price = f->offers[i].price_micros_hour;

        if (price < 0)
            return -1;
        if (best < 0 || price < best)
            best = price;
    }
    return best;
}

static void price_check(struct raw *d, const struct raw_type *t,
                        const struct snap_type *f)
{
    int64_t limit = d->c->limits.max_cost_micros_hour;
    int64_t price = cheapest(f);

    if (limit < 0 || price < 0 || !t->max)
        return;
    price = price > INT64_MAX / f->hosts ? INT64_MAX : price * f->hosts;
    if (price > limit)
        diag_warn(d->r.diag, t->key,
                  "%s: never launched: %s costs $%.2f an hour, and "
                  "limits.max_cost_per_hour is %.2f",
                  t->where, t->hosts > 1 ? "a group" : "one",
                  (double)price / 1e6, (double)limit / 1e6);
}

static void boot_check(struct raw *d, const struct raw_type *t)
{
    if (t->boot_ms > d->c->start_timeout_ms)
        diag_warn(d->r.diag, raw_at(t, "boot"),
                  "%s: boot is %" PRId64 " s, and limits.start_timeout gives a "
                  "start up after %" PRId64 " s without visible progress",
                  t->where, t->boot_ms / 1000, d->c->start_timeout_ms / 1000);
}

/* ---- all of them */

static void sums_check(struct raw *d, const struct conf_type *types)
{
    const struct snap_limits *l = &d->c->limits;
    uint64_t min = 0;
    double cost = 0;

    for (uint32_t i = 0; i < d->types.n; i++) {
        int64_t price = cheapest(&types[i].fact);

        min += types[i].fact.min;
        cost += price > 0 ? (double)price * types[i].fact.min : 0;
    }
    if (min > l->max_nodes)
        diag_warn(d->r.diag, limit_at(d, "max_nodes"),
                  "the min of all node types add up to %" PRIu64
                  ", limits.max_nodes is %u and wins",
                  min, l->max_nodes);
    if (l->max_cost_micros_hour >= 0 && cost > (double)l->max_cost_micros_hour)
        diag_warn(d->r.diag, limit_at(d, "max_cost_per_hour"),
                  "the min of all node types cost at least $%.2f an hour, "
                  "limits.max_cost_per_hour is %.2f and wins",
                  cost / 1e6, (double)l->max_cost_micros_hour / 1e6);
}

static void bounds_check(struct raw *d)
{
    const struct snap_limits *l = &d->c->limits;

    if (l->max_nodes != UNLIMITED || l->max_cost_micros_hour >= 0)
        return;
    for (uint32_t i = 0; i < d->types.n; i++)
        if (d->types.v[i]->max == UNLIMITED)
            diag_warn(d->r.diag, d->types.v[i]->key,
                      "%s: nothing bounds how many are launched: there is no "
                      "max here and neither max_nodes nor max_cost_per_hour in "
                      "limits",
                      d->types.v[i]->where);
}

/* ---- head-room */

static int64_t offered(const struct snap_type *f, const char *name)
{
    for (uint32_t i = 0; i < f->resources.n; i++)
        if (strcmp(f->resources.v[i].name, name) == 0)
            return f->resources.v[i].amount;
    return 0;
}

static bool type_holds(const struct snap_type *f, struct qtys want)
{
    for (uint32_t i = 0; i < want.n; i++)
        if (offered(f, want.v[i].name) < want.v[i].amount)
            return false;
    return true;
}

/* The resource of these that no type has at all, NULL: each is somewhere. */
static const char *nowhere(const struct raw *d, const struct conf_type *types,
                           struct qtys want)
{
    for (uint32_t i = 0; i < want.n; i++) {
        uint32_t k = 0;

        while (k < d->types.n &&
               (!want.v[i].amount || !offered(&types[k].fact, want.v[i].name)))
            k++;
        if (k == d->types.n && want.v[i].amount)
            return want.v[i].name;
    }
    return NULL;
}

static void spare_check(struct raw *d, const struct conf_type *types)
{
    const struct config *c = d->c;

    for (uint32_t i = 0; i < c->n_spare && d->types.n; i++) {
        const struct snap_alt *alt = &c->spare[i].alts[0];
        const char *none = nowhere(d, types, alt->resources);
        uint32_t k = 0;

        if (c->spare[i].n_alts > 1)
            continue;
        while (k < d->types.n && !type_holds(&types[k].fact, alt->resources))
            k++;
        if (none)
            diag_warn(d->r.diag, d->spare_at.v[i],
                      "limits.spare: never kept: no node type has %s",
                      diag_quote(d->r.arena, none));
        else if (k == d->types.n)
            diag_warn(d->r.diag, d->spare_at.v[i],
                      "limits.spare: never kept: no node type is large enough "
                      "for it");
    }
}

/* ---- idle timeouts by label */

enum { ZONES_KNOWN = 3 };
static const char *const zone_keys[ZONES_KNOWN] = {
    "zone", "topology.kubernetes.io/zone", "ray.io/availability-zone"};

static bool is_zone(const char *key)
{
    for (size_t i = 0; i < ZONES_KNOWN; i++)
        if (strcmp(zone_keys[i], key) == 0)
            return true;
    return false;
}

/* By zone, and some type leaves the zone to the provider: who knows. */
static bool undecided(const struct raw *d, const struct conf_idle *rule)
{
    bool zone = false;

    for (uint32_t i = 0; i < rule->labels.n; i++)
        zone = zone || is_zone(rule->labels.v[i].key);
    for (uint32_t i = 0; zone && i < d->types.n; i++)
        if (!d->types.v[i]->zones.n)
            return true;
    return false;
}

/* Fits the rule an offer, and is it the first that does? */
static void rule_try(const struct raw *d, const struct conf_type *types,
                     uint32_t rule, bool *ret_fits, bool *ret_holds)
{
    for (uint32_t i = 0; i < d->types.n; i++)
        for (uint32_t k = 0; k < types[i].fact.n_offers; k++) {
            const struct snap_type *f = &types[i].fact;
            const struct snap_offer *o = &f->offers[k];
            uint32_t first = 0;

            if (!idle_rule_fits(&d->c->idle[rule], f, o->zone, o->spot))
                continue;
            *ret_fits = true;
            while (!idle_rule_fits(&d->c->idle[first], f, o->zone, o->spot))
                first++;
            *ret_holds = *ret_holds ||
                         (first == rule && f->idle_timeout_ms < 0);
        }
}

/* A key of the rule that no node has, with the one that was meant. */
static const char *rule_hint(struct raw *d, const struct conf_type *types,
                             const struct conf_idle *rule)
{
    VEC(const char *) keys = {0};

    for (size_t i = 0; i < ZONES_KNOWN; i++)
        VEC_PUSH(d->r.arena, &keys, zone_keys[i]);
    VEC_PUSH(d->r.arena, &keys, "accelerator_type");
    VEC_PUSH(d->r.arena, &keys, "ray.io/market-type");
    for (uint32_t i = 0; i < d->types.n; i++)
        for (uint32_t k = 0; k < types[i].fact.labels.n; k++)
            VEC_PUSH(d->r.arena, &keys, types[i].fact.labels.v[k].key);
    for (uint32_t i = 0; i < rule->labels.n; i++) {
        const char *near = suggest(rule->labels.v[i].key, keys.v, keys.n);

        if (near && strcmp(near, rule->labels.v[i].key) != 0)
            return arena_printf(d->r.arena, "; did you mean %s?",
                                diag_quote(d->r.arena, near));
    }
    return "";
}

static void idle_check(struct raw *d, const struct conf_type *types)
{
    for (uint32_t i = 0; i < d->c->n_idle && d->types.n; i++) {
        const struct conf_idle *rule = &d->c->idle[i];
        bool fits = false, holds = false;

        rule_try(d, types, i, &fits, &holds);
        if (holds || undecided(d, rule))
            continue;
        if (fits)
            diag_warn(d->r.diag, d->idle_at.v[i],
                      "limits.idle_timeouts[%u] has no effect: a rule before "
                      "it, or the idle_timeout of the node type, comes first "
                      "wherever it fits",
                      i);
        else
            diag_warn(d->r.diag, d->idle_at.v[i],
                      "limits.idle_timeouts[%u] has no effect: no node type "
                      "has these labels%s",
                      i, rule_hint(d, types, rule));
    }
}

void sense_check(struct raw *d, const struct conf_type *types)
{
    for (uint32_t i = 0; i < d->types.n; i++) {
        hosts_check(d, d->types.v[i]);
        price_check(d, d->types.v[i], &types[i].fact);
        boot_check(d, d->types.v[i]);
    }
    bounds_check(d);
    sums_check(d, types);
    spare_check(d, types);
    idle_check(d, types);
    if (d->ha_at && !d->c->ha)
        diag_warn(d->r.diag, d->ha_at,
                  "ha has no effect without \"state: kubernetes\"");
}
