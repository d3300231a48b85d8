/*
 * problem_names.c - strings, columns and rows of a snapshot being made.
 *
 * Not every resource becomes a column: what only nodes have and nobody asks
 * for (each Ray node brings a "node:10.0.0.1" of its own) decides nothing, and
 * 1,000 nodes would make 1,000 columns of it.  Of the names that are asked for
 * and offered nowhere the first few are kept, the rest share one column: all
 * are infeasible alike, and a user with 10,000 typos must not cost gigabytes.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "accel.h"
#include "amount.h"
#include "problem_build.h"

#define MAX_UNKNOWN 32 /* names nobody offers that keep their column */
#define OTHER_NAME "other resources"

static const char *const fixed[COL_FIRST_OTHER] = {
    [COL_CPU] = "CPU", [COL_MEMORY] = "memory", [COL_GPU] = "GPU"};

/* The strings of struct builder's id. */
static const struct {
    const char *text;
    size_t at;
} own[] = {
    {"topology.kubernetes.io/zone", offsetof(struct builder, id.topology_zone)},
    {"ray.io/availability-zone", offsetof(struct builder, id.ray_zone)},
    {"zone", offsetof(struct builder, id.zone)},
    {"ray.io/market-type", offsetof(struct builder, id.market)},
    {"spot", offsetof(struct builder, id.spot)},
    {"on-demand", offsetof(struct builder, id.on_demand)},
    {ACCEL_LABEL, offsetof(struct builder, id.accelerator)},
    {QUEUE_LABEL, offsetof(struct builder, id.queue)},
};
enum { N_OWN = sizeof own / sizeof *own };

enum { ON_TYPE = 1, ON_NODE = 2, ASKED = 4 };

const char *builder_canonical(struct builder *m, const char *accelerator)
{
    const uint32_t n = sizeof m->canonical / sizeof *m->canonical;
    const char *to;

    for (uint32_t i = 0; i < n && i < m->n_canonical; i++)
        if (strcmp(m->canonical[i].from, accelerator) == 0)
            return m->canonical[i].to;
    to = accel_type_canonical(accelerator);
    m->canonical[m->n_canonical % n].from = accelerator;
    m->canonical[m->n_canonical % n].to = to;
    m->n_canonical++;
    return to;
}

static uint32_t put(struct builder *m, const char *s)
{
    return intern_add(&m->strings, s ? s : "", s ? strlen(s) + 1 : 1, 1);
}

uint32_t builder_id(const struct builder *m, const char *s)
{
    uint32_t id = intern_find(&m->strings, s ? s : "", s ? strlen(s) + 1 : 1);

    assert(id != UINT32_MAX);
    return id;
}

static bool is_accelerator_key(const char *key)
{
    return strcmp(key, ACCEL_LABEL) == 0 ||
           strcmp(key, "accelerator_type") == 0;
}

static void put_pairs(struct builder *m, const struct pairs *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        put(m, p->v[i].key);
        put(m, p->v[i].value);
        if (is_accelerator_key(p->v[i].key))
            put(m, builder_canonical(m, p->v[i].value));
    }
}

/* An accelerator named by a label goes before one named by a resource. */
static void put_markers(struct builder *m, const struct qtys *q,
                        const struct pairs *labels)
{
    for (uint32_t i = 0; i < labels->n; i++)
        if (strcmp(labels->v[i].key, ACCEL_LABEL) == 0)
            return;
    for (uint32_t i = 0; i < q->n; i++) {
        const char *type = accel_type_of_resource(q->v[i].name);

        if (type && q->v[i].amount > 0)
            put(m, builder_canonical(m, type));
    }
}

static void put_taints(struct builder *m, const struct taints *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        put(m, t->v[i].key);
        put(m, t->v[i].value);
        m->tainted |= t->v[i].effect != EFFECT_PREFER_NO_SCHEDULE;
    }
}

static void put_alt(struct builder *m, const struct snap_alt *a)
{
    for (uint32_t i = 0; i < a->tolerations.n; i++) {
        put(m, a->tolerations.v[i].key);
        put(m, a->tolerations.v[i].value);
    }
    put_markers(m, &a->resources, &(struct pairs){0});
    for (uint32_t i = 0; i < a->selector.n; i++) {
        const struct term *t = &a->selector.v[i];
        bool accelerator = strcmp(t->key, ACCEL_LABEL) == 0;

        put(m, t->key);
        for (uint32_t j = 0; j < t->values.n; j++)
            put(m, accelerator ? builder_canonical(m, t->values.v[j])
                               : t->values.v[j]);
    }
}

/* Names of resources, with who has or wants them as flags by number. */
struct names_seen {
    VEC(uint32_t) flags;
};

static void see(struct builder *m, struct names_seen *seen,
                const struct qtys *q, uint32_t flag)
{
    for (uint32_t i = 0; i < q->n; i++) {
        const char *name = q->v[i].name;
        uint32_t at;

        if (q->v[i].amount == 0 || accel_type_of_resource(name))
            continue;
        at = intern_add(&m->names, name, strlen(name) + 1, 0);
        if (at == seen->flags.n)
            VEC_PUSH(&m->scratch, &seen->flags, flag);
        else
            seen->flags.v[at] |= flag;
    }
}

void builder_strings(struct builder *m)
{
    const struct snapshot *f = m->snapshot;

    intern_init(&m->strings, &m->scratch, 256 + f->n_nodes);
    m->strings.copies = m->arena; /* they stay */
    put(m, "");
    for (size_t i = 0; i < N_OWN; i++)
        put(m, own[i].text);
    for (uint32_t i = 0; i < f->n_types; i++) {
        const struct snap_type *t = &f->types[i];

        put(m, t->name);
        put(m, t->provider);
        put_pairs(m, &t->labels);
        put_markers(m, &t->resources, &t->labels);
        put_taints(m, &t->taints);
        for (uint32_t j = 0; j < t->n_offers; j++) {
            put(m, t->offers[j].zone);
            put_taints(m, &t->offers[j].taints);
            for (uint32_t k = 0; k < t->offers[j].quotas.n; k++)
                put(m, t->offers[j].quotas.v[k].name);
        }
    }
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        put(m, f->nodes[i].id);
        put(m, f->nodes[i].zone);
        put_pairs(m, &f->nodes[i].labels);
        put_markers(m, &f->nodes[i].total, &f->nodes[i].labels);
        put_taints(m, &f->nodes[i].taints);
        put(m, f->nodes[i].host_group);
    }
    for (uint32_t i = 0; i < f->n_queues; i++)
        put(m, f->queues[i].name);
    for (uint32_t i = 0; i < f->n_demands; i++) {
        const struct snap_demand *d = &f->demands[i];
        int64_t since = builder_now_us(m);

        put(m, d->owner);
        put(m, d->id);
        for (uint32_t j = 0; j < d->n_bundles; j++)
            for (uint32_t k = 0; k < d->bundles[j].n_alts; k++)
                put_alt(m, &d->bundles[j].alts[k]);
        if (!builder_in_time(m, i, since))
            return;
    }
}

static uint32_t fixed_column(const char *name)
{
    for (uint32_t c = 0; c < COL_FIRST_OTHER; c++)
        if (strcmp(name, fixed[c]) == 0)
            return c;
    return NONE;
}

/* Collects the names of resources; how many rows there can be at most. */
static uint64_t names_see(struct builder *m, struct names_seen *seen)
{
    const struct snapshot *f = m->snapshot;
    uint64_t n_rows = 1 + f->n_types + 2 * (uint64_t)f->n_nodes;

    intern_init(&m->names, &m->scratch, 64);
    for (uint32_t i = 0; i < f->n_types; i++)
        see(m, seen, &f->types[i].resources, ON_TYPE);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        see(m, seen, &f->nodes[i].total, ON_NODE);
    for (uint32_t i = 0; i < f->n_demands; i++)
        for (uint32_t j = 0; j < f->demands[i].n_bundles; j++) {
            const struct snap_bundle *b = &f->demands[i].bundles[j];

            n_rows += b->n_alts;
            for (uint32_t k = 0; k < b->n_alts; k++)
                see(m, seen, &b->alts[k].resources, ASKED);
        }
    intern_rank_texts(&m->names);
    return n_rows;
}

/* Fills column_of and names, which has room for one column more than there are
 * names and fixed ones; how many columns there are. */
static uint32_t columns_choose(struct builder *m, const struct names_seen *seen,
                               const char **names)
{
    uint32_t n = COL_FIRST_OTHER, unknown = 0;
    bool other = false;

    memcpy(names, fixed, sizeof fixed);
    for (uint32_t i = 0; i < m->names.n; i++) {
        const char *name = m->names.items[i].p;
        uint32_t flags = seen->flags.v[m->names.items[i].id];

        m->column_of[i] = fixed_column(name);
        if (m->column_of[i] != NONE ||
            (flags == ON_NODE && !accel_is_device(name)))
            continue;
        if (flags == ASKED && unknown++ >= MAX_UNKNOWN) {
            other = true; /* gets its column below */
            continue;
        }
        m->column_of[i] = n;
        names[n++] = name;
    }
    if (!other)
        return n;
    for (uint32_t i = 0; i < m->names.n; i++)
        if (m->column_of[i] == NONE &&
            seen->flags.v[m->names.items[i].id] == ASKED)
            m->column_of[i] = n;
    names[n] = OTHER_NAME;
    return n + 1;
}

static void strings_lay(struct builder *m)
{
    const char **str;

    intern_rank_texts(&m->strings);
    str = ARENA_ARRAY(m->arena, const char *, m->strings.n);
    for (uint32_t i = 0; i < m->strings.n; i++)
        str[i] = m->strings.items[i].p;
    m->s->str = str;
    m->s->n_str = m->strings.n;
    for (size_t i = 0; i < N_OWN; i++)
        *(uint32_t *)((char *)m + own[i].at) = builder_id(m, own[i].text);
}

enum status builder_columns(struct builder *m, struct err *err)
{
    struct problem *s = m->s;
    struct names_seen seen = {{0}};
    uint64_t n_rows = names_see(m, &seen);
    struct pb_column *columns;
    const char **names;
    uint32_t n;

    m->column_of = ARENA_ARRAY(&m->scratch, uint32_t, m->names.n + 1);
    names = ARENA_ARRAY(&m->scratch, const char *, m->names.n + 4);
    n = columns_choose(m, &seen, names);
    if (n_rows * n > m->max_amounts)
        return err_set(err, ST_QUOTA,
                       "%u different resources on %llu node types, nodes and "
                       "bundles are too many: at most %llu quantities in all",
                       n, (unsigned long long)n_rows,
                       (unsigned long long)m->max_amounts);
    for (uint32_t c = 0; c < n; c++)
        put(m, names[c]);
    strings_lay(m);
    columns = ARENA_ARRAY(m->arena, struct pb_column, n);
    for (uint32_t c = 0; c < n; c++)
        columns[c] = (struct pb_column){
            .name = builder_id(m, names[c]),
            .device = accel_is_device(names[c]),
            .fractions = accel_fractions(names[c]),
        };
    s->columns = columns;
    s->n_columns = n;
    m->row = ARENA_ARRAY(&m->scratch, int64_t, n);
    intern_init(&m->rows, &m->scratch, 256);
    return ST_OK;
}

static uint32_t column_of(const struct builder *m, const char *name)
{
    uint32_t c = fixed_column(name), rank;

    if (c != NONE)
        return c;
    rank = intern_find(&m->names, name, strlen(name) + 1);
    return rank == UINT32_MAX ? NONE : m->column_of[rank];
}

uint32_t builder_row(struct builder *m, const struct qtys *q, bool whole_up)
{
    const uint32_t n = m->s->n_columns;

    memset(m->row, 0, n * sizeof *m->row);
    for (uint32_t i = 0; i < q->n; i++) {
        uint32_t c = column_of(m, q->v[i].name);

        if (c != NONE)
            m->row[c] = amount_add(m->row[c], q->v[i].amount);
    }
    for (uint32_t c = 0; whole_up && c < n; c++)
        if (m->s->columns[c].device && m->row[c] > AMOUNT_ONE)
            m->row[c] = (m->row[c] + AMOUNT_ONE - 1) / AMOUNT_ONE * AMOUNT_ONE;
    return intern_add(&m->rows, m->row, n * sizeof *m->row, 1);
}

bool builder_has_accelerator(const struct qtys *q)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (q->v[i].amount > 0 &&
            (accel_is_device(q->v[i].name) ||
             (strchr(q->v[i].name, '/') && accel_from_k8s(q->v[i].name))))
            return true;
    return false;
}
