/*
 * lately.c - see lately.h.
 */
#include "lately.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../model/amount.h"
#include "../../model/bundle.h"

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
            hash_add(to, hash_name(v->nodes[i].node_id), (void *)&v->nodes[i]);
}

static const struct source_node *node_in(const struct hash *t, const char *id)
{
    const struct source_node *n;
    uint64_t h = hash_name(id);

    for (uint32_t at = 0; (n = hash_next(t, h, &at));)
        if (strcmp(n->node_id, id) == 0)
            return n;
    return NULL;
}

/* The changes of one look: those of `to` from `first` on. */
struct look {
    struct lately_changes *to;
    uint32_t first;
    struct hash by_key; /* numbers in to->v */
    int64_t mono_ms;
};

static uint64_t key_of(const struct lately_change *c)
{
    return hash_number(hash_number(HASH_SEED, c->type), c->what);
}

static void change_add(struct look *l, struct lately_change c)
{
    uint64_t key = key_of(&c);
    struct lately_change *x = NULL;
    uint32_t i;

    for (uint32_t at = 0;
         (i = hash_next_index(&l->by_key, key, &at)) != HASH_NONE;) {
        x = &l->to->v[i];
        if (x->type == c.type && x->what == c.what)
            break;
        x = NULL;
    }
    if (!x && l->to->n - l->first >= LATELY_MOST)
        return;
    if (!x) {
        hash_add_index(&l->by_key, key, l->to->n);
        c.mono_ms = l->mono_ms;
        VEC_PUSH(NULL, l->to, c);
        return;
    }
    x->by = sum_of(x->by, c.by);
    x->most = c.most > x->most ? c.most : x->most;
}

/* was: the same node in the view before; NULL: it came since, with all of its
 * room, or nothing is known of it. */
static void node_look(struct look *l, const struct source_node *was,
                      const struct source_node *n)
{
    for (uint32_t i = 0; i < n->total.n; i++) {
        const struct qty *q = &n->total.v[i];
        int64_t had = was ? amount_of(&was->available, q->name, i) : q->amount;
        int64_t less = had - amount_of(&n->available, q->name, i);

        if (less != 0)
            change_add(l, (struct lately_change){.type = hash_name(n->type),
                                                 .what = hash_name(q->name),
                                                 .by = less,
                                                 .most = less > 0 ? less : 0});
    }
}

static void room_look(struct lately *r, const struct source_view *before,
                      const struct source_view *now, int64_t mono_ms)
{
    struct look look = {&r->room, r->room.n, {0}, mono_ms};
    struct hash was = {0};

    nodes_index(before, &was);
    for (uint32_t i = 0; i < now->n_nodes; i++)
        if (lives(&now->nodes[i]))
            node_look(&look, node_in(&was, now->nodes[i].node_id),
                      &now->nodes[i]);
    hash_done(&was);
    hash_done(&look.by_key);
}

/* sign: 1: they wait now; -1: they waited before. */
static void tasks_look(struct look *l, const struct source_view *v, int sign)
{
    for (uint32_t i = 0; i < v->n_demands; i++)
        for (uint32_t k = 0; k < v->demands[i].n_bundles; k++) {
            const struct snap_bundle *b = &v->demands[i].bundles[k];

            if (v->demands[i].source == SOURCE_TASK)
                change_add(
                    l, (struct lately_change){.what = bundle_hash(HASH_SEED, b),
                                              .by = sign * (int64_t)b->count,
                                              .most = sign < 0 ? b->count : 0});
        }
}

static void waits_look(struct lately *r, const struct source_view *before,
                       const struct source_view *now, int64_t mono_ms)
{
    struct look look = {&r->waits, r->waits.n, {0}, mono_ms};
    uint32_t kept = look.first;

    tasks_look(&look, before, -1);
    tasks_look(&look, now, 1);
    for (uint32_t i = look.first; i < r->waits.n; i++)
        if (r->waits.v[i].by != 0)
            r->waits.v[kept++] = r->waits.v[i];
    r->waits.n = kept;
    hash_done(&look.by_key);
}

static bool is_over(const struct lately_change *c, int64_t mono_ms)
{
    return mono_ms - c->mono_ms >= LATELY_DOUBT_MS;
}

static void old_leave(struct lately_changes *all, int64_t mono_ms)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < all->n; i++)
        if (!is_over(&all->v[i], mono_ms))
            all->v[kept++] = all->v[i];
    all->n = kept;
}

void lately_look(struct lately *r, const struct source_view *before,
                 const struct source_view *now, int64_t mono_ms)
{
    old_leave(&r->room, mono_ms);
    old_leave(&r->waits, mono_ms);
    room_look(r, before, now, mono_ms);
    if (before)
        waits_look(r, before, now, mono_ms);
}

void lately_done(struct lately *r)
{
    free(r->room.v);
    free(r->waits.v);
    *r = (struct lately){0};
}

/* ---- what changed, in all */

/* Sums, and their numbers by what they are of. */
struct adding {
    struct lately_sum *v;
    uint32_t n;
    struct hash by_key;
};

static struct lately_sum *sum_for(struct adding *to,
                                  const struct lately_change *c)
{
    uint64_t key = key_of(c);
    uint32_t i;

    for (uint32_t at = 0;
         (i = hash_next_index(&to->by_key, key, &at)) != HASH_NONE;)
        if (to->v[i].type == c->type && to->v[i].what == c->what)
            return &to->v[i];
    if (to->n == LATELY_MOST)
        return NULL;
    hash_add_index(&to->by_key, key, to->n);
    to->v[to->n] = (struct lately_sum){.type = c->type, .what = c->what};
    return &to->v[to->n++];
}

static int by_hash(const void *a, const void *b)
{
    const struct lately_sum *x = a, *y = b;

    return x->type != y->type ? (x->type > y->type) - (x->type < y->type)
                              : (x->what > y->what) - (x->what < y->what);
}

static const struct lately_sum *sums_of(const struct lately_changes *all,
                                        int64_t mono_ms, struct arena *arena,
                                        uint32_t *ret_n)
{
    uint32_t most = all->n < LATELY_MOST ? all->n : LATELY_MOST;
    struct adding to = {.v = ARENA_ARRAY(arena, struct lately_sum, most)};

    hash_init(&to.by_key, arena, most);
    for (uint32_t i = all->n; i-- > 0;) { /* the newest first */
        const struct lately_change *c = &all->v[i];
        struct lately_sum *l = is_over(c, mono_ms) ? NULL : sum_for(&to, c);

        if (!l)
            continue;
        l->sum = sum_of(l->sum, c->by);
        l->by = l->sum > l->by ? l->sum : l->by;
        l->most = c->most > l->most ? c->most : l->most;
    }
    if (to.n > 1)
        qsort(to.v, to.n, sizeof *to.v, by_hash);
    *ret_n = to.n;
    return to.v;
}

/* What is free on the nodes. */
static const struct lately_sum *left_of(const struct source_view *now,
                                        struct arena *arena, uint32_t *ret_n)
{
    struct adding to = {
        .v = ARENA_ARRAY(arena, struct lately_sum, LATELY_MOST)};

    hash_init(&to.by_key, arena, LATELY_MOST);
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct source_node *n = &now->nodes[i];
        struct lately_change c = {.type = hash_name(n->type)};

        for (uint32_t k = 0; lives(n) && k < n->available.n; k++) {
            const struct qty *q = &n->available.v[k];
            struct lately_sum *l;

            c.what = hash_name(q->name);
            l = q->amount > 0 ? sum_for(&to, &c) : NULL;
            if (!l)
                continue;
            l->by = sum_of(l->by, q->amount);
            l->most = q->amount > l->most ? q->amount : l->most;
        }
    }
    if (to.n > 1)
        qsort(to.v, to.n, sizeof *to.v, by_hash);
    *ret_n = to.n;
    return to.v;
}

struct lately_sums lately_sums(const struct lately *r,
                               const struct source_view *now, int64_t mono_ms,
                               struct arena *arena)
{
    struct lately_sums s = {0};
    bool more_wait = false;

    s.room = sums_of(&r->room, mono_ms, arena, &s.n_room);
    s.waits = sums_of(&r->waits, mono_ms, arena, &s.n_waits);
    for (uint32_t i = 0; i < s.n_waits && !more_wait; i++)
        more_wait = s.waits[i].by > 0 && s.waits[i].most > 0;
    if (more_wait)
        s.left = left_of(now, arena, &s.n_left);
    return s;
}

/* How many of what alt asks for fit into v, what went, or is left, on the nodes
 * of one type. */
static int64_t alt_fits(const struct lately_sum *v, uint32_t n,
                        const struct snap_alt *alt)
{
    int64_t most = INT64_MAX;

    for (uint32_t i = 0; i < alt->resources.n && most > 0; i++) {
        const struct qty *q = &alt->resources.v[i];
        uint64_t name = hash_name(q->name);
        int64_t fit = 0;

        if (q->amount <= 0)
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (v[k].what == name && v[k].most >= q->amount)
                fit = v[k].by / q->amount;
        most = fit < most ? fit : most;
    }
    return most == INT64_MAX ? 0
                             : most; /* who asks for nothing shows nowhere */
}

/* How many of the bundle wait more than before: no more than waited. */
static int64_t twice_in_line(const struct lately_sums *s,
                             const struct snap_bundle *b)
{
    struct lately_sum key = {.what = bundle_hash(HASH_SEED, b)};
    const struct lately_sum *x = s->n_waits
                                     ? bsearch(&key, s->waits, s->n_waits,
                                               sizeof key, by_hash)
                                     : NULL;

    return !x ? 0 : x->by < x->most ? x->by : x->most;
}

/* How many of the bundle fit into v, type by type; no more than its count. */
static uint32_t bundle_fits(const struct lately_sum *v, uint32_t n,
                            const struct snap_bundle *b)
{
    int64_t all = 0;

    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].type == v[i].type;)
            end++;
        for (uint32_t k = 0; k < b->n_alts && all < b->count; k++)
            all += alt_fits(v + i, end - i, &b->alts[k]);
    }
    return all < b->count ? (uint32_t)all : b->count;
}

uint32_t lately_holds(const struct lately_sums *s, const struct snap_bundle *b)
{
    int64_t all = bundle_fits(s->room, s->n_room, b);

    if (all > 0 || bundle_fits(s->left, s->n_left, b) > 0)
        all += twice_in_line(s, b);
    return all < b->count ? (uint32_t)all : b->count;
}

static int64_t first_until_ms(const struct lately_changes *all, int64_t mono_ms)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (!is_over(&all->v[i], mono_ms))
            return all->v[i].mono_ms + LATELY_DOUBT_MS;
    return INT64_MAX;
}

int64_t lately_until_ms(const struct lately *r, int64_t mono_ms)
{
    int64_t room = first_until_ms(&r->room, mono_ms);
    int64_t waits = first_until_ms(&r->waits, mono_ms);

    return room < waits ? room : waits;
}
