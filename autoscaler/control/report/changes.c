/*
 * changes.c - see changes.h.
 */
#include "changes.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 12, VALUE = 32 };

struct changes {
    struct buf *to;
    uint32_t n, more;
};

static bool begin(struct changes *c)
{
    if (c->n == SHOWN_MAX) {
        c->more++;
        return false;
    }
    c->n++;
    return true;
}

static void value_changes(struct changes *c, const char *where, const char *key,
                          const char *was, const char *is)
{
    if (strcmp(was, is) != 0 && begin(c))
        buf_printf(c->to, "it changes %s%s from %s to %s; ", where, key, was,
                   is);
}

static const char *count_text(char to[VALUE], uint32_t v)
{
    if (v == UNLIMITED)
        return "none";
    snprintf(to, VALUE, "%u", v);
    return to;
}

static void count_changes(struct changes *c, const char *where, const char *key,
                          uint32_t was, uint32_t is)
{
    char a[VALUE], b[VALUE];

    value_changes(c, where, key, count_text(a, was), count_text(b, is));
}

static const char *money_text(char to[VALUE], int64_t v)
{
    if (v < 0)
        return "none";
    snprintf(to, VALUE, "%g", (double)v / 1e6);
    return to;
}

static void money_changes(struct changes *c, const char *where, const char *key,
                          int64_t was, int64_t is)
{
    char a[VALUE], b[VALUE];

    value_changes(c, where, key, money_text(a, was), money_text(b, is));
}

static const struct conf_type *type_of(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_types; i++)
        if (strcmp(c->types[i].fact.name, name) == 0)
            return &c->types[i];
    return NULL;
}

static bool has_provider(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_providers; i++)
        if (strcmp(c->providers[i].name, name) == 0)
            return true;
    return false;
}

static void type_changes(struct changes *c, const struct conf_type *was,
                         const struct conf_type *is)
{
    char where[160];

    snprintf(where, sizeof where, "node_types.%s.", was->fact.name);
    count_changes(c, where, "max", was->fact.max, is->fact.max);
    count_changes(c, where, "min", was->fact.min, is->fact.min);
    value_changes(c, where, "provider", was->fact.provider, is->fact.provider);
    if (was->fact.n_offers && is->fact.n_offers)
        money_changes(c, where, "price", was->fact.offers[0].price_micros_hour,
                      is->fact.offers[0].price_micros_hour);
    if (strcmp(was->made, is->made) != 0 && begin(c))
        buf_printf(c->to, "it changes what a machine of node_types.%s is; ",
                   was->fact.name);
}

static void limits_changes(struct changes *c, const struct config *now,
                           const struct config *then)
{
    const struct snap_limits *a = &now->limits, *b = &then->limits;

    count_changes(c, "limits.", "max_nodes", a->max_nodes, b->max_nodes);
    money_changes(c, "limits.", "max_cost_per_hour", a->max_cost_micros_hour,
                  b->max_cost_micros_hour);
    count_changes(c, "limits.", "max_ends", now->max_ends, then->max_ends);
    value_changes(c, "limits.", "end_outdated",
                  a->end_outdated ? "true" : "false",
                  b->end_outdated ? "true" : "false");
}

void changes_write(const struct config *now, const struct config *then,
                   struct buf *ret)
{
    struct changes c = {.to = ret};

    for (uint32_t i = 0; i < now->n_types; i++) {
        const struct conf_type *was = &now->types[i];
        const struct conf_type *is = type_of(then, was->fact.name);

        if (is)
            type_changes(&c, was, is);
        else if (begin(&c))
            buf_printf(ret, "it drops node_types.%s; ", was->fact.name);
    }
    for (uint32_t i = 0; i < then->n_types; i++)
        if (!type_of(now, then->types[i].fact.name) && begin(&c))
            buf_printf(ret, "it adds node_types.%s; ",
                       then->types[i].fact.name);
    for (uint32_t i = 0; i < then->n_providers; i++)
        if (!has_provider(now, then->providers[i].name) && begin(&c))
            buf_printf(ret, "it adds providers.%s; ", then->providers[i].name);
    limits_changes(&c, now, then);
    if (c.more)
        buf_printf(ret, "it changes %u things more; ", c.more);
}
