/*
 * memory.c - see memory.h.
 *
 * Problems that differ in counts alone are of one kind; it has their layout, and
 * answers by counts.  A kind and an answer have an arena each and go when a whole
 * plan has not asked for them; kinds, and answers to problems with rounded counts, when
 * many have not: counts go to and fro over a step of those.
 */
#include "memory.h"

#include <string.h>

#include "../base/digest.h"

#define MOST_BYTES ((size_t)16 << 20)
#define MUCH \
    (MOST_BYTES / 2) /* no room for what the last plan did not ask for */
#define MANY_PLANS 64
#define MOST_SCRATCH ((size_t)4 << 20)

enum what { FIRST, IMPROVED, BOUND, DUALS, BASE /* + its number */ };

struct question { /* of a problem of the kind */
    enum what what;
    uint64_t missing, budget;
    int64_t enough;
    const struct cover_item *items; /* their counts */
    const double *hint;             /* per item, or NULL */
};

struct memory_answer {
    struct memory_answer *next;
    struct arena arena; /* of all of it */
    uint64_t plan;      /* that asked for it last */
    enum what what;
    uint64_t missing, budget;
    int64_t enough;
    const uint32_t *counts;
    const double *hint;
    struct cover_plan said; /* of a bound: bound, proof and work alone */
    struct cover_duals duals;
};

struct memory_kind {
    struct memory_kind *next;
    struct arena arena; /* of all of it but the answers */
    uint64_t plan;      /* that asked for it last */
    uint64_t hash;
    const uint64_t *v; /* all of the problem but its counts */
    size_t n;
    uint32_t n_items;
    const struct cover_layout *layout; /* NULL: not asked for yet */
    struct memory_answer *answers;
};

/* ---- what is forgotten */

static void arena_free(struct arena arena)
{
    arena_done(&arena); /* what called us lay in it */
}

static bool rounded(const struct memory_answer *a)
{
    return a->what >= DUALS;
}

/* Those that no plan since `plan` has asked for, nor one of `more` before if they are
 * rounded. */
static void answers_forget(struct memory *m, struct memory_answer **at,
                           uint64_t plan, uint64_t more)
{
    while (*at) {
        struct memory_answer *a = *at;

        if (a->plan + (rounded(a) ? more : 0) >= plan) {
            m->bytes += a->arena.used;
            at = &a->next;
            continue;
        }
        *at = a->next;
        arena_free(a->arena);
    }
}

static void forget(struct memory *m, uint64_t plan, uint64_t more)
{
    struct memory_kind **at = &m->first;

    m->bytes = 0;
    while (*at) {
        struct memory_kind *kind = *at;

        answers_forget(m, &kind->answers, plan, more);
        if (kind->plan + more >= plan) {
            m->bytes += kind->arena.used;
            at = &kind->next;
            continue;
        }
        *at = kind->next;
        arena_free(kind->arena);
    }
}

/* One chunk for all that the last plan took, unless that was much. */
static void scratch_begin(struct memory *m)
{
    const size_t used = m->scratch.used;

    if (used > m->scratch_bytes) {
        arena_done(&m->scratch);
        m->scratch_bytes = used <= MOST_SCRATCH ? used + used / 4 : 0;
        if (m->scratch_bytes)
            arena_alloc(&m->scratch, m->scratch_bytes);
    }
    arena_reset(&m->scratch);
}

void memory_begin(struct memory *m)
{
    forget(m, m->plan, MANY_PLANS);
    if (m->bytes > MUCH)
        forget(m, m->plan, 0);
    m->plan++;
    scratch_begin(m);
}

void memory_end(struct memory *m)
{
    if (m->scratch.used <= MOST_SCRATCH)
        return;
    arena_done(&m->scratch);
    m->scratch_bytes = 0;
}

void memory_done(struct memory *m)
{
    forget(m, UINT64_MAX, 0);
    arena_done(&m->scratch);
    *m = (struct memory){0};
}

/* ---- kinds: a problem but for its counts is written down as numbers */

struct writer {
    uint64_t *v;
    size_t n;
};

static void put(struct writer *w, uint64_t x)
{
    w->v[w->n++] = x;
}

static void put_all(struct writer *w, const void *v, size_t n)
{
    memcpy(w->v + w->n, v, n * sizeof *w->v);
    w->n += n;
}

static size_t words_of(const struct cover_problem *p)
{
    return ((size_t)p->n_bins + 63) / 64;
}

/* So many numbers at most. */
static size_t size_of(const struct cover_problem *p)
{
    return 8 + (size_t)p->n_columns + p->n_families +
           (size_t)p->n_items * (2 + p->n_columns + words_of(p)) +
           (size_t)p->n_bins * (6 + p->n_columns);
}

static void put_problem(struct writer *w, const struct cover_problem *p)
{
    put(w, p->n_columns);
    put(w, p->n_items);
    put(w, p->n_bins);
    put(w, p->n_families);
    put(w, p->max_bins);
    put(w, (uint64_t)p->max_cost);
    put(w, p->conserve);
    for (uint32_t c = 0; c < p->n_columns; c++)
        put(w, (uint64_t)p->columns[c].device << 1 | p->columns[c].fractions);
    for (uint32_t f = 0; f < p->n_families; f++)
        put(w, p->family_max[f]);
    for (uint32_t i = 0; i < p->n_items; i++) {
        put(w, p->items[i].count > 0);
        put(w, p->items[i].bins ? 1 : 0);
        put_all(w, p->items[i].need, p->n_columns);
        if (p->items[i].bins)
            put_all(w, p->items[i].bins, words_of(p));
    }
    for (uint32_t b = 0; b < p->n_bins; b++) {
        const struct cover_bin *x = &p->bins[b];

        put(w, (uint64_t)x->price);
        put(w, x->max);
        put(w, x->family);
        put(w, (uint64_t)x->rank);
        put(w, x->accelerator);
        put_all(w, x->has, p->n_columns);
    }
}

/* Over the limit it has no arena, lies in the plan's and is not found again. */
static struct memory_kind *kind_new(struct memory *m, const struct writer *w,
                                    uint64_t hash, struct arena *arena)
{
    const size_t bytes = w->n * sizeof *w->v;
    const bool kept = m->bytes + 2 * bytes <= MOST_BYTES;
    struct arena own = {0};
    struct memory_kind *kind = ARENA_NEW(kept ? &own : arena,
                                         struct memory_kind);

    kind->hash = hash;
    kind->v = kept ? arena_copy(&own, w->v, bytes) : w->v;
    kind->n = w->n;
    kind->arena = own;
    if (!kept)
        return kind;
    m->bytes += own.used;
    kind->next = m->first;
    m->first = kind;
    return kind;
}

static struct memory_kind *kind_of(struct memory *m,
                                   const struct cover_problem *p,
                                   struct arena *arena)
{
    struct writer w = {ARENA_ARRAY(arena, uint64_t, size_of(p)), 0};
    struct memory_kind *kind = m->first;
    uint64_t hash;

    put_problem(&w, p);
    hash = digest_bytes(DIGEST_SEED, w.v, w.n * sizeof *w.v);
    while (kind && !(kind->hash == hash && kind->n == w.n &&
                     memcmp(kind->v, w.v, w.n * sizeof *w.v) == 0))
        kind = kind->next;
    if (!kind)
        kind = kind_new(m, &w, hash, arena);
    kind->plan = m->plan;
    kind->n_items = p->n_items;
    return kind;
}

static const struct cover_layout *layout_of(struct memory *m,
                                            struct memory_kind *kind,
                                            const struct cover_problem *p,
                                            struct arena *arena)
{
    const size_t used = kind->arena.used;

    if (!kind->layout)
        kind->layout = cover_layout(p, used ? &kind->arena : arena);
    m->bytes += kind->arena.used - used;
    return kind->layout;
}

/* ---- answers */

static bool same(const struct memory_answer *a, const struct question *q,
                 uint32_t n)
{
    if (a->what != q->what || a->missing != q->missing ||
        a->budget != q->budget || a->enough != q->enough ||
        !a->hint != !q->hint)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (a->counts[i] != q->items[i].count)
            return false;
    return !q->hint || memcmp(a->hint, q->hint, n * sizeof *q->hint) == 0;
}

/* NULL: it was not asked before. */
static const struct memory_answer *recall(struct memory *m,
                                          const struct memory_kind *kind,
                                          const struct question *q)
{
    struct memory_answer *a = kind->answers;

    while (a && !same(a, q, kind->n_items))
        a = a->next;
    m->asked++;
    m->known += a ? 1 : 0;
    if (a)
        a->plan = m->plan;
    return a;
}

static struct cover_plan copy_plan(const struct cover_plan *x, uint32_t n_items,
                                   struct arena *arena)
{
    struct cover_plan y = *x;

    y.patterns = arena_copy(arena, x->patterns,
                            x->n_patterns * sizeof *x->patterns);
    y.parts = arena_copy(arena, x->parts, x->n_parts * sizeof *x->parts);
    y.unplaced = x->unplaced ? arena_copy(arena, x->unplaced,
                                          n_items * sizeof *x->unplaced)
                             : NULL;
    y.proof = cover_proof_map(&x->proof, NULL, n_items, arena);
    return y;
}

static void keep(struct memory *m, struct memory_kind *kind,
                 const struct question *q, const struct cover_plan *said,
                 const struct cover_duals *duals)
{
    const uint32_t n = kind->n_items;
    struct arena arena = {0};
    struct memory_answer *a;
    uint32_t *counts;

    if (!kind->arena.used || m->bytes > MOST_BYTES)
        return; /* the kind is not kept either */
    a = ARENA_NEW(&arena, struct memory_answer);
    counts = ARENA_ARRAY(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        counts[i] = q->items[i].count;
    *a = (struct memory_answer){.next = kind->answers,
                                .plan = m->plan,
                                .what = q->what,
                                .missing = q->missing,
                                .budget = q->budget,
                                .enough = q->enough,
                                .counts = counts};
    if (q->hint)
        a->hint = arena_copy(&arena, q->hint, n * sizeof *q->hint);
    if (said)
        a->said = copy_plan(said, n, &arena);
    if (duals) {
        a->duals = *duals;
        a->duals.worth = arena_copy(&arena, duals->worth,
                                    n * sizeof *duals->worth);
    }
    a->arena = arena;
    m->bytes += arena.used;
    kind->answers = a;
}

/* ---- covers */

static struct cover_plan base_of(struct memory *m, struct memory_kind *kind,
                                 const struct cover_problem *p, uint32_t number,
                                 const struct cover_layout *layout,
                                 const struct cover_plan *before,
                                 struct arena *arena)
{
    const struct memory_answer *a;
    struct cover_problem base;
    struct cover_plan plan;
    struct question q;

    cover_base(p, number, arena, &base);
    q = (struct question){.what = BASE + number, .items = base.items};
    a = recall(m, kind, &q);
    if (a)
        return a->said;
    cover_first_base(&base, layout, before, arena, &plan);
    keep(m, kind, &q, &plan, NULL);
    return plan;
}

static struct cover_duals duals_of(struct memory *m, struct memory_kind *kind,
                                   const struct cover_problem *rounded,
                                   const struct cover_layout *layout,
                                   struct arena *arena)
{
    const struct question q = {.what = DUALS, .items = rounded->items};
    const struct memory_answer *a = recall(m, kind, &q);
    struct cover_duals duals;

    if (a)
        return a->duals;
    cover_duals(rounded, layout, arena, &duals);
    if (duals.worth)
        keep(m, kind, &q, NULL, &duals);
    return duals;
}

static void first_of(struct memory *m, struct memory_kind *kind,
                     const struct cover_problem *p, struct arena *arena,
                     struct cover_plan *ret)
{
    struct cover_plan plan[COVER_BASES];
    const struct cover_layout *layout;
    struct cover_problem rounded;
    struct cover_duals duals;

    if (!cover_steady(p, arena) || !cover_rounded(p, arena, &rounded)) {
        cover_first(p, arena, ret);
        return;
    }
    layout = layout_of(m, kind, p, arena);
    for (uint32_t k = 0; k < COVER_BASES; k++)
        plan[k] = base_of(m, kind, p, k, layout, k ? &plan[k - 1] : NULL,
                          arena);
    duals = duals_of(m, kind, &rounded, layout, arena);
    cover_first_from(p, layout, &plan[COVER_BASES - 1], &duals, arena, ret);
}

void memory_first(struct memory *m, const struct cover_problem *p,
                  struct arena *arena, struct cover_plan *ret)
{
    const struct question q = {.what = FIRST, .items = p->items};
    const struct memory_answer *a;
    struct memory_kind *kind;

    if (!m) {
        cover_first(p, arena, ret);
        return;
    }
    kind = kind_of(m, p, arena);
    a = recall(m, kind, &q);
    if (a) {
        *ret = a->said;
        return;
    }
    first_of(m, kind, p, arena, ret);
    keep(m, kind, &q, ret, NULL);
}

void memory_improve(struct memory *m, const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret)
{
    const struct question q = {
        .what = IMPROVED, .budget = budget, .items = p->items};
    const struct memory_answer *a;
    struct memory_kind *kind;

    if (!m) {
        cover_improve(p, first, budget, arena, ret);
        return;
    }
    kind = kind_of(m, p, arena);
    a = recall(m, kind, &q);
    if (a) {
        *ret = a->said;
        return;
    }
    cover_improve(p, first, budget, arena, ret);
    keep(m, kind, &q, ret, NULL);
}

static void bound_of(struct memory *m, struct memory_kind *kind,
                     const struct cover_problem *p, const struct question *q,
                     struct arena *arena, struct cover_plan *ret)
{
    const struct cover_layout *layout;
    struct cover_problem rounded;
    struct cover_duals duals;

    *ret = (struct cover_plan){0};
    if (!cover_rounded(p, arena, &rounded)) {
        ret->bound = cover_bound(p, q->missing, q->hint, q->enough, q->budget,
                                 arena, &ret->work, &ret->proof);
        return;
    }
    layout = layout_of(m, kind, p, arena);
    duals = duals_of(m, kind, &rounded, layout, arena);
    ret->bound = cover_bound_from(p, layout, &duals, q->missing, q->hint,
                                  q->enough, q->budget, arena, &ret->work,
                                  &ret->proof);
}

int64_t memory_bound(struct memory *m, const struct cover_problem *p,
                     uint64_t missing, const double *hint, int64_t enough,
                     uint64_t budget, struct arena *arena, uint64_t *work,
                     struct cover_proof *ret_proof)
{
    const struct question q = {BOUND, missing, budget, enough, p->items, hint};
    const struct memory_answer *a;
    struct memory_kind *kind;
    struct cover_plan said;

    if (!m)
        return cover_bound(p, missing, hint, enough, budget, arena, work,
                           ret_proof);
    kind = kind_of(m, p, arena);
    a = recall(m, kind, &q);
    if (a) {
        said = a->said;
    } else {
        bound_of(m, kind, p, &q, arena, &said);
        keep(m, kind, &q, &said, NULL);
    }
    *work += said.work;
    *ret_proof = said.proof;
    return said.bound;
}
