/*
 * bundle.c - one request of Ray's as a bundle, and the bundles of one demand.
 *
 * A bundle is built in the view's arena.  One that equals the one before it is
 * removed again and counted there: a gang of 1,000 is one bundle.
 */
#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"
#include "../../model/bundle.h"
#include "inside.h"
#include "ray.pb-c.h"

#define MAX_COUNT ((uint32_t)INT32_MAX)

/* ---- one way to satisfy a bundle */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_term(const void *a, const void *b)
{
    const struct term *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    if (!c)
        c = (int)x->op - (int)y->op;
    for (uint32_t i = 0; !c; i++) {
        if (i == x->values.n || i == y->values.n)
            return (x->values.n > i) - (y->values.n > i);
        c = strcmp(x->values.v[i], y->values.v[i]);
    }
    return c;
}

/* The selector's terms behind `*n` ones that are there. */
static enum ray_kind terms_add(struct ray_strings *w,
                               const PB(LabelSelector) * sel, struct term *v,
                               uint32_t *n)
{
    for (size_t i = 0; sel && i < sel->n_label_constraints; i++) {
        const PB(LabelSelectorConstraint) *c = sel->label_constraints[i];
        const char **values = ARENA_ARRAY(w->arena, const char *,
                                          c->n_label_values);
        bool accel = strcmp(c->label_key, ACCEL_LABEL) == 0;
        struct term *t = &v[*n];
        uint32_t n_values = 0;
        if (!c->label_key[0] || !c->n_label_values)
            return RAY_GARBLED;
        if (c->operator_ ==
            RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_IN)
            t->op = TERM_IN;
        else if (c->operator_ ==
                 RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_NOT_IN)
            t->op = TERM_NOT_IN;
        else
            return RAY_GARBLED;
        for (size_t k = 0; k < c->n_label_values; k++)
            values[k] = ray_intern(
                w, accel ? accel_type_canonical(c->label_values[k])
                         : c->label_values[k]);
        qsort(values, c->n_label_values, sizeof *values, by_text);
        for (size_t k = 0; k < c->n_label_values; k++)
            if (!n_values || values[n_values - 1] != values[k])
                values[n_values++] = values[k];
        t->key = ray_intern(w, c->label_key);
        t->values = (struct names){values, n_values};
        (*n)++;
    }
    return RAY_GOOD;
}

static void term_add(struct ray_strings *w, struct term *t, const char *key,
                     enum term_op op, const char *value)
{
    const char **values = ARENA_NEW(w->arena, const char *);
    values[0] = value;
    *t = (struct term){ray_intern(w, key), op, {values, 1}};
}

/* Can a new machine help?  And how many of its resources become terms. */
static enum ray_kind request_look(const PB(ResourceRequest) * r,
                                  size_t *ret_terms)
{
    enum ray_kind kind = RAY_GOOD;

    *ret_terms = 0;
    for (size_t i = 0; i < r->n_resources_bundle; i++) {
        const char *name = r->resources_bundle[i]->key;
        int64_t amount;

        if (!name[0] ||
            !amount_from_double(r->resources_bundle[i]->value, &amount))
            return RAY_GARBLED;
        if (!amount)
            continue;
        switch (ray_resource_kind(name)) {
        case RAY_NODE:
        case RAY_GROUP: kind = RAY_ELSEWHERE; break;
        case RAY_ACCEL: ++*ret_terms; break;
        case RAY_PLAIN: break;
        }
    }
    return kind;
}

/* Equal terms once, in order. */
static struct terms terms_finish(struct term *v, uint32_t n)
{
    uint32_t to = 0;

    if (n > 1)
        qsort(v, n, sizeof *v, by_term);
    for (uint32_t i = 0; i < n; i++)
        if (!to || by_term(&v[to - 1], &v[i]) != 0)
            v[to++] = v[i];
    return (struct terms){v, to};
}

/* A request with one of its selectors, in canonical order. */
static enum ray_kind alt_read(struct ray_strings *w,
                              const PB(ResourceRequest) * r,
                              const PB(LabelSelector) * sel,
                              const char *anti_affinity, struct snap_alt *ret)
{
    size_t most;
    enum ray_kind kind = request_look(r, &most);
    struct term *terms;
    struct qty *qtys;
    uint32_t n_terms = 0, n_qtys = 0;

    if (kind != RAY_GOOD)
        return kind;
    qtys = ARENA_ARRAY(w->arena, struct qty, r->n_resources_bundle - most);
    most += (anti_affinity != NULL) + (sel ? sel->n_label_constraints : 0);
    terms = ARENA_ARRAY(w->arena, struct term, most);
    for (size_t i = 0; i < r->n_resources_bundle; i++) {
        const char *name = r->resources_bundle[i]->key;
        const char *type = accel_type_of_resource(name);
        int64_t amount;

        amount_from_double(r->resources_bundle[i]->value, &amount);
        if (amount && type)
            term_add(w, &terms[n_terms++], ACCEL_LABEL, TERM_IN,
                     ray_intern(w, accel_type_canonical(type)));
        else if (amount)
            qtys[n_qtys++] = (struct qty){ray_intern(w, name), amount};
    }
    if (terms_add(w, sel, terms, &n_terms) != RAY_GOOD)
        return RAY_GARBLED;
    if (anti_affinity)
        term_add(w, &terms[n_terms++], anti_affinity, TERM_NOT_IN, "");
    /* whole: the caller's is uninitialised; Ray has no other members */
    *ret = (struct snap_alt){.resources = ray_sort_qtys(qtys, n_qtys),
                             .selector = terms_finish(terms, n_terms)};
    return n_qtys || n_terms ? RAY_GOOD : RAY_EMPTY;
}

/* ---- comparing */

static int by_alt(const struct snap_alt *a, const struct snap_alt *b)
{
    uint32_t n_a = a->resources.n, n_b = b->resources.n;

    for (uint32_t i = 0; i < n_a && i < n_b; i++) {
        const struct qty *x = &a->resources.v[i], *y = &b->resources.v[i];
        int c = strcmp(x->name, y->name);
        if (c || x->amount != y->amount)
            return c ? c : x->amount > y->amount ? 1 : -1;
    }
    if (n_a != n_b)
        return n_a > n_b ? 1 : -1;
    for (uint32_t i = 0;; i++) {
        if (i == a->selector.n || i == b->selector.n)
            return (a->selector.n > i) - (b->selector.n > i);
        int c = by_term(&a->selector.v[i], &b->selector.v[i]);
        if (c)
            return c;
    }
}

static int by_bundle(const void *a, const void *b)
{
    const struct snap_bundle *x = a, *y = b;
    for (uint32_t i = 0;; i++) {
        if (i == x->n_alts || i == y->n_alts)
            return (x->n_alts > i) - (y->n_alts > i);
        int c = by_alt(&x->alts[i], &y->alts[i]);
        if (c)
            return c;
    }
}

/* ---- alternatives */

/* Alternatives of a request behind the n that are there; equal ones once. */
enum ray_kind ray_alts_read(struct ray_strings *w,
                            const PB(ResourceRequest) * r,
                            const char *anti_affinity, struct snap_alt *alts,
                            uint32_t *n)
{
    size_t n_selectors = r->n_label_selectors ? r->n_label_selectors : 1;
    for (size_t i = 0; i < n_selectors && *n < RAY_MAX_ALTS; i++) {
        const PB(LabelSelector) *sel = r->n_label_selectors
                                           ? r->label_selectors[i]
                                           : NULL;
        enum ray_kind kind = alt_read(w, r, sel, anti_affinity, &alts[*n]);
        if (kind != RAY_GOOD)
            return kind;
        bool there = false;
        for (uint32_t k = 0; k < *n && !there; k++)
            there = by_alt(&alts[k], &alts[*n]) == 0;
        *n += !there;
    }
    return RAY_GOOD;
}

/* ---- bundles of one demand */

static void count_add(struct snap_bundle *b, int64_t count)
{
    b->count = count < MAX_COUNT - b->count ? b->count + (uint32_t)count
                                            : MAX_COUNT;
}

void ray_bundle_add(struct ray_bundles *to, struct arena_mark before,
                    const struct snap_alt *alts, uint32_t n, int64_t count)
{
    struct snap_bundle b = {.alts = alts, .n_alts = n};

    if (to->all.n && bundle_equal(&to->all.v[to->all.n - 1], &b)) {
        /* its strings were interned before the mark */
        arena_rewind(to->strings->arena, before);
        count_add(&to->all.v[to->all.n - 1], count);
        return;
    }
    b.alts = arena_copy(to->strings->arena, alts, n * sizeof *alts);
    count_add(&b, count);
    VEC_PUSH(to->strings->scratch, &to->all, b);
}

void ray_bundles_finish(struct ray_bundles *b, struct snap_demand *d)
{
    uint32_t n = 0;

    if (b->all.n > 1)
        qsort(b->all.v, b->all.n, sizeof *b->all.v, by_bundle);
    for (uint32_t i = 0; i < b->all.n; i++) {
        const struct snap_bundle *x = &b->all.v[i];

        if (n && bundle_equal(&b->all.v[n - 1], x))
            count_add(&b->all.v[n - 1], x->count);
        else
            b->all.v[n++] = *x;
    }
    d->bundles = arena_copy(b->strings->arena, b->all.v, n * sizeof *b->all.v);
    d->n_bundles = n;
}
