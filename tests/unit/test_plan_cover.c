/*
 * test_plan_cover.c - the covers on seeded random problems: every limit is
 * kept, every device is real, the bound is below the true optimum (found by
 * trying all), improving never makes it dearer, and twice gives the same.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/cover.h"
#include "seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COLS = 3, GPU = 2, MOST = 40 };

/* Under the sanitizers everything takes ten times as long. */
#ifdef __SANITIZE_ADDRESS__
#define CASES 200
#else
#define CASES 1000
#endif

struct made {
    struct cover_problem p;
    struct pb_column columns[COLS];
    struct cover_item items[MOST];
    struct cover_bin bins[MOST];
    int64_t need[MOST][COLS], has[MOST][COLS];
    uint64_t mask[MOST];
    uint32_t family_max[4];
};

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void frame(struct made *m)
{
    memset(m, 0, sizeof *m);
    m->columns[GPU].device = m->columns[GPU].fractions = true;
    m->p.columns = m->columns;
    m->p.n_columns = COLS;
    m->p.items = m->items;
    m->p.bins = m->bins;
    m->p.family_max = m->family_max;
    m->p.n_families = 4;
    m->p.max_bins = UNLIMITED;
    m->p.max_cost = -1;
    for (uint32_t g = 0; g < 4; g++)
        m->family_max[g] = UNLIMITED;
}

static void add_bin(struct made *m, int64_t cpu, int64_t memory, int64_t gpu,
                    int64_t price)
{
    uint32_t t = m->p.n_bins++;

    m->has[t][0] = cpu * AMOUNT_ONE;
    m->has[t][1] = memory * AMOUNT_ONE;
    m->has[t][GPU] = gpu * AMOUNT_ONE;
    m->bins[t] = (struct cover_bin){m->has[t], price,      UNLIMITED,
                                    t % 4,     (int32_t)t, gpu > 0};
}

static void add_item(struct made *m, int64_t cpu, int64_t memory, int64_t gpu,
                     uint32_t count)
{
    uint32_t i = m->p.n_items++;

    m->need[i][0] = cpu;
    m->need[i][1] = memory;
    m->need[i][GPU] = gpu;
    m->mask[i] = UINT64_MAX;
    m->items[i] = (struct cover_item){m->need[i], count, &m->mask[i]};
}

static void random_problem(struct made *m, uint64_t *seed, uint32_t items,
                           uint32_t counts, bool limits)
{
    static const int64_t parts[] = {0,    0,    1000,  2500,  3300,  4700,
                                    5000, 6700, 10000, 10000, 20000, 40000};
    uint32_t bins = 2 + next(seed) % 6;

    frame(m);
    for (uint32_t t = 0; t < bins; t++) {
        int64_t cpu = 2 << next(seed) % 5, memory = 4 << next(seed) % 5;
        int64_t gpu = next(seed) % 2 ? 1 << next(seed) % 4 : 0;

        add_bin(
            m, cpu, memory, gpu,
            20000 * cpu + 3000 * memory + 400000 * gpu + next(seed) % 50000);
        if (limits && next(seed) % 2)
            m->bins[t].max = next(seed) % 4;
    }
    for (uint32_t i = 0; i < items; i++) {
        add_item(m, (int64_t)(next(seed) % 8) * 5000,
                 (int64_t)(next(seed) % 12) * 5000, parts[next(seed) % 12],
                 1 + next(seed) % counts);
        if (next(seed) % 3 == 0)
            m->mask[i] = next(seed) | 1u << next(seed) % bins;
    }
    if (!limits)
        return;
    if (next(seed) % 3 == 0)
        m->family_max[next(seed) % 4] = next(seed) % 3;
    if (next(seed) % 3 == 0)
        m->p.max_bins = next(seed) % 6;
    if (next(seed) % 4 == 0)
        m->p.max_cost = next(seed) % 3000000;
    m->p.conserve = next(seed) % 3 == 0;
}

/* ---- an independent judge */

static bool devices_hold(const int64_t *parts, uint32_t n, int64_t *level,
                         uint32_t devices)
{
    if (!n)
        return true;
    for (uint32_t d = 0; d < devices; d++) {
        bool same = false;

        for (uint32_t q = 0; q < d; q++)
            same |= level[q] == level[d];
        if (same || level[d] < parts[0])
            continue;
        level[d] -= parts[0];
        if (devices_hold(parts + 1, n - 1, level, devices)) {
            level[d] += parts[0];
            return true;
        }
        level[d] += parts[0];
    }
    return false;
}

/* Does the bin hold so many of each item? */
static bool bin_holds(const struct made *m, uint32_t bin, const uint32_t *count)
{
    int64_t sum[2] = {0, 0}, whole = 0, parts[64], level[64];
    uint32_t n = 0, devices = (uint32_t)(m->has[bin][GPU] / AMOUNT_ONE);

    for (uint32_t i = 0; i < m->p.n_items; i++) {
        if (!count[i])
            continue;
        if (!(m->mask[i] >> bin & 1))
            return false;
        for (uint32_t c = 0; c < 2; c++)
            sum[c] += m->need[i][c] * count[i];
        if (m->need[i][GPU] >= AMOUNT_ONE)
            whole += m->need[i][GPU] / AMOUNT_ONE * count[i];
        else
            for (uint32_t k = 0; m->need[i][GPU] && k < count[i]; k++) {
                if (n == 64)
                    return false;
                parts[n++] = m->need[i][GPU];
            }
    }
    if (sum[0] > m->has[bin][0] || sum[1] > m->has[bin][1] ||
        whole > (int64_t)devices)
        return false;
    for (uint32_t a = 1; a < n; a++)
        for (uint32_t b = a; b && parts[b - 1] < parts[b]; b--) {
            int64_t t = parts[b];

            parts[b] = parts[b - 1];
            parts[b - 1] = t;
        }
    for (uint32_t d = 0; d < devices; d++)
        level[d] = AMOUNT_ONE;
    return devices_hold(parts, n, level, devices - (uint32_t)whole);
}

/* Fits the item no bin without accelerators? */
static bool needs_accelerator(const struct made *m, uint32_t item)
{
    uint32_t one[MOST] = {0};

    one[item] = 1;
    for (uint32_t t = 0; t < m->p.n_bins; t++)
        if (!m->bins[t].accelerator && bin_holds(m, t, one))
            return false;
    return true;
}

static uint64_t judge(const struct made *m, const struct cover_plan *plan)
{
    const struct cover_problem *p = &m->p;
    uint32_t bought[MOST] = {0}, family[4] = {0}, all = 0;
    uint64_t placed[MOST] = {0}, missing = 0;
    int64_t cost = 0;

    for (uint32_t k = 0; k < plan->n_patterns; k++) {
        const struct cover_pattern *x = &plan->patterns[k];
        uint32_t count[MOST] = {0};
        bool seed = !p->conserve || !m->bins[x->bin].accelerator;

        assert_true(x->count > 0 && x->n > 0);
        for (uint32_t q = 0; q < x->n; q++) {
            struct cover_part part = plan->parts[x->first + q];

            assert_true(part.count > 0);
            count[part.item] += part.count;
            placed[part.item] += (uint64_t)part.count * x->count;
            seed |= needs_accelerator(m, part.item);
        }
        assert_true(seed);
        assert_true(bin_holds(m, x->bin, count));
        bought[x->bin] += x->count;
        family[m->bins[x->bin].family] += x->count;
        all += x->count;
        cost += m->bins[x->bin].price * x->count;
    }
    for (uint32_t t = 0; t < p->n_bins; t++)
        assert_true(bought[t] <= m->bins[t].max);
    for (uint32_t g = 0; g < 4; g++)
        assert_true(family[g] <= m->family_max[g]);
    assert_true(all <= p->max_bins);
    assert_true(p->max_cost < 0 || cost <= p->max_cost);
    for (uint32_t i = 0; i < p->n_items; i++) {
        assert_int_equal(placed[i] + plan->unplaced[i], m->items[i].count);
        missing += plan->unplaced[i];
    }
    assert_int_equal(cost, plan->cost);
    assert_true(plan->bound <= plan->cost);
    return missing;
}

/* ---- the optimum by trying everything: at most 8 pods, no limits.  Pod k is
 * of item pod[k]; want: the set of pods to place. */

static int64_t optimum(const struct made *m, const uint32_t *pod, uint32_t want)
{
    static int64_t best[1 << 8];

    for (uint32_t s = 0; s <= want; s++) {
        best[s] = s ? INT64_MAX : 0;
        if (s & ~want)
            continue;
        for (uint32_t part = s; part; part = (part - 1) & s) {
            uint32_t count[MOST] = {0};

            if (best[s & ~part] == INT64_MAX)
                continue;
            for (uint32_t k = 0; k < 8; k++)
                if (part >> k & 1)
                    count[pod[k]]++;
            for (uint32_t t = 0; t < m->p.n_bins; t++)
                if (best[s & ~part] + m->bins[t].price < best[s] &&
                    bin_holds(m, t, count))
                    best[s] = best[s & ~part] + m->bins[t].price;
        }
    }
    return best[want];
}

static void test_against_optimum(void **state)
{
    uint64_t seed = 20260102;
    int met = 0, tight = 0, cases = 400;

    (void)state;
    for (int k = 0; k < cases; k++) {
        struct arena arena = {0};
        struct cover_plan first, plan;
        struct made m;
        uint32_t want = 0, pod[8], pods = 0;
        int64_t best;

        if (k % 2)
            random_problem(&m, &seed, 2 + next(&seed) % 7, 1, false);
        else
            random_problem(&m, &seed, 2, 4, false);
        cover_first(&m.p, &arena, &first);
        cover_improve(&m.p, &first, 3000000, &arena, &plan);
        judge(&m, &first);
        judge(&m, &plan);
        for (uint32_t i = 0; i < m.p.n_items; i++)
            for (uint32_t c = 0; c < m.items[i].count; c++) {
                pod[pods] = i;
                want |= plan.unplaced[i] ? 0 : 1u << pods;
                pods++;
            }
        /* What is left out fits nothing at all. */
        for (uint32_t q = 0; q < pods; q++)
            if (!(want >> q & 1))
                assert_true(optimum(&m, pod, 1u << q) == INT64_MAX);
        best = optimum(&m, pod, want);
        assert_true(plan.cost >= best);
        assert_true(plan.bound <= best);
        assert_true(plan.bound >= 0);
        met += plan.cost == best;
        tight += plan.bound * 100 >= best * 80;
        arena_done(&arena);
    }
    /* It is a heuristic, but a good one. */
    assert_true(met * 100 >= cases * 97);
    assert_true(tight * 100 >= cases * 60);
}

static void test_limits(void **state)
{
    uint64_t seed = 77;

    (void)state;
    for (int k = 0; k < 1500; k++) {
        struct arena arena = {0};
        struct cover_plan first, plan;
        struct made m;
        uint64_t left, missing;

        random_problem(&m, &seed, 1 + next(&seed) % 12, 6, k % 4 != 0);
        cover_first(&m.p, &arena, &first);
        left = judge(&m, &first);
        cover_improve(&m.p, &first, 300000, &arena, &plan);
        missing = judge(&m, &plan);
        assert_true(missing <= left);
        if (missing == left)
            assert_true(plan.cost <= first.cost);
        arena_done(&arena);
    }
}

static uint64_t unplaced(const struct made *m, const struct cover_plan *plan)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < m->p.n_items; i++)
        n += plan->unplaced[i];
    return n;
}

/* SEED= and DAVIT_CASES= try others. */
static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);

    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* What a budget gave, and the bound alone. */
struct given {
    struct cover_plan plan;
    int64_t bound;
};

/* With more budget no answer and no bound is worse than *last, which becomes it. */
static void give(const struct made *m, const struct cover_plan *first,
                 uint64_t budget, uint64_t k, struct arena *arena,
                 struct given *last)
{
    uint64_t had = unplaced(m, &last->plan), left, work = 0;
    int64_t more = cover_bound(&m->p, unplaced(m, first), NULL, INT64_MAX,
                               budget, arena, &work, NULL);
    struct cover_plan plan;

    cover_improve(&m->p, first, budget, arena, &plan);
    left = unplaced(m, &plan);
    if (left > had || (left == had && plan.cost > last->plan.cost) ||
        (left == 0 && had == 0 && plan.bound < last->plan.bound))
        fail_msg("case %llu, budget %llu: %llu left, cost %lld, bound "
                 "%lld; with less %llu, %lld, %lld",
                 (unsigned long long)k, (unsigned long long)budget,
                 (unsigned long long)left, (long long)plan.cost,
                 (long long)plan.bound, (unsigned long long)had,
                 (long long)last->plan.cost, (long long)last->plan.bound);
    /* The bound alone is one for every plan that leaves as many out. */
    if (more < last->bound || more > first->cost || more > plan.cost)
        fail_msg("case %llu, budget %llu: a bound of %lld, with less "
                 "%lld; the plan costs %lld",
                 (unsigned long long)k, (unsigned long long)budget,
                 (long long)more, (long long)last->bound, (long long)plan.cost);
    *last = (struct given){plan, more};
}

/* The same problem with ever more budget, from nothing at all to more than the
 * first few stages take.
 */
static void test_more_budget_is_never_worse(void **state)
{
    uint64_t seed = seed_of(20261122);
    uint64_t cases = number_of("DAVIT_CASES", CASES), better = 0;

    (void)state;
    for (uint64_t k = 0; k < cases; k++) {
        struct arena arena = {0};
        struct cover_plan first;
        struct given last = {0};
        struct made m;

        random_problem(&m, &seed, 1 + next(&seed) % 40, 1 + next(&seed) % 30,
                       k % 3 == 0);
        cover_first(&m.p, &arena, &first);
        last.plan = first;
        for (uint64_t budget = 1000 + next(&seed) % 20000; budget < 6000000;
             budget += budget / 2 + next(&seed) % (2 * budget)) {
            int64_t cost = last.plan.cost;

            give(&m, &first, budget, k, &arena, &last);
            better += last.plan.cost < cost;
        }
        arena_done(&arena);
    }
    print_message("%llu times better\n", (unsigned long long)better);
    assert_true(better * 10 > cases);
}

/* Shapes beyond the linear program: more budget is never worse either. */
static void test_more_budget_for_many_shapes(void **state)
{
    enum { SHAPES = 720, TIMES = 6 };
    static const uint64_t ms[TIMES] = {12, 60, 78, 85, 110, 500};
    static int64_t need[SHAPES][COLS];
    static struct cover_item items[SHAPES];
    uint64_t seed = seed_of(20261123);
    struct arena arena = {0};
    struct cover_plan first;
    struct given last = {0};
    struct made m;

    (void)state;
    frame(&m);
    add_bin(&m, 4, 32, 1, 1000003);
    add_bin(&m, 8, 64, 1, 1700001);
    for (uint32_t i = 0; i < SHAPES; i++) {
        need[i][0] = i % 2 ? 27000 + next(&seed) % 8000
                           : 12000 + next(&seed) % 12000;
        need[i][1] = (2 + next(&seed) % 16) * AMOUNT_ONE + i;
        need[i][GPU] = i % 2 ? AMOUNT_ONE : 0;
        items[i] = (struct cover_item){need[i], 1 + next(&seed) % 3, NULL};
    }
    m.p.items = items;
    m.p.n_items = SHAPES;
    cover_first(&m.p, &arena, &first);
    last.plan = first;
    for (uint32_t k = 0; k < TIMES; k++) {
        give(&m, &first, ms[k] * COVER_STEPS_PER_MS, k, &arena, &last);
        print_message("%3llu ms: cost %lld, bounds %lld, %lld\n",
                      (unsigned long long)ms[k], (long long)last.plan.cost,
                      (long long)last.plan.bound, (long long)last.bound);
    }
    arena_done(&arena);
}

/* First plans beside those of 20 ms, over random problems; with limits too. */
#define FIRST_OVER_BEST 1.015

static void test_first_plans_are_near(void **state)
{
    uint64_t seed = seed_of(20261122);
    double firsts = 0, bests = 0;

    (void)state;
    for (int k = 0; k < 40; k++) {
        struct arena arena = {0};
        struct cover_plan first, best;
        struct made m;

        random_problem(&m, &seed, 40, 30, k % 2);
        cover_first(&m.p, &arena, &first);
        cover_improve(&m.p, &first, 20 * COVER_STEPS_PER_MS, &arena, &best);
        if (unplaced(&m, &best) == unplaced(&m, &first)) {
            firsts += (double)first.cost;
            bests += (double)best.cost;
        }
        arena_done(&arena);
    }
    print_message("first plans cost %.4f times the better ones\n",
                  firsts / bests);
    assert_true(firsts < FIRST_OVER_BEST * bests);
}

static void test_same_twice(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int k = 0; k < 50; k++) {
        struct arena one = {0}, two = {0};
        struct cover_plan first, a, b;
        struct made m;

        random_problem(&m, &seed, 20, 30, k % 2);
        cover_first(&m.p, &one, &first);
        cover_improve(&m.p, &first, 1000000, &one, &a);
        cover_first(&m.p, &two, &first);
        cover_improve(&m.p, &first, 1000000, &two, &b);
        assert_int_equal(a.cost, b.cost);
        assert_int_equal(a.bound, b.bound);
        assert_int_equal(a.work, b.work);
        assert_int_equal(a.n_patterns, b.n_patterns);
        assert_int_equal(a.n_parts, b.n_parts);
        assert_memory_equal(a.patterns, b.patterns,
                            a.n_patterns * sizeof *a.patterns);
        assert_memory_equal(a.parts, b.parts, a.n_parts * sizeof *a.parts);
        arena_done(&one);
        arena_done(&two);
    }
}

static void test_count_does_not_matter(void **state)
{
    uint64_t work[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct arena arena = {0};
        struct cover_plan plan;
        struct made m;

        frame(&m);
        add_bin(&m, 16, 64, 2, 1000000);
        add_bin(&m, 96, 384, 8, 3900000);
        add_item(&m, 2 * AMOUNT_ONE, 4 * AMOUNT_ONE, 3300,
                 k ? 1000000 : 24 * 10);
        cover_first(&m.p, &arena, &plan);
        assert_int_equal(judge(&m, &plan), 0);
        work[k] = plan.work;
        assert_true(arena.used < 100000);
        arena_done(&arena);
    }
    assert_true(work[1] < 3 * work[0]);
}

/* Devices are whole things: 3 x 0.6 need three, not 1.8. */
static void test_devices(void **state)
{
    struct arena arena = {0};
    struct cover_plan plan;
    struct made m;

    (void)state;
    frame(&m);
    add_bin(&m, 64, 64, 2, 100);
    add_item(&m, 0, 0, 6000, 3);
    cover_first(&m.p, &arena, &plan);
    assert_int_equal(judge(&m, &plan), 0);
    assert_int_equal(plan.cost, 200);
    /* Not to be shared: each takes a device for itself. */
    m.columns[GPU].fractions = false;
    m.need[0][GPU] = 1000;
    cover_first(&m.p, &arena, &plan);
    assert_int_equal(plan.cost, 200);
    arena_done(&arena);
}

static void test_small_last_bin(void **state)
{
    struct arena arena = {0};
    struct cover_plan plan;
    struct made m;

    (void)state;
    frame(&m);
    add_bin(&m, 32, 128, 0, 1000000);
    add_bin(&m, 2, 8, 0, 80000);
    add_item(&m, 2 * AMOUNT_ONE, 8 * AMOUNT_ONE, 0, 17);
    cover_first(&m.p, &arena, &plan);
    assert_int_equal(judge(&m, &plan), 0);
    assert_int_equal(plan.cost, 1080000);
    arena_done(&arena);
}

/* One bin than which nothing costs less is proved by that alone, in no time. */
static void test_one_bin_is_enough(void **state)
{
    struct arena arena = {0};
    struct cover_plan plan;
    struct made m;

    (void)state;
    frame(&m);
    for (uint32_t t = 0; t < 20; t++)
        add_bin(&m, 8 + t, 32, 1 + t / 4, 1000 + 100 * t);
    add_item(&m, 4 * AMOUNT_ONE, 0, AMOUNT_ONE, 1);
    add_item(&m, AMOUNT_ONE, AMOUNT_ONE, 0, 2);
    cover_first(&m.p, &arena, &plan);
    assert_int_equal(judge(&m, &plan), 0);
    assert_int_equal(plan.cost, 1000);
    assert_int_equal(plan.bound, 1000);
    assert_int_equal(plan.proof.n_least, 1);
    assert_in_range(plan.work, 1, 20000);
    /* where a dearer one is needed that holds more, the cheapest proves nothing */
    m.items[1].count = 20;
    cover_first(&m.p, &arena, &plan);
    assert_int_equal(judge(&m, &plan), 0);
    assert_int_equal(plan.proof.n_least, 0);
    arena_done(&arena);
}

static void test_nothing(void **state)
{
    struct arena arena = {0};
    struct cover_plan first, plan;
    struct made m;

    (void)state;
    frame(&m);
    cover_first(&m.p, &arena, &first);
    cover_improve(&m.p, &first, 1000, &arena, &plan);
    assert_int_equal(plan.cost, 0);
    assert_int_equal(plan.n_patterns, 0);
    add_item(&m, AMOUNT_ONE, 0, 0, 5); /* no bins at all */
    cover_first(&m.p, &arena, &first);
    cover_improve(&m.p, &first, 1000, &arena, &plan);
    assert_int_equal(plan.unplaced[0], 5);
    add_bin(&m, 4, 4, 0, 0); /* a free bin */
    cover_first(&m.p, &arena, &first);
    cover_improve(&m.p, &first, 1000000, &arena, &plan);
    assert_int_equal(judge(&m, &plan), 0);
    assert_int_equal(plan.cost, 0);
    arena_done(&arena);
}

/* 1,600 shapes in pairs that fill a machine to the brim: the optimum is known,
 * and a bound by clusters of like shapes must not be above it. */
static void test_bound_of_many_shapes(void **state)
{
    enum { PAIRS = 800, PRICE = 1000003 };
    static int64_t need[2 * PAIRS][COLS];
    static struct cover_item items[2 * PAIRS];
    struct cover_plan first, plan;
    struct arena arena = {0};
    struct made m;

    (void)state;
    frame(&m);
    add_bin(&m, 4, 4, 1, PRICE);
    for (uint32_t k = 0; k < PAIRS; k++) {
        int64_t gpu = 300 * (1 + k % 16), cpu = 9000 + 17 * k;

        need[2 * k][0] = cpu;
        need[2 * k][GPU] = gpu;
        need[2 * k + 1][0] = 4 * AMOUNT_ONE - cpu;
        need[2 * k + 1][GPU] = AMOUNT_ONE - gpu;
        items[2 * k] = (struct cover_item){need[2 * k], 1, NULL};
        items[2 * k + 1] = (struct cover_item){need[2 * k + 1], 1, NULL};
    }
    m.p.items = items;
    m.p.n_items = 2 * PAIRS;
    cover_first(&m.p, &arena, &first);
    cover_improve(&m.p, &first, 200 * COVER_STEPS_PER_MS, &arena, &plan);
    assert_true(plan.cost >= (int64_t)PAIRS * PRICE);
    assert_true(plan.cost <= first.cost);
    assert_true(plan.bound <= (int64_t)PAIRS * PRICE);
    assert_true(plan.bound >= (int64_t)PAIRS * PRICE * 9 / 10);
    /* The clusters are made within the budget too. */
    assert_true(plan.work <= 210 * COVER_STEPS_PER_MS);
    assert_true(plan.work >= 190 * COVER_STEPS_PER_MS);
    arena_done(&arena);
}

/* A plan takes the work that it is given, wherever that ends: column generation and the
 * simplex stop in the midst of a round. */
static void test_work_ends_with_the_budget(void **state)
{
    enum { SHAPES = 400, PROBLEMS = CASES / 200, BUDGETS = 10 };
    static int64_t need[SHAPES][COLS];
    static struct cover_item items[SHAPES];
    uint64_t seed = 77, most = 0;
    struct cover_plan first, plan;

    (void)state;
    for (int k = 0; k < PROBLEMS * BUDGETS; k++) {
        uint64_t budget = (15 + 8 * (k % BUDGETS)) * COVER_STEPS_PER_MS;
        uint32_t shapes = 100 + next(&seed) % (SHAPES - 100);
        struct arena arena = {0};
        struct made m;

        frame(&m);
        for (uint32_t t = 0; t < MOST; t++) {
            int64_t cpu = 2 << t % 7, memory = cpu * (2 << next(&seed) % 3);
            int64_t gpu = t % 3 ? 1 << next(&seed) % 4 : 0;

            add_bin(&m, cpu, memory, gpu,
                    30000 * cpu + 4000 * memory +
                        (400000 + next(&seed) % 900000) * gpu);
        }
        for (uint32_t i = 0; i < shapes; i++) {
            need[i][0] = (1 + next(&seed) % 16) * 5000;
            need[i][1] = (1 + next(&seed) % 64) * 5000;
            need[i][GPU] = next(&seed) % 3 ? next(&seed) % 100 * 100
                                           : AMOUNT_ONE;
            items[i] = (struct cover_item){need[i], 1 + next(&seed) % 20, NULL};
        }
        m.p.items = items;
        m.p.n_items = shapes;
        cover_first(&m.p, &arena, &first);
        cover_improve(&m.p, &first, budget, &arena, &plan);
        most = plan.work > budget && plan.work - budget > most
                   ? plan.work - budget
                   : most;
        arena_done(&arena);
    }
    printf("over the budget: %.2f ms\n", (double)most / COVER_STEPS_PER_MS);
    assert_true(most <= 3 * COVER_STEPS_PER_MS);
}

/* Of 2,000 shapes three fit a machine: the rest is left out, and neither plan nor
 * bound looks at it. */
static void test_most_shapes_fit_nowhere(void **state)
{
    enum { SHAPES = 2000 };
    static int64_t need[SHAPES][COLS];
    static struct cover_item items[SHAPES];
    struct cover_plan first, plan;
    struct arena arena = {0};
    struct made m;

    (void)state;
    frame(&m);
    add_bin(&m, 4, 4, 0, 1000);
    m.bins[0].max = 9;
    for (uint32_t k = 0; k < SHAPES; k++) {
        need[k][0] = k % 700 == 7 ? 4 * AMOUNT_ONE - k : 5 * AMOUNT_ONE + k;
        items[k] = (struct cover_item){need[k], 1, NULL};
    }
    m.p.items = items;
    m.p.n_items = SHAPES;
    cover_first(&m.p, &arena, &first);
    cover_improve(&m.p, &first, COVER_STEPS_PER_MS, &arena, &plan);
    assert_int_equal(first.cost, 3000);
    assert_int_equal(plan.cost, 3000);
    assert_true(plan.bound > 2900 && plan.bound <= 3000);
    arena_done(&arena);
}

/* 3,000 bundles of three kinds that differ in memory only: a fill passes over most
 * of those that do not fit at once. */
static void test_work_of_like_shapes(void **state)
{
    enum { SHAPES = 3000 };
    static int64_t need[SHAPES][COLS];
    static struct cover_item items[SHAPES];
    struct cover_plan first;
    struct arena arena = {0};
    struct made m;

    (void)state;
    frame(&m);
    add_bin(&m, 4, 64, 0, 1000);
    add_bin(&m, 16, 256, 0, 4000);
    add_bin(&m, 4, 64, 1, 5000);
    for (uint32_t k = 0; k < SHAPES; k++) {
        need[k][0] = (k % 3 ? k % 3 : 0) * AMOUNT_ONE;
        need[k][1] = AMOUNT_ONE + k;
        need[k][GPU] = k % 3 ? 0 : AMOUNT_ONE;
        items[k] = (struct cover_item){need[k], 1, NULL};
    }
    m.p.items = items;
    m.p.n_items = SHAPES;
    cover_first(&m.p, &arena, &first);
    assert_int_equal(first.cost, 1000 * 5000);
    assert_true(first.bound >= 999 * 5000);
    assert_true(first.work < 5 * COVER_STEPS_PER_MS);
    arena_done(&arena);
}

/* 1,000 and 3,000 bundles of six kinds that differ in memory only, on AWS types: the first
 * bound is all but the optimum, and what proves it makes the plan. */
static void test_worths_of_the_bound_make_the_plan(void **state)
{
    enum { MOST_SHAPES = 3000, KINDS = 20 };
    static const int64_t kinds[KINDS][2] = {
        {1, 0},     {1, 0},     {1, 0},     {1, 0},     {1, 0},
        {1, 0},     {1, 0},     {1, 0},     {8, 0},     {8, 0},
        {4, 10000}, {4, 10000}, {4, 10000}, {0, 2500},  {0, 2500},
        {0, 2500},  {0, 10000}, {0, 10000}, {0, 10000}, {0, 80000}};
    static int64_t need[MOST_SHAPES][COLS];
    static struct cover_item items[MOST_SHAPES];

    (void)state;
    for (uint32_t shapes = 1000; shapes <= MOST_SHAPES; shapes *= 3) {
        struct arena arena = {0};
        struct cover_plan first;
        struct made m;

        frame(&m);
        add_bin(&m, 2, 8192, 0, 96000);
        add_bin(&m, 16, 65536, 0, 768000);
        add_bin(&m, 4, 16384, 1, 526000);
        add_bin(&m, 8, 30720, 1, 730000);
        add_bin(&m, 48, 196608, 4, 3912000);
        add_bin(&m, 96, 1179648, 8, 32772600);
        for (uint32_t k = 0; k < shapes; k++) {
            const int64_t *kind = kinds[k % KINDS];

            need[k][0] = kind[0] * AMOUNT_ONE;
            need[k][1] = ((kind[0] == 8 ? 16500 : 16) + k / KINDS) * AMOUNT_ONE;
            need[k][GPU] = kind[1];
            items[k] = (struct cover_item){need[k], 1, NULL};
        }
        m.p.items = items;
        m.p.n_items = shapes;
        cover_first(&m.p, &arena, &first);
        assert_int_equal(unplaced(&m, &first), 0);
        assert_true((double)first.cost < 1.001 * (double)first.bound);
        assert_true(first.work < 2000 * shapes);
        arena_done(&arena);
    }
}

/* Bounds of large problems come from duals of rounded counts: they are for the counts as
 * they are.  One item a bin, so what any plan costs is known. */
static void test_bound_of_large_problem(void **state)
{
    enum { PRICE = 1000, FEW = 700, MANY = 5000 };

    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct arena arena = {0};
        struct cover_problem rounded;
        struct cover_proof proof;
        const int64_t dear = limited ? 2 * PRICE : PRICE;
        const int64_t cost = FEW * PRICE + (MANY - FEW) * dear;
        uint64_t work = 0;
        struct made m;

        frame(&m);
        add_bin(&m, 4, 8, 0, PRICE);
        add_bin(&m, 4, 8, 0, dear);
        m.bins[0].max = limited ? FEW : UNLIMITED;
        add_item(&m, 4 * AMOUNT_ONE, 0, 0, MANY);
        assert_true(cover_rounded(&m.p, &arena, &rounded));
        assert_int_not_equal(rounded.items[0].count, MANY);
        for (uint32_t missing = 0; missing < 400; missing += 100) {
            int64_t bound = cover_bound(&m.p, missing, NULL, INT64_MAX, 0,
                                        &arena, &work, &proof);

            assert_true(bound <= cost - missing * dear);
            assert_true(bound * 100 >= (cost - missing * dear) * 98);
            assert_true(proof.worth[0] <= dear);
        }
        arena_done(&arena);
    }
}

/* The same over random problems, beside what plans cost. */
static void test_bounds_of_large_problems(void **state)
{
    uint64_t seed = seed_of(20261123), large = 0;

    (void)state;
    for (uint64_t k = 0; k < 24; k++) {
        struct arena arena = {0};
        struct cover_plan first, plan;
        struct cover_problem other;
        uint64_t work = 0;
        int64_t bound;
        struct made m;

        random_problem(&m, &seed, 8 + next(&seed) % 30, 900, k % 2 == 0);
        for (uint32_t t = 0; t < m.p.n_bins; t++)
            if (m.bins[t].max != UNLIMITED)
                m.bins[t].max *= 400;
        m.p.max_bins = UNLIMITED;
        m.p.max_cost = -1;
        large += cover_rounded(&m.p, &arena, &other);
        cover_first(&m.p, &arena, &first);
        cover_improve(&m.p, &first, 4000000, &arena, &plan);
        bound = cover_bound(&m.p, unplaced(&m, &plan), NULL, INT64_MAX, 0,
                            &arena, &work, NULL);
        if (bound > plan.cost || first.bound > plan.cost)
            fail_msg("case %llu: bounds of %lld and %lld, the plan costs %lld",
                     (unsigned long long)k, (long long)bound,
                     (long long)first.bound, (long long)plan.cost);
        arena_done(&arena);
    }
    assert_true(large > 12);
}

/* Zones and spot of one type share its max: the cheapest of them is enough, and
 * a type's max is kept all the same. */
static void test_offers_of_a_type(void **state)
{
    struct cover_plan first, plan;
    struct arena arena = {0};
    struct made m;

    (void)state;
    frame(&m);
    for (uint32_t t = 0; t < 8; t++) {
        add_bin(&m, 4, 4, 0, 1000 + 100 * (t / 4) + 10 * t);
        m.bins[t].max = 3;
    }
    m.bins[0].max = 1; /* of its own: the next is wanted too */
    for (uint32_t g = 0; g < 4; g++)
        m.family_max[g] = 3;
    add_item(&m, 4 * AMOUNT_ONE, AMOUNT_ONE, 0, 14);
    cover_first(&m.p, &arena, &first);
    cover_improve(&m.p, &first, COVER_STEPS_PER_MS, &arena, &plan);
    assert_int_equal(judge(&m, &first), 2);
    assert_int_equal(judge(&m, &plan), 2);
    assert_int_equal(first.cost, 1000 + 2 * 1140 + 3 * (1010 + 1020 + 1030));
    assert_int_equal(plan.cost, first.cost);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_optimum),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_more_budget_is_never_worse),
        cmocka_unit_test(test_more_budget_for_many_shapes),
        cmocka_unit_test(test_first_plans_are_near),
        cmocka_unit_test(test_same_twice),
        cmocka_unit_test(test_count_does_not_matter),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_small_last_bin),
        cmocka_unit_test(test_one_bin_is_enough),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_bound_of_many_shapes),
        cmocka_unit_test(test_bound_of_large_problem),
        cmocka_unit_test(test_bounds_of_large_problems),
        cmocka_unit_test(test_work_ends_with_the_budget),
        cmocka_unit_test(test_most_shapes_fit_nowhere),
        cmocka_unit_test(test_work_of_like_shapes),
        cmocka_unit_test(test_worths_of_the_bound_make_the_plan),
        cmocka_unit_test(test_offers_of_a_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
