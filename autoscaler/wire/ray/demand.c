/*
 * demand.c - what Ray waits for, as demands.
 *
 * A shape is left out as a whole when no new machine could help it: it names
 * a node (node:...) or lies inside a placement group that has its place
 * (X_group_...).  A shape with a number or selector that makes no sense is
 * left out too, and counted, rather than served as something smaller.
 * Identical bundles become one with a count: a gang of 1,000 is one bundle.
 */
#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"
#include "ray.pb-c.h"
#include "inside.h"

#define MAX_ALTS 64u        /* fall-backs of one bundle that are looked at */
#define MAX_COUNT INT32_MAX

enum kind { GOOD, ELSEWHERE, GARBLED, EMPTY };

struct sorter {             /* of the bundles of one demand */
    const struct ray_demand_input *in;
    struct arena *scratch;
    VEC(struct snap_bundle) bundles;
    uint64_t *slot_hash;    /* open addressing: hash, and index + 1 */
    uint32_t *slot;
    uint32_t cap;
};

/* ---- one way to satisfy a bundle */

static int by_word(const void *a, const void *b)
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
static enum kind terms_add(struct ray_words *w, const PB(LabelSelector) *sel,
                           struct term *v, uint32_t *n)
{
    for (size_t i = 0; sel && i < sel->n_label_constraints; i++) {
        const PB(LabelSelectorConstraint) *c = sel->label_constraints[i];
        const char **values = ARENA_ARRAY(w->scratch, const char *,
                                          c->n_label_values);
        bool accel = strcmp(c->label_key, ACCEL_LABEL) == 0;
        struct term *t = &v[*n];
        uint32_t n_values = 0;
        if (!c->label_key[0] || !c->n_label_values)
            return GARBLED;
        if (c->operator_ ==
            RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_IN)
            t->op = TERM_IN;
        else if (c->operator_ ==
                 RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_NOT_IN)
            t->op = TERM_NOT_IN;
        else
            return GARBLED;
        for (size_t k = 0; k < c->n_label_values; k++)
            values[k] = ray_word(w, accel
                                    ? accel_type_canonical(c->label_values[k])
                                    : c->label_values[k]);
        qsort(values, c->n_label_values, sizeof *values, by_word);
        for (size_t k = 0; k < c->n_label_values; k++)
            if (!n_values || values[n_values - 1] != values[k])
                values[n_values++] = values[k];
        t->key = ray_word(w, c->label_key);
        t->values = (struct names){ values, n_values };
        (*n)++;
    }
    return GOOD;
}

static void term_word(struct ray_words *w, struct term *t, const char *key,
                      enum term_op op, const char *value)
{
    const char **values = ARENA_NEW(w->scratch, const char *);
    values[0] = value;
    *t = (struct term){ ray_word(w, key), op, { values, 1 } };
}

/* A request with one of its selectors, in scratch, in canonical order. */
static enum kind alt_read(struct ray_words *w, const PB(ResourceRequest) *r,
                          const PB(LabelSelector) *sel, const char *apart,
                          struct snap_alt *alt)
{
    size_t most = r->n_resources_bundle + 1 +
                  (sel ? sel->n_label_constraints : 0);
    struct term *terms = ARENA_ARRAY(w->scratch, struct term, most);
    struct qty *qtys = ARENA_ARRAY(w->scratch, struct qty,
                                   r->n_resources_bundle);
    uint32_t n_terms = 0, n_qtys = 0;
    enum kind kind = GOOD;
    for (size_t i = 0; i < r->n_resources_bundle; i++) {
        const char *name = r->resources_bundle[i]->key;
        int64_t amount;
        if (!name[0] ||
            !amount_from_double(r->resources_bundle[i]->value, &amount))
            return GARBLED;
        if (!amount)
            continue;
        switch (ray_resource_kind(name)) {
        case RAY_NODE:
        case RAY_GROUP:
            kind = ELSEWHERE;
            break;
        case RAY_ACCEL:
            name = accel_type_canonical(accel_type_of_resource(name));
            term_word(w, &terms[n_terms++], ACCEL_LABEL, TERM_IN,
                      ray_word(w, name));
            break;
        case RAY_PLAIN:
            qtys[n_qtys++] = (struct qty){ ray_word(w, name), amount };
        }
    }
    if (kind != GOOD)
        return kind;
    if (terms_add(w, sel, terms, &n_terms) != GOOD)
        return GARBLED;
    if (apart)
        term_word(w, &terms[n_terms++], apart, TERM_NOT_IN, "");
    if (n_terms > 1)
        qsort(terms, n_terms, sizeof *terms, by_term);
    uint32_t to = 0;
    for (uint32_t i = 0; i < n_terms; i++)
        if (!to || by_term(&terms[to - 1], &terms[i]) != 0)
            terms[to++] = terms[i];
    /* All of it: the caller's is on the stack, and Ray has none of the rest. */
    *alt = (struct snap_alt){ .resources = ray_sort_qtys(qtys, n_qtys),
                              .selector = { terms, to } };
    return n_qtys || to ? GOOD : EMPTY;
}

/* ---- comparing, hashing and keeping bundles (words are stored once, so that
 * pointers can be compared) */

static bool alt_equal(const struct snap_alt *a, const struct snap_alt *b)
{
    if (a->resources.n != b->resources.n || a->selector.n != b->selector.n)
        return false;
    for (uint32_t i = 0; i < a->resources.n; i++)
        if (a->resources.v[i].name != b->resources.v[i].name ||
            a->resources.v[i].amount != b->resources.v[i].amount)
            return false;
    for (uint32_t i = 0; i < a->selector.n; i++)
        if (by_term(&a->selector.v[i], &b->selector.v[i]) != 0)
            return false;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t alts_hash(const struct snap_alt *a, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < a[i].resources.n; k++) {
            h = mix(h, (uintptr_t)a[i].resources.v[k].name);
            h = mix(h, (uint64_t)a[i].resources.v[k].amount);
        }
        for (uint32_t k = 0; k < a[i].selector.n; k++) {
            const struct term *t = &a[i].selector.v[k];
            h = mix(mix(h, (uintptr_t)t->key), (uint64_t)t->op + 1);
            for (uint32_t m = 0; m < t->values.n; m++)
                h = mix(h, (uintptr_t)t->values.v[m]);
        }
    }
    return h;
}

static struct snap_alt *alts_keep(struct arena *arena,
                                  const struct snap_alt *from, uint32_t n)
{
    struct snap_alt *to = arena_copy(arena, from, n * sizeof *to);
    for (uint32_t i = 0; i < n; i++) {
        struct terms s = from[i].selector;
        struct qtys r = from[i].resources;
        struct term *terms = arena_copy(arena, s.v, s.n * sizeof *terms);
        for (uint32_t k = 0; k < s.n; k++)
            terms[k].values.v = arena_copy(
                arena, s.v[k].values.v,
                s.v[k].values.n * sizeof *terms[k].values.v);
        to[i].selector.v = terms;
        to[i].resources.v = arena_copy(arena, r.v, r.n * sizeof *r.v);
    }
    return to;
}

static void sorter_grow(struct sorter *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : 64;
    uint64_t *hash = ARENA_ARRAY(s->scratch, uint64_t, cap);
    uint32_t *slot = ARENA_ARRAY(s->scratch, uint32_t, cap);
    for (uint32_t i = 0; i < s->cap; i++) {
        if (!s->slot[i])
            continue;
        uint32_t at = (uint32_t)s->slot_hash[i] & (cap - 1);
        while (slot[at])
            at = (at + 1) & (cap - 1);
        slot[at] = s->slot[i];
        hash[at] = s->slot_hash[i];
    }
    s->slot_hash = hash;
    s->slot = slot;
    s->cap = cap;
}

/* Adds count bundles with these alternatives (in scratch). */
static void bundle_add(struct sorter *s, const struct snap_alt *alts,
                       uint32_t n, int64_t count)
{
    uint64_t hash = alts_hash(alts, n);
    if (count > MAX_COUNT)
        count = MAX_COUNT;
    if (s->bundles.n * 2 >= s->cap)
        sorter_grow(s);
    uint32_t at = (uint32_t)hash & (s->cap - 1);
    for (; s->slot[at]; at = (at + 1) & (s->cap - 1)) {
        struct snap_bundle *b = &s->bundles.v[s->slot[at] - 1];
        bool equal = s->slot_hash[at] == hash && b->n_alts == n;
        for (uint32_t i = 0; equal && i < n; i++)
            equal = alt_equal(&b->alts[i], &alts[i]);
        if (equal) {
            count += b->count;
            b->count = (uint32_t)(count < MAX_COUNT ? count : MAX_COUNT);
            return;
        }
    }
    struct snap_bundle b = {
        .alts = alts_keep(s->in->words->arena, alts, n),
        .n_alts = n,
        .count = (uint32_t)count,
    };
    VEC_PUSH(s->in->words->arena, &s->bundles, b);
    s->slot_hash[at] = hash;
    s->slot[at] = s->bundles.n;
}

static int by_alt(const struct snap_alt *a, const struct snap_alt *b)
{
    for (uint32_t i = 0;; i++) {
        if (i == a->resources.n || i == b->resources.n) {
            if (a->resources.n != b->resources.n)
                return a->resources.n > b->resources.n ? 1 : -1;
            break;
        }
        const struct qty *x = &a->resources.v[i], *y = &b->resources.v[i];
        int c = strcmp(x->name, y->name);
        if (c || x->amount != y->amount)
            return c ? c : x->amount > y->amount ? 1 : -1;
    }
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

/* ---- tasks, requests, gangs */

/* Alternatives of a request behind the n that are there; equal ones once. */
static enum kind alts_read(struct ray_words *w, const PB(ResourceRequest) *r,
                           const char *apart, struct snap_alt *alts,
                           uint32_t *n)
{
    size_t n_selectors = r->n_label_selectors ? r->n_label_selectors : 1;
    for (size_t i = 0; i < n_selectors && *n < MAX_ALTS; i++) {
        const PB(LabelSelector) *sel = r->n_label_selectors
                                           ? r->label_selectors[i] : NULL;
        enum kind kind = alt_read(w, r, sel, apart, &alts[*n]);
        if (kind != GOOD)
            return kind;
        bool there = false;
        for (uint32_t k = 0; k < *n && !there; k++)
            there = alt_equal(&alts[k], &alts[*n]);
        *n += !there;
    }
    return GOOD;
}

static void count_left_out(struct source_view *view, enum kind kind)
{
    view->n_elsewhere += kind == ELSEWHERE;
    view->n_garbled += kind == GARBLED;
}

static void by_count_read(struct sorter *s, struct source_view *view,
                          PB(ResourceRequestByCount) *const *v, size_t n)
{
    struct snap_alt alts[MAX_ALTS];
    for (size_t i = 0; i < n; i++) {
        uint32_t n_alts = 0;
        if (v[i]->count <= 0 || !v[i]->request) {
            view->n_garbled += v[i]->count < 0;
            continue;
        }
        enum kind kind = alts_read(s->in->words, v[i]->request, NULL, alts,
                                   &n_alts);
        if (kind == GOOD)
            bundle_add(s, alts, n_alts, v[i]->count);
        else
            count_left_out(view, kind);
    }
}

static void finish(struct sorter *s, struct snap_demand *d)
{
    if (s->bundles.n > 1)
        qsort(s->bundles.v, s->bundles.n, sizeof *s->bundles.v, by_bundle);
    d->bundles = s->bundles.v;
    d->n_bundles = s->bundles.n;
}

static const PB(PlacementLabel) *constraint_of(const PB(GangResourceRequest) *g,
                                               bool apart)
{
    for (size_t i = 0; i < g->n_requests; i++)
        for (size_t k = 0; k < g->requests[i]->n_placement_constraints; k++) {
            const PB(PlacementConstraint) *c =
                g->requests[i]->placement_constraints[k];
            const PB(PlacementLabel) *l = apart ? c->anti_affinity
                                                : c->affinity;
            if (l)
                return l;
        }
    return NULL;
}

const char *ray_gang_apart(const PB(GangResourceRequest) *g)
{
    const PB(PlacementLabel) *l = constraint_of(g, true);
    return l && l->label_name[0] ? l->label_name : NULL;
}

/* "<id>:PACK|PENDING"; the constraints are the truth where there are any. */
static void gang_name(struct ray_words *w, const PB(GangResourceRequest) *g,
                      struct snap_demand *d)
{
    const PB(PlacementLabel) *apart = constraint_of(g, true);
    const PB(PlacementLabel) *together = constraint_of(g, false);
    const PB(PlacementLabel) *label = apart ? apart : together;
    size_t id = strcspn(g->details, ":");
    d->strategy = STRATEGY_PACK;
    if (g->details[id] == ':') {
        const char *name = g->details + id + 1;
        d->id = ray_word(w, arena_strndup(w->scratch, g->details, id));
        if (!strategy_from_name(arena_strndup(w->scratch, name,
                                              strcspn(name, "|")),
                                &d->strategy))
            d->strategy = STRATEGY_PACK;
    } else if (label && strncmp(label->label_name, "_PG_", 4) == 0) {
        d->id = ray_word(w, label->label_name + 4);
    } else {
        d->id = ray_word(w, g->details);
    }
    if (apart)
        d->strategy = STRATEGY_STRICT_SPREAD;
    else if (together)
        d->strategy = STRATEGY_STRICT_PACK;
}

static const char *held_label(const struct ray_demand_input *in,
                              const PB(GangResourceRequest) *g)
{
    const char *label = ray_gang_apart(g);
    for (uint32_t k = 0; label && k < in->n_held; k++)
        if (strcmp(in->held[k], label) == 0)
            return in->held[k];
    return NULL;
}

/* Bundle i: what each selector of the gang asks for it, in their order; the
 * plain request where there is none. */
static enum kind gang_bundle(struct ray_words *w,
                             const PB(GangResourceRequest) *g, size_t i,
                             const char *apart, struct snap_alt *alts,
                             uint32_t *n)
{
    enum kind kind = GOOD;
    for (size_t k = 0; k < g->n_bundle_selectors && kind == GOOD; k++)
        if (i < g->bundle_selectors[k]->n_resource_requests)
            kind = alts_read(w, g->bundle_selectors[k]->resource_requests[i],
                             apart, alts, n);
    if (kind == GOOD && !*n && i < g->n_requests)
        kind = alts_read(w, g->requests[i], apart, alts, n);
    return kind;
}

static bool gang_read(const struct ray_demand_input *in,
                      const PB(GangResourceRequest) *g, struct source_view *view,
                      struct snap_demand *d)
{
    struct sorter s = { .in = in, .scratch = in->words->scratch };
    struct snap_alt alts[MAX_ALTS];
    const char *apart = held_label(in, g);
    size_t n = g->n_requests;
    if (!n && g->n_bundle_selectors)
        n = g->bundle_selectors[0]->n_resource_requests;
    for (size_t i = 0; i < n; i++) {
        uint32_t n_alts = 0;
        enum kind kind = gang_bundle(in->words, g, i, apart, alts, &n_alts);
        if (kind != GOOD) {  /* whole or not at all */
            count_left_out(view, kind == EMPTY ? GARBLED : kind);
            return false;
        }
        bundle_add(&s, alts, n_alts, 1);
    }
    *d = (struct snap_demand){ .source = SOURCE_GANG, .owner = "ray" };
    gang_name(in->words, g, d);
    finish(&s, d);
    return d->n_bundles > 0;
}

void ray_demands_read(const struct ray_demand_input *in,
                      const PB(ClusterResourceState) *c, struct source_view *view)
{
    size_t most = 1 + c->n_pending_gang_resource_requests +
                  c->n_cluster_resource_constraints;
    struct snap_demand *v = ARENA_ARRAY(in->words->arena, struct snap_demand,
                                        most);
    uint32_t n = 0;

    struct sorter tasks = { .in = in, .scratch = in->words->scratch };
    by_count_read(&tasks, view, c->pending_resource_requests,
                  c->n_pending_resource_requests);
    if (tasks.bundles.n) {
        v[n] = (struct snap_demand){ .source = SOURCE_TASK, .owner = "ray",
                                     .id = "" };
        finish(&tasks, &v[n++]);
    }
    for (size_t i = 0; i < c->n_pending_gang_resource_requests; i++)
        n += gang_read(in, c->pending_gang_resource_requests[i], view, &v[n]);
    for (size_t i = 0; i < c->n_cluster_resource_constraints; i++) {
        const PB(ClusterResourceConstraint) *r =
            c->cluster_resource_constraints[i];
        struct sorter s = { .in = in, .scratch = in->words->scratch };
        by_count_read(&s, view, r->resource_requests, r->n_resource_requests);
        if (!s.bundles.n)
            continue;  /* cleared: one empty constraint stays */
        v[n] = (struct snap_demand){ .source = SOURCE_REQUEST, .owner = "ray",
                                     .id = "" };
        finish(&s, &v[n++]);
    }
    view->demands = v;
    view->n_demands = n;
}
