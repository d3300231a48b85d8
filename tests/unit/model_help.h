/*
 * model_help.h - for the tests of model/: a snapshot as text (every field of
 * every array, so that equal texts mean equal snapshots), and random facts.
 */
#ifndef TESTS_MODEL_HELP_H
#define TESTS_MODEL_HELP_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/base/buf.h"
#include "../../autoscaler/codec/codec.h"
#include "../../autoscaler/model/accel.h"
#include "../../autoscaler/model/amount.h"

/* ---- a snapshot as text */

static inline void dump_labels(struct buf *b, const struct problem *s,
                               uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        buf_printf(b, " %u=%u", s->labels[i].key, s->labels[i].value);
    buf_str(b, "\n");
}

static inline char *dump(const struct problem *s)
{
    struct buf b;

    buf_init(&b, (size_t)1 << 30);
    buf_printf(&b, "now %" PRId64 " fresh %d unknown %d spreads %d\n",
               s->now_ms, s->sources_fresh, s->work_unknown, s->work_spreads);
    buf_printf(&b,
               "limits %u %" PRId64 " %" PRId64 " %u %" PRId64 " %d %d %d\n",
               s->limits.max_nodes, s->limits.idle_timeout_ms,
               s->limits.max_cost_micros_hour, s->limits.max_launching,
               s->limits.upscaling_speed, s->limits.end_outdated,
               s->limits.conserve, (int)s->limits.policy);
    buf_printf(&b, "consolidate %d %" PRId64 " %" PRId64 " order",
               (int)s->limits.consolidate, s->limits.consolidate_saving,
               s->limits.consolidate_age_ms);
    for (uint32_t i = 0; i < s->limits.n_end_order; i++)
        buf_printf(&b, " %d", (int)s->limits.end_order[i]);
    buf_str(&b, "\n");
    for (uint32_t i = 0; i < s->n_queues; i++) {
        const struct pb_queue *q = &s->queues[i];
        buf_printf(&b,
                   "queue %u %u %" PRId64 " %" PRId64 " %u %d %" PRId64
                   " %" PRId64 " %u\n",
                   i, q->name, q->gpus, q->cpus, q->nodes, q->priority,
                   q->used_gpus, q->used_cpus, q->used_nodes);
    }
    for (uint32_t i = 0; i < s->n_str; i++)
        buf_printf(&b, "str %u %s\n", i, s->str[i]);
    for (uint32_t i = 0; i < s->n_columns; i++)
        buf_printf(&b, "column %u %u %d %d\n", i, s->columns[i].name,
                   s->columns[i].device, s->columns[i].fractions);
    for (uint32_t i = 0; i < s->n_rows; i++) {
        buf_printf(&b, "row %u", i);
        for (uint32_t c = 0; c < s->n_columns; c++)
            buf_printf(&b, " %" PRId64, pb_row(s, i)[c]);
        buf_str(&b, "\n");
    }
    for (uint32_t i = 0; i < s->n_selectors; i++) {
        buf_printf(&b, "selector %u", i);
        for (uint32_t j = 0; j < s->selectors[i].n_terms; j++) {
            const struct pb_term *t = &s->terms[s->selectors[i].first_term + j];
            buf_printf(&b, " %u %d(", t->key, (int)t->op);
            for (uint32_t k = 0; k < t->n_values; k++)
                buf_printf(&b, " %u", s->term_values[t->first_value + k]);
            buf_str(&b, ")");
        }
        for (uint32_t j = 0; j < s->selectors[i].n_tolerations; j++) {
            const struct pb_toleration *t =
                &s->tolerations[s->selectors[i].first_toleration + j];
            buf_printf(&b, " ~%u %d %u %d", t->key, (int)t->op, t->value,
                       (int)t->effect);
        }
        buf_printf(&b, " q%u", s->selectors[i].queue);
        buf_str(&b, "\n");
    }
    for (uint32_t i = 0; i < s->n_shapes; i++)
        buf_printf(&b, "shape %u %u %u %d\n", i, s->shapes[i].row,
                   s->shapes[i].selector, s->shapes[i].accelerator);
    for (uint32_t i = 0; i < s->n_demands; i++) {
        const struct pb_demand *d = &s->demands[i];
        buf_printf(&b, "queue %u ", d->queue);
        buf_printf(&b, "demand %u %d %d %d %u %u %d %" PRId64 " %u %u\n", i,
                   (int)d->source, (int)d->strategy, d->gang, d->owner, d->id,
                   d->priority, d->since_ms, d->first_bundle, d->n_bundles);
    }
    for (uint32_t i = 0; i < s->n_bundles; i++) {
        const struct pb_bundle *x = &s->bundles[i];
        buf_printf(&b, "bundle %u %u %u %u:", i, x->demand, x->first_alt,
                   x->count);
        for (uint32_t k = 0; k < x->n_alts; k++)
            buf_printf(&b, " %u+%" PRId64, s->alts[x->first_alt + k].shape,
                       s->alts[x->first_alt + k].after_ms);
        buf_str(&b, "\n");
    }
    for (uint32_t i = 0; i < s->n_types; i++) {
        const struct pb_type *t = &s->types[i];
        buf_printf(&b,
                   "type %u %u %u %u %u %u %u %" PRId64 " %" PRId64
                   " %d %d %d %u %u\n",
                   i, t->name, t->provider, t->row, t->min, t->max, t->hosts,
                   t->idle_timeout_ms, t->boot_ms, t->priority,
                   (int)t->unavailable, t->accelerator, t->first_offer,
                   t->n_offers);
    }
    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_offer *o = &s->offers[i];
        buf_printf(&b, "offer %u %u %u %d %d %" PRId64 " %" PRId64 " %d %u:", i,
                   o->type, o->zone, o->spot, o->price_estimated,
                   o->price_micros_hour, o->backoff_until_ms,
                   (int)o->backoff_for, o->room);
        buf_printf(&b, " failed %" PRId64 " idle %" PRId64, o->failed_ms,
                   o->idle_timeout_ms);
        dump_labels(&b, s, o->first_label, o->n_labels);
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];
        buf_printf(&b,
                   "node %u %u %u %u %d%d%d%d%d %d %u %u %" PRId64 " %" PRId64
                   " %" PRId64 " %" PRId64 " %d %" PRId64 " [",
                   i, n->id, n->type, n->offer, n->head, n->unmanaged,
                   n->outdated, n->spot, n->template_room, (int)n->state,
                   n->total, n->available, n->idle_ms, n->since_ms,
                   n->created_ms, n->price_micros_hour, (int)n->hold,
                   n->hold_until_ms);
        for (uint32_t d = 0; d < n->n_devices; d++)
            buf_printf(&b, " %u:%d", s->devices[n->first_device + d].column,
                       s->devices[n->first_device + d].free);
        buf_printf(&b, "] %d %" PRId64, n->counted_on, n->agreed_micros_hour);
        buf_printf(&b, " %u %u %" PRId64 " %" PRId64, n->host_group, n->queue,
                   n->idle_timeout_ms, n->progress_ms);
        dump_labels(&b, s, n->first_label, n->n_labels);
    }
    return buf_take(&b);
}

/* ---- random facts */

struct rnd {
    uint64_t x;
    struct arena *a;
};

static inline uint32_t rnd_below(struct rnd *r, uint32_t n)
{
    r->x = r->x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(r->x >> 33) % n;
}

#define RND_ONE_OF(r, ...) \
    ((const char *const[]){__VA_ARGS__})[rnd_below( \
        (r), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))]

static inline const char *rnd_accelerator(struct rnd *r)
{
    return RND_ONE_OF(r, "T4", "V100", "nvidia-tesla-t4", "t4", "A100", "G7");
}

/* Amounts as they come: whole, halves, bytes that need all 53 bits. */
static inline struct qtys rnd_resources(struct rnd *r, bool asked, bool node)
{
    struct qty *v = ARENA_ARRAY(r->a, struct qty, 8);
    uint32_t n = 0;

    v[n++] = (struct qty){"CPU", rnd_below(r, 64) * 2500};
    if (rnd_below(r, 2))
        v[n++] = (struct qty){
            "memory", ((int64_t)rnd_below(r, 1u << 30) << 8) * AMOUNT_ONE +
                          (rnd_below(r, 4) ? 0 : rnd_below(r, 10000))};
    if (rnd_below(r, 2))
        v[n++] = (struct qty){"GPU", asked && rnd_below(r, 2)
                                         ? 100 * (1 + rnd_below(r, 99))
                                         : rnd_below(r, 9) * AMOUNT_ONE};
    if (rnd_below(r, 4) == 0)
        v[n++] = (struct qty){"TPU", rnd_below(r, 5) * AMOUNT_ONE};
    if (rnd_below(r, 4) == 0)
        v[n++] = (struct qty){RND_ONE_OF(r, "disk", "licence", "fpga"), 5000};
    if (rnd_below(r, 4) == 0)
        v[n++] = (struct qty){
            arena_printf(r->a, "accelerator_type:%s", rnd_accelerator(r)), 10};
    if (node && rnd_below(r, 2))
        v[n++] = (struct qty){
            arena_printf(r->a, "node:10.0.0.%u", rnd_below(r, 200)),
            AMOUNT_ONE};
    return (struct qtys){v, n};
}

static inline struct pairs rnd_labels(struct rnd *r)
{
    static const char *const keys[] = {"zone",      "team",
                                       "disk-kind", "accelerator_type",
                                       ACCEL_LABEL, "ray.io/market-type"};
    struct pair *v = ARENA_ARRAY(r->a, struct pair, 8);
    uint32_t n = 0;

    for (uint32_t i = 0; i < 6; i++)
        if (rnd_below(r, 4) == 0)
            v[n++] = (struct pair){
                keys[i], i == 3 || i == 4
                             ? rnd_accelerator(r)
                             : RND_ONE_OF(r, "a", "b", "", "spot", "\"x\\y\n")};
    return (struct pairs){v, n};
}

static inline struct taints rnd_taints(struct rnd *r)
{
    static const char *const keys[] = {"zone", "gpu", "team"};
    struct taint *v = ARENA_ARRAY(r->a, struct taint, 3);
    uint32_t n = 0;

    for (uint32_t i = 0; i < 3; i++)
        if (rnd_below(r, 4) == 0)
            v[n++] = (struct taint){keys[i], RND_ONE_OF(r, "", "a", "b"),
                                    (enum taint_effect)(1 + rnd_below(r, 3))};
    return (struct taints){v, n};
}

static inline struct tolerations rnd_tolerations(struct rnd *r)
{
    struct toleration *v = ARENA_ARRAY(r->a, struct toleration, 3);
    uint32_t n = rnd_below(r, 4);

    for (uint32_t i = 0; i < n; i++) {
        const bool exists = rnd_below(r, 2);

        v[i] = (struct toleration){
            exists && rnd_below(r, 3) == 0 ? "" : RND_ONE_OF(r, "zone", "gpu"),
            exists ? TOLERATE_EXISTS : TOLERATE_EQUAL,
            exists ? "" : RND_ONE_OF(r, "", "a"),
            (enum taint_effect)rnd_below(r, 4)};
    }
    return (struct tolerations){v, n};
}

static inline struct snap_alt rnd_alt(struct rnd *r, bool later)
{
    struct snap_alt a = {.resources = rnd_resources(r, true, false)};
    struct term *t = ARENA_ARRAY(r->a, struct term, 4);
    uint32_t n = rnd_below(r, 3);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 1 + rnd_below(r, 3);
        const char **values = ARENA_ARRAY(r->a, const char *, k);

        for (uint32_t j = 0; j < k; j++)
            values[j] = RND_ONE_OF(r, "a", "b", "T4", "V100", "!c", "in(d)",
                                   "e,f", " g", "");
        t[i] = (struct term){
            RND_ONE_OF(r, "zone", "team", "ray.io/market-type", ACCEL_LABEL),
            rnd_below(r, 3) ? TERM_IN : TERM_NOT_IN,
            {values, k}};
    }
    a.selector = (struct terms){t, n};
    a.tolerations = rnd_tolerations(r);
    a.after_ms = later ? rnd_below(r, 3) * 1500 : 0;
    return a;
}

static inline struct snap_demand rnd_demand(struct rnd *r)
{
    struct snap_demand d = {
        .source = (enum demand_source)rnd_below(r, 5),
        .owner = RND_ONE_OF(r, "ray", "train-42", "default"),
        .id = RND_ONE_OF(r, "", "pg1", "pg2"),
        .queue = RND_ONE_OF(r, "", "", "q0", "q1", "nope"),
        .since_ms = rnd_below(r, 3) * 1000,
        .priority = (int32_t)rnd_below(r, 3) - 1};
    struct snap_bundle *b;

    d.n_bundles = 1 + rnd_below(r, 4);
    b = ARENA_ARRAY(r->a, struct snap_bundle, d.n_bundles);
    if (rnd_below(r, 3) == 0)
        d.strategy = (enum strategy)rnd_below(r, 5);
    for (uint32_t i = 0; i < d.n_bundles; i++) {
        struct snap_alt *alts = ARENA_ARRAY(r->a, struct snap_alt, 3);

        if (i > 0 && rnd_below(r, 3) == 0) {
            b[i] = b[rnd_below(r, i)]; /* some are equal */
            continue;
        }
        b[i].n_alts = 1 + (rnd_below(r, 4) == 0 ? rnd_below(r, 3) : 0);
        for (uint32_t k = 0; k < b[i].n_alts; k++)
            alts[k] = rnd_alt(r, k > 0);
        b[i].alts = alts;
        b[i].count = 1 + rnd_below(r, 100);
    }
    d.bundles = b;
    return d;
}

/* The same but for one small thing, for the last ties of an order. */
static inline struct snap_demand rnd_twin(struct rnd *r,
                                          const struct snap_demand *of)
{
    struct snap_demand d = *of;
    struct snap_bundle *b = arena_copy(r->a, d.bundles,
                                       d.n_bundles * sizeof *b);
    struct snap_bundle *last = &b[d.n_bundles - 1];

    if (last->n_alts > 1 && rnd_below(r, 2)) {
        struct snap_alt *a = arena_copy(r->a, last->alts,
                                        last->n_alts * sizeof *a);

        a[last->n_alts - 1].after_ms += 1000;
        last->alts = a;
    } else {
        last->count++;
    }
    d.bundles = b;
    return d;
}

static inline struct snap_type rnd_type(struct rnd *r, uint32_t i)
{
    static const char *const zones[] = {"", "a", "b"};
    struct snap_offer *o = ARENA_ARRAY(r->a, struct snap_offer, 6);
    struct snap_type t = {
        .name = arena_printf(r->a, "type-%u", (i * 7) % 101),
        .provider = "sim",
        .machine = "",
        .pool = "",
        .resources = rnd_resources(r, false, false),
        .labels = rnd_labels(r),
        .min = rnd_below(r, 3),
        .max = rnd_below(r, 2) ? UNLIMITED : 5,
        .idle_timeout_ms = rnd_below(r, 2) ? -1 : (int64_t)rnd_below(r, 99999),
        .taints = rnd_taints(r),
        .boot_ms = rnd_below(r, 2) ? -1 : 41234,
        .hosts = 1 + rnd_below(r, 2),
        .priority = (int32_t)rnd_below(r, 5) - 2,
        .unavailable = rnd_below(r, 4) ? REASON_NONE : REASON_PROVIDER_DOWN};

    for (uint32_t z = 0; z < 6; z++)
        if (rnd_below(r, 3) == 0 || (z == 5 && t.n_offers == 0))
            o[t.n_offers++] = (struct snap_offer){
                .zone = zones[z / 2],
                .spot = z % 2,
                .price_micros_hour = rnd_below(r, 3)
                                         ? (int64_t)rnd_below(r, 40000000)
                                         : -1,
                .idle_timeout_ms = rnd_below(r, 2) ? 0 : 777,
                .room = rnd_below(r, 2) ? UNLIMITED : rnd_below(r, 9),
                .backoff_until_ms = rnd_below(r, 2) ? 0 : 1234567,
                .failed_ms = rnd_below(r, 2) ? 0 : 1234000,
                .backoff_for = rnd_below(r, 2) ? ST_OK : ST_STOCKOUT};
    t.offers = o;
    return t;
}

static inline struct snap_node rnd_node(struct rnd *r, uint32_t i)
{
    struct snap_node n = {
        .id = arena_printf(r->a, "node-%u", (i * 13) % 211),
        .type = arena_printf(r->a, "type-%u", (rnd_below(r, 9) * 7) % 101),
        .zone = RND_ONE_OF(r, "", "a", "b", "c"),
        .spot = rnd_below(r, 2),
        .head = i == 0,
        .unmanaged = rnd_below(r, 9) == 0,
        .outdated = rnd_below(r, 9) == 0,
        .state = (enum machine_state)rnd_below(r, STATE_GONE),
        .labels = rnd_labels(r),
        .idle_ms = (int64_t)rnd_below(r, 9) - 1,
        .since_ms = rnd_below(r, 999),
        .created_ms = rnd_below(r, 999),
        .price_micros_hour = rnd_below(r, 2) ? -1
                                             : (int64_t)rnd_below(r, 99999),
        .agreed_micros_hour = rnd_below(r, 2) ? -1
                                              : (int64_t)rnd_below(r, 99999),
        .counted_on = rnd_below(r, 2),
        .hold = rnd_below(r, 4) ? REASON_NONE : REASON_KEEP_STALE,
        .hold_until_ms = rnd_below(r, 2),
        .activity = "",
        .cloud_id = "i-1",
        .address = "",
        .ray_id = "",
        .provider = "sim",
        .request_id = "",
        .note = "a \"note\"",
        .taints = rnd_taints(r),
        .host_group = RND_ONE_OF(r, "", "u/0"),
        .progress_ms = rnd_below(r, 2000)};

    if (rnd_below(r, 3)) {
        struct qty *v;

        n.total = rnd_resources(r, false, true);
        v = arena_copy(r->a, n.total.v, n.total.n * sizeof *v);
        for (uint32_t j = 0; j < n.total.n; j++)
            v[j].amount = v[j].amount * rnd_below(r, 5) / 4;
        n.available = (struct qtys){v, n.total.n};
    }
    return n;
}

static inline void rnd_queues(struct rnd *r, struct snapshot *f)
{
    static const char *const names[] = {"q0", "q1"};
    struct snap_queue *q = ARENA_ARRAY(r->a, struct snap_queue, 2);
    const char **owners = ARENA_ARRAY(r->a, const char *, 1);

    owners[0] = "train-*";
    for (uint32_t i = 0; i < 2; i++) {
        const char **types = ARENA_ARRAY(r->a, const char *, f->n_types);
        uint32_t n = 0;

        for (uint32_t k = 0; k < f->n_types; k++)
            if (rnd_below(r, 2))
                types[n++] = f->types[k].name;
        q[i] = (struct snap_queue){
            .name = names[i],
            .types = {types, n},
            .gpus = rnd_below(r, 2) ? -1 : 8 * AMOUNT_ONE,
            .cpus = rnd_below(r, 2) ? -1 : 12345,
            .nodes = rnd_below(r, 2) ? UNLIMITED : 4,
            .priority = (int32_t)rnd_below(r, 3) - 1,
            .owners = {owners, rnd_below(r, 2)}};
    }
    f->queues = q;
    f->n_queues = rnd_below(r, 3);
}

static inline struct snapshot *rnd_snapshot(struct rnd *r)
{
    struct snapshot *f = ARENA_NEW(r->a, struct snapshot);
    uint32_t nt = rnd_below(r, 9), nn = rnd_below(r, 12), nd = rnd_below(r, 9);
    struct snap_type *t = ARENA_ARRAY(r->a, struct snap_type, nt);
    struct snap_node *n = ARENA_ARRAY(r->a, struct snap_node, nn);
    struct snap_demand *d = ARENA_ARRAY(r->a, struct snap_demand, nd);

    for (uint32_t i = 0; i < nt; i++)
        t[i] = rnd_type(r, i);
    for (uint32_t i = 0; i < nn; i++)
        n[i] = rnd_node(r, i);
    for (uint32_t i = 0; i < nd; i++)
        d[i] = i > 0 && rnd_below(r, 3) == 0 ? rnd_twin(r, &d[i - 1])
                                             : rnd_demand(r);
    *f = (struct snapshot){.cluster = "c",
                           .now_ms = 1700000000123,
                           .sources_fresh = rnd_below(r, 2),
                           .work_unknown = rnd_below(r, 2),
                           .work_spreads = rnd_below(r, 2),
                           .limits = snap_limits_default,
                           .types = t,
                           .n_types = nt,
                           .nodes = n,
                           .n_nodes = nn,
                           .demands = d,
                           .n_demands = nd};
    rnd_queues(r, f);
    if (rnd_below(r, 2))
        f->limits = (struct snap_limits){
            .max_nodes = rnd_below(r, 99),
            .idle_timeout_ms = -1,
            .max_cost_micros_hour = 12345678,
            .max_launching = 7,
            .upscaling_speed = 12500,
            .end_outdated = true,
            .policy = POLICY_LEAST_WASTE,
            .end_order = {END_KEY_SPOT, END_KEY_OLDEST},
            .n_end_order = 2,
            .consolidate = CONSOLIDATE_ON,
            .consolidate_saving = 1234,
            .consolidate_age_ms = 1500};
    return f;
}

static inline void rnd_shuffle(struct rnd *r, void *v, uint32_t n, size_t size)
{
    char *p = v, t[512];

    if (size > sizeof t)
        abort();
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = rnd_below(r, i);

        memcpy(t, p + (i - 1) * size, size);
        memmove(p + (i - 1) * size, p + j * size, size);
        memcpy(p + j * size, t, size);
    }
}

#endif
