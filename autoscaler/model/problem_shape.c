/*
 * problem_shape.c - what an alternative needs, as a shape: a row of resources
 * and a selector, the conditions on the place.
 *
 * Selectors are made canonical, terms sorted, values sorted and unique, so
 * that equal needs are one shape.
 */
#include <stdlib.h>

#include "accel.h"
#include "problem_build.h"

/* ---- selectors */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* A condition is the numbers key, op, n, values...; beside terms there are
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

static uint32_t term_begin(struct builder *m, uint32_t key, uint32_t op)
{
    uint32_t at = m->words.n;

    VEC_PUSH(&m->scratch, &m->words, key);
    VEC_PUSH(&m->scratch, &m->words, op);
    VEC_PUSH(&m->scratch, &m->words, 0);
    return at;
}

static void condition_add(struct builder *m, uint32_t key, uint32_t op,
                          const uint32_t *values, uint32_t n)
{
    uint32_t at = term_begin(m, key, op);

    m->words.v[at + 2] = n;
    for (uint32_t i = 0; i < n; i++)
        VEC_PUSH(&m->scratch, &m->words, values[i]);
    VEC_PUSH(&m->scratch, &m->term_at, at);
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
    VEC_PUSH(&m->scratch, &m->term_at, at);
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
            VEC_PUSH(&m->scratch, &m->words, m->words.v[at[i] + j]);
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
        uint32_t key = builder_id(m, t->key),
                 at = term_begin(m, key, (uint32_t)t->op);
        bool accelerator = key == m->id.accelerator;

        for (uint32_t j = 0; j < t->values.n; j++) {
            const char *v = t->values.v[j];

            v = accelerator ? builder_canonical(m, v) : v;
            VEC_PUSH(&m->scratch, &m->words, builder_id(m, v));
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
        VEC_PUSH(&m->scratch, &m->words,
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

uint32_t builder_shape(struct builder *m, const struct snap_alt *a,
                       uint32_t queue)
{
    bool accelerator = builder_has_accelerator(&a->resources);
    struct shape_key key = {0};

    key.row = builder_row(m, &a->resources, true);
    key.selector = selector_of(m, a, queue, &accelerator);
    key.accelerator = accelerator;
    return intern_add(&m->shapes, &key, sizeof key, 1);
}

void builder_shapes_begin(struct builder *m, uint32_t expected)
{
    intern_init(&m->selectors, &m->scratch, 64);
    intern_add(&m->selectors, "", 0, 1); /* "any" */
    intern_init(&m->shapes, &m->scratch, expected);
}

/* ---- laying down */

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

    intern_rank_words(&m->selectors);
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

void builder_shapes_lay(struct builder *m)
{
    struct pb_shape *shapes;

    selectors_lay(m);
    for (uint32_t i = 0; i < m->shapes.n; i++) {
        /* Ours to change: intern_add() copied it, and nobody looks a shape up
         * by content any more. */
        struct shape_key *key = (struct shape_key *)m->shapes.items[i].p;

        key->row = m->rows.rank[key->row];
        key->selector = m->selectors.rank[key->selector];
    }
    intern_rank_words(&m->shapes);
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
