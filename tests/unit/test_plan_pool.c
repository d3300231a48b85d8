/*
 * test_plan_pool.c - the fills that buying anew has met: each is kept once, whatever
 * the order of its parts, and the best of them become columns, each once, beside a
 * plain list that is sorted.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/dive/pool.h"
#include "seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 12, BINS = 3, FILLS = 400, PARTS = 4, ROUNDS = 6, CASES = 60 };

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

struct kept {
    uint32_t bin, of[ITEMS];
    double rate;
    bool fed;
};

static struct {
    struct pb_column column;
    struct cover_item item[ITEMS];
    struct cover_bin bin[BINS];
    int64_t need[ITEMS], has[BINS];
    uint64_t mask;
    struct cover_problem p;
    struct arena arena;
    struct view v;
    struct kept list[FILLS]; /* the reference */
    uint32_t n;
} t;

static void problem(void)
{
    memset(&t, 0, sizeof t);
    t.mask = UINT64_MAX;
    for (uint32_t i = 0; i < ITEMS; i++) {
        t.need[i] = AMOUNT_ONE;
        t.item[i] = (struct cover_item){&t.need[i], 1 + i, &t.mask};
    }
    for (uint32_t b = 0; b < BINS; b++) {
        t.has[b] = (b + 1) * 40 * AMOUNT_ONE;
        t.bin[b] = (struct cover_bin){
            &t.has[b], (b + 1) * INT64_C(900000), UNLIMITED, 0, (int32_t)b, 0};
    }
    t.p = (struct cover_problem){.columns = &t.column,
                                 .n_columns = 1,
                                 .items = t.item,
                                 .n_items = ITEMS,
                                 .bins = t.bin,
                                 .n_bins = BINS,
                                 .max_bins = UNLIMITED,
                                 .max_cost = -1};
    view_make(&t.p, &t.arena, &t.v);
    assert_int_equal(t.v.n_items, ITEMS);
    assert_int_equal(t.v.n_bins, BINS);
}

/* A pattern of chance, in an order of chance; some are the same. */
static void draw(struct partial *d, uint64_t *seed)
{
    struct partial_pattern p = {next(seed) % BINS, next(seed) % 4, d->part.n,
                                1 + next(seed) % PARTS};
    uint32_t item = next(seed) % ITEMS, step = next(seed) % 2 ? 1 : ITEMS - 1;

    for (uint32_t k = 0; k < p.n; k++, item = (item + step) % ITEMS)
        VEC_PUSH(&t.arena, &d->part,
                 ((struct cover_part){item, 1 + next(seed) % 2}));
    VEC_PUSH(&t.arena, &d->pattern, p);
}

static double worth_of(const struct kept *f, const double *worth)
{
    double sum = 0;

    for (uint32_t i = 0; i < ITEMS; i++)
        sum += worth[i] * f->of[i];
    return sum;
}

static bool known(const struct kept *f)
{
    for (uint32_t k = 0; k < t.n; k++)
        if (t.list[k].bin == f->bin &&
            memcmp(t.list[k].of, f->of, sizeof f->of) == 0)
            return true;
    return false;
}

/* As pool_keep() is said to. */
static void keep(const struct partial *d, uint32_t from, const double *weight)
{
    for (uint32_t k = from; k < d->pattern.n; k++) {
        const struct partial_pattern *p = &d->pattern.v[k];
        struct kept f = {.bin = p->bin};

        for (uint32_t i = p->first; i < p->first + p->n; i++)
            f.of[d->part.v[i].item] += d->part.v[i].count;
        if (p->count && worth_of(&f, weight) >= (double)t.v.price[f.bin] &&
            !known(&f))
            t.list[t.n++] = f;
    }
}

static int best_first(const void *pa, const void *pb)
{
    const struct kept *a = pa, *b = pb;

    return (a->rate < b->rate) - (a->rate > b->rate);
}

/* How many of the list are fed; the rates of those go to ret, best first. */
static uint32_t feed(const double *worth, double least, uint32_t most,
                     double *ret)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < t.n; k++)
        t.list[k].rate = worth_of(&t.list[k], worth) /
                         ((double)t.v.price[t.list[k].bin] + 1e-3);
    qsort(t.list, t.n, sizeof *t.list, best_first);
    for (uint32_t k = 0; k < t.n && n < most; k++) {
        struct kept *f = &t.list[k];

        if (f->fed || f->rate <= least)
            continue;
        f->fed = true;
        ret[n++] = f->rate;
    }
    return n;
}

static int down(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;

    return (*a < *b) - (*a > *b);
}

static void rates(const struct master *m, uint32_t n, const double *worth,
                  double *ret)
{
    for (uint32_t k = 0; k < n; k++) {
        const struct partial_pattern *p = &m->column.v[m->column.n - n + k];

        ret[k] = 0;
        for (uint32_t i = p->first; i < p->first + p->n; i++)
            ret[k] += worth[m->part.v[i].item] * m->part.v[i].count;
        ret[k] /= (double)t.v.price[p->bin] + 1e-3;
    }
    qsort(ret, n, sizeof *ret, down);
}

/* Weights of chance: no two fills are worth the same. */
static void weigh(double *weight, uint64_t *seed)
{
    for (uint32_t i = 0; i < ITEMS; i++)
        weight[i] = 200000 + next(seed) % 1000000 + next(seed) / 4294967296.0;
}

static void play(uint64_t *seed)
{
    double weight[ITEMS], want[FILLS], got[FILLS];
    struct partial d;
    struct master m;
    struct pool x;

    problem();
    partial_make(&t.v, &d);
    master_make(&t.v, NULL, 0, &m);
    pool_make(&t.v, &x);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t from = d.pattern.n, most = next(seed) % 30, n;
        double least = 0.9 + next(seed) % 50 / 100.0;

        for (uint32_t k = 0; k < FILLS / ROUNDS; k++)
            draw(&d, seed);
        weigh(weight, seed);
        double price[BINS];
        for (uint32_t b = 0; b < BINS; b++)
            price[b] = (double)t.v.price[b];
        pool_keep(&x, &d, from, weight, price);
        keep(&d, from, weight);
        assert_int_equal(x.fill.n, t.n);
        weigh(weight, seed);
        n = feed(weight, least, most, want);
        assert_int_equal(pool_feed(&x, &m, weight, least, most), n);
        rates(&m, n, weight, got);
        for (uint32_t k = 0; k < n; k++)
            assert_true(got[k] > want[k] - 1e-9 && got[k] < want[k] + 1e-9);
    }
    arena_done(&t.arena);
}

static void test_beside_a_sorted_list(void **state)
{
    uint64_t seed = seed_of(20261123);

    (void)state;
    for (uint32_t k = 0; k < CASES; k++)
        play(&seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_a_sorted_list)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
