/*
 * problem_hash.c - are two problems the same but for time that has passed?
 *
 * All that a problem holds, field by field (structs have gaps), but for
 * now_ms.  How long nodes have been idle grows with it, so only their order by
 * it counts, and which are busy.
 */
#include "../base/digest.h"
#include "../base/hash.h"
#include "problem.h"
#include "radix.h"

static uint64_t number(uint64_t h, int64_t x)
{
    return digest_number(h, (uint64_t)x);
}

static uint64_t two(uint64_t h, uint32_t a, uint32_t b)
{
    return digest_number(h, (uint64_t)a << 32 | b);
}

/* ---- what the demand is */

static uint64_t selectors(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_selectors; i++) {
        const struct pb_selector *x = &s->selectors[i];

        h = two(two(h, x->n_terms, x->n_tolerations), x->queue, 0);
        for (uint32_t k = 0; k < x->n_terms; k++) {
            const struct pb_term *t = &s->terms[x->first_term + k];

            h = two(two(h, t->key, t->n_values), (uint32_t)t->op, 0);
            h = digest_bytes(h, s->term_values + t->first_value,
                             t->n_values * sizeof *s->term_values);
        }
        for (uint32_t k = 0; k < x->n_tolerations; k++) {
            const struct pb_toleration *t =
                &s->tolerations[x->first_toleration + k];

            h = two(two(h, t->key, t->value), (uint32_t)t->op,
                    (uint32_t)t->effect);
        }
    }
    return h;
}

static uint64_t shapes(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_shapes; i++) {
        const struct pb_shape *x = &s->shapes[i];

        h = two(two(h, x->row, x->selector), x->accelerator, 0);
    }
    return h;
}

static uint64_t bundles(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_bundles; i++) {
        const struct pb_bundle *b = &s->bundles[i];

        h = two(two(h, b->demand, b->n_alts), b->count, b->unconfirmed);
        for (uint32_t k = 0; k < b->n_alts; k++) {
            const struct pb_alt *a = &s->alts[b->first_alt + k];

            h = number(digest_number(h, a->shape), a->after_ms);
        }
    }
    return h;
}

static uint64_t demands(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_demands; i++) {
        const struct pb_demand *d = &s->demands[i];

        h = two(h, (uint32_t)d->source << 8 | (uint32_t)d->strategy, d->gang);
        h = two(two(h, d->owner, d->id), (uint32_t)d->priority, d->queue);
        h = two(number(h, d->since_ms), d->first_bundle, d->n_bundles);
    }
    return h;
}

static uint64_t queues(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_queues; i++) {
        const struct pb_queue *q = &s->queues[i];

        h = number(number(two(h, q->name, q->nodes), q->gpus), q->cpus);
        h = number(number(h, q->used_gpus), q->used_cpus);
        h = two(h, (uint32_t)q->priority, q->used_nodes);
    }
    return h;
}

/* ---- what there is */

static uint64_t labels(uint64_t h, const struct problem *s, uint32_t first,
                       uint32_t n)
{
    return digest_bytes(h, s->labels + first, n * sizeof *s->labels);
}

static uint64_t placements(uint64_t h, const struct problem *s, uint32_t first,
                           uint32_t n)
{
    return digest_bytes(h, s->previous + first, n * sizeof *s->previous);
}

static uint64_t types(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_types; i++) {
        const struct pb_type *t = &s->types[i];

        h = two(two(h, t->name, t->provider), t->row, t->hosts);
        h = two(two(h, t->min, t->max), (uint32_t)t->priority, t->accelerator);
        h = number(number(h, t->idle_timeout_ms), t->boot_ms);
        h = two(two(h, (uint32_t)t->unavailable, 0), t->first_offer,
                t->n_offers);
    }
    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_offer *o = &s->offers[i];

        h = two(two(h, o->type, o->zone),
                (uint32_t)o->spot << 1 | o->price_estimated, o->room);
        h = number(number(h, o->price_micros_hour), o->backoff_until_ms);
        h = number(number(h, o->mean_micros_hour), o->mean_ms);
        h = number(number(h, o->failed_ms), o->idle_timeout_ms);
        h = labels(h, s, o->first_label, o->n_labels);
        h = two(h, 0, o->n_takes);
        h = digest_bytes(h, s->takes + o->first_takes,
                         o->n_takes * sizeof *s->takes);
    }
    return digest_bytes(h, s->shares, s->n_shares * sizeof *s->shares);
}

static uint64_t node(uint64_t h, const struct problem *s,
                     const struct pb_node *n)
{
    uint32_t flags = (uint32_t)n->head | (uint32_t)n->unmanaged << 1 |
                     (uint32_t)n->outdated << 2 | (uint32_t)n->spot << 3 |
                     (uint32_t)n->template_room << 4 |
                     (uint32_t)(n->idle_ms < 0) << 5 |
                     (uint32_t)n->asked_to_end << 6 | (uint32_t)n->moves << 7 |
                     (uint32_t)n->price_estimated << 8 |
                     (uint32_t)n->counted_on << 9;

    h = two(two(h, n->id, n->type), n->offer, n->host_group);
    h = two(two(h, n->queue, flags), (uint32_t)n->state, (uint32_t)n->hold);
    h = two(h, n->total, n->available);
    h = number(number(h, n->since_ms), n->created_ms);
    h = number(number(h, n->price_micros_hour), n->idle_timeout_ms);
    h = number(h, n->agreed_micros_hour);
    h = number(number(h, n->progress_ms), n->hold_until_ms);
    h = digest_bytes(h, s->devices + n->first_device,
                     n->n_devices * sizeof *s->devices);
    h = labels(h, s, n->first_label, n->n_labels);
    return placements(h, s, n->first_previous, n->n_previous);
}

static uint64_t idle_order(uint64_t h, const struct problem *s,
                           struct arena *arena)
{
    struct radix_entry *v = ARENA_ARRAY(arena, struct radix_entry, s->n_nodes);

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        int64_t idle = s->nodes[i].idle_ms;

        v[i] = (struct radix_entry){(uint64_t)(idle > 0 ? idle : 0), i};
    }
    radix_sort(arena, v, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        h = two(h, v[i].at, i > 0 && v[i].key == v[i - 1].key);
    return h;
}

static uint64_t proposed(uint64_t h, const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_proposed; i++) {
        const struct pb_proposal *x = &s->proposed[i];

        h = two(h, x->offer, x->count);
        h = placements(h, s, x->first_previous, x->n_previous);
    }
    return h;
}

/* ---- all together */

static uint64_t limits(uint64_t h, const struct snap_limits *l)
{
    h = number(two(h, l->max_nodes, l->max_launching), l->idle_timeout_ms);
    h = number(number(h, l->max_cost_micros_hour), l->upscaling_speed);
    h = two(two(h, l->end_outdated, l->conserve), (uint32_t)l->policy,
            l->n_end_order);
    for (uint32_t i = 0; i < l->n_end_order; i++)
        h = digest_number(h, (uint64_t)l->end_order[i]);
    h = digest_number(h, (uint64_t)l->consolidate);
    return number(number(h, l->consolidate_saving), l->consolidate_age_ms);
}

static uint64_t sizes(uint64_t h, const struct problem *s)
{
    h = two(two(h, s->n_str, s->n_columns), s->n_rows, s->n_selectors);
    h = two(two(h, s->n_shapes, s->n_bundles), s->n_demands, s->n_types);
    h = two(two(h, s->n_offers, s->n_nodes), s->n_queues, s->n_proposed);
    h = two(h, s->sources_fresh, s->work_unknown);
    return digest_number(h, s->work_spreads);
}

uint64_t problem_hash(const struct problem *s, struct arena *scratch)
{
    uint64_t h = limits(sizes(hash_number(HASH_SEED, 0), s), &s->limits);

    for (uint32_t i = 0; i < s->n_str; i++)
        h = digest_text(h, s->str[i]);
    for (uint32_t i = 0; i < s->n_columns; i++)
        h = two(h, s->columns[i].name,
                (uint32_t)s->columns[i].device << 1 | s->columns[i].fractions);
    h = digest_bytes(h, s->rows,
                     (size_t)s->n_rows * s->n_columns * sizeof *s->rows);
    h = selectors(digest_number(h, s->accelerator_key), s);
    h = demands(bundles(shapes(h, s), s), s);
    h = queues(types(h, s), s);

    for (uint32_t i = 0; i < s->n_nodes; i++)
        h = node(h, s, &s->nodes[i]);
    for (uint32_t i = 0; i < s->n_unhelped; i++)
        h = digest_number(digest_number(h, s->unhelped[i].plain),
                          s->unhelped[i].type);
    return proposed(idle_order(h, s, scratch), s);
}
