/*
 * problem.c - problem_make(): checks and sorts a snapshot, then has each part
 * built in turn; problem_build.h says in which order, and why.
 */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "accel.h"
#include "problem_build.h"
#include "radix.h"

/* ---- checking and sorting */

static int by_type_name(const void *a, const void *b)
{
    return strcmp((*(const struct snap_type *const *)a)->name,
                  (*(const struct snap_type *const *)b)->name);
}

static const char *text(const char *s)
{
    return s ? s : "";
}

static enum status check_amounts(const struct qtys *q, const char *what,
                                 const char *name, struct err *err)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (q->v[i].amount < 0)
            return err_set(err, ST_INVALID,
                           "%s '%s' has less than 0 of %s: 0 or more", what,
                           name, q->v[i].name);
    return ST_OK;
}

static enum status sort_types(struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;

    m->types = ARENA_ARRAY(&m->scratch, const struct snap_type *, f->n_types);
    for (uint32_t i = 0; i < f->n_types; i++) {
        const struct snap_type *t = m->types[i] = &f->types[i];

        if (!text(t->name)[0])
            return err_set(err, ST_INVALID, "node type %u has no name", i);
        if (t->n_offers == 0)
            return err_set(err, ST_INVALID,
                           "node type '%s' has no offers: at least one",
                           t->name);
        if (check_amounts(&t->resources, "node type", t->name, err) != ST_OK)
            return ST_INVALID;
    }
    if (f->n_types > 1)
        qsort(m->types, f->n_types, sizeof *m->types, by_type_name);
    for (uint32_t i = 1; i < f->n_types; i++)
        if (strcmp(m->types[i - 1]->name, m->types[i]->name) == 0)
            return err_set(err, ST_INVALID,
                           "node type '%s' is given twice: names must differ",
                           m->types[i]->name);
    return ST_OK;
}

uint32_t builder_type(const struct builder *m, const char *name)
{
    uint32_t lo = 0, hi = m->snapshot->n_types;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = strcmp(m->types[mid]->name, text(name));

        if (c == 0)
            return mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NONE;
}

static const char *node_id(const void *nodes, uint32_t at)
{
    return ((const struct snap_node *)nodes)[at].id;
}

static enum status sort_nodes(struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;
    struct radix_entry *e = ARENA_ARRAY(&m->scratch, struct radix_entry,
                                        f->n_nodes);

    m->nodes = ARENA_ARRAY(&m->scratch, const struct snap_node *, f->n_nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct snap_node *n = &f->nodes[i];

        e[i].at = i;
        if (!text(n->id)[0])
            return err_set(err, ST_INVALID, "node %u has no id", i);
        if (check_amounts(&n->total, "node", n->id, err) != ST_OK ||
            check_amounts(&n->available, "node", n->id, err) != ST_OK)
            return ST_INVALID;
    }
    radix_sort_texts(&m->scratch, e, f->n_nodes, node_id, f->nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        m->nodes[i] = &f->nodes[e[i].at];
    for (uint32_t i = 1; i < f->n_nodes; i++)
        if (strcmp(m->nodes[i - 1]->id, m->nodes[i]->id) == 0)
            return err_set(err, ST_INVALID,
                           "node '%s' is given twice: ids must differ",
                           m->nodes[i]->id);
    return ST_OK;
}
/* ---- rows, and all together */

static int by_amounts(const struct intern_item *a, const struct intern_item *b)
{
    const int64_t *x = a->p, *y = b->p;

    for (uint32_t i = 0; i < a->n / sizeof *x; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Amounts are never negative. */
static uint64_t amounts_first(const struct intern_item *it)
{
    return (uint64_t) * (const int64_t *)it->p;
}

static void rows_lay(struct builder *m)
{
    struct problem *s = m->s;
    struct pb_type *types = (struct pb_type *)s->types;
    struct pb_node *nodes = (struct pb_node *)s->nodes;
    int64_t *rows;

    intern_rank(&m->rows, amounts_first, by_amounts);
    rows = ARENA_ARRAY(m->arena, int64_t, (size_t)m->rows.n * s->n_columns);
    for (uint32_t i = 0; i < m->rows.n; i++)
        memcpy(rows + (size_t)i * s->n_columns, m->rows.items[i].p,
               m->rows.items[i].n);
    for (uint32_t i = 0; i < s->n_types; i++)
        types[i].row = m->rows.rank[types[i].row];
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        nodes[i].total = m->rows.rank[nodes[i].total];
        nodes[i].available = m->rows.rank[nodes[i].available];
    }
    s->rows = rows;
    s->n_rows = m->rows.n;
}

/* ---- in time */

int64_t builder_now_us(const struct builder *m)
{
    return m->deadline_mono_ms ? clock_mono_us() : 0;
}

bool builder_in_time(struct builder *m, uint32_t demand, int64_t since_us)
{
    int64_t now;

    if (!m->deadline_mono_ms)
        return true;
    now = clock_mono_us();
    m->demand_us[demand] += now - since_us;
    m->late = m->late || now >= m->deadline_mono_ms * 1000;
    return !m->late;
}

static enum status late(const struct builder *m, uint32_t *slowest,
                        struct err *err)
{
    const struct snap_demand *d;
    uint32_t at = 0;

    for (uint32_t i = 1; i < m->snapshot->n_demands; i++)
        if (m->demand_us[i] > m->demand_us[at])
            at = i;
    *slowest = at;
    d = &m->snapshot->demands[at];
    return err_set(err, ST_CANCELLED,
                   "it takes too long to look at all that is asked for; what "
                   "'%.100s' asks for took %lld ms of it",
                   text(d->owner), (long long)(m->demand_us[at] / 1000));
}

static enum status all_make(struct builder *m, struct problem **ret,
                            uint32_t *slowest, struct err *err)
{
    const struct snapshot *snapshot = m->snapshot;
    struct problem *s = m->s = ARENA_NEW(m->arena, struct problem);

    s->now_ms = snapshot->now_ms;
    s->limits = snapshot->limits;
    s->sources_fresh = snapshot->sources_fresh;
    s->work_unknown = snapshot->work_unknown;
    s->work_spreads = snapshot->work_spreads;
    if (sort_types(m, err) != ST_OK || sort_nodes(m, err) != ST_OK ||
        builder_check_demands(m, err) != ST_OK ||
        builder_check_queues(m, err) != ST_OK)
        return ST_INVALID;
    builder_strings(m);
    if (m->late)
        return late(m, slowest, err);
    if (builder_columns(m, err) != ST_OK)
        return ST_QUOTA;
    builder_queues_lay(m);
    if (builder_types(m, err) != ST_OK)
        return ST_INVALID;
    builder_nodes(m);
    builder_unhelped_lay(m);
    s->labels = m->labels.v;
    s->accelerator_key = m->id.accelerator;
    builder_demands_intern(m);
    if (m->late)
        return late(m, slowest, err);
    rows_lay(m);
    builder_queues_count(m);
    builder_demands_lay(m);
    builder_digests(m);
    builder_previous_lay(m);
    *ret = s;
    return ST_OK;
}

static enum status make(struct builder *m, struct problem **ret,
                        uint32_t *slowest, struct err *err)
{
    enum status s = all_make(m, ret, slowest, err);

    arena_done(&m->scratch);
    return s;
}

enum status problem_make_within(const struct snapshot *snapshot, uint64_t max,
                                struct arena *arena, struct problem **ret,
                                struct err *err)
{
    struct builder m = {
        .snapshot = snapshot, .arena = arena, .max_amounts = max};

    return make(&m, ret, NULL, err);
}

static enum status invalid(enum status s, struct err *err)
{
    if (s == ST_QUOTA && err)
        err->status = ST_INVALID;
    return s == ST_QUOTA ? ST_INVALID : s;
}

enum status problem_make_by(const struct snapshot *snapshot,
                            int64_t deadline_mono_ms, struct arena *arena,
                            struct problem **ret, uint32_t *slowest,
                            struct err *err)
{
    struct builder m = {
        .snapshot = snapshot,
        .arena = arena,
        .max_amounts = PROBLEM_AMOUNTS_MAX,
        .deadline_mono_ms = deadline_mono_ms,
        .demand_us = ARENA_ARRAY(arena, int64_t, snapshot->n_demands + 1)};

    return invalid(make(&m, ret, slowest, err), err);
}

enum status problem_make(const struct snapshot *snapshot, struct arena *arena,
                         struct problem **ret, struct err *err)
{
    return invalid(
        problem_make_within(snapshot, PROBLEM_AMOUNTS_MAX, arena, ret, err),
        err);
}
