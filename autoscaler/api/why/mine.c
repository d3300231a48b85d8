/*
 * mine.c - what of a plan belongs to one owner's request.
 *
 * Found by an index that is made once a view: so a list of all requests costs what
 * there is, and not that much for each of them.
 */
#include <stdlib.h>
#include <string.h>

#include "../view.h"

/* Rows, ascending, that hold a bundle of demand d: at[first[d]] to before
 * at[first[d + 1]]. */
struct rows {
    uint32_t *first, *at;
};

struct plan_index {
    struct hash owners; /* of requests: their demands */
    struct rows nodes, launches;
};

/* Of nodes or of launches, the placements of one. */
struct held {
    uint32_t first, n;
};
typedef void held_fn(const struct plan *p, uint32_t row, struct held *ret);

static void node_held(const struct plan *p, uint32_t row, struct held *ret)
{
    *ret = (struct held){p->nodes[row].first_placement,
                         p->nodes[row].n_placements};
}

static void launch_held(const struct plan *p, uint32_t row, struct held *ret)
{
    *ret = (struct held){p->launches[row].first_placement,
                         p->launches[row].n_placements};
}

/* Counts, or with at fills, what each demand has; end[d] moves on. */
static void rows_walk(const struct view *v, held_fn *held, uint32_t n,
                      uint32_t *end, uint32_t *seen, uint32_t *at)
{
    memset(seen, 0, sizeof *seen * v->s->n_demands);
    for (uint32_t row = 0; row < n; row++) {
        struct held h;

        held(v->plan, row, &h);
        for (uint32_t i = h.first; i < h.first + h.n; i++) {
            uint32_t d = v->s->bundles[v->plan->placements[i].bundle].demand;

            if (seen[d] == row + 1)
                continue;
            seen[d] = row + 1;
            if (at)
                at[end[d]] = row;
            end[d]++;
        }
    }
}

static struct rows rows_make(struct view *v, held_fn *held, uint32_t n)
{
    uint32_t n_demands = v->s->n_demands, sum = 0;
    struct rows x = {ARENA_ARRAY(&v->kept, uint32_t, n_demands + 1), NULL};
    uint32_t *end = ARENA_ARRAY(&v->arena, uint32_t, n_demands + 1),
             *seen = ARENA_ARRAY(&v->arena, uint32_t, n_demands + 1);

    rows_walk(v, held, n, end, seen, NULL);
    for (uint32_t d = 0; d <= n_demands; d++) {
        x.first[d] = sum;
        sum += end[d];
        end[d] = x.first[d];
    }
    x.at = ARENA_ARRAY(&v->kept, uint32_t, sum + 1);
    rows_walk(v, held, n, end, seen, x.at);
    return x;
}

static struct plan_index *index_of(struct view *v)
{
    struct plan_index *x = v->index;

    if (x)
        return x;
    v->index = x = ARENA_NEW(&v->kept, struct plan_index);
    hash_init(&x->owners, &v->kept, v->s->n_demands + 1);
    for (uint32_t d = 0; d < v->s->n_demands; d++)
        if (v->s->demands[d].source == SOURCE_REQUEST)
            hash_add_index(&x->owners,
                           hash_name(view_str(v, v->s->demands[d].owner)), d);
    x->nodes = rows_make(v, node_held, v->plan->nodes ? v->s->n_nodes : 0);
    x->launches = rows_make(v, launch_held, v->plan->n_launches);
    return x;
}

static int number_cmp(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The rows of these demands, each once. */
static const uint32_t *rows_of(struct view *v, const struct rows *x,
                               const struct mine *m, uint32_t *ret_n)
{
    uint32_t n = 0, kept = 0;
    uint32_t *ret;

    for (uint32_t i = 0; i < m->n_demands; i++)
        n += x->first[m->demands[i] + 1] - x->first[m->demands[i]];
    ret = ARENA_ARRAY(&v->arena, uint32_t, n + 1);
    n = 0;
    for (uint32_t i = 0; i < m->n_demands; i++)
        for (uint32_t k = x->first[m->demands[i]];
             k < x->first[m->demands[i] + 1]; k++)
            ret[n++] = x->at[k];
    if (m->n_demands > 1)
        qsort(ret, n, sizeof *ret, number_cmp);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || ret[kept - 1] != ret[i])
            ret[kept++] = ret[i];
    *ret_n = kept;
    return ret;
}

struct mine view_mine(struct view *v, const char *owner)
{
    const struct plan_index *x = index_of(v);
    bool *is = ARENA_ARRAY(&v->arena, bool, v->s->n_demands + 1);
    struct mine m = {.is = is};
    uint32_t *demands, d;

    for (uint32_t at = 0; (d = hash_next_index(&x->owners, hash_name(owner),
                                               &at)) != HASH_NONE;) {
        is[d] = strcmp(view_str(v, v->s->demands[d].owner), owner) == 0;
        m.n_demands += is[d];
    }
    demands = ARENA_ARRAY(&v->arena, uint32_t, m.n_demands + 1);
    m.n_demands = 0;
    for (uint32_t at = 0;
         (d = hash_next_index(&x->owners, hash_name(owner), &at)) != HASH_NONE;)
        if (is[d])
            demands[m.n_demands++] = d;
    qsort(demands, m.n_demands, sizeof *demands, number_cmp);
    m.demands = demands;
    m.nodes = rows_of(v, &x->nodes, &m, &m.n_nodes);
    m.launches = rows_of(v, &x->launches, &m, &m.n_launches);
    return m;
}
