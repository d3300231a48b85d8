/*
 * test_api_audit.c - what the file of the audit keeps over restarts, full disks and
 * crashes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/door/audit.h"
#include "scratch.h"

#define AT INT64_C(1790000000000)

static char path[256];

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **state)
{
    int fd;

    (void)state;
    scratch_path(path, "davit-audit-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static struct audit *opened(void)
{
    struct audit *a;
    struct err err;

    if (audit_open(path, &a, &err) != ST_OK)
        fail_msg("%s", err.text);
    return a;
}

static void add(struct audit *a, const char *who)
{
    char share[64], fields[200];

    snprintf(share, sizeof share, "token/%s", who);
    snprintf(fields, sizeof fields,
             "\"caller\":\"%s\",\"via\":\"token\",\"from\":\"10.0.0.7\"", who);
    audit_add(a, AT, share, fields);
}

/* How many lines are kept of a caller; "": of all.  Each is JSON. */
static int lines_of(struct audit *a, const char *who)
{
    struct arena s = {0};
    const char **v;
    int64_t next;
    bool missed;
    int n = 0;

    for (uint32_t i = 0, all = audit_read(a, 0, 5000, &s, &v, &next, &missed);
         i < all; i++) {
        json_t *line = json_loads(v[i], 0, NULL);

        if (!json_is_object(line))
            fail_msg("no JSON: %s", v[i]);
        n += !*who || strcmp(json_string_value(json_object_get(line, "caller")),
                             who) == 0;
        json_decref(line);
    }
    arena_done(&s);
    return n;
}

/* A crash, or a full disk, cut a line off: the lines after it are whole. */
static void a_torn_line(void **state)
{
    static const char *const tails[] = {
        "{\"id\":2,\"at\":\"2026",
        "{\"id\":2",
        "{",
        "{\"id\":2}x",
        "{\"id\":2,\"caller\":\"\xff\"}\n",
        "[2]\n",
        "\n",
        "{\"id\":9223372036854775807,\"caller\":\"ops\"}\n"};
    char text[200];
    struct audit *a;

    (void)state;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        snprintf(text, sizeof text, "{\"id\":1,\"caller\":\"ops\"}\n%s",
                 tails[i]);
        write_file(text);
        a = opened();
        assert_int_equal(lines_of(a, ""), 1);
        add(a, "good");
        audit_close(a);
        a = opened();
        assert_int_equal(lines_of(a, "ops"), 1);
        assert_int_equal(lines_of(a, "good"), 1);
        add(a, "good");
        assert_int_equal(lines_of(a, "good"), 2);
        audit_close(a);
    }
}

/* The disk takes part of a line, and goes on later. */
static void a_short_write(void **state)
{
    struct rlimit was, little = {0};
    struct audit *a = opened();

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    little = was;
    little.rlim_cur = 150; /* a line and a half */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    add(a, "before");
    add(a, "torn");
    add(a, "lost");
    audit_close(a);
    a = opened();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(lines_of(a, ""), 1);
    add(a, "after");
    audit_close(a);
    a = opened();
    assert_int_equal(lines_of(a, "before"), 1);
    assert_int_equal(lines_of(a, "after"), 1);
    assert_int_equal(lines_of(a, ""), 2);
    audit_close(a);
}

/* What was done before a restart is as much its caller's as what is done after it. */
static void a_restart_forgets_nobody(void **state)
{
    struct audit *a = opened();
    char who[32];

    (void)state;
    for (int i = 0; i < 4; i++)
        add(a, "good");
    for (int i = 0; i < 4 * 256; i++) {
        snprintf(who, sizeof who, "other%d", i / 256);
        add(a, who);
    }
    assert_int_equal(lines_of(a, "good"), 4);
    audit_close(a);
    a = opened();
    assert_int_equal(lines_of(a, "good"), 4);
    for (int i = 0; i < 300; i++)
        add(a, "mal");
    assert_int_equal(lines_of(a, "good"), 4);
    /* his lines of before count as his */
    for (int i = 0; i < 40; i++)
        add(a, "other0");
    assert_int_equal(lines_of(a, "good"), 4);
    assert_int_equal(lines_of(a, ""), 1024);
    audit_close(a);
}

static void wait_written(uint64_t lines)
{
    char text[2000];
    FILE *f;

    for (uint64_t n = 0; n < lines;) {
        f = fopen(path, "r");
        n = 0;
        while (f && fgets(text, sizeof text, f))
            n++;
        if (f)
            fclose(f);
    }
}

/* What the disk did not take is counted, and told where it lacks. */
static void what_lacks_is_told(void **state)
{
    struct rlimit was, none;
    struct audit *a = opened();
    char text[200] = "";
    FILE *f;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    add(a, "before");
    wait_written(1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int i = 0; i < 3; i++)
        add(a, "lost");
    while (audit_dropped(a) < 3) {
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_string_not_equal(audit_problem(a, text, sizeof text), "");
    add(a, "after");
    wait_written(3);
    while (*audit_problem(a, text, sizeof text)) {
    }
    assert_int_equal(audit_dropped(a), 3);
    audit_close(a);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    assert_non_null(fgets(text, sizeof text, f));
    assert_string_equal(text, "{\"lost\":3}\n");
    fclose(f);
    a = opened();
    assert_int_equal(lines_of(a, ""), 2);
    audit_close(a);
}

/* Moved away: his are the lines of before. */
static void a_moved_file(void **state)
{
    struct audit *a = opened();
    char away[sizeof path + 8];

    (void)state;
    snprintf(away, sizeof away, "%s.away", path);
    add(a, "before");
    wait_written(1);
    assert_int_equal(rename(path, away), 0);
    add(a, "after");
    wait_written(1);
    audit_close(a);
    a = opened();
    assert_int_equal(lines_of(a, "before"), 0);
    assert_int_equal(lines_of(a, "after"), 1);
    audit_close(a);
    unlink(away);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_torn_line, setup, teardown),
        cmocka_unit_test_setup_teardown(a_short_write, setup, teardown),
        cmocka_unit_test_setup_teardown(what_lacks_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moved_file, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restart_forgets_nobody, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("api_audit", tests, NULL, NULL);
}
