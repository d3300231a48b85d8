/*
 * test_config_rules.c - what golden files say badly: which changes make a
 * machine outdated, where paths start, what loading leaves behind, and that
 * docs/config.md names every key of the tables, and their bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../autoscaler/config/config.h"
#include "../../autoscaler/config/davit_keys.h"
#include "../../autoscaler/config/file.h"
#include "../../autoscaler/model/amount.h"
#include "scratch.h"

static struct config *parse(const char *text)
{
    struct config *c;
    struct buf errors;

    buf_init(&errors, 65536);
    if (config_parse("t.yaml", text, strlen(text), &c, &errors) != ST_OK)
        fail_msg("%s\nin\n%s", errors.s, text);
    buf_done(&errors);
    return c;
}

/* The hash of the type in braces. */
static void hash_of(const char *type, char *ret)
{
    char text[1024];
    struct config *c;

    snprintf(text, sizeof text,
             "cluster: c\nproviders: {sim: {}, mine: {}}\n"
             "node_types: {t: {%s}}\n",
             type);
    c = parse(text);
    strcpy(ret, c->types[0].hash);
    config_free(c);
}

#define BASE \
    "provider: sim, machine: n1-standard-8+t4, pool: p, " \
    "resources: {memory: 20Gi, X: 1}, labels: {a: b, c: d}, " \
    "options: {x: 1, y: 2}"

static void test_hash_keeps(void **state)
{
    static const char *const same[] = {
        BASE ", min: 1",
        BASE ", max: 5",
        BASE ", price: 3",
        BASE ", boot: 3s",
        BASE ", spot_price: 3",
        BASE ", idle_timeout: 3s",
        BASE ", priority: 3",
        BASE ", zones: [a, b]",
        BASE ", market: [spot, on-demand]",
        /* the order and the spelling do not count */
        "options: {y: 2, x: 1}, labels: {c: d, a: b}, pool: p, provider: sim, "
        "resources: {X: 1.0, memory: 21474836480}, machine: n1-standard-8+t4",
    };
    char want[32], got[32];

    (void)state;
    hash_of(BASE, want);
    /* Kept in journals: it must not change from one version to the next. */
    assert_string_equal(want, "e1dbbebad8a36a27");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        hash_of(same[i], got);
        if (strcmp(got, want) != 0)
            fail_msg("%s changes the hash", same[i]);
    }
}

static void test_hash_changes(void **state)
{
    static const char *const other[] = {
        "provider: mine, machine: n1-standard-8+t4, pool: p",
        "provider: sim, machine: n1-standard-8+t4, pool: q",
        "provider: sim, machine: n1-standard-8+t4",
        "provider: sim, machine: n1-standard-8+t4x2, pool: p",
        "provider: sim, machine: n1-standard-8+t4, pool: p, hosts: 2",
        "provider: sim, machine: n1-standard-8+t4, pool: p, "
        "accelerator_type: V100",
        "provider: sim, machine: n1-standard-8+t4, pool: p, labels: {a: b}",
        "provider: sim, machine: n1-standard-8+t4, pool: p, labels: {a: c}",
        "provider: sim, machine: n1-standard-8+t4, pool: p, options: {a: b}",
        "provider: sim, machine: n1-standard-8+t4, pool: p, resources: {a: 1}",
        "provider: sim, machine: n1-standard-8+t4, pool: p, resources: {a: 2}",
        "provider: sim, machine: n1-standard-8+t4, pool: p, resources: "
        "{memory: 1Gi}",
        BASE,
    };
    char hashes[sizeof other / sizeof *other][32];

    (void)state;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        hash_of(other[i], hashes[i]);
        for (size_t j = 0; j < i; j++)
            if (strcmp(hashes[i], hashes[j]) == 0)
                fail_msg("%s and %s have one hash", other[i], other[j]);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* What davit reads lies beside the file; what it writes, where it runs. */
static void test_paths(void **state)
{
    char dir[256], path[288], want[700];
    struct config *c;
    struct buf errors;

    (void)state;
    scratch_path(dir, "davit-config-XXXXXX");
    assert_non_null(mkdtemp(dir));
    setenv("HOME", "/home/someone", 1);
    snprintf(path, sizeof path, "%s/mine.yaml", dir);
    write_file(path, "schema: davit-catalogue/1\n"
                     "machines: {my.big: {cpu: 4, memory: 8Gi, arch: "
                     "arm64}}\n");
    snprintf(path, sizeof path, "%s/davit.yaml", dir);
    write_file(path, "cluster: c\ncatalogue: mine.yaml\nstate: x.db\n"
                     "plugin_dir: /opt/p\n"
                     "api: {token_file: t, tls: {cert: a/c, key: ~/k}}\n"
                     "providers: {mine: {plugin: my.so}}\n"
                     "node_types: {t: {machine: my.big, max: 1}}\n");
    buf_init(&errors, 65536);
    if (config_load(path, &c, &errors) != ST_OK)
        fail_msg("%s", errors.s);
    assert_int_equal(c->types[0].fact.resources.v[0].amount, 4 * AMOUNT_ONE);
    assert_string_equal(c->types[0].fact.arch, "arm64");
    assert_string_equal(c->state, "x.db");
    assert_string_equal(c->plugin_dir, "/opt/p");
    assert_string_equal(c->api_tls_key, "/home/someone/k");
    snprintf(want, sizeof want, "%s/t", dir);
    assert_string_equal(c->api_token_file, want);
    snprintf(want, sizeof want, "%s/a/c", dir);
    assert_string_equal(c->api_tls_cert, want);
    snprintf(want, sizeof want, "%s/my.so", dir);
    assert_string_equal(c->providers[0].plugin, want);
    config_free(c);

    /* A mistake in the catalogue is told with the catalogue's own place. */
    snprintf(path, sizeof path, "%s/mine.yaml", dir);
    write_file(path, "schema: davit-catalogue/1\nmachines: {a: {cpu: x, "
                     "memory: 1Gi}}\n");
    snprintf(path, sizeof path, "%s/davit.yaml", dir);
    assert_int_equal(config_load(path, &c, &errors), ST_INVALID);
    assert_null(c);
    snprintf(want, sizeof want,
             "%s/davit.yaml:2:12: catalogue: %s/mine.yaml:"
             "2:21: a: cpu must be a number above 0, got x\n",
             dir, dir);
    assert_non_null(strstr(errors.s, want));
    buf_done(&errors);

    unlink(path);
    snprintf(path, sizeof path, "%s/mine.yaml", dir);
    unlink(path);
    rmdir(dir);
}

static void test_load_refuses(void **state)
{
    struct config *c = (struct config *)1;
    struct buf errors;
    char fifo[256];

    (void)state;
    buf_init(&errors, 65536);
    assert_int_equal(config_load("/nowhere/davit.yaml", &c, &errors),
                     ST_NOT_FOUND);
    assert_null(c);
    assert_string_equal(errors.s, "/nowhere/davit.yaml: cannot open it: No "
                                  "such file or directory\n");
    buf_clear(&errors);
    assert_int_equal(config_load("/tmp", &c, &errors), ST_INVALID);
    assert_string_equal(errors.s, "/tmp: not a file but a folder\n");
    scratch_path(fifo, "davit-fifo");
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(config_load(fifo, &c, &errors), ST_INVALID);
    unlink(fifo);
    config_free(NULL);
    buf_done(&errors);
}

/* Messages are bounded however long what the user wrote is. */
static void test_long_texts(void **state)
{
    size_t n = 200000;
    char *text = malloc(n + 64);
    struct config *c;
    struct buf errors;
    char *line, *save = NULL;

    (void)state;
    strcpy(text, "cluster: \"");
    memset(text + 10, 'x', n);
    strcpy(text + 10 + n, "\"\nstate: [");
    buf_init(&errors, 65536);
    assert_int_equal(config_parse("t", text, strlen(text), &c, &errors),
                     ST_INVALID);
    memset(text, 'k', n);
    strcpy(text + n, ": 1\n\"a\\nb\\e[31m\": {}\n");
    assert_int_equal(config_parse("t", text, strlen(text), &c, &errors),
                     ST_INVALID);
    assert_true(errors.n < 8000);
    for (line = strtok_r(errors.s, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        assert_memory_equal(line, "t:", 2);
        assert_null(strchr(line, 27));
    }
    buf_done(&errors);
    free(text);
}

static void test_many_mistakes(void **state)
{
    char *text = malloc(1 << 20), *s = text;
    struct config *c;
    struct buf errors;
    size_t lines = 0;

    (void)state;
    s += sprintf(s, "cluster: c\nnode_types:\n");
    for (int i = 0; i < 500; i++)
        s += sprintf(s, "  t%d: {machine: p2.xlarge, mxa: 1}\n", i);
    buf_init(&errors, 1 << 20);
    assert_int_equal(config_parse("t", text, strlen(text), &c, &errors),
                     ST_INVALID);
    for (const char *p = errors.s; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 101);
    assert_non_null(strstr(errors.s, "t: and 400 more\n"));
    buf_done(&errors);
    free(text);
}

/* "0", "1s", "10m", "24h", "30 days": as docs/config.md writes a bound. */
static void time_text(int64_t ms, char *s, size_t n)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {
        {86400000, " days"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ms % units[i].ms == 0 && ms / units[i].ms > (i == 0)) {
            snprintf(s, n, "%lld%s", (long long)(ms / units[i].ms),
                     units[i].unit);
            return;
        }
    snprintf(s, n, "%lld", (long long)ms);
}

/* What the table of the code takes, in the words of docs/config.md; "" where
 * the key has a reader of its own. */
static void takes_text(const struct key *k, char *s, size_t n)
{
    char low[32], high[32];

    *s = '\0';
    snprintf(low, sizeof low, "%lld", (long long)k->min);
    snprintf(high, sizeof high, "%lld", (long long)k->max);
    if (k->type == KEY_TIME) {
        time_text(k->min, low, sizeof low);
        time_text(k->max, high, sizeof high);
    }
    if (k->type == KEY_COUNT || k->type == KEY_INT || k->type == KEY_TIME ||
        k->type == KEY_MONEY || k->type == KEY_FACTOR)
        snprintf(s, n, "%s to %s", low, high);
    if (k->type == KEY_BOOL)
        snprintf(s, n, "true");
}

static void doc_check(void *arg, const char *where, const struct key *k)
{
    const char *doc = *(const char **)arg, *at, *end;
    char row[128], takes[128];

    snprintf(row, sizeof row, "| `%s%s%s` |", where, *where ? "." : "",
             k->name);
    at = strstr(doc, row);
    if (!at)
        fail_msg("docs/config.md has no row %s", row);
    assert_true(k->help && *k->help);
    at += strlen(row);
    end = strstr(at, " | ");
    takes_text(k, takes, sizeof takes);
    if (!memmem(at, (size_t)(end - at), takes, strlen(takes)) ||
        (k->word && !memmem(at, (size_t)(end - at), k->word, strlen(k->word))))
        fail_msg("docs/config.md says%.*s of %s, the code %s %s",
                 (int)(end - at), at, row, takes, k->word ? k->word : "");
}

static void test_docs(void **state)
{
    struct err err;
    char *doc;
    size_t n;

    (void)state;
    assert_int_equal(file_slurp("docs/config.md", 1 << 20, &doc, &n, &err),
                     ST_OK);
    davit_keys_walk(doc_check, &doc);
    free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_keeps), cmocka_unit_test(test_hash_changes),
        cmocka_unit_test(test_paths),      cmocka_unit_test(test_load_refuses),
        cmocka_unit_test(test_long_texts), cmocka_unit_test(test_many_mistakes),
        cmocka_unit_test(test_docs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
