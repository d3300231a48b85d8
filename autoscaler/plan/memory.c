/*
 * memory.c - see memory.h.
 *
 * A question is written down as numbers, all of the problem in a fixed order; an
 * answer is a copy.  Two arenas take turns: what is asked for again moves from
 * the last plan's to this one's, the rest goes with its arena.
 */
#include "memory.h"

#include <string.h>

#include "../base/hash.h"

/* Of one plan's answers; what is more is not kept. */
#define MOST_BYTES ((size_t)8 << 20)

enum what { FIRST, BASE, IMPROVED, BOUND };

struct question {
    uint64_t hash;
    const uint64_t *v;
    size_t n;
};

struct memory_answer {
    struct memory_answer *next;
    struct question asked;
    struct cover_plan plan; /* of a bound: bound, proof and work alone */
};

void memory_begin(struct memory *m)
{
    struct memory_part old = m->before;

    m->before = m->now;
    m->now = old;
    arena_reset(&m->now.arena);
    m->now.first = NULL;
}

void memory_done(struct memory *m)
{
    arena_done(&m->now.arena);
    arena_done(&m->before.arena);
    *m = (struct memory){0};
}

/* ---- questions */

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
        put(w, p->items[i].count);
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

/* The question with some numbers of its own; hint: one an item, or NULL. */
static struct question ask(enum what what, const struct cover_problem *p,
                           uint64_t missing, uint64_t budget,
                           const double *hint, struct arena *arena)
{
    size_t most = size_of(p) + 4 + (hint ? p->n_items : 0);
    struct writer w = {ARENA_ARRAY(arena, uint64_t, most), 0};

    put(&w, what);
    put(&w, missing);
    put(&w, budget);
    put(&w, hint ? 1 : 0);
    put_problem(&w, p);
    if (hint)
        put_all(&w, hint, p->n_items);
    return (struct question){hash_bytes(HASH_SEED, w.v, w.n * sizeof *w.v), w.v,
                             w.n};
}

/* ---- answers */

static struct memory_answer *find(const struct memory_part *part,
                                  const struct question *q)
{
    struct memory_answer *a = part->first;

    while (a && !(a->asked.hash == q->hash && a->asked.n == q->n &&
                  memcmp(a->asked.v, q->v, q->n * sizeof *q->v) == 0))
        a = a->next;
    return a;
}

static const struct cover_least *copy_least(const struct cover_proof *x,
                                            uint32_t n_items,
                                            struct arena *arena)
{
    struct cover_least *y = ARENA_ARRAY(arena, struct cover_least, x->n_least);

    for (uint32_t k = 0; k < x->n_least; k++) {
        y[k] = x->least[k];
        y[k].share = arena_copy(arena, x->least[k].share,
                                n_items * sizeof *y[k].share);
    }
    return y;
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
    if (x->proof.worth)
        y.proof.worth = arena_copy(arena, x->proof.worth,
                                   n_items * sizeof *x->proof.worth);
    y.proof.least = copy_least(&x->proof, n_items, arena);
    return y;
}

static struct memory_answer *keep(struct memory *m, const struct question *q,
                                  const struct cover_plan *plan,
                                  uint32_t n_items)
{
    struct arena *arena = &m->now.arena;
    struct memory_answer *a;

    if (arena->used + q->n * sizeof *q->v > MOST_BYTES)
        return NULL;
    a = ARENA_NEW(arena, struct memory_answer);
    a->asked = *q;
    a->asked.v = arena_copy(arena, q->v, q->n * sizeof *q->v);
    a->plan = copy_plan(plan, n_items, arena);
    a->next = m->now.first;
    m->now.first = a;
    return a;
}

/* True: *ret is what was said to this question. */
static bool recall(struct memory *m, const struct question *q, uint32_t n_items,
                   struct cover_plan *ret)
{
    const struct memory_answer *a = find(&m->now, q), *kept;

    m->asked++;
    if (!a) {
        a = find(&m->before, q);
        if (!a)
            return false;
        kept = keep(m, q, &a->plan, n_items);
        a = kept ? kept : a;
    }
    m->known++;
    *ret = a->plan;
    return true;
}

/* ---- covers */

static void base_of(struct memory *m, const struct cover_problem *base,
                    struct arena *arena, struct cover_plan *ret)
{
    const struct question q = ask(BASE, base, 0, 0, NULL, arena);

    if (recall(m, &q, base->n_items, ret))
        return;
    cover_first_base(base, arena, ret);
    keep(m, &q, ret, base->n_items);
}

void memory_first(struct memory *m, const struct cover_problem *p,
                  struct arena *arena, struct cover_plan *ret)
{
    struct cover_problem base;
    struct cover_plan plan;
    struct question q;

    if (!m) {
        cover_first(p, arena, ret);
        return;
    }
    q = ask(FIRST, p, 0, 0, NULL, arena);
    if (recall(m, &q, p->n_items, ret))
        return;
    if (cover_base(p, arena, &base)) {
        base_of(m, &base, arena, &plan);
        cover_first_from(p, &plan, arena, ret);
    } else {
        cover_first(p, arena, ret);
    }
    keep(m, &q, ret, p->n_items);
}

void memory_improve(struct memory *m, const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret)
{
    struct question q;

    if (!m) {
        cover_improve(p, first, budget, arena, ret);
        return;
    }
    q = ask(IMPROVED, p, 0, budget, NULL, arena);
    if (recall(m, &q, p->n_items, ret))
        return;
    cover_improve(p, first, budget, arena, ret);
    keep(m, &q, ret, p->n_items);
}

int64_t memory_bound(struct memory *m, const struct cover_problem *p,
                     uint64_t missing, const double *hint, uint64_t budget,
                     struct arena *arena, uint64_t *work,
                     struct cover_proof *ret_proof)
{
    struct cover_plan said = {0};
    struct question q;

    if (!m)
        return cover_bound(p, missing, hint, budget, arena, work, ret_proof);
    q = ask(BOUND, p, missing, budget, hint, arena);
    if (!recall(m, &q, p->n_items, &said)) {
        said.bound = cover_bound(p, missing, hint, budget, arena, &said.work,
                                 &said.proof);
        keep(m, &q, &said, p->n_items);
    }
    *work += said.work;
    *ret_proof = said.proof;
    return said.bound;
}
