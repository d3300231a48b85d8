/*
 * asked.c - see asked.h.
 *
 * Shapes and names are counted by a hash of 64 bits: two that share one count
 * as one, which is no harm.
 */
#include "asked.h"

#include <stdlib.h>

#include "../base/alloc.h"
#include "../model/bundle.h"

/* Together they leave the planner room for what the head asks: it plans for ten
 * million bundles at most, and past that for nobody at all. */
enum {
    OWNERS_MAX = 20000,
    BUNDLES_MAX = 5000000,
    LINES_MAX = 20000, /* about 2 KiB each in a plan, twice */
    SHAPES_MAX = 5000, /* each is tried on every offer: time */
    NAMES_MAX = 256,   /* a column each: with so many shapes 10 MiB */
    BYTES_MAX = 8 << 20
};

struct counted {
    uint64_t hash;
    uint32_t n;
};

static struct counted *find(const struct hash *t, uint64_t h)
{
    struct counted *c;

    for (uint32_t at = 0; (c = hash_next(t, h, &at));)
        if (c->hash == h)
            return c;
    return NULL;
}

static void count(struct hash *t, uint64_t h, int by)
{
    struct counted *c = find(t, h);

    if (!c && by > 0) {
        c = MEM_NEW(struct counted);
        c->hash = h;
        hash_add(t, h, c);
    }
    if (!c)
        return;
    c->n += (uint32_t)by;
    if (c->n)
        return;
    hash_remove(t, h, c);
    free(c);
}

static void alt_count(struct asked *a, const struct snap_alt *alt, int by)
{
    const struct snap_bundle one = {.alts = alt, .n_alts = 1};

    count(&a->shapes, bundle_hash(HASH_SEED, &one), by);
    for (uint32_t i = 0; i < alt->resources.n; i++)
        count(&a->names, hash_text(HASH_SEED, alt->resources.v[i].name), by);
}

static void demand_count(struct asked *a, const struct snap_demand *d,
                         size_t bytes, int by)
{
    const uint64_t sign = (uint64_t)(int64_t)by; /* modulo 2^64 */

    a->owners += (uint32_t)by;
    a->bytes += sign * bytes;
    for (uint32_t i = 0; i < d->n_bundles; i++) {
        const struct snap_bundle *b = &d->bundles[i];

        a->bundles += sign * b->count;
        a->lines += sign * b->n_alts;
        for (uint32_t k = 0; k < b->n_alts; k++)
            alt_count(a, &b->alts[k], by);
    }
}

void asked_add(struct asked *a, const struct snap_demand *d, size_t bytes)
{
    demand_count(a, d, bytes, 1);
}

void asked_remove(struct asked *a, const struct snap_demand *d, size_t bytes)
{
    demand_count(a, d, bytes, -1);
}

static void table_done(struct hash *t)
{
    struct counted *c;

    for (uint32_t at = 0; (c = hash_each(t, &at));)
        free(c);
    hash_done(t);
}

void asked_done(struct asked *a)
{
    table_done(&a->shapes);
    table_done(&a->names);
}

void asked_planned(struct asked *a, const struct problem *now)
{
    uint64_t lines = 0;

    for (uint32_t i = 0; i < now->n_bundles; i++)
        lines += now->bundles[i].n_alts;
    a->other_rows = 1 + now->n_types + 2 * (uint64_t)now->n_nodes +
                    (lines > a->lines ? lines - a->lines : 0);
    a->columns = now->n_columns > a->names.n ? now->n_columns - a->names.n : 0;
}

struct asked_sums asked_sums(const struct asked *a)
{
    return (struct asked_sums){
        .bundles = a->bundles,
        .lines = a->lines,
        .bytes = a->bytes,
        .owners = a->owners,
        .shapes = a->shapes.n,
        .names = a->names.n,
        .amounts = (a->other_rows + a->lines) * (a->columns + a->names.n),
    };
}

enum status asked_check(const struct asked_sums *before,
                        const struct asked_sums *now, struct err *err)
{
    const struct {
        enum status s;
        uint64_t was, is, most;
        const char *what, *hint;
    } limits[] = {
        {ST_INVALID, before->owners, now->owners, OWNERS_MAX,
         "owners with a request", "clear some"},
        {ST_INVALID, before->bundles, now->bundles, BUNDLES_MAX, "bundles",
         "ask for less at once"},
        {ST_QUOTA, before->lines, now->lines, LINES_MAX,
         "entries, each alternative of an any_of one",
         "write identical bundles once, with a count"},
        {ST_QUOTA, before->shapes, now->shapes, SHAPES_MAX,
         "different shapes of bundles",
         "round quantities up, so that more bundles are alike"},
        {ST_QUOTA, before->names, now->names, NAMES_MAX,
         "different names of resources", "use labels to name nodes"},
        {ST_QUOTA, before->bytes, now->bytes, BYTES_MAX, "bytes of requests",
         "write identical bundles once, with a count"},
        {ST_QUOTA, before->amounts, now->amounts, PROBLEM_AMOUNTS_MAX,
         "quantities in a plan (resources times nodes, node types and bundles)",
         "use fewer names of resources"},
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].is > limits[i].most && limits[i].is > limits[i].was)
            return err_set(err, limits[i].s,
                           "bundles: with those of all owners there would be "
                           "%llu %s; at most %llu may be: %s",
                           (unsigned long long)limits[i].is, limits[i].what,
                           (unsigned long long)limits[i].most, limits[i].hint);
    return ST_OK;
}
