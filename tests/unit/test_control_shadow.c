/*
 * test_control_shadow.c - a shadow's two judgements: which node type a node of
 * the other autoscaler is of, and what runs on it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/shadow/inside.h"
#include "model/accel.h"

#define ONE INT64_C(10000)
#define QTYS(...) \
    { \
        (const struct qty[]){__VA_ARGS__}, \
            sizeof((const struct qty[]){__VA_ARGS__}) / sizeof(struct qty) \
    }

static const struct pair t4[] = {{ACCEL_LABEL, "T4"}};
static const struct conf_type types[] = {
    {.fact = {.name = "cpu",
              .pool = "",
              .machine = "c-8",
              .resources = QTYS({"CPU", 8 * ONE})}},
    {.fact = {.name = "t4",
              .pool = "t4-pool",
              .machine = "",
              .resources = QTYS({"CPU", 8 * ONE}, {"GPU", 4 * ONE}),
              .labels = {t4, 1}}},
    {.fact = {.name = "plain",
              .pool = "",
              .machine = "",
              .resources = QTYS({"CPU", 8 * ONE}, {"GPU", 4 * ONE})}}};
static const struct config conf = {.types = types, .n_types = 3};

static const char *type_of(const struct source_node *n)
{
    const struct conf_type *t = match_type(&conf, n);

    return t ? t->fact.name : "";
}

static void nodes_are_matched(void **state)
{
    static const struct pair pool[] = {
        {"cloud.google.com/gke-nodepool", "t4-pool"}};
    struct source_node n = {.type = "",
                            .machine = "",
                            .total = QTYS({"CPU", 8 * ONE}, {"GPU", 4 * ONE})};

    (void)state;
    assert_string_equal(type_of(&n), "plain");
    n.labels = (struct pairs){t4, 1};
    assert_string_equal(type_of(&n), "t4");
    n.labels = (struct pairs){pool, 1};
    assert_string_equal(type_of(&n), "t4");
    n.labels = (struct pairs){0};
    n.machine = "c-8"; /* the name goes before what it has */
    assert_string_equal(type_of(&n), "cpu");
    n.type = "plain"; /* and the type's before the machine's */
    assert_string_equal(type_of(&n), "plain");
    n = (struct source_node){
        .type = "", .machine = "", .total = QTYS({"CPU", 7 * ONE})};
    assert_string_equal(type_of(&n), "");
}

/* ---- work */

static const struct snap_alt alts[] = {
    {.resources = QTYS({"CPU", 2 * ONE}, {"GPU", 2 * ONE})},
    {.resources = QTYS({"CPU", ONE})},
    {.resources = QTYS({"GPU", ONE / 2})}};
static const struct snap_bundle seen[] = {
    {.alts = &alts[0], .n_alts = 1, .count = 7},
    {.alts = &alts[1], .n_alts = 1, .count = 1},
    {.alts = &alts[2], .n_alts = 1, .count = 1}};

static struct work_list work(const struct source_node *n, uint32_t shapes,
                             struct arena *a)
{
    const struct snap_demand demand = {
        .source = SOURCE_TASK, .bundles = seen, .n_bundles = shapes};
    const struct source_view v = {.demands = &demand, .n_demands = 1};
    struct shapes s = {0};
    struct work_list w = {0}, copy = {0};

    shapes_learn(&s, &v);
    shapes_learn(&s, &v);
    assert_int_equal(s.all.n, shapes);
    work_of(&s, &conf, n, a, &w);
    for (uint32_t i = 0; i < w.all.n; i++)
        VEC_PUSH(a, &copy.all, w.all.v[i]);
    /* what lies in the shapes' arena is looked at before it goes */
    for (uint32_t i = 0; i < copy.all.n; i++) {
        struct snap_alt *alt = arena_copy(a, copy.all.v[i].alts, sizeof *alt);
        struct qty *q = arena_copy(a, alt->resources.v,
                                   alt->resources.n * sizeof *q);

        for (uint32_t k = 0; k < alt->resources.n; k++)
            q[k].name = arena_strdup(a, q[k].name);
        alt->resources.v = q;
        copy.all.v[i].alts = alt;
    }
    arena_done(&s.arena);
    return copy;
}

static int64_t sum_of(const struct work_list *w, const char *name)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < w->all.n; i++)
        for (uint32_t k = 0; k < w->all.v[i].alts->resources.n; k++)
            if (strcmp(w->all.v[i].alts->resources.v[k].name, name) == 0)
                sum += w->all.v[i].alts->resources.v[k].amount *
                       w->all.v[i].count;
    return sum;
}

static void sums_are_divided(void **state)
{
    struct source_node n = {
        .status = SOURCE_RUNNING,
        .total = QTYS({"CPU", 8 * ONE}, {"GPU", 4 * ONE},
                      {"object_store_memory", 100 * ONE}),
        .available = QTYS({"CPU", 3 * ONE}, {"GPU", 0},
                          {"object_store_memory", 10 * ONE})};
    struct arena a = {0};
    struct work_list w;

    (void)state;
    /* 5 CPUs and 4 GPUs: two of {2, 2}, and one CPU */
    w = work(&n, 3, &a);
    assert_int_equal(w.all.n, 2);
    assert_int_equal(w.all.v[0].count, 2);
    assert_int_equal(w.all.v[1].count, 1);
    assert_int_equal(sum_of(&w, "CPU"), 5 * ONE);
    assert_int_equal(sum_of(&w, "GPU"), 4 * ONE);
    assert_int_equal(sum_of(&w, "object_store_memory"), 0);
    /* nothing was seen waiting: a bundle for each GPU */
    w = work(&n, 0, &a);
    assert_int_equal(w.all.n, 1);
    assert_int_equal(w.all.v[0].count, 4);
    assert_int_equal(sum_of(&w, "CPU"), 5 * ONE);
    assert_int_equal(sum_of(&w, "GPU"), 4 * ONE);
    n.status = SOURCE_IDLE;
    assert_int_equal(work(&n, 3, &a).all.n, 0);
    arena_done(&a);
}

/* Kubernetes says what each pod takes. */
static void pods_are_taken_as_told(void **state)
{
    const struct source_work works[] = {{QTYS({"GPU", ONE / 2}), 3},
                                        {QTYS({"CPU", 3 * ONE}), 1}};
    const struct source_node n = {
        .status = SOURCE_RUNNING,
        .total = QTYS({"CPU", 8 * ONE}, {"GPU", 4 * ONE}),
        .available = QTYS({"CPU", ONE}, {"GPU", ONE}),
        .works = works,
        .n_works = 2};
    struct arena a = {0};
    struct work_list w = work(&n, 3, &a);

    (void)state;
    assert_int_equal(w.all.n, 2);
    assert_int_equal(w.all.v[0].count, 3);
    assert_int_equal(sum_of(&w, "GPU"), 3 * ONE / 2);
    assert_int_equal(sum_of(&w, "CPU"), 3 * ONE);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_matched), cmocka_unit_test(sums_are_divided),
        cmocka_unit_test(pods_are_taken_as_told)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
