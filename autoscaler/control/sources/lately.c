/*
 * lately.c - see lately.h.
 */
#include "lately.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../model/amount.h"

/* Amounts go up to AMOUNT_MAX, sums of them stay within it. */
static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t s = a + b;

    return s > AMOUNT_MAX ? AMOUNT_MAX : s < -AMOUNT_MAX ? -AMOUNT_MAX : s;
}

static bool lives(const struct source_node *n)
{
    return n->status != SOURCE_DEAD && n->status != SOURCE_UNREADY;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qty *)a)->name, ((const struct qty *)b)->name);
}

/* Most often it is where it was in another list of the same: at i. */
static int64_t amount_of(const struct qtys *q, const char *name, uint32_t i)
{
    struct qty key = {name, 0};
    const struct qty *found;

    if (i < q->n && strcmp(q->v[i].name, name) == 0)
        return q->v[i].amount;
    found = q->n ? bsearch(&key, q->v, q->n, sizeof *q->v, by_name) : NULL;
    return found ? found->amount : 0;
}

/* ---- a view beside the one before it */

static void nodes_index(const struct source_view *v, struct hash *to)
{
    for (uint32_t i = 0; v && i < v->n_nodes; i++)
        if (lives(&v->nodes[i]))
            hash_add(to, hash_text(HASH_SEED, v->nodes[i].node_id),
                     (void *)&v->nodes[i]);
}

static const struct source_node *node_in(const struct hash *t, const char *id)
{
    const struct source_node *n;
    uint64_t h = hash_text(HASH_SEED, id);

    for (uint32_t at = 0; (n = hash_next(t, h, &at));)
        if (strcmp(n->node_id, id) == 0)
            return n;
    return NULL;
}

/* The changes of one look, the first of them at `first`. */
struct look {
    struct lately *room;
    uint32_t first;
    struct hash by_key; /* numbers in room->all */
    int64_t mono_ms;
};

static void change_add(struct look *l, uint64_t type, uint64_t resource,
                       int64_t less)
{
    uint64_t key = hash_number(hash_number(HASH_SEED, type), resource);
    struct lately_change *x = NULL;
    uint32_t i;

    for (uint32_t at = 0;
         (i = hash_next_index(&l->by_key, key, &at)) != HASH_NONE;) {
        x = &l->room->all.v[i];
        if (x->type == type && x->resource == resource)
            break;
        x = NULL;
    }
    if (!x && l->room->all.n - l->first >= LATELY_MOST)
        return;
    if (!x) {
        hash_add_index(&l->by_key, key, l->room->all.n);
        VEC_PUSH(NULL, &l->room->all,
                 ((struct lately_change){type, resource, l->mono_ms, 0, 0}));
        x = &l->room->all.v[l->room->all.n - 1];
    }
    x->less = sum_of(x->less, less);
    x->most = less > x->most ? less : x->most;
}

/* was: the same node in the view before; NULL: it came since, with all of its
 * room, or nothing is known of it. */
static void node_look(struct look *l, const struct source_node *was,
                      const struct source_node *n)
{
    uint64_t type = hash_text(HASH_SEED, n->type);

    for (uint32_t i = 0; i < n->total.n; i++) {
        const struct qty *q = &n->total.v[i];
        int64_t had = was ? amount_of(&was->available, q->name, i) : q->amount;
        int64_t less = had - amount_of(&n->available, q->name, i);

        if (less != 0)
            change_add(l, type, hash_text(HASH_SEED, q->name), less);
    }
}

static bool is_over(const struct lately_change *c, int64_t mono_ms)
{
    return mono_ms - c->mono_ms >= LATELY_DOUBT_MS;
}

static void old_leave(struct lately *r, int64_t mono_ms)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->all.n; i++)
        if (!is_over(&r->all.v[i], mono_ms))
            r->all.v[kept++] = r->all.v[i];
    r->all.n = kept;
}

void lately_look(struct lately *r, const struct source_view *before,
                 const struct source_view *now, int64_t mono_ms)
{
    struct look look = {.room = r, .mono_ms = mono_ms};
    struct hash was = {0};

    old_leave(r, mono_ms);
    look.first = r->all.n;
    nodes_index(before, &was);
    for (uint32_t i = 0; i < now->n_nodes; i++)
        if (lives(&now->nodes[i]))
            node_look(&look, node_in(&was, now->nodes[i].node_id),
                      &now->nodes[i]);
    hash_done(&was);
    hash_done(&look.by_key);
}

void lately_done(struct lately *r)
{
    free(r->all.v);
    *r = (struct lately){0};
}

/* ---- what went, in all */

static struct lately_lost *lost_find(struct lately_lost *v, uint32_t *n,
                                     const struct lately_change *c)
{
    for (uint32_t i = 0; i < *n; i++)
        if (v[i].type == c->type && v[i].resource == c->resource)
            return &v[i];
    if (*n == LATELY_MOST)
        return NULL;
    v[*n] = (struct lately_lost){.type = c->type, .resource = c->resource};
    return &v[(*n)++];
}

static int by_type(const void *a, const void *b)
{
    const struct lately_lost *x = a, *y = b;

    return (x->type > y->type) - (x->type < y->type);
}

const struct lately_lost *lately_lost(const struct lately *r, int64_t mono_ms,
                                      struct arena *arena, uint32_t *ret_n)
{
    struct lately_lost *v = ARENA_ARRAY(
        arena, struct lately_lost,
        r->all.n < LATELY_MOST ? r->all.n : LATELY_MOST);
    uint32_t n = 0;

    for (uint32_t i = r->all.n; i-- > 0;) { /* the newest first */
        const struct lately_change *c = &r->all.v[i];
        struct lately_lost *l = is_over(c, mono_ms) ? NULL
                                                    : lost_find(v, &n, c);

        if (!l)
            continue;
        l->sum = sum_of(l->sum, c->less);
        l->lost = l->sum > l->lost ? l->sum : l->lost;
        l->most = c->most > l->most ? c->most : l->most;
    }
    if (n > 1)
        qsort(v, n, sizeof *v, by_type);
    *ret_n = n;
    return v;
}

/* How many of what alt asks for the nodes of one type may have taken: v is what
 * went there. */
static int64_t alt_holds(const struct lately_lost *v, uint32_t n,
                         const struct snap_alt *alt)
{
    int64_t most = INT64_MAX;

    for (uint32_t i = 0; i < alt->resources.n && most > 0; i++) {
        const struct qty *q = &alt->resources.v[i];
        uint64_t name = hash_text(HASH_SEED, q->name);
        int64_t fit = 0;

        if (q->amount <= 0)
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (v[k].resource == name && v[k].most >= q->amount)
                fit = v[k].lost / q->amount;
        most = fit < most ? fit : most;
    }
    return most == INT64_MAX ? 0
                             : most; /* who asks for nothing shows nowhere */
}

uint32_t lately_holds(const struct lately_lost *v, uint32_t n,
                      const struct snap_bundle *b)
{
    int64_t all = 0;

    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].type == v[i].type;)
            end++;
        for (uint32_t k = 0; k < b->n_alts && all < b->count; k++)
            all += alt_holds(v + i, end - i, &b->alts[k]);
    }
    return all < b->count ? (uint32_t)all : b->count;
}

int64_t lately_until_ms(const struct lately *r, int64_t mono_ms)
{
    for (uint32_t i = 0; i < r->all.n; i++)
        if (!is_over(&r->all.v[i], mono_ms))
            return r->all.v[i].mono_ms + LATELY_DOUBT_MS;
    return INT64_MAX;
}
