/*
 * test_cloud_loader.c - what is no plug-in is refused with a message that says
 * what it is, what is one is opened, and options are checked with their place.
 */
#include "cloud_rig.h"

static void refused(const char *path, enum status want, const char *part)
{
    struct rig r;
    rig_init(&r, path);
    assert_int_equal(rig_open(&r), want);
    assert_null(r.p);
    assert_has(r.errors.s, "davit.yaml:3:3: provider cloud: ");
    assert_has(r.errors.s, part);
    assert_int_equal(r.errors.s[r.errors.n - 1], '\n');
    rig_done(&r);
}

static const char *file_of(const char *dir, const char *name, const void *bytes,
                           size_t n)
{
    const char *path = rig_text("%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static void test_not_a_plugin(void **state)
{
    (void)state;
    refused(rig_test_plugin("nosuch"), ST_NOT_FOUND, "does not exist");
    refused("/etc/hostname", ST_INVALID, "is not a shared object");
    refused("/tmp/", ST_INVALID, "is a directory");
    refused("/dev/null", ST_INVALID, "is not a regular file");
    refused(rig_test_plugin("not_a_plugin"), ST_INVALID,
            "is a shared object but not a Davit plug-in: it does not export "
            "davit_provider_v1()");
    refused(rig_test_plugin("old_abi"), ST_INVALID,
            "is built for plug-in ABI v0, this daemon speaks v1");
    refused(rig_test_plugin("undefined"), ST_INVALID, "undefined symbol");
}

/* Which ABI it has is known before any of its code ran. */
static void test_no_code_of_another_abi(void **state)
{
    struct rig r;
    const char *left;

    (void)state;
    rig_init(&r, "sim");
    left = rig_text("%s/left%s", r.dir, "");
    setenv("DAVIT_EARLY", left, 1);
    refused(rig_test_plugin("early"), ST_INVALID,
            "is built for plug-in ABI v2, this daemon speaks v1");
    unsetenv("DAVIT_EARLY");
    assert_int_equal(access(left, F_OK), -1);
    rig_done(&r);
}

static const char *copy_of(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *f = fopen(from, "r");
    size_t n;

    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    f = fopen(to, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return to;
}

/* Files and folders that others can write, or that belong to strangers. */
static void test_trust(void **state)
{
    struct rig r, good;
    const char *path;

    (void)state;
    rig_init(&r, "sim");
    path = copy_of(rig_test_plugin("tiny_struct"),
                   rig_text("%s/davit-mine.so%s", r.dir, ""));
    chmod(path, 0664);
    refused(path, ST_INVALID, "it can be written by others (mode 0664)");
    chmod(path, 0606);
    refused(path, ST_INVALID, "it can be written by others (mode 0606)");
    chmod(path, 0644);
    chmod(r.dir, 0770);
    refused(path, ST_INVALID, "can be written by others (mode 0770)");
    chmod(r.dir, 01777);
    refused(path, ST_INVALID, "can be written by others (mode 1777)");
    chmod(r.dir, 0700);
    if (geteuid() == 0) { /* else there is no stranger to be had */
        assert_int_equal(chown(path, 12345, 0), 0);
        refused(path, ST_INVALID, "it belongs to user 12345");
        assert_int_equal(chown(path, 0, 0), 0);
        assert_int_equal(chown(r.dir, 12345, 0), 0);
        refused(path, ST_INVALID, "belongs to user 12345");
        assert_int_equal(chown(r.dir, 0, 0), 0);
    }
    rig_init(&good, path);
    assert_int_equal(rig_open(&good), ST_OK);
    rig_done(&good);
    rig_done(&r);
}

/* Through a link it is the real folder that counts. */
static void test_trust_behind_a_link(void **state)
{
    struct rig r;
    const char *open_dir, *path;

    (void)state;
    rig_init(&r, "sim");
    open_dir = rig_text("%s/open%s", r.dir, "");
    mkdir(open_dir, 0777);
    chmod(open_dir, 0777);
    copy_of(rig_test_plugin("tiny_struct"),
            rig_text("%s/open/davit-x.so%s", r.dir, ""));
    path = rig_text("%s/davit-x.so%s", r.dir, "");
    assert_int_equal(symlink("open/davit-x.so", path), 0);
    refused(path, ST_INVALID, "can be written by others (mode 0777)");
    rig_done(&r);
}

/* Two plug-ins, one after the other on the same descriptor number or not. */
static void test_loaded_ones_are_told_apart(void **state)
{
    struct rig a, b;

    (void)state;
    for (int i = 0; i < 3; i++) {
        rig_init(&a, rig_test_plugin("tiny_struct"));
        rig_init(&b, rig_test_plugin("guest"));
        assert_int_equal(rig_open(&a), ST_OK);
        assert_int_equal(rig_open(&b), ST_OK);
        assert_string_equal(provider_plugin(a.p).name, "tiny_struct");
        assert_string_not_equal(provider_plugin(b.p).name, "tiny_struct");
        rig_done(&a);
        rig_done(&b);
    }
}

/* A copy with every kind of damage must be refused, never kill us. */
static void test_damaged(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, "sim");
    const char *from = rig_test_plugin("guest");
    FILE *f = fopen(from, "r");
    assert_non_null(f);
    static char bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n > 4096);
    static const size_t cuts[] = {0, 3, 4, 20, 63, 64, 100, 700, 4096};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        refused(
            file_of(r.dir, "davit-cut.so", bytes, cuts[i]), ST_INVALID,
            cuts[i] < 4 ? "is not a shared object" : "is cut short or damaged");
    bytes[18] = (char)(bytes[18] == 62 ? 183 : 62); /* e_machine */
    refused(file_of(r.dir, "davit-arm.so", bytes, n), ST_INVALID,
            "is built for ");
    bytes[4] = 1; /* 32 bit */
    refused(file_of(r.dir, "davit-32.so", bytes, n), ST_INVALID,
            "is built for ");
    rig_done(&r);
}

static void test_bad_tables(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"null", "returned no table"}, {"size", "its table says size 8"},
        {"name", "its name"},          {"control name", "its name"},
        {"list", "has no list()"},     {"offers", "claims DAVIT_CAP_OFFERS"},
        {"help", "has no help line"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("DAVIT_BADTABLE", bad[i][0], 1);
        refused(rig_test_plugin("badtable"), ST_INVALID, bad[i][1]);
    }
    unsetenv("DAVIT_BADTABLE");
    struct rig r;
    rig_init(&r, rig_test_plugin("badtable"));
    assert_int_equal(rig_open(&r), ST_OK);
    rig_done(&r);
}

static void test_tiny_struct(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, rig_test_plugin("tiny_struct"));
    assert_int_equal(rig_open(&r), ST_OK);
    struct call *c = rig_list(&r);
    assert_int_equal(c->status, ST_OK);
    assert_int_equal(c->machines.n, 1);
    assert_string_equal(c->machines.v[0].id, "tiny-1");
    assert_string_equal(c->machines.v[0].detail, "");
    call_free(c);
    c = rig_run(&r, call_new(r.p, CALL_OFFERS, 1));
    assert_int_equal(c->status, ST_UNSUPPORTED);
    call_free(c);
    rig_done(&r);
}

static void test_options(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, "sim");
    struct conf_pair bott = {"bott", "5s", 12, 30};
    struct conf_type *t = rig_type(&r, "t4", 1, "T4", NULL, NULL);
    t->options = &bott;
    t->n_options = 1;
    rig_option(&r, "stat", "x.json");
    rig_option(&r, "throttle.evry", "3");
    rig_option(&r, "stockout.0", "t4");
    assert_int_equal(rig_open(&r), ST_INVALID);
    assert_has(r.errors.s, "davit.yaml:20:7: provider cloud has no option "
                           "\"stat\"; did you mean \"state\"?");
    assert_has(r.errors.s, "davit.yaml:21:7: provider cloud has no option "
                           "\"throttle.evry\"; did you mean "
                           "\"throttle.every\"?");
    assert_has(r.errors.s, "davit.yaml:12:30: node type t4 (of provider "
                           "cloud) has no option \"bott\"; did you mean "
                           "\"boot\"? (allowed: boot, taints, "
                           "labels.*, gives.*, stockout)");
    assert_null(strstr(r.errors.s, "stockout.0\""));
    rig_done(&r);
}

/* What open() itself refuses is told where it stands. */
static void test_places(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"boot", "5 parsecs", "boot must be a duration"},
        {"boot", "9s-3s", "boot must be a duration"},
        {"terminate", "-1s", "terminate must be a duration"},
        {"stockout.1", "t5", "it must be TYPE or TYPE@ZONE"},
        {"stockout.t4", "sometimes", "a stockout is always, a duration"},
        {"quota", "-1", "a quota is a whole number"},
        {"quota.T5", "1", "quota names \"T5\""},
        {"throttle", "often", "throttle must be a whole number"},
        {"fail", "1.5", "fail is a share from 0 to 1"},
        {"fail.nth", "1, x", "fail.nth must be up to 64 whole numbers"},
        {"fail.as", "WRONG", "fail.as must be one of RETRY"},
        {"state", "/nonexistent/dir/x.json", "/nonexistent/dir"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rig r;
        rig_init(&r, "sim");
        rig_type(&r, "t4", 1, "T4", NULL, NULL);
        rig_option(&r, "seed", "3");
        rig_option(&r, bad[i][0], bad[i][1]);
        assert_int_equal(rig_open(&r), ST_INVALID);
        assert_has(r.errors.s, "davit.yaml:21:7: provider cloud: ");
        assert_has(r.errors.s, bad[i][2]);
        rig_done(&r);
    }
    struct rig r;
    struct conf_pair boot = {"boot", "soon", 12, 30};
    rig_init(&r, "sim");
    struct conf_type *t = rig_type(&r, "t4", 1, "T4", NULL, NULL);
    t->options = &boot;
    t->n_options = 1;
    assert_int_equal(rig_open(&r), ST_INVALID);
    assert_has(r.errors.s, "davit.yaml:12:30: provider cloud: boot must be");
    rig_done(&r);
}

/* All mistakes of one plug-in at once: the unknown option, the wrong values, of
 * the provider and of two types. */
static void test_all_at_once(void **state)
{
    (void)state;
    struct rig r;
    struct conf_pair boot = {"boot", "soon", 12, 30};
    struct conf_pair other = {"boot", "later", 13, 30};
    rig_init(&r, "sim");
    struct conf_type *t = rig_type(&r, "t4", 1, "T4", NULL, NULL);
    t->options = &boot;
    t->n_options = 1;
    t = rig_type(&r, "t5", 1, "T4", NULL, NULL);
    t->options = &other;
    t->n_options = 1;
    rig_option(&r, "stat", "x.json");
    rig_option(&r, "terminate", "-1s");
    rig_option(&r, "fail", "1.5");
    assert_int_equal(rig_open(&r), ST_INVALID);
    assert_has(r.errors.s, "davit.yaml:20:7: provider cloud has no option");
    assert_has(r.errors.s, "davit.yaml:21:7: provider cloud: terminate must");
    assert_has(r.errors.s, "davit.yaml:22:7: provider cloud: fail is a share");
    assert_has(r.errors.s, "davit.yaml:12:30: provider cloud: boot must be");
    assert_has(r.errors.s, "davit.yaml:13:30: provider cloud: boot must be");
    rig_done(&r);
}

static void test_search(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, "sim");
    r.provider.plugin = "";
    r.provider.name = "simm";
    r.config.plugin_dir = rig_text("%s/plugins%s", rig_build(), "");
    assert_int_equal(rig_open(&r), ST_NOT_FOUND);
    assert_has(r.errors.s, "there is no davit-simm.so in ");
    assert_has(r.errors.s, "did you mean \"sim\"?");
    r.provider.name = "sim";
    assert_int_equal(rig_open(&r), ST_OK);
    assert_string_equal(provider_name(r.p), "sim");
    provider_close(r.p);
    r.provider.name = "east"; /* two clouds of one plug-in */
    r.provider.plugin = "sim";
    assert_int_equal(rig_open(&r), ST_OK);
    assert_string_equal(provider_name(r.p), "east");
    provider_close(r.p);
    r.config.plugin_dir = "";
    setenv("DAVIT_PLUGIN_DIR", rig_text("%s/plugins%s", rig_build(), ""), 1);
    assert_int_equal(rig_open(&r), ST_OK);
    unsetenv("DAVIT_PLUGIN_DIR");
    rig_done(&r);
}

struct seen {
    uint32_t good, bad;
    bool sim, help;
};

static void see(void *arg, const struct plugin_info *info, const char *path,
                const char *problem)
{
    struct seen *s = arg;
    assert_non_null(path);
    if (!info) {
        assert_non_null(problem);
        s->bad++;
        return;
    }
    assert_null(problem);
    assert_string_equal(info->path, path);
    s->good++;
    if (strcmp(info->name, "sim") == 0) {
        s->sim = true;
        s->help = strcmp(info->options[0].key, "state") == 0;
    }
}

static void test_each(void **state)
{
    (void)state;
    struct seen s = {0};
    plugins_each(rig_text("%s/plugins%s", rig_build(), ""), see, &s);
    assert_true(s.sim && s.help);
    s = (struct seen){0};
    plugins_each(rig_text("%s/tests/plugins%s", rig_build(), ""), see, &s);
    assert_true(s.good >= 6);
    assert_int_equal(s.bad, 4); /* early, old_abi, not_a_plugin, undefined */
    plugins_each("/nonexistent", see, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_plugin),
        cmocka_unit_test(test_no_code_of_another_abi),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_trust_behind_a_link),
        cmocka_unit_test(test_loaded_ones_are_told_apart),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_bad_tables),
        cmocka_unit_test(test_tiny_struct),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
