/*
 * test_config_catalogue.c - the shipped catalogue, machines with attached
 * accelerators, a user's file over it, and what is said when a name is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../autoscaler/config/catalogue.h"
#include "../../autoscaler/model/amount.h"
#include "scratch.h"

static struct arena arena;
static struct catalogue *cat;

static int setup(void **state)
{
    struct buf errors;
    enum status s;

    (void)state;
    buf_init(&errors, 65536);
    s = catalogue_load(&arena, "", &cat, &errors);
    if (s != ST_OK)
        print_error("%s", errors.s);
    buf_done(&errors);
    return s != ST_OK;
}

static int teardown(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static int64_t has(const struct cat_machine *m, const char *name)
{
    for (uint32_t i = 0; i < m->resources.n; i++)
        if (strcmp(m->resources.v[i].name, name) == 0)
            return m->resources.v[i].amount;
    return 0;
}

/* Expected by hand from configs/catalogue.yaml. */
static void test_known(void **state)
{
    static const struct {
        const char *name, *accelerator, *device;
        int64_t cpu, gib, devices, price;
    } want[] = {
        {"p2.xlarge", "K80", "GPU", 4, 61, 1, 900000},
        {"e2-standard-8", "", "GPU", 8, 32, 0, 268046},
        {"n1-standard-8", "", "GPU", 8, 30, 0, 379998},
        {"n1-standard-8+t4", "T4", "GPU", 8, 30, 1, 729998},
        {"n1-standard-8+T4x1", "T4", "GPU", 8, 30, 1, 729998},
        {"n1-standard-8+nvidia-tesla-t4x2", "T4", "GPU", 8, 30, 2, 1079998},
        {"n1-standard-8+nvidia-tesla-v100x8", "V100", "GPU", 8, 30, 8,
         379998 + 8 * 2480000},
        {"Standard_NC4as_T4_v3", "T4", "GPU", 4, 28, 1, 526000},
        {"trn1.2xlarge", "aws-neuron-core", "neuron_cores", 8, 32, 2, 1343750},
        {"dl1.24xlarge", "Intel-GAUDI", "HPU", 96, 768, 8, 13109040},
        {"ct5lp-hightpu-4t", "TPU-V5LITEPOD", "TPU", 112, 192, 4, 4800000},
        {"p5e.48xlarge", "H200", "GPU", 192, 2048, 8, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct cat_machine m;
        struct err err;

        if (catalogue_find(cat, want[i].name, &arena, &m, &err) != ST_OK)
            fail_msg("%s: %s", want[i].name, err.text);
        assert_string_equal(m.name, want[i].name);
        assert_string_equal(m.accelerator, want[i].accelerator);
        assert_int_equal(has(&m, "CPU"), want[i].cpu * AMOUNT_ONE);
        assert_int_equal(has(&m, "memory"), (want[i].gib << 30) * AMOUNT_ONE);
        assert_int_equal(has(&m, want[i].device), want[i].devices * AMOUNT_ONE);
        assert_int_equal(m.price_micros_hour, want[i].price);
    }
}

static void test_unknown(void **state)
{
    static const struct {
        const char *name, *text;
    } want[] = {
        {"p2.xlarg", "\"p2.xlarg\" is not in the catalogue of 567 machine "
                     "types; did you mean \"p2.xlarge\"?"},
        {"Standard_NC4as_T4v3", "\"Standard_NC4as_T4v3\" is not in the "
                                "catalogue of 567 machine types; did you mean "
                                "\"Standard_NC4as_T4_v3\"?"},
        {"n1-standart-8+t4", "\"n1-standart-8\" is not in the catalogue of 567 "
                             "machine types; did you mean \"n1-standard-8\"?"},
        {"completely else",
         "\"completely else\" is not in the catalogue of "
         "567 machine types; say its resources, or add it to a file named by "
         "catalogue"},
        {"", "\"\" is not in the catalogue of 567 machine types; say its "
             "resources, or add it to a file named by catalogue"},
        {"n1-standard-8+t4x3", "nvidia-tesla-t4 can be attached 1, 2 or 4 "
                               "times, got 3"},
        {"n1-standard-8+t4x0", "nvidia-tesla-t4 can be attached 1, 2 or 4 "
                               "times, got 0"},
        {"n1-standard-8+t4x99999999999",
         "\"t4x99999999999\" cannot be "
         "attached to n1-standard-8; what can: nvidia-tesla-k80, "
         "nvidia-tesla-p100, nvidia-tesla-p4, nvidia-tesla-t4 or "
         "nvidia-tesla-v100"},
        {"n1-standard-8+",
         "\"\" cannot be attached to n1-standard-8; what "
         "can: nvidia-tesla-k80, nvidia-tesla-p100, nvidia-tesla-p4, "
         "nvidia-tesla-t4 or nvidia-tesla-v100"},
        {"e2-standard-8+t4",
         "no accelerator can be attached to "
         "e2-standard-8; such types say \"attach: true\" in the catalogue"},
        {"p2.xlarge+t4", "no accelerator can be attached to p2.xlarge; such "
                         "types say \"attach: true\" in the catalogue"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct cat_machine m;
        struct err err;

        assert_int_equal(catalogue_find(cat, want[i].name, &arena, &m, &err),
                         ST_NOT_FOUND);
        assert_string_equal(err.text, want[i].text);
    }
}

enum { CATALOGUE_PATH = 256 };
static enum status load_text(const char *text, struct arena *a,
                             struct catalogue **ret, struct buf *errors,
                             char path[CATALOGUE_PATH])
{
    enum status s;
    FILE *f;
    int fd;

    scratch_path_n(path, CATALOGUE_PATH, "davit-catalogue-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    fputs(text, f);
    fclose(f);
    s = catalogue_load(a, path, ret, errors);
    unlink(path);
    return s;
}

static void test_users_file(void **state)
{
    static const char text[] =
        "schema: davit-catalogue/1\n"
        "machines:\n"
        "  p2.xlarge: {cloud: aws, cpu: 4, memory: 61Gi, gpu: 1, accelerator: "
        "nvidia-tesla-k80, price: 0.5, spot: 0.2}\n"
        "  a-mine: {cloud: me, cpu: 0.5, memory: 1Gi, attach: true, spot: 1}\n"
        "  z-mine: {cpu: 64, memory: 1Ti, NPU: 8}\n"
        "accelerators:\n"
        "  card: {cloud: me, aliases: [c2x4], price: 2, spot: 1, counts: [3]}\n";
    struct arena a = {0};
    struct catalogue *c;
    struct buf errors;
    struct cat_machine m;
    struct err err;
    char path[CATALOGUE_PATH];

    (void)state;
    buf_init(&errors, 65536);
    if (load_text(text, &a, &c, &errors, path) != ST_OK)
        fail_msg("%s", errors.s);
    assert_int_equal(catalogue_find(c, "p2.xlarge", &a, &m, &err), ST_OK);
    assert_int_equal(m.price_micros_hour, 500000);
    assert_int_equal(m.spot_micros_hour, 200000);
    assert_string_equal(m.accelerator, "K80");
    assert_int_equal(catalogue_find(c, "z-mine", &a, &m, &err), ST_OK);
    assert_int_equal(has(&m, "NPU"), 8 * AMOUNT_ONE);
    assert_int_equal(m.price_micros_hour, -1);
    /* An alias that itself ends in x and digits, with a count and without. */
    assert_int_equal(catalogue_find(c, "a-mine+c2x4x3", &a, &m, &err), ST_OK);
    assert_int_equal(has(&m, "GPU"), 3 * AMOUNT_ONE);
    assert_int_equal(m.price_micros_hour, -1);
    assert_int_equal(m.spot_micros_hour, 4000000);
    assert_int_equal(catalogue_find(c, "a-mine+c2x4", &a, &m, &err),
                     ST_NOT_FOUND);
    assert_string_equal(err.text, "card can be attached 3 times, got 1");
    /* The shipped ones are still there. */
    assert_int_equal(catalogue_find(c, "g5.xlarge", &a, &m, &err), ST_OK);
    buf_done(&errors);
    arena_done(&a);
}

static void price_in(const struct cat_machine *m, const char *place,
                     int64_t price, bool there)
{
    bool listed;

    assert_int_equal(catalogue_price(m, place, &listed), price);
    assert_int_equal(listed, there);
}

/* By region, and by each zone of one as the clouds name them. */
static void test_prices_by_region(void **state)
{
    static const char text[] =
        "schema: davit-catalogue/1\n"
        "machines:\n"
        "  m: {cpu: 4, memory: 1Gi, cloud: c, attach: true, price: 1, region: "
        "us-east-1, prices: {eu-west-1: 1.5, us-east1: 2, westeurope: 3}}\n"
        "  bare: {cpu: 4, memory: 1Gi, price: 7}\n"
        "accelerators:\n"
        "  card: {cloud: c, price: 10, region: us-east-1, prices: {eu-west-1: "
        "20}}\n"
        "  local: {cloud: c, price: 10}\n";
    struct arena a = {0};
    struct catalogue *c;
    struct buf errors;
    struct cat_machine m;
    struct err err;
    char path[CATALOGUE_PATH];

    (void)state;
    buf_init(&errors, 65536);
    if (load_text(text, &a, &c, &errors, path) != ST_OK)
        fail_msg("%s", errors.s);
    assert_int_equal(catalogue_find(c, "m", &a, &m, &err), ST_OK);
    price_in(&m, "", 1000000, true);
    price_in(&m, "us-east-1", 1000000, true);
    price_in(&m, "us-east-1a", 1000000, true);
    price_in(&m, "eu-west-1c", 1500000, true);
    price_in(&m, "us-east1-b", 2000000, true);
    price_in(&m, "us-east10-b", 1000000, false);
    price_in(&m, "us-east-1-bos-1a", 1000000, false); /* a local zone */
    price_in(&m, "westeurope-2", 3000000, true);
    price_in(&m, "westeurope2", 1000000, false);
    price_in(&m, "eu-west-11", 1000000, false);
    assert_int_equal(catalogue_find(c, "bare", &a, &m, &err), ST_OK);
    price_in(&m, "eu-west-1", 7000000, true); /* of no region in particular */
    /* A sum where both are known. */
    assert_int_equal(catalogue_find(c, "m+card", &a, &m, &err), ST_OK);
    price_in(&m, "us-east-1", 11000000, true);
    price_in(&m, "eu-west-1", 21500000, true);
    price_in(&m, "us-east1", 11000000, false);
    assert_int_equal(catalogue_find(c, "m+local", &a, &m, &err), ST_OK);
    price_in(&m, "eu-west-1", 11000000, false);
    buf_done(&errors);
    arena_done(&a);
}

static void test_users_mistakes(void **state)
{
    static const char text[] =
        "schema: davit-catalogue/1\n"
        "machine: {}\n"
        "machines:\n"
        "  a: {cpu: none, memory: 1Gi, gpu: 1.5, prize: 2}\n"
        "  b: 5\n"
        "  c: {cpu: 1, memory: 1Gi, gpu: 1, attach: true, price: [1]}\n"
        "  d: {cpu: 1, attach: maybe}\n"
        "  f: {cpu: 1, memory: 1Gi, prices: {here: dear}}\n"
        "  g: {cpu: 1, memory: 1Gi, prices: 3}\n"
        "accelerators:\n"
        "  e: {counts: [0], aliases: x}\n";
    static const char *const want[] = {
        ":2:1: unknown key \"machine\" in the catalogue; did you mean "
        "\"machines\"? (allowed: schema, machines or accelerators)",
        ":4:12: a: cpu must be a number above 0, got none",
        ":4:36: a: gpu must be a whole number between 1 and 1024, got 1.5",
        ":4:41: unknown key \"prize\" in a; did you mean \"price\"?",
        ":5:6: b must be a mapping such as",
        ":6:6: c: a type with devices of its own takes no attached ones",
        ":6:57: c: price must be dollars an hour between 0 and 100000 such as "
        "0.35, got a list",
        ":7:6: d: memory is missing",
        ":7:23: d: attach must be true or false, got maybe",
        ":8:43: f: prices.here must be dollars an hour between 0 and "
        "100000 such as 0.35, got dear",
        ":9:36: g: prices must be a mapping of regions such as {eu-west-1: "
        "0.99}, got 3",
        ":11:15: e: counts must be a list of whole numbers such as [1, 2, 4]",
        ":11:29: e: aliases must be a list of names, got x",
    };
    struct arena a = {0};
    struct catalogue *c;
    struct buf errors;
    char path[CATALOGUE_PATH], line[512];
    size_t lines = 0;

    (void)state;
    buf_init(&errors, 65536);
    assert_int_equal(load_text(text, &a, &c, &errors, path), ST_INVALID);
    assert_null(c);
    for (const char *p = errors.s; *p; p++)
        lines += *p == '\n';
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        snprintf(line, sizeof line, "%s%s", path, want[i]);
        if (!strstr(errors.s, line))
            fail_msg("no line \"%s\" in\n%s", line, errors.s);
    }
    assert_int_equal(lines, sizeof want / sizeof *want);
    buf_clear(&errors);
    assert_int_equal(load_text("machines: {}\n", &a, &c, &errors, path),
                     ST_INVALID);
    assert_non_null(strstr(errors.s, "a catalogue is one document that says "
                                     "\"schema: davit-catalogue/1\""));
    buf_clear(&errors);
    assert_int_equal(catalogue_load(&a, "/nowhere/x.yaml", &c, &errors),
                     ST_INVALID);
    assert_string_equal(errors.s, "/nowhere/x.yaml: cannot open it: No such "
                                  "file or directory\n");
    buf_done(&errors);
    arena_done(&a);
}

/* Every start reads it; without sanitizers it takes about 2 ms. */
static void test_quick(void **state)
{
    double best = 1e9;

    (void)state;
    for (int i = 0; i < 20; i++) {
        struct arena a = {0};
        struct catalogue *c;
        struct buf errors;
        struct timespec t, u;
        double ms;

        buf_init(&errors, 1024);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        assert_int_equal(catalogue_load(&a, "", &c, &errors), ST_OK);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &u);
        ms = (double)(u.tv_sec - t.tv_sec) * 1e3 +
             (double)(u.tv_nsec - t.tv_nsec) / 1e6;
        best = ms < best ? ms : best;
        arena_done(&a);
        buf_done(&errors);
    }
#ifdef __OPTIMIZE__
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(best < 5.0);
#endif
#endif
    print_message("catalogue: %.2f ms\n", best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_users_file),
        cmocka_unit_test(test_prices_by_region),
        cmocka_unit_test(test_users_mistakes),
        cmocka_unit_test(test_quick),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
