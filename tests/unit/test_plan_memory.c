/*
 * test_plan_memory.c - a plan made with the planner's memory is the same, byte for
 * byte, as one from scratch: in random worlds where one thing changes at a time
 * (a bundle more or less, a demand, a node, a price, a limit), and with memories
 * of other worlds.  Nor is one for which consolidation is known to find nothing.
 *
 * PLAN_SEED=n: other worlds.
 */
#include "../../autoscaler/codec/codec.h"
#include "../../autoscaler/control/settled.h"
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/memory.h"
#include "../../autoscaler/plan/planner.h"
#include "seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Under the sanitizers everything takes ten times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { WORLDS = 6, STEPS = 8 };
#else
enum { WORLDS = 24, STEPS = 16 };
#endif

#define NOW ((json_int_t)1795255200000)

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static json_t *pick(json_t *list)
{
    return json_array_get(list, below((uint32_t)json_array_size(list)));
}

/* ---- worlds */

static json_t *a_type(uint32_t i)
{
    static const int cpus[] = {4, 8, 16, 32, 64};
    int cpu = cpus[below(5)], gpu = below(2) ? 0 : 1 << below(4);
    char name[16];
    json_t *t;

    snprintf(name, sizeof name, "t%u", i);
    t = json_pack("{s:s,s:{s:i,s:I},s:f}", "name", name, "resources", "CPU",
                  cpu, "memory", (json_int_t)cpu * (2 + below(7)) << 30,
                  "price", cpu * 0.05 + gpu * (0.3 + below(20) * 0.1));
    if (gpu) {
        json_object_set_new(json_object_get(t, "resources"), "GPU",
                            json_integer(gpu));
        json_object_set_new(t, "accelerator_type",
                            json_string(below(2) ? "T4" : "L4"));
    }
    if (below(4) == 0)
        json_object_set_new(t, "max", json_integer(below(200)));
    return t;
}

static json_t *a_demand(uint32_t most)
{
    json_t *d = json_pack("{s:{s:f,s:I},s:i}", "resources", "CPU",
                          0.5 * (1 + below(12)), "memory",
                          (json_int_t)(1 + below(24)) << 29, "count",
                          1 + (int)below(most));
    const uint32_t kind = below(4);

    if (kind < 2)
        json_object_set_new(json_object_get(d, "resources"), "GPU",
                            kind ? json_integer(1) : json_real(0.25));
    if (kind == 1 && below(2))
        json_object_set_new(d, "accelerator_type",
                            json_string(below(2) ? "T4" : "L4"));
    if (below(16) == 0)
        json_object_set_new(d, "priority", json_integer(1));
    if (below(16) == 0)
        json_object_set_new(d, "unconfirmed", json_true());
    if (below(24) == 0)
        json_object_set_new(d, "labels", json_pack("{s:s}", "team", "red"));
    return d;
}

/* What may become of one: it is idle, drains, is held for a while, has labels. */
static void change_node(json_t *node)
{
    static const char *const states[] = {"ready", "ready", "draining",
                                         "starting"};

    switch (below(5)) {
    case 0:
        json_object_set_new(node, "idle_ms",
                            json_integer((json_int_t)below(60) * 1000));
        break;
    case 1:
        json_object_set_new(node, "hold", json_string("drain_refused"));
        json_object_set_new(node, "hold_until_ms",
                            json_integer(NOW + (json_int_t)below(60) * 1000));
        break;
    case 2:
        json_object_set_new(node, "state", json_string(states[below(4)]));
        break;
    case 3:
        json_object_set_new(
            node, "labels",
            json_pack("{s:s}", "team", below(2) ? "red" : "blue"));
        break;
    default:
        if (below(2))
            json_object_set(node, "available", json_object_get(node, "total"));
    }
}

static json_t *a_node(json_t *types, uint32_t i)
{
    json_t *type = pick(types), *free = json_object(), *amount, *node;
    const char *name;
    char id[16];

    snprintf(id, sizeof id, "n%u", i);
    json_object_foreach(json_object_get(type, "resources"), name, amount) {
        json_int_t all = json_integer_value(amount);

        json_object_set_new(free, name,
                            json_integer(all - (all * below(4) + 3) / 4));
    }
    node = json_pack("{s:s,s:O,s:O,s:o,s:O,s:I}", "id", id, "type",
                     json_object_get(type, "name"), "total",
                     json_object_get(type, "resources"), "available", free,
                     "price", json_object_get(type, "price"), "created_ms",
                     NOW - (json_int_t)below(4) * 600000);
    change_node(node);
    return node;
}

/* large: more than 4,000 bundles, so that the cover has a base. */
static json_t *a_world(bool large)
{
    json_t *types = json_array(), *nodes = json_array();
    json_t *demands = json_array();
    uint32_t n = large ? 40 : 3 + below(20);

    for (uint32_t i = 0; i < 8; i++)
        json_array_append_new(types, a_type(i));
    for (uint32_t i = below(12); i > 0; i--)
        json_array_append_new(nodes, a_node(types, i));
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(demands, a_demand(large ? 400 : 12));
    return json_pack("{s:I,s:{},s:o,s:o,s:o}", "now_ms", NOW, "limits",
                     "node_types", types, "nodes", nodes, "demands", demands);
}

/* ---- changes */

static void change_count(json_t *world)
{
    json_t *d = pick(json_object_get(world, "demands"));
    json_int_t n = json_integer_value(json_object_get(d, "count"));

    json_object_set_new(d, "count",
                        json_integer(n > 1 && below(2) ? n - 1 : n + 1));
}

static void change_limit(json_t *world)
{
    json_t *limits = json_object_get(world, "limits");

    if (below(2))
        json_object_set_new(pick(json_object_get(world, "node_types")), "max",
                            json_integer(below(40)));
    else if (below(3) == 0)
        json_object_set_new(limits, "max_nodes", json_integer(below(400)));
    else if (below(2))
        json_object_set_new(limits, "max_cost_per_hour", json_real(below(300)));
    else
        json_object_clear(limits);
}

static void change_list(json_t *list, json_t *one)
{
    if (below(2) && json_array_size(list) > 1)
        json_array_remove(list, below((uint32_t)json_array_size(list)));
    else
        json_array_append(list, one);
    json_decref(one);
}

/* Idle nodes are idle for longer. */
static void change_time(json_t *world)
{
    json_int_t ms = 1 + (json_int_t)below(20000);
    json_t *node;
    size_t i;

    json_object_set_new(
        world, "now_ms",
        json_integer(json_integer_value(json_object_get(world, "now_ms")) +
                     ms));
    json_array_foreach(json_object_get(world, "nodes"), i, node) {
        json_t *idle = json_object_get(node, "idle_ms");

        if (idle)
            json_object_set_new(node, "idle_ms",
                                json_integer(json_integer_value(idle) + ms));
    }
}

static void change(json_t *world, uint32_t step)
{
    json_t *types = json_object_get(world, "node_types");
    json_t *nodes = json_object_get(world, "nodes");

    if (below(2)) /* of what changes most */
        change_time(world);
    switch (below(10)) {
    case 0:
        if (json_array_size(nodes) > 0)
            change_node(pick(nodes));
        break;
    case 1:
        json_object_set_new(pick(types), "price",
                            json_real(0.1 + below(90) * 0.05));
        break;
    case 2: change_limit(world); break;
    case 3: change_list(nodes, a_node(types, 1000 + step)); break;
    case 4: change_list(json_object_get(world, "demands"), a_demand(12)); break;
    case 5:
        json_object_set_new(
            json_object_get(pick(json_object_get(world, "demands")),
                            "resources"),
            "CPU", json_integer(1 + below(8)));
        break;
    default: change_count(world);
    }
}

/* ---- plans */

/* The plan as text, its counted work too. */
static char *plan_text(json_t *world, uint64_t budget, struct memory *memory)
{
    struct arena arena = {0};
    struct snapshot *snapshot;
    struct problem *now;
    struct plan plan;
    struct err err;
    struct buf text;

    if (codec_snapshot_read(world, &arena, &snapshot, &err) != ST_OK ||
        problem_make(snapshot, &arena, &now, &err) != ST_OK)
        fail_msg("%s", err.text);
    if (memory)
        planner_run_again(now, budget, memory, &arena, &plan);
    else
        planner_run(now, budget, &arena, &plan);
    buf_init(&text, (size_t)1 << 28);
    assert_true(codec_plan_print(now, &plan, &text));
    buf_printf(&text, " work %llu", (unsigned long long)plan.work);
    arena_done(&arena);
    return buf_take(&text);
}

/* The plan, not how much work it was. */
static char *text_of(const struct problem *now, struct plan *plan)
{
    struct buf text;

    plan->work = 0;
    buf_init(&text, (size_t)1 << 28);
    assert_true(codec_plan_print(now, plan, &text));
    return buf_take(&text);
}

/* Where nothing can be saved, the plan without another look is the same.  True: there
 * nodes go on draining, and something that waits is placed. */
static bool settled_is_same(json_t *world, uint32_t *ret_settled)
{
    struct arena arena = {0};
    struct memory memory = {0};
    struct settled k = {0};
    struct snapshot *snapshot;
    struct problem *now;
    struct plan first, again;
    struct err err;
    bool drains = false;

    if (codec_snapshot_read(world, &arena, &snapshot, &err) != ST_OK ||
        problem_make(snapshot, &arena, &now, &err) != ST_OK)
        fail_msg("%s", err.text);
    assert_false(settled_plan(&k, &memory, now, 0, &arena, &first));
    if (settled_plan(&k, &memory, now, 0, &arena, &again)) {
        char *a = text_of(now, &first), *b = text_of(now, &again);

        if (strcmp(a, b) != 0) {
            json_dump_file(world, "settled_differs.json", JSON_INDENT(1));
            fail_msg("another plan than with consolidation, which found "
                     "nothing: see settled_differs.json");
        }
        free(a);
        free(b);
        ++*ret_settled;
        for (uint32_t i = 0; i < now->n_nodes; i++)
            drains = drains || (now->nodes[i].state == STATE_DRAINING &&
                                again.nodes[i].action == NODE_KEEP);
        drains = drains && again.n_placements > 0;
    }
    memory_done(&memory);
    arena_done(&arena);
    return drains;
}

static void compare(json_t *world, uint64_t budget, struct memory *memory,
                    const char *where)
{
    char *scratch = plan_text(world, budget, NULL);
    char *again = plan_text(world, budget, memory);

    if (strcmp(scratch, again) != 0) {
        json_dump_file(world, "memory_differs.json", JSON_INDENT(1));
        fail_msg("%s: another plan than from scratch, see "
                 "memory_differs.json",
                 where);
    }
    free(scratch);
    free(again);
}

static void seed_begin(uint64_t usual)
{
    seed = seed_of(usual);
}

static void test_same_as_from_scratch(void **state)
{
    struct memory others = {0};
    uint64_t asked = 0, known = 0;
    char where[64];

    (void)state;
    seed_begin(15);
    for (uint32_t w = 0; w < WORLDS; w++) {
        const bool large = w % 4 == 0;
        uint64_t budget = w % 3 ? 0 : PLANNER_AT_ONCE;
        struct memory memory = {0};
        json_t *world = a_world(large);

        for (uint32_t step = 0; step < STEPS; step++) {
            snprintf(where, sizeof where, "world %u, step %u", w, step);
            /* one memory for the world, one that knows all worlds */
            compare(world, budget, step % 2 ? &others : &memory, where);
            change(world, step);
        }
        asked += memory.asked;
        known += memory.known;
        memory_done(&memory);
        json_decref(world);
    }
    print_message("%llu of %llu questions were known\n",
                  (unsigned long long)known, (unsigned long long)asked);
    assert_true(known > 0 && known < asked);
    memory_done(&others);
}

/* A few nodes that are there, some of which drain, and a request that some of them
 * are enough for. */
static json_t *a_world_at_rest(void)
{
    json_t *types = json_array(), *nodes = json_array();
    json_t *demands = json_array(), *bundles = json_array();

    for (uint32_t i = 0; i < 3; i++)
        json_array_append_new(types, a_type(i));
    for (uint32_t i = 2 + below(6); i > 0; i--) {
        json_t *node = a_node(types, i);

        if (below(3) == 0)
            json_object_set_new(node, "state", json_string("draining"));
        json_array_append_new(nodes, node);
    }
    json_array_append_new(
        bundles, json_pack("{s:{s:i},s:i}", "resources", "CPU", 1 + below(8),
                           "count", 1 + below(6)));
    if (below(4) == 0)
        json_array_append_new(demands, a_demand(3));
    return json_pack("{s:I,s:{s:s},s:o,s:o,s:o,s:[{s:s,s:o}]}", "now_ms", NOW,
                     "limits", "consolidate", below(2) ? "on" : "empty",
                     "node_types", types, "nodes", nodes, "demands", demands,
                     "requests", "owner", "somebody", "bundles", bundles);
}

static void test_settled_is_the_same(void **state)
{
    uint32_t settled = 0, draining = 0, n = 100 * WORLDS;

    (void)state;
    seed_begin(21);
    for (uint32_t w = 0; w < n; w++) {
        json_t *world = a_world_at_rest();

        draining += settled_is_same(world, &settled);
        json_decref(world);
    }
    print_message("%u of %u worlds were settled, %u with what drains beside "
                  "what waits\n",
                  settled, n, draining);
    assert_true(settled > n / 10 && draining > 0);
}

/* Nothing is asked twice: a plan for the same again is all memory. */
static void test_nothing_changed(void **state)
{
    (void)state;
    seed_begin(4);
    for (int large = 0; large < 2; large++) {
        struct memory memory = {0};
        json_t *world = a_world(large);
        uint64_t asked, known;

        compare(world, 0, &memory, "first");
        asked = memory.asked;
        known = memory.known;
        assert_true(asked > known);
        compare(world, 0, &memory, "again");
        compare(world, 0, &memory, "and again");
        assert_true(memory.asked > asked);
        assert_int_equal(memory.asked - asked, memory.known - known);
        memory_done(&memory);
        json_decref(world);
    }
}

/* Of a large demand the base is mostly known when one bundle changes. */
static void test_base_is_known(void **state)
{
    struct memory memory = {0};
    json_t *world;
    uint64_t known;
    uint32_t bases = 0;

    (void)state;
    seed_begin(9);
    world = a_world(true);
    free(plan_text(world, 0, &memory));
    for (uint32_t step = 0; step < STEPS; step++) {
        known = memory.known;
        change_count(world);
        free(plan_text(world, 0, &memory));
        bases += memory.known > known;
    }
    print_message("the base was known in %u of %u plans\n", bases, STEPS);
    assert_true(bases * 3 > STEPS * 2);
    memory_done(&memory);
    json_decref(world);
}

/* Counts that go to and fro find the answers to rounded ones again. */
static void test_to_and_fro(void **state)
{
    struct memory memory = {0};
    json_t *world, *demand;
    json_int_t count;
    uint64_t unknown[8];

    (void)state;
    seed_begin(9);
    world = a_world(true);
    demand = json_array_get(json_object_get(world, "demands"), 0);
    count = json_integer_value(json_object_get(demand, "count"));
    for (uint32_t step = 0; step < 8; step++) {
        uint64_t had = memory.asked - memory.known;

        json_object_set_new(demand, "count",
                            json_integer(step % 2 ? 3 * count + 100 : count));
        compare(world, 0, &memory, "to and fro");
        unknown[step] = memory.asked - memory.known - had;
        print_message("%llu ", (unsigned long long)unknown[step]);
    }
    for (uint32_t step = 2; step < 8; step++)
        assert_true(unknown[step] + COVER_BASES + 1 <= unknown[step % 2]);
    memory_done(&memory);
    json_decref(world);
}

/* What no plan of late has asked for is forgotten. */
static void test_forgets(void **state)
{
    struct memory memory = {0};
    json_t *world;

    (void)state;
    seed_begin(7);
    world = a_world(true);
    for (uint32_t step = 0; step < 10; step++) {
        change_count(world);
        free(plan_text(world, 0, &memory));
        assert_true(memory.first && memory.bytes < (size_t)16 << 20);
    }
    memory.plan += 100; /* others */
    memory_begin(&memory);
    assert_null(memory.first);
    memory_done(&memory);
    assert_int_equal(memory.asked, 0);
    json_decref(world);
}

/* A memory that is full answers as none does, and keeps nothing. */
static void test_full(void **state)
{
    enum { ITEMS = 3 };
    const struct pb_column column = {0};
    const int64_t need[ITEMS] = {AMOUNT_ONE, 3 * AMOUNT_ONE, 5 * AMOUNT_ONE};
    const int64_t has = 8 * AMOUNT_ONE;
    const struct cover_bin bin = {.has = &has, .price = 1000, .max = UNLIMITED};
    const uint32_t family_max = UNLIMITED;
    struct cover_item items[ITEMS];
    const struct cover_problem p = {.columns = &column,
                                    .n_columns = 1,
                                    .items = items,
                                    .n_items = ITEMS,
                                    .bins = &bin,
                                    .n_bins = 1,
                                    .family_max = &family_max,
                                    .n_families = 1,
                                    .max_bins = UNLIMITED,
                                    .max_cost = -1};
    struct memory full = {.bytes = (size_t)1 << 30};
    struct arena arena = {0};
    struct cover_plan a, b;
    struct cover_proof proof;
    uint64_t work = 0, again = 0;

    (void)state;
    for (uint32_t i = 0; i < ITEMS; i++)
        items[i] = (struct cover_item){&need[i], 1777 + i, NULL};
    memory_first(NULL, &p, &arena, &a);
    memory_first(&full, &p, &arena, &b);
    assert_int_equal(a.cost, b.cost);
    assert_int_equal(a.bound, b.bound);
    assert_int_equal(a.work, b.work);
    assert_int_equal(
        memory_bound(NULL, &p, 0, NULL, INT64_MAX, 0, &arena, &work, &proof),
        memory_bound(&full, &p, 0, NULL, INT64_MAX, 0, &arena, &again, &proof));
    assert_int_equal(work, again);
    assert_true(!full.first && full.known == 0 && full.asked > 2);
    memory_done(&full);
    arena_done(&arena);
}

/* A plan does not lie in the memory that it was made with. */
static void test_plan_outlives_memory(void **state)
{
    struct memory memory = {0};
    struct arena arena = {0};
    struct snapshot *snapshot;
    struct problem *now;
    struct plan plan;
    struct err err;
    struct buf before, after;
    json_t *world;

    (void)state;
    seed_begin(11);
    world = a_world(true);
    json_object_set_new(json_object_get(world, "limits"), "max_nodes",
                        json_integer(100));
    assert_int_equal(codec_snapshot_read(world, &arena, &snapshot, &err),
                     ST_OK);
    assert_int_equal(problem_make(snapshot, &arena, &now, &err), ST_OK);
    for (int twice = 0; twice < 2; twice++) /* then the scratch is one chunk */
        planner_run_again(now, 0, &memory, &arena, &plan);
    assert_true(plan.n_refusals > 0 && plan.n_launches > 0);
    buf_init(&before, (size_t)1 << 28);
    buf_init(&after, (size_t)1 << 28);
    assert_true(codec_plan_print(now, &plan, &before));
    assert_true(memory.scratch_bytes >= memory.scratch.used);
    arena_reset(&memory.scratch);
    memset(arena_alloc(&memory.scratch, memory.scratch_bytes), 0xff,
           memory.scratch_bytes);
    memory_done(&memory);
    assert_true(codec_plan_print(now, &plan, &after));
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.s, after.s, before.n);
    buf_done(&before);
    buf_done(&after);
    arena_done(&arena);
    json_decref(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_from_scratch),
        cmocka_unit_test(test_nothing_changed),
        cmocka_unit_test(test_settled_is_the_same),
        cmocka_unit_test(test_base_is_known),
        cmocka_unit_test(test_to_and_fro),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_plan_outlives_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
