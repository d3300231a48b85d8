/*
 * problem_demand.c - the demand side of a snapshot being made.
 *
 * Demands are put in planning order.  Independent bundles of one demand are
 * sorted, and equal ones counted together; a gang's and a request's stay as
 * they were asked for: whoever asked counts them.
 */
#include <stdlib.h>
#include <string.h>

#include "problem_build.h"
#include "radix.h"

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
                            "demand %u of '%s': bundle %u needs less than 0 of "
                            "%s",
                            i, owner, j, b->alts[k].resources.v[l].name);
            total += b->count;
        }
    }
    if (total > PROBLEM_BUNDLES_MAX)
        return err_set(err, ST_INVALID,
                       "%llu bundles in all: at most %u can be planned for",
                       (unsigned long long)total, PROBLEM_BUNDLES_MAX);
    return ST_OK;
}

void builder_demands_intern(struct builder *m)
{
    const struct snapshot *f = m->snapshot;
    uint32_t n_bundles = 0, n_alts = 0;
    struct pb_bundle *bundles;
    struct pb_alt *alts;

    for (uint32_t i = 0; i < f->n_demands; i++) {
        n_bundles += f->demands[i].n_bundles;
        for (uint32_t j = 0; j < f->demands[i].n_bundles; j++)
            n_alts += f->demands[i].bundles[j].n_alts;
    }
    builder_shapes_begin(m, n_alts < 65536 ? n_alts : 65536);
    bundles = ARENA_ARRAY(&m->scratch, struct pb_bundle, n_bundles);
    alts = ARENA_ARRAY(&m->scratch, struct pb_alt, n_alts);
    n_bundles = n_alts = 0;
    for (uint32_t i = 0; i < f->n_demands; i++) {
        const uint32_t queue = builder_queue_of(m, &f->demands[i]);
        int64_t since = builder_now_us(m);

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
                    .shape = builder_shape(m, &b->alts[k], queue),
                    .after_ms = k ? b->alts[k].after_ms : 0};
        }
        if (!builder_in_time(m, i, since))
            return;
    }
    m->s->bundles = bundles;
    m->s->n_bundles = n_bundles;
    m->s->alts = alts;
}

/* ---- order */

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
    e = ARENA_ARRAY(&m->scratch, struct radix_entry, n);
    sorted = ARENA_ARRAY(&m->scratch, struct pb_bundle, n);
    for (uint32_t i = 0; i < n; i++)
        e[i] = (struct radix_entry){alts[v[i].first_alt].shape, i};
    radix_sort(&m->scratch, e, n);
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
            v[kept - 1].count +=
                sorted[i].count; /* all <= PROBLEM_BUNDLES_MAX */
        else
            v[kept++] = sorted[i];
    return kept;
}

/* The parts of the order that fit numbers, the last first; what is still
 * equal then is compared in full. */
static void demands_sort(struct builder *m, struct pb_demand *v, uint32_t n,
                         struct lay *l)
{
    struct radix_entry *e = ARENA_ARRAY(&m->scratch, struct radix_entry, n);
    struct pb_demand *from = arena_copy(&m->scratch, v, n * sizeof *v);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t alt = l->bundles[v[i].first_bundle].first_alt;

        e[i] = (struct radix_entry){
            (uint64_t)v[i].strategy << 32 | l->alts[alt].shape, i};
    }
    radix_sort(&m->scratch, e, n);
    for (uint32_t i = 0; i < n; i++)
        e[i].key = (uint64_t)v[e[i].at].owner << 32 | v[e[i].at].id;
    radix_sort(&m->scratch, e, n);
    for (uint32_t i = 0; i < n; i++)
        e[i].key = radix_signed(v[e[i].at].since_ms);
    radix_sort(&m->scratch, e, n);
    for (uint32_t i = 0; i < n; i++)
        e[i].key = radix_signed(-(int64_t)v[e[i].at].priority * 8 +
                                source_order(v[e[i].at].source));
    radix_sort(&m->scratch, e, n);
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

    builder_shapes_lay(m);
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
