/*
 * crowd.c - how much of what a head names a plan looks at.
 *
 * A plan has a column for each name of a resource and a row for each node and
 * each shape that waits: a head whose tasks all name resources of their own
 * would make it as large as memory is.  So there are limits, and what is past
 * them is left out and counted: names that the fewest use, then shapes from the
 * end of their order.  What is left out is not bought for; a node has a little
 * less than it says.  A gang is left out as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "../../model/problem.h"
#include "inside.h"

enum {
    NAMES_LEAST = 256,    /* always: likewise */
    AMOUNTS_MAX = 1 << 23 /* names times rows: 64 MiB */
};

struct use { /* of one name */
    const char *name;
    uint64_t hash;
    uint32_t n;
    bool dropped;
};

struct crowd {
    struct arena *scratch;
    struct source_view *view;
    struct hash known; /* struct use */
    uint32_t lines;    /* kept so far */
    uint32_t dropped;  /* names */
};

static struct use *use_of(const struct crowd *c, const char *name, uint64_t h)
{
    struct use *u;

    for (uint32_t at = 0; (u = hash_next(&c->known, h, &at));)
        if (strcmp(u->name, name) == 0)
            return u;
    return NULL;
}

static void uses_count(struct crowd *c, struct qtys q)
{
    for (uint32_t i = 0; i < q.n; i++) {
        uint64_t h = hash_text(HASH_SEED, q.v[i].name);
        struct use *u = use_of(c, q.v[i].name, h);

        if (!u) {
            u = ARENA_NEW(c->scratch, struct use);
            *u = (struct use){.name = q.v[i].name, .hash = h};
            hash_add(&c->known, h, u);
        }
        u->n++;
    }
}

/* Counts names; returns the rows of a plan. */
static uint64_t view_count(struct crowd *c)
{
    const struct source_view *v = c->view;
    uint64_t lines = 0;

    for (uint32_t i = 0; i < v->n_nodes; i++)
        uses_count(c, v->nodes[i].total);
    for (uint32_t i = 0; i < v->n_demands; i++)
        for (uint32_t b = 0; b < v->demands[i].n_bundles; b++) {
            const struct snap_bundle *x = &v->demands[i].bundles[b];

            lines += x->n_alts;
            for (uint32_t k = 0; k < x->n_alts; k++)
                uses_count(c, x->alts[k].resources);
        }
    return 1 + 2 * (uint64_t)v->n_nodes + lines;
}

/* Those that the most use first. */
static int by_use(const void *a, const void *b)
{
    const struct use *x = *(struct use *const *)a, *y = *(struct use *const *)b;

    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->name, y->name);
}

static void names_drop(struct crowd *c, uint64_t rows)
{
    uint64_t most = AMOUNTS_MAX / rows;
    struct use **v, *u;
    uint32_t n = 0;

    if (most < NAMES_LEAST)
        most = NAMES_LEAST;
    if (c->known.n <= most)
        return;
    v = ARENA_ARRAY(c->scratch, struct use *, c->known.n);
    for (uint32_t at = 0; (u = hash_each(&c->known, &at));)
        v[n++] = u;
    qsort(v, n, sizeof *v, by_use);
    for (uint32_t i = (uint32_t)most; i < n; i++)
        v[i]->dropped = true;
    c->dropped = n - (uint32_t)most;
}

static bool is_dropped(const struct crowd *c, const char *name)
{
    const struct use *u = use_of(c, name, hash_text(HASH_SEED, name));

    return u && u->dropped;
}

static bool any_dropped(const struct crowd *c, struct qtys q)
{
    for (uint32_t i = 0; i < q.n; i++)
        if (is_dropped(c, q.v[i].name))
            return true;
    return false;
}

/* The view is ours alone, as long as it is being made. */
static void qtys_drop(const struct crowd *c, struct qtys *q)
{
    struct qty *v = (struct qty *)(uintptr_t)q->v;
    uint32_t n = 0;

    for (uint32_t i = 0; i < q->n; i++)
        if (!is_dropped(c, v[i].name))
            v[n++] = v[i];
    q->n = n;
}

/* Fewer alternatives will do, none will not. */
static bool bundle_keep(struct crowd *c, struct snap_bundle *b)
{
    struct snap_alt *v = (struct snap_alt *)(uintptr_t)b->alts;
    uint32_t n = 0;

    for (uint32_t i = 0; c->dropped && i < b->n_alts; i++)
        if (!any_dropped(c, v[i].resources))
            v[n++] = v[i];
    if (c->dropped)
        b->n_alts = n;
    if (!b->n_alts || c->lines + b->n_alts > ASKED_LINES_MAX)
        return false;
    c->lines += b->n_alts;
    return true;
}

static void demand_keep(struct crowd *c, struct snap_demand *d)
{
    struct snap_bundle *v = (struct snap_bundle *)(uintptr_t)d->bundles;
    uint32_t n = 0, lines = c->lines, all = d->n_bundles;

    for (uint32_t i = 0; i < all; i++)
        if (bundle_keep(c, &v[i]))
            v[n++] = v[i];
    if (d->source == SOURCE_GANG && n < all) {
        n = 0;
        c->lines = lines;
    }
    d->n_bundles = n;
    c->view->n_crowded += all - n;
}

void ray_crowd_limit(struct arena *scratch, struct source_view *view)
{
    struct crowd c = {.scratch = scratch, .view = view};
    struct source_node *nodes = (struct source_node *)(uintptr_t)view->nodes;
    struct snap_demand *v = (struct snap_demand *)(uintptr_t)view->demands;
    uint32_t n = 0;
    uint64_t rows;

    hash_init(&c.known, scratch, 64);
    rows = view_count(&c);
    names_drop(&c, rows);
    view->n_names_left = c.dropped;
    for (uint32_t i = 0; c.dropped && i < view->n_nodes; i++) {
        qtys_drop(&c, &nodes[i].total);
        qtys_drop(&c, &nodes[i].available);
    }
    for (uint32_t i = 0; i < view->n_demands; i++) {
        demand_keep(&c, &v[i]);
        if (v[i].n_bundles)
            v[n++] = v[i];
    }
    view->n_demands = n;
}
