/*
 * test_model_displaced.c - whose place was taken: not of those who exchange theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../autoscaler/base/hash.h"
#include "../../autoscaler/model/displaced.h"
#include "seed.h"

enum { NODES = 4, OWNERS = 3, ROUNDS = 2000 };

/* A bundle each of three owners; each node holds one of them at most. */
struct world {
    struct pb_demand demands[OWNERS];
    struct pb_bundle bundles[OWNERS];
    struct pb_node nodes[NODES];
    struct pb_placement previous[NODES];
    struct plan_node planned[NODES];
    struct plan_placement placements[NODES];
    struct plan_bundle wants[OWNERS];
    struct problem s;
    struct plan p;
};

static void place(struct world *w, uint32_t node, uint32_t before, uint32_t now)
{
    w->nodes[node].first_previous = w->planned[node].first_placement = node;
    w->nodes[node].n_previous = before != NONE;
    w->planned[node].n_placements = now != NONE;
    w->previous[node] = (struct pb_placement){before, 0, 1};
    w->placements[node] = (struct plan_placement){now, 0, 1};
}

static void world_open(struct world *w)
{
    memset(w, 0, sizeof *w);
    for (uint32_t i = 0; i < OWNERS; i++) {
        w->demands[i].owner = i;
        w->bundles[i] = (struct pb_bundle){.demand = i, .count = 2};
    }
    w->s = (struct problem){.nodes = w->nodes,
                            .n_nodes = NODES,
                            .demands = w->demands,
                            .n_demands = OWNERS,
                            .bundles = w->bundles,
                            .n_bundles = OWNERS,
                            .previous = w->previous};
    w->p = (struct plan){.nodes = w->planned,
                         .placements = w->placements,
                         .n_placements = NODES,
                         .bundles = w->wants};
}

/* The first has one of its two places, as before; it waits for the other, as before. */
static void an_exchange_takes_no_place(void **state)
{
    struct arena a = {0};
    struct displaced d;
    struct world w;

    (void)state;
    world_open(&w);
    w.wants[0].waiting = 1;
    place(&w, 0, 0, 1);
    place(&w, 1, 1, 0);
    d = displaced_of(&w.s, &w.p, &a);
    assert_int_equal(d.n, 0);
    place(&w, 1, 1, 1); /* and now it has lost it */
    w.wants[0].waiting = 2;
    d = displaced_of(&w.s, &w.p, &a);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.v[0].bundle, 0);
    assert_int_equal(d.v[0].by, 1);
    arena_done(&a);
}

static uint32_t held(const struct world *w, uint32_t bundle, bool before)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < NODES; i++)
        n += before ? w->nodes[i].n_previous && w->previous[i].bundle == bundle
                    : w->planned[i].n_placements &&
                          w->placements[i].bundle == bundle;
    return n;
}

/* However places change: nobody is said to have lost more of them than he did. */
static void nobody_loses_more_than_he_had(void **state)
{
    uint64_t seed = seed_of(7), drawn = 0;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t lost[OWNERS] = {0};
        struct arena a = {0};
        struct displaced d;
        struct world w;

        world_open(&w);
        for (uint32_t i = 0; i < NODES; i++) {
            uint32_t x = (uint32_t)(hash_number(seed, drawn++) % (OWNERS + 1));
            uint32_t y = (uint32_t)(hash_number(seed, drawn++) % (OWNERS + 1));

            place(&w, i, x < OWNERS ? x : NONE, y < OWNERS ? y : NONE);
        }
        for (uint32_t b = 0; b < OWNERS; b++)
            w.wants[b].waiting = 1;
        d = displaced_of(&w.s, &w.p, &a);
        for (uint32_t i = 0; i < d.n; i++)
            lost[d.v[i].bundle] += d.v[i].count;
        for (uint32_t b = 0; b < OWNERS; b++) {
            uint32_t before = held(&w, b, true), now = held(&w, b, false);

            assert_true(lost[b] <= (before > now ? before - now : 0));
        }
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_takes_no_place),
        cmocka_unit_test(nobody_loses_more_than_he_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
