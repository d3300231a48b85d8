/*
 * catalogue.c - looking up a machine type, with what can be attached to it.
 */
#include "catalogue_inside.h"

#include <stdlib.h>
#include <string.h>

#include "../model/amount.h"
#include "grammar.h"

enum { LONGEST_MACHINE = 128 };

int machine_order(const void *a, const void *b)
{
    const struct machine *x = *(const struct machine *const *)a;
    const struct machine *y = *(const struct machine *const *)b;

    return strcmp(x->m.name, y->m.name);
}

static const struct machine *machine_get(const struct catalogue *c,
                                         const char *name)
{
    struct machine key = {.m = {.name = name}};
    const struct machine *k = &key, *const * found;

    found = bsearch(&k, c->machines, c->n_machines, sizeof *c->machines,
                    machine_order);
    return found ? *found : NULL;
}

static enum status machine_unknown(const struct catalogue *c, const char *name,
                                   struct arena *arena, struct err *err)
{
    const char **names = ARENA_ARRAY(arena, const char *, c->n_machines);

    const char *near;

    for (uint32_t i = 0; i < c->n_machines; i++)
        names[i] = c->machines[i]->m.name;
    near = grammar_hint(arena, name, names, c->n_machines);
    return err_set(
        err, ST_NOT_FOUND, "%s is not in the catalogue of %u machine types%s",
        diag_quote(arena, name), c->n_machines,
        *near ? near
              : "; say its resources, or add it to a file named by catalogue");
}

static bool attachment_is(const struct attachment *a, const char *name)
{
    if (strcasecmp(a->name, name) == 0 || strcasecmp(a->accelerator, name) == 0)
        return true;
    for (uint32_t i = 0; i < a->aliases.n; i++)
        if (strcasecmp(a->aliases.v[i], name) == 0)
            return true;
    return false;
}

/* The last entry counts: a user's file comes after ours. */
static const struct attachment *attachment_get(const struct catalogue *c,
                                               const char *cloud,
                                               const char *name)
{
    for (uint32_t i = c->n_attachments; i-- > 0;)
        if (strcmp(c->attachments[i]->cloud, cloud) == 0 &&
            attachment_is(c->attachments[i], name))
            return c->attachments[i];
    return NULL;
}

/* "t4", "nvidia-tesla-t4x2": the name as a whole first, for one that itself
 * ends in x and digits. */
static const struct attachment *attachment_split(const struct catalogue *c,
                                                 const char *cloud,
                                                 const char *text,
                                                 struct arena *arena,
                                                 uint32_t *ret_count)
{
    const struct attachment *a = attachment_get(c, cloud, text);
    const char *x = strrchr(text, 'x');
    size_t digits = x ? strspn(x + 1, "0123456789") : 0;

    *ret_count = 1;
    if (a || !x || x == text || !digits || digits > 4 || x[1 + digits])
        return a;
    *ret_count = (uint32_t)strtoul(x + 1, NULL, 10);
    return attachment_get(c, cloud,
                          arena_strndup(arena, text, (size_t)(x - text)));
}

static enum status attachment_unknown(const struct catalogue *c,
                                      const struct machine *m, const char *text,
                                      struct arena *arena, struct err *err)
{
    const char **names = ARENA_ARRAY(arena, const char *, c->n_attachments + 1);
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n_attachments; i++)
        if (strcmp(c->attachments[i]->cloud, m->m.cloud) == 0)
            names[n++] = c->attachments[i]->name;
    if (!n)
        return err_set(
            err, ST_NOT_FOUND,
            "no accelerator can be attached to %s: the catalogue has none for "
            "its cloud",
            m->m.name);
    return err_set(
        err, ST_NOT_FOUND, "%s cannot be attached to %s; what can: %s",
        diag_quote(arena, text), m->m.name, grammar_or(arena, names, n));
}

/* ---- prices by region */

/* us-east-1 or us-east-1a, us-central1-a, westeurope-1: a region, or a zone of it. */
static bool lies_in(const char *place, const char *region)
{
    size_t n = strlen(region);
    const char *rest;

    if (!n || strncmp(place, region, n) != 0)
        return false;
    rest = place + n;
    if (*rest == '-' && rest[1])
        rest++;
    else if (*rest >= '0' && *rest <= '9')
        return false; /* us-east10 is not in us-east1 */
    return !*rest || !rest[1];
}

static int64_t listed_in(struct cat_prices prices, const char *region,
                         int64_t price, const char *place)
{
    for (uint32_t i = 0; i < prices.n; i++)
        if (lies_in(place, prices.v[i].region))
            return prices.v[i].micros_hour;
    return lies_in(place, region) ? price : -1;
}

int64_t catalogue_price(const struct cat_machine *m, const char *place,
                        bool *ret_there)
{
    int64_t there = listed_in(m->prices, m->region, m->price_micros_hour,
                              place);

    *ret_there = there >= 0 || !*place || !*m->region;
    return there >= 0 ? there : m->price_micros_hour;
}

/* Of regions where both are listed. */
static struct cat_prices prices_sum(const struct cat_machine *m,
                                    const struct attachment *a, uint32_t count,
                                    struct arena *arena)
{
    struct cat_price *v = ARENA_ARRAY(arena, struct cat_price, m->prices.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->prices.n; i++) {
        const struct cat_price *x = &m->prices.v[i];
        int64_t each = listed_in(a->prices, a->region, a->price, x->region);

        if (each >= 0)
            v[n++] = (struct cat_price){x->region,
                                        x->micros_hour + each * count};
    }
    return (struct cat_prices){v, n};
}

static enum status attach(const struct machine *m, const struct attachment *a,
                          uint32_t count, const char *full, struct arena *arena,
                          struct cat_machine *ret, struct err *err)
{
    struct qty *q = ARENA_ARRAY(arena, struct qty, m->m.resources.n + 1);
    const char *counts[MOST_COUNTS];
    uint32_t i = 0;

    while (i < a->n_counts && a->counts[i] != count)
        i++;
    if (i == a->n_counts) {
        for (i = 0; i < a->n_counts; i++)
            counts[i] = arena_printf(arena, "%u", a->counts[i]);
        return err_set(err, ST_NOT_FOUND, "%s can be attached %s times, got %u",
                       a->name, grammar_or(arena, counts, a->n_counts), count);
    }
    if (m->m.resources.n)
        memcpy(q, m->m.resources.v, m->m.resources.n * sizeof *q);
    q[m->m.resources.n] = (struct qty){"GPU", count * AMOUNT_ONE};
    *ret = m->m;
    ret->name = arena_strdup(arena, full);
    ret->accelerator = a->accelerator;
    ret->resources = (struct qtys){q, m->m.resources.n + 1};
    ret->price_micros_hour = m->m.price_micros_hour < 0 || a->price < 0
                                 ? -1
                                 : m->m.price_micros_hour + a->price * count;
    ret->prices = prices_sum(&m->m, a, count, arena);
    ret->spot_micros_hour = m->m.spot_micros_hour < 0 || a->spot < 0
                                ? -1
                                : m->m.spot_micros_hour + a->spot * count;
    if (strcmp(a->as_of, m->m.as_of) < 0 && *a->as_of)
        ret->as_of = a->as_of; /* a sum is as old as its oldest part */
    return ST_OK;
}

enum status catalogue_find(const struct catalogue *c, const char *machine,
                           struct arena *arena, struct cat_machine *ret,
                           struct err *err)
{
    const struct machine *m = machine_get(c, machine);
    const struct attachment *a;
    const char *plus = strchr(machine, '+'), *base;
    uint32_t count;

    if (m) {
        *ret = m->m;
        return ST_OK;
    }
    if (strlen(machine) > LONGEST_MACHINE || !plus)
        return machine_unknown(c, machine, arena, err);
    base = arena_strndup(arena, machine, (size_t)(plus - machine));
    m = machine_get(c, base);
    if (!m)
        return machine_unknown(c, base, arena, err);
    if (!m->attach)
        return err_set(
            err, ST_NOT_FOUND,
            "no accelerator can be attached to %s; such types say \"attach: "
            "true\" in the catalogue",
            m->m.name);
    a = attachment_split(c, m->m.cloud, plus + 1, arena, &count);
    if (!a)
        return attachment_unknown(c, m, plus + 1, arena, err);
    return attach(m, a, count, machine, arena, ret, err);
}

void catalogue_each(const struct catalogue *c, struct arena *arena,
                    void (*each)(void *arg, const struct cat_machine *m),
                    void *arg)
{
    for (uint32_t i = 0; i < c->n_machines; i++)
        each(arg, &c->machines[i]->m);
    for (uint32_t i = 0; i < c->n_attachments; i++) {
        const struct attachment *a = c->attachments[i];
        struct qty *one = ARENA_NEW(arena, struct qty);

        *one = (struct qty){"GPU", AMOUNT_ONE};
        each(arg,
             &(struct cat_machine){.name = arena_printf(arena, "+%s", a->name),
                                   .cloud = a->cloud,
                                   .accelerator = a->accelerator,
                                   .region = a->region,
                                   .as_of = a->as_of,
                                   .arch = "",
                                   .network = "",
                                   .sold = "",
                                   .resources = {one, 1},
                                   .price_micros_hour = a->price,
                                   .prices = a->prices,
                                   .spot_micros_hour = a->spot});
    }
}
