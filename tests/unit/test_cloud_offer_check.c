/*
 * What a cloud tells of its machines against what the configuration says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cloud/offer_check.h"
#include "model/amount.h"

struct got {
    char text[2000];
    uint32_t n;
};

static void each(void *arg, const char *type, const char *text)
{
    struct got *g = arg;
    size_t n = strlen(g->text);

    snprintf(g->text + n, sizeof g->text - n, "%s: %s\n", type, text);
    g->n++;
}

#define GIB (AMOUNT_ONE << 30)
static const struct qty said_res[] = {{"CPU", 4 * AMOUNT_ONE},
                                      {"GPU", AMOUNT_ONE},
                                      {"memory", 16 * GIB},
                                      {"special", AMOUNT_ONE}};
static const struct pair said_labels[] = {{"team", "ml"},
                                          {"ray.io/accelerator-type", "T4"}};
static const struct taint said_taints[] = {
    {"gpu", "present", EFFECT_NO_SCHEDULE}};

/* How two offers of type t4 of provider p differ from the type. */
static struct got check(const struct snap_type *type,
                        const struct call_offer *o)
{
    struct conf_type t = {.fact = *type};
    struct config c = {.types = &t, .n_types = 1};
    struct call_offer twice[] = {*o, *o};
    struct arena a = {0};
    struct got g = {.n = 0};

    twice[1].zone = "b";
    offers_check(&c, "p", twice, 2, &a, each, &g);
    arena_done(&a);
    return g;
}

static struct snap_type t4(void)
{
    return (struct snap_type){.name = "t4",
                              .provider = "p",
                              .resources = {said_res, 4},
                              .labels = {said_labels, 2},
                              .taints = {said_taints, 1}};
}

static void a_cloud_that_says_nothing_differs_in_nothing(void **state)
{
    const struct snap_type t = t4();
    const struct call_offer o = {.type = "t4", .zone = "a"};
    const struct call_offer other = {
        .type = "t9", .zone = "a", .taints = {said_taints, 1}};

    (void)state;
    assert_int_equal(check(&t, &o).n, 0);
    assert_int_equal(check(&t, &other).n, 0);
}

static void the_same_is_the_same(void **state)
{
    const struct qty has[] = {{"CPU", 8 * AMOUNT_ONE},
                              {"GPU", AMOUNT_ONE},
                              {"memory", 153 * GIB / 10},
                              {"other", 5}}; /* memory: within 5 % */
    const struct snap_type t = t4();
    const struct call_offer o = {.type = "t4",
                                 .zone = "a",
                                 .resources = {has, 4},
                                 .labels = {said_labels, 1},
                                 .taints = {said_taints, 1}};
    struct got g = check(&t, &o);

    (void)state;
    assert_string_equal(g.text, "");
}

static void less_is_told_once(void **state)
{
    const struct qty has[] = {
        {"CPU", 39200}, {"GPU", AMOUNT_ONE}, {"memory", 15 * GIB}};
    const struct snap_type t = t4();
    const struct call_offer o = {
        .type = "t4", .zone = "a", .resources = {has, 3}};
    struct got g = check(&t, &o);

    (void)state;
    assert_int_equal(g.n, 2);
    assert_non_null(strstr(g.text,
                           "t4: a machine has 3.92 CPU, the "
                           "configuration says 4: what asks for 4 will "
                           "never fit; write CPU: 3.92 under resources"));
    assert_non_null(strstr(g.text, "t4: a machine has 15Gi memory, the "
                                   "configuration says 16Gi"));
}

static void gpus_count(void **state)
{
    const struct qty none[] = {{"CPU", 4 * AMOUNT_ONE}};
    const struct qty many[] = {{"GPU", 8 * AMOUNT_ONE}};
    const struct snap_type t = t4();
    struct call_offer o = {.type = "t4", .zone = "a", .resources = {none, 1}};
    struct got g = check(&t, &o);

    (void)state;
    assert_int_equal(g.n, 1);
    assert_non_null(strstr(g.text, "a machine has no GPU, the configuration "
                                   "says 1"));
    o.resources = (struct qtys){many, 1};
    g = check(&t, &o);
    assert_int_equal(g.n, 1);
    assert_non_null(strstr(g.text,
                           "8 GPU, the configuration says 1: the others "
                           "are paid for and never used"));
}

static void labels_differ(void **state)
{
    const struct pair other[] = {{"team", "web"}}, none[] = {{"x", "y"}};
    struct snap_type t = t4();
    struct call_offer o = {.type = "t4",
                           .zone = "a",
                           .labels = {other, 1},
                           .taints = {said_taints, 1}};
    struct got g = check(&t, &o);

    (void)state;
    assert_int_equal(g.n, 1);
    assert_non_null(strstr(g.text, "the label team=web, the configuration says "
                                   "ml"));
    o.labels = (struct pairs){none, 1};
    g = check(&t, &o);
    assert_int_equal(g.n, 1);
    assert_non_null(strstr(g.text, "the cloud knows no label team"));
}

static void taints_differ(void **state)
{
    const struct taint has[] = {
        {"nvidia.com/gpu", "present", EFFECT_NO_SCHEDULE},
        {"avoid", "", EFFECT_PREFER_NO_SCHEDULE}};
    struct snap_type t = t4();
    const struct call_offer o = {.type = "t4", .zone = "a", .taints = {has, 2}};
    struct arena a = {0};
    struct got g = check(&t, &o);

    (void)state;
    assert_int_equal(g.n, 2);
    assert_non_null(strstr(g.text, "t4: a machine has the taint nvidia.com/gpu="
                                   "present:NoSchedule, which taints: of the "
                                   "type lacks: pods without that toleration "
                                   "will not run there"));
    assert_non_null(strstr(g.text, "the configuration says the taint gpu="
                                   "present:NoSchedule, which the cloud does "
                                   "not put on"));
    struct taints more = offer_more_taints(&t, o.taints, &a);
    assert_int_equal(more.n, 2);
    assert_string_equal(more.v[0].key, "nvidia.com/gpu");
    const struct taint value[] = {{"gpu", "other", EFFECT_NO_SCHEDULE},
                                  {"gpu", "present", EFFECT_NO_EXECUTE}};
    more = offer_more_taints(&t, (struct taints){value, 2}, &a);
    assert_int_equal(more.n, 1); /* what is configured holds */
    assert_int_equal(more.v[0].effect, EFFECT_NO_EXECUTE);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cloud_that_says_nothing_differs_in_nothing),
        cmocka_unit_test(the_same_is_the_same),
        cmocka_unit_test(less_is_told_once),
        cmocka_unit_test(gpus_count),
        cmocka_unit_test(labels_differ),
        cmocka_unit_test(taints_differ)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
