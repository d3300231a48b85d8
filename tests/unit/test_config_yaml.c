/*
 * test_config_yaml.c - the document layer: places, quoting, anchors, merges,
 * several documents, and the ceilings that keep hostile text cheap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../autoscaler/config/yaml.h"

struct read {
    struct arena arena;
    struct diag diag;
    struct yaml_docs docs;
    enum status status;
};

static void read_text(struct read *r, const char *text, size_t n)
{
    memset(r, 0, sizeof *r);
    r->diag.arena = &r->arena;
    r->diag.path = "t";
    r->status = yaml_read(&r->arena, text, n, &r->diag, &r->docs);
    assert_true((r->status == ST_OK) == (r->diag.mistakes.n == 0));
}

static void read_done(struct read *r)
{
    arena_done(&r->arena);
}

static void expect_mistake(const char *text, size_t n, const char *want)
{
    struct read r;
    struct buf b;

    read_text(&r, text, n);
    buf_init(&b, 65536);
    diag_write(&r.diag, &b);
    assert_string_equal(b.s, want);
    buf_done(&b);
    read_done(&r);
}

static void test_places(void **state)
{
    static const char text[] = "# a comment\n"
                               "a: 1\n"
                               "b: {c: \"2\", \xc3\xa4\xc3\xb6: x}\n"
                               "d:\n"
                               "  - e\n"
                               "  -\n"
                               "  - ~\n"
                               "f: !!str 5\n"
                               "g: |\n"
                               "  two\n"
                               "  lines\n";
    const struct ynode *root, *v;
    struct read r;

    (void)state;
    read_text(&r, text, strlen(text));
    assert_int_equal(r.docs.n, 1);
    root = r.docs.v[0];
    assert_int_equal(root->n, 5);
    v = ynode_get(root, "a");
    assert_int_equal(v->line, 2);
    assert_int_equal(v->column, 4);
    assert_false(v->quoted);
    v = ynode_path(root, "b", "c", NULL);
    assert_true(v->quoted);
    assert_int_equal(v->column, 8);
    /* Columns count characters, not bytes. */
    v = ynode_path(root, "b", "\xc3\xa4\xc3\xb6", NULL);
    assert_int_equal(v->column, 17);
    v = ynode_get(root, "d");
    assert_int_equal(v->kind, YNODE_LIST);
    assert_int_equal(v->n, 3);
    assert_int_equal(v->items[0]->line, 5);
    assert_int_equal(v->items[1]->kind, YNODE_NULL);
    assert_int_equal(v->items[2]->kind, YNODE_NULL);
    assert_true(ynode_get(root, "f")->quoted);
    assert_string_equal(ynode_get(root, "g")->text, "two\nlines\n");
    assert_null(ynode_get(root, "h"));
    assert_null(ynode_get(v, "h"));
    assert_null(ynode_path(root, "a", "b", "c", NULL));
    read_done(&r);
}

static void test_documents(void **state)
{
    static const char text[] = "\xef\xbb\xbf---\na: 1\n---\n---\n# none\n"
                               "---\n[b]\n...\n";
    struct read r;

    (void)state;
    read_text(&r, text, strlen(text));
    assert_int_equal(r.docs.n, 2);
    assert_int_equal(r.docs.v[1]->kind, YNODE_LIST);
    read_done(&r);
    /* An anchor ends with its document. */
    expect_mistake("a: &x 1\n---\nb: *x\n", 18,
                   "t:3:4: *x stands for nothing: there is no &x before it\n");
}

static void test_merge(void **state)
{
    static const char text[] = "a: &a {x: 1, y: 2}\n"
                               "b: &b {y: 3, z: 4}\n"
                               "c: {<<: [*a, *b], x: 0}\n"
                               "d: {\"<<\": 1}\n"
                               "e: *a\n";
    struct read r;
    const struct ynode *c;

    (void)state;
    read_text(&r, text, strlen(text));
    assert_int_equal(r.status, ST_OK);
    c = ynode_get(r.docs.v[0], "c");
    assert_int_equal(c->n, 3);
    assert_string_equal(ynode_get(c, "x")->text, "0");
    assert_string_equal(ynode_get(c, "y")->text, "2"); /* the first wins */
    assert_string_equal(ynode_get(c, "z")->text, "4");
    assert_string_equal(ynode_path(r.docs.v[0], "d", "<<", NULL)->text, "1");
    assert_ptr_equal(ynode_get(r.docs.v[0], "e"), ynode_get(r.docs.v[0], "a"));
    read_done(&r);
}

static char *repeat(const char *piece, size_t n)
{
    size_t k = strlen(piece);
    char *s = malloc(k * n + 1);

    for (size_t i = 0; i < n; i++)
        memcpy(s + i * k, piece, k);
    s[k * n] = '\0';
    return s;
}

static void expect_quick_mistake(char *text, const char *part)
{
    struct read r;
    struct buf b;
    struct timespec t, u;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    read_text(&r, text, strlen(text));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &u);
    buf_init(&b, 65536);
    diag_write(&r.diag, &b);
    if (!strstr(b.s, part))
        fail_msg("no \"%s\" in %s", part, b.s);
    assert_true(u.tv_sec - t.tv_sec < 10);
    buf_done(&b);
    read_done(&r);
    free(text);
}

static void test_ceilings(void **state)
{
    char *big = malloc(YAML_MAX_TEXT + 2), *s, *keys;
    size_t n = 0;

    (void)state;
    memset(big, '#', YAML_MAX_TEXT + 1);
    big[YAML_MAX_TEXT + 1] = '\0';
    expect_quick_mistake(big, "4194305 bytes are too much");
    expect_quick_mistake(repeat("[", 100000), "nested deeper than 64 levels");
    expect_quick_mistake(repeat("{a: ", 1000), "nested deeper than 64 levels");
    expect_quick_mistake(repeat("- ", 100000), "nested deeper than 64 levels");
    expect_quick_mistake(repeat("- a\n", YAML_MAX_NODES), "too large");
    expect_quick_mistake(repeat("--- a\n", 100), "more than 64 documents");
    expect_quick_mistake(repeat("a: 1\n", 50000), "is given twice");
    /* A mapping may be large, or use <<, not both. */
    keys = s = malloc(1 << 20);
    s += sprintf(s, "a: &a {");
    for (int i = 0; i < 300; i++)
        s += sprintf(s, "k%d: 1, ", i);
    sprintf(s, "}\nb: {<<: *a}\n");
    expect_quick_mistake(keys, "<< makes a mapping of more than 256 keys");
    /* Merges of merges of merges: the work stays small. */
    keys = s = malloc(1 << 20);
    s += sprintf(s, "a0: &a0 {");
    for (int i = 0; i < 250; i++)
        s += sprintf(s, "k%d: 1, ", i);
    s += sprintf(s, "}\n");
    for (n = 1; n < 2000; n++)
        s += sprintf(s, "a%zu: &a%zu {<<: [*a%zu, *a%zu]}\n", n, n, n - 1,
                     n - 1);
    expect_quick_mistake(keys, "too large");
}

static void test_nul_and_bytes(void **state)
{
    (void)state;
    expect_mistake("a: b\0c", 6,
                   "t:1:5: not YAML: control characters are not "
                   "allowed\n");
    expect_mistake("a: \x01", 4,
                   "t:1:4: not YAML: control characters are not "
                   "allowed\n");
    expect_mistake("a: \xc3", 4,
                   "t:1:4: not YAML: incomplete UTF-8 octet "
                   "sequence\n");
    /* Text without a NUL at its end is not read beyond n. */
    expect_mistake("a: {b]]]]", 6,
                   "t:1:6: not YAML: did not find expected "
                   "',' or '}', while parsing a flow mapping\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_merge),         cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_nul_and_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
