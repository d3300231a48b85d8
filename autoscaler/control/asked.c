/*
 * asked.c - see asked.h.
 *
 * Shapes and names are counted by a hash of 64 bits: two that share one count
 * as one, which is no harm.
 */
#include "asked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../model/bundle.h"

/* Together they leave the planner room for what the head asks: past
 * PROBLEM_BUNDLES_MAX it plans for nobody at all. */
enum {
    TIMES = 6, /* no ceiling is passed further, whoever asks: 5.4 with 20,000 */
    OWNERS_MAX = 20000,
    BUNDLES_MAX = 5000000,
    NAMES_MAX = 256, /* a column each: with so many shapes 10 MiB */
    BYTES_MAX = 8 << 20
};
_Static_assert((uint64_t)TIMES *BUNDLES_MAX + ASKED_OF_SOURCES_MAX <=
                   PROBLEM_BUNDLES_MAX,
               "what all doors let in together fits a plan");

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

struct asked_share {
    char *name;
    uint64_t hash;
    struct asked_part part;
};

static void alt_count(struct asked_part *a, const struct snap_alt *alt, int by)
{
    const struct snap_bundle one = {.alts = alt, .n_alts = 1};
    uint64_t values = alt->tolerations.n;

    count(&a->shapes, bundle_hash(HASH_SEED, &one), by);
    for (uint32_t i = 0; i < alt->resources.n; i++)
        count(&a->names, hash_text(HASH_SEED, alt->resources.v[i].name), by);
    for (uint32_t i = 0; i < alt->selector.n; i++)
        values += alt->selector.v[i].values.n;
    a->values += (uint64_t)(int64_t)by * values;
}

static void part_count(struct asked_part *a, const struct snap_demand *d,
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

static void table_done(struct hash *t)
{
    struct counted *c;

    for (uint32_t at = 0; (c = hash_each(t, &at));)
        free(c);
    hash_done(t);
}

static void part_done(struct asked_part *p)
{
    table_done(&p->shapes);
    table_done(&p->names);
}

/* ---- who asks */

static struct asked_share *share_find(const struct asked *a, const char *name)
{
    struct asked_share *s;
    uint64_t h = hash_name(name);

    for (uint32_t at = 0; (s = hash_next(&a->shares, h, &at));)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

static void share_free(struct asked_share *s)
{
    part_done(&s->part);
    free(s->name);
    free(s);
}

void asked_add(struct asked *a, const char *share, const struct snap_demand *d,
               size_t bytes)
{
    struct asked_share *s = share_find(a, share);

    if (!s) {
        s = MEM_NEW(struct asked_share);
        s->name = mem_strdup(share);
        s->hash = hash_name(share);
        hash_add(&a->shares, s->hash, s);
    }
    part_count(&s->part, d, bytes, 1);
    part_count(&a->all, d, bytes, 1);
}

void asked_remove(struct asked *a, const char *share,
                  const struct snap_demand *d, size_t bytes)
{
    struct asked_share *s = share_find(a, share);

    assert(s && s->part.owners > 0);
    part_count(&a->all, d, bytes, -1);
    part_count(&s->part, d, bytes, -1);
    if (s->part.owners)
        return;
    hash_remove(&a->shares, s->hash, s);
    share_free(s);
}

void asked_done(struct asked *a)
{
    struct asked_share *s;

    for (uint32_t at = 0; (s = hash_each(&a->shares, &at));)
        share_free(s);
    hash_done(&a->shares);
    part_done(&a->all);
}

void asked_planned(struct asked *a, const struct problem *now)
{
    uint64_t lines = 0;

    for (uint32_t i = 0; i < now->n_bundles; i++)
        lines += now->bundles[i].n_alts;
    a->other_rows = 1 + now->n_types + 2 * (uint64_t)now->n_nodes +
                    (lines > a->all.lines ? lines - a->all.lines : 0);
    a->columns = now->n_columns > a->all.names.n
                     ? now->n_columns - a->all.names.n
                     : 0;
}

static struct asked_sums sums_of(const struct asked_part *p)
{
    return (struct asked_sums){
        .bundles = p->bundles,
        .lines = p->lines,
        .values = p->values,
        .bytes = p->bytes,
        .owners = p->owners,
        .shapes = p->shapes.n,
        .names = p->names.n,
    };
}

struct asked_sums asked_sums(const struct asked *a)
{
    struct asked_sums s = sums_of(&a->all);

    s.amounts = (a->other_rows + s.lines) * (a->columns + s.names);
    return s;
}

/* What this one asks for; amounts: 0. */
static struct asked_sums share_sums(const struct asked *a, const char *share)
{
    const struct asked_share *s = share_find(a, share);

    return s ? sums_of(&s->part) : (struct asked_sums){0};
}

uint32_t asked_shares(const struct asked *a)
{
    return a->shares.n;
}

uint64_t asked_share_of(uint64_t most, uint32_t shares)
{
    return most / (shares > 8 ? 2 * (uint64_t)shares : 16);
}

/* ---- too much */

struct limit {
    enum status s;
    uint64_t was, is, his, most;
    const char *what, *hint;
};

static enum status refuse(const struct limit *l, uint64_t share,
                          struct err *err)
{
    return err_set(
        err, l->s,
        "bundles: with those of all owners there would be "
        "%llu %s; at most %llu may be%s: %s",
        (unsigned long long)l->is, l->what, (unsigned long long)l->most,
        l->his > share ? ", and these are more than your share" : "", l->hint);
}

enum status asked_check(const struct asked *a, const char *share,
                        const struct asked_sums *before, struct err *err)
{
    const struct asked_sums now = asked_sums(a);
    const struct asked_sums his = share_sums(a, share);
    const struct limit limits[] = {
        {ST_INVALID, before->owners, now.owners, his.owners, OWNERS_MAX,
         "owners with a request", "clear some"},
        {ST_INVALID, before->bundles, now.bundles, his.bundles, BUNDLES_MAX,
         "bundles", "ask for less at once"},
        {ST_QUOTA, before->lines, now.lines, his.lines, ASKED_LINES_MAX,
         "entries, each alternative of an any_of one",
         "write identical bundles once, with a count"},
        {ST_QUOTA, before->values, now.values, his.values, ASKED_VALUES_MAX,
         "values of conditions and tolerations",
         "name nodes by fewer labels, or exclude the few that do not fit"},
        {ST_QUOTA, before->shapes, now.shapes, his.shapes, ASKED_SHAPES_MAX,
         "different shapes of bundles",
         "round quantities up, so that more bundles are alike"},
        {ST_QUOTA, before->names, now.names, his.names, NAMES_MAX,
         "different names of resources", "use labels to name nodes"},
        {ST_QUOTA, before->bytes, now.bytes, his.bytes, BYTES_MAX,
         "bytes of requests", "write identical bundles once, with a count"},
    };
    const struct limit amounts = {
        ST_QUOTA,
        before->amounts,
        now.amounts,
        0,
        PROBLEM_AMOUNTS_MAX,
        "quantities in a plan (resources times nodes, node types and bundles)",
        "use fewer names of resources"};

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct limit *l = &limits[i];
        uint64_t mine = asked_share_of(l->most, a->shares.n);

        if (l->is > l->most && l->is > l->was &&
            (l->his > mine || l->is > TIMES * l->most))
            return refuse(l, mine, err);
    }
    if (amounts.is > amounts.most && amounts.is > amounts.was)
        return refuse(&amounts, 0, err);
    return ST_OK;
}
