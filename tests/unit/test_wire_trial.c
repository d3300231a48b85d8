/*
 * test_wire_trial.c - pods with conditions by domains are settled in a bounded
 * number of steps: the control thread waits for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/wire/pods/topology/topology.h"
#include "seed.h"

/* Nodes with so much room, each in a domain of its own. */
struct world {
    struct arena arena;
    struct topo_key key;
    struct topo_term term;
    struct topology topology;
    struct topo_fit fit;
    struct topo_rule rule;
    struct topo_group group;
    struct snap_alt alt;
    struct snap_bundle bundle;
    struct qty need;
    uint32_t *matched;
    uint32_t *room;
};

static void world_begin(struct world *w, uint32_t nodes, uint32_t skew,
                        uint32_t pods)
{
    struct arena *a = &w->arena;
    bool *domain;

    *w = (struct world){.arena = {0}};
    w->matched = ARENA_ARRAY(a, uint32_t, nodes);
    w->room = ARENA_ARRAY(a, uint32_t, nodes);
    w->key = (struct topo_key){.key = "rack", .n = nodes};
    w->term = (struct topo_term){0, w->matched};
    w->topology = (struct topology){
        .keys = &w->key, .n_keys = 1, .terms = &w->term, .n_terms = 1};
    domain = ARENA_ARRAY(a, bool, nodes);
    memset(domain, true, nodes * sizeof *domain);
    w->rule = (struct topo_rule){
        .kind = TOPO_SPREAD, .values = domain, .self = true, .skew = skew};
    w->group = (struct topo_group){.rules = &w->rule, .n_rules = 1};
    w->need = (struct qty){"CPU", AMOUNT_ONE};
    w->alt = (struct snap_alt){.resources = {&w->need, 1}};
    w->bundle = (struct snap_bundle){&w->alt, 1, pods, false};
    w->fit = (struct topo_fit){.arena = a,
                               .topology = &w->topology,
                               .keys = ARENA_NEW(a, struct fit_key),
                               .n_keys = 1,
                               .counts = &w->matched,
                               .steps = SETTLE_STEPS,
                               .n_groups = 1};
    w->fit.keys[0].key = "rack";
}

static void node_add(struct world *w, uint32_t i, uint32_t room)
{
    struct arena *a = &w->arena;
    struct qty *has = ARENA_NEW(a, struct qty);
    struct place p = {.node = ARENA_NEW(a, struct snap_node)};

    w->room[i] = room;
    *has = (struct qty){"CPU", (int64_t)room * AMOUNT_ONE};
    p.has = (struct qtys){has, 1};
    p.values = ARENA_NEW(a, uint32_t);
    p.values[0] = i;
    VEC_PUSH(a, &w->fit.keys[0].values, arena_printf(a, "r%u", i));
    VEC_PUSH(a, &w->fit.places, p);
}

static struct trial settle(struct world *w)
{
    return trial_run(&w->fit, &w->group, &w->bundle, false);
}

static void many_pods_of_a_large_skew(void **state)
{
    struct world w;
    struct trial t;

    (void)state;
    world_begin(&w, 10000, 1000, 30000);
    for (uint32_t i = 0; i < 10000; i++)
        node_add(&w, i, 1000);
    t = settle(&w);
    assert_int_equal(t.placed, 30000);
    assert_false(t.put_off);
    /* 30,000 x 256 cells x 10,000 domains before */
    assert_true(SETTLE_STEPS - w.fit.steps < 20000000);
    arena_done(&w.arena);
}

static void what_is_too_much_is_put_off(void **state)
{
    struct world w;
    struct trial t;

    (void)state;
    world_begin(&w, 300, 1000, 30000);
    for (uint32_t i = 0; i < 300; i++)
        node_add(&w, i, 1000);
    w.fit.steps = 200000;
    w.fit.n_groups = 2;
    t = settle(&w); /* by half of them */
    assert_true(t.put_off);
    assert_in_range(t.placed, 1, 29999);
    assert_in_range(w.fit.steps, 100000, 101000);
    assert_int_equal(w.fit.n_groups, 1);
    t = settle(&w);
    assert_true(t.put_off);
    assert_true(t.placed > 0);
    assert_true(w.fit.steps < 1000);
    arena_done(&w.arena);
}

/* Too many places to look at: none is looked at by half. */
static void what_cannot_be_begun_is_put_off(void **state)
{
    struct world w;
    struct trial t;

    (void)state;
    world_begin(&w, 300, 1, 10);
    for (uint32_t i = 0; i < 300; i++)
        node_add(&w, i, 1);
    w.fit.steps = 1000;
    t = settle(&w);
    assert_true(t.put_off);
    assert_int_equal(t.placed, 0);
    arena_done(&w.arena);
}

/* Domains are opened in vain by the hundred: each is closed for a run, as often as
 * there are steps for. */
static void opened_in_vain(void **state)
{
    struct world w;
    struct trial t;
    struct snap_type type = {.name = "t", .max = UNLIMITED};
    uint32_t there = 0;
    bool none[200] = {false};
    struct qty has = {"CPU", 4 * AMOUNT_ONE};

    (void)state;
    world_begin(&w, 200, 2, 30000);
    w.rule.values = none; /* no node is there */
    w.rule.domains = 201; /* and never enough domains */
    w.fit.types = &type;
    w.fit.n_types = 1;
    w.fit.there = &there;
    for (uint32_t i = 0; i < 200; i++) {
        node_add(&w, i, 1);
        struct place *p = &w.fit.places.v[i];
        p->offer = ARENA_NEW(&w.arena, struct snap_offer);
        p->node = NULL;
        p->type = &type;
        p->price = 1 + i;
        p->has = (struct qtys){&has, 1};
    }
    w.fit.steps = 2000000; /* a run takes 170,000 of them, and there are 200 */
    t = settle(&w);
    assert_int_equal(t.placed, 400);
    assert_false(t.put_off);
    assert_int_equal(w.fit.steps, 0);
    arena_done(&w.arena);
}

static uint64_t seed_next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x >> 8;
}

/* By chance: nobody is beyond the skew, and who waits would be. */
static void as_the_skew_has_it(void **state)
{
    uint64_t x = seed_of(0) * 2 + 1;

    (void)state;
    for (int round = 0; round < 300; round++) {
        uint32_t n = 1 + (uint32_t)(seed_next(&x) % 12), least = UINT32_MAX;
        uint32_t skew = 1 + (uint32_t)(seed_next(&x) % 4);
        struct world w;
        struct trial t;

        world_begin(&w, n, skew, 1 + (uint32_t)(seed_next(&x) % 40));
        for (uint32_t i = 0; i < n; i++) {
            w.matched[i] = (uint32_t)(seed_next(&x) % 4);
            node_add(&w, i, (uint32_t)(seed_next(&x) % 6));
        }
        t = settle(&w);
        assert_false(t.put_off);
        for (uint32_t c = 0; c < t.n_cells; c++)
            w.matched[t.cells[c].values[0]] += t.cells[c].placed;
        for (uint32_t i = 0; i < n; i++)
            least = w.matched[i] < least ? w.matched[i] : least;
        for (uint32_t c = 0; c < t.n_cells; c++) {
            uint32_t has = w.matched[t.cells[c].values[0]];

            assert_true(!t.cells[c].placed || has <= least + skew);
            assert_true(t.placed == w.bundle.count || !t.cells[c].room ||
                        has + 1 > least + skew);
        }
        arena_done(&w.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_pods_of_a_large_skew),
        cmocka_unit_test(what_is_too_much_is_put_off),
        cmocka_unit_test(what_cannot_be_begun_is_put_off),
        cmocka_unit_test(opened_in_vain),
        cmocka_unit_test(as_the_skew_has_it),
    };

    return cmocka_run_group_tests_name("wire trial", tests, NULL, NULL);
}
