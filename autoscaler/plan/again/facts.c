/*
 * facts.c - see facts.h.
 *
 * Field by field, as structs have gaps.  What is in an array of plain numbers is
 * copied.
 */
#include "facts.h"

#include <string.h>

struct writer {
    const struct problem *s;
    const enum leaving *gone;
    struct arena *arena;
    VEC(uint64_t) v;
};

static void put(struct writer *w, uint64_t x)
{
    VEC_PUSH(w->arena, &w->v, x);
}

static void two(struct writer *w, uint32_t a, uint32_t b)
{
    put(w, (uint64_t)a << 32 | b);
}

static void put_bytes(struct writer *w, const void *p, size_t n)
{
    const unsigned char *from = p;

    put(w, n);
    for (; n > 0; from += 8, n -= n < 8 ? n : 8) {
        uint64_t x = 0;

        memcpy(&x, from, n < 8 ? n : 8);
        put(w, x);
    }
}

/* ---- what may lie where */

static void put_text(struct writer *w, uint32_t string)
{
    const char *text = string < w->s->n_str ? w->s->str[string] : "";

    put_bytes(w, text, strlen(text));
}

static void selectors(struct writer *w)
{
    const struct problem *s = w->s;

    two(w, s->n_selectors, s->accelerator_key);
    for (uint32_t i = 0; i < s->n_selectors; i++) {
        const struct pb_selector *x = &s->selectors[i];

        two(w, x->n_terms, x->n_tolerations);
        put(w, x->queue);
        for (uint32_t k = 0; k < x->n_terms; k++) {
            const struct pb_term *t = &s->terms[x->first_term + k];

            two(w, t->key, (uint32_t)t->op);
            put_bytes(w, s->term_values + t->first_value,
                      t->n_values * sizeof *s->term_values);
            for (uint32_t q = 0; q < t->n_values; q++)
                put_text(w, s->term_values[t->first_value + q]);
        }
        for (uint32_t k = 0; k < x->n_tolerations; k++) {
            const struct pb_toleration *t =
                &s->tolerations[x->first_toleration + k];

            two(w, t->key, t->value);
            two(w, (uint32_t)t->op, (uint32_t)t->effect);
        }
    }
}

/* Equal labels of places are in one place. */
static void labels(struct writer *w)
{
    const struct problem *s = w->s;
    uint32_t n = 0, end;

    for (uint32_t i = 0; i < s->n_offers; i++) {
        end = s->offers[i].first_label + s->offers[i].n_labels;
        n = end > n ? end : n;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        end = s->nodes[i].first_label + s->nodes[i].n_labels;
        n = end > n ? end : n;
    }
    put_bytes(w, s->labels, n * sizeof *s->labels);
    for (uint32_t i = 0; i < n; i++)
        put_text(w, s->labels[i].value);
}

/* ---- what is wanted, but for how much */

/* Does one alternative wait?  Then nodes are told apart by their times. */
static bool shapes(struct writer *w)
{
    const struct problem *s = w->s;
    bool waits = false;
    uint64_t all = 0;

    put(w, s->n_columns);
    for (uint32_t c = 0; c < s->n_columns; c++)
        two(w, s->columns[c].device, s->columns[c].fractions);
    put_bytes(w, s->rows, (size_t)s->n_rows * s->n_columns * sizeof *s->rows);
    put(w, s->n_shapes);
    for (uint32_t i = 0; i < s->n_shapes; i++) {
        const struct pb_shape *x = &s->shapes[i];

        two(w, x->row, x->selector << 1 | x->accelerator);
        put(w, x->plain);
    }
    two(w, s->n_bundles, s->n_unhelped);
    for (uint32_t i = 0; i < s->n_bundles; i++) {
        const struct pb_bundle *b = &s->bundles[i];

        all += b->count;
        two(w, b->demand,
            b->n_alts << 2 | b->unconfirmed << 1 | (b->count > 0));
        put(w, b->first_alt);
        for (uint32_t k = 0; k < b->n_alts; k++) {
            const struct pb_alt *a = &s->alts[b->first_alt + k];

            put(w, a->shape);
            put(w, (uint64_t)a->after_ms);
            waits = waits || a->after_ms > 0;
        }
    }
    put(w, all > UINT32_MAX); /* then groups may be divided */
    for (uint32_t i = 0; i < s->n_unhelped; i++) {
        put(w, s->unhelped[i].type);
        put(w, s->unhelped[i].plain);
    }
    return waits;
}

static void demands(struct writer *w)
{
    put(w, w->s->n_demands);
    for (uint32_t i = 0; i < w->s->n_demands; i++) {
        const struct pb_demand *d = &w->s->demands[i];

        two(w, (uint32_t)d->source << 8 | (uint32_t)d->strategy << 1 | d->gang,
            (uint32_t)d->priority);
        two(w, d->first_bundle, d->n_bundles);
        put(w, (uint64_t)d->since_ms);
    }
}

/* ---- what there is */

static void types(struct writer *w)
{
    const struct problem *s = w->s;

    two(w, s->n_types, s->n_offers);
    for (uint32_t i = 0; i < s->n_types; i++)
        two(w, s->types[i].row, (uint32_t)s->types[i].priority);
    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_offer *o = &s->offers[i];

        two(w, o->first_label, o->n_labels);
        put(w, o->type);
        put(w, (uint64_t)o->price_micros_hour);
        put(w, (uint64_t)o->failed_ms);
    }
}

static void node(struct writer *w, uint32_t i)
{
    const struct problem *s = w->s;
    const struct pb_node *n = &s->nodes[i];
    const bool held = n->hold_until_ms == 0 || n->hold_until_ms > s->now_ms;
    const uint32_t flags = (uint32_t)n->head | (uint32_t)n->unmanaged << 1 |
                           (uint32_t)n->outdated << 2 | (uint32_t)n->spot << 3 |
                           (uint32_t)n->asked_to_end << 4 |
                           (uint32_t)n->template_room << 5 |
                           (uint32_t)held << 6 | (uint32_t)w->gone[i] << 7;

    two(w, n->type, n->offer);
    two(w, n->host_group, flags);
    two(w, (uint32_t)n->state, (uint32_t)n->hold);
    two(w, n->total, n->available);
    two(w, n->first_label, n->n_labels);
    put(w, (uint64_t)(n->idle_ms < 0 ? INT64_MAX : n->idle_ms - s->now_ms));
    put(w, (uint64_t)n->created_ms);
    put(w, (uint64_t)n->progress_ms);
    put(w, (uint64_t)n->price_micros_hour);
    put(w, n->n_devices);
    for (uint32_t k = 0; k < n->n_devices; k++)
        two(w, s->devices[n->first_device + k].column,
            (uint32_t)s->devices[n->first_device + k].free);
}

static void limits(struct writer *w)
{
    const struct snap_limits *l = &w->s->limits;

    two(w, (uint32_t)l->policy, (uint32_t)l->end_outdated);
    put(w, l->n_end_order);
    for (uint32_t i = 0; i < l->n_end_order; i++)
        put(w, (uint64_t)l->end_order[i]);
}

const uint64_t *facts_write(const struct problem *s, const enum leaving *gone,
                            uint32_t expected, struct arena *arena,
                            uint32_t *ret_n)
{
    struct writer w = {.s = s, .gone = gone, .arena = arena};

    w.v.v = ARENA_ARRAY(arena, uint64_t, expected);
    w.v.cap = expected;
    selectors(&w);
    labels(&w);
    put(&w, shapes(&w) ? (uint64_t)s->now_ms : 0);
    demands(&w);
    types(&w);
    put(&w, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        node(&w, i);
    limits(&w);
    *ret_n = w.v.n;
    return w.v.v;
}
