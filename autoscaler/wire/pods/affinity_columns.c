/*
 * affinity_columns.c - conditions between hosts as resources ("columns").  See
 * affinity.h.
 *
 * Of an anti-affinity or a host port each node has one, and none where such a
 * pod runs; of a spread as many as maxSkew allows beyond the emptiest node
 * there will be.  What the DaemonSets of a new node make of it type.c knows.
 * Where two kinds of waiting pods keep each other away the packer may put them
 * together: the scheduler will not, and the next view has what is left.
 */
#include "affinity.h"

#include <string.h>

#include "../../model/amount.h"

static void node_has(struct builder *m, uint32_t node, const char *column,
                     int64_t left, int64_t fresh)
{
    int64_t total = left > fresh ? left : fresh;

    VEC_PUSH(m->arena, &m->nodes[node].more,
             ((struct more){column, left, total}));
}

/* What the pods of each DaemonSet do to it where they run. */
static uint8_t *daemons_bits(struct builder *m, const struct affinity_count *t)
{
    uint8_t *v = ARENA_ARRAY(m->arena, uint8_t, m->n_daemons);

    for (uint32_t n = 0; n < m->n_daemons; n++) {
        const struct daemon *d = m->daemons[n];
        const struct affinity *own = affinity_carried(d->shape, t->x);

        if (affinity_means(m, t, &d->labels, d->space))
            v[n] |= DAEMON_MEANT;
        if (own && t->x->kind == AFFINITY_PORT && !own->self)
            v[n] |= DAEMON_MEANT;
        else if (own)
            v[n] |= DAEMON_CARRIES;
    }
    return v;
}

static const char *column_new(struct builder *m, const char *name,
                              const struct affinity_count *t,
                              enum column_rule rule, int64_t fresh)
{
    struct column c = {.name = arena_strdup(m->arena, name),
                       .fresh = fresh,
                       .rule = rule,
                       .daemons = daemons_bits(m, t)};

    VEC_PUSH(m->arena, &m->columns, c);
    return c.name;
}

/* Does the pod count somewhere that node n belongs to? */
static uint32_t there(const struct builder *m, const struct affinity_count *t,
                      const uint32_t *counts, uint32_t node)
{
    uint32_t at = t->key == ON_HOST ? node : m->keys.v[t->key].of_node[node];

    return at == NO_VALUE ? 0 : counts[at];
}

const char *column_self(struct builder *m, struct affinity_count *t)
{
    if (t->column)
        return t->column;
    t->column = column_new(m, t->x->name, t, COLUMN_SELF, AMOUNT_ONE);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, t->column,
                 t->carriers[i]  ? 0
                 : t->matched[i] ? AMOUNT_ONE - LITTLE
                                 : AMOUNT_ONE,
                 AMOUNT_ONE);
    return t->column;
}

const char *column_where_none(struct builder *m, struct affinity_count *t,
                              bool reverse)
{
    const char **name = reverse ? &t->reverse : &t->column;
    const uint32_t *counts = reverse ? t->carriers : t->matched;

    if (*name)
        return *name;
    *name = column_new(
        m, reverse ? arena_printf(m->arena, "%s-from", t->x->name) : t->x->name,
        t, reverse ? COLUMN_NO_CARRIER : COLUMN_NONE_MEANT, AMOUNT_ONE);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, *name, there(m, t, counts, i) ? 0 : AMOUNT_ONE,
                 AMOUNT_ONE);
    return *name;
}

const char *column_beside(struct builder *m, struct affinity_count *t,
                          const uint32_t *counts, bool joint)
{
    const char **name = joint ? &t->beside : &t->column;

    if (*name && !joint)
        return *name;
    *name = column_new(
        m,
        joint ? arena_printf(m->arena, "%s-all-%u", t->x->name, m->columns.n)
              : t->x->name,
        t, COLUMN_BESIDE, 0);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, *name, there(m, t, counts, i) ? AMOUNT_ONE : 0, 0);
    return *name;
}

/* ---- spread */

void spread_keys_of(const struct builder *m, const struct pod_shape *s,
                    struct spread_keys *ret)
{
    ret->n = 0;
    for (uint32_t i = 0; i < s->n_affinities; i++) {
        const struct affinity *x = &s->affinities[i];
        uint32_t t = x->kind == AFFINITY_SPREAD ? affinity_find(m, x)
                                                : m->n_terms;

        if (t < m->n_terms && m->terms[t].key != ON_HOST && ret->n < 64)
            ret->v[ret->n++] = m->terms[t].key;
    }
}

static bool has_keys(const struct builder *m, const struct spread_keys *keys,
                     const struct view_node *n)
{
    for (uint32_t i = 0; i < keys->n; i++)
        if (m->keys.v[keys->v[i]].of_node[n->k->ix] == NO_VALUE)
            return false;
    return true;
}

bool spread_counts(const struct builder *m, const struct affinity *x,
                   const struct pod_shape *s, const struct spread_keys *keys,
                   const struct view_node *n)
{
    return has_keys(m, keys, n) && (x->any_labels || shape_may_lie(s, n->k)) &&
           (!x->heeds_taints || shape_tolerates(s, n));
}

/* With fewer domains than minDomains the emptiest counts as 0: either that many
 * come to be, or nobody has more than the skew. */
static int64_t cap_of(const struct affinity *x, int64_t least, uint32_t n_there,
                      uint64_t all)
{
    int64_t level;

    if (!x->domains || n_there >= x->domains)
        return least + x->skew;
    level = (int64_t)((all + x->domains - 1) / x->domains);
    if (level > least + x->skew)
        level = least + x->skew;
    return level > x->skew ? level : x->skew;
}

const char *column_spread(struct builder *m, struct affinity_count *t,
                          const struct pod *p, uint32_t n)
{
    const struct pod_shape *s = p->shape;
    int64_t least = INT32_MAX, now = INT32_MAX, cap;
    struct spread_keys keys;
    uint32_t n_there = 0;
    uint64_t all = n;

    if (t->column)
        return *t->column ? t->column : NULL;
    spread_keys_of(m, s, &keys);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        int64_t most;

        if (!spread_counts(m, t->x, s, &keys, &m->nodes[i]))
            continue;
        n_there++;
        all += t->matched[i];
        most = t->matched[i] + (t->self ? node_room_for(&m->nodes[i], s) : 0);
        least = most < least ? most : least;
        now = t->matched[i] < now ? t->matched[i] : now;
    }
    t->column = "";
    if (!n_there && !t->x->domains)
        return NULL;
    if (t->self)
        cap = cap_of(t->x, least, n_there, all);
    else /* those that wait change nothing: it stays as it is */
        cap = (n_there < t->x->domains ? 0 : now) + t->x->skew + 1;
    cap = (cap < INT32_MAX ? cap : INT32_MAX) * AMOUNT_ONE;
    t->column = column_new(m, t->x->name, t, COLUMN_SPREAD, cap);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        int64_t left = cap - (int64_t)t->matched[i] * AMOUNT_ONE;

        node_has(m, i, t->column, left > 0 ? left : 0, cap);
    }
    return t->column;
}
