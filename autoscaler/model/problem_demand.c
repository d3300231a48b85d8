/*
 * problem_demand.c - the demand side of a snapshot being made.
 *
 * Selectors are made canonical (terms sorted, values sorted and unique), needs
 * become shapes, independent bundles of one demand are sorted and equal ones
 * counted together.  A gang's and a request's bundles stay as they were asked
 * for: whoever asked counts them.
 */
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "problem_build.h"
#include "radix.h"

#define MAX_BUNDLES UINT32_C(10000000) /* counted, all together */

enum status builder_check_demands(const struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;
    uint64_t total = 0;

    for (uint32_t i = 0; i < f->n_demands; i++) {
        const struct snap_demand *d = &f->demands[i];
        const char *owner = d->owner ? d->owner : "";

        for (uint32_t j = 0; j < d->n_bundles; j++) {
            const struct snap_bundle *b = &d->bundles[j];

            if (b->n_alts == 0 || b->count == 0)
                return err_set(err, ST_INVALID,
                               "demand %u of '%s': bundle %u has %s", i, owner,
                               j,
                               b->n_alts ? "count 0: at least 1"
                                         : "no alternative: at least one");
            for (uint32_t k = 0; k < b->n_alts; k++)
                for (uint32_t l = 0; l < b->alts[k].resources.n; l++)
                    if (b->alts[k].resources.v[l].amount < 0)
                        return err_set(
                            err, ST_INVALID,
                            "demand %u of '%s': bundle %u needs less than 0 "
                            "of %s",
                            i, owner, j, b->alts[k].resources.v[l].name);
            total += b->count;
        }
    }
    if (total > MAX_BUNDLES)
        return err_set(err, ST_INVALID,
                       "%llu bundles in all: at most %u can be planned for",
                       (unsigned long long)total, MAX_BUNDLES);
    return ST_OK;
}

/* ---- selectors */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* A condition is the words key, op, n, values...; beside terms there are
 * tolerations (exists, value, effect) and the queue.  Where there are taints,
 * who tolerates none has the empty toleration: selector 0 is for snapshots
 * where every place will do. */
enum { WORD_TOLERATES = 2, WORD_QUEUE = 3 };

static int compare_terms(const uint32_t *a, const uint32_t *b)
{
    for (uint32_t i = 0; i < 3 + a[2]; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1; /* differs at n at the latest */
    return 0;
}

static void condition_add(struct builder *m, uint32_t key, uint32_t op,
                          const uint32_t *values, uint32_t n)
{
    uint32_t at = m->words.n;

    VEC_PUSH(m->arena, &m->words, key);
    VEC_PUSH(m->arena, &m->words, op);
    VEC_PUSH(m->arena, &m->words, n);
    for (uint32_t i = 0; i < n; i++)
        VEC_PUSH(m->arena, &m->words, values[i]);
    VEC_PUSH(m->arena, &m->term_at, at);
}

static void tolerations_add(struct builder *m, const struct tolerations *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct toleration *x = &t->v[i];
        const bool exists = x->op == TOLERATE_EXISTS;
        const uint32_t values[] = {exists, exists ? 0 : builder_id(m, x->value),
                                   (uint32_t)x->effect};

        condition_add(m, builder_id(m, x->key), WORD_TOLERATES, values, 3);
    }
    if (t->n == 0)
        condition_add(m, 0, WORD_TOLERATES, NULL, 0);
}

static void term_end(struct builder *m, uint32_t at)
{
    uint32_t *w = m->words.v + at, n = m->words.n - at - 3, kept = 0;

    if (n > 1)
        qsort(w + 3, n, sizeof *w, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || w[3 + i] != w[3 + i - 1])
            w[3 + kept++] = w[3 + i];
    w[2] = kept;
    m->words.n = at + 3 + kept;
    VEC_PUSH(m->arena, &m->term_at, at);
}

static uint32_t term_begin(struct builder *m, uint32_t key, enum term_op op)
{
    uint32_t at = m->words.n;

    VEC_PUSH(m->arena, &m->words, key);
    VEC_PUSH(m->arena, &m->words, (uint32_t)op);
    VEC_PUSH(m->arena, &m->words, 0);
    return at;
}

/* Lays the terms down in order behind the raw ones and interns that. */
static uint32_t selector_end(struct builder *m)
{
    uint32_t *at = m->term_at.v, n = m->term_at.n, end = m->words.n;
    const uint32_t *last = NULL;

    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = i; j > 0 && compare_terms(m->words.v + at[j - 1],
                                                    m->words.v + at[j]) > 0;
             j--) {
            uint32_t t = at[j];
            at[j] = at[j - 1];
            at[j - 1] = t;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t words = 3 + m->words.v[at[i] + 2];

        if (last && compare_terms(last, m->words.v + at[i]) == 0)
            continue;
        for (uint32_t j = 0; j < words; j++)
            VEC_PUSH(m->arena, &m->words, m->words.v[at[i] + j]);
        last = m->words.v + at[i];
    }
    return intern_add(&m->selectors, m->words.v + end,
                      (m->words.n - end) * sizeof *m->words.v, 1);
}

static uint32_t selector_of(struct builder *m, const struct snap_alt *a,
                            uint32_t queue, bool *ret_accelerator)
{
    m->words.n = m->term_at.n = 0;
    if (m->tainted)
        tolerations_add(m, &a->tolerations);
    if (queue != NONE)
        condition_add(m, queue, WORD_QUEUE, NULL, 0);
    for (uint32_t i = 0; i < a->selector.n; i++) {
        const struct term *t = &a->selector.v[i];
        uint32_t key = builder_id(m, t->key), at = term_begin(m, key, t->op);
        bool accelerator = key == m->id.accelerator;

        for (uint32_t j = 0; j < t->values.n; j++) {
            const char *v = t->values.v[j];

            v = accelerator ? builder_canonical(m, v) : v;
            VEC_PUSH(m->arena, &m->words, builder_id(m, v));
        }
        term_end(m, at);
        if (accelerator && t->op == TERM_IN)
            *ret_accelerator = true;
    }
    for (uint32_t i = 0; i < a->resources.n; i++) {
        const char *type = accel_type_of_resource(a->resources.v[i].name);
        uint32_t at;

        if (!type || a->resources.v[i].amount == 0)
            continue;
        at = term_begin(m, m->id.accelerator, TERM_IN);
        VEC_PUSH(m->arena, &m->words,
                 builder_id(m, builder_canonical(m, type)));
        term_end(m, at);
        *ret_accelerator = true;
    }
    if (m->term_at.n == 0)
        return 0; /* "any" is interned first and ranks first */
    return selector_end(m);
}

/* ---- shapes */

struct shape_key {
    uint32_t row, selector, accelerator;
};

static uint32_t shape_of(struct builder *m, const struct snap_alt *a,
                         uint32_t queue)
{
    bool accelerator = builder_has_accelerator(&a->resources);
    struct shape_key key = {0};

    key.row = builder_row(m, &a->resources, true);
    key.selector = selector_of(m, a, queue, &accelerator);
    key.accelerator = accelerator;
    return intern_add(&m->shapes, &key, sizeof key, 1);
}

void builder_demands_intern(struct builder *m)
{
    const struct snapshot *f = m->snapshot;
    uint32_t n_bundles = 0, n_alts = 0;
    struct pb_bundle *bundles;
    struct pb_alt *alts;

    intern_init(&m->selectors, m->arena, 64);
    intern_add(&m->selectors, "", 0, 1);
    for (uint32_t i = 0; i < f->n_demands; i++) {
        n_bundles += f->demands[i].n_bundles;
        for (uint32_t j = 0; j < f->demands[i].n_bundles; j++)
            n_alts += f->demands[i].bundles[j].n_alts;
    }
    intern_init(&m->shapes, m->arena, n_alts < 65536 ? n_alts : 65536);
    bundles = ARENA_ARRAY(m->arena, struct pb_bundle, n_bundles);
    alts = ARENA_ARRAY(m->arena, struct pb_alt, n_alts);
    n_bundles = n_alts = 0;
    for (uint32_t i = 0; i < f->n_demands; i++) {
        const uint32_t queue = builder_queue_of(m, &f->demands[i]);

        for (uint32_t j = 0; j < f->demands[i].n_bundles; j++) {
            const struct snap_bundle *b = &f->demands[i].bundles[j];

            bundles[n_bundles++] = (struct pb_bundle){
                .demand = i,
                .first_alt = n_alts,
                .n_alts = b->n_alts,
                .count = b->count,
                .unconfirmed = b->unconfirmed &&
                               f->demands[i].source != SOURCE_REQUEST};
            for (uint32_t k = 0; k < b->n_alts; k++)
                alts[n_alts++] = (struct pb_alt){
                    .shape = shape_of(m, &b->alts[k], queue),
                    .after_ms = k ? b->alts[k].after_ms : 0};
        }
    }
    m->s->bundles = bundles;
    m->s->n_bundles = n_bundles;
    m->s->alts = alts;
}

/* ---- order */

static int by_words(const struct intern_item *a, const struct intern_item *b)
{
    const uint32_t *x = a->p, *y = b->p;
    uint32_t n = (a->n < b->n ? a->n : b->n) / sizeof *x;

    for (uint32_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

static uint64_t words_first(const struct intern_item *it)
{
    const uint32_t *w = it->p;
    const uint32_t n = it->n / sizeof *w;

    return (uint64_t)(n > 0 ? w[0] : 0) << 32 | (n > 1 ? w[1] : 0);
}

struct conditions {
    struct pb_selector *selectors;
    struct pb_term *terms;
    struct pb_toleration *tolerations;
    uint32_t *values;
    uint32_t n_terms, n_tolerations, n_values;
};

static void condition_lay(struct conditions *c, struct pb_selector *sel,
                          const uint32_t *w)
{
    if (w[1] == WORD_QUEUE) {
        sel->queue = w[0];
    } else if (w[1] == WORD_TOLERATES) {
        if (w[2] == 0)
            return;
        c->tolerations[c->n_tolerations++] = (struct pb_toleration){
            .key = w[0],
            .op = w[3] ? TOLERATE_EXISTS : TOLERATE_EQUAL,
            .value = w[4],
            .effect = (enum taint_effect)w[5]};
        sel->n_tolerations++;
    } else {
        c->terms[c->n_terms++] = (struct pb_term){.key = w[0],
                                                  .op = (enum term_op)w[1],
                                                  .first_value = c->n_values,
                                                  .n_values = w[2]};
        for (uint32_t j = 0; j < w[2]; j++)
            c->values[c->n_values++] = w[3 + j];
        sel->n_terms++;
    }
}

static void selectors_lay(struct builder *m)
{
    struct conditions c = {0};
    uint32_t n_conditions = 0, n_values = 0;

    intern_rank(&m->selectors, words_first, by_words);
    for (uint32_t i = 0; i < m->selectors.n; i++) {
        const uint32_t *w = m->selectors.items[i].p;
        const uint32_t n = m->selectors.items[i].n / sizeof *w;

        for (uint32_t at = 0; at < n; at += 3 + w[at + 2]) {
            n_conditions++;
            n_values += w[at + 2];
        }
    }
    c.selectors = ARENA_ARRAY(m->arena, struct pb_selector, m->selectors.n);
    c.terms = ARENA_ARRAY(m->arena, struct pb_term, n_conditions);
    c.tolerations = ARENA_ARRAY(m->arena, struct pb_toleration,
                                m->tainted ? n_conditions : 0);
    c.values = ARENA_ARRAY(m->arena, uint32_t, n_values);
    for (uint32_t i = 0; i < m->selectors.n; i++) {
        const uint32_t *w = m->selectors.items[i].p;
        const uint32_t n = m->selectors.items[i].n / sizeof *w;
        struct pb_selector *sel = &c.selectors[i];

        *sel = (struct pb_selector){.first_term = c.n_terms,
                                    .first_toleration = c.n_tolerations,
                                    .queue = NONE};
        for (uint32_t at = 0; at < n; at += 3 + w[at + 2])
            condition_lay(&c, sel, w + at);
    }
    m->s->selectors = c.selectors;
    m->s->n_selectors = m->selectors.n;
    m->s->terms = c.terms;
    m->s->tolerations = c.tolerations;
    m->s->term_values = c.values;
}

static void shapes_lay(struct builder *m)
{
    struct pb_shape *shapes;

    for (uint32_t i = 0; i < m->shapes.n; i++) {
        /* Ours to change: intern_add() copied it, and nobody looks a shape up
         * by content any more. */
        struct shape_key *key = (struct shape_key *)m->shapes.items[i].p;

        key->row = m->rows.rank[key->row];
        key->selector = m->selectors.rank[key->selector];
    }
    intern_rank(&m->shapes, words_first, by_words);
    shapes = ARENA_ARRAY(m->arena, struct pb_shape, m->shapes.n);
    for (uint32_t i = 0; i < m->shapes.n; i++) {
        const struct shape_key *key = m->shapes.items[i].p;

        shapes[i] = (struct pb_shape){.row = key->row,
                                      .selector = key->selector,
                                      .accelerator = key->accelerator != 0};
    }
    m->s->shapes = shapes;
    m->s->n_shapes = m->shapes.n;
}

static int compare_bundles(const struct pb_bundle *a, const struct pb_bundle *b,
                           const struct pb_alt *alts)
{
    uint32_t n = a->n_alts < b->n_alts ? a->n_alts : b->n_alts;

    for (uint32_t i = 0; i < n; i++) {
        const struct pb_alt *x = &alts[a->first_alt + i];
        const struct pb_alt *y = &alts[b->first_alt + i];

        if (x->shape != y->shape)
            return x->shape < y->shape ? -1 : 1;
        if (x->after_ms != y->after_ms)
            return x->after_ms < y->after_ms ? -1 : 1;
    }
    if (a->n_alts != b->n_alts)
        return a->n_alts < b->n_alts ? -1 : 1;
    return a->unconfirmed - b->unconfirmed;
}

static int by_bundle(const void *a, const void *b, void *alts)
{
    return compare_bundles(a, b, alts);
}

static bool is_independent(const struct snap_demand *d)
{
    return d->strategy == STRATEGY_NONE &&
           (d->source == SOURCE_TASK || d->source == SOURCE_POD ||
            d->source == SOURCE_SPARE);
}

static int source_order(enum demand_source s)
{
    switch (s) {
    case SOURCE_REQUEST: return 0;
    case SOURCE_GANG: return 1;
    case SOURCE_POD: return 2;
    case SOURCE_TASK: return 3;
    case SOURCE_SPARE: return 4;
    }
    return 5;
}

struct lay {
    const struct pb_bundle *bundles;
    const struct pb_alt *alts;
};

#define ORDER(a, b) \
    do { \
        if ((a) != (b)) \
            return (a) < (b) ? -1 : 1; \
    } while (0)

static int by_plan_order(const void *pa, const void *pb, void *arg)
{
    const struct pb_demand *a = pa, *b = pb;
    const struct lay *l = arg;

    ORDER(b->priority, a->priority);
    ORDER(source_order(a->source), source_order(b->source));
    ORDER(a->since_ms, b->since_ms);
    ORDER(a->owner, b->owner);
    ORDER(a->id, b->id);
    ORDER(a->strategy, b->strategy);
    ORDER(a->queue, b->queue);
    for (uint32_t i = 0; i < a->n_bundles && i < b->n_bundles; i++) {
        const struct pb_bundle *x = &l->bundles[a->first_bundle + i];
        const struct pb_bundle *y = &l->bundles[b->first_bundle + i];
        int c = compare_bundles(x, y, l->alts);

        if (c != 0)
            return c;
        ORDER(x->count, y->count);
    }
    ORDER(a->n_bundles, b->n_bundles);
    return 0;
}

/* Equal in all that demands_sort() sorts by number. */
static bool is_near(const struct pb_demand *a, const struct pb_demand *b,
                    const struct lay *l)
{
    return a->priority == b->priority && a->source == b->source &&
           a->since_ms == b->since_ms && a->owner == b->owner &&
           a->id == b->id && a->strategy == b->strategy &&
           l->alts[l->bundles[a->first_bundle].first_alt].shape ==
               l->alts[l->bundles[b->first_bundle].first_alt].shape;
}

/* Sorts and counts together; returns how many are left. */
static uint32_t bundles_merge(struct builder *m, struct pb_bundle *v,
                              uint32_t n, struct pb_alt *alts)
{
    struct radix_entry *e;
    struct pb_bundle *sorted;
    uint32_t kept = 0;

    if (n < 2)
        return n;
    e = ARENA_ARRAY(m->arena, struct radix_entry, n);
    sorted = ARENA_ARRAY(m->arena, struct pb_bundle, n);
    for (uint32_t i = 0; i < n; i++)
        e[i] = (struct radix_entry){alts[v[i].first_alt].shape, i};
    radix_sort(m->arena, e, n);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = v[e[i].at];
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && e[end].key == e[i].key; end++)
            ;
        if (end - i > 1)
            qsort_r(sorted + i, end - i, sizeof *v, by_bundle, alts);
    }
    for (uint32_t i = 0; i < n; i++)
        if (kept > 0 && compare_bundles(&v[kept - 1], &sorted[i], alts) == 0)
            v[kept - 1].count += sorted[i].count; /* all <= MAX_BUNDLES */
        else
            v[kept++] = sorted[i];
    return kept;
}

/* The parts of the order that fit numbers, the last first; what is still
 * equal then is compared in full. */
static void demands_sort(struct builder *m, struct pb_demand *v, uint32_t n,
                         struct lay *l)
{
    struct radix_entry *e = ARENA_ARRAY(m->arena, struct radix_entry, n);
    struct pb_demand *from = arena_copy(m->arena, v, n * sizeof *v);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t alt = l->bundles[v[i].first_bundle].first_alt;

        e[i] = (struct radix_entry){
            (uint64_t)v[i].strategy << 32 | l->alts[alt].shape, i};
    }
    radix_sort(m->arena, e, n);
    for (uint32_t i = 0; i < n; i++)
        e[i].key = (uint64_t)v[e[i].at].owner << 32 | v[e[i].at].id;
    radix_sort(m->arena, e, n);
    for (uint32_t i = 0; i < n; i++)
        e[i].key = radix_signed(v[e[i].at].since_ms);
    radix_sort(m->arena, e, n);
    for (uint32_t i = 0; i < n; i++)
        e[i].key = radix_signed(-(int64_t)v[e[i].at].priority * 8 +
                                source_order(v[e[i].at].source));
    radix_sort(m->arena, e, n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = from[e[i].at];
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_near(&v[i], &v[end], l); end++)
            ;
        if (end - i > 1)
            qsort_r(v + i, end - i, sizeof *v, by_plan_order, l);
    }
}

/* Its own and its queue's, within what the number holds. */
static int32_t priority_of(const struct builder *m, const struct snap_demand *d,
                           uint32_t *ret_queue)
{
    int64_t p = d->priority;

    *ret_queue = builder_queue_of(m, d);
    if (*ret_queue < m->snapshot->n_queues)
        p += m->queues[*ret_queue]->priority;
    return (int32_t)(p > INT32_MAX ? INT32_MAX : p < INT32_MIN ? INT32_MIN : p);
}

void builder_demands_lay(struct builder *m)
{
    const struct snapshot *f = m->snapshot;
    struct problem *s = m->s;
    struct pb_bundle *old = (struct pb_bundle *)s->bundles, *bundles;
    struct pb_alt *old_alts = (struct pb_alt *)s->alts, *alts;
    struct pb_demand *demands;
    uint32_t n_alts = 0, at = 0, n = 0;

    selectors_lay(m);
    shapes_lay(m);
    for (uint32_t i = 0; i < s->n_bundles; i++)
        n_alts += old[i].n_alts;
    for (uint32_t i = 0; i < n_alts; i++)
        old_alts[i].shape = m->shapes.rank[old_alts[i].shape];
    demands = ARENA_ARRAY(m->arena, struct pb_demand, f->n_demands);
    for (uint32_t i = 0; i < f->n_demands; i++) {
        const struct snap_demand *d = &f->demands[i];

        uint32_t queue;
        int32_t priority;

        if (d->n_bundles == 0)
            continue; /* a request that was cleared: asks for nothing */
        priority = priority_of(m, d, &queue);
        demands[n] = (struct pb_demand){
            .source = d->source,
            .strategy = d->strategy,
            .gang = d->source == SOURCE_GANG || d->strategy != STRATEGY_NONE,
            .owner = builder_id(m, d->owner),
            .id = builder_id(m, d->id),
            .priority = priority,
            .since_ms = d->since_ms,
            .queue = queue,
            .first_bundle = at,
            .n_bundles = d->n_bundles,
            .from = i};
        if (is_independent(d))
            demands[n].n_bundles = bundles_merge(m, old + at, d->n_bundles,
                                                 old_alts);
        at += d->n_bundles;
        n++;
    }
    demands_sort(m, demands, n, &(struct lay){old, old_alts});
    bundles = ARENA_ARRAY(m->arena, struct pb_bundle, s->n_bundles);
    alts = ARENA_ARRAY(m->arena, struct pb_alt, n_alts);
    s->n_bundles = n_alts = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pb_bundle *from = old + demands[i].first_bundle;

        demands[i].first_bundle = s->n_bundles;
        for (uint32_t j = 0; j < demands[i].n_bundles; j++) {
            memcpy(alts + n_alts, old_alts + from[j].first_alt,
                   from[j].n_alts * sizeof *alts);
            bundles[s->n_bundles] = from[j];
            bundles[s->n_bundles].demand = i;
            bundles[s->n_bundles++].first_alt = n_alts;
            n_alts += from[j].n_alts;
        }
    }
    s->bundles = bundles;
    s->alts = alts;
    s->demands = demands;
    s->n_demands = n;
}
