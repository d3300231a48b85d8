/*
 * test_model_snapshot.c - facts to arrays: what each rule of problem_make()
 * says, then laws over random facts (order does not matter; the same again).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "model_help.h"
#include "seed.h"

static struct arena arena;
static struct err error;

static int fresh(void **state)
{
    (void)state;
    arena_reset(&arena);
    error = (struct err){0};
    return 0;
}

static struct snapshot *snapshot_of(const char *json)
{
    struct snapshot *f = NULL;
    json_t *v = NULL;

    if (codec_parse(json, strlen(json), &v, &error) != ST_OK ||
        codec_snapshot_read(v, &arena, &f, &error) != ST_OK)
        fail_msg("%s", error.text);
    json_decref(v);
    return f;
}

static struct problem *make_snapshot(const struct snapshot *f)
{
    struct problem *s = NULL;

    if (problem_make(f, &arena, &s, &error) != ST_OK)
        fail_msg("%s", error.text);
    return s;
}

static struct problem *make(const char *json)
{
    return make_snapshot(snapshot_of(json));
}

static const char *label(const struct problem *s, uint32_t first, uint32_t n,
                         const char *key)
{
    const char *found = NULL;

    for (uint32_t i = first; i < first + n; i++) {
        if (i > first)
            assert_true(s->labels[i - 1].key < s->labels[i].key);
        if (strcmp(s->str[s->labels[i].key], key) == 0)
            found = s->str[s->labels[i].value];
    }
    return found;
}

#define OFFER_LABEL(s, o, key) \
    label((s), (s)->offers[o].first_label, (s)->offers[o].n_labels, (key))
#define NODE_LABEL(s, n, key) \
    label((s), (s)->nodes[n].first_label, (s)->nodes[n].n_labels, (key))

static void columns_are_fixed_then_by_name(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"t\",\"resources\":{\"zz\":1,\"GPU\":2,"
        "\"aa\":1,\"TPU\":4,\"accelerator_type:T4\":1}}],"
        "\"nodes\":[{\"id\":\"n\",\"total\":{\"CPU\":1,\"node:10.0.0.1\":1,"
        "\"HPU\":2,\"object_store_memory\":5}},{\"id\":\"m\",\"total\":{"
        "\"node:10.0.0.2\":1}}],"
        "\"demands\":[{\"resources\":{\"nobody\":1,\"node:10.0.0.2\":0.001}}]}");
    static const char *const want[] = {"CPU",    "memory",        "GPU",
                                       "HPU",    "TPU",           "aa",
                                       "nobody", "node:10.0.0.2", "zz"};

    (void)state;
    assert_int_equal(s->n_columns, 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_string_equal(s->str[s->columns[i].name], want[i]);
    assert_true(s->columns[COL_GPU].device && s->columns[COL_GPU].fractions);
    assert_true(s->columns[4].device && !s->columns[4].fractions);
    assert_false(s->columns[COL_CPU].device || s->columns[5].device);
    assert_string_equal(s->str[0], "");
}

static void many_unknown_names_share_a_column(void **state)
{
    struct qty q[100];
    struct snap_alt alt[100];
    struct snap_bundle b[100];
    struct snap_demand d = {
        .owner = "x", .id = "", .bundles = b, .n_bundles = 100};
    struct snapshot f = {.cluster = "",
                         .limits = snap_limits_default,
                         .demands = &d,
                         .n_demands = 1};
    const struct problem *s;
    char names[100][16];

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "typo%02d", i);
        q[i] = (struct qty){names[i], 10000};
        alt[i] = (struct snap_alt){.resources = {&q[i], 1}};
        b[i] = (struct snap_bundle){&alt[i], 1, 1, false};
    }
    s = make_snapshot(&f);
    assert_int_equal(s->n_columns, 3 + 32 + 1);
    assert_string_equal(s->str[s->columns[35].name], "other resources");
    /* Whoever is folded still asks for something that is nowhere. */
    assert_int_equal(s->n_shapes, 33);
    for (uint32_t i = 0; i < s->n_shapes; i++) {
        int64_t sum = 0;
        for (uint32_t c = 0; c < s->n_columns; c++)
            sum += pb_row(s, s->shapes[i].row)[c];
        assert_int_equal(sum, 10000);
    }
}

static void too_many_amounts_are_refused(void **state)
{
    enum { N = 20000 };
    struct qty *q = calloc(N, sizeof *q);
    struct snap_offer o = {
        .zone = "", .price_micros_hour = 1, .room = UNLIMITED};
    struct snap_type *t = calloc(N, sizeof *t);
    struct snapshot f = {
        .limits = snap_limits_default, .types = t, .n_types = N};
    struct problem *s = NULL;

    (void)state;
    for (int i = 0; i < N; i++) {
        char *name = arena_printf(&arena, "r%d", i);
        q[i] = (struct qty){name, 10000};
        t[i] = (struct snap_type){.name = name,
                                  .provider = "",
                                  .offers = &o,
                                  .n_offers = 1,
                                  .resources = {&q[i], 1}};
    }
    assert_int_equal(problem_make(&f, &arena, &s, &error), ST_INVALID);
    assert_non_null(strstr(error.text, "different resources"));
    assert_null(s);
    free(q);
    free(t);
}

static void accelerator_types_become_labels_and_terms(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":["
        "{\"name\":\"a\",\"resources\":{\"GPU\":1,\"accelerator_type:T4\":1}},"
        "{\"name\":\"b\",\"resources\":{\"GPU\":1},\"labels\":{"
        "\"accelerator_type\":\"nvidia-tesla-t4\"}},"
        "{\"name\":\"c\",\"resources\":{\"GPU\":1,\"accelerator_type:T4\":1},"
        "\"labels\":{\"ray.io/accelerator-type\":\"tesla-v100\"}},"
        "{\"name\":\"d\",\"resources\":{\"CPU\":1}}],"
        "\"demands\":[{\"resources\":{\"GPU\":1,\"accelerator_type:T4\":0.001}},"
        "{\"resources\":{\"GPU\":1},\"accelerator_type\":\"t4\"},"
        "{\"resources\":{\"GPU\":1},\"accelerator_types\":[\"T4\",\"T4\"]},"
        "{\"resources\":{\"GPU\":1},\"labels\":{\"ray.io/accelerator-type\":"
        "\"nvidia-tesla-t4\"}},"
        "{\"resources\":{\"CPU\":1},\"accelerator_type\":\"T4\"}]}");
    uint32_t sel;

    (void)state;
    assert_string_equal(OFFER_LABEL(s, 0, ACCEL_LABEL), "T4");
    assert_string_equal(OFFER_LABEL(s, 1, ACCEL_LABEL), "T4");
    assert_string_equal(OFFER_LABEL(s, 1, "accelerator_type"),
                        "nvidia-tesla-t4");
    assert_string_equal(OFFER_LABEL(s, 2, ACCEL_LABEL), "V100");
    assert_null(OFFER_LABEL(s, 3, ACCEL_LABEL));
    assert_int_equal(s->n_columns, 3);
    /* Four ways to say it, one shape; the fifth is another row. */
    assert_int_equal(s->n_shapes, 2);
    assert_int_equal(s->n_selectors, 2);
    sel = s->shapes[0].selector;
    assert_int_equal(sel, s->shapes[1].selector);
    assert_true(s->shapes[0].accelerator && s->shapes[1].accelerator);
    assert_true(
        problem_match(s, sel, s->offers[0].first_label, s->offers[0].n_labels));
    assert_true(
        problem_match(s, sel, s->offers[1].first_label, s->offers[1].n_labels));
    assert_false(
        problem_match(s, sel, s->offers[2].first_label, s->offers[2].n_labels));
    assert_false(
        problem_match(s, sel, s->offers[3].first_label, s->offers[3].n_labels));
    assert_true(s->types[0].accelerator && !s->types[3].accelerator);
}

/* Facts that did not pass the codec, with the marker as a resource. */
static void markers_in_raw_facts_are_no_columns(void **state)
{
    struct qty t[] = {{"GPU", 10000}, {"accelerator_type:nvidia-l4", 10000}};
    struct qty d[] = {{"accelerator_type:L4", 10}, {"GPU", 5000}};
    struct snap_offer o = {
        .zone = "", .price_micros_hour = 1, .room = UNLIMITED};
    struct snap_type type = {.name = "t",
                             .provider = "",
                             .resources = {t, 2},
                             .offers = &o,
                             .n_offers = 1,
                             .max = UNLIMITED};
    struct snap_node node = {
        .id = "n", .type = "", .zone = "", .total = {t, 2}, .available = {t, 2}};
    struct snap_alt alt = {.resources = {d, 2}};
    struct snap_bundle b = {&alt, 1, 1, false};
    struct snap_demand dem = {
        .owner = "", .id = "", .bundles = &b, .n_bundles = 1};
    struct snapshot f = {.limits = snap_limits_default,
                         .types = &type,
                         .n_types = 1,
                         .nodes = &node,
                         .n_nodes = 1,
                         .demands = &dem,
                         .n_demands = 1};
    const struct problem *s = make_snapshot(&f);

    (void)state;
    assert_int_equal(s->n_columns, 3);
    assert_string_equal(OFFER_LABEL(s, 0, ACCEL_LABEL), "L4");
    assert_string_equal(NODE_LABEL(s, 0, ACCEL_LABEL), "L4");
    assert_true(problem_match(s, s->shapes[0].selector, s->nodes[0].first_label,
                              s->nodes[0].n_labels));
    assert_int_equal(s->selectors[s->shapes[0].selector].n_terms, 1);
}

static void labels_of_zone_and_market(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"t\",\"resources\":{\"CPU\":1},"
        "\"labels\":{\"zone\":\"mine\",\"k\":\"type\"},\"offers\":["
        "{\"zone\":\"b\",\"spot\":true},{\"zone\":\"a\"},{}]}],"
        "\"nodes\":[{\"id\":\"n\",\"type\":\"t\",\"zone\":\"b\",\"spot\":true,"
        "\"labels\":{\"k\":\"node\",\"ray.io/market-type\":\"odd\"}},"
        "{\"id\":\"o\",\"type\":\"gone\",\"zone\":\"z\"}]}");

    (void)state;
    assert_string_equal(s->str[s->offers[0].zone], "");
    assert_null(OFFER_LABEL(s, 0, "topology.kubernetes.io/zone"));
    assert_string_equal(OFFER_LABEL(s, 0, "ray.io/market-type"), "on-demand");
    assert_string_equal(s->str[s->offers[1].zone], "a");
    assert_string_equal(OFFER_LABEL(s, 1, "topology.kubernetes.io/zone"), "a");
    assert_string_equal(OFFER_LABEL(s, 1, "ray.io/availability-zone"), "a");
    assert_string_equal(OFFER_LABEL(s, 1, "zone"), "mine");
    assert_string_equal(OFFER_LABEL(s, 2, "ray.io/market-type"), "spot");
    assert_int_equal(s->nodes[0].offer, 2);
    assert_int_equal(s->nodes[0].type, 0);
    assert_string_equal(NODE_LABEL(s, 0, "k"), "node");
    assert_string_equal(NODE_LABEL(s, 0, "zone"), "mine");
    assert_string_equal(NODE_LABEL(s, 0, "ray.io/market-type"), "odd");
    assert_string_equal(NODE_LABEL(s, 0, "ray.io/availability-zone"), "b");
    assert_int_equal(s->nodes[1].type, NONE);
    assert_int_equal(s->nodes[1].offer, NONE);
    assert_string_equal(NODE_LABEL(s, 1, "zone"), "z");
    assert_null(NODE_LABEL(s, 1, "k"));
}

static void offers_of_nodes(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"t\",\"offers\":[{\"zone\":\"a\"},"
        "{\"zone\":\"b\"}]},{\"name\":\"u\",\"offers\":[{\"zone\":\"\"}]}],"
        "\"nodes\":[{\"id\":\"1\",\"type\":\"t\",\"zone\":\"b\"},"
        "{\"id\":\"2\",\"type\":\"t\",\"zone\":\"c\"},"
        "{\"id\":\"3\",\"type\":\"t\"},{\"id\":\"4\",\"type\":\"u\","
        "\"zone\":\"c\"},{\"id\":\"5\",\"type\":\"u\",\"spot\":true}]}");

    (void)state;
    assert_int_equal(s->nodes[0].offer, 1);
    assert_int_equal(s->nodes[1].offer, NONE);
    assert_int_equal(s->nodes[2].offer, 0);
    assert_int_equal(s->nodes[3].offer, 2);
    assert_int_equal(s->nodes[4].offer, NONE);
}

static void unknown_prices_are_estimated(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":["
        "{\"name\":\"a\",\"resources\":{\"CPU\":8,\"memory\":\"30Gi\"}},"
        "{\"name\":\"b\",\"resources\":{\"CPU\":8,\"memory\":\"30Gi\","
        "\"GPU\":2,\"accelerator_type:V100\":1},\"offers\":[{\"spot\":true},"
        "{\"spot\":false}]},"
        "{\"name\":\"c\",\"resources\":{\"GPU\":1},\"accelerator_type\":\"?\"},"
        "{\"name\":\"d\",\"resources\":{\"GPU\":1},\"price\":0}],"
        "\"nodes\":[{\"id\":\"x\",\"type\":\"gone\",\"total\":{\"CPU\":8,"
        "\"memory\":\"30Gi\"}},{\"id\":\"y\",\"type\":\"d\"},"
        "{\"id\":\"z\",\"type\":\"d\",\"price\":1.5}]}");
    const int64_t cpu = 8 * 31611 + 30 * 4237;

    (void)state;
    assert_int_equal(s->offers[0].price_micros_hour, cpu);
    assert_true(s->offers[0].price_estimated);
    assert_int_equal(s->offers[1].price_micros_hour, cpu + 2 * 2480000);
    assert_int_equal(s->offers[2].price_micros_hour,
                     (cpu + 2 * 2480000) * 2 / 5);
    assert_int_equal(s->offers[3].price_micros_hour, 1000000);
    assert_int_equal(s->offers[4].price_micros_hour, 0);
    assert_false(s->offers[4].price_estimated);
    assert_int_equal(s->nodes[0].price_micros_hour, cpu);
    assert_int_equal(s->nodes[1].price_micros_hour, 0);
    assert_int_equal(s->nodes[2].price_micros_hour, 1500000);
}

/* Nothing is known of "x" and "y", not even what they have. */
static void what_is_not_known_is_the_dearest(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"a\",\"provider\":\"p\",\"price\":2},"
        "{\"name\":\"b\",\"provider\":\"p\",\"price\":3},"
        "{\"name\":\"c\",\"provider\":\"q\",\"price\":9}],\"nodes\":["
        "{\"id\":\"x\",\"type\":\"gone\",\"provider\":\"p\"},"
        "{\"id\":\"y\",\"type\":\"gone\",\"provider\":\"r\"},"
        "{\"id\":\"z\",\"type\":\"gone\",\"provider\":\"p\",\"price\":1},"
        "{\"id\":\"zz\",\"type\":\"a\",\"spot\":true}]}");

    (void)state;
    assert_int_equal(s->nodes[0].price_micros_hour, 3000000);
    assert_int_equal(s->nodes[1].price_micros_hour, 9000000);
    assert_int_equal(s->nodes[2].price_micros_hour, 1000000);
    assert_int_equal(s->nodes[3].price_micros_hour, 2000000);
}

static void check_devices(const struct problem *s, uint32_t node,
                          uint32_t column, const int32_t *want, uint32_t n)
{
    const struct pb_node *x = &s->nodes[node];
    uint32_t seen = 0;

    for (uint32_t i = x->first_device; i < x->first_device + x->n_devices; i++)
        if (s->devices[i].column == column) {
            assert_true(seen < n);
            assert_int_equal(s->devices[i].free, want[seen++]);
        }
    assert_int_equal(seen, n);
}

static void devices_are_inferred(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"t\",\"resources\":{\"GPU\":2,\"CPU\":4}}],"
        "\"nodes\":[{\"id\":\"1\",\"total\":{\"GPU\":4},\"available\":{\"GPU\":"
        "2.3}},{\"id\":\"2\",\"total\":{\"GPU\":2,\"TPU\":1}},"
        "{\"id\":\"3\",\"total\":{\"GPU\":1},\"available\":{\"GPU\":3}},"
        "{\"id\":\"4\",\"type\":\"t\"},{\"id\":\"5\",\"type\":\"gone\"},"
        "{\"id\":\"6\",\"total\":{\"GPU\":2,\"CPU\":1},\"available\":{}},"
        "{\"id\":\"7\",\"total\":{\"GPU\":100000}},"
        "{\"id\":\"8\",\"total\":{\"GPU\":1.5},\"available\":{\"GPU\":1.2}}]}");
    uint32_t tpu = 3;

    (void)state;
    check_devices(s, 0, COL_GPU, (int32_t[]){10000, 10000, 3000, 0}, 4);
    check_devices(s, 1, COL_GPU, (int32_t[]){10000, 10000}, 2);
    check_devices(s, 1, tpu, (int32_t[]){10000}, 1);
    /* More is never free than there is. */
    check_devices(s, 2, COL_GPU, (int32_t[]){10000}, 1);
    assert_int_equal(pb_row(s, s->nodes[2].available)[COL_GPU], 10000);
    /* Not joined: the type's row, all free. */
    assert_true(s->nodes[3].template_room);
    check_devices(s, 3, COL_GPU, (int32_t[]){10000, 10000}, 2);
    assert_int_equal(s->nodes[3].total, s->types[0].row);
    assert_int_equal(s->nodes[3].available, s->types[0].row);
    assert_true(s->nodes[4].template_room);
    assert_int_equal(s->nodes[4].n_devices, 0);
    assert_false(s->nodes[5].template_room);
    check_devices(s, 5, COL_GPU, (int32_t[]){0, 0}, 2);
    assert_int_equal(s->nodes[6].n_devices, 1024);
    check_devices(s, 7, COL_GPU, (int32_t[]){10000, 2000}, 2);
}

static void demands_come_in_planning_order(void **state)
{
    const struct problem *s = make(
        "{\"demands\":[{\"resources\":{\"CPU\":1},\"source\":\"spare\"},"
        "{\"resources\":{\"CPU\":2},\"owner\":\"b\"},"
        "{\"resources\":{\"CPU\":3},\"owner\":\"a\",\"since_ms\":9},"
        "{\"resources\":{\"CPU\":4},\"owner\":\"a\",\"since_ms\":8},"
        "{\"resources\":{\"CPU\":5},\"source\":\"pod\"},"
        "{\"resources\":{\"CPU\":6},\"priority\":3}],"
        "\"gangs\":[{\"id\":\"g\",\"bundles\":[{\"CPU\":7}]}],"
        "\"requests\":[{\"bundles\":[{\"CPU\":8}]},{\"bundles\":[]},"
        "{\"owner\":\"s\",\"strategy\":\"STRICT_SPREAD\",\"bundles\":["
        "{\"CPU\":9},{\"CPU\":9}]}]}");
    static const int want[] = {6, 8, 9, 7, 5, 2, 4, 3, 1};

    (void)state;
    assert_int_equal(s->n_demands, 9);
    for (uint32_t i = 0; i < 9; i++) {
        const struct pb_demand *d = &s->demands[i];
        const struct pb_alt *a =
            &s->alts[s->bundles[d->first_bundle].first_alt];

        assert_int_equal(pb_row(s, s->shapes[a->shape].row)[COL_CPU],
                         want[i] * 10000);
        assert_int_equal(s->bundles[d->first_bundle].demand, i);
    }
    assert_false(s->demands[1].gang);
    assert_true(s->demands[2].gang && s->demands[3].gang);
    assert_int_equal(s->demands[2].n_bundles, 2); /* not counted together */
}

static void equal_bundles_are_counted_together(void **state)
{
    const struct problem *s = make(
        "{\"demands\":[{\"bundles\":[{\"CPU\":2},{\"CPU\":1,\"zz\":0},"
        "{\"resources\":{\"CPU\":1},\"count\":5},{\"CPU\":2,"
        "\"accelerator_type\":\"T4\"},{\"CPU\":\"1000m\"}]}],"
        "\"gangs\":[{\"bundles\":[{\"CPU\":1},{\"CPU\":1}]}]}");

    (void)state;
    assert_int_equal(s->n_bundles, 2 + 3);
    assert_int_equal(s->demands[0].n_bundles, 2);
    assert_int_equal(s->demands[1].n_bundles, 3);
    assert_int_equal(s->bundles[2].count, 7);
    assert_int_equal(s->n_columns, 3);
}

static void whole_devices_are_rounded_up(void **state)
{
    struct qty q[] = {{"GPU", 15000}};
    struct snap_alt alt = {.resources = {q, 1}};
    struct snap_bundle b = {&alt, 1, 1, false};
    struct snap_demand d = {
        .owner = "", .id = "", .bundles = &b, .n_bundles = 1};
    struct snapshot f = {
        .limits = snap_limits_default, .demands = &d, .n_demands = 1};
    const struct problem *s = make_snapshot(&f);

    (void)state;
    assert_int_equal(pb_row(s, s->shapes[0].row)[COL_GPU], 20000);
}

static void defaults_are_resolved(void **state)
{
    const struct problem *s = make(
        "{\"limits\":{\"idle_timeout_s\":7},\"node_types\":["
        "{\"name\":\"a\",\"min\":5,\"max\":2},"
        "{\"name\":\"b\",\"idle_timeout_s\":\"2m\"}]}");

    (void)state;
    assert_int_equal(s->types[0].idle_timeout_ms, 7000);
    assert_int_equal(s->types[1].idle_timeout_ms, 120000);
    assert_int_equal(s->types[0].min, 2);
    assert_int_equal(s->types[0].hosts, 1);
    assert_int_equal(s->types[1].max, UNLIMITED);
    assert_int_equal(s->n_selectors, 0 + 1);
}

static void selectors_match_as_rays_do(void **state)
{
    static const struct {
        const char *labels;
        bool want;
    } cases[] = {
        {"{\"z\":\"a\"}", true},
        {"{\"z\":\"b\"}", false},
        {"{\"z\":\"!a\"}", false},
        {"{\"z\":\"!b\"}", true},
        {"{\"z\":\"in(b, a)\"}", true},
        {"{\"z\":\"!in(b,a)\"}", false},
        {"{\"no\":\"a\"}", false},
        {"{\"no\":\"!a\"}", true},
        {"{\"z\":\"a\",\"y\":\"c\"}", true},
        {"{\"z\":\"a\",\"y\":\"d\"}", false},
        {"{\"y\":\"!d\",\"z\":\"!q\",\"x\":\"!in(a,b,c)\"}", true},
        {"{}", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[512];
        const struct problem *s;

        snprintf(json, sizeof json,
                 "{\"node_types\":[{\"name\":\"t\",\"labels\":{\"z\":\"a\","
                 "\"y\":\"c\",\"a\":\"1\"}}],\"demands\":[{\"resources\":{},"
                 "\"labels\":%s}]}",
                 cases[i].labels);
        s = make(json);
        if (problem_match(s, s->shapes[0].selector, s->offers[0].first_label,
                          s->offers[0].n_labels) != cases[i].want)
            fail_msg("%s: not %d", cases[i].labels, cases[i].want);
    }
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{\"node_types\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]}",
         "node type 'a' is given twice"},
        {"{\"nodes\":[{\"id\":\"n1\"},{\"id\":\"n1\"}]}",
         "node 'n1' is given twice"},
        {"{\"node_types\":[{\"name\":\"a\",\"offers\":[{\"zone\":\"z\"},"
         "{\"zone\":\"z\",\"price\":3}]}]}",
         "two on-demand offers in zone 'z'"},
    };
    struct problem *s = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            problem_make(snapshot_of(cases[i].json), &arena, &s, &error),
            ST_INVALID);
        if (!strstr(error.text, cases[i].want))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].want);
        assert_null(s);
    }
    /* What the codec would not let pass. */
    struct snap_type t = {.name = "t", .provider = ""};
    struct snapshot f = {.types = &t, .n_types = 1};
    assert_int_equal(problem_make(&f, &arena, &s, &error), ST_INVALID);
    assert_non_null(strstr(error.text, "no offers"));
    struct snap_bundle b = {NULL, 0, 1, false};
    struct snap_demand d = {
        .owner = "o", .id = "", .bundles = &b, .n_bundles = 1};
    f = (struct snapshot){.demands = &d, .n_demands = 1};
    assert_int_equal(problem_make(&f, &arena, &s, &error), ST_INVALID);
    assert_non_null(strstr(error.text, "no alternative"));
}

/* Also swaps what has no order inside a fact: quantities, labels, offers,
 * terms and values, and the bundles of an independent demand. */
static void shuffle_all(struct rnd *r, struct snapshot *f)
{
    struct snap_type *t = (struct snap_type *)f->types;
    struct snap_node *n = (struct snap_node *)f->nodes;
    struct snap_demand *d = (struct snap_demand *)f->demands;

    for (uint32_t i = 0; i < f->n_types; i++) {
        rnd_shuffle(r, (void *)t[i].resources.v, t[i].resources.n,
                    sizeof(struct qty));
        rnd_shuffle(r, (void *)t[i].labels.v, t[i].labels.n,
                    sizeof(struct pair));
        rnd_shuffle(r, (void *)t[i].taints.v, t[i].taints.n,
                    sizeof(struct taint));
        rnd_shuffle(r, (void *)t[i].offers, t[i].n_offers,
                    sizeof(struct snap_offer));
    }
    rnd_shuffle(r, (void *)f->queues, f->n_queues, sizeof(struct snap_queue));
    for (uint32_t i = 0; i < f->n_nodes; i++)
        rnd_shuffle(r, (void *)n[i].total.v, n[i].total.n, sizeof(struct qty));
    for (uint32_t i = 0; i < f->n_demands; i++) {
        bool free = d[i].strategy == STRATEGY_NONE &&
                    d[i].source != SOURCE_GANG && d[i].source != SOURCE_REQUEST;

        for (uint32_t j = 0; j < d[i].n_bundles; j++)
            for (uint32_t k = 0; k < d[i].bundles[j].n_alts; k++) {
                const struct snap_alt *a = &d[i].bundles[j].alts[k];

                rnd_shuffle(r, (void *)a->resources.v, a->resources.n,
                            sizeof(struct qty));
                rnd_shuffle(r, (void *)a->tolerations.v, a->tolerations.n,
                            sizeof(struct toleration));
                rnd_shuffle(r, (void *)a->selector.v, a->selector.n,
                            sizeof(struct term));
                for (uint32_t l = 0; l < a->selector.n; l++)
                    rnd_shuffle(r, (void *)a->selector.v[l].values.v,
                                a->selector.v[l].values.n, sizeof(char *));
            }
        if (free)
            rnd_shuffle(r, (void *)d[i].bundles, d[i].n_bundles,
                        sizeof(struct snap_bundle));
    }
    rnd_shuffle(r, t, f->n_types, sizeof *t);
    rnd_shuffle(r, n, f->n_nodes, sizeof *n);
    rnd_shuffle(r, d, f->n_demands, sizeof *d);
}

static void the_order_of_facts_does_not_matter(void **state)
{
    uint64_t first = seed_of(0);

    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        struct rnd r = {first + i, &arena};
        struct snapshot *f = rnd_snapshot(&r);
        char *before = dump(make_snapshot(f)), *after;

        shuffle_all(&r, f);
        after = dump(make_snapshot(f));
        if (strcmp(before, after) != 0)
            fail_msg("SEED=%" PRIu64 ": another snapshot after a shuffle",
                     first + i);
        free(before);
        free(after);
        arena_reset(&arena);
    }
}

/* A large cluster takes milliseconds.  The limit is lax, for slow machines
 * and sanitizers; the number is printed. */
static void a_large_one_is_quick(void **state)
{
    enum { TYPES = 844, NODES = 1337, BUNDLES = 10000 };
    struct snap_type *t = calloc(TYPES, sizeof *t);
    struct snap_node *n = calloc(NODES, sizeof *n);
    struct snap_bundle *b = calloc(BUNDLES, sizeof *b);
    struct snap_demand d = {
        .owner = "ray", .id = "", .bundles = b, .n_bundles = BUNDLES};
    struct snapshot f = {.limits = snap_limits_default,
                         .types = t,
                         .n_types = TYPES,
                         .nodes = n,
                         .n_nodes = NODES,
                         .demands = &d,
                         .n_demands = 1};
    struct timespec t0, t1;
    const struct problem *s;
    double ms;

    (void)state;
    for (uint32_t i = 0; i < TYPES; i++) {
        struct snap_offer *o = ARENA_ARRAY(&arena, struct snap_offer, 3);
        struct qty *q = ARENA_ARRAY(&arena, struct qty, 3);

        for (uint32_t z = 0; z < 3; z++)
            o[z] = (struct snap_offer){
                .zone = arena_printf(&arena, "us-%c", 'a' + (int)z),
                .price_micros_hour = i + 1,
                .room = UNLIMITED};
        q[0] = (struct qty){"CPU", (1 + i % 96) * 10000};
        q[1] = (struct qty){"memory", (1 + i) * (INT64_C(10000) << 30)};
        q[2] = (struct qty){"GPU", i % 9 * 10000};
        t[i] = (struct snap_type){
            .name = arena_printf(&arena, "type-%u", i * 7919 % TYPES),
            .provider = "sim",
            .resources = {q, 3},
            .max = UNLIMITED,
            .offers = o,
            .n_offers = 3};
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct qty *q = ARENA_ARRAY(&arena, struct qty, 4);

        q[0] = (struct qty){"CPU", (1 + i % 96) * 10000};
        q[1] = (struct qty){"memory", (1 + i) * (INT64_C(10000) << 30)};
        q[2] = (struct qty){"GPU", 80000};
        q[3] = (struct qty){
            arena_printf(&arena, "node:10.0.%u.%u", i / 256, i % 256), 10000};
        n[i] = (struct snap_node){.id = arena_printf(&arena, "n%u", i),
                                  .type = t[i % TYPES].name,
                                  .zone = "us-a",
                                  .total = {q, 4},
                                  .available = {q, 4}};
    }
    for (uint32_t i = 0; i < BUNDLES; i++) {
        struct snap_alt *a = ARENA_NEW(&arena, struct snap_alt);
        struct qty *q = ARENA_ARRAY(&arena, struct qty, 2);

        q[0] = (struct qty){"CPU", 10000 + i * 7919 % BUNDLES};
        q[1] = (struct qty){"GPU", 100 * (1 + i % 99)};
        a->resources = (struct qtys){q, 2};
        b[i] = (struct snap_bundle){a, 1, 1, false};
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    s = make_snapshot(&f);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    ms = (double)(t1.tv_sec - t0.tv_sec) * 1e3 +
         (double)(t1.tv_nsec - t0.tv_nsec) / 1e6;
    print_message("%u bundles, %u nodes, %u offers: %.2f ms\n", s->n_bundles,
                  s->n_nodes, s->n_offers, ms);
    assert_int_equal(s->n_columns, 3);
    assert_int_equal(s->n_shapes, BUNDLES);
    assert_true(ms < 500);
    free(t);
    free(n);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(columns_are_fixed_then_by_name, fresh),
        cmocka_unit_test_setup(many_unknown_names_share_a_column, fresh),
        cmocka_unit_test_setup(too_many_amounts_are_refused, fresh),
        cmocka_unit_test_setup(accelerator_types_become_labels_and_terms,
                               fresh),
        cmocka_unit_test_setup(markers_in_raw_facts_are_no_columns, fresh),
        cmocka_unit_test_setup(labels_of_zone_and_market, fresh),
        cmocka_unit_test_setup(offers_of_nodes, fresh),
        cmocka_unit_test_setup(unknown_prices_are_estimated, fresh),
        cmocka_unit_test_setup(what_is_not_known_is_the_dearest, fresh),
        cmocka_unit_test_setup(devices_are_inferred, fresh),
        cmocka_unit_test_setup(demands_come_in_planning_order, fresh),
        cmocka_unit_test_setup(equal_bundles_are_counted_together, fresh),
        cmocka_unit_test_setup(whole_devices_are_rounded_up, fresh),
        cmocka_unit_test_setup(defaults_are_resolved, fresh),
        cmocka_unit_test_setup(selectors_match_as_rays_do, fresh),
        cmocka_unit_test_setup(mistakes_are_named, fresh),
        cmocka_unit_test_setup(the_order_of_facts_does_not_matter, fresh),
        cmocka_unit_test_setup(a_large_one_is_quick, fresh),
    };
    int failed = cmocka_run_group_tests_name("model_snapshot", tests, NULL,
                                             NULL);

    arena_done(&arena);
    return failed;
}
