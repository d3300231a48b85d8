/*
 * test_model_codec.c - JSON in and out: forms of bundles, messages that say
 * where, the example of docs/snapshot.md, and that nothing is lost on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "model_help.h"

#include "../../autoscaler/model/bundle.h"
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

static json_t *parse(const char *text)
{
    json_t *v = NULL;

    if (codec_parse(text, strlen(text), &v, &error) != ST_OK)
        fail_msg("%s", error.text);
    return v;
}

static enum status read_snapshot(const char *text, struct snapshot **ret)
{
    json_t *v = NULL;
    enum status s = codec_parse(text, strlen(text), &v, &error);

    if (s == ST_OK)
        s = codec_snapshot_read(v, &arena, ret, &error);
    json_decref(v);
    return s;
}

static struct problem *make(const struct snapshot *f)
{
    struct problem *s = NULL;

    if (problem_make(f, &arena, &s, &error) != ST_OK)
        fail_msg("%s", error.text);
    return s;
}

static struct snap_bundle bundle(const char *text)
{
    struct snap_bundle b = {0};
    json_t *v = parse(text);

    if (codec_bundle_read(v, "b", &arena, &b, &error) != ST_OK)
        fail_msg("%s: %s", text, error.text);
    json_decref(v);
    return b;
}

/* ---- bundles */

static void check_bundle(const char *text, const char *want)
{
    struct snap_bundle b = bundle(text);
    json_t *v = codec_bundle_write(&b), *w = parse(want);
    char *got = json_dumps(v, JSON_SORT_KEYS | JSON_COMPACT);
    char *expected = json_dumps(w, JSON_SORT_KEYS | JSON_COMPACT);
    struct snap_bundle again = bundle(got);
    json_t *x = codec_bundle_write(&again);

    assert_string_equal(got, expected);
    assert_true(json_equal(v, x));
    json_decref(v);
    json_decref(w);
    json_decref(x);
    free(got);
    free(expected);
}

static void bundles_in_all_forms(void **state)
{
    (void)state;
    check_bundle("{\"GPU\":1}", "{\"resources\":{\"GPU\":1},\"count\":1}");
    check_bundle("{\"GPU\":0.5,\"count\":3}",
                 "{\"resources\":{\"GPU\":0.5},\"count\":3}");
    check_bundle("{\"resources\":{\"memory\":\"50Gi\",\"CPU\":\"500m\"}}",
                 "{\"resources\":{\"memory\":53687091200,\"CPU\":0.5},"
                 "\"count\":1}");
    check_bundle("{\"GPU\":1,\"accelerator_type\":\"nvidia-tesla-t4\"}",
                 "{\"resources\":{\"GPU\":1},\"accelerator_type\":\"T4\","
                 "\"count\":1}");
    check_bundle("{\"GPU\":1,\"accelerator_type:T4\":0.001}",
                 "{\"resources\":{\"GPU\":1},\"accelerator_type\":\"T4\","
                 "\"count\":1}");
    check_bundle("{\"GPU\":1,\"accelerator_type:T4\":0}",
                 "{\"resources\":{\"GPU\":1},\"count\":1}");
    check_bundle("{\"nvidia.com/gpu\":2}",
                 "{\"resources\":{\"GPU\":2},\"count\":1}");
    check_bundle("{\"accelerator_types\":[\"t4\",\"P100\"],\"CPU\":1}",
                 "{\"resources\":{\"CPU\":1},\"accelerator_type\":[\"T4\","
                 "\"P100\"],\"count\":1}");
    check_bundle("{\"CPU\":1,\"labels\":{\"zone\":\"a\",\"x\":\"!b\",\"y\":"
                 "\"in(c, d)\",\"z\":\"!in(e,f)\",\"w\":[\"g\",\"h\"]}}",
                 "{\"resources\":{\"CPU\":1},\"count\":1,\"labels\":{\"zone\":"
                 "\"a\",\"x\":\"!b\"},\"selector\":["
                 "{\"key\":\"y\",\"op\":\"in\",\"values\":[\"c\",\"d\"]},"
                 "{\"key\":\"z\",\"op\":\"not_in\",\"values\":[\"e\",\"f\"]},"
                 "{\"key\":\"w\",\"op\":\"in\",\"values\":[\"g\",\"h\"]}]}");
    check_bundle("{\"CPU\":1,\"label_selector\":{\"zone\":\"a\"}}",
                 "{\"resources\":{\"CPU\":1},\"count\":1,\"labels\":{"
                 "\"zone\":\"a\"}}");
    check_bundle("{\"resources\":{\"CPU\":4,\"GPU\":1},\"count\":1000,"
                 "\"labels\":{\"zone\":\"a\"},\"any_of\":["
                 "{\"accelerator_type\":\"T4\"},{\"accelerator_type\":\"V100\","
                 "\"resources\":{\"CPU\":8},\"after\":\"4m\"}]}",
                 "{\"count\":1000,\"any_of\":[{\"resources\":{\"CPU\":4,"
                 "\"GPU\":1},\"labels\":{\"zone\":\"a\"},\"accelerator_type\":"
                 "\"T4\"},{\"resources\":{\"CPU\":8,\"GPU\":1},\"labels\":{"
                 "\"zone\":\"a\"},\"accelerator_type\":\"V100\",\"after\":240}"
                 "]}");
}

static void bad_bundles_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[]", "b: must be an object such as {\"GPU\": 1}, got an array"},
        {"{}", "b: is empty"},
        {"{\"GPU\":-1}",
         "b.GPU: must be between 0 and 115292150460684, got -1"},
        {"{\"GPU\":1e300}", "b.GPU: must be between 0"},
        {"{\"CPU\":9223372036854775807}", "b.CPU: must be between 0"},
        {"{\"GPU\":\"abc\"}", "b.GPU: must be a quantity such as"},
        {"{\"GPU\":\"nan\"}", "got \"nan\""},
        {"{\"GPU\":\"-1\"}", "got \"-1\""},
        {"{\"GPU\":true}", "b.GPU: must be a quantity such as"},
        {"{\"GPU\":1.5}", "b.GPU: must be whole above 1"},
        {"{\"nvidia.com/gpu\":1.5}", "b.nvidia.com/gpu: must be whole above 1"},
        {"{\"TPU\":0.5}", "TPU cannot be shared: whole devices only, got 0.5"},
        {"{\"neuron_cores\":0.5}", "neuron_cores cannot be shared"},
        {"{\"GPU\":1,\"nvidia.com/gpu\":1}", "GPU is given twice"},
        {"{\"GPU\":1,\"count\":0}",
         "b.count: must be between 1 and 10000000, got 0"},
        {"{\"GPU\":1,\"count\":10000001}", "b.count: must be between"},
        {"{\"GPU\":1,\"count\":2.5}",
         "b.count: must be a whole number, got 2.5"},
        {"{\"GPU\":1,\"cuont\":2}", "b.cuont: did you mean \"count\"?"},
        {"{\"resource\":{\"GPU\":1}}",
         "b.resource: did you mean \"resources\"?"},
        {"{\"resources\":{\"GPU\":1},\"acelerator_type\":\"T4\"}",
         "b.acelerator_type: unknown key, did you mean \"accelerator_type\"?"},
        {"{\"resources\":[]}", "b.resources: must be an object"},
        {"{\"resources\":{\"\":1}}", "a resource needs a name"},
        {"{\"GPU\":1,\"accelerator_type\":4}",
         "b.accelerator_type: must be text or an array of texts, got 4"},
        {"{\"GPU\":1,\"accelerator_type\":[]}", "at least one value"},
        {"{\"GPU\":1,\"labels\":{\"a\":\"in(b\"}}",
         "needs its closing bracket"},
        {"{\"GPU\":1,\"labels\":{\"a\":\"in(b,,c)\"}}", "has an empty value"},
        {"{\"GPU\":1,\"labels\":{\"a\":\"!\"}}", "needs a value after '!'"},
        {"{\"GPU\":1,\"labels\":[]}", "b.labels: must be an object"},
        {"{\"GPU\":1,\"selector\":[{\"key\":\"a\",\"op\":\"is\",\"values\":[]}]}",
         "b.selector[0].op: must be \"in\" or \"not_in\""},
        {"{\"GPU\":1,\"selector\":[{\"key\":\"a\"}]}", "needs \"values\""},
        {"{\"any_of\":[]}", "b.any_of: must have at least one alternative"},
        {"{\"any_of\":[{\"resources\":{\"GPU\":1},\"after\":\"4m\"}]}",
         "b.any_of[0].after: the first alternative is tried at once"},
        {"{\"any_of\":[{\"resources\":{\"GPU\":1}},{\"resources\":{\"GPU\":2},"
         "\"after\":\"soon\"}]}",
         "b.any_of[1].after: must be seconds"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct snap_bundle b = {0};
        json_t *v = NULL;

        v = json_loads(cases[i].text, JSON_DECODE_ANY, NULL);
        assert_non_null(v);
        if (codec_bundle_read(v, "b", &arena, &b, &error) != ST_INVALID)
            fail_msg("%s was taken", cases[i].text);
        if (!strstr(error.text, cases[i].want))
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, error.text,
                     cases[i].want);
        assert_null(b.alts);
        json_decref(v);
    }
}

/* ---- text */

static void text_that_is_no_json(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "line 1 column 0"},
        {"{\"a\":1,\n \"b\" 2}", "line 2 column "},
        {"{\"a\":1}x", "end of file expected"},
        {"{\"a\":1,\"a\":2}", "duplicate object key"},
        {"{\"a\":NaN}", "not JSON"},
        {"{\"a\":Infinity}", "not JSON"},
        {"{\"a\":1e999}", "not JSON"},
        {"{\"a\":\"\\u0000\"}", "not JSON"},
        {"{\"a\":99999999999999999999}", "not JSON"},
        {"{\"a\":\"\xff\"}", "not JSON"},
        {"x", "not JSON"},
        {"42", "'[' or '{' expected"},
    };
    char deep[400];
    json_t *v = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (codec_parse(cases[i].text, strlen(cases[i].text), &v, &error) !=
            ST_INVALID)
            fail_msg("%s was taken", cases[i].text);
        if (!strstr(error.text, cases[i].want))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].want);
        assert_null(v);
    }
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    deep[130] = '\0';
    assert_int_equal(codec_parse(deep, 130, &v, &error), ST_INVALID);
    assert_string_equal(error.text,
                        "line 1 column 65: nested deeper than 64 levels");
    assert_int_equal(codec_parse(deep + 1, 128, &v, &error), ST_OK);
    json_decref(v);
    /* Brackets in strings do not count. */
    snprintf(deep, sizeof deep, "[\"%0100d\\\"[[[[\"]", 0);
    for (char *p = strchr(deep, '0'); *p == '0'; p++)
        *p = '[';
    assert_int_equal(codec_parse(deep, strlen(deep), &v, &error), ST_OK);
    json_decref(v);
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"60", 60000},
        {"60s", 60000},
        {"500ms", 500},
        {"30m", 1800000},
        {"2h", 7200000},
        {"1.5h", 5400000},
        {"1h30m", 5400000},
        {"1d", 86400000},
        {"0.25", 250},
        {"", -1},
        {"m", -1},
        {"-5s", -1},
        {"5x", -1},
        {"5 s", -1},
        {"1h30", -1},
        {"1e5", -1},
        {"99999999999999999999", -1},
        {"9007199254740992h", -1},
        {".", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = -1;
        bool ok = duration_parse(cases[i].text, &ms);

        if (ok != (cases[i].ms >= 0) || ms != cases[i].ms)
            fail_msg("%s: %d %" PRId64, cases[i].text, ok, ms);
    }
}

/* ---- facts */

static void an_empty_file_means_nothing_much(void **state)
{
    struct snapshot *f = NULL;

    (void)state;
    assert_int_equal(read_snapshot("{}", &f), ST_OK);
    assert_true(f->sources_fresh);
    assert_false(f->work_unknown);
    assert_int_equal(f->limits.idle_timeout_ms, 60000);
    assert_int_equal(f->limits.max_nodes, UNLIMITED);
    assert_int_equal(f->limits.max_cost_micros_hour, -1);
    assert_true(f->limits.conserve);
    assert_int_equal(f->n_types + f->n_nodes + f->n_demands, 0);
    make(f);
    assert_int_equal(read_snapshot("{\"max_nodes\":7,\"limits\":{"
                                   "\"idle_timeout_s\":null,"
                                   "\"max_cost_per_hour\":1.25}}",
                                   &f),
                     ST_OK);
    assert_int_equal(f->limits.max_nodes, 7);
    assert_int_equal(f->limits.idle_timeout_ms, -1);
    assert_int_equal(f->limits.max_cost_micros_hour, 1250000);
}

static void defaults_of_types_nodes_and_demands(void **state)
{
    struct snapshot *f = NULL;

    (void)state;
    assert_int_equal(
        read_snapshot(
            "{\"node_types\":[{\"name\":\"t\",\"price\":0.1,\"max\":"
            "null,\"resources\":{\"memory\":1234567890123,\"CPU\":0.1}"
            "}],\"nodes\":[{\"id\":\"n\",\"total\":{\"CPU\":2}},"
            "{\"id\":\"m\",\"type\":\"t\"}],"
            "\"demands\":[{\"resources\":{\"CPU\":1}}],\"gangs\":["
            "{\"bundles\":[{\"CPU\":1}]}],\"requests\":[{\"bundles\":"
            "[{\"CPU\":1}]}]}",
            &f),
        ST_OK);
    assert_int_equal(f->types[0].n_offers, 1);
    assert_string_equal(f->types[0].offers[0].zone, "");
    assert_int_equal(f->types[0].offers[0].price_micros_hour, 100000);
    assert_int_equal(f->types[0].offers[0].room, UNLIMITED);
    assert_int_equal(f->types[0].max, UNLIMITED);
    assert_int_equal(f->types[0].resources.v[0].amount,
                     INT64_C(1234567890123) * 10000);
    assert_int_equal(f->types[0].resources.v[1].amount, 1000);
    assert_int_equal(f->types[0].boot_ms, -1);
    assert_int_equal(f->nodes[0].state, STATE_READY);
    assert_int_equal(f->nodes[0].idle_ms, -1);
    assert_int_equal(f->nodes[0].agreed_micros_hour, -1);
    assert_false(f->nodes[0].counted_on);
    assert_int_equal(f->nodes[0].available.v[0].amount, 20000);
    assert_int_equal(f->nodes[1].total.n, 0);
    assert_int_equal(f->demands[0].source, SOURCE_TASK);
    assert_string_equal(f->demands[0].owner, "ray");
    assert_int_equal(f->demands[1].source, SOURCE_GANG);
    assert_int_equal(f->demands[1].strategy, STRATEGY_PACK);
    assert_int_equal(f->demands[2].source, SOURCE_REQUEST);
    assert_string_equal(f->demands[2].owner, "default");
}

static void bad_facts_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[]", "must be an object, got an array"},
        {"{\"node_typs\":[]}",
         "node_typs: unknown key, did you mean \"node_types\"?"},
        {"{\"node_types\":{}}", "node_types: must be an array, got an object"},
        {"{\"node_types\":[{}]}", "node_types[0]: needs a \"name\""},
        {"{\"node_types\":[{\"name\":\"a\",\"pirce\":1}]}",
         "node_types[0].pirce: unknown key, did you mean \"price\"?"},
        {"{\"node_types\":[{\"name\":\"a\",\"price\":-1}]}",
         "node_types[0].price: must be dollars per hour between 0 and 1000000"},
        {"{\"node_types\":[{\"name\":\"a\",\"max\":-3}]}",
         "node_types[0].max: must be between 0 and 4294967294, got -3"},
        {"{\"node_types\":[{\"name\":\"a\",\"resources\":{\"GPU\":1.5}}]}",
         "node_types[0].resources.GPU: must be whole devices, got 1.5"},
        {"{\"node_types\":[{\"name\":\"a\",\"offers\":[]}]}",
         "node_types[0].offers: must have at least one offer"},
        {"{\"node_types\":[{\"name\":\"a\",\"offers\":[{\"backoff_for\":"
         "\"STOKOUT\"}]}]}",
         "node_types[0].offers[0].backoff_for: unknown word, did you mean "
         "\"STOCKOUT\"?"},
        {"{\"node_types\":[{\"name\":\"a\",\"labels\":{\"k\":1}}]}",
         "node_types[0].labels.k: must be text, got 1"},
        {"{\"nodes\":[{\"id\":\"\"}]}", "nodes[0]: needs an \"id\""},
        {"{\"nodes\":[{\"id\":\"n\",\"state\":\"redy\"}]}",
         "nodes[0].state: unknown word, did you mean \"ready\"?"},
        {"{\"nodes\":[{\"id\":\"n\",\"head\":1}]}",
         "nodes[0].head: must be true or false, got 1"},
        {"{\"nodes\":[{\"id\":\"n\",\"available\":{\"CPU\":1}}]}",
         "nodes[0].available: is given without \"total\""},
        {"{\"nodes\":[{\"id\":\"n\",\"hold\":\"zzzzzzzzzz\"}]}",
         "nodes[0].hold: unknown word"},
        {"{\"demands\":[{\"resources\":{\"GPU\":1}},{\"count\":2}]}",
         "demands[1]: needs \"resources\" or \"any_of\""},
        {"{\"demands\":[{\"GPU\":1}]}", "demands[0].GPU: unknown key"},
        {"{\"demands\":[{\"resources\":{\"GPU\":1.5}}]}",
         "demands[0].resources.GPU: must be whole above 1"},
        {"{\"demands\":[{\"resources\":{},\"count\":6000000},{\"resources\":"
         "{},\"count\":6000000}]}",
         "demands[1]: makes more than 10000000 bundles in all"},
        {"{\"gangs\":[{\"bundles\":[{\"GPU\":1}],\"count\":2}]}",
         "gangs[0]: has \"bundles\" and a bundle's own keys"},
        {"{\"gangs\":[{\"bundles\":[{\"GPU\":1},{\"GPU\":-1}]}]}",
         "gangs[0].bundles[1].GPU: must be between"},
        {"{\"requests\":[{\"strategy\":\"PAK\",\"bundles\":[]}]}",
         "requests[0].strategy: unknown word, did you mean \"PACK\"?"},
        {"{\"limits\":{\"idle_timeout_s\":-1}}", "limits.idle_timeout_s: must"},
        {"{\"limits\":{\"max_nodes\":1},\"max_nodes\":1}",
         "limits.max_nodes: is given here and at the top"},
        {"{\"now_ms\":\"now\"}", "now_ms: must be a whole number, got \"now\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct snapshot *f = NULL;

        if (read_snapshot(cases[i].text, &f) != ST_INVALID)
            fail_msg("%s was taken", cases[i].text);
        if (!strstr(error.text, cases[i].want))
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, error.text,
                     cases[i].want);
        assert_null(f);
    }
}

static void long_names_do_not_hurt(void **state)
{
    char *text = malloc(40000), *p = text;
    struct snapshot *f = NULL;

    (void)state;
    p += sprintf(p, "{\"");
    memset(p, 'k', 20000);
    p += 20000;
    sprintf(p, "\x1b[31m\":1}");
    /* A control character in a key is not JSON; a long key alone is. */
    assert_int_equal(read_snapshot(text, &f), ST_INVALID);
    sprintf(p, "\":1}");
    assert_int_equal(read_snapshot(text, &f), ST_INVALID);
    assert_true(strlen(error.text) < 200);
    assert_non_null(strstr(error.text, "kkk: unknown key"));
    p = text + sprintf(text, "{\"nodes\":[{\"id\":\"");
    memset(p, 'i', 2000);
    strcpy(p + 2000, "\"}]}");
    assert_int_equal(read_snapshot(text, &f), ST_INVALID);
    assert_non_null(strstr(error.text, "has 2000 bytes, at most 1024"));
    free(text);
}

static void check_there_and_back(const struct snapshot *f, const char *what)
{
    struct snapshot *again = NULL;
    json_t *v = codec_snapshot_write(f), *x = NULL;
    char *text = json_dumps(v, JSON_REAL_PRECISION(15)),
         *before = dump(make(f)), *after;

    if (codec_parse(text, strlen(text), &x, &error) != ST_OK ||
        codec_snapshot_read(x, &arena, &again, &error) != ST_OK)
        fail_msg("%s: %s", what, error.text);
    after = dump(make(again));
    if (strcmp(before, after) != 0)
        fail_msg("%s: another snapshot from\n%s", what, text);
    json_decref(v);
    json_decref(x);
    free(text);
    free(before);
    free(after);
}

static void what_is_written_reads_back_the_same(void **state)
{
    uint64_t first = seed_of(0);
    char what[64];

    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        struct rnd r = {first + i, &arena};

        snprintf(what, sizeof what, "SEED=%" PRIu64, first + i);
        check_there_and_back(rnd_snapshot(&r), what);
        arena_reset(&arena);
    }
}

/* What the API keeps is what the journal's text says at the next start. */
static void requests_come_back_the_same(void **state)
{
    const char *text =
        "{\"bundles\":[{\"GPU\":1},{\"GPU\":1},{\"CPU\":2,\"GPU\":0.5},"
        "{\"resources\":{\"CPU\":2,\"GPU\":0.5},\"count\":4},"
        "{\"any_of\":[{\"GPU\":1},{\"CPU\":4,\"after\":\"4m\"}]},"
        "{\"any_of\":[{\"GPU\":1},{\"CPU\":4,\"after\":\"5m\"}]},"
        "{\"resources\":{\"CPU\":1},\"labels\":{\"zone\":\"!b\"},"
        "\"tolerations\":[\"gpu=x:NoSchedule\"]},{\"CPU\":1}],\"num_cpus\":3,"
        "\"strategy\":\"SPREAD\",\"priority\":-2,\"queue\":\"q\"}";
    static const uint32_t counts[] = {2, 5, 1, 1, 1, 4};
    struct snap_demand d, again;
    json_t *v = NULL;

    (void)state;
    assert_int_equal(codec_parse(text, strlen(text), &v, &error), ST_OK);
    assert_int_equal(codec_request_read(v, "me", 7, &arena, &d, &error), ST_OK);
    json_decref(v);
    assert_int_equal(d.n_bundles, 6);
    for (uint32_t i = 0; i < d.n_bundles; i++)
        assert_int_equal(d.bundles[i].count, counts[i]);
    text = codec_request_write(&d, &arena);
    assert_int_equal(codec_parse(text, strlen(text), &v, &error), ST_OK);
    assert_int_equal(codec_request_read(v, "me", 7, &arena, &again, &error),
                     ST_OK);
    json_decref(v);
    assert_string_equal(codec_request_write(&again, &arena), text);
    assert_int_equal(again.n_bundles, d.n_bundles);
    for (uint32_t i = 0; i < d.n_bundles; i++) {
        assert_int_equal(again.bundles[i].count, d.bundles[i].count);
        assert_true(bundle_equal(&again.bundles[i], &d.bundles[i]));
        if (i > 0)
            assert_false(bundle_equal(&d.bundles[i - 1], &d.bundles[i]));
    }
    assert_int_equal(again.strategy, STRATEGY_SPREAD);
    assert_int_equal(again.priority, -2);
    assert_string_equal(again.queue, "q");
}

/* Beyond what a double holds to the last digit. */
static void large_amounts_keep_their_last_digit(void **state)
{
    const int64_t amounts[] = {AMOUNT_MAX,
                               AMOUNT_MAX - 1,
                               (INT64_C(1) << 53) + 1,
                               (INT64_C(1) << 50) - 1,
                               123456789012345678,
                               999999999999999,
                               1000000000000001,
                               112589990684262399,
                               1,
                               0};

    (void)state;
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        struct qty q = {"memory", amounts[i]};
        struct snap_alt alt = {.resources = {&q, 1}};
        struct snap_bundle b = {&alt, 1, 1, false}, again = {0};
        json_t *w = codec_bundle_write(&b), *v;
        char *text = json_dumps(w, JSON_REAL_PRECISION(15));

        v = parse(text);
        free(text);
        json_decref(w);
        if (codec_bundle_read(v, "", &arena, &again, &error) != ST_OK)
            fail_msg("%s", error.text);
        assert_int_equal(again.alts[0].resources.v[0].amount, amounts[i]);
        json_decref(v);
    }
}

static void the_example_in_the_documentation(void **state)
{
    FILE *file = fopen("docs/snapshot.md", "r");
    char *text = calloc(1, 1 << 16), *begin, *end;
    struct snapshot *f = NULL;
    struct problem *now;

    (void)state;
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    begin = strstr(text, "```json snapshot.json\n");
    assert_non_null(begin);
    begin = strchr(begin, '\n') + 1;
    end = strstr(begin, "```");
    *end = '\0';
    if (read_snapshot(begin, &f) != ST_OK)
        fail_msg("%s", error.text);
    assert_string_equal(f->cluster, "resnet");
    now = make(f);
    assert_int_equal(now->n_types, 3);
    assert_int_equal(now->n_offers, 4);
    assert_int_equal(now->n_nodes, 3);
    assert_int_equal(now->n_demands, 5);
    assert_string_equal(now->str[now->demands[0].owner], "train-42");
    check_there_and_back(f, "docs/snapshot.md");
    free(text);
}

static void bytes_that_are_no_text_are_written(void **state)
{
    struct snap_node n = {.id = "n",
                          .type = "",
                          .zone = "",
                          .note = "caf\xe9",
                          .price_micros_hour = -1};
    struct snapshot f = {
        .limits = snap_limits_default, .nodes = &n, .n_nodes = 1};
    json_t *v = codec_snapshot_write(&f);

    (void)state;
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(v, "nodes"), 0), "note")),
        "caf?");
    json_decref(v);
}

/* ---- plans */

static void a_plan_names_what_it_places(void **state)
{
    struct snapshot *f = NULL;
    struct problem *s;
    json_t *v, *l, *h, *b;

    (void)state;
    assert_int_equal(
        read_snapshot(
            "{\"node_types\":[{\"name\":\"t4\",\"provider\":\"sim\","
            "\"resources\":{\"GPU\":4},\"price\":0.5,\"zone\":\"a\"}],"
            "\"nodes\":[{\"id\":\"n1\",\"type\":\"t4\"}],"
            "\"demands\":[{\"resources\":{\"GPU\":0.5},\"count\":3,"
            "\"accelerator_type\":\"T4\",\"id\":\"x\"},"
            "{\"resources\":{\"GPU\":8}}]}",
            &f),
        ST_OK);
    s = make(f);
    /* Of demands as alike as these, the one without an id comes first. */
    const struct plan_placement pl[] = {{1, 0, 3}};
    const struct plan_launch la = {0, 2, REASON_FOR_TASK, 1, 0, 1, false};
    const struct plan_node no = {NODE_KEEP, REASON_KEEP_IDLE_WAIT, 77, NONE, 0,
                                 0};
    const struct plan_refusal re[] = {
        {0, 0, 0, REASON_LACKS, COL_GPU, 40000, 80000}};
    const struct plan_bundle bu[] = {{0, 0, 0, 1, NONE, 0, 1},
                                     {0, 3, 0, 0, 0, 0, 0}};
    const struct plan_worth wo = {.count = 7, .nanos = 11};
    const struct plan p = {.launches = &la,
                           .n_launches = 1,
                           .placements = pl,
                           .n_placements = 1,
                           .nodes = &no,
                           .bundles = bu,
                           .refusals = re,
                           .n_refusals = 1,
                           .cost_micros_hour = 1000000,
                           .bound_micros_hour = 800000,
                           .fleet_cost_micros_hour = 3000000,
                           .fleet_bound_micros_hour = 2000000,
                           .worths = &wo,
                           .n_worths = 1,
                           .n_launched = 2,
                           .work = 9};

    v = codec_plan_write(s, &p);
    l = json_array_get(json_object_get(v, "launches"), 0);
    assert_string_equal(json_string_value(json_object_get(l, "type")), "t4");
    assert_string_equal(json_string_value(json_object_get(l, "zone")), "a");
    assert_int_equal(json_integer_value(json_object_get(l, "count")), 2);
    assert_string_equal(json_string_value(json_object_get(l, "why")),
                        "pending_task");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(l, "for"), "id")),
        "x");
    h = json_array_get(json_object_get(l, "placements"), 0);
    assert_int_equal(json_integer_value(json_object_get(h, "demand")), 1);
    assert_int_equal(json_integer_value(json_object_get(h, "bundle")), 0);
    assert_int_equal(json_integer_value(json_object_get(h, "count")), 3);
    assert_true(json_real_value(json_object_get(json_object_get(h, "resources"),
                                                "GPU")) == 0.5);
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(h, "selector"), 0), "key")),
        ACCEL_LABEL);
    b = json_array_get(json_object_get(v, "bundles"), 0);
    assert_int_equal(json_integer_value(json_object_get(b, "infeasible")), 1);
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(b, "refusals"), 0), "text")),
        "lacks GPU: has 4, needs 8");
    h = json_array_get(json_object_get(v, "nodes"), 0);
    assert_string_equal(json_string_value(json_object_get(h, "action")),
                        "keep");
    assert_int_equal(json_integer_value(json_object_get(h, "until_ms")), 77);
    assert_true(json_real_value(json_object_get(v, "cost_per_hour")) == 1.0);
    assert_true(json_real_value(json_object_get(v, "gap_percent")) == 25.0);
    h = json_object_get(v, "fleet");
    assert_true(json_real_value(json_object_get(h, "cost_per_hour")) == 3.0);
    assert_true(json_real_value(json_object_get(h, "gap_percent")) == 50.0);
    h = json_array_get(
        json_object_get(json_object_get(v, "certificate"), "worths"), 0);
    assert_int_equal(json_integer_value(json_object_get(h, "count")), 7);
    assert_int_equal(json_integer_value(json_object_get(h, "worth_nanos")), 11);
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bundles_in_all_forms, fresh),
        cmocka_unit_test_setup(bad_bundles_say_where_and_what, fresh),
        cmocka_unit_test_setup(text_that_is_no_json, fresh),
        cmocka_unit_test_setup(durations, fresh),
        cmocka_unit_test_setup(an_empty_file_means_nothing_much, fresh),
        cmocka_unit_test_setup(defaults_of_types_nodes_and_demands, fresh),
        cmocka_unit_test_setup(bad_facts_say_where_and_what, fresh),
        cmocka_unit_test_setup(long_names_do_not_hurt, fresh),
        cmocka_unit_test_setup(what_is_written_reads_back_the_same, fresh),
        cmocka_unit_test_setup(requests_come_back_the_same, fresh),
        cmocka_unit_test_setup(large_amounts_keep_their_last_digit, fresh),
        cmocka_unit_test_setup(the_example_in_the_documentation, fresh),
        cmocka_unit_test_setup(bytes_that_are_no_text_are_written, fresh),
        cmocka_unit_test_setup(a_plan_names_what_it_places, fresh),
    };
    int failed = cmocka_run_group_tests_name("model_codec", tests, NULL, NULL);

    arena_done(&arena);
    return failed;
}
