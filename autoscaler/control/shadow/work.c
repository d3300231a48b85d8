/*
 * work.c - what runs on a node, as bundles: demand for the shadow.
 *
 * Kubernetes tells what each pod takes.  A Ray head tells sums only: they are
 * divided into the shapes that were seen waiting, the largest first.  What does
 * not divide so is one bundle a device, or one a CPU.
 */
#include <string.h>

#include "../../model/amount.h"
#include "../../model/bundle.h"
#include "inside.h"

enum { SHAPES_MOST = 512, LUMPS_MOST = 256 };

/* ---- shapes */

static struct qtys qtys_copy(struct arena *a, struct qtys q)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, q.n);

    for (uint32_t i = 0; i < q.n; i++)
        v[i] = (struct qty){arena_strdup(a, q.v[i].name), q.v[i].amount};
    return (struct qtys){v, q.n};
}

static struct terms terms_copy(struct arena *a, struct terms t)
{
    struct term *v = ARENA_ARRAY(a, struct term, t.n);

    for (uint32_t i = 0; i < t.n; i++) {
        const char **values = ARENA_ARRAY(a, const char *, t.v[i].values.n);

        for (uint32_t k = 0; k < t.v[i].values.n; k++)
            values[k] = arena_strdup(a, t.v[i].values.v[k]);
        v[i] = (struct term){
            arena_strdup(a, t.v[i].key), t.v[i].op, {values, t.v[i].values.n}};
    }
    return (struct terms){v, t.n};
}

static struct tolerations tolerations_copy(struct arena *a,
                                           struct tolerations t)
{
    struct toleration *v = ARENA_ARRAY(a, struct toleration, t.n);

    for (uint32_t i = 0; i < t.n; i++) {
        v[i] = t.v[i];
        v[i].key = arena_strdup(a, t.v[i].key);
        v[i].value = arena_strdup(a, t.v[i].value);
    }
    return (struct tolerations){v, t.n};
}

static struct snap_bundle bundle_copy(struct arena *a,
                                      const struct snap_bundle *b)
{
    struct snap_alt *v = ARENA_ARRAY(a, struct snap_alt, b->n_alts);

    for (uint32_t i = 0; i < b->n_alts; i++)
        v[i] = (struct snap_alt){
            .resources = qtys_copy(a, b->alts[i].resources),
            .selector = terms_copy(a, b->alts[i].selector),
            .tolerations = tolerations_copy(a, b->alts[i].tolerations),
            .after_ms = b->alts[i].after_ms};
    return (struct snap_bundle){.alts = v, .n_alts = b->n_alts, .count = 1};
}

void shapes_learn(struct shapes *s, const struct source_view *v)
{
    for (uint32_t d = 0; d < v->n_demands; d++)
        for (uint32_t b = 0; b < v->demands[d].n_bundles; b++) {
            const struct snap_bundle *x = &v->demands[d].bundles[b];
            bool known = v->demands[d].source == SOURCE_REQUEST;

            for (uint32_t i = 0; i < s->all.n && !known; i++)
                known = bundle_equal(&s->all.v[i], x);
            if (known)
                continue;
            if (s->all.n == SHAPES_MOST) { /* begins anew */
                arena_reset(&s->arena);
                memset(&s->all, 0, sizeof s->all);
            }
            VEC_PUSH(&s->arena, &s->all, bundle_copy(&s->arena, x));
        }
}

/* ---- what is left of a node's work while it is divided */

struct left {
    struct qty *v;
    uint32_t n;
};

static int64_t *left_of(const struct left *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return &l->v[i].amount;
    return NULL;
}

static int64_t amount_of(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

static bool of_some_type(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_types; i++)
        if (amount_of(&c->types[i].fact.resources, name) > 0)
            return true;
    return false;
}

/* What is used of the resources that node types have: the rest of the sums (an
 * object store) is no work. */
static struct left left_new(const struct config *conf,
                            const struct source_node *n, struct arena *a)
{
    struct left l = {ARENA_ARRAY(a, struct qty, n->total.n), 0};

    for (uint32_t i = 0; i < n->total.n; i++) {
        const char *name = n->total.v[i].name;
        int64_t used = n->total.v[i].amount - amount_of(&n->available, name);

        if (used > 0 && of_some_type(conf, name))
            l.v[l.n++] = (struct qty){name, used};
    }
    return l;
}

/* How many of it are in what is left: 0 when it asks for nothing there. */
static int64_t times_in(const struct left *l, const struct qtys *need)
{
    int64_t most = 0;
    bool any = false;

    for (uint32_t i = 0; i < need->n; i++) {
        const int64_t *has;

        if (need->v[i].amount <= 0)
            continue;
        has = left_of(l, need->v[i].name);
        if (!has)
            return 0;
        most = !any || *has / need->v[i].amount < most
                   ? *has / need->v[i].amount
                   : most;
        any = true;
    }
    return most;
}

static void take_off(struct left *l, const struct qtys *need, int64_t times)
{
    for (uint32_t i = 0; i < need->n; i++) {
        int64_t *has = left_of(l, need->v[i].name);

        if (has)
            *has -= need->v[i].amount * times;
    }
}

/* The part of the node that one of it takes, in millionths. */
static int64_t part_of(const struct source_node *n, const struct qtys *need)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < need->n; i++) {
        int64_t total = amount_of(&n->total, need->v[i].name);
        double part = total > 0 ? (double)need->v[i].amount / (double)total : 0;

        if (part <= 1 && (int64_t)(part * 1e6) > most)
            most = (int64_t)(part * 1e6);
    }
    return most;
}

/* The largest shape that is in what is left; NULL: none is. */
static const struct snap_bundle *largest_in(const struct shapes *s,
                                            const struct source_node *n,
                                            const struct left *l)
{
    const struct snap_bundle *best = NULL;
    int64_t most = -1;

    for (uint32_t i = 0; i < s->all.n; i++) {
        const struct qtys *need = &s->all.v[i].alts[0].resources;
        int64_t part = part_of(n, need);

        if (part > most && times_in(l, need) > 0) {
            most = part;
            best = &s->all.v[i];
        }
    }
    return best;
}

static void work_add(struct arena *a, struct work_list *to,
                     const struct snap_bundle *like, uint32_t count)
{
    struct snap_bundle b = *like;

    for (uint32_t i = 0; i < to->all.n; i++)
        if (bundle_equal(&to->all.v[i], &b)) {
            to->all.v[i].count += count;
            return;
        }
    b.count = count;
    b.unconfirmed = false;
    VEC_PUSH(a, &to->all, b);
}

static void lump_add(struct arena *a, struct work_list *to, struct qtys need,
                     uint32_t count)
{
    struct snap_alt *alt = ARENA_NEW(a, struct snap_alt);
    struct snap_bundle b = {.alts = alt, .n_alts = 1};

    alt->resources = need;
    work_add(a, to, &b, count);
}

/* As many bundles as there are devices in it, or CPUs, begun ones too. */
static void lumps(const struct left *l, struct arena *a, struct work_list *to)
{
    int64_t by = 0, n;
    struct qty *v = ARENA_ARRAY(a, struct qty, l->n);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < l->n; i++)
        if (!resource_is_rounded(l->v[i].name) && l->v[i].amount > by)
            by = l->v[i].amount;
    if (!by)
        by = left_of(l, "CPU") ? *left_of(l, "CPU") : 0;
    n = (by + AMOUNT_ONE - 1) / AMOUNT_ONE;
    n = n < 1 ? 1 : n > LUMPS_MOST ? LUMPS_MOST : n;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->v[i].amount > 0)
            v[kept++] = (struct qty){l->v[i].name, l->v[i].amount / n};
    if (kept)
        lump_add(a, to, (struct qtys){v, kept}, (uint32_t)n);
}

/* ---- one node */

/* A pod that was seen waiting has the conditions it had then. */
static void pod_work(const struct shapes *s, const struct source_work *w,
                     struct arena *a, struct work_list *to)
{
    for (uint32_t i = 0; i < s->all.n; i++) {
        const struct qtys *need = &s->all.v[i].alts[0].resources;
        bool same = need->n == w->needs.n;

        for (uint32_t k = 0; k < need->n && same; k++)
            same = amount_of(&w->needs, need->v[k].name) == need->v[k].amount;
        if (same) {
            work_add(a, to, &s->all.v[i], w->count);
            return;
        }
    }
    lump_add(a, to, w->needs, w->count);
}

void work_of(const struct shapes *s, const struct config *conf,
             const struct source_node *n, struct arena *a,
             struct work_list *ret)
{
    const struct snap_bundle *x;
    struct left l;

    for (uint32_t i = 0; i < n->n_works; i++)
        pod_work(s, &n->works[i], a, ret);
    if (n->works || n->status == SOURCE_IDLE)
        return;
    l = left_new(conf, n, a);
    while ((x = largest_in(s, n, &l))) {
        int64_t times = times_in(&l, &x->alts[0].resources);

        work_add(a, ret, x, (uint32_t)times);
        take_off(&l, &x->alts[0].resources, times);
    }
    lumps(&l, a, ret);
}
